//! Redaction: what must be taken out of a text before it is written anywhere: known secrets in
//! whatever spelling a page echoes them, and everything that has the shape of one.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use regex::{Captures, Regex, RegexBuilder};
use serde::{Serialize, Serializer};
use serde_json::Value;

mod pieces;
mod shapes;

use pieces::Pieces;

/// Largest compiled form of one known secret, in bytes. A secret that would need more makes the
/// redactor hide everything.
const COMPILED_MAX_BYTES: usize = 64 << 20;

/// A known secret shorter than this is hidden only where it stands as a word of its own, so that a
/// typed `a` does not blank every page.
const SHORT_CHARS: usize = 4;

/// A text that went through a [`Redactor`]. There is no other way to make one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redacted(String);

impl Redacted {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes the text out.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Redacted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// What a known secret is; decides what stands in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hidden {
    /// Text the host typed into a field.
    Typed,
    /// A key, token or password of the configuration.
    Credential,
}

impl Hidden {
    const fn mark(self) -> &'static str {
        match self {
            Self::Typed => "[typed]",
            Self::Credential => "[key]",
        }
    }
}

/// Takes secrets out of texts: local paths, URL queries and fragments, credentials in URLs, bearer
/// values, API keys, long random tokens, e-mail addresses, private keys, values behind words like
/// `password:`, and every text it was told to [`hide`](Redactor::hide).
///
/// When in doubt it takes out too much.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Vec<Known>,
    pieces: Vec<Arc<Pieces>>,
}

#[derive(Clone)]
enum Known {
    Text {
        pattern: Regex,
        mark: &'static str,
    },
    /// The secret could not be turned into a pattern: nothing is shown at all.
    Everything,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor")
            .field("known", &self.known.len())
            .finish()
    }
}

impl Redactor {
    /// Knows the shapes of secrets and no secret.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Hides this text wherever it appears from now on: in any case, with any white space between
    /// its words, and percent-, plus- or HTML-encoded in whole or in part. Each of its lines of at
    /// least 4 characters is hidden alone too, any run of 16 characters of it, and its first 8
    /// where a text ends or was cut (its last 8 where one begins): somebody may have cut it before.
    pub fn hide(&mut self, secret: &str, what: Hidden) {
        let words: Vec<&str> = secret.split_whitespace().collect();
        if words.is_empty() {
            return;
        }
        self.known.push(match known_pattern(&words) {
            Some(pattern) => Known::Text {
                pattern,
                mark: what.mark(),
            },
            None => Known::Everything,
        });
        self.pieces.push(Arc::new(Pieces::of(secret, what)));
    }

    /// Whether it was told of any secret.
    #[must_use]
    pub fn knows_secrets(&self) -> bool {
        !self.known.is_empty()
    }

    /// Only the known secrets taken out; the shapes stay. For a reader who may see the page but not
    /// what was typed into it.
    #[must_use]
    pub fn known_only<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for known in &self.known {
            match known {
                Known::Text { pattern, mark } => {
                    if pattern.is_match(&text) {
                        text = Cow::Owned(pattern.replace_all(&text, *mark).into_owned());
                    }
                }
                Known::Everything => return Cow::Borrowed("[hidden]"),
            }
        }
        pieces::take_out(text, &self.pieces)
    }

    /// As [`Redactor::known_only`], for every text inside a JSON value. Names of fields stay.
    #[must_use]
    pub fn known_only_in(&self, value: Value) -> Value {
        if !self.knows_secrets() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.known_only(&text).into_owned()),
            Value::Array(items) => {
                let items = items.into_iter().map(|item| self.known_only_in(item));
                items.collect()
            }
            Value::Object(fields) => {
                let fields = fields.into_iter();
                let fields = fields.map(|(name, value)| (name, self.known_only_in(value)));
                Value::Object(fields.collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }

    /// The text without secrets.
    #[must_use]
    pub fn text(&self, text: &str) -> Redacted {
        let known = self.known_only(text);
        Redacted(shapes::take_out(&known))
    }

    /// The text without secrets, of at most `most` characters, and how many more there were.
    ///
    /// Secrets are taken out of the whole text first: a cut through the middle of one would leave a
    /// piece that has no shape any more.
    #[must_use]
    pub fn cut(&self, text: &str, most: usize) -> (Redacted, u64) {
        let Redacted(mut whole) = self.text(text);
        match whole.char_indices().nth(most) {
            Some((at, _)) => {
                let more = whole.get(at..).map_or(0, |rest| rest.chars().count());
                whole.truncate(at);
                (Redacted(whole), more as u64)
            }
            None => (Redacted(whole), 0),
        }
    }
}

/// A pattern that finds the words in any of the spellings of [`Redactor::hide`].
fn known_pattern(words: &[&str]) -> Option<Regex> {
    let chars: usize = words.iter().map(|word| word.chars().count()).sum();
    let mut pattern = String::new();
    let edge = |c: Option<char>| {
        let is_word = c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        if chars < SHORT_CHARS && is_word {
            r"\b"
        } else {
            ""
        }
    };
    pattern.push_str(edge(words.first().and_then(|word| word.chars().next())));
    for (number, word) in words.iter().enumerate() {
        if number > 0 {
            pattern.push_str(r"(?:\s|\+|%20|%09|%0a|%0d|%c2%a0|&nbsp;)+");
        }
        for c in word.chars() {
            spellings(&mut pattern, c);
        }
    }
    pattern.push_str(edge(words.last().and_then(|word| word.chars().last())));
    RegexBuilder::new(&pattern)
        .case_insensitive(true)
        .size_limit(COMPILED_MAX_BYTES)
        .build()
        .ok()
}

/// Appends every way in which one character may be written.
fn spellings(pattern: &mut String, c: char) {
    pattern.push_str("(?:");
    pattern.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
    let mut encoded: Vec<String> = Vec::new();
    for form in [
        c.to_string(),
        c.to_lowercase().collect(),
        c.to_uppercase().collect(),
    ] {
        let form = form.bytes().map(|byte| format!("%{byte:02x}")).collect();
        if !encoded.contains(&form) {
            encoded.push(form);
        }
    }
    let entity = match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;|&\\#34;"),
        '\'' => Some("&\\#0?39;|&apos;"),
        _ => None,
    };
    for form in encoded.iter().map(String::as_str).chain(entity) {
        pattern.push('|');
        pattern.push_str(form);
    }
    pattern.push(')');
}

/// Replaces every match by what `with` makes of it.
fn replace<'t>(
    text: Cow<'t, str>,
    pattern: &Regex,
    with: impl Fn(&Captures<'_>) -> String,
) -> Cow<'t, str> {
    if pattern.is_match(&text) {
        Cow::Owned(
            pattern
                .replace_all(&text, |found: &Captures<'_>| with(found))
                .into_owned(),
        )
    } else {
        text
    }
}

#[cfg(test)]
mod tests;
