//! Tools whose replies never show the host's credentials, should a page show one.

use std::sync::Arc;

use async_trait::async_trait;
use jev_core::redact::Redactor;

use super::{Tool, ToolCall, ToolDefinition, ToolError, ToolReply};
use crate::source::RunContext;

/// The same tool, with the secrets that a redactor knows taken out of its replies.
pub struct Discreet {
    tool: Arc<dyn Tool>,
    redactor: Redactor,
}

impl Discreet {
    /// Wraps a tool. The redactor is to know the host's credentials, and nothing that the agent
    /// itself typed: that it may see.
    #[must_use]
    pub fn new(tool: Arc<dyn Tool>, redactor: Redactor) -> Self {
        Self { tool, redactor }
    }
}

#[async_trait]
impl Tool for Discreet {
    fn definition(&self) -> &ToolDefinition {
        self.tool.definition()
    }

    async fn call(&self, call: ToolCall<'_>) -> Result<ToolReply, ToolError> {
        let reply = self.tool.call(call).await?;
        Ok(ToolReply {
            note: self.redactor.known_only(&reply.note).into_owned(),
            structured: self.redactor.known_only_in(reply.structured),
            trace: reply.trace,
        })
    }

    async fn client_gone(&self, context: &RunContext) {
        self.tool.client_gone(context).await;
    }

    async fn server_gone(&self) {
        self.tool.server_gone().await;
    }
}
