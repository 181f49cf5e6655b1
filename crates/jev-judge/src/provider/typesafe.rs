//! TypeSafe's hosted Jev: the native shape at its own address.

use jev_core::error::{AnswerFault, JudgeError};
use jev_core::question::{Decision, Questionnaire};

use super::Provider;
use super::compatible::Compatible;
use crate::client::Verdict;
use crate::wire::Capabilities;

/// The address, unless a host names another.
pub const ENDPOINT: &str = "https://api.typesafe.ai/v1/systemone";
/// The environment variable of the key, as the official SDK names it.
pub const KEY_VARIABLE: &str = "TYPESAFE_API_KEY";
/// The model, unless a host names another: the alias of the current one.
pub const DEFAULT_MODEL: &str = "jev-latest";

/// The adapter.
#[derive(Clone, Debug)]
pub struct TypeSafe {
    /// Every compatible server speaks the shape of this one.
    native: Compatible,
}

impl TypeSafe {
    /// For one model: `jev-` and a version, `jev-latest` or `jev-preview`.
    ///
    /// # Errors
    /// [`JudgeError::Config`] for a name that the provider has not.
    pub fn new(model: &str) -> Result<Self, JudgeError> {
        if !is_jev(model) {
            return Err(JudgeError::Config {
                what: format!(
                    "`{}` is no model of typesafe; one like jev-latest or jev-1.13.0",
                    shown(model)
                ),
            });
        }
        Ok(Self {
            native: Compatible::new(model, Capabilities::default())?,
        })
    }
}

/// A bare id of the Jev family.
pub(crate) fn is_jev(model: &str) -> bool {
    model.len() <= 40
        && model.strip_prefix("jev-").is_some_and(|rest| {
            !rest.is_empty()
                && rest
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b".-".contains(&b))
        })
}

/// A name as a message may show it.
pub(crate) fn shown(model: &str) -> String {
    model.chars().filter(|c| !c.is_control()).take(60).collect()
}

impl Provider for TypeSafe {
    fn name(&self) -> &'static str {
        "typesafe"
    }

    fn model(&self) -> &str {
        self.native.model()
    }

    fn encode(&self, questionnaire: &Questionnaire) -> Result<Vec<u8>, JudgeError> {
        self.native.encode(questionnaire)
    }

    fn judge(&self, status: u16, body: &[u8]) -> Verdict {
        self.native.judge(status, body)
    }

    fn decode(&self, questionnaire: &Questionnaire, body: &[u8]) -> Result<Decision, JudgeError> {
        answered_by_jev(self.native.decode(questionnaire, body)?, "")
    }
}

/// The decision, if a Jev answered, or nobody said who: an alias takes any version, but only of this
/// family. `vendor` is what may stand before its id.
pub(crate) fn answered_by_jev(decision: Decision, vendor: &str) -> Result<Decision, JudgeError> {
    let bare = |name: &str| is_jev(name.strip_prefix(vendor).unwrap_or(name));
    if decision.model.as_deref().is_none_or(bare) {
        Ok(decision)
    } else {
        Err(JudgeError::Protocol {
            question: None,
            fault: AnswerFault::Model,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{candidate, flat};
    use jev_core::question::QuestionKind;
    use serde_json::{Map, Value, json};

    #[test]
    fn only_its_own_models_are_asked_for() {
        for (model, fine) in [
            ("jev-latest", true),
            ("jev-1.13.0", true),
            ("jev-", false),
            ("typesafe/jev-1.13", false),
            ("gpt-6", false),
            ("JEV-1", false),
            ("", false),
        ] {
            assert_eq!(TypeSafe::new(model).is_ok(), fine, "{model}");
        }
    }

    #[test]
    fn an_alias_is_answered_by_its_own_family_alone() {
        let provider = TypeSafe::new(DEFAULT_MODEL).unwrap();
        let asked = flat("goal", &[candidate("c1", "Home", "http://h/")]);
        for (model, fine) in [("jev-1.14.0", true), ("gpt-6", false)] {
            let QuestionKind::Choice { options, .. } = &asked.questions[0].kind else {
                panic!("a choice");
            };
            let p = |name: &str| json!(u8::from(name == "c1"));
            let names = options.iter().map(|option| option.name.clone());
            let probabilities: Map<String, Value> =
                names.map(|name| (name.clone(), p(&name))).collect();
            let answer = json!({
                "type": "choice", "choice": "c1", "confidence": 1.0,
                "probabilities": probabilities,
            });
            let body = json!({
                "model": model, "answers": {"action": answer},
                "usage": {"input_tokens": 1, "output_tokens": 1},
            });
            let found = provider.decode(&asked, body.to_string().as_bytes());
            assert_eq!(found.is_ok(), fine, "{model}: {found:?}");
        }
    }

    #[test]
    fn statuses_are_sorted_by_what_helps() {
        let provider = TypeSafe::new(DEFAULT_MODEL).unwrap();
        let too_many = br#"{"detail":{"error_type":"max_tokens_exceeded"}}"#;
        let final_one = Verdict::Final;
        for (status, body, expected) in [
            (200, &b""[..], Verdict::Answer),
            (400, &too_many[..], final_one(JudgeError::TooLarge)),
            (
                400,
                b"plain",
                final_one(JudgeError::InvalidRequest { status: 400 }),
            ),
            (401, b"", final_one(JudgeError::Auth { status: 401 })),
            (403, b"", final_one(JudgeError::Auth { status: 403 })),
            (404, b"", final_one(JudgeError::NotFound { status: 404 })),
            (413, b"", final_one(JudgeError::TooLarge)),
            (
                422,
                b"",
                final_one(JudgeError::InvalidRequest { status: 422 }),
            ),
            (408, b"", Verdict::Transient(JudgeError::Timeout)),
            (429, b"", Verdict::Transient(JudgeError::RateLimited)),
            (
                500,
                b"",
                Verdict::Transient(JudgeError::Server { status: 500 }),
            ),
            (
                529,
                b"",
                Verdict::Transient(JudgeError::Overloaded { status: 529 }),
            ),
        ] {
            assert_eq!(provider.judge(status, body), expected, "{status}");
        }
        assert!(matches!(
            provider.judge(204, b""),
            Verdict::Final(JudgeError::Protocol { .. })
        ));
    }
}
