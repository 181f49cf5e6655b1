//! `jev mcp` as a program: driven by the official Python client over stdio and HTTP against a real
//! Chromium, and by hand for what it writes and what it refuses.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

#[path = "mcp/crowd.rs"]
mod crowd;
#[path = "mcp/judge.rs"]
mod judge;
#[path = "mcp/logs.rs"]
mod logs;
#[path = "mcp/raw.rs"]
mod raw;
#[path = "mcp/secrets.rs"]
mod secrets;

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use jev_eval::site::Site;
use judge::JudgeServer;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

/// The whole of the client's script, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp")
}

fn jev() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jev"));
    command
        .kill_on_drop(true)
        .env_remove("JEV_CONFIG")
        .env_remove("JEV_MCP_TOKEN");
    command
}

async fn output(command: &mut Command) -> Output {
    let running = command.stdin(Stdio::null()).output();
    tokio::time::timeout(PATIENCE, running)
        .await
        .expect("bounded")
        .unwrap()
}

fn shown(output: &Output) -> String {
    format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// A Python with the client's package, made once and kept under the target folder. The first that
/// asks makes it, other tests and other test processes wait for it at the lock.
async fn python() -> PathBuf {
    tokio::task::spawn_blocking(made_python).await.unwrap()
}

fn made_python() -> PathBuf {
    let requirements = here().join("requirements.txt");
    let wanted = std::fs::read_to_string(&requirements).unwrap();
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = kept.join("mcp-client");
    let (python, ready) = (folder.join("bin/python"), folder.join("ready.txt"));
    std::fs::create_dir_all(kept).unwrap();
    let lock = std::fs::File::create(kept.join("mcp-client.lock")).unwrap();
    lock.lock().unwrap();
    if python.is_file() && std::fs::read_to_string(&ready).is_ok_and(|text| text == wanted) {
        return python;
    }
    let made = std::process::Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(&folder)
        .output()
        .expect("python3 is missing; install it (Debian: apt-get install -y python3 python3-venv)");
    assert!(
        made.status.success(),
        "no virtual environment could be made (Debian: apt-get install -y python3-venv): {}",
        shown(&made)
    );
    let installed = std::process::Command::new(&python)
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
        ])
        .arg(&requirements)
        .output()
        .unwrap();
    assert!(
        installed.status.success(),
        "the client's package could not be installed; pip needs its registry: {}",
        shown(&installed)
    );
    std::fs::write(ready, wanted).unwrap();
    python
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_not_ours_is_served_over_stdio_and_http() {
    let python = python().await;
    let site = Site::serve(&repository().join("fixtures/help-centre"))
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let said = output(
        Command::new(python)
            .arg(here().join("client.py"))
            .args([env!("CARGO_BIN_EXE_jev"), site.base().as_str()])
            .arg(folder.path())
            .env_remove("JEV_CONFIG")
            .kill_on_drop(true),
    )
    .await;
    let text = shown(&said);
    // Shown with --nocapture: what was driven, and how long it took.
    println!("{text}");
    assert!(said.status.success(), "{text}");
    assert_eq!(text.matches("ok  ").count(), 33, "{text}");
}

/// Whatever a spelling of the typed text would leave behind.
fn leaks(text: &str) -> bool {
    let text = text.to_lowercase();
    [
        "nk 9000",
        "nk+9000",
        "nk%209000",
        "\u{fc}ber",
        "%c3%9cber",
        "%c3%bcber",
    ]
    .iter()
    .any(|piece| text.contains(piece))
}

/// Every file under a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_shares_a_tab_with_the_judge_and_keeps_what_it_types() {
    let python = python().await;
    let site = Site::serve(&repository().join("fixtures/panel-app"))
        .await
        .unwrap();
    let judge = JudgeServer::start(&[
        ("Open the search panel", "Find a kettle"),
        ("How large is it?", "Data sheet of"),
    ])
    .await;
    let folder = tempfile::tempdir().unwrap();
    let said = output(
        Command::new(python)
            .arg(here().join("session.py"))
            .args([env!("CARGO_BIN_EXE_jev"), site.base().as_str()])
            .arg(folder.path())
            .arg(&judge.url)
            .env_remove("JEV_CONFIG")
            .env("JEV_LOG", "trace")
            .kill_on_drop(true),
    )
    .await;
    let text = shown(&said);
    println!("{text}");
    assert!(said.status.success(), "{text}");
    assert_eq!(text.matches("ok  ").count(), 15, "{text}");

    // The site heard it, for the agent sent it there. Nobody else did, and no file holds it.
    let sent = |hit: &jev_eval::site::Hit| hit.target.contains("model=NK+9000");
    assert_eq!(site.hits().iter().filter(|hit| sent(hit)).count(), 4);
    let heard = judge.heard();
    assert!(heard.len() >= 8, "{}", heard.len());
    for request in &heard {
        assert!(!leaks(request), "{request}");
    }
    assert!(heard.concat().contains("[typed]"), "{heard:?}");
    let files = files(folder.path());
    assert!(files.len() >= 10, "{files:?}");
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        let at = text.lines().find(|line| leaks(line));
        assert_eq!(at, None, "{}", file.display());
    }
}

fn write_config(folder: &Path, text: &str) -> PathBuf {
    let file = folder.join("jev.toml");
    std::fs::write(&file, text).unwrap();
    file
}

const SOURCE: &str = "[[source]]\nname = 'a'\nstart = 'http://127.0.0.1:9/'\n";

#[tokio::test]
async fn it_writes_the_protocol_alone() {
    let folder = tempfile::tempdir().unwrap();
    let config = write_config(folder.path(), SOURCE);
    let mut server = jev()
        .args(["mcp", "--config"])
        .arg(&config)
        .env("JEV_LOG", "debug")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"}
    }});
    let conversation = async {
        input
            .write_all(format!("{hello}\nnonsense\n").as_bytes())
            .await
            .unwrap();
        let mut messages = vec![lines.next_line().await.unwrap().unwrap()];
        drop(input);
        while let Some(line) = lines.next_line().await.unwrap() {
            messages.push(line);
        }
        (messages, server.wait().await.unwrap())
    };
    let (messages, ended) = tokio::time::timeout(PATIENCE, conversation)
        .await
        .expect("bounded");
    for message in &messages {
        let message: Value = serde_json::from_str(message).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
    }
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert_eq!(ended.code(), Some(0));
}

#[tokio::test]
async fn what_can_not_be_served_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let good = write_config(folder.path(), SOURCE);
    let good = good.to_str().unwrap();
    let empty = folder.path().join("empty.toml");
    std::fs::write(&empty, "").unwrap();
    let bad = folder.path().join("bad.toml");
    std::fs::write(&bad, "[judge]\napi_key = 'sk-planted'\n").unwrap();
    let short = folder.path().join("token");
    std::fs::write(&short, "planted").unwrap();
    let path = |file: &Path| file.to_str().unwrap().to_owned();
    for (arguments, says) in [
        (
            vec!["--config".to_owned(), "/absent/jev.toml".to_owned()],
            "jev init",
        ),
        (vec!["--config".to_owned(), path(&empty)], "[[source]]"),
        (vec!["--config".to_owned(), path(&bad)], "judge.api_key"),
        (
            ["--config", good, "--http", "0.0.0.0:0"]
                .map(str::to_owned)
                .to_vec(),
            "--allow-remote",
        ),
        (
            ["--config", good, "--http", "0.0.0.0:0", "--allow-remote"]
                .map(str::to_owned)
                .to_vec(),
            "JEV_MCP_TOKEN",
        ),
        (
            vec![
                "--config".to_owned(),
                good.to_owned(),
                "--http".to_owned(),
                "127.0.0.1:0".to_owned(),
                "--token-file".to_owned(),
                path(&short),
            ],
            "at least 24",
        ),
    ] {
        let said = output(jev().arg("mcp").args(&arguments)).await;
        let text = shown(&said);
        assert_eq!(said.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(says), "{arguments:?}: {text}");
        assert!(!text.contains("planted"), "{arguments:?}: {text}");
        assert_eq!(text.trim().lines().count(), 1, "{arguments:?}: {text}");
    }
}
