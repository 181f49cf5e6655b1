//! What is looked for: a literal text or a regular expression, compiled once within bounds.

use regex::{Regex, RegexBuilder};

use jev_core::snapshot::collapse;

use crate::evidence::{Excerpt, excerpt};

/// Most characters of a pattern.
pub const PATTERN_MAX_CHARS: usize = 2_000;

/// Most bytes a compiled pattern may take (the regex crate's own default is 10 MB).
pub const COMPILED_MAX_BYTES: usize = 1 << 20;

/// Most matches looked at in search of one that is not blank. Bounds the time a pattern such as
/// `\s*` can take on a hostile page.
const TRIES: usize = 4_096;

/// Most characters of a pattern that an error repeats.
const SHOWN_CHARS: usize = 120;

/// A pattern that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Nothing to look for.
    #[error("the pattern is blank; write what the page must show")]
    Blank,
    /// Too long.
    #[error("the pattern `{pattern}` has {chars} characters; at most {PATTERN_MAX_CHARS} are read")]
    TooLong {
        /// The pattern's beginning.
        pattern: String,
        /// Its length.
        chars: usize,
    },
    /// Not a regular expression.
    #[error("`{pattern}` is not a regular expression: {what}")]
    Syntax {
        /// The pattern, cut.
        pattern: String,
        /// What the parser says, on one line.
        what: String,
    },
    /// It would take too much memory.
    #[error(
        "the pattern `{pattern}` grows beyond {COMPILED_MAX_BYTES} bytes when compiled; use smaller repetitions"
    )]
    TooLarge {
        /// The pattern, cut.
        pattern: String,
    },
}

/// Whether capital and small letters are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// They are.
    #[default]
    Exact,
    /// They are not (Unicode simple case folding).
    Folded,
}

/// A compiled text or pattern, matched against text whose white space is collapsed.
#[derive(Clone, Debug)]
pub struct Matcher {
    regex: Regex,
}

impl Matcher {
    /// Looks for these very words. White space in `text` is collapsed as the page's is.
    ///
    /// # Errors
    /// [`PatternError::Blank`], [`PatternError::TooLong`].
    pub fn literal(text: &str, case: Case) -> Result<Self, PatternError> {
        let words = collapse(text);
        check_length(&words)?;
        compile(&words, &regex::escape(&words), case)
    }

    /// Looks for a regular expression (the `regex` crate's syntax: linear time, no look-around;
    /// `(?i)` at the front ignores case).
    ///
    /// # Errors
    /// Any [`PatternError`].
    pub fn pattern(pattern: &str) -> Result<Self, PatternError> {
        check_length(pattern)?;
        compile(pattern, pattern, Case::Exact)
    }

    /// The first match with something to quote. An empty or blank match is passed over.
    pub(crate) fn find(&self, text: &str) -> Option<Excerpt> {
        self.regex
            .find_iter(text)
            .take(TRIES)
            .find_map(|found| excerpt(text, found.range()))
    }
}

fn check_length(pattern: &str) -> Result<(), PatternError> {
    if pattern.trim().is_empty() {
        return Err(PatternError::Blank);
    }
    match pattern.chars().count() {
        chars if chars > PATTERN_MAX_CHARS => Err(PatternError::TooLong {
            pattern: shown(pattern),
            chars,
        }),
        _ => Ok(()),
    }
}

fn compile(given: &str, pattern: &str, case: Case) -> Result<Matcher, PatternError> {
    let folded = match case {
        Case::Exact => false,
        Case::Folded => true,
    };
    RegexBuilder::new(pattern)
        .case_insensitive(folded)
        .size_limit(COMPILED_MAX_BYTES)
        .dfa_size_limit(COMPILED_MAX_BYTES)
        .build()
        .map(|regex| Matcher { regex })
        .map_err(|error| {
            // The type is non-exhaustive; whatever else it says is about the syntax.
            if matches!(error, regex::Error::CompiledTooBig(_)) {
                PatternError::TooLarge {
                    pattern: shown(given),
                }
            } else {
                PatternError::Syntax {
                    pattern: shown(given),
                    what: last_line(&error.to_string()),
                }
            }
        })
}

/// The parser draws the pattern over several lines; its last line says what is wrong.
fn last_line(message: &str) -> String {
    let line = message.lines().last().unwrap_or(message).trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

fn shown(pattern: &str) -> String {
    let mut cut: String = collapse(pattern).chars().take(SHOWN_CHARS).collect();
    if pattern.chars().count() > SHOWN_CHARS {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_words_not_patterns() {
        let cases = [
            (
                "costs (about) 3.5 $",
                Case::Exact,
                "It costs (about) 3.5 $.",
                true,
            ),
            ("3.5", Case::Exact, "315", false),
            ("two \n\t years", Case::Exact, "for two years", true),
            ("Two Years", Case::Exact, "for two years", false),
            ("Two Years", Case::Folded, "for two years", true),
            ("GRÖSSE", Case::Folded, "die Größe", false),
            ("ÄRGER", Case::Folded, "kein ärger", true),
        ];
        for (text, case, page, found) in cases {
            let matcher = Matcher::literal(text, case).unwrap();
            assert_eq!(matcher.find(page).is_some(), found, "{text} on {page}");
        }
    }

    #[test]
    fn an_empty_match_does_not_count_but_a_later_one_does() {
        assert_eq!(Matcher::pattern("x*").unwrap().find("abc"), None);
        assert_eq!(
            Matcher::pattern("x*")
                .unwrap()
                .find("abc xx")
                .map(|e| e.quote),
            Some("xx".to_owned())
        );
        assert_eq!(Matcher::pattern(r"\s+").unwrap().find("a b c"), None);
        assert_eq!(Matcher::pattern(".*").unwrap().find(""), None);
    }

    #[test]
    fn bad_patterns_are_named_on_one_line() {
        let cases = [
            ("", "the pattern is blank"),
            ("  ", "the pattern is blank"),
            (
                "(unclosed",
                "`(unclosed` is not a regular expression: unclosed group",
            ),
            ("a{2}{3}{", "is not a regular expression"),
            (r"(?<=look)behind", "look-around"),
            (r"(\pL{1000}){1000}", "grows beyond"),
        ];
        for (pattern, expected) in cases {
            let message = Matcher::pattern(pattern).unwrap_err().to_string();
            assert!(message.contains(expected), "{pattern}: {message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
        let long = "a".repeat(PATTERN_MAX_CHARS + 1);
        let message = Matcher::pattern(&long).unwrap_err().to_string();
        assert!(
            message.contains("2001 characters") && message.len() < 300,
            "{message}"
        );
    }
}
