//! Mends JSON text that holds half a surrogate pair (`\ud800`), which hostile pages can produce.

/// The text with every unpaired surrogate escape replaced by U+FFFD, or none when there is none.
pub(crate) fn mend(message: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(message.len());
    let mut changed = false;
    let mut at = 0;
    while let Some(&byte) = message.get(at) {
        if byte != b'\\' {
            out.push(byte);
            at += 1;
            continue;
        }
        let width = match escape(message, at) {
            Some(0xD800..=0xDBFF) if matches!(escape(message, at + 6), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                out.extend_from_slice(b"\\ufffd");
                changed = true;
                at += 6;
                continue;
            }
            Some(_) => 6,
            // Any other escape is two bytes; its second may be a backslash.
            None => 2,
        };
        out.extend_from_slice(message.get(at..at + width).unwrap_or_default());
        at += width;
    }
    changed.then_some(out)
}

fn escape(message: &[u8], at: usize) -> Option<u16> {
    let digits = message.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::mend;

    #[test]
    fn only_unpaired_surrogates_change() {
        let cases = [
            (r#""a""#, None),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud800""#, None),
            (r#""\ud800""#, Some("\u{fffd}")),
            (r#""\ude00x""#, Some("\u{fffd}x")),
            (r#""\ud800\ud83d\ude00""#, Some("\u{fffd}\u{1F600}")),
            (r#""\ud800\n\\""#, Some("\u{fffd}\n\\")),
        ];
        for (text, expected) in cases {
            let mended = mend(text.as_bytes());
            let read = mended.map(|bytes| serde_json::from_slice::<String>(&bytes).unwrap());
            assert_eq!(read.as_deref(), expected, "{text}");
        }
    }
}
