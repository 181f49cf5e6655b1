//! A conversation over the real wire: a chat model's server on loopback calls the tool and answers
//! from what it was given.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use jev_core::contract::Mode;
use jev_judge::credential::Credential;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::config::ReadSettings;
use crate::driver::Unobserved;
use crate::permission::Ruling;
use crate::source::{RunContext, Shared};
use crate::testing::{GOAL, World};
use crate::tool::{Effects, Naming, ReadBrowser, ToolDefinition};

type Asked = Arc<Mutex<Vec<Value>>>;

/// Calls the tool, first with arguments that are none, then rightly, and answers with the evidence.
async fn complete(State(asked): State<Asked>, Json(body): Json<Value>) -> Json<Value> {
    let messages = body["messages"].as_array().unwrap().clone();
    let turn = asked.lock().unwrap().len();
    asked.lock().unwrap().push(body);
    let call = |id: &str, arguments: &str| {
        json!({"role": "assistant", "content": null, "tool_calls": [{
            "id": id, "type": "function",
            "function": {"name": "read_browser", "arguments": arguments}
        }]})
    };
    let message = match turn {
        0 => call("call-1", "not json"),
        1 => call("call-2", &json!({"goal": GOAL}).to_string()),
        _ => {
            let last = messages.last().unwrap();
            let result: Value = serde_json::from_str(last["content"].as_str().unwrap()).unwrap();
            let quote = result["evidence"][0]["quote"].as_str().unwrap().to_owned();
            json!({"role": "assistant", "content": format!("It lasts {quote}.")})
        }
    };
    let reason = if turn < 2 { "tool_calls" } else { "stop" };
    Json(json!({
        "choices": [{"message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    }))
}

fn conversation(world: &World, model: Arc<dyn ChatModel>) -> Conversation {
    let tool = ReadBrowser::new(
        ToolDefinition::read_browser(Naming::Single, None, Effects::ReadsOnly),
        Arc::new(Shared(world.source())),
        world.judge(),
        ReadSettings {
            mode: Mode::Enforce,
            threshold: Some(0.8),
            ..ReadSettings::default()
        },
    );
    Conversation {
        model,
        tools: vec![Arc::new(tool)],
        gate: Arc::new(Ruling::Allow),
        context: RunContext::new("ada", "s1"),
    }
}

#[tokio::test]
async fn a_chat_model_on_a_server_calls_the_tool_and_answers_from_its_evidence() {
    let asked = Asked::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new()
        .route("/v1/chat/completions", post(complete))
        .with_state(Arc::clone(&asked));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let model = LiveChat::new(&format!("http://{address}"), "agent-1", Credential::None).unwrap();
    let world = World::default();
    let answer = conversation(&world, Arc::new(model))
        .ask(
            "Answer from the tool.",
            GOAL,
            Duration::from_secs(30),
            &mut Unobserved,
            &CancellationToken::new(),
        )
        .await
        .unwrap();
    assert_eq!(answer.text, "It lasts 24 months.");
    assert!(answer.is_from_evidence());
    assert_eq!(answer.model_calls, 3);
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 3);
    for body in asked.iter() {
        assert_eq!(body["tools"][0]["function"]["name"], "read_browser");
    }
    // Each result goes back under the call that asked for it; the first call was told what is wrong.
    let (first, second) = (&asked[1]["messages"][3], &asked[2]["messages"][5]);
    assert_eq!(
        (&first["role"], &first["tool_call_id"]),
        (&json!("tool"), &json!("call-1"))
    );
    assert!(
        first["content"].as_str().unwrap().starts_with("error: "),
        "{first}"
    );
    assert_eq!(second["tool_call_id"], "call-2");
    assert!(
        second["content"].as_str().unwrap().contains("VERIFIED"),
        "{second}"
    );
}

/// Never answers.
struct Silent(tokio::sync::Notify);

#[async_trait]
impl ChatModel for Silent {
    fn name(&self) -> String {
        "silent".to_owned()
    }

    async fn complete(&self, _: &ChatRequest, _: Duration) -> Result<Reply, ChatError> {
        self.0.notify_one();
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_conversation_that_waits_for_its_model_can_be_cancelled() {
    let world = World::default();
    let silent = Arc::new(Silent(tokio::sync::Notify::new()));
    let conversation = conversation(&world, Arc::clone(&silent) as Arc<dyn ChatModel>);
    let (cancel, mut nobody) = (CancellationToken::new(), Unobserved);
    let hour = Duration::from_secs(3_600);
    let asking = conversation.ask("", GOAL, hour, &mut nobody, &cancel);
    let cancelling = async {
        silent.0.notified().await;
        cancel.cancel();
    };
    let (answer, ()) = tokio::join!(asking, cancelling);
    assert!(matches!(answer, Err(ConversationError::Cancelled)));
}
