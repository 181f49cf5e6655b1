//! Providers: pure adapters (encode, decode, judge a response, declare capabilities) around the
//! one client.

pub mod chat;
pub mod compatible;
pub mod openrouter;
pub mod typesafe;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use jev_core::error::{AnswerFault, JudgeError};
use jev_core::ports::{Judge, JudgeIdentity, JudgeKind};
use jev_core::question::{Decision, Questionnaire};

use crate::client::{Bounds, Client, Verdict, plain_id};
use crate::credential::Credential;
use crate::endpoint::Endpoint;
use crate::json;
use crate::model::is_model_name;

/// Everything about one provider that does no I/O.
pub trait Provider: fmt::Debug + Send + Sync {
    /// Its name, as outputs show it.
    fn name(&self) -> &'static str;

    /// The model asked for.
    fn model(&self) -> &str;

    /// The request body.
    ///
    /// # Errors
    /// [`JudgeError::Capability`] and [`JudgeError::TooLarge`] for what the provider can't take.
    fn encode(&self, questionnaire: &Questionnaire) -> Result<Vec<u8>, JudgeError>;

    /// What a response's status and body mean, before anything of an answer is read.
    fn judge(&self, status: u16, body: &[u8]) -> Verdict;

    /// The decision inside an answer's body.
    ///
    /// # Errors
    /// [`JudgeError::Protocol`] for any fault in it.
    fn decode(&self, questionnaire: &Questionnaire, body: &[u8]) -> Result<Decision, JudgeError>;
}

/// A judge behind HTTP: one provider's adapter and the client.
#[derive(Debug)]
pub struct HttpJudge<P> {
    provider: P,
    client: Client,
}

impl<P: Provider> HttpJudge<P> {
    /// A judge at an address. `headers` are sent with every request beside the key.
    ///
    /// # Errors
    /// [`JudgeError::Config`] when the client can't be set up so.
    pub fn new(
        provider: P,
        endpoint: Endpoint,
        credential: Credential,
        headers: &[(String, String)],
        bounds: Bounds,
    ) -> Result<Self, JudgeError> {
        let client = Client::new(endpoint, credential, headers, bounds)?;
        Ok(Self { provider, client })
    }

    /// The models that the server lists; not every server lists all it serves.
    ///
    /// # Errors
    /// As for a decision; [`JudgeError::Protocol`] for a list of another shape.
    pub async fn models(&self, deadline: Duration) -> Result<Vec<String>, JudgeError> {
        let reply = self
            .client
            .get_sibling("models", deadline, |status, _| judge_status(status))
            .await?;
        let shape = |fault| JudgeError::Protocol {
            question: None,
            fault,
        };
        let list = json::parse(&reply.body).map_err(shape)?;
        list.get("models")
            .and_then(serde_json::Value::as_array)
            .and_then(|models| {
                models
                    .iter()
                    .map(|model| model.get("name")?.as_str())
                    .map(|name| name.filter(|name| is_model_name(name)).map(str::to_owned))
                    .collect()
            })
            .ok_or_else(|| shape(AnswerFault::Shape))
    }
}

#[async_trait]
impl<P: Provider> Judge for HttpJudge<P> {
    fn identity(&self) -> JudgeIdentity {
        JudgeIdentity {
            name: self.provider.name().to_owned(),
            model: Some(self.provider.model().to_owned()),
            kind: JudgeKind::Decides,
        }
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        let body = self.provider.encode(questionnaire)?;
        let reply = self
            .client
            .post(body, deadline, |status, body| {
                self.provider.judge(status, body)
            })
            .await?;
        let decision = self.provider.decode(questionnaire, &reply.body)?;
        Ok(Decision {
            request_id: reply.request_id.or(decision.request_id),
            attempts: reply.attempts,
            ..decision
        })
    }
}

/// What a status means when the body says nothing more.
#[must_use]
pub(crate) fn judge_status(status: u16) -> Verdict {
    match status {
        200 => Verdict::Answer,
        401 | 403 => Verdict::Final(JudgeError::Auth { status }),
        402 => Verdict::Final(JudgeError::PaymentRequired),
        404 | 405 | 410 => Verdict::Final(JudgeError::NotFound { status }),
        408 => Verdict::Transient(JudgeError::Timeout),
        413 => Verdict::Final(JudgeError::TooLarge),
        429 => Verdict::Transient(JudgeError::RateLimited),
        503 | 524 | 529 => Verdict::Transient(JudgeError::Overloaded { status }),
        500..=599 => Verdict::Transient(JudgeError::Server { status }),
        400..=499 => Verdict::Final(JudgeError::InvalidRequest { status }),
        // Any other 2xx, or a 1xx that is no switch of protocols we asked for: not an answer.
        _ => Verdict::Final(JudgeError::Protocol {
            question: None,
            fault: AnswerFault::Shape,
        }),
    }
}

/// The `error_type` under `detail`, as TypeSafe's own errors name it.
pub(crate) fn error_type(body: &[u8]) -> Option<String> {
    let value = json::parse(body).ok()?;
    let named = value.get("detail")?.get("error_type")?.as_str()?;
    plain_id(named)
}
