//! Reads tables strictly: every key is asked for by name, what is left over is an error, and every
//! error names the key's whole path and never its value.

use std::time::Duration;

use serde_json::{Map, Value};

use super::error::ConfigError;

/// Parts of a key that say it holds a credential.
const CREDENTIAL_WORDS: [&str; 8] = [
    "api_key",
    "apikey",
    "secret",
    "token",
    "password",
    "bearer",
    "credential",
    "authorization",
];

/// Most characters of an unknown key that an error shows.
const KEY_SHOWN_CHARS: usize = 64;

/// One table under its path.
#[derive(Debug)]
pub(super) struct Table {
    path: String,
    entries: Map<String, Value>,
    known: Vec<&'static str>,
}

impl Table {
    pub(super) fn new(path: &str, entries: Map<String, Value>) -> Self {
        Self {
            path: path.to_owned(),
            entries,
            known: Vec::new(),
        }
    }

    /// The whole path of a key of this table.
    pub(super) fn key(&self, key: &str) -> String {
        // A key may come from an agent: it is shown, so it is held short and plain.
        let key: String = key
            .chars()
            .take(KEY_SHOWN_CHARS)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        if self.path.is_empty() {
            key
        } else {
            format!("{}.{key}", self.path)
        }
    }

    fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.entries.shift_remove(key)
    }

    fn wrong(&self, key: &str, expected: &'static str) -> ConfigError {
        ConfigError::Type {
            key: self.key(key),
            expected,
        }
    }

    /// A text that is not blank.
    pub(super) fn text(&mut self, key: &'static str) -> Result<Option<String>, ConfigError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text)),
            Some(_) => Err(self.wrong(key, "a text that is not blank")),
        }
    }

    /// A list of texts, or one text; empty when it is not there.
    pub(super) fn texts(&mut self, key: &'static str) -> Result<Vec<String>, ConfigError> {
        let expected = "a list of texts";
        match self.take(key) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text]),
            Some(Value::Array(items)) => items
                .into_iter()
                .map(|item| {
                    item.as_str()
                        .map(str::to_owned)
                        .ok_or_else(|| self.wrong(key, expected))
                })
                .collect(),
            Some(_) => Err(self.wrong(key, expected)),
        }
    }

    /// A whole number inside a range.
    pub(super) fn count(
        &mut self,
        key: &'static str,
        min: u32,
        max: u32,
    ) -> Result<Option<u32>, ConfigError> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        let Value::Number(number) = &value else {
            return Err(self.wrong(key, "a whole number"));
        };
        let inside = number
            .as_u64()
            .and_then(|count| u32::try_from(count).ok())
            .filter(|count| (min..=max).contains(count));
        match (inside, number.as_f64()) {
            (Some(count), _) => Ok(Some(count)),
            (None, Some(value)) if value.fract() == 0.0 => Err(ConfigError::Range {
                key: self.key(key),
                value,
                min: f64::from(min),
                max: f64::from(max),
            }),
            (None, _) => Err(self.wrong(key, "a whole number")),
        }
    }

    /// A number inside a range. Not a number is not a number here either.
    pub(super) fn number(
        &mut self,
        key: &'static str,
        min: f64,
        max: f64,
    ) -> Result<Option<f64>, ConfigError> {
        match self.take(key) {
            None => Ok(None),
            Some(value) => match value.as_f64() {
                Some(number) if (min..=max).contains(&number) => Ok(Some(number)),
                Some(value) => Err(ConfigError::Range {
                    key: self.key(key),
                    value,
                    min,
                    max,
                }),
                None => Err(self.wrong(key, "a number")),
            },
        }
    }

    /// A duration such as `"10s"` or `"500ms"`, inside a range.
    pub(super) fn duration(
        &mut self,
        key: &'static str,
        min: Duration,
        max: Duration,
    ) -> Result<Option<Duration>, ConfigError> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        let duration = value
            .as_str()
            .and_then(|text| humantime::parse_duration(text.trim()).ok())
            .ok_or_else(|| self.wrong(key, "a duration such as \"10s\" or \"500ms\""))?;
        if duration < min || duration > max {
            return Err(ConfigError::Duration {
                key: self.key(key),
                value: duration,
                min,
                max,
            });
        }
        Ok(Some(duration))
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
    ) -> Result<Option<T>, ConfigError> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        choices
            .iter()
            .find(|(word, _)| value.as_str() == Some(word))
            .map(|(_, choice)| Some(*choice))
            .ok_or_else(|| ConfigError::Choice {
                key: self.key(key),
                choices: choices.iter().map(|(word, _)| *word).collect(),
            })
    }

    /// A table inside this one.
    pub(super) fn table(&mut self, key: &'static str) -> Result<Option<Table>, ConfigError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Object(entries)) => Ok(Some(Self::new(&self.key(key), entries))),
            Some(_) => Err(self.wrong(key, "a table")),
        }
    }

    /// A list of tables; their paths carry their place, from 1.
    pub(super) fn tables(&mut self, key: &'static str) -> Result<Vec<Table>, ConfigError> {
        let expected = "a list of tables, each begun by double brackets";
        match self.take(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => (1..)
                .zip(items)
                .map(|(place, item): (usize, Value)| {
                    let Value::Object(entries) = item else {
                        return Err(self.wrong(key, expected));
                    };
                    Ok(Self::new(&format!("{}[{place}]", self.key(key)), entries))
                })
                .collect(),
            Some(_) => Err(self.wrong(key, expected)),
        }
    }

    /// The first key that is left over.
    pub(super) fn left(&self) -> Option<(String, &Value)> {
        self.entries
            .iter()
            .next()
            .map(|(key, value)| (self.key(key), value))
    }

    /// Whether all keys have been read.
    pub(super) fn finish(self) -> Result<(), ConfigError> {
        let Some((key, _)) = self.left() else {
            return Ok(());
        };
        if names_a_credential(&key) {
            return Err(ConfigError::Credential { key });
        }
        Err(ConfigError::Unknown {
            key,
            known: self.known,
        })
    }
}

/// Whether a key's name says that it holds a credential.
pub(super) fn names_a_credential(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or(key).to_lowercase();
    let last = last.replace('-', "_");
    last == "key" || CREDENTIAL_WORDS.iter().any(|word| last.contains(word))
}
