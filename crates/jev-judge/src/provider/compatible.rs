//! Any server that speaks the native shape: capabilities come from configuration, and a probe
//! asks it one tiny question.

use jev_core::error::JudgeError;
use jev_core::question::{Decision, Questionnaire};

use super::{Provider, error_type, judge_status};
use crate::client::Verdict;
use crate::model::is_model_name;
use crate::validate::{ModelRule, Rules, UsageRule, validate};
use crate::wire::{Capabilities, encode};

/// The model, unless a host names another: the alias that every compatible server takes.
pub const DEFAULT_MODEL: &str = "jev-latest";
/// The environment variable whose key is sent to servers elsewhere, when it is set. To loopback a
/// key is sent only when one is configured.
pub const KEY_VARIABLE: &str = "JEV_JUDGE_API_KEY";

/// The adapter.
#[derive(Clone, Debug)]
pub struct Compatible {
    model: String,
    capabilities: Capabilities,
}

impl Compatible {
    /// For one model and what the server can take.
    ///
    /// # Errors
    /// [`JudgeError::Config`] for a name that no model can have.
    pub fn new(model: &str, capabilities: Capabilities) -> Result<Self, JudgeError> {
        if !is_model_name(model) {
            return Err(JudgeError::Config {
                what: "the model's name is empty, too long or not plain text".to_owned(),
            });
        }
        Ok(Self {
            model: model.to_owned(),
            capabilities,
        })
    }
}

impl Provider for Compatible {
    fn name(&self) -> &'static str {
        "systemone"
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn encode(&self, questionnaire: &Questionnaire) -> Result<Vec<u8>, JudgeError> {
        encode(&self.model, questionnaire, &self.capabilities)
    }

    fn judge(&self, status: u16, body: &[u8]) -> Verdict {
        match status {
            400 if error_type(body).as_deref() == Some("max_tokens_exceeded") => {
                Verdict::Final(JudgeError::TooLarge)
            }
            _ => judge_status(status),
        }
    }

    fn decode(&self, questionnaire: &Questionnaire, body: &[u8]) -> Result<Decision, JudgeError> {
        let rules = Rules {
            model: ModelRule::Requested(self.model.clone()),
            usage: UsageRule::Required,
        };
        validate(questionnaire, body, &rules)
    }
}
