//! What a server and a network can do to the client: every end is a typed error in bounded time.

use std::time::{Duration, Instant};

use crate::common::{Reply, Stub, answered, asked, asked_with, bounds, judge_at, judge_within};
use jev_core::error::{AnswerFault, JudgeError, TransportFault};
use jev_core::ports::Judge as _;
use jev_core::question::Decision;
use jev_judge::client::{Bounds, REPLY_MAX_BYTES};
use jev_judge::retry::RetryPolicy;
use serde_json::json;
use tokio::net::TcpListener;

/// Far above what any test here needs, far below a hang.
const PATIENCE: Duration = Duration::from_secs(60);
const DEADLINE: Duration = Duration::from_secs(30);

async fn decide_at(base: &str) -> Result<Decision, JudgeError> {
    let judge = judge_at(base, "jev-latest", None);
    let asked = asked();
    tokio::time::timeout(PATIENCE, judge.decide(&asked, DEADLINE))
        .await
        .unwrap()
}

fn void(fault: AnswerFault) -> Result<Decision, JudgeError> {
    Err(JudgeError::Protocol {
        question: None,
        fault,
    })
}

fn broken(fault: TransportFault) -> Result<Decision, JudgeError> {
    Err(JudgeError::Transport { fault })
}

fn head(length: usize) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n").into_bytes()
}

#[tokio::test]
async fn a_faultless_reply_is_a_decision() {
    let stub = Stub::start(|_, _| {
        let headers = vec![
            ("content-type", "text/html".to_owned()),
            ("x-typesafe-request-id", "req_7".to_owned()),
        ];
        Reply::Http(200, headers, answered().to_string().into_bytes())
    })
    .await;
    let decision = decide_at(&stub.base).await.unwrap();
    assert_eq!(decision.request_id.as_deref(), Some("req_7"));
    assert_eq!(decision.model.as_deref(), Some("jev-1.13.0"));
    assert_eq!((decision.attempts, decision.usage.input_tokens), (1, 20));
    let [request] = &stub.received()[..] else {
        panic!("one request");
    };
    assert!(request.head.starts_with("POST /v1/systemone HTTP/1.1"));
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.header("accept-encoding"), None);
    let fields: Vec<String> = request
        .json()
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(fields, ["model", "state", "questions"]);
}

#[tokio::test]
async fn a_reply_over_the_cap_is_not_read_to_its_end() {
    // Announced: nothing of it is read.
    let stub = Stub::start(|_, _| Reply::Hang(head(10 * 1024 * 1024))).await;
    assert_eq!(decide_at(&stub.base).await, void(AnswerFault::Length));
    // Not announced, and without an end.
    let stub = Stub::start(|_, _| {
        let mut bytes = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        bytes.resize(64 * 1024, b' ');
        Reply::Endless(bytes)
    })
    .await;
    assert_eq!(decide_at(&stub.base).await, void(AnswerFault::Length));
    // Just below the cap is read, and is no JSON.
    let stub = Stub::start(|_, _| Reply::Http(200, vec![], vec![b'x'; REPLY_MAX_BYTES])).await;
    assert_eq!(decide_at(&stub.base).await, void(AnswerFault::Shape));
    // An error as long as a book is still that error.
    let stub = Stub::start(|_, _| Reply::Http(422, vec![], vec![b'x'; 1024 * 1024])).await;
    let refused = Err(JudgeError::InvalidRequest { status: 422 });
    assert_eq!(decide_at(&stub.base).await, refused);
}

#[tokio::test]
async fn html_is_no_answer() {
    let page = b"<!doctype html><title>Welcome</title>".to_vec();
    for (status, expected, requests) in [
        (200, void(AnswerFault::Shape), 1),
        (404, Err(JudgeError::NotFound { status: 404 }), 1),
        (502, Err(JudgeError::Server { status: 502 }), 3),
        (503, Err(JudgeError::Overloaded { status: 503 }), 3),
    ] {
        let page = page.clone();
        let stub = Stub::start(move |_, _| Reply::Http(status, vec![], page.clone())).await;
        assert_eq!(decide_at(&stub.base).await, expected);
        assert_eq!(stub.received().len(), requests, "{status}");
    }
}

#[tokio::test]
async fn a_redirect_is_never_followed() {
    let elsewhere = Stub::start(|_, _| Reply::json(200, &answered())).await;
    for status in [301, 302, 303, 307, 308] {
        let target = elsewhere.base.clone();
        let stub = Stub::start(move |_, _| {
            let to = format!("{target}/v1/systemone");
            Reply::Http(status, vec![("location", to)], Vec::new())
        })
        .await;
        let found = decide_at(&stub.base).await;
        assert_eq!(found, Err(JudgeError::Redirect { status }));
        assert_eq!(stub.received().len(), 1);
    }
    assert!(elsewhere.received().is_empty());
}

#[tokio::test]
async fn a_server_that_says_nothing_is_a_timeout_at_the_deadline() {
    for begin in [Vec::new(), head(1000), b"HTTP/1.1 200".to_vec()] {
        let silent = begin.clone();
        let stub = Stub::start(move |_, _| Reply::Hang(silent.clone())).await;
        let judge = judge_at(&stub.base, "jev-latest", None);
        let (asked, begun) = (asked(), Instant::now());
        let found = judge.decide(&asked, Duration::from_millis(300)).await;
        assert_eq!(found, Err(JudgeError::Timeout));
        let took = begun.elapsed();
        assert!((300..10_000).contains(&took.as_millis()), "{took:?}");
    }
}

#[tokio::test]
async fn a_try_has_a_bound_of_its_own() {
    let stub = Stub::start(|number, _| match number {
        0 | 1 => Reply::Hang(Vec::new()),
        _ => Reply::json(200, &answered()),
    })
    .await;
    let short = Bounds {
        attempt: Duration::from_millis(300),
        ..bounds()
    };
    let judge = judge_within(&stub.base, "jev-latest", None, short);
    let decision = judge.decide(&asked(), DEADLINE).await;
    // The third try may be slow on a busy machine, but then it says so.
    match decision {
        Ok(decision) => assert_eq!(decision.attempts, 3),
        Err(error) => assert_eq!(error, JudgeError::Timeout),
    }
    assert!(stub.received().len() <= 3);
}

#[tokio::test]
async fn a_connection_that_breaks_is_tried_again() {
    for bytes in [Vec::new(), head(1000), b"HTTP/1.1 200 OK\r\ncont".to_vec()] {
        let stub = Stub::start(move |_, _| Reply::Bytes(bytes.clone())).await;
        assert_eq!(decide_at(&stub.base).await, broken(TransportFault::Broken));
        assert_eq!(stub.received().len(), 3);
    }
    let stub = Stub::start(|number, _| match number {
        0 => Reply::Bytes(head(1000)),
        _ => Reply::json(200, &answered()),
    })
    .await;
    assert_eq!(decide_at(&stub.base).await.unwrap().attempts, 2);
}

#[tokio::test]
async fn what_can_not_be_reached_is_told_apart() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let dead = format!("http://127.0.0.1:{port}");
    assert_eq!(decide_at(&dead).await, broken(TransportFault::Connect));
    // A label of 64 letters is no host name: no resolver has to be asked to know that.
    let nameless = format!("http://{}.localhost:{port}", "a".repeat(64));
    assert_eq!(decide_at(&nameless).await, broken(TransportFault::Dns));
}

#[tokio::test]
async fn plain_http_where_tls_is_spoken_is_a_tls_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    // Answers the greeting of TLS with text.
    let server = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let text = b"HTTP/1.1 400 Bad Request\r\n\r\n";
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, text).await;
        }
    });
    let found = decide_at(&base).await;
    server.abort();
    assert_eq!(found, broken(TransportFault::Tls));
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_no_more_than_twice() {
    for (status, error) in [
        (408, JudgeError::Timeout),
        (429, JudgeError::RateLimited),
        (500, JudgeError::Server { status: 500 }),
        (520, JudgeError::Server { status: 520 }),
        (524, JudgeError::Overloaded { status: 524 }),
        (529, JudgeError::Overloaded { status: 529 }),
    ] {
        let stub = Stub::start(move |_, _| Reply::json(status, &json!({"detail": "busy"}))).await;
        assert_eq!(decide_at(&stub.base).await, Err(error));
        assert_eq!(stub.received().len(), 3, "{status}");
        let stub = Stub::start(move |number, _| match number {
            0 | 1 => Reply::json(status, &json!({"detail": "busy"})),
            _ => Reply::json(200, &answered()),
        })
        .await;
        assert_eq!(decide_at(&stub.base).await.unwrap().attempts, 3);
    }
    for (status, error) in [
        (400, JudgeError::InvalidRequest { status: 400 }),
        (401, JudgeError::Auth { status: 401 }),
        (402, JudgeError::PaymentRequired),
        (403, JudgeError::Auth { status: 403 }),
        (404, JudgeError::NotFound { status: 404 }),
        (413, JudgeError::TooLarge),
        (422, JudgeError::InvalidRequest { status: 422 }),
    ] {
        let stub = Stub::start(move |_, _| Reply::json(status, &json!({"detail": []}))).await;
        assert_eq!(decide_at(&stub.base).await, Err(error));
        assert_eq!(stub.received().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn the_servers_wish_is_honoured_but_not_past_the_deadline() {
    let patient = Bounds {
        retry: RetryPolicy {
            base: Duration::from_secs(3600),
            longest: Duration::from_secs(3600),
            retries: 2,
        },
        ..bounds()
    };
    // `Retry-After: 0` means at once, whatever our own wait would have been.
    let stub = Stub::start(|number, _| match number {
        0 => Reply::Http(429, vec![("retry-after", "0".to_owned())], Vec::new()),
        1 => Reply::Http(429, vec![("retry-after-ms", "40".to_owned())], Vec::new()),
        _ => Reply::json(200, &answered()),
    })
    .await;
    let judge = judge_within(&stub.base, "jev-latest", None, patient);
    let begun = Instant::now();
    let decision = judge.decide(&asked(), DEADLINE).await.unwrap();
    assert_eq!(decision.attempts, 3);
    assert!(begun.elapsed() >= Duration::from_millis(40));
    // A wish past the deadline is not slept towards.
    let stub =
        Stub::start(|_, _| Reply::Http(429, vec![("retry-after", "3600".to_owned())], Vec::new()))
            .await;
    let judge = judge_within(&stub.base, "jev-latest", None, bounds());
    let begun = Instant::now();
    let found = judge.decide(&asked(), DEADLINE).await;
    assert_eq!(found, Err(JudgeError::RateLimited));
    assert_eq!(stub.received().len(), 1);
    assert!(begun.elapsed() < DEADLINE / 2);
}

#[tokio::test]
async fn a_pinned_model_is_answered_by_itself_only() {
    for (pinned, answered_by, accepted) in [
        ("jev-1.13.0", "jev-1.13.0", true),
        ("jev-1.13.0", "jev-1.14.0", false),
        ("jev-latest", "jev-1.14.0", true),
    ] {
        let mut reply = answered();
        reply["model"] = json!(answered_by);
        let stub = Stub::start(move |_, _| Reply::json(200, &reply)).await;
        let judge = judge_at(&stub.base, pinned, None);
        let found = judge.decide(&asked(), DEADLINE).await;
        if accepted {
            assert!(found.is_ok(), "{found:?}");
        } else {
            assert_eq!(found, void(AnswerFault::Model));
        }
    }
}

#[tokio::test]
async fn too_large_a_request_is_not_sent() {
    let stub = Stub::start(|_, _| Reply::json(200, &answered())).await;
    let judge = judge_at(&stub.base, "jev-latest", None);
    let asked = asked_with(json!("x".repeat(400_000)), &["a", "b"]);
    let found = judge.decide(&asked, DEADLINE).await;
    assert_eq!(found, Err(JudgeError::TooLarge));
    assert!(stub.received().is_empty());
}

#[tokio::test]
async fn a_dropped_call_harms_nobody() {
    let stub = Stub::start(|number, _| match number {
        0 => Reply::Hang(Vec::new()),
        _ => Reply::json(200, &answered()),
    })
    .await;
    let judge = judge_at(&stub.base, "jev-latest", None);
    let asked = asked();
    let dropped = tokio::time::timeout(
        Duration::from_millis(200),
        judge.decide(&asked, Duration::from_secs(3600)),
    );
    // On a busy machine the first request may not even have been sent: then it is no better served.
    assert!(dropped.await.is_err() || stub.received().len() == 1);
    let next = judge.decide(&asked, DEADLINE).await;
    assert!(next.is_ok() || stub.received().len() == 1, "{next:?}");
}
