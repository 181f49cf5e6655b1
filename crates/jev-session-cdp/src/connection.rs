//! The connection to one browser: calls, pipelined calls, events by session, and what happens to
//! all of them when a tab or the browser goes away.

mod ended;
mod shared;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jev_core::error::Sent;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::error::CdpError;
use crate::transport::{Sink, Source};
use shared::{Answer, Outgoing, Request, Shared, Waiter, read, write};

/// One attached target's session inside a connection.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// Takes the browser's text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The browser's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Something the browser said by itself.
#[derive(Clone, Debug)]
pub struct Event {
    /// Which event, such as `Page.frameNavigated`.
    pub method: String,
    /// Its parameters; null when it has none.
    pub params: Value,
    /// The session it belongs to; none for the browser's own.
    pub session: Option<SessionId>,
}

/// Events of one session in their order. Ends when the session or the connection does.
#[derive(Debug)]
pub struct EventStream(mpsc::UnboundedReceiver<Event>);

impl EventStream {
    /// The next event; none when there will be no more. May be dropped without losing an event.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.recv().await
    }

    /// The next event that is there already.
    pub fn try_next(&mut self) -> Option<Event> {
        self.0.try_recv().ok()
    }
}

/// A connection to one browser. Clones share it; it ends when the last clone is dropped.
#[derive(Clone)]
pub struct Connection {
    shared: Arc<Shared>,
    queue: mpsc::UnboundedSender<Outgoing>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("open", &self.is_open())
            .finish_non_exhaustive()
    }
}

/// A call already on its way. Dropping it forgets the answer; a call that was not yet written is
/// then not written at all.
#[must_use = "a call that is dropped before it was written is never sent; use `Connection::post` to send without waiting"]
pub struct PendingCall {
    id: u64,
    shared: Arc<Shared>,
    answer: oneshot::Receiver<Result<Value, CdpError>>,
}

impl fmt::Debug for PendingCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingCall")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl PendingCall {
    /// Waits for the answer.
    ///
    /// # Errors
    /// [`CdpError`]; after a timeout a late answer is ignored.
    pub async fn wait(mut self, deadline: Duration) -> Result<Value, CdpError> {
        match tokio::time::timeout(deadline, &mut self.answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(CdpError::Disconnected { sent: Sent::Maybe }),
            Err(_) => {
                let waiter = self.shared.lock().waiters.remove(&self.id);
                match (waiter, self.answer.try_recv()) {
                    // It came in the very last moment.
                    (None, Ok(answer)) => answer,
                    (Some(waiter), _) => Err(CdpError::Timeout { sent: waiter.sent }),
                    (None, Err(_)) => Err(CdpError::Timeout { sent: Sent::Maybe }),
                }
            }
        }
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        self.shared.lock().waiters.remove(&self.id);
    }
}

impl Connection {
    /// Starts the reader and the writer over a transport. Needs a running tokio runtime.
    pub(crate) fn start(source: impl Source, sink: impl Sink) -> Self {
        let shared = Arc::new(Shared::new());
        let (queue, outgoing) = mpsc::unbounded_channel();
        tokio::spawn(read(source, Arc::clone(&shared)));
        tokio::spawn(write(sink, outgoing, Arc::clone(&shared)));
        Self { shared, queue }
    }

    /// Sends a call and waits for its answer.
    ///
    /// # Errors
    /// [`CdpError`].
    pub async fn call(
        &self,
        session: Option<&SessionId>,
        method: &str,
        params: Value,
        deadline: Duration,
    ) -> Result<Value, CdpError> {
        self.send(session, method, params).wait(deadline).await
    }

    /// Puts a call on its way without waiting, so that several travel together. Calls reach the
    /// browser in the order of sending.
    pub fn send(&self, session: Option<&SessionId>, method: &str, params: Value) -> PendingCall {
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        let call = PendingCall {
            id,
            shared: Arc::clone(&self.shared),
            answer,
        };
        let sent = Sent::SurelyNot;
        let refused = {
            let mut state = self.shared.lock();
            if !state.open {
                Some((sender, CdpError::Disconnected { sent }))
            } else if session.is_some_and(|session| state.ended.contains(session)) {
                Some((sender, CdpError::TargetGone { sent }))
            } else {
                let session = session.cloned();
                let answer = sender;
                let waiter = Waiter {
                    session,
                    sent,
                    answer,
                };
                state.waiters.insert(id, waiter);
                None
            }
        };
        match refused {
            Some((sender, error)) => {
                // Can't fail: the receiver is in `call`.
                let _ = sender.send(Err(error));
            }
            None => self.enqueue(id, session, method, params, Answer::Awaited),
        }
        call
    }

    /// Sends a call whose answer nobody needs.
    pub fn post(&self, session: Option<&SessionId>, method: &str, params: Value) {
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        self.enqueue(id, session, method, params, Answer::Ignored);
    }

    fn enqueue(
        &self,
        id: u64,
        session: Option<&SessionId>,
        method: &str,
        params: Value,
        answer: Answer,
    ) {
        let request = Request {
            id,
            method,
            params,
            session: session.map(SessionId::as_str),
        };
        let queued = serde_json::to_string(&request)
            .ok()
            .is_some_and(|text| self.queue.send(Outgoing { id, text, answer }).is_ok());
        if !queued {
            self.shared.fail(id);
        }
    }

    /// Events of one session from now on.
    #[must_use]
    pub fn subscribe(&self, session: &SessionId) -> EventStream {
        self.shared.subscribe(Some(session.clone()))
    }

    /// Calls `hear` with each event of one session from now on, within the reader: an answer that
    /// comes after an event finds it heard. It must not wait for anything of this connection, and
    /// is dropped when no more events will come.
    pub(crate) fn hear(&self, session: &SessionId, hear: impl FnMut(&Event) + Send + 'static) {
        let mut inline = self.shared.lock_inline();
        if self.has_session(session) {
            let known = inline.entry(session.clone()).or_default();
            known.push(Box::new(hear));
        }
    }

    /// Events of the browser itself (those without a session) from now on.
    #[must_use]
    pub fn subscribe_root(&self) -> EventStream {
        self.shared.subscribe(None)
    }

    /// Fails every pending call of a session, and each later one at once. Done by itself when a
    /// target crashes or is detached.
    pub fn fail_session(&self, session: &SessionId) {
        self.shared.fail_session(session);
    }

    /// Whether the browser is there and the session has not ended.
    #[must_use]
    pub fn has_session(&self, session: &SessionId) -> bool {
        let state = self.shared.lock();
        state.open && !state.ended.contains(session)
    }

    /// Whether the browser is still there.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.shared.lock().open
    }

    /// Ends the connection from our side: every call fails, the transport is closed.
    pub(crate) fn shut(&self) {
        self.shared.fail_all();
    }

    /// Resolves when the connection is gone.
    pub async fn closed(&self) {
        self.shared.ended().await;
    }
}
