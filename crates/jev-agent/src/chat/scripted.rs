//! A chat model that says what was written down beforehand, one turn a request. It proves the chain
//! around a model, never a model's accuracy.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use super::{ChatError, ChatModel, ChatRequest, Message, Reply, ToolUse};

/// What a scripted model does in one turn.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptedTurn {
    /// Calls a tool.
    Call {
        /// Its name.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
    /// Says something.
    Say(String),
    /// Reads the last tool result: says `before` and the first quote of its evidence, or that
    /// there is none.
    AnswerFromEvidence {
        /// The words before the quote.
        before: String,
    },
}

/// The model.
#[derive(Debug)]
pub struct ScriptedChat {
    turns: Vec<ScriptedTurn>,
    next: AtomicUsize,
}

impl ScriptedChat {
    /// A model of these turns.
    #[must_use]
    pub fn new(turns: Vec<ScriptedTurn>) -> Self {
        Self {
            turns,
            next: AtomicUsize::new(0),
        }
    }
}

#[async_trait]
impl ChatModel for ScriptedChat {
    fn name(&self) -> String {
        "scripted".to_owned()
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        _deadline: Duration,
    ) -> Result<Reply, ChatError> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        let turn = self.turns.get(at).ok_or(ChatError::ScriptExhausted)?;
        let said = |text: String| Reply {
            content: Some(text),
            ..Reply::default()
        };
        Ok(match turn {
            ScriptedTurn::Call { tool, arguments } => Reply {
                calls: vec![ToolUse {
                    id: format!("call-{}", at + 1),
                    name: tool.clone(),
                    arguments: arguments.clone(),
                }],
                ..Reply::default()
            },
            ScriptedTurn::Say(text) => said(text.clone()),
            ScriptedTurn::AnswerFromEvidence { before } => match quote(request) {
                Some(quote) => said(format!("{before}\u{201c}{quote}\u{201d}")),
                None => said("I could not find a verified answer.".to_owned()),
            },
        })
    }
}

/// The first quote in the last tool result whose status is VERIFIED.
fn quote(request: &ChatRequest) -> Option<String> {
    let content = request
        .messages
        .iter()
        .rev()
        .find_map(|message| match message {
            Message::Tool { content, .. } => Some(content),
            Message::System(_) | Message::User(_) | Message::Assistant(_) => None,
        })?;
    let result: Value = serde_json::from_str(content).ok()?;
    if result.get("status")?.as_str()? != "VERIFIED" {
        return None;
    }
    let quote = result.pointer("/evidence/0/quote")?.as_str()?;
    Some(quote.to_owned())
}
