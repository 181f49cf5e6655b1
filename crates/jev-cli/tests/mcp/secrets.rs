//! Secrets of every class are planted, everything that reads, records or remembers is run at the most
//! talkative log level, and whatever was written anywhere is searched for them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE, SET_COOKIE};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::judge::JudgeServer;
use super::raw::RawServer;
use super::{files, jev, output};

const VARIABLE: &str = "JEV_TEST_PLANTED_KEY";
const CHAT_VARIABLE: &str = "JEV_TEST_PLANTED_CHAT";

/// Where what a page says may stand because whoever reads it there is meant to: the results of the
/// commands, the host's own report, the agent's own result, the judge, who is shown the page. Everywhere
/// else it must not: logs, trajectories, the memory, and the commands that show these.
const PAGE_MAY: &[&str] = &[
    "read stdout",
    "task stdout",
    "report",
    "mcp stdout",
    "judge",
];

/// Each class, its text, and where it may stand.
const PLANTED: &[(&str, &str, &[&str])] = &[
    ("key in the environment", "sk-env-91b7c4e2d8f0aa36", &[]),
    ("key in a credential file", "sk-file-5d20e7b1c9fa4488", &[]),
    // Under a name that does not say that it is a secret.
    ("key of the chat model", "sk-chat-07c3e9a5b4d1f826", &[]),
    ("password in an address", "pw-hunter2-c0ffee77", &[]),
    ("cookie", "cookie-3fd1a9c877e0b521", &[]),
    // The agent typed it, and sees its own page.
    ("typed text", "typed-zebra-4410-quince", &["mcp stdout"]),
    (
        "bearer value on a page",
        "eyJhbGciOiJIUzI1NiJ9.eyJ0b2siOjE3fQ.c2lnbmF0dXJlLTkx",
        PAGE_MAY,
    ),
    ("key on a page", "sk-live-a81f0c2b7733de94aa10", PAGE_MAY),
    (
        "address of a person",
        "ada.lovelace@secret.example",
        PAGE_MAY,
    ),
    ("value in an address", "qv-77aa1130fe2c9b84", PAGE_MAY),
];

fn secret(class: &str) -> &'static str {
    PLANTED.iter().find(|(name, ..)| *name == class).unwrap().1
}

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

async fn page(State(seen): State<Seen>, request: Request) -> Response {
    let cookie = request.headers().get(COOKIE);
    let cookie = cookie.map(|value| value.to_str().unwrap().to_owned());
    let target = request.uri().to_string();
    seen.0
        .lock()
        .unwrap()
        .push(format!("{target} {}", cookie.unwrap_or_default()));
    let body = match request.uri().path() {
        // The last page shows the command's own keys; whoever prints the page must not.
        path @ ("/warranty" | "/task/warranty" | "/agent/warranty") => format!(
            "<title>Warranty</title><p>It lasts 24 months.<p>Ours: {} {}",
            secret(if path == "/agent/warranty" {
                "key in a credential file"
            } else {
                "key in the environment"
            }),
            if path == "/task/warranty" {
                secret("key of the chat model")
            } else {
                "alone"
            },
        ),
        "/found" => "<title>Found</title><p>One kettle found.".to_owned(),
        _ => format!(
            r#"<!doctype html><title>Help</title><h1>Help</h1>
<p>Authorization: Bearer {}</p><p>The key is {}.</p><p>Write to {}.</p>
<a href="warranty?access_token={}">Warranty</a>
<a href="http://ada:{}@{}/warranty">Warranty, too</a>
<form action=/found><label>Note <input name=note oninput="echo.textContent=value"></label>
<button>Search</button></form><p>You typed: <span id=echo></span></p>"#,
            secret("bearer value on a page"),
            secret("key on a page"),
            secret("address of a person"),
            secret("value in an address"),
            secret("password in an address"),
            request.headers()["host"].to_str().unwrap(),
        ),
    };
    let cookie = format!("sid={}; Path=/", secret("cookie"));
    ([(SET_COOKIE, cookie)], Html(body)).into_response()
}

/// A chat model, which plans every task in one step.
async fn chat(State(seen): State<Seen>, headers: HeaderMap) -> axum::Json<Value> {
    let key = headers[AUTHORIZATION].to_str().unwrap().to_owned();
    seen.0.lock().unwrap().push(format!("chat {key}"));
    let step = json!({"objective": "How long is the warranty?", "expect": [], "expect_url": null, "allow": []});
    let content = json!({"steps": [step]}).to_string();
    axum::Json(json!({"choices": [{"message": {"content": content}}]}))
}

async fn serve(seen: Seen) -> String {
    let app = Router::new()
        .route("/v1/chat/completions", post(chat))
        .fallback(page)
        .with_state(seen);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    base
}

/// Everything that was written, by sink.
#[derive(Default)]
struct Written(BTreeMap<String, Vec<String>>);

impl Written {
    fn add(&mut self, sink: &str, text: impl Into<String>) {
        self.0.entry(sink.to_owned()).or_default().push(text.into());
    }

    fn add_folder(&mut self, sink: &str, folder: &Path) {
        for file in files(folder) {
            let bytes = std::fs::read(&file).unwrap();
            self.add(sink, String::from_utf8_lossy(&bytes).into_owned());
        }
    }

    fn search(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (sink, texts) in &self.0 {
            for (class, secret, allowed) in PLANTED {
                let spelled = secret.replace('@', "%40");
                let leaked = texts.iter().find_map(|text| {
                    let at = text.find(secret).or_else(|| text.find(&spelled))?;
                    let mut before: Vec<char> = text[..at].chars().rev().take(160).collect();
                    before.reverse();
                    Some(before.into_iter().collect::<String>())
                });
                if let (Some(before), false) = (leaked, allowed.contains(&sink.as_str())) {
                    found.push(format!("{class} stands in {sink} after: {before}"));
                }
            }
        }
        found
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_secrets_stand_in_nothing_that_is_written() {
    let seen = Seen::default();
    let base = serve(seen.clone()).await;
    let judge = JudgeServer::start(&[("How long", "Warranty")]).await;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut written = Written::default();
    let env_key = secret("key in the environment");

    // A run, with everything that can be kept of it but what is raw by its nature.
    let read = |start: String, more: &[&str]| {
        let mut command = jev();
        command
            .args([
                "read",
                "--start",
                &start,
                "--goal",
                "How long is the warranty?",
            ])
            .args(["--expect", r"\d+ months", "--budget", "60s"])
            .args(["--judge", &format!("systemone:{}", judge.url)])
            .args(["--key-env", VARIABLE, "--trace", &path("trace")])
            .args(more)
            .env(VARIABLE, env_key)
            .env("JEV_LOG", "trace");
        command
    };
    for (more, code) in [
        (&["--json", "--report"][..], 0),
        (&["--report"], 0),
        (&["--json", "--mode", "off", "--report"], 10),
    ] {
        let report = path("report.json");
        let said = output(read(format!("{base}/"), more).arg(&report)).await;
        assert_eq!(said.status.code(), Some(code), "{}", super::shown(&said));
        written.add("read stdout", String::from_utf8_lossy(&said.stdout));
        written.add("logs", String::from_utf8_lossy(&said.stderr));
        written.add("report", std::fs::read_to_string(&report).unwrap());
    }
    let with_password = base.replace(
        "http://",
        &format!("http://ada:{}@", secret("password in an address")),
    );
    let said = output(&mut read(with_password, &["--json"])).await;
    assert_eq!(said.status.code(), Some(2));
    written.add("read stdout", String::from_utf8_lossy(&said.stdout));
    written.add("logs", String::from_utf8_lossy(&said.stderr));

    // A task, twice, so that the memory has something to remember.
    let task = path("task.toml");
    let text = format!(
        "version = 1\ngoal = \"How long is the warranty?\"\nstart = \"{base}/task/\"\nallow = [\"{base}\"]\n\
         [success]\nexpect = ['\\d+ months']\n[budget]\ntime = \"60s\"\n"
    );
    std::fs::write(&task, text).unwrap();
    let memory = folder.path().join("memory");
    std::fs::create_dir(&memory).unwrap();
    let database = memory.join("experience.db").display().to_string();
    for more in [&["--json"][..], &[]] {
        let mut command = jev();
        command
            .args(["task", "run", &task, "--memory", &database])
            .args(more)
            .args(["--trace", &path("trace")])
            .args(["--judge", &format!("systemone:{}", judge.url)])
            .args(["--key-env", VARIABLE])
            .args(["--chat", &format!("{base}/v1#m")])
            .args(["--chat-key", CHAT_VARIABLE])
            .env(VARIABLE, env_key)
            .env(CHAT_VARIABLE, secret("key of the chat model"))
            .env("JEV_LOG", "trace");
        let said = output(&mut command).await;
        assert_eq!(said.status.code(), Some(0), "{}", super::shown(&said));
        let stdout = String::from_utf8_lossy(&said.stdout);
        // The story shows the evidence; the object the page and what stands around the evidence.
        let shows = more.is_empty() || stdout.contains("Ours: [key] [key]");
        assert!(shows && stdout.contains("24 months"), "{stdout}");
        written.add("task stdout", stdout);
        written.add("logs", String::from_utf8_lossy(&said.stderr));
    }

    // The server: the reading tool, and a session in which the agent types.
    std::fs::write(
        folder.path().join("keys.env"),
        format!("{VARIABLE}={}\n", secret("key in a credential file")),
    )
    .unwrap();
    let config = folder.path().join("jev.toml");
    let text = format!(
        "[judge]\nprovider = 'systemone'\nurl = '{}'\nenv_file = 'keys.env'\nkey_variable = '{VARIABLE}'\n\
         [[source]]\nname = 'help'\nstart = '{base}/agent/'\nallow = ['{base}']\nexpect = ['\\d+ months']\n\
         [read]\nmode = 'enforce'\nthreshold = 0.8\nbudget = '30s'\n\
         [session]\ntools = 'allowed'\nfill = ['Note']\npress = ['Search']\n\
         [trace]\ndir = 'trace'\n",
        judge.url
    );
    std::fs::write(&config, text).unwrap();
    let mut server = RawServer::start(
        jev()
            .args(["mcp", "--config"])
            .arg(&config)
            .env("JEV_LOG", "trace"),
    )
    .await;
    let goal = json!({"goal": "How long is the warranty?"});
    let answer = server.call("read_browser", goal).await;
    assert_eq!(answer["status"], "VERIFIED", "{answer}");
    let text = answer["visibleText"].as_str().unwrap();
    assert!(text.contains("Ours: [key]"), "{text}");
    let opened = server.call("session_open", json!({})).await;
    let session = &opened["session"];
    let fill = json!({"session": session, "name": "Note", "text": secret("typed text")});
    let filled = server.call("session_fill", fill).await;
    assert_eq!(filled["receipt"], "APPLIED", "{filled}");
    assert!(
        filled.to_string().contains(secret("typed text")),
        "{filled}"
    );
    let run = json!({"session": session, "goal": "How long is the warranty?"});
    server.call("session_run", run).await;
    let wait = json!({"session": session, "textAppears": "24 months"});
    server.call("session_wait", wait).await;
    server
        .call("session_status", json!({"session": session}))
        .await;
    server
        .call("session_close", json!({"session": session}))
        .await;
    let resources = server.ask("resources/list", json!({})).await;
    for resource in resources["result"]["resources"].as_array().unwrap() {
        let uri = json!({"uri": resource["uri"]});
        let contents = server.ask("resources/read", uri).await;
        written.add("trace", contents.to_string());
    }
    let (stdout, stderr) = server.leave().await;
    written.add("mcp stdout", stdout);
    written.add("logs", stderr);

    for arguments in [
        vec!["memory", "--memory", &database, "list", "--json"],
        vec!["trace", "list", &path("trace"), "--json"],
    ] {
        let said = output(jev().args(&arguments)).await;
        assert_eq!(said.status.code(), Some(0), "{}", super::shown(&said));
        assert!(!said.stdout.is_empty(), "{arguments:?}");
        written.add("commands", super::shown(&said));
    }
    for run in std::fs::read_dir(folder.path().join("trace")).unwrap() {
        for more in [&[][..], &["--json"]] {
            let run = run.as_ref().unwrap().path();
            let said = output(jev().args(["trace", "show"]).arg(run).args(more)).await;
            assert_eq!(said.status.code(), Some(0), "{}", super::shown(&said));
            written.add("commands", super::shown(&said));
        }
    }
    written.add_folder("trace", &folder.path().join("trace"));
    written.add_folder("memory", &memory);
    for request in judge.heard() {
        written.add("judge", request);
    }

    // The plants were where they should be: else nothing is proved.
    let keys = judge.keys().concat();
    assert!(keys.contains(env_key), "{keys}");
    assert!(keys.contains(secret("key in a credential file")), "{keys}");
    let asked = seen.0.lock().unwrap().join("\n");
    assert!(asked.contains(secret("cookie")), "{asked}");
    assert!(asked.contains(secret("key of the chat model")), "{asked}");
    assert!(asked.contains(secret("value in an address")), "{asked}");
    for (sink, texts) in &written.0 {
        println!(
            "{sink}: {} texts, {} bytes",
            texts.len(),
            texts.concat().len()
        );
    }
    let page_text = |sink: &str| written.0[sink].concat().contains(secret("key on a page"));
    assert!(page_text("report") && page_text("mcp stdout") && page_text("judge"));
    let found = written.search();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
