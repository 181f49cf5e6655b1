//! Whether a client over HTTP is still there. Between its requests nothing shows it but the stream of
//! notices that it holds open; when the last one has ended, what is kept for the client ends, and so does its connection.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager};

use tokio::sync::Notify;

use super::Server;
use crate::source::RunContext;

/// How long a client whose stream has ended may take to open another one. The official Python client
/// waits a second before it does; what is kept for one that has left must be gone after two.
const RETURN: Duration = Duration::from_millis(1_300);

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
    /// When it asked for something last.
    asked: Mutex<Option<Instant>>,
    /// An answer was sent or given up.
    answered: Notify,
}

impl Line {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            open: AtomicU32::new(0),
            under_way: AtomicU32::new(0),
            context: OnceLock::new(),
            last: Mutex::new(Instant::now()),
            asked: Mutex::new(None),
            answered: Notify::new(),
        }
    }

    /// Says in whose name the client calls.
    pub(super) fn is_of(&self, context: &RunContext) {
        self.context.get_or_init(|| context.clone());
    }

    fn last(&self) -> MutexGuard<'_, Instant> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asked(&self) -> MutexGuard<'_, Option<Instant>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is known whether a client whose stream broke then has left: it opens no other,
    /// asks for nothing more, and waits for no answer. Says whether it has.
    async fn has_left(&self, broke: Instant) -> bool {
        loop {
            let answered = self.answered.notified();
            tokio::time::sleep(RETURN).await;
            let asks = self.asked().is_some_and(|asked| asked > broke);
            if asks || self.open.load(Ordering::Acquire) > 0 {
                return false;
            }
            if !self.is_here() {
                return true;
            }
            answered.await;
        }
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
        let now = Instant::now();
        *line.last() = now;
        *line.asked() = Some(now);
        Self(line)
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        *self.0.last() = Instant::now();
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
        self.0.answered.notify_waiters();
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
                if !line.has_left(broke).await {
                    return;
                }
                if let Some(context) = line.context.get() {
                    for tool in &server.tools {
                        tool.client_gone(context).await;
                    }
                }
                if !line.is_here() && line.asked().is_none_or(|asked| asked <= broke) {
                    forget(&sessions, &SessionId::from(line.name.as_str())).await;
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_has_left_when_it_opens_asks_and_awaits_nothing() {
        let line = || Arc::new(Line::new("c"));
        let began = tokio::time::Instant::now();
        assert!(line().has_left(Instant::now()).await);
        assert!(began.elapsed() > Duration::from_secs(1), "{began:?}");
        // The official client's pause before it opens another stream.
        let back = line();
        let (left, ()) = tokio::join!(back.has_left(Instant::now()), async {
            tokio::time::sleep(Duration::from_millis(1_050)).await;
            back.open.fetch_add(1, Ordering::AcqRel);
        });
        assert!(!left);
        // A call under way: nothing is known before it is over.
        let (busy, began) = (line(), tokio::time::Instant::now());
        let asked = Asked::new(Arc::clone(&busy));
        let (left, ()) = tokio::join!(busy.has_left(Instant::now()), async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            drop(asked);
        });
        assert!(left && began.elapsed() > Duration::from_secs(20));
        // One that goes on asking without a stream is there.
        let asking = line();
        let broke = Instant::now();
        drop(Asked::new(Arc::clone(&asking)));
        assert!(!asking.has_left(broke).await);
    }
}
