//! A planted key: whatever a run writes is searched for it.

use std::path::Path;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{Said, jev, said};

const KEY: &str = "sk-planted-4f9c1e7b2a6d8035";
const VARIABLE: &str = "JEV_TEST_PLANTED_KEY";

/// What the page says, and what the judge's server does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum World {
    /// The server answers.
    Fine,
    /// The server refuses the key and sends it back, in headers and body.
    Refusing,
    /// The page shows the key.
    Shown,
}

async fn page(State(world): State<World>) -> Html<String> {
    let note = match world {
        World::Fine | World::Refusing => "nothing secret".to_owned(),
        World::Shown => format!("the key is {KEY} indeed"),
    };
    Html(format!(
        "<!doctype html><title>Kettles</title><h1>Help</h1><p>{note}</p><a href=warranty>Warranty</a>"
    ))
}

async fn decide(State(world): State<World>, headers: HeaderMap, body: String) -> Response {
    let sent = headers.get("authorization").cloned();
    assert_eq!(sent.as_ref().unwrap(), &format!("Bearer {KEY}"));
    if world == World::Refusing {
        let echo = format!("the key {KEY} is wrong: {body}");
        return (StatusCode::UNAUTHORIZED, [("x-echo", KEY)], echo).into_response();
    }
    let asked: Value = serde_json::from_str(&body).unwrap();
    let mut answers = serde_json::Map::new();
    for (id, question) in asked["questions"].as_object().unwrap() {
        let options = question["criteria"].as_object().unwrap();
        let about = |text: &Value| text.as_str().unwrap().contains("Warranty");
        let chosen = options.iter().find(|(_, text)| about(text)).unwrap().0;
        let p: serde_json::Map<String, Value> = options
            .keys()
            .map(|name| (name.clone(), json!(f64::from(u8::from(name == chosen)))))
            .collect();
        let answer =
            json!({"type": "choice", "choice": chosen, "probabilities": p, "confidence": 1.0});
        answers.insert(id.clone(), answer);
    }
    let usage = json!({"input_tokens": 1000, "output_tokens": 10});
    axum::Json(json!({"model": "jev-1.13.0", "answers": answers, "usage": usage})).into_response()
}

async fn serve(world: World) -> String {
    let app = Router::new()
        .route("/", get(page))
        .route(
            "/warranty",
            get(async || Html("<title>W</title>It lasts 24 months.")),
        )
        .route("/v1/systemone", post(decide))
        .with_state(world);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}")
}

fn search(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(&path, found);
        } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(KEY) {
            found.push(path.display().to_string());
        }
    }
}

async fn run(world: World, folder: &Path, more: &[&str]) -> Said {
    let base = serve(world).await;
    let judge = format!(
        "record:{}=systemone:{base}",
        folder.join("cassette").display()
    );
    let mut command = jev(&[
        "read",
        "--goal",
        "How long is the warranty?",
        "--judge",
        &judge,
    ]);
    command
        .args(["--start", &format!("{base}/"), "--expect", r"\d+ months"])
        .args(["--budget", "60s", "--price", "1,1"])
        .arg("--report")
        .arg(folder.join("report.json"))
        .arg("--trace")
        .arg(folder.join("trace"))
        .args(more);
    command.env(VARIABLE, KEY);
    if world != World::Shown {
        // A log of everything a browser says holds the page as it is.
        command.env("JEV_LOG", "trace");
    }
    tokio::task::spawn_blocking(move || said(&mut command))
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planted_key_stands_in_nothing_that_is_written() {
    let keys = tempfile::tempdir().unwrap();
    let dotenv = keys.path().join("keys.env");
    std::fs::write(&dotenv, format!("{VARIABLE}={KEY}\n")).unwrap();
    let dotenv = dotenv.display().to_string();
    let environment = ["--key-env", VARIABLE];
    let file = ["--key-env", VARIABLE, "--env-file", &dotenv];
    for (world, key, output, code) in [
        (World::Fine, &environment[..], "--json", 0),
        (World::Refusing, &environment, "--json", 5),
        (World::Shown, &environment, "--json", 5),
        (World::Refusing, &file, "--json", 5),
        (World::Shown, &file, "", 5),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let more: Vec<&str> = key
            .iter()
            .copied()
            .chain([output])
            .filter(|word| !word.is_empty())
            .collect();
        let said = run(world, folder.path(), &more).await;
        assert_eq!(
            said.code,
            Some(code),
            "{world:?}: {}\n{}",
            said.stdout,
            said.stderr
        );
        if world == World::Fine {
            // The alias was asked, a version answered, and both are told.
            let told: Value = serde_json::from_str(&said.stdout).unwrap();
            let models = (&told["judge"]["model"], &told["judge"]["answered_by"]);
            assert_eq!(models, (&json!("jev-latest"), &json!("jev-1.13.0")));
        }
        for text in [&said.stdout, &said.stderr] {
            let at = text.find(KEY).map(|at| &text[at.saturating_sub(200)..at]);
            assert_eq!(at, None, "{world:?}");
        }
        let mut found = Vec::new();
        search(folder.path(), &mut found);
        assert!(found.is_empty(), "{world:?}: {found:?}");
        let report = std::fs::read(folder.path().join("report.json")).unwrap();
        let report: Value = serde_json::from_slice(&report).unwrap();
        match world {
            World::Fine => {
                assert_eq!(said.json()["judge"]["cost"], 0.00101);
                assert_eq!(report["cost"], 0.00101);
            }
            World::Refusing => {}
            World::Shown => assert!(report.to_string().contains("the key is [key] indeed")),
        }
    }
}
