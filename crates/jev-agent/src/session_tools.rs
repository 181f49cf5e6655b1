//! The session tools: an agent keeps one tab over several calls. The judge clicks within a run; the
//! agent reads, waits, and does by its own hand what the host's `[session]` table lets it do.
//!
//! Sessions belong to the client that opened them. They are closed when it says so, when it goes
//! away, and when they lie idle.

mod arguments;
mod ask;
mod calls;
mod definitions;
mod reply;
mod store;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use jev_core::policy::Permission;
use jev_core::ports::Judge;
use jev_core::telemetry::Price;

use crate::config::{ReadSettings, SessionSettings};
use crate::permission::{PermissionRequest, Ruling};
use crate::source::{RunContext, SourceProvider};
use crate::tool::{Tool, ToolCall, ToolDefinition, ToolError, ToolReply, Tracing, consented};

pub(crate) use store::Sessions;

/// What one of the tools does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Open,
    Run,
    Read,
    Wait,
    Navigate,
    Fill,
    Press,
    Status,
    Close,
}

impl Verb {
    /// Whether whoever is in charge is asked before it, where the host's rule is to ask. Looking
    /// at a tab that they consented to, and closing it, needs no second question.
    const fn is_asked_about(self) -> bool {
        match self {
            Self::Open | Self::Run | Self::Navigate | Self::Fill | Self::Press => true,
            Self::Read | Self::Wait | Self::Status | Self::Close => false,
        }
    }

    fn is_offered(self, settings: &SessionSettings) -> bool {
        match self {
            Self::Navigate => settings.navigate == Permission::Allowed,
            Self::Fill => !settings.fill.is_empty(),
            Self::Press => !settings.press.is_empty(),
            Self::Open | Self::Run | Self::Read | Self::Wait | Self::Status | Self::Close => true,
        }
    }

    const ALL: [Self; 9] = [
        Self::Open,
        Self::Run,
        Self::Read,
        Self::Wait,
        Self::Navigate,
        Self::Fill,
        Self::Press,
        Self::Status,
        Self::Close,
    ];
}

/// A source that sessions may be opened on.
#[derive(Clone)]
pub struct NamedSource {
    /// Its name, as the configuration gives it.
    pub name: String,
    /// The source, by context.
    pub provider: Arc<dyn SourceProvider>,
    /// What its policy lets a run change.
    pub effects: crate::tool::Effects,
}

/// What all session tools of a server share.
pub struct SessionParts {
    /// The `[session]` table.
    pub settings: SessionSettings,
    /// How runs go.
    pub read: ReadSettings,
    /// Who clicks.
    pub judge: Arc<dyn Judge>,
    /// What may be opened. Not empty.
    pub sources: Vec<NamedSource>,
    /// What the judge's tokens cost, where that is known.
    pub price: Option<Price>,
    /// Where sessions are written down.
    pub tracing: Option<Tracing>,
}

/// The tools that the settings offer: none when they are off.
#[must_use]
pub fn session_tools(parts: SessionParts) -> Vec<Arc<dyn Tool>> {
    if parts.settings.tools == Permission::Denied || parts.sources.is_empty() {
        return Vec::new();
    }
    let offered: Vec<(Verb, ToolDefinition)> = Verb::ALL
        .into_iter()
        .filter(|verb| verb.is_offered(&parts.settings))
        .map(|verb| (verb, definitions::definition(verb, &parts)))
        .collect();
    let sessions = Sessions::new(parts);
    offered
        .into_iter()
        .map(|(verb, definition)| {
            Arc::new(SessionTool {
                verb,
                definition,
                sessions: Arc::clone(&sessions),
            }) as Arc<dyn Tool>
        })
        .collect()
}

/// One of the tools.
struct SessionTool {
    verb: Verb,
    definition: ToolDefinition,
    sessions: Arc<Sessions>,
}

#[async_trait]
impl Tool for SessionTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// The order is that of `read_browser`: the gate's rule, the arguments, the gate's question,
    /// and only then anything happens.
    async fn call(&self, call: ToolCall<'_>) -> Result<ToolReply, ToolError> {
        let goal = call
            .arguments
            .get("goal")
            .and_then(serde_json::Value::as_str);
        let request = PermissionRequest {
            tool: &self.definition.name,
            context: call.context,
            goal,
            act: None,
        };
        let ruling = call.gate.rule(&request).await;
        if let Ruling::Deny { reason } = ruling {
            return Err(ToolError::Denied { reason });
        }
        let context = call.context.ok_or(ToolError::ScopeAndGoalRequired(
            crate::tool::GoalFault::NoContext,
        ))?;
        let ask = ask::Ask::read(self.verb, call.arguments, &self.sessions)?;
        // A session that is not there is told before anybody is asked about it.
        let owner = store::Owner::of(context, call.connection);
        self.sessions.check(&ask, &owner)?;
        if ruling == Ruling::Ask && self.verb.is_asked_about() {
            let words = ask.words();
            let request = PermissionRequest {
                act: words.as_deref(),
                ..request
            };
            consented(call.gate, &request, call.turns, call.cancel).await?;
        }
        self.sessions.carry_out(ask, &owner, context, call).await
    }

    async fn client_gone(&self, context: &RunContext) {
        // Every tool is told; one of them is enough.
        if self.verb == Verb::Open {
            self.sessions.client_gone(context).await;
        }
    }

    async fn server_gone(&self) {
        if self.verb == Verb::Open {
            self.sessions.close_all().await;
        }
    }
}
