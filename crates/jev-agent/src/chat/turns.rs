//! The loop of an agent: the model speaks, its tool calls are carried out, the results go back to it,
//! until it answers.

use std::sync::Arc;
use std::time::Duration;

use jev_core::snapshot::collapse;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{ChatError, ChatModel, ChatRequest, Message, Reply};
use crate::driver::Observer;
use crate::permission::PermissionGate;
use crate::source::RunContext;
use crate::tool::{AtOnce, Connection, Tool, ToolCall};

/// Most requests to the model in one conversation.
pub const MODEL_CALLS_MAX: usize = 8;

/// A conversation with tools.
pub struct Conversation {
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// What it may call.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The host's gate.
    pub gate: Arc<dyn PermissionGate>,
    /// In whose name.
    pub context: RunContext,
}

/// Why a conversation brought no answer.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// The model failed.
    #[error("{0}")]
    Model(#[from] ChatError),
    /// The model went on calling tools.
    #[error("the chat model gave no answer within {MODEL_CALLS_MAX} turns")]
    NoAnswer,
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// What a conversation brought.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The model's last words.
    pub text: String,
    /// Requests to the model.
    pub model_calls: usize,
    /// The whole conversation.
    pub messages: Vec<Message>,
}

impl Answer {
    /// Whether a tool brought a VERIFIED result and the answer quotes its evidence.
    #[must_use]
    pub fn is_from_evidence(&self) -> bool {
        let said = collapse(&self.text);
        self.messages.iter().any(|message| {
            let Message::Tool { content, .. } = message else {
                return false;
            };
            let Ok(result) = serde_json::from_str::<Value>(content) else {
                return false;
            };
            result.get("status").and_then(Value::as_str) == Some("VERIFIED")
                && result
                    .get("evidence")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .filter_map(|piece| piece.get("quote")?.as_str())
                    .any(|quote| said.contains(quote))
        })
    }
}

impl Conversation {
    /// Asks the model and carries out what it calls, until it answers.
    ///
    /// # Errors
    /// [`ConversationError`].
    pub async fn ask(
        &self,
        system: &str,
        question: &str,
        budget: Duration,
        observer: &mut dyn Observer,
        cancel: &CancellationToken,
    ) -> Result<Answer, ConversationError> {
        let end = Instant::now() + budget;
        let mut request = ChatRequest {
            messages: vec![
                Message::System(system.to_owned()),
                Message::User(question.to_owned()),
            ],
            tools: self
                .tools
                .iter()
                .map(|tool| tool.definition().as_function())
                .collect(),
            schema: None,
        };
        for model_calls in 1..=MODEL_CALLS_MAX {
            let left = end.saturating_duration_since(Instant::now());
            let reply = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(ConversationError::Cancelled),
                reply = self.model.complete(&request, left) => reply?,
            };
            request.messages.push(Message::Assistant(reply.clone()));
            if reply.calls.is_empty() {
                return Ok(Answer {
                    text: reply.content.unwrap_or_default(),
                    model_calls,
                    messages: request.messages,
                });
            }
            for message in self.carry_out(&reply, observer, cancel).await {
                request.messages.push(message);
            }
        }
        Err(ConversationError::NoAnswer)
    }

    async fn carry_out(
        &self,
        reply: &Reply,
        observer: &mut dyn Observer,
        cancel: &CancellationToken,
    ) -> Vec<Message> {
        let mut results = Vec::new();
        for wanted in &reply.calls {
            let tool = self
                .tools
                .iter()
                .find(|tool| tool.definition().name == wanted.name);
            let content = match tool {
                None => "error: there is no such tool".to_owned(),
                Some(tool) => {
                    let call = ToolCall {
                        context: Some(&self.context),
                        connection: Connection::Lasting,
                        arguments: &wanted.arguments,
                        gate: self.gate.as_ref(),
                        turns: &AtOnce,
                        observer,
                        cancel,
                    };
                    match tool.call(call).await {
                        Ok(reply) => reply.structured.to_string(),
                        Err(error) => format!("error: {error}"),
                    }
                }
            };
            results.push(Message::Tool {
                call: wanted.id.clone(),
                content,
            });
        }
        results
    }
}
