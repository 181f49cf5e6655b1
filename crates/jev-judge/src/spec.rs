//! How a user names a judge (`--judge`, configuration), and how that name becomes a judge.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use jev_core::error::JudgeError;
use jev_core::ports::Judge;

use crate::client::Bounds;
use crate::credential::Credential;
use crate::endpoint::Endpoint;
use crate::lexical::LexicalJudge;
use crate::permute::PermutedJudge;
use crate::provider::chat::ChatJudge;
use crate::provider::compatible::{self, Compatible};
use crate::provider::openrouter::{self, OpenRouter};
use crate::provider::typesafe::{self, TypeSafe};
use crate::provider::{HttpJudge, Provider};
use crate::recorded::{RecordingJudge, ReplayJudge};
use crate::scripted::ScriptedJudge;
use crate::wire::Capabilities;

/// A judge by name, as a user writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JudgeSpec {
    /// `lexical`: shared words and trigrams.
    Lexical,
    /// `embedded`: sentence embeddings in process.
    Embedded,
    /// `scripted:FILE`: answers from a file.
    Scripted {
        /// The script, JSON Lines.
        file: PathBuf,
    },
    /// `systemone:URL[#MODEL]`: any server that speaks the protocol.
    Compatible {
        /// The completed address.
        endpoint: Endpoint,
        /// The model, when one is named.
        model: Option<String>,
    },
    /// `chat:URL#MODEL`: a chat model with log-probabilities.
    Chat {
        /// The completed address.
        endpoint: Endpoint,
        /// The model, when one is named.
        model: Option<String>,
    },
    /// `typesafe[:MODEL]`: the hosted Jev.
    TypeSafe {
        /// The model, when one is named.
        model: Option<String>,
    },
    /// `openrouter[:MODEL]`: Jev and others through OpenRouter.
    OpenRouter {
        /// The model, when one is named.
        model: Option<String>,
    },
    /// `record:FILE=JUDGE`: another judge, every exchange written down.
    Record {
        /// The new cassette.
        file: PathBuf,
        /// Who is recorded.
        judge: Box<JudgeSpec>,
    },
    /// `replay:FILE`: a cassette's answers.
    Replay {
        /// The cassette.
        file: PathBuf,
    },
}

/// Every form, for messages and help texts.
pub const KNOWN: &str = "lexical, embedded, scripted:FILE, systemone:URL[#MODEL], chat:URL#MODEL, \
typesafe[:MODEL], openrouter[:MODEL], record:FILE=JUDGE, replay:FILE";

impl JudgeSpec {
    /// The best judge that needs nothing: the embedded one where it is part of the build and its
    /// model is installed, else the lexical one. Looks at files, so two calls may differ.
    #[must_use]
    pub fn preferred() -> Self {
        #[cfg(feature = "embedded")]
        if crate::embedded::Weights::locate().is_ok() {
            return Self::Embedded;
        }
        Self::Lexical
    }

    /// Reads a judge's name.
    ///
    /// # Errors
    /// [`JudgeError::Config`] that says what is wrong and what is known.
    pub fn parse(text: &str) -> Result<Self, JudgeError> {
        let text = text.trim();
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        let needs = |what: &str| config(format!("judge `{name}` needs {what}: {name}:{what}"));
        let file = |rest: Option<&str>| match rest {
            Some(path) if !path.is_empty() => Ok(PathBuf::from(path)),
            Some(_) | None => Err(needs("FILE")),
        };
        let address = |tail: &str| {
            let rest = rest.filter(|rest| !rest.is_empty());
            let rest = rest.ok_or_else(|| needs("URL"))?;
            let (url, model) = match rest.split_once('#') {
                Some((url, model)) => (url, Some(model.to_owned())),
                None => (rest, None),
            };
            let endpoint = Endpoint::parse(url)?.with_tail(tail);
            Ok::<_, JudgeError>((endpoint, model.filter(|model| !model.is_empty())))
        };
        let model = || rest.filter(|rest| !rest.is_empty()).map(str::to_owned);
        Ok(match (name, rest) {
            ("lexical", None) => Self::Lexical,
            ("embedded", None) => Self::Embedded,
            ("scripted", rest) => Self::Scripted { file: file(rest)? },
            ("replay", rest) => Self::Replay { file: file(rest)? },
            ("systemone", _) => {
                let (endpoint, model) = address("systemone")?;
                Self::Compatible { endpoint, model }
            }
            ("chat", _) => {
                let (endpoint, model) = address("chat/completions")?;
                Self::Chat { endpoint, model }
            }
            ("typesafe", _) => Self::TypeSafe { model: model() },
            ("openrouter", _) => Self::OpenRouter { model: model() },
            ("record", Some(rest)) => {
                let (path, judge) = rest.split_once('=').ok_or_else(|| needs("FILE=JUDGE"))?;
                Self::Record {
                    file: file(Some(path))?,
                    judge: Box::new(Self::parse(judge)?),
                }
            }
            ("record", None) => return Err(needs("FILE=JUDGE")),
            _ => {
                // What stands after a colon may be anything, a key pasted by mistake included.
                let shown: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
                return Err(config(format!("unknown judge `{shown}`; one of {KNOWN}")));
            }
        })
    }

    /// Builds the judge: reads its files, asks nothing of a network.
    ///
    /// # Errors
    /// [`JudgeError::Config`] for a file that can't be read, a model the provider has not, or
    /// options that do not go together.
    pub fn build(&self, options: &BuildOptions) -> Result<Arc<dyn Judge>, JudgeError> {
        let orders = options.permute.filter(|orders| *orders != 1);
        // Before a cassette is begun, which a corrected command would find in its way.
        if let Some(orders) = orders {
            PermutedJudge::check(orders)?;
            if self.is_used_up() {
                return Err(config(format!(
                    "permute: `{self}` answers each request once, so it can't be asked in several orders"
                )));
            }
        }
        let judge = self.build_one(options)?;
        Ok(match orders {
            None => judge,
            Some(orders) => Arc::new(PermutedJudge::new(judge, orders)?),
        })
    }

    /// Where the judge's key comes from under these options. For a look at whether it is there;
    /// the judge itself reads it at each request.
    #[must_use]
    pub fn credential(&self, options: &BuildOptions) -> Credential {
        match self {
            Self::Lexical | Self::Embedded | Self::Scripted { .. } | Self::Replay { .. } => {
                Credential::None
            }
            Self::Compatible { endpoint, .. } | Self::Chat { endpoint, .. } => {
                options.generic_credential(endpoint)
            }
            Self::TypeSafe { .. } => options.hosted_credential(typesafe::KEY_VARIABLE),
            Self::OpenRouter { .. } => options.hosted_credential(openrouter::KEY_VARIABLE),
            Self::Record { judge, .. } => judge.credential(options),
        }
    }

    fn is_used_up(&self) -> bool {
        match self {
            Self::Scripted { .. } => true,
            Self::Record { judge, .. } => judge.is_used_up(),
            Self::Lexical
            | Self::Embedded
            | Self::Compatible { .. }
            | Self::Chat { .. }
            | Self::TypeSafe { .. }
            | Self::OpenRouter { .. }
            | Self::Replay { .. } => false,
        }
    }

    fn build_one(&self, options: &BuildOptions) -> Result<Arc<dyn Judge>, JudgeError> {
        Ok(match self {
            Self::Lexical => Arc::new(LexicalJudge::new()),
            Self::Embedded => embedded()?,
            Self::Scripted { file } => Arc::new(ScriptedJudge::load(file)?),
            Self::Replay { file } => Arc::new(ReplayJudge::load(file)?),
            Self::Record { file, judge } => {
                let inner = judge.build_one(options)?;
                let credential = judge.credential(options);
                Arc::new(RecordingJudge::create(file, inner, credential)?)
            }
            Self::Compatible { endpoint, model } => {
                let model = options.model(model).unwrap_or(compatible::DEFAULT_MODEL);
                let provider = Compatible::new(model, options.capabilities)?;
                let credential = options.generic_credential(endpoint);
                http(provider, endpoint.clone(), credential, options)?
            }
            Self::Chat { endpoint, model } => {
                let model = options.model(model).ok_or_else(|| {
                    config("judge `chat` needs a model: chat:URL#MODEL".to_owned())
                })?;
                Arc::new(ChatJudge::new(
                    model,
                    endpoint.clone(),
                    options.generic_credential(endpoint),
                    &options.headers,
                    options.bounds,
                )?)
            }
            Self::TypeSafe { model } => {
                let model = options.model(model).unwrap_or(typesafe::DEFAULT_MODEL);
                let endpoint = options.endpoint(typesafe::ENDPOINT)?;
                let credential = options.hosted_credential(typesafe::KEY_VARIABLE);
                http(TypeSafe::new(model)?, endpoint, credential, options)?
            }
            Self::OpenRouter { model } => {
                let model = options.model(model).unwrap_or(openrouter::DEFAULT_MODEL);
                let endpoint = options.endpoint(openrouter::ENDPOINT)?;
                let credential = options.hosted_credential(openrouter::KEY_VARIABLE);
                http(OpenRouter::new(model)?, endpoint, credential, options)?
            }
        })
    }
}

fn http<P: Provider + 'static>(
    provider: P,
    endpoint: Endpoint,
    credential: Credential,
    options: &BuildOptions,
) -> Result<Arc<dyn Judge>, JudgeError> {
    let judge = HttpJudge::new(
        provider,
        endpoint,
        credential,
        &options.headers,
        options.bounds,
    )?;
    Ok(Arc::new(judge))
}

#[cfg(feature = "embedded")]
fn embedded() -> Result<Arc<dyn Judge>, JudgeError> {
    Ok(Arc::new(crate::embedded::EmbeddedJudge::installed()?))
}

#[cfg(not(feature = "embedded"))]
fn embedded() -> Result<Arc<dyn Judge>, JudgeError> {
    Err(config(
        "judge `embedded` is not part of this build; use `lexical`".to_owned(),
    ))
}

fn config(what: String) -> JudgeError {
    JudgeError::Config { what }
}

impl fmt::Display for JudgeSpec {
    /// The name as it can be read back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named =
            |f: &mut fmt::Formatter<'_>, head: String, mark: char, model: &Option<String>| {
                match model {
                    Some(model) => write!(f, "{head}{mark}{model}"),
                    None => f.write_str(&head),
                }
            };
        match self {
            Self::Lexical => f.write_str("lexical"),
            Self::Embedded => f.write_str("embedded"),
            Self::Scripted { file } => write!(f, "scripted:{}", file.display()),
            Self::Compatible { endpoint, model } => {
                named(f, format!("systemone:{endpoint}"), '#', model)
            }
            Self::Chat { endpoint, model } => named(f, format!("chat:{endpoint}"), '#', model),
            Self::TypeSafe { model } => named(f, "typesafe".to_owned(), ':', model),
            Self::OpenRouter { model } => named(f, "openrouter".to_owned(), ':', model),
            Self::Record { file, judge } => write!(f, "record:{}={judge}", file.display()),
            Self::Replay { file } => write!(f, "replay:{}", file.display()),
        }
    }
}

/// What a host may set beside a judge's name.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// The model; wins over the one in the judge's name.
    pub model: Option<String>,
    /// A hosted provider's whole address, path included, instead of its own.
    pub endpoint: Option<String>,
    /// A dotenv file that holds the key; the environment is then not looked at.
    pub env_file: Option<PathBuf>,
    /// The name of the key's variable, instead of the provider's own.
    pub key_variable: Option<String>,
    /// Headers sent with every request.
    pub headers: Vec<(String, String)>,
    /// What a compatible server can take.
    pub capabilities: Capabilities,
    /// Time bounds and retries of the client.
    pub bounds: Bounds,
    /// In how many option orders every choice is asked: 2 to 8, none or 1 for as it is.
    pub permute: Option<usize>,
}

impl BuildOptions {
    fn model<'a>(&'a self, named: &'a Option<String>) -> Option<&'a str> {
        self.model.as_deref().or(named.as_deref())
    }

    fn endpoint(&self, own: &str) -> Result<Endpoint, JudgeError> {
        Endpoint::parse(self.endpoint.as_deref().unwrap_or(own))
    }

    /// A hosted provider's key must be there.
    fn hosted_credential(&self, own_variable: &str) -> Credential {
        let variable = self.key_variable.as_deref().unwrap_or(own_variable);
        self.configured(variable)
            .unwrap_or_else(|| Credential::Environment {
                variable: variable.to_owned(),
            })
    }

    /// Any other server gets a key only when one is configured; one elsewhere also when the
    /// general variable is set. Loopback never gets a key by accident.
    fn generic_credential(&self, endpoint: &Endpoint) -> Credential {
        let variable = self.key_variable.as_deref();
        let general = variable.unwrap_or(compatible::KEY_VARIABLE).to_owned();
        match (self.configured(&general), variable) {
            (Some(configured), _) => configured,
            (None, Some(_)) => Credential::Environment { variable: general },
            (None, None) if endpoint.is_loopback() => Credential::None,
            (None, None) => Credential::OptionalEnvironment { variable: general },
        }
    }

    fn configured(&self, variable: &str) -> Option<Credential> {
        self.env_file.as_ref().map(|file| Credential::Dotenv {
            file: file.clone(),
            variable: variable.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_as_they_are_shown() {
        for (text, shown) in [
            ("lexical", "lexical"),
            (" embedded ", "embedded"),
            ("scripted:a/b.jsonl", "scripted:a/b.jsonl"),
            (
                "systemone:http://127.0.0.1:9",
                "systemone:http://127.0.0.1:9/v1/systemone",
            ),
            (
                "systemone:https://h/v1/systemone#kev",
                "systemone:https://h/v1/systemone#kev",
            ),
            (
                "chat:http://localhost:8000/v1#qwen3:4b",
                "chat:http://localhost:8000/v1/chat/completions#qwen3:4b",
            ),
            ("typesafe", "typesafe"),
            ("typesafe:jev-1.13.0", "typesafe:jev-1.13.0"),
            (
                "openrouter:~typesafe/jev-latest",
                "openrouter:~typesafe/jev-latest",
            ),
            ("replay:x", "replay:x"),
            (
                "record:x=systemone:http://127.0.0.1:9/?a=b",
                "record:x=systemone:http://127.0.0.1:9/v1/systemone?a=b",
            ),
        ] {
            let spec = JudgeSpec::parse(text).unwrap();
            assert_eq!(spec.to_string(), shown);
            assert_eq!(JudgeSpec::parse(shown), Ok(spec));
        }
    }

    #[test]
    fn faults_say_what_is_missing() {
        for (text, word) in [
            ("", "unknown judge"),
            ("oracle", "lexical, embedded"),
            ("lexical:x", "unknown judge"),
            ("scripted", "scripted:FILE"),
            ("scripted:", "scripted:FILE"),
            ("systemone", "systemone:URL"),
            ("systemone:127.0.0.1:80", "URL"),
            ("systemone:http://example.com", "only https"),
            ("systemone:https://u:hunter2@example.com", "credentials"),
            ("record:x", "FILE=JUDGE"),
            ("record:x=oracle", "unknown judge"),
        ] {
            let error = JudgeSpec::parse(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    fn build(text: &str, options: &BuildOptions) -> Result<Arc<dyn Judge>, JudgeError> {
        JudgeSpec::parse(text)?.build(options)
    }

    #[test]
    fn building_asks_no_network_and_checks_what_it_can() {
        let plain = BuildOptions::default();
        let named = build("typesafe", &plain).unwrap().identity();
        assert_eq!(
            (named.name.as_str(), named.model.as_deref()),
            ("typesafe", Some("jev-latest"))
        );
        let named = build("chat:http://127.0.0.1:9#m", &plain)
            .unwrap()
            .identity();
        assert_eq!(named.model.as_deref(), Some("m"));
        let override_model = BuildOptions {
            model: Some("jev-1.13.0".to_owned()),
            ..BuildOptions::default()
        };
        let named = build("openrouter:jev-latest", &override_model)
            .unwrap()
            .identity();
        assert_eq!(named.model.as_deref(), Some("typesafe/jev-1.13.0"));
        for (text, word) in [
            ("typesafe:gpt", "no model of typesafe"),
            ("chat:http://127.0.0.1:9", "needs a model"),
            ("scripted:/absent", "/absent"),
            ("replay:/absent", "/absent"),
        ] {
            let error = build(text, &plain).err().unwrap().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
        let permuted = BuildOptions {
            permute: Some(2),
            ..BuildOptions::default()
        };
        assert_eq!(
            build("lexical", &permuted).unwrap().identity().name,
            "lexical"
        );
    }

    #[test]
    fn loopback_gets_no_key_unless_one_is_configured() {
        let near = Endpoint::parse("http://127.0.0.1:9").unwrap();
        let far = Endpoint::parse("https://example.com").unwrap();
        let plain = BuildOptions::default();
        assert_eq!(plain.generic_credential(&near), Credential::None);
        let general = compatible::KEY_VARIABLE.to_owned();
        assert_eq!(
            plain.generic_credential(&far),
            Credential::OptionalEnvironment {
                variable: general.clone()
            }
        );
        let filed = BuildOptions {
            env_file: Some("keys.env".into()),
            ..BuildOptions::default()
        };
        assert_eq!(
            filed.generic_credential(&near),
            Credential::Dotenv {
                file: "keys.env".into(),
                variable: general
            }
        );
        let named = BuildOptions {
            key_variable: Some("MY_KEY".to_owned()),
            ..BuildOptions::default()
        };
        assert_eq!(
            named.generic_credential(&near),
            Credential::Environment {
                variable: "MY_KEY".to_owned()
            }
        );
    }
}
