//! Whether a client over HTTP is still there. Between its requests nothing shows it but the stream of
//! notices that it holds open; when the last one has ended, what is kept for the client ends.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::Server;
use crate::source::RunContext;

/// How long a client whose stream has ended may take to open another one.
const RETURN: Duration = Duration::from_millis(750);

/// Most clients that are remembered; those that hold no stream are forgotten first.
const KNOWN_MAX: usize = 256;

/// One client.
#[derive(Debug, Default)]
pub(super) struct Line {
    open: AtomicU32,
    context: OnceLock<RunContext>,
}

impl Line {
    /// Says in whose name the client calls.
    pub(super) fn is_of(&self, context: &RunContext) {
        self.context.get_or_init(|| context.clone());
    }
}

/// All clients, by the name of their connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams(Arc<Mutex<HashMap<String, Arc<Line>>>>);

impl Streams {
    /// The client of a connection.
    pub(super) fn line(&self, connection: &str) -> Arc<Line> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= KNOWN_MAX {
            lines.retain(|_, line| line.open.load(Ordering::Acquire) > 0);
        }
        Arc::clone(lines.entry(connection.to_owned()).or_default())
    }
}

/// One stream, until it is dropped.
pub(super) struct Open {
    line: Arc<Line>,
    server: Arc<Server>,
}

impl Open {
    pub(super) fn new(line: Arc<Line>, server: Arc<Server>) -> Self {
        line.open.fetch_add(1, Ordering::AcqRel);
        Self { line, server }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.line.open.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let (line, server) = (Arc::clone(&self.line), Arc::clone(&self.server));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                tokio::time::sleep(RETURN).await;
                if line.open.load(Ordering::Acquire) > 0 {
                    return;
                }
                if let Some(context) = line.context.get() {
                    for tool in &server.tools {
                        tool.client_gone(context).await;
                    }
                }
            });
        }
    }
}
