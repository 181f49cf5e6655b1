//! Credentials: where a key comes from, and the type that never shows it.

use std::fmt;
use std::path::PathBuf;

use jev_core::error::JudgeError;
use jev_core::redact::{Hidden, Redactor};

/// Shortest key that is looked for in request bodies; shorter ones ("EMPTY", "x") are stand-ins
/// for local servers and stand in any text by chance.
const LEAK_MIN_BYTES: usize = 8;

/// A key. Neither `Debug` nor `Display` show it, and it can't be serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A key, white space around it dropped. `None` when nothing is left, or when it holds
    /// anything that can't stand in a header.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic()))
            .then(|| Self(text.to_owned()))
    }

    /// The key itself, for the header and nothing else.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Tells a redactor to hide the key wherever it meets it.
    pub fn hide_in(&self, redactor: &mut Redactor) {
        redactor.hide(&self.0, Hidden::Credential);
    }

    /// Whether a reply holds the key, however its JSON is escaped.
    #[must_use]
    pub(crate) fn is_in(&self, reply: &[u8]) -> bool {
        // Escapes can spell any character; what is kept of a reply is what they mean.
        self.leaks_into(reply)
            || (reply.contains(&b'\\')
                && crate::json::parse(reply)
                    .is_ok_and(|value| self.leaks_into(value.to_string().as_bytes())))
    }

    /// Whether a request body holds the key, as it is or as JSON escapes it.
    #[must_use]
    pub fn leaks_into(&self, body: &[u8]) -> bool {
        if self.0.len() < LEAK_MIN_BYTES {
            return false;
        }
        let escaped = serde_json::Value::from(self.0.as_str()).to_string();
        let escaped = escaped.trim_matches('"').as_bytes();
        contains(body, self.0.as_bytes()) || contains(body, escaped)
    }
}

fn contains(body: &[u8], needle: &[u8]) -> bool {
    body.windows(needle.len()).any(|window| window == needle)
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([redacted])")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Where a key comes from. Read at the moment of each request, and not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Credential {
    /// No key is sent.
    #[default]
    None,
    /// A key that the host holds itself.
    Given {
        /// The key.
        secret: Secret,
    },
    /// An environment variable; no key is sent when it is not set.
    OptionalEnvironment {
        /// Its name.
        variable: String,
    },
    /// An environment variable that must be set.
    Environment {
        /// Its name.
        variable: String,
    },
    /// An entry of a dotenv file that must be there.
    Dotenv {
        /// The file.
        file: PathBuf,
        /// The entry's name.
        variable: String,
    },
}

impl Credential {
    /// Reads the key.
    ///
    /// # Errors
    /// [`JudgeError::Config`] when a key that must be there is not, can't be read or can't stand
    /// in a header. The message names file and variable, never a value.
    pub fn read(&self) -> Result<Option<Secret>, JudgeError> {
        match self {
            Self::None => Ok(None),
            Self::Given { secret } => Ok(Some(secret.clone())),
            Self::OptionalEnvironment { variable } => match std::env::var(variable) {
                Ok(value) => key(&value, variable).map(Some),
                Err(std::env::VarError::NotPresent) => Ok(None),
                Err(std::env::VarError::NotUnicode(_)) => Err(unusable(variable)),
            },
            Self::Environment { variable } => match std::env::var(variable) {
                Ok(value) => key(&value, variable).map(Some),
                Err(std::env::VarError::NotPresent) => Err(config(format!(
                    "no key; set {}, or name a dotenv file that holds it",
                    shown(variable)
                ))),
                Err(std::env::VarError::NotUnicode(_)) => Err(unusable(variable)),
            },
            Self::Dotenv { file, variable } => {
                let shown = file.display();
                // dotenvy's own messages quote the line, which may hold the key.
                let entries = dotenvy::from_path_iter(file)
                    .map_err(|_| config(format!("credential file {shown} can't be read")))?;
                for entry in entries {
                    let (name, value) = entry.map_err(|_| {
                        config(format!(
                            "credential file {shown} has a line that is not NAME=VALUE"
                        ))
                    })?;
                    if name == *variable {
                        return key(&value, variable).map(Some);
                    }
                }
                let variable = self::shown(variable);
                Err(config(format!("credential file {shown} has no {variable}")))
            }
        }
    }
}

fn key(value: &str, variable: &str) -> Result<Secret, JudgeError> {
    Secret::new(value).ok_or_else(|| unusable(variable))
}

fn unusable(variable: &str) -> JudgeError {
    config(format!(
        "{} is empty or holds characters that no key has",
        shown(variable)
    ))
}

/// A variable's name as messages show it: one that is not written as names usually are may be the
/// key itself, pasted instead of its name.
fn shown(variable: &str) -> &str {
    let usual = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    if (1..=64).contains(&variable.len()) && variable.bytes().all(usual) {
        variable
    } else {
        "the variable that was named (not shown: it looks like a key instead of a key's name)"
    }
}

fn config(what: String) -> JudgeError {
    JudgeError::Config { what }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const PLANTED: &str = "sk-planted-0123456789";

    #[test]
    fn a_secret_shows_itself_nowhere() {
        let secret = Secret::new(&format!("  {PLANTED}\n")).unwrap();
        for shown in [
            format!("{secret}"),
            format!("{secret:?}"),
            format!("{secret:#?}"),
        ] {
            assert!(!shown.contains("planted"), "{shown}");
        }
        assert_eq!(secret.expose(), PLANTED);
        assert_eq!(Secret::new(" "), None);
        assert_eq!(Secret::new("two words"), None);
        assert_eq!(Secret::new("кey-with-cyrillic"), None);
    }

    #[test]
    fn a_key_in_a_body_is_found_however_json_writes_it() {
        let secret = Secret::new("ab\"cd\\efgh").unwrap();
        let body = serde_json::json!({"state": "see ab\"cd\\efgh here"}).to_string();
        assert!(secret.leaks_into(body.as_bytes()));
        assert!(!secret.leaks_into(b"ab cd"));
        let spelled = br#"{"model": "\u0061b\u0022cd\\efgh"}"#;
        assert!(secret.is_in(spelled) && !secret.leaks_into(spelled));
        assert!(!Secret::new("EMPTY").unwrap().leaks_into(b"EMPTY"));
    }

    #[test]
    fn a_dotenv_file_gives_its_entry_and_its_faults_show_no_value() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(
            file,
            "# comment\nexport OTHER=1\nTYPESAFE_API_KEY=\"{PLANTED}\""
        )
        .unwrap();
        let credential = |variable: &str| Credential::Dotenv {
            file: file.path().to_owned(),
            variable: variable.to_owned(),
        };
        let key = credential("TYPESAFE_API_KEY").read().unwrap().unwrap();
        assert_eq!(key.expose(), PLANTED);
        assert!(credential("ABSENT").read().is_err());

        let mut broken = tempfile::NamedTempFile::new().unwrap();
        writeln!(broken, "TYPESAFE API KEY {PLANTED}").unwrap();
        let error = Credential::Dotenv {
            file: broken.path().to_owned(),
            variable: "TYPESAFE_API_KEY".to_owned(),
        }
        .read()
        .unwrap_err();
        assert!(!format!("{error:?} {error}").contains("planted"), "{error}");
    }

    #[test]
    fn a_variable_may_have_to_be_set() {
        let variable = "JEV_TEST_VARIABLE_THAT_NOBODY_SETS".to_owned();
        let optional = Credential::OptionalEnvironment {
            variable: variable.clone(),
        };
        assert_eq!(optional.read(), Ok(None));
        let error = Credential::Environment { variable }.read().unwrap_err();
        assert!(error.to_string().contains("JEV_TEST_VARIABLE"), "{error}");
        // A key that was pasted where its name belongs is not said back.
        let file = tempfile::NamedTempFile::new().unwrap();
        for pasted in [PLANTED, "sk_planted_0123456789"] {
            let variable = pasted.to_owned();
            let dotenv = Credential::Dotenv {
                file: file.path().to_owned(),
                variable: variable.clone(),
            };
            for credential in [Credential::Environment { variable }, dotenv] {
                let error = credential.read().unwrap_err().to_string();
                assert!(
                    error.contains("not shown") && !error.contains("planted"),
                    "{error}"
                );
            }
        }
    }
}
