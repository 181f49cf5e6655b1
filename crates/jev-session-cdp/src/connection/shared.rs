//! The state of a connection, and the two tasks that read and write it.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jev_core::error::Sent;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

use super::ended::EndedSessions;
use super::{Event, EventStream, SessionId};
use crate::error::CdpError;
use crate::surrogates;
use crate::transport::{Sink, Source};

/// The protocol's number for a call to a session that is not there.
const NO_SESSION: i64 = -32001;

/// A message on its way to the writer.
pub(super) struct Outgoing {
    pub(super) id: u64,
    pub(super) text: String,
    pub(super) answer: Answer,
}

/// Whether somebody waits for a message's answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Yes; when the waiter is gone before the message is written, it is not written at all.
    Awaited,
    /// No; it is written in any case.
    Ignored,
}

pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    /// A lock of its own: what is done there may wait for somebody who waits for `state`.
    pub(super) inline: Mutex<HashMap<SessionId, Vec<Hear>>>,
    pub(super) next_id: AtomicU64,
    pub(super) open: watch::Sender<bool>,
}

pub(super) struct State {
    pub(super) open: bool,
    pub(super) waiters: HashMap<u64, Waiter>,
    pub(super) subscribers: HashMap<Option<SessionId>, Vec<mpsc::UnboundedSender<Event>>>,
    /// Where nothing will ever be answered.
    pub(super) ended: EndedSessions,
}

/// Something short that is done with each event within the reader.
pub(super) type Hear = Box<dyn FnMut(&Event) + Send>;

pub(super) struct Waiter {
    pub(super) session: Option<SessionId>,
    pub(super) sent: Sent,
    pub(super) answer: oneshot::Sender<Result<Value, CdpError>>,
}

#[derive(Serialize)]
pub(super) struct Request<'a> {
    pub(super) id: u64,
    pub(super) method: &'a str,
    pub(super) params: Value,
    #[serde(rename = "sessionId", skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<&'a str>,
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

impl Shared {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                open: true,
                waiters: HashMap::new(),
                subscribers: HashMap::new(),
                ended: EndedSessions::default(),
            }),
            inline: Mutex::default(),
            next_id: AtomicU64::new(1),
            open: watch::Sender::new(true),
        }
    }

    /// A poisoned lock is taken as it is: no invariant spans a panic.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_inline(&self) -> MutexGuard<'_, HashMap<SessionId, Vec<Hear>>> {
        self.inline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn subscribe(&self, session: Option<SessionId>) -> EventStream {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut state = self.lock();
        let gone = session
            .as_ref()
            .is_some_and(|session| state.ended.contains(session));
        if state.open && !gone {
            state.subscribers.entry(session).or_default().push(sender);
        }
        EventStream(receiver)
    }

    pub(super) fn fail(&self, id: u64) {
        if let Some(waiter) = self.lock().waiters.remove(&id) {
            let error = CdpError::Disconnected { sent: waiter.sent };
            let _ = waiter.answer.send(Err(error));
        }
    }

    pub(super) fn fail_session(&self, session: &SessionId) {
        let mut state = self.lock();
        state.ended.crashed(session);
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

    pub(super) async fn ended(&self) {
        let mut open = self.open.subscribe();
        // An error means the sender is gone, which is the same news.
        let _ = open.wait_for(|open| !open).await;
    }

    pub(super) fn fail_all(&self) {
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
                (_, Some(refusal)) if refusal.code == NO_SESSION => Err(CdpError::TargetGone {
                    sent: Sent::SurelyNot,
                }),
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
        if let Some(session) = lost.filter(|_| detached) {
            state.ended.detached(&session);
            state.subscribers.remove(&Some(session));
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

pub(super) async fn read(mut source: impl Source, shared: Arc<Shared>) {
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

pub(super) async fn write(
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
