//! Evidence: how a match becomes a bounded quote with the words around it and its place.

use std::ops::Range;

/// Most characters of a quote. A longer match is cut; what is left is still a piece of the page.
pub const QUOTE_MAX_CHARS: usize = 500;

/// Most characters of context on either side of a quote.
pub const CONTEXT_CHARS: usize = 80;

/// A match, cut to its bounds. `quote` stands in the text from character `start` on, and `context`
/// is a piece of the same text that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) quote: String,
    pub(crate) context: String,
    pub(crate) start: usize,
}

/// Cuts the excerpt of `found` (byte offsets) out of `text`. White space at the ends of the match
/// is no evidence and is dropped; a match of nothing else gives `None`.
pub(crate) fn excerpt(text: &str, found: Range<usize>) -> Option<Excerpt> {
    let matched = text.get(found.clone())?;
    let trimmed = matched.trim_start();
    let from = found.start + (matched.len() - trimmed.len());
    let length = trimmed
        .char_indices()
        .nth(QUOTE_MAX_CHARS)
        .map_or(trimmed.len(), |(at, _)| at);
    let quote = trimmed.get(..length)?.trim_end();
    if quote.is_empty() {
        return None;
    }
    let before = text.get(..from)?;
    let after = text.get(from + quote.len()..)?;
    let lead = word_bound(before.chars().rev(), before.len());
    let tail = word_bound(after.chars(), after.len());
    Some(Excerpt {
        quote: quote.to_owned(),
        context: text
            .get(from - lead..from + quote.len() + tail)?
            .trim()
            .to_owned(),
        start: before.chars().count(),
    })
}

/// How many bytes of the text that `walk` passes over, away from the quote, belong to the context:
/// all of it when it is short, else up to the last white space within [`CONTEXT_CHARS`], else (a
/// script without spaces) exactly so many characters.
fn word_bound(walk: impl Iterator<Item = char>, total: usize) -> usize {
    let mut bytes = 0;
    let mut at_space = None;
    for (count, c) in walk.enumerate() {
        if count == CONTEXT_CHARS {
            // The character after the window is a space: the window ends at a word.
            return if c.is_whitespace() {
                bytes
            } else {
                at_space.unwrap_or(bytes)
            };
        }
        if c.is_whitespace() {
            at_space = Some(bytes);
        }
        bytes += c.len_utf8();
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, quote: &str) -> Excerpt {
        let at = text.find(quote).unwrap();
        excerpt(text, at..at + quote.len()).unwrap()
    }

    #[test]
    fn a_short_text_is_its_own_context() {
        let found = of("Der Kaffee ist heiß genug.", "heiß");
        assert_eq!(found.context, "Der Kaffee ist heiß genug.");
        assert_eq!(found.start, 15);
    }

    #[test]
    fn context_ends_at_words() {
        let text = format!(
            "{}needle{}",
            "abcdefghi ".repeat(20),
            " jklmnopqr".repeat(20)
        );
        let found = of(&text, "needle");
        assert!(found.context.starts_with("abcdefghi "), "{}", found.context);
        assert!(found.context.ends_with(" jklmnopqr"), "{}", found.context);
        let around = found.context.chars().count() - "needle".len();
        assert!(around <= 2 * CONTEXT_CHARS && around > CONTEXT_CHARS);
    }

    #[test]
    fn a_script_without_spaces_is_cut_by_length() {
        let text = format!("{}答案{}", "一".repeat(300), "二".repeat(300));
        let found = of(&text, "答案");
        assert_eq!(found.context.chars().count(), 2 + 2 * CONTEXT_CHARS);
        assert_eq!(found.start, 300);
    }

    #[test]
    fn white_space_alone_is_no_evidence() {
        assert_eq!(excerpt("a  b", 1..3), None);
        assert_eq!(excerpt("abc", 1..1), None);
        assert_eq!(excerpt("a b c", 1..4).unwrap().quote, "b");
    }

    proptest::proptest! {
        #[test]
        fn an_excerpt_is_a_bounded_piece_of_the_text(
            text in "[a-zé一\u{a0} ]{0,1500}",
            ends in (0usize..1500, 0usize..1500),
        ) {
            let (mut from, mut to) = (ends.0.min(ends.1).min(text.len()), ends.0.max(ends.1).min(text.len()));
            while !text.is_char_boundary(from) { from -= 1; }
            while !text.is_char_boundary(to) { to -= 1; }
            if let Some(found) = excerpt(&text, from..to) {
                let rest: String = text.chars().skip(found.start).collect();
                proptest::prop_assert!(rest.starts_with(&found.quote));
                proptest::prop_assert!(text.contains(&found.context));
                proptest::prop_assert!(found.context.contains(&found.quote));
                proptest::prop_assert!(!found.quote.trim().is_empty());
                let (quote, context) = (found.quote.chars().count(), found.context.chars().count());
                proptest::prop_assert!(quote <= QUOTE_MAX_CHARS);
                proptest::prop_assert!(context <= quote + 2 * CONTEXT_CHARS);
            }
        }
    }
}
