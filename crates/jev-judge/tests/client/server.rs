//! Our own server, asked by our own client and by raw requests.

use std::sync::Arc;
use std::time::Duration;

use jev_core::error::JudgeError;
use jev_core::ports::Judge as _;
use jev_core::question::{Answer, Decision};
use jev_judge::credential::Secret;
use jev_judge::lexical::LexicalJudge;
use jev_judge::server::{ServerConfig, serve};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::common::{asked_with, judge_at};

const DEADLINE: Duration = Duration::from_secs(30);
const KEY: &str = "server-key-0123456789";

struct Running {
    base: String,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), JudgeError>>,
}

async fn start(key: Option<&str>) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (stop, stopped) = oneshot::channel::<()>();
    let config = ServerConfig {
        key: key.and_then(Secret::new),
        ..ServerConfig::default()
    };
    let judge = Arc::new(LexicalJudge::new());
    let task = tokio::spawn(serve(listener, judge, config, async {
        let _ = stopped.await;
    }));
    Running { base, stop, task }
}

async fn post(base: &str, body: Vec<u8>) -> (u16, Value) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.post(format!("{base}/v1/systemone")).body(body);
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/json");
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap())
}

#[tokio::test]
async fn our_client_and_our_server_understand_each_other() {
    let running = start(None).await;
    let judge = judge_at(&running.base, "jev-latest", None);
    let state = json!("I was charged twice and want a refund");
    let asked = asked_with(state, &["refund", "weather"]);
    let over_the_wire = judge.decide(&asked, DEADLINE).await.unwrap();
    let mut in_process = asked.clone();
    in_process.goal = String::new();
    let direct = LexicalJudge::new()
        .decide(&in_process, DEADLINE)
        .await
        .unwrap();
    assert_eq!(over_the_wire.model.as_deref(), Some("lexical"));
    assert_eq!(
        (over_the_wire.odd_fields, over_the_wire.ignored_fields),
        (0, 0)
    );
    let p = |decision: &Decision| {
        let Answer::Choice(choice) = &decision.answers[0] else {
            panic!("a choice");
        };
        choice.probabilities.clone()
    };
    for (sent, found) in p(&direct).iter().zip(p(&over_the_wire)) {
        assert!((sent - found).abs() < 1e-9);
    }
    let listed = judge.models(DEADLINE).await.unwrap();
    assert_eq!(listed, ["lexical", "jev-latest", "jev-preview"]);
    running.stop.send(()).unwrap();
    assert_eq!(running.task.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn a_key_is_asked_for_where_one_is_set() {
    let running = start(Some(KEY)).await;
    let asked = asked_with(json!("s"), &["a", "b"]);
    for (key, expected) in [
        (None, Some(403)),
        (Some("wrong-key-0123456789"), Some(401)),
        (Some(KEY), None),
    ] {
        let judge = judge_at(&running.base, "jev-latest", key);
        let found = judge.decide(&asked, DEADLINE).await.err();
        assert_eq!(found, expected.map(|status| JudgeError::Auth { status }));
    }
}

#[tokio::test]
async fn bad_requests_are_refused_with_their_place() {
    let running = start(None).await;
    for (body, status, word) in [
        ("not json".to_owned(), 422, "json_invalid"),
        (json!({"model": "jev-latest"}).to_string(), 422, "missing"),
        (
            json!({"model": "gpt", "state": "s", "questions": {
                "q": {"type": "noul", "instructions": "Is it?"}}})
            .to_string(),
            400,
            "api_usage_error",
        ),
        (" ".repeat(3 * 1024 * 1024), 413, "max_tokens_exceeded"),
        // Deep nesting is refused by the reader, not by the stack.
        ("[".repeat(100_000), 422, "json_invalid"),
    ] {
        let (found, reply) = post(&running.base, body.into_bytes()).await;
        assert_eq!(found, status, "{reply}");
        assert!(reply["detail"].to_string().contains(word), "{reply}");
    }
    let missing = reqwest::get(format!("{}/v2/other", running.base))
        .await
        .unwrap();
    assert_eq!(missing.status(), 404);
    let wrong = reqwest::get(format!("{}/v1/systemone", running.base))
        .await
        .unwrap();
    assert_eq!(wrong.status(), 405);
}

#[tokio::test]
async fn it_listens_on_loopback_only() {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let judge = Arc::new(LexicalJudge::new());
    let found = serve(listener, judge, ServerConfig::default(), async {}).await;
    assert!(matches!(found, Err(JudgeError::Config { .. })), "{found:?}");
}

/// Answers when it is let go.
#[derive(Debug)]
struct Held {
    asked: tokio::sync::Semaphore,
    go: tokio::sync::Semaphore,
}

#[async_trait::async_trait]
impl jev_core::ports::Judge for Held {
    fn identity(&self) -> jev_core::ports::JudgeIdentity {
        LexicalJudge::new().identity()
    }

    async fn decide(
        &self,
        questionnaire: &jev_core::question::Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        self.asked.add_permits(1);
        let _go = self.go.acquire().await;
        LexicalJudge::new().decide(questionnaire, deadline).await
    }
}

#[tokio::test]
async fn the_judge_works_on_a_few_requests_and_the_crowd_is_sent_away() {
    let judge = Arc::new(Held {
        asked: tokio::sync::Semaphore::new(0),
        go: tokio::sync::Semaphore::new(0),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let config = ServerConfig {
        at_once: std::num::NonZeroUsize::MIN,
        ..ServerConfig::default()
    };
    let held: Arc<dyn jev_core::ports::Judge> = judge.clone();
    let serving = tokio::spawn(serve(listener, held, config, std::future::pending()));
    let body = json!({
        "model": "jev-latest", "state": "s",
        "questions": {"q": {"type": "noul", "instructions": "Is it?"}},
    });
    let body = serde_json::to_vec(&body).unwrap();
    // One is worked on and 64 wait: of a hundred, 35 are sent away while none is answered.
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (base, body) = (base.clone(), body.clone());
        calls.spawn(async move { post(&base, body).await });
    }
    let mut statuses = Vec::new();
    while statuses.len() < 35 {
        let (status, answer) = calls.join_next().await.unwrap().unwrap();
        assert_eq!(answer["detail"]["error_type"], "overloaded_error");
        statuses.push(status);
    }
    assert_eq!(statuses, vec![503; 35]);
    judge.asked.acquire().await.unwrap().forget();
    assert_eq!(judge.asked.available_permits(), 0, "one at a time");
    judge
        .go
        .add_permits(tokio::sync::Semaphore::MAX_PERMITS / 2);
    while let Some(answered) = calls.join_next().await {
        assert_eq!(answered.unwrap().0, 200);
    }
    serving.abort();
}
