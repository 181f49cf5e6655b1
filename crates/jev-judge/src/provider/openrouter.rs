//! Jev through OpenRouter: the native shape with its own model names, errors and ids.

use serde_json::Value;

use jev_core::error::{AnswerFault, JudgeError};
use jev_core::question::{Decision, Questionnaire};

use super::typesafe::{answered_by_jev, is_jev, shown};
use super::{Provider, judge_status};
use crate::client::{Verdict, plain_id};
use crate::json;
use crate::model::is_model_name;
use crate::validate::{ModelRule, Rules, UsageRule, validate};
use crate::wire::{Capabilities, NoulSides, encode};

/// The address, unless a host names another.
pub const ENDPOINT: &str = "https://openrouter.ai/api/v1/systemone";
/// The environment variable of the key.
pub const KEY_VARIABLE: &str = "OPENROUTER_API_KEY";
/// The model, unless a host names another.
pub const DEFAULT_MODEL: &str = "jev-latest";

/// The adapter.
#[derive(Clone, Debug)]
pub struct OpenRouter {
    model: String,
}

impl OpenRouter {
    /// For one model: a bare Jev id, which gets the vendor's prefix (and the `~` that an alias
    /// needs), or `vendor/name`.
    ///
    /// # Errors
    /// [`JudgeError::Config`] for any other name.
    pub fn new(model: &str) -> Result<Self, JudgeError> {
        let alias = model.ends_with("-latest") || model.ends_with("-preview");
        let named = match (is_jev(model), alias) {
            (true, true) => format!("~typesafe/{model}"),
            (true, false) => format!("typesafe/{model}"),
            (false, _) if is_prefixed(model) => model.to_owned(),
            (false, _) => {
                return Err(JudgeError::Config {
                    what: format!(
                        "`{}` is no model of openrouter; one like jev-latest or typesafe/jev-1.13",
                        shown(model)
                    ),
                });
            }
        };
        Ok(Self { model: named })
    }
}

fn is_prefixed(model: &str) -> bool {
    let bare = model.strip_prefix('~').unwrap_or(model);
    let part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b))
    };
    is_model_name(model)
        && bare
            .split_once('/')
            .is_some_and(|(vendor, name)| part(vendor) && part(name))
}

impl Provider for OpenRouter {
    fn name(&self) -> &'static str {
        "openrouter"
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn encode(&self, questionnaire: &Questionnaire) -> Result<Vec<u8>, JudgeError> {
        let capabilities = Capabilities {
            noul_sides: NoulSides::BothOrNone,
            ..Capabilities::default()
        };
        encode(&self.model, questionnaire, &capabilities)
    }

    fn judge(&self, status: u16, body: &[u8]) -> Verdict {
        let reply = json::parse(body).ok();
        let error = reply.as_ref().and_then(|reply| reply.get("error"));
        let error = error.filter(|error| !error.is_null());
        match (status, error) {
            // An error may come inside a 200. Its own code then says what it is.
            (200, Some(error)) => {
                let code = error.get("code").and_then(Value::as_u64);
                match code.and_then(|code| u16::try_from(code).ok()) {
                    Some(code @ 400..=599) => self.judge(code, body),
                    Some(_) | None => Verdict::Final(JudgeError::Protocol {
                        question: None,
                        fault: AnswerFault::Shape,
                    }),
                }
            }
            // Requests in flight have eaten the budget: it frees itself. Every other 402 stays.
            (402, Some(error)) if limit_source(error) == Some("openrouter_in_flight_budget") => {
                Verdict::Transient(JudgeError::RateLimited)
            }
            // A wrong key is a 401 here; a 403 that explains itself is moderation's refusal.
            (403, Some(_)) => Verdict::Final(JudgeError::InvalidRequest { status }),
            _ => judge_status(status),
        }
    }

    fn decode(&self, questionnaire: &Questionnaire, body: &[u8]) -> Result<Decision, JudgeError> {
        let rules = Rules {
            model: ModelRule::Requested(self.model.clone()),
            usage: UsageRule::Required,
        };
        let mut decision = validate(questionnaire, body, &rules)?;
        if self.model.starts_with("~typesafe/jev-") {
            decision = answered_by_jev(decision, "typesafe/")?;
        }
        // No header names the request here; the body does.
        let id = json::parse(body)
            .ok()
            .and_then(|reply| reply.get("id").and_then(Value::as_str).and_then(plain_id));
        Ok(Decision {
            request_id: id,
            ..decision
        })
    }
}

fn limit_source(error: &Value) -> Option<&str> {
    error.get("metadata")?.get("limit_source")?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{candidate, flat};
    use jev_core::question::{Question, QuestionKind};

    #[test]
    fn bare_names_get_the_vendor_and_aliases_their_mark() {
        for (model, sent) in [
            ("jev-1.13", Some("typesafe/jev-1.13")),
            ("jev-latest", Some("~typesafe/jev-latest")),
            ("~typesafe/jev-latest", Some("~typesafe/jev-latest")),
            (
                "openai/gpt-6-luna-decisions",
                Some("openai/gpt-6-luna-decisions"),
            ),
            ("gpt-6", None),
            ("a/b/c", None),
            ("", None),
        ] {
            let made = OpenRouter::new(model).ok();
            assert_eq!(made.as_ref().map(Provider::model), sent, "{model}");
        }
    }

    #[test]
    fn errors_are_read_wherever_they_stand() {
        let provider = OpenRouter::new("jev-latest").unwrap();
        let in_flight = br#"{"error":{"code":402,"message":"m","metadata":{"limit_source":"openrouter_in_flight_budget"}}}"#;
        let credits = br#"{"error":{"code":402,"message":"m","metadata":{"limit_source":"openrouter_credits"}}}"#;
        let nested = br#"{"error":{"code":429,"message":"m"}}"#;
        let odd = br#"{"error":"no"}"#;
        for (status, body, expected) in [
            (
                402,
                &in_flight[..],
                Verdict::Transient(JudgeError::RateLimited),
            ),
            (
                402,
                &credits[..],
                Verdict::Final(JudgeError::PaymentRequired),
            ),
            (
                200,
                &nested[..],
                Verdict::Transient(JudgeError::RateLimited),
            ),
            (
                200,
                &credits[..],
                Verdict::Final(JudgeError::PaymentRequired),
            ),
            (
                403,
                &br#"{"error":{"code":403,"message":"m","metadata":{"reasons":["x"]}}}"#[..],
                Verdict::Final(JudgeError::InvalidRequest { status: 403 }),
            ),
            (403, b"", Verdict::Final(JudgeError::Auth { status: 403 })),
            (
                524,
                b"",
                Verdict::Transient(JudgeError::Overloaded { status: 524 }),
            ),
            (200, b"{}", Verdict::Answer),
            (200, br#"{"error":null}"#, Verdict::Answer),
        ] {
            assert_eq!(provider.judge(status, body), expected, "{status}");
        }
        assert!(matches!(
            provider.judge(200, odd),
            Verdict::Final(JudgeError::Protocol { .. })
        ));
    }

    #[test]
    fn a_reply_with_an_id_and_a_cost_is_taken() {
        let provider = OpenRouter::new("jev-1.13").unwrap();
        let mut asked = flat("goal", &[candidate("c1", "Home", "http://h/")]);
        asked.questions = vec![Question {
            id: "n".to_owned(),
            kind: QuestionKind::Noul {
                instructions: "Is it?".to_owned(),
                yes: Some("so".to_owned()),
                no: None,
            },
        }];
        let body = String::from_utf8(provider.encode(&asked).unwrap()).unwrap();
        assert!(body.contains("\"false\":\"Anything else.\""), "{body}");
        let reply =
            br#"{"id":"gen-dec-1","provider":"TypeSafe","model":"typesafe/jev-1.13-20260917",
            "answers":{"n":{"type":"noul","noul":0.03}},
            "usage":{"input_tokens":130,"output_tokens":12,"cost":0.000005}}"#;
        let decision = provider.decode(&asked, reply).unwrap();
        assert_eq!(decision.request_id.as_deref(), Some("gen-dec-1"));
        assert_eq!(decision.usage.input_tokens, 130);
        let other = String::from_utf8_lossy(reply).replace("1.13-2026", "1.14-2026");
        assert!(provider.decode(&asked, other.as_bytes()).is_err());
        let latest = OpenRouter::new("jev-latest").unwrap();
        assert!(latest.decode(&asked, other.as_bytes()).is_ok());
        let strange = other.replace("typesafe/jev-1.14-20260917", "openai/gpt-6");
        assert!(latest.decode(&asked, strange.as_bytes()).is_err());
    }
}
