//! Chat models: what the strong model beside the loop is asked, and what it answers. A live one and
//! a scripted one stand behind the same interface.

mod live;
mod scripted;
#[cfg(test)]
mod tests;
mod turns;

use std::time::Duration;

use async_trait::async_trait;
use jev_core::error::JudgeError;
use jev_core::question::Usage;
use serde_json::Value;

pub use live::LiveChat;
pub use scripted::{ScriptedChat, ScriptedTurn};
pub use turns::{Answer, Conversation, ConversationError, MODEL_CALLS_MAX};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// What the host says about the conversation.
    System(String),
    /// What the user says.
    User(String),
    /// What the model said.
    Assistant(Reply),
    /// What a tool brought.
    Tool {
        /// The call it answers.
        call: String,
        /// The result.
        content: String,
    },
}

/// A call of a tool that the model asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// The call's id, made up by the model's server.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments; null when they were not JSON.
    pub arguments: Value,
}

/// A schema that the reply must fit.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplySchema {
    /// Its name, `[a-z_]`.
    pub name: &'static str,
    /// JSON schema.
    pub schema: Value,
}

/// One request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatRequest {
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// Tools in the form of the chat completions interface.
    pub tools: Vec<Value>,
    /// The schema the reply must fit, when it must fit one.
    pub schema: Option<ReplySchema>,
}

/// What the model answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// Its words.
    pub content: Option<String>,
    /// The tools it wants to be called.
    pub calls: Vec<ToolUse>,
    /// Tokens.
    pub usage: Usage,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    /// The call failed.
    #[error("chat model: {0}")]
    Call(JudgeError),
    /// The reply is not of the interface's shape.
    #[error("chat model: the reply has no {missing}")]
    Malformed {
        /// What is missing.
        missing: &'static str,
    },
    /// The reply was cut off or refused by the model.
    #[error("chat model: the reply is incomplete ({reason})")]
    Incomplete {
        /// `length`, `refusal` or `filter`.
        reason: &'static str,
    },
    /// A scripted model has no turn left.
    #[error("the scripted chat model has no turn left")]
    ScriptExhausted,
}

/// A chat model.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Who it is, for people.
    fn name(&self) -> String;

    /// Answers.
    ///
    /// # Errors
    /// [`ChatError`].
    async fn complete(&self, request: &ChatRequest, deadline: Duration)
    -> Result<Reply, ChatError>;
}
