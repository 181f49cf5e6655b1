//! The connection's promises, proven over a transport made of channels.

use std::io;
use std::time::Duration;

use jev_core::error::Sent;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::connection::{Connection, SessionId};
use crate::error::CdpError;
use crate::transport::{Sink, Source};

/// Long enough to be never reached when all is well.
const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(20);

struct ChannelSource(mpsc::UnboundedReceiver<Vec<u8>>);

impl Source for ChannelSource {
    async fn next(&mut self, buffer: &mut Vec<u8>) -> bool {
        match self.0.recv().await {
            Some(message) => {
                *buffer = message;
                true
            }
            None => false,
        }
    }
}

/// Takes batches only as fast as permits are given.
struct ChannelSink {
    out: mpsc::UnboundedSender<String>,
    permits: mpsc::UnboundedReceiver<()>,
    batch: Vec<String>,
}

impl Sink for ChannelSink {
    fn push(&mut self, message: &str) {
        self.batch.push(message.to_owned());
    }

    async fn flush(&mut self) -> io::Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        if self.permits.recv().await.is_none() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        for message in self.batch.drain(..) {
            self.out
                .send(message)
                .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        Ok(())
    }
}

/// The browser's side.
pub(crate) struct Other {
    say: mpsc::UnboundedSender<Vec<u8>>,
    heard: mpsc::UnboundedReceiver<String>,
    permits: mpsc::UnboundedSender<()>,
}

impl Other {
    pub(crate) fn answer(&self, message: &Value) {
        self.say.send(message.to_string().into_bytes()).unwrap();
    }

    pub(crate) fn permit(&self, count: usize) {
        for _ in 0..count {
            self.permits.send(()).unwrap();
        }
    }

    pub(crate) async fn hear(&mut self) -> Value {
        serde_json::from_str(&self.heard.recv().await.unwrap()).unwrap()
    }
}

pub(crate) fn pair() -> (Connection, Other) {
    let (say, source) = mpsc::unbounded_channel();
    let (out, heard) = mpsc::unbounded_channel();
    let (permits, permitted) = mpsc::unbounded_channel();
    let sink = ChannelSink {
        out,
        permits: permitted,
        batch: Vec::new(),
    };
    let connection = Connection::start(ChannelSource(source), sink);
    let other = Other {
        say,
        heard,
        permits,
    };
    (connection, other)
}

#[tokio::test]
async fn answers_find_their_callers_in_any_order() {
    let (connection, mut other) = pair();
    other.permit(8);
    let tab = SessionId::new("tab");
    let first = connection.send(None, "A.a", json!({"x": 1}));
    let second = connection.send(Some(&tab), "B.b", Value::Null);
    let (heard_first, heard_second) = (other.hear().await, other.hear().await);
    assert_eq!(heard_first["params"], json!({"x": 1}));
    assert_eq!(heard_first.get("sessionId"), None);
    assert_eq!(heard_second["sessionId"], "tab");
    other.answer(&json!({"id": heard_second["id"], "result": 2, "unknown": true}));
    other.answer(&json!({"id": 999, "result": "nobody asked"}));
    other.answer(&json!({"id": heard_first["id"], "error": {"code": -7, "message": "no"}}));
    assert_eq!(second.wait(LONG).await, Ok(json!(2)));
    let refused = CdpError::Refused {
        code: -7,
        message: "no".into(),
    };
    assert_eq!(first.wait(LONG).await, Err(refused));
}

#[tokio::test]
async fn a_caller_that_goes_away_harms_nobody() {
    let (connection, mut other) = pair();
    other.permit(1);
    let abandoned = connection.send(None, "A.a", Value::Null);
    let heard = other.hear().await;
    drop(abandoned);
    other.answer(&json!({"id": heard["id"], "result": 1}));
    other.permit(1);
    let next = connection.send(None, "B.b", Value::Null);
    let heard = other.hear().await;
    other.answer(&json!({"id": heard["id"], "result": 2}));
    assert_eq!(next.wait(LONG).await, Ok(json!(2)));
}

#[tokio::test]
async fn a_call_given_up_before_it_was_written_is_surely_not_sent() {
    let (connection, mut other) = pair();
    // The first call fills the pipe: no permit yet.
    let blocked = connection.send(None, "A.blocked", Value::Null);
    tokio::task::yield_now().await;
    let waiting = connection.send(None, "A.waiting", Value::Null);
    let sent = Sent::SurelyNot;
    assert_eq!(waiting.wait(SHORT).await, Err(CdpError::Timeout { sent }));
    connection.post(None, "A.posted", Value::Null);
    other.permit(8);
    assert_eq!(other.hear().await["method"], "A.blocked");
    assert_eq!(other.hear().await["method"], "A.posted");
    let sent = Sent::Maybe;
    assert_eq!(blocked.wait(SHORT).await, Err(CdpError::Timeout { sent }));
}

#[tokio::test]
async fn a_lost_connection_fails_every_call_at_once() {
    let (connection, mut other) = pair();
    other.permit(1);
    let mut events = connection.subscribe_root();
    let pending = connection.send(None, "A.a", Value::Null);
    other.hear().await;
    let unsent = connection.send(None, "A.b", Value::Null);
    drop(other.say);
    let sent = Sent::Maybe;
    assert_eq!(
        pending.wait(LONG).await,
        Err(CdpError::Disconnected { sent })
    );
    // It stands at the writer, which may have taken it already.
    assert!(matches!(
        unsent.wait(LONG).await,
        Err(CdpError::Disconnected { .. })
    ));
    assert!(events.next().await.is_none());
    connection.closed().await;
    assert!(!connection.is_open());
    let sent = Sent::SurelyNot;
    assert_eq!(
        connection.call(None, "A.c", Value::Null, LONG).await,
        Err(CdpError::Disconnected { sent })
    );
}

#[tokio::test]
async fn a_broken_pipe_fails_calls_too() {
    let (connection, other) = pair();
    let call = connection.send(None, "A.a", Value::Null);
    drop(other.permits);
    assert!(matches!(
        call.wait(LONG).await,
        Err(CdpError::Disconnected { .. })
    ));
}

#[tokio::test]
async fn a_crash_fails_the_calls_of_its_session_only() {
    for (message, ends) in [
        (
            json!({"method": "Inspector.targetCrashed", "sessionId": "dead"}),
            false,
        ),
        (
            json!({"method": "Target.detachedFromTarget", "params": {"sessionId": "dead"}}),
            true,
        ),
    ] {
        let (connection, mut other) = pair();
        other.permit(8);
        let (dead, alive) = (SessionId::new("dead"), SessionId::new("alive"));
        let mut events = connection.subscribe(&dead);
        let lost = connection.send(Some(&dead), "A.a", Value::Null);
        let kept = connection.send(Some(&alive), "A.a", Value::Null);
        other.hear().await;
        let heard = other.hear().await;
        other.answer(&message);
        let sent = Sent::Maybe;
        assert_eq!(lost.wait(LONG).await, Err(CdpError::TargetGone { sent }));
        let sent = Sent::SurelyNot;
        assert_eq!(
            connection.call(Some(&dead), "A.b", Value::Null, LONG).await,
            Err(CdpError::TargetGone { sent })
        );
        other.answer(&json!({"id": heard["id"], "result": 1}));
        assert_eq!(kept.wait(LONG).await, Ok(json!(1)));
        if ends {
            assert!(events.next().await.is_none());
        } else {
            assert_eq!(
                events.next().await.unwrap().method,
                "Inspector.targetCrashed"
            );
        }
        assert!(connection.subscribe(&dead).next().await.is_none());
    }
}

#[tokio::test]
async fn events_go_to_their_session_in_order() {
    let (connection, other) = pair();
    let tab = SessionId::new("tab");
    let (mut root, mut of_tab) = (connection.subscribe_root(), connection.subscribe(&tab));
    for number in 0..3 {
        other.answer(&json!({"method": "X.root", "params": number}));
        other.answer(&json!({"method": "X.tab", "params": number, "sessionId": "tab"}));
        other.answer(&json!({"method": "X.other", "sessionId": "other"}));
    }
    for number in 0..3 {
        assert_eq!(root.next().await.unwrap().params, json!(number));
        assert_eq!(of_tab.next().await.unwrap().params, json!(number));
    }
    assert!(root.try_next().is_none() && of_tab.try_next().is_none());
}

#[tokio::test]
async fn unreadable_messages_fail_what_they_answer_and_nothing_else() {
    let (connection, mut other) = pair();
    other.permit(8);
    let broken = connection.send(None, "A.a", Value::Null);
    let mended = connection.send(None, "A.b", Value::Null);
    let (first, second) = (other.hear().await, other.hear().await);
    for junk in [
        "",
        "null",
        "[]",
        "{",
        "{\"id\":\"x\"}",
        "{\"id\":-1}",
        "\u{0}",
    ] {
        other.say.send(junk.as_bytes().to_vec()).unwrap();
    }
    let cut = format!("{{\"id\":{},\"result\":{{\"a\":", first["id"]);
    other.say.send(cut.into_bytes()).unwrap();
    assert_eq!(broken.wait(LONG).await, Err(CdpError::Malformed));
    let half = format!("{{\"id\":{},\"result\":\"a\\ud800b\"}}", second["id"]);
    other.say.send(half.into_bytes()).unwrap();
    assert_eq!(mended.wait(LONG).await, Ok(json!("a\u{fffd}b")));
}

#[tokio::test]
async fn what_is_heard_inline_is_known_before_any_later_answer_or_failure() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct End(Arc<AtomicU64>);
    impl Drop for End {
        fn drop(&mut self) {
            self.0.fetch_add(1000, Ordering::SeqCst);
        }
    }

    for last in ["Inspector.targetCrashed", "Target.detachedFromTarget", ""] {
        let (connection, mut other) = pair();
        other.permit(8);
        let tab = SessionId::new("tab");
        let known = Arc::new(AtomicU64::new(0));
        let end = End(Arc::clone(&known));
        connection.hear(&tab, move |_| {
            end.0.fetch_add(1, Ordering::SeqCst);
        });
        let first = connection.send(Some(&tab), "A.a", Value::Null);
        let second = connection.send(Some(&tab), "A.b", Value::Null);
        let (id, _) = (other.hear().await, other.hear().await);
        other.answer(&json!({"method": "E.e", "params": {}, "sessionId": "other"}));
        other.answer(&json!({"method": "E.e", "params": {}, "sessionId": "tab"}));
        other.answer(&json!({"id": id["id"], "result": 1, "sessionId": "tab"}));
        assert_eq!(first.wait(LONG).await, Ok(json!(1)));
        assert_eq!(known.load(Ordering::SeqCst), 1);
        let expected = match last {
            "Inspector.targetCrashed" => {
                other.answer(&json!({"method": last, "params": {}, "sessionId": "tab"}));
                2
            }
            "Target.detachedFromTarget" => {
                other.answer(&json!({"method": last, "params": {"sessionId": "tab"}}));
                1001
            }
            _ => {
                // The other side goes away.
                drop(other);
                1001
            }
        };
        assert!(second.wait(LONG).await.is_err());
        assert_eq!(known.load(Ordering::SeqCst), expected, "{last}");
    }
}
