//! Whether a client over HTTP is still there. Between its requests nothing shows it but the stream of
//! notices that it holds open; when the last one has ended, what is kept for the client ends, and so does its connection.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager};

use super::Server;
use crate::source::RunContext;

/// How long a client whose stream has ended may take to open another one.
const RETURN: Duration = Duration::from_millis(750);

/// Most clients that are remembered; those that hold no stream are forgotten first.
const KNOWN_MAX: usize = 256;

/// How long forgetting one client may take.
const FORGETTING: Duration = Duration::from_secs(2);

/// One client.
#[derive(Debug)]
pub(super) struct Line {
    /// The name of its connection.
    name: String,
    open: AtomicU32,
    /// Requests whose answers are on their way.
    under_way: AtomicU32,
    context: OnceLock<RunContext>,
    /// When it was heard of last.
    last: Mutex<Instant>,
}

impl Line {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            open: AtomicU32::new(0),
            under_way: AtomicU32::new(0),
            context: OnceLock::new(),
            last: Mutex::new(Instant::now()),
        }
    }

    /// Says in whose name the client calls.
    pub(super) fn is_of(&self, context: &RunContext) {
        self.context.get_or_init(|| context.clone());
    }

    fn last(&self) -> MutexGuard<'_, Instant> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it holds a stream, or waits for an answer.
    fn is_here(&self) -> bool {
        self.open.load(Ordering::Acquire) > 0 || self.under_way.load(Ordering::Acquire) > 0
    }
}

/// All clients, by the name of their connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams(Arc<Mutex<HashMap<String, Arc<Line>>>>);

impl Streams {
    fn lines(&self) -> MutexGuard<'_, HashMap<String, Arc<Line>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client of a connection.
    pub(super) fn line(&self, connection: &str) -> Arc<Line> {
        let mut lines = self.lines();
        if lines.len() >= KNOWN_MAX {
            lines.retain(|_, line| line.is_here());
        }
        let line = lines
            .entry(connection.to_owned())
            .or_insert_with(|| Arc::new(Line::new(connection)));
        Arc::clone(line)
    }

    /// Makes room for one more client where there are `most`: the one that has been silent for the
    /// longest, and holds no stream and waits for nothing, is forgotten. Whether there is room now.
    pub(super) async fn make_room(&self, sessions: &LocalSessionManager, most: usize) -> bool {
        let names: Vec<SessionId> = sessions.sessions.read().await.keys().cloned().collect();
        if names.len() < most {
            return true;
        }
        let silent = {
            let lines = self.lines();
            names
                .into_iter()
                .filter_map(|name| match lines.get(name.as_ref()) {
                    Some(line) if line.is_here() => None,
                    Some(line) => Some((Some(*line.last()), name)),
                    // Long ago, then.
                    None => Some((None, name)),
                })
                .min()
        };
        match silent {
            Some((_, name)) => {
                forget(sessions, &name).await;
                true
            }
            None => false,
        }
    }
}

/// Ends a connection; its client has to begin anew.
async fn forget(sessions: &LocalSessionManager, name: &SessionId) {
    tracing::debug!("a client that has left is forgotten");
    // It is out of the list before anything is waited for.
    let _ = tokio::time::timeout(FORGETTING, sessions.close_session(name)).await;
}

/// One request, until its answer was sent.
pub(super) struct Asked(Arc<Line>);

impl Asked {
    pub(super) fn new(line: Arc<Line>) -> Self {
        line.under_way.fetch_add(1, Ordering::AcqRel);
        *line.last() = Instant::now();
        Self(line)
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        *self.0.last() = Instant::now();
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

/// One stream, until it is dropped.
pub(super) struct Open {
    line: Arc<Line>,
    server: Arc<Server>,
    sessions: Arc<LocalSessionManager>,
}

impl Open {
    pub(super) fn new(
        line: Arc<Line>,
        server: Arc<Server>,
        sessions: Arc<LocalSessionManager>,
    ) -> Self {
        line.open.fetch_add(1, Ordering::AcqRel);
        Self {
            line,
            server,
            sessions,
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.line.open.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let broke = Instant::now();
        let (line, server) = (Arc::clone(&self.line), Arc::clone(&self.server));
        let sessions = Arc::clone(&self.sessions);
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
                // One that asks for something is there, with or without a stream.
                if !line.is_here() && *line.last() <= broke {
                    forget(&sessions, &SessionId::from(line.name.as_str())).await;
                }
            });
        }
    }
}
