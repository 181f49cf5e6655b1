//! The `[judge]` table: who decides, where its key comes from, and the judge made of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jev_core::error::JudgeError;
use jev_core::ports::Judge;
use jev_core::telemetry::Price;
use jev_judge::credential::Credential;
use jev_judge::endpoint::Endpoint;
use jev_judge::spec::{BuildOptions, JudgeSpec};
use serde::Serialize;

use super::error::ConfigError;
use super::late::{LateJudge, load_beside};
use super::reader::Table;

/// Largest price of a million tokens that is believed.
const PRICE_MAX: f64 = 1_000_000.0;

/// Who decides.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeSettings {
    /// The judge.
    pub spec: JudgeSpec,
    /// The model asked for, where the provider has several.
    pub model: Option<String>,
    /// A hosted provider's address instead of its own.
    pub endpoint: Option<String>,
    /// The dotenv file that holds the key; none: the environment.
    pub env_file: Option<PathBuf>,
    /// The key's variable, instead of the provider's own.
    pub key_variable: Option<String>,
    /// In how many option orders every choice is asked.
    pub permute: Option<usize>,
    /// What its tokens cost; no part of what decides its answers.
    pub price: Option<Price>,
}

impl Default for JudgeSettings {
    /// The best judge that needs no key and no network: see [`JudgeSpec::preferred`].
    fn default() -> Self {
        Self {
            spec: JudgeSpec::preferred(),
            model: None,
            endpoint: None,
            env_file: None,
            key_variable: None,
            permute: None,
            price: None,
        }
    }
}

/// What of a judge decides its answers, for the configuration's digest.
#[derive(Serialize)]
pub(super) struct Identity<'a> {
    spec: String,
    model: Option<&'a str>,
    endpoint: Option<&'a str>,
    permute: Option<usize>,
}

impl JudgeSettings {
    pub(super) fn read(mut table: Table, folder: &Path) -> Result<Self, ConfigError> {
        let key = table.key("provider");
        let (path_key, url_key) = (table.key("path"), table.key("url"));
        let provider = table.text("provider")?;
        let path = table.text("path")?;
        let url = table.text("url")?;
        let settings = Self {
            model: table.text("model")?,
            env_file: table.text("env_file")?.map(|file| folder.join(file)),
            key_variable: table.text("key_variable")?,
            permute: table.count("permute", 1, 8)?.map(|orders| orders as usize),
            price: table.table("price")?.map(price).transpose()?,
            ..Self::default()
        };
        table.finish()?;
        let wrong = |error| ConfigError::Judge {
            key: key.clone(),
            error,
        };
        let Some(provider) = provider else {
            return match (path, url) {
                (None, None) => Ok(settings),
                (Some(_), _) | (None, Some(_)) => Err(ConfigError::Missing {
                    key,
                    why: "a path or an address alone names no judge",
                }),
            };
        };
        let both = |other: &str| ConfigError::Both {
            key: other.to_owned(),
            other: key.clone(),
        };
        let (spec, endpoint) = match (path, url) {
            (Some(_), Some(_)) => {
                return Err(ConfigError::Both {
                    key: path_key,
                    other: url_key,
                });
            }
            (Some(_), None) if provider.contains(':') => return Err(both(&path_key)),
            (Some(path), None) => (format!("{provider}:{path}"), None),
            // The judges at an address carry it in their name; the hosted ones have their own.
            (None, Some(url)) if matches!(provider.as_str(), "systemone" | "chat") => {
                (format!("{provider}:{url}"), None)
            }
            (None, Some(_)) if provider.contains("://") => return Err(both(&url_key)),
            (None, Some(url)) => {
                Endpoint::parse(&url).map_err(|error| ConfigError::Judge {
                    key: url_key,
                    error,
                })?;
                (provider, Some(url))
            }
            (None, None) => (provider, None),
        };
        Ok(Self {
            spec: placed(JudgeSpec::parse(&spec).map_err(wrong)?, folder),
            endpoint,
            ..settings
        })
    }

    /// Where the key comes from.
    #[must_use]
    pub fn credential(&self) -> Credential {
        self.spec.credential(&self.options())
    }

    /// Builds the judge: reads its files, asks nothing of a network.
    ///
    /// # Errors
    /// [`JudgeError::Config`].
    pub fn build(&self) -> Result<Arc<dyn Judge>, JudgeError> {
        self.spec.build(&self.options())
    }

    /// As [`JudgeSettings::build`], for a server that must answer at once: a judge that takes a
    /// while to load is loaded in the background when called inside a runtime, else at its first
    /// question, and its faults come then.
    ///
    /// # Errors
    /// [`JudgeError::Config`].
    pub fn build_beside(&self) -> Result<Arc<dyn Judge>, JudgeError> {
        if self.spec != JudgeSpec::Embedded {
            return self.build();
        }
        let judge = Arc::new(LateJudge::new(self.clone()));
        load_beside(&judge);
        Ok(judge)
    }

    fn options(&self) -> BuildOptions {
        BuildOptions {
            model: self.model.clone(),
            endpoint: self.endpoint.clone(),
            env_file: self.env_file.clone(),
            key_variable: self.key_variable.clone(),
            permute: self.permute,
            ..BuildOptions::default()
        }
    }

    pub(super) fn identity(&self) -> Identity<'_> {
        Identity {
            spec: self.spec.to_string(),
            model: self.model.as_deref(),
            endpoint: self.endpoint.as_deref(),
            permute: self.permute,
        }
    }
}

/// `[judge.price]`: both numbers for a million tokens.
fn price(mut table: Table) -> Result<Price, ConfigError> {
    let mut number = |key: &'static str| {
        let at = table.key(key);
        table
            .number(key, 0.0, PRICE_MAX)?
            .ok_or(ConfigError::Missing {
                key: at,
                why: "the price of a million tokens, in your currency",
            })
    };
    let (input, output) = (number("input")?, number("output")?);
    let key = table.key("input");
    table.finish()?;
    Price::per_million(input, output).map_err(|_| ConfigError::Type {
        key,
        expected: "a finite number of zero or more",
    })
}

/// Files are taken from the configuration's folder.
fn placed(spec: JudgeSpec, folder: &Path) -> JudgeSpec {
    match spec {
        JudgeSpec::Scripted { file } => JudgeSpec::Scripted {
            file: folder.join(file),
        },
        JudgeSpec::Replay { file } => JudgeSpec::Replay {
            file: folder.join(file),
        },
        JudgeSpec::Record { file, judge } => JudgeSpec::Record {
            file: folder.join(file),
            judge: Box::new(placed(*judge, folder)),
        },
        JudgeSpec::Lexical
        | JudgeSpec::Embedded
        | JudgeSpec::Compatible { .. }
        | JudgeSpec::Chat { .. }
        | JudgeSpec::TypeSafe { .. }
        | JudgeSpec::OpenRouter { .. } => spec,
    }
}
