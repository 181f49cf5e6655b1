//! A judge's server for tests: it chooses by the goal, and keeps whatever it is sent.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

/// What the judge chooses: the first option that holds the second text, when the request holds the
/// first.
type Choices = &'static [(&'static str, &'static str)];

/// The word in a goal that makes the judge take its time.
const SLOW: &str = "slow";

/// A server that is ended with the test.
pub(crate) struct JudgeServer {
    /// Its address.
    pub(crate) url: String,
    heard: Arc<Mutex<Vec<String>>>,
    keys: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone)]
struct World {
    choices: Choices,
    heard: Arc<Mutex<Vec<String>>>,
    keys: Arc<Mutex<Vec<String>>>,
}

impl JudgeServer {
    pub(crate) async fn start(choices: Choices) -> Self {
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let keys: Arc<Mutex<Vec<String>>> = Arc::default();
        let app = Router::new()
            .route("/v1/systemone", post(decide))
            .with_state(World {
                choices,
                heard: Arc::clone(&heard),
                keys: Arc::clone(&keys),
            });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, heard, keys }
    }

    /// The keys that requests brought.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.keys.lock().unwrap().clone()
    }

    /// The bodies of all requests.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

async fn decide(State(world): State<World>, headers: HeaderMap, body: String) -> axum::Json<Value> {
    world.heard.lock().unwrap().push(body.clone());
    if let Some(key) = headers.get("authorization") {
        let key = key.to_str().unwrap().to_owned();
        world.keys.lock().unwrap().push(key);
    }
    if body.contains(SLOW) {
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    let asked: Value = serde_json::from_str(&body).unwrap();
    let wanted = world
        .choices
        .iter()
        .find(|(goal, _)| body.contains(goal))
        .map_or("nothing", |(_, label)| label);
    let mut answers = Map::new();
    for (id, question) in asked["questions"].as_object().unwrap() {
        let options = question["criteria"].as_object().unwrap();
        let about = |text: &Value| text.as_str().unwrap().contains(wanted);
        let chosen = options
            .iter()
            .find(|(_, text)| about(text))
            .or_else(|| options.iter().next_back())
            .unwrap()
            .0;
        let p: Map<String, Value> = options
            .keys()
            .map(|name| (name.clone(), json!(f64::from(u8::from(name == chosen)))))
            .collect();
        let answer =
            json!({"type": "choice", "choice": chosen, "probabilities": p, "confidence": 1.0});
        answers.insert(id.clone(), answer);
    }
    let usage = json!({"input_tokens": 1000, "output_tokens": 10});
    axum::Json(json!({"model": "test", "answers": answers, "usage": usage}))
}
