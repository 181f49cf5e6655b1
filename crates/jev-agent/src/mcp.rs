//! The MCP server: a list of tools, offered over stdio and streamable HTTP, on the official SDK.
//!
//! A tool is anything that implements [`Tool`]; `read_browser` is one. Calls of all clients pass
//! one permission rule and one queue.

mod consent;
mod handler;
mod http;
mod lines;
mod progress;
mod queue;
mod resources;
mod streams;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

pub use http::{Bearer, BearerError, HttpOptions, TOKEN_MIN_CHARS};
pub use lines::MESSAGE_MAX_BYTES;

use crate::config::McpSettings;
use crate::permission::PermissionGate;
use crate::source::RunContext;
use crate::tool::Tool;
use handler::{Alive, Client};
use lines::Lines;
use queue::Queue;

/// A server that can't be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// Two tools of one name.
    #[error("two tools have the name `{name}`")]
    DuplicateTool {
        /// The name.
        name: String,
    },
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The client went away, or the server was stopped.
    Gone,
    /// The client never began: its first request could not be answered.
    NotBegun,
}

/// Whether the tools write trajectories, so that a client's last one is offered as a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Traces {
    /// They do.
    Written,
    /// They don't.
    #[default]
    Not,
}

/// The server. Share it among connections; each client gets a run context of its own.
pub struct Server {
    tools: Vec<Arc<dyn Tool>>,
    queue: Queue,
    gate: Arc<dyn PermissionGate>,
    traces: Traces,
    /// The last trajectory of the requests that stand alone. They can't be told from one another,
    /// and all come in the name of one user.
    single_trace: Mutex<Option<PathBuf>>,
    user: String,
    clients: AtomicU64,
}

impl Server {
    /// A server that offers these tools. Every call passes `gate` first; where it rules to ask, the
    /// person behind the client is asked, and the gate itself when the client has no way to ask.
    /// One rule for all is a [`Ruling`](crate::permission::Ruling).
    ///
    /// # Errors
    /// [`ServerError::DuplicateTool`].
    pub fn new(
        tools: Vec<Arc<dyn Tool>>,
        settings: &McpSettings,
        gate: Arc<dyn PermissionGate>,
        traces: Traces,
    ) -> Result<Arc<Self>, ServerError> {
        for (at, tool) in tools.iter().enumerate() {
            let name = &tool.definition().name;
            if tools
                .iter()
                .take(at)
                .any(|other| other.definition().name == *name)
            {
                return Err(ServerError::DuplicateTool { name: name.clone() });
            }
        }
        Ok(Arc::new(Self {
            tools,
            queue: Queue::new(settings),
            gate,
            traces,
            single_trace: Mutex::default(),
            user: settings.user.clone(),
            clients: AtomicU64::new(1),
        }))
    }

    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools
            .iter()
            .find(|tool| tool.definition().name == name)
            .map(Arc::clone)
    }

    /// A context for the next client: contexts are never used twice in a process.
    fn next_context(&self) -> RunContext {
        let number = self.clients.fetch_add(1, Ordering::Relaxed);
        RunContext::new(
            self.user.clone(),
            format!("mcp-{}-{number}", std::process::id()),
        )
    }

    /// Serves one client over two streams of lines until it goes away or `stop` is cancelled. What
    /// it had under way is cancelled then, and its browsers are closed before this returns.
    pub async fn serve_lines<R, W>(
        self: &Arc<Self>,
        read: R,
        write: W,
        stop: &CancellationToken,
    ) -> Ended
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let gone = stop.child_token();
        let (alive, lasting) = Alive::new();
        let client = Client::new(Arc::clone(self), gone.clone(), alive);
        let transport = Lines::new(read, write, gone);
        let ended = match serve_server_with_ct(client, transport, stop.clone()).await {
            Ok(service) => {
                let _ = service.waiting().await;
                Ended::Gone
            }
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                Ended::Gone
            }
            Err(_) => Ended::NotBegun,
        };
        // Calls under way were cancelled by the transport's token; they end when their browsers
        // are closed.
        lasting.over().await;
        ended
    }
}

#[cfg(test)]
mod tests;
