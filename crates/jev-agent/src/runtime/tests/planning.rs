//! The chat-model planner against a server on loopback, over the real wire.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use jev_judge::credential::Credential;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::*;
use crate::chat::{ChatError, LiveChat};

/// A chat model's server that always answers the same and keeps what it was asked.
#[derive(Clone, Default)]
struct Server {
    asked: Arc<Mutex<Vec<Value>>>,
    content: String,
    status: u16,
}

async fn answer(
    State(server): State<Server>,
    Json(body): Json<Value>,
) -> (StatusCode, Json<Value>) {
    server.asked.lock().unwrap().push(body);
    let reply = json!({
        "choices": [{"message": {"role": "assistant", "content": server.content},
                     "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    });
    (StatusCode::from_u16(server.status).unwrap(), Json(reply))
}

async fn serve(content: &str, status: u16) -> (SocketAddr, Server) {
    let server = Server {
        content: content.to_owned(),
        status,
        ..Server::default()
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new()
        .route("/v1/chat/completions", post(answer))
        .with_state(server.clone());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (address, server)
}

async fn planned(content: &str, status: u16, way: Vec<Proposed>) -> (TaskResult, Server) {
    let (address, server) = serve(content, status).await;
    let model = LiveChat::new(&format!("http://{address}"), "planner-1", Credential::None).unwrap();
    let site = site();
    let mut parts = parts(&site, way);
    parts.planner = Arc::new(ChatPlanner::new(Arc::new(model)));
    let result = run_in(&mut Runtime::new(parts), &task()).await;
    assert_eq!(site.counts().opened(), site.counts().closed());
    (result, server)
}

#[tokio::test]
async fn a_plan_from_a_chat_model_is_carried_out() {
    let plan = json!({"steps": [
        {"objective": "Open the documents", "expect": ["All documents"], "expect_url": null, "allow": []},
        {"objective": "Find the term", "expect": [], "expect_url": null, "allow": ["http://h/docs/*"]},
    ]});
    let (result, server) =
        planned(&plan.to_string(), 200, vec![link("Docs"), link("Warranty")]).await;
    assert_eq!(result.line(), "COMPLETED | steps=2 recoveries=0");
    assert_eq!(result.plan.len(), 2);
    let asked = server.asked.lock().unwrap();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["model"], "planner-1");
    let format = &asked[0]["response_format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["json_schema"]["strict"], true);
    let schema = &format["json_schema"]["schema"];
    assert!(jsonschema::validator_for(schema).unwrap().is_valid(&plan));
    assert!(
        asked[0]["messages"][1]["content"]
            .as_str()
            .unwrap()
            .contains("How long does it last?")
    );
}

#[tokio::test]
async fn a_plan_that_breaks_the_contract_is_refused_before_any_action() {
    let wide = json!({"steps": [{"objective": "x", "expect": [], "expect_url": null,
                                 "allow": ["http://elsewhere.test"]}]});
    let empty = json!({"steps": []});
    let extra = json!({"steps": [{"objective": "x", "expect": [], "expect_url": null, "allow": [],
                                  "script": "x"}]});
    for (content, words) in [
        (wide.to_string(), "outside of what the task allows"),
        (empty.to_string(), "0 steps"),
        (extra.to_string(), "unknown field"),
        ("I would first...".to_owned(), "not a plan"),
    ] {
        let (result, _) = planned(&content, 200, vec![link("Docs")]).await;
        assert_eq!(result.line(), "BLOCKED | steps=0 recoveries=0", "{content}");
        let Reason::Plan(error) = &result.reason else {
            panic!("{:?}", result.reason);
        };
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_chat_model_that_refuses_is_a_typed_reason() {
    let (result, server) = planned("", 401, Vec::new()).await;
    assert!(matches!(
        result.reason,
        Reason::Plan(PlanError::Chat(ChatError::Call(_)))
    ));
    assert_eq!(server.asked.lock().unwrap().len(), 1);
}
