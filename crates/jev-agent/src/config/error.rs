//! Why a configuration is refused: every variant names the key, none carries a value that could be
//! a secret.

use jev_core::access::AccessError;
use jev_core::error::JudgeError;
use jev_core::policy::PolicyError;

/// A configuration that is not used. Keys are written as a path, such as `read.limits.steps`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// The file is not there or can't be read.
    #[error("{file}: {kind}; `jev init` writes one")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system said.
        kind: std::io::ErrorKind,
    },
    /// The file is too long to be a configuration.
    #[error("{file}: {bytes} bytes; a configuration has at most {max}")]
    TooLong {
        /// The file.
        file: String,
        /// Its length in bytes.
        bytes: u64,
        /// The most that is read.
        max: u64,
    },
    /// The text is not TOML. The line itself is not shown: it may hold a secret.
    #[error("line {line}: not TOML ({what})")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The parser's word for the fault.
        what: String,
    },
    /// A key that nothing reads.
    #[error("`{key}` is not a key; known here: {}", known.join(", "))]
    Unknown {
        /// The key.
        key: String,
        /// The keys that are read at its place.
        known: Vec<&'static str>,
    },
    /// A credential where none may stand.
    #[error(
        "`{key}`: a credential never stands here; name a dotenv file with judge.env_file, or set the provider's variable"
    )]
    Credential {
        /// The key.
        key: String,
    },
    /// A value of another type than asked for.
    #[error("`{key}` must be {expected}")]
    Type {
        /// The key.
        key: String,
        /// What is expected.
        expected: &'static str,
    },
    /// A word that is not one of the choices.
    #[error("`{key}` must be one of {}", choices.join(", "))]
    Choice {
        /// The key.
        key: String,
        /// The choices.
        choices: Vec<&'static str>,
    },
    /// A number outside its range.
    #[error("`{key}`: {value} is outside {min}..={max}")]
    Range {
        /// The key.
        key: String,
        /// The value given.
        value: f64,
        /// The smallest allowed.
        min: f64,
        /// The largest allowed.
        max: f64,
    },
    /// A duration outside its range.
    #[error("`{key}`: {} ms is outside {} ms..={} ms", value.as_millis(), min.as_millis(), max.as_millis())]
    Duration {
        /// The key.
        key: String,
        /// The value given.
        value: std::time::Duration,
        /// The shortest allowed.
        min: std::time::Duration,
        /// The longest allowed.
        max: std::time::Duration,
    },
    /// A key that must be there.
    #[error("`{key}` is missing: {why}")]
    Missing {
        /// The key.
        key: String,
        /// Why it is needed.
        why: &'static str,
    },
    /// Two keys that exclude one another.
    #[error("`{key}` and `{other}` exclude one another; keep one")]
    Both {
        /// The first.
        key: String,
        /// The second.
        other: String,
    },
    /// An address or a pattern of one.
    #[error("`{key}`: {error}")]
    Access {
        /// The key.
        key: String,
        /// What is wrong with it.
        error: AccessError,
    },
    /// A start page outside its own allow-list.
    #[error(
        "`{key}`: {start} is not inside this source's own allow-list; add it or start elsewhere"
    )]
    StartNotAllowed {
        /// The key.
        key: String,
        /// The start page.
        start: String,
    },
    /// What a page must show can't be read.
    #[error("`{key}`: {error}")]
    Expectation {
        /// The key.
        key: String,
        /// What is wrong with it.
        error: jev_verify::SpecError,
    },
    /// Lists of control names that contradict each other.
    #[error("`{key}`: {error}")]
    Policy {
        /// The key.
        key: String,
        /// What contradicts.
        error: PolicyError,
    },
    /// The judge's name or address.
    #[error("`{key}`: {error}")]
    Judge {
        /// The key.
        key: String,
        /// What is wrong with it.
        error: JudgeError,
    },
    /// Two sources of one name.
    #[error("`{key}`: the name `{name}` is taken by an earlier source")]
    DuplicateName {
        /// The key.
        key: String,
        /// The name.
        name: String,
    },
    /// A name that can't be part of a tool's name.
    #[error(
        "`{key}`: a name has 1 to {max} small letters, digits, `_` or `-`, and begins with a letter"
    )]
    Name {
        /// The key.
        key: String,
        /// The most characters.
        max: usize,
    },
    /// A key in an agent's overrides that only the host's file may hold: addresses, endpoints,
    /// credentials, sources.
    #[error("`{key}` belongs to the host's file; an agent's overrides may not set it")]
    HostOnly {
        /// The key.
        key: String,
    },
    /// An override that asks for more than the host's file allows.
    #[error("`{key}`: an override may only be stricter than the host's file")]
    Wider {
        /// The key.
        key: String,
    },
}

impl ConfigError {
    /// The key at fault, where there is one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Unreadable { .. } | Self::TooLong { .. } | Self::Syntax { .. } => None,
            Self::Unknown { key, .. }
            | Self::Credential { key }
            | Self::Type { key, .. }
            | Self::Choice { key, .. }
            | Self::Range { key, .. }
            | Self::Duration { key, .. }
            | Self::Missing { key, .. }
            | Self::Both { key, .. }
            | Self::Access { key, .. }
            | Self::StartNotAllowed { key, .. }
            | Self::Expectation { key, .. }
            | Self::Policy { key, .. }
            | Self::Judge { key, .. }
            | Self::DuplicateName { key, .. }
            | Self::Name { key, .. }
            | Self::HostOnly { key }
            | Self::Wider { key } => Some(key),
        }
    }
}
