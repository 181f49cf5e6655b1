//! Model names: which may be sent, and which answer to a request.

/// Longest model name that is sent or accepted, in bytes.
pub const MODEL_MAX_BYTES: usize = 200;

/// Whether a text can be a model name at all: visible ASCII without quotes or backslashes.
#[must_use]
pub fn is_model_name(name: &str) -> bool {
    (1..=MODEL_MAX_BYTES).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\' | b'<' | b'>'))
}

/// Whether the name stands for whichever version is current: `*-latest`, `*-preview` or `~...`.
#[must_use]
pub fn is_alias(name: &str) -> bool {
    name.starts_with('~') || name.ends_with("-latest") || name.ends_with("-preview")
}

/// Whether a model that calls itself `answered` may answer a request for `requested`: any model
/// for an alias; else the same name, a dated version of it, or a finer one: a further number after
/// a version that has two already. `gpt-4.1` is no finer `gpt-4`.
#[must_use]
pub fn answers_to(requested: &str, answered: &str) -> bool {
    is_alias(requested)
        || answered.strip_prefix(requested).is_some_and(|rest| {
            rest.is_empty()
                || rest.starts_with('-')
                || (rest.starts_with('.') && ends_in_two_numbers(requested))
        })
}

/// Whether a name ends like `1.13`.
fn ends_in_two_numbers(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    name.rsplit_once('.').is_some_and(|(major, minor)| {
        let major = major.rsplit(|c: char| !c.is_ascii_digit()).next();
        number(minor) && major.is_some_and(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_model_is_answered_by_itself_or_a_finer_version() {
        for (requested, answered, accepted) in [
            ("jev-1.13.0", "jev-1.13.0", true),
            ("jev-1.13", "jev-1.13.0", true),
            ("typesafe/jev-1.13", "typesafe/jev-1.13-20260917", true),
            ("jev-1.13.0", "jev-1.14.0", false),
            ("jev-1.1", "jev-1.13.0", false),
            ("jev-1.13.0", "jev-1.13", false),
            ("jev-latest", "jev-1.14.0", true),
            ("jev-preview", "anything", true),
            ("~typesafe/jev-latest", "typesafe/jev-1.13-20260917", true),
            ("kev", "laya", false),
            ("gpt-4", "gpt-4.1", false),
            ("gpt-4", "gpt-4-0613", true),
            ("qwen3", "qwen3.5-27b", false),
            ("jev-1", "jev-1.14.0", false),
            ("jev-1.13.", "jev-1.13..", false),
            ("v.13", "v.13.0", false),
        ] {
            assert_eq!(
                answers_to(requested, answered),
                accepted,
                "{requested} {answered}"
            );
        }
    }

    #[test]
    fn names_are_visible_and_short() {
        for (name, fine) in [
            ("jev-latest", true),
            ("~typesafe/jev-latest", true),
            ("qwen3:4b", true),
            ("", false),
            ("two words", false),
            ("new\nline", false),
            ("ключ", false),
            ("a\"b", false),
        ] {
            assert_eq!(is_model_name(name), fine, "{name}");
        }
        assert!(!is_model_name(&"x".repeat(201)));
    }
}
