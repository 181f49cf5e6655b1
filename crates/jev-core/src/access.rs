//! The allow-list: which documents a run may stand on. Parsed once, compared parsed, never as text.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::{Origin, Url};

/// Most patterns a list may hold.
pub const MAX_PATTERNS: usize = 256;

/// Why an address or a pattern is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The text is not an absolute URL.
    #[error("`{text}` is not an absolute URL; write it like http://host/path")]
    NotAUrl {
        /// The text as given, credentials removed.
        text: String,
    },
    /// Only http and https are read.
    #[error("`{scheme}:` is not read; only http and https are")]
    Scheme {
        /// The refused scheme.
        scheme: String,
    },
    /// A user name or password inside the URL.
    #[error("a URL must not carry credentials; remove the part before `@`")]
    Credentials,
    /// `*` anywhere but at the end of a path.
    #[error("`*` may stand only at the end of a path, as in http://host/docs/*")]
    Wildcard,
    /// No pattern at all.
    #[error("the allow-list is empty; allow at least the start URL")]
    Empty,
    /// Too many patterns.
    #[error("{count} patterns; at most {MAX_PATTERNS} are allowed")]
    TooMany {
        /// How many were given.
        count: usize,
    },
}

/// An http(s) address in the one form in which addresses are compared: lower-case host, default
/// port dropped, empty path as `/`, dot segments resolved, percent-encoding in one case with
/// needless escapes undone, no credentials, no fragment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicalUrl(Url);

impl CanonicalUrl {
    /// Parses a text.
    ///
    /// # Errors
    /// [`AccessError`] for anything that is not an http(s) URL without credentials.
    pub fn parse(text: &str) -> Result<Self, AccessError> {
        let url = Url::parse(text.trim()).map_err(|_| AccessError::NotAUrl {
            text: without_credentials(text),
        })?;
        Self::new(url)
    }

    /// Takes an address already parsed.
    ///
    /// # Errors
    /// [`AccessError`] for anything that is not an http(s) URL without credentials.
    pub fn new(mut url: Url) -> Result<Self, AccessError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(AccessError::Scheme {
                scheme: url.scheme().to_owned(),
            });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AccessError::Credentials);
        }
        url.set_fragment(None);
        if url.path().contains('%') {
            let path = canonical_escapes(url.path());
            url.set_path(&path);
        }
        if let Some(query) = url.query().filter(|query| query.contains('%')) {
            let query = canonical_escapes(query);
            url.set_query(Some(&query));
        }
        Ok(Self(url))
    }

    /// The parsed address.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// The address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.0.origin()
    }

    fn root(&self) -> Self {
        let mut url = self.0.clone();
        url.set_path("/");
        url.set_query(None);
        Self(url)
    }
}

impl fmt::Display for CanonicalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for CanonicalUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for CanonicalUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// What an error may show of a text that could hold a password.
fn without_credentials(text: &str) -> String {
    let shown = text.rsplit_once('@').map_or(text, |(_, rest)| rest);
    shown.chars().take(200).collect()
}

/// Escapes of unreserved characters (RFC 3986 section 2.3) are undone, the rest get upper-case digits.
fn canonical_escapes(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escape = (byte == b'%')
            .then(|| bytes.get(at + 1..at + 3))
            .flatten()
            .and_then(|pair| std::str::from_utf8(pair).ok())
            .and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match escape {
            Some(value) if value.is_ascii_alphanumeric() || b"-._~".contains(&value) => {
                out.push(char::from(value));
                at += 3;
            }
            Some(value) => {
                out.push_str(&format!("%{value:02X}"));
                at += 3;
            }
            None => {
                // The url crate leaves only ASCII in a path or query.
                out.push(char::from(byte));
                at += 1;
            }
        }
    }
    out
}

/// One entry of the allow-list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessPattern {
    /// This document only (its query counts, its fragment does not).
    Exact(CanonicalUrl),
    /// Every document of the same origin whose path and query begin so.
    Prefix(CanonicalUrl),
    /// Every document of the origin whose root this is.
    Origin(CanonicalUrl),
}

impl AccessPattern {
    /// Reads a pattern: a URL ending in `*` is a prefix, a URL without a path is an origin, any
    /// other URL is exact.
    ///
    /// # Errors
    /// [`AccessError`] as for [`CanonicalUrl::parse`], and for a `*` elsewhere than at the end of a path.
    pub fn parse(text: &str) -> Result<Self, AccessError> {
        let text = text.trim();
        let (body, prefix) = match text.strip_suffix('*') {
            Some(body) => (body, true),
            None => (text, false),
        };
        if body.contains('*') {
            return Err(AccessError::Wildcard);
        }
        let has_path = body
            .split_once("://")
            .is_some_and(|(_, rest)| rest.contains(['/', '?', '\\']));
        if prefix && !has_path {
            return Err(AccessError::Wildcard);
        }
        let url = CanonicalUrl::parse(body)?;
        Ok(match (prefix, has_path) {
            (true, _) => Self::Prefix(url),
            (false, true) => Self::Exact(url),
            (false, false) => Self::Origin(url),
        })
    }

    /// The prefix pattern of the folder that holds `url`.
    #[must_use]
    pub fn folder_of(url: &CanonicalUrl) -> Self {
        let mut folder = url.url().clone();
        folder.set_query(None);
        let path = folder.path();
        let end = path.rfind('/').map_or(0, |slash| slash + 1);
        let path = path.get(..end).unwrap_or("/").to_owned();
        folder.set_path(&path);
        Self::Prefix(CanonicalUrl(folder))
    }

    /// Both sides are canonical, and every canonical URL has a `/` after its authority: so a
    /// common beginning that holds that `/` means a common origin.
    fn allows(&self, url: &CanonicalUrl) -> bool {
        match self {
            Self::Exact(exact) => exact == url,
            Self::Prefix(prefix) => url.as_str().starts_with(prefix.as_str()),
            Self::Origin(root) => url.as_str().starts_with(root.as_str()),
        }
    }

    fn allows_origin_of(&self, url: &CanonicalUrl) -> bool {
        match self {
            Self::Exact(inside) | Self::Prefix(inside) | Self::Origin(inside) => {
                url.as_str().starts_with(inside.root().as_str())
            }
        }
    }
}

impl fmt::Display for AccessPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(url) => write!(f, "{url}"),
            Self::Prefix(url) => write!(f, "{url}*"),
            Self::Origin(root) => f.write_str(&root.origin().ascii_serialization()),
        }
    }
}

impl Serialize for AccessPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AccessPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// The documents a run may stand on: 1 to [`MAX_PATTERNS`] patterns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<AccessPattern>")]
pub struct AccessList(Vec<AccessPattern>);

impl TryFrom<Vec<AccessPattern>> for AccessList {
    type Error = AccessError;

    fn try_from(patterns: Vec<AccessPattern>) -> Result<Self, AccessError> {
        Self::new(patterns)
    }
}

impl AccessList {
    /// A list of patterns.
    ///
    /// # Errors
    /// [`AccessError::Empty`] and [`AccessError::TooMany`].
    pub fn new(patterns: Vec<AccessPattern>) -> Result<Self, AccessError> {
        match patterns.len() {
            0 => Err(AccessError::Empty),
            count if count > MAX_PATTERNS => Err(AccessError::TooMany { count }),
            _ => Ok(Self(patterns)),
        }
    }

    /// Parses every text with [`AccessPattern::parse`].
    ///
    /// # Errors
    /// The first pattern's fault, or the list's.
    pub fn parse<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, AccessError> {
        let patterns: Result<Vec<_>, _> = patterns.into_iter().map(AccessPattern::parse).collect();
        Self::new(patterns?)
    }

    /// Whether a document of this address may be read.
    #[must_use]
    pub fn allows(&self, url: &CanonicalUrl) -> bool {
        self.0.iter().any(|pattern| pattern.allows(url))
    }

    /// As [`AccessList::allows`], for text from outside. Anything that is not a plain http(s)
    /// address is not allowed.
    #[must_use]
    pub fn allows_text(&self, url: &str) -> bool {
        CanonicalUrl::parse(url).is_ok_and(|url| self.allows(&url))
    }

    /// Whether a sub-resource of this address may be fetched: it shares an origin with a pattern.
    #[must_use]
    pub fn allows_origin_of(&self, url: &CanonicalUrl) -> bool {
        self.0.iter().any(|pattern| pattern.allows_origin_of(url))
    }

    /// The patterns in their order.
    #[must_use]
    pub fn patterns(&self) -> &[AccessPattern] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_allow_what_they_say_and_nothing_near_it() {
        let cases = [
            ("http://h/a", "http://h/a", true),
            ("http://h/a", "http://H:80/a#x", true),
            ("http://h/a", "http://h/%61", true),
            ("http://h/a", "http://h/a?q", false),
            ("http://h/a", "http://h/a/", false),
            ("http://h/docs/*", "http://h/docs/x/y?z", true),
            ("http://h/docs/*", "http://h/docs/../secret", false),
            ("http://h/docs/*", "http://h/docs/%2e%2e/secret", false),
            ("http://h/docs/*", "http://h/docs", false),
            ("http://h/docs/*", "http://h.evil/docs/", false),
            ("http://h/docs/*", "http://h:81/docs/", false),
            ("http://h/docs/*", "https://h/docs/", false),
            ("http://h/docs/*", "http://h@evil/docs/", false),
            ("http://h", "http://h/any?thing", true),
            ("http://h", "http://h.evil/", false),
            ("http://h:8080", "http://h/", false),
            ("http://h/", "http://h", true),
            ("http://h/", "http://h/x", false),
            ("http://h/%c3%a9", "http://h/\u{e9}", true),
            ("http://h", "javascript:alert(1)", false),
            ("http://h", "file:///etc/passwd", false),
            ("http://h", "blob:http://h/1", false),
        ];
        for (pattern, url, allowed) in cases {
            let list = AccessList::parse([pattern]).unwrap();
            assert_eq!(list.allows_text(url), allowed, "{pattern} on {url}");
        }
    }

    #[test]
    fn refused_patterns_say_why_without_showing_a_password() {
        assert_eq!(
            AccessPattern::parse("ftp://h/"),
            Err(AccessError::Scheme {
                scheme: "ftp".into()
            })
        );
        assert_eq!(
            AccessPattern::parse("http://u:p@h/"),
            Err(AccessError::Credentials)
        );
        assert_eq!(
            AccessPattern::parse("http://*.h/"),
            Err(AccessError::Wildcard)
        );
        assert_eq!(
            AccessPattern::parse("http://h*"),
            Err(AccessError::Wildcard)
        );
        let error = AccessPattern::parse("u:hunter2@h").unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        assert_eq!(AccessList::parse([]), Err(AccessError::Empty));
        assert_eq!(
            AccessList::parse(vec!["http://h"; 257]),
            Err(AccessError::TooMany { count: 257 })
        );
    }

    #[test]
    fn the_folder_of_a_page_holds_its_siblings() {
        let url = CanonicalUrl::parse("http://h/docs/index.html?x#y").unwrap();
        assert_eq!(
            AccessPattern::folder_of(&url).to_string(),
            "http://h/docs/*"
        );
        let root = CanonicalUrl::parse("http://h").unwrap();
        assert_eq!(AccessPattern::folder_of(&root).to_string(), "http://h/*");
    }

    proptest::proptest! {
        #[test]
        fn canonical_form_is_a_fixed_point(path in "[a-zA-Z0-9/%._~?&= -]{0,40}") {
            if let Ok(once) = CanonicalUrl::parse(&format!("http://h/{path}")) {
                let twice = CanonicalUrl::parse(once.as_str()).unwrap();
                proptest::prop_assert_eq!(once, twice);
            }
        }
    }
}
