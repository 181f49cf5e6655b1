//! The connection to one browser: calls, pipelined calls, events by session, and what happens to
//! all of them when a tab or the browser goes away.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jev_core::error::Sent;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

use crate::error::CdpError;
use crate::surrogates;
use crate::transport::{Sink, Source};

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

/// A message on its way to the writer.
struct Outgoing {
    id: u64,
    text: String,
    answer: Answer,
}

/// Whether somebody waits for a message's answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Yes; when the waiter is gone before the message is written, it is not written at all.
    Awaited,
    /// No; it is written in any case.
    Ignored,
}

struct Shared {
    state: Mutex<State>,
    /// A lock of its own: what is done there may wait for somebody who waits for `state`.
    inline: Mutex<HashMap<SessionId, Vec<Hear>>>,
    next_id: AtomicU64,
    open: watch::Sender<bool>,
}

struct State {
    open: bool,
    waiters: HashMap<u64, Waiter>,
    subscribers: HashMap<Option<SessionId>, Vec<mpsc::UnboundedSender<Event>>>,
    /// Sessions whose target crashed or was detached: nothing will ever be answered there.
    gone: HashSet<SessionId>,
}

/// Something short that is done with each event within the reader.
type Hear = Box<dyn FnMut(&Event) + Send>;

struct Waiter {
    session: Option<SessionId>,
    sent: Sent,
    answer: oneshot::Sender<Result<Value, CdpError>>,
}

#[derive(Serialize)]
struct Request<'a> {
    id: u64,
    method: &'a str,
    params: Value,
    #[serde(rename = "sessionId", skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Incoming {
    id: Option<u64>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    result: Option<Value>,
    error: Option<Refusal>,
    session_id: Option<String>,
}

#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
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
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                open: true,
                waiters: HashMap::new(),
                subscribers: HashMap::new(),
                gone: HashSet::new(),
            }),
            inline: Mutex::default(),
            next_id: AtomicU64::new(1),
            open: watch::Sender::new(true),
        });
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
            } else if session.is_some_and(|session| state.gone.contains(session)) {
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
        state.open && !state.gone.contains(session)
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

impl Shared {
    /// A poisoned lock is taken as it is: no invariant spans a panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_inline(&self) -> MutexGuard<'_, HashMap<SessionId, Vec<Hear>>> {
        self.inline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn subscribe(&self, session: Option<SessionId>) -> EventStream {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut state = self.lock();
        let gone = session
            .as_ref()
            .is_some_and(|session| state.gone.contains(session));
        if state.open && !gone {
            state.subscribers.entry(session).or_default().push(sender);
        }
        EventStream(receiver)
    }

    fn fail(&self, id: u64) {
        if let Some(waiter) = self.lock().waiters.remove(&id) {
            let error = CdpError::Disconnected { sent: waiter.sent };
            let _ = waiter.answer.send(Err(error));
        }
    }

    fn fail_session(&self, session: &SessionId) {
        let mut state = self.lock();
        state.gone.insert(session.clone());
        let ids: Vec<u64> = state
            .waiters
            .iter()
            .filter(|(_, waiter)| waiter.session.as_ref() == Some(session))
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            if let Some(waiter) = state.waiters.remove(&id) {
                let error = CdpError::TargetGone { sent: waiter.sent };
                let _ = waiter.answer.send(Err(error));
            }
        }
    }

    async fn ended(&self) {
        let mut open = self.open.subscribe();
        // An error means the sender is gone, which is the same news.
        let _ = open.wait_for(|open| !open).await;
    }

    fn fail_all(&self) {
        let (waiters, subscribers) = {
            let mut state = self.lock();
            state.open = false;
            (
                std::mem::take(&mut state.waiters),
                std::mem::take(&mut state.subscribers),
            )
        };
        self.open.send_replace(false);
        drop(subscribers);
        let inline = std::mem::take(&mut *self.lock_inline());
        drop(inline);
        for (_, waiter) in waiters {
            let error = CdpError::Disconnected { sent: waiter.sent };
            let _ = waiter.answer.send(Err(error));
        }
    }

    /// Whether a message that somebody waits for is still wanted; if so it counts as sent from now on.
    fn begin(&self, id: u64) -> bool {
        match self.lock().waiters.get_mut(&id) {
            Some(waiter) => {
                waiter.sent = Sent::Maybe;
                true
            }
            None => false,
        }
    }

    fn answered(&self, id: u64, answer: Result<Value, CdpError>) {
        if let Some(waiter) = self.lock().waiters.remove(&id) {
            // The caller may have gone in the meantime.
            let _ = waiter.answer.send(answer);
        }
    }

    fn take_in(&self, message: &[u8]) {
        let Some(incoming) = parse(message) else {
            tracing::debug!(bytes = message.len(), "a message could not be read");
            if let Some(id) = leading_id(message) {
                self.answered(id, Err(CdpError::Malformed));
            }
            return;
        };
        if let Some(id) = incoming.id {
            let answer = match (incoming.result, incoming.error) {
                (_, Some(refusal)) => Err(CdpError::Refused {
                    code: refusal.code,
                    message: refusal.message,
                }),
                (Some(result), None) => Ok(result),
                (None, None) => Err(CdpError::Malformed),
            };
            self.answered(id, answer);
        } else if let Some(method) = incoming.method {
            self.publish(Event {
                method,
                params: incoming.params,
                session: incoming.session_id.as_deref().map(SessionId::new),
            });
        }
    }

    fn publish(&self, event: Event) {
        let lost = match event.method.as_str() {
            "Inspector.targetCrashed" => event.session.clone(),
            "Target.detachedFromTarget" => event
                .params
                .get("sessionId")
                .and_then(Value::as_str)
                .map(SessionId::new),
            _ => None,
        };
        let detached = event.method == "Target.detachedFromTarget";
        // Before calls fail because of it.
        self.hear_inline(&event);
        if let Some(session) = &lost {
            if detached {
                self.silence(session);
            }
            // Before a task hears of it, so that it finds it so.
            self.fail_session(session);
            if detached {
                // Who came in between.
                self.silence(session);
            }
        }
        let mut state = self.lock();
        if let Some(subscribers) = state.subscribers.get_mut(&event.session) {
            subscribers.retain(|subscriber| subscriber.send(event.clone()).is_ok());
        }
        if detached && lost.is_some() {
            state.subscribers.remove(&lost);
        }
    }

    fn silence(&self, session: &SessionId) {
        let silenced = self.lock_inline().remove(session);
        drop(silenced);
    }

    fn hear_inline(&self, event: &Event) {
        if let Some(session) = &event.session
            && let Some(inline) = self.lock_inline().get_mut(session)
        {
            for hear in inline {
                hear(event);
            }
        }
    }
}

async fn read(mut source: impl Source, shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    loop {
        let more = tokio::select! {
            more = source.next(&mut buffer) => more,
            () = shared.ended() => false,
        };
        if !more {
            break;
        }
        shared.take_in(&buffer);
        // One large answer must not keep its memory for the browser's life.
        buffer.shrink_to(1024 * 1024);
    }
    shared.fail_all();
}

async fn write(
    mut sink: impl Sink,
    mut outgoing: mpsc::UnboundedReceiver<Outgoing>,
    shared: Arc<Shared>,
) {
    let mut batch = Vec::new();
    loop {
        let count = tokio::select! {
            count = outgoing.recv_many(&mut batch, 64) => count,
            () = shared.ended() => 0,
        };
        if count == 0 {
            break;
        }
        for message in batch.drain(..) {
            if message.answer == Answer::Ignored || shared.begin(message.id) {
                sink.push(&message.text);
            }
        }
        if sink.flush().await.is_err() {
            break;
        }
    }
    // Nothing can be sent any more. The reader ends when the browser closes its side.
    outgoing.close();
    shared.fail_all();
}

fn parse(message: &[u8]) -> Option<Incoming> {
    serde_json::from_slice(message).ok().or_else(|| {
        // Page text may hold half a surrogate pair, which JSON can say and Rust can't hold.
        let mended = surrogates::mend(message)?;
        serde_json::from_slice(&mended).ok()
    })
}

/// The id of a message that can't be read otherwise: the browser writes it first.
fn leading_id(message: &[u8]) -> Option<u64> {
    let digits = message.strip_prefix(b"{\"id\":")?;
    let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(digits.get(..end)?).ok()?.parse().ok()
}
