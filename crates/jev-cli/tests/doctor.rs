//! `jev doctor` and `jev init`: what they find, what they write, how they exit.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use jev_eval::site::Site;
use serde_json::Value;

fn jev(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_jev"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("JEV_CONFIG")
        .env_remove("TYPESAFE_API_KEY")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// The outcome of each check by name.
fn outcomes(output: &Output) -> Vec<(String, String)> {
    let findings: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(output)));
    findings["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| {
            let word = |key: &str| check[key].as_str().unwrap().to_owned();
            (word("name"), word("outcome"))
        })
        .collect()
}

fn outcome<'a>(outcomes: &'a [(String, String)], name: &str) -> &'a str {
    outcomes
        .iter()
        .find(|(known, _)| known == name)
        .map_or("not checked", |(_, outcome)| outcome)
}

#[test]
fn everything_is_looked_at_and_nothing_secret_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let write = |text: &str| std::fs::write(folder.path().join("jev.toml"), text).unwrap();
    let source = "[[source]]\nname = 'a'\nstart = 'http://127.0.0.1:9/a'\n";

    let bare = jev(folder.path(), &["doctor", "--json"]);
    assert_eq!(bare.status.code(), Some(0), "{}", text(&bare));
    let found = outcomes(&bare);
    for (name, expected) in [
        ("configuration", "warning"),
        ("browser", "ok"),
        ("judge", "ok"),
        ("key", "ok"),
    ] {
        assert_eq!(outcome(&found, name), expected, "{name}: {}", text(&bare));
    }
    let root = outcome(&found, "sandbox") == "warning";
    assert_eq!(text(&bare).contains("SANDBOX IS OFF"), root);

    // A key that is there, at a judge that is not.
    let key = "sk-planted-0123456789abcdef";
    std::fs::write(
        folder.path().join(".env"),
        format!("JEV_JUDGE_API_KEY={key}\n"),
    )
    .unwrap();
    write(&format!(
        "[judge]\nprovider = 'systemone'\nurl = 'http://127.0.0.1:9'\nenv_file = '.env'\n{source}"
    ));
    let unreachable = jev(folder.path(), &["doctor", "--json"]);
    assert_eq!(unreachable.status.code(), Some(5), "{}", text(&unreachable));
    let found = outcomes(&unreachable);
    assert_eq!(outcome(&found, "key"), "ok", "{}", text(&unreachable));
    assert_eq!(outcome(&found, "judge"), "failed");
    assert_eq!(outcome(&found, "source a"), "warning");
    assert!(
        !text(&unreachable).contains("planted"),
        "{}",
        text(&unreachable)
    );
    let lines = jev(folder.path(), &["doctor"]);
    assert!(
        text(&lines).contains("JEV_JUDGE_API_KEY in"),
        "{}",
        text(&lines)
    );
    assert!(!text(&lines).contains("planted"), "{}", text(&lines));

    // No key where one must be.
    write("[judge]\nprovider = 'typesafe'\n");
    let keyless = jev(folder.path(), &["doctor", "--json"]);
    assert_eq!(keyless.status.code(), Some(5), "{}", text(&keyless));
    let found = outcomes(&keyless);
    assert_eq!(outcome(&found, "key"), "failed");
    assert_eq!(outcome(&found, "judge"), "not checked");

    // No browser, and a configuration with a fault: the first fault decides, all are shown.
    write("[read]\nmode = 'enforce'\n");
    let broken = jev(
        folder.path(),
        &["doctor", "--json", "--chrome", "/absent/chrome"],
    );
    assert_eq!(broken.status.code(), Some(2), "{}", text(&broken));
    let found = outcomes(&broken);
    assert_eq!(outcome(&found, "configuration"), "failed");
    assert_eq!(outcome(&found, "browser"), "failed");
    assert!(
        text(&broken).contains("read.threshold"),
        "{}",
        text(&broken)
    );
    write("");
    let browserless = jev(folder.path(), &["doctor", "--chrome", "/absent/chrome"]);
    assert_eq!(browserless.status.code(), Some(6), "{}", text(&browserless));
    let absent = jev(folder.path(), &["doctor", "--config", "absent.toml"]);
    assert_eq!(absent.status.code(), Some(2), "{}", text(&absent));
}

#[tokio::test(flavor = "multi_thread")]
async fn init_writes_tries_and_never_overwrites() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/help-centre");
    let site = Site::serve(&pages).await.unwrap();
    let start = site.url("index.html").unwrap().to_string();
    tokio::task::spawn_blocking(move || {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["init", "--start", &start, "--expect", r"\d+ months"];
        let first = jev(folder.path(), &arguments);
        let said = text(&first);
        assert_eq!(first.status.code(), Some(0), "{said}");
        assert!(said.contains(&format!("{start} was read: ")), "{said}");
        let written = std::fs::read_to_string(folder.path().join("jev.toml")).unwrap();
        assert!(written.contains("# "), "not commented: {written}");

        std::fs::write(folder.path().join("jev.toml"), "mine").unwrap();
        let second = jev(folder.path(), &arguments);
        assert_eq!(second.status.code(), Some(2), "{}", text(&second));
        let kept = std::fs::read_to_string(folder.path().join("jev.toml")).unwrap();
        assert_eq!(kept, "mine");

        let bad = jev(
            folder.path(),
            &["init", "--file", "x.toml", "--start", "ftp://h/"],
        );
        assert_eq!(bad.status.code(), Some(2), "{}", text(&bad));
        assert!(!folder.path().join("x.toml").exists());
        let bad = [
            "init", "--file", "x.toml", "--start", &start, "--expect", "(",
        ];
        let bad = jev(folder.path(), &bad);
        assert_eq!(bad.status.code(), Some(2), "{}", text(&bad));
        assert!(!folder.path().join("x.toml").exists());
    })
    .await
    .unwrap();
}

#[test]
fn init_does_not_call_in_order_what_could_not_be_read() {
    let dead = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let start = format!("http://{dead}/");
    let said = jev(folder.path(), &["init", "--start", &start]);
    assert_eq!(said.status.code(), Some(6), "{}", text(&said));
    let says = format!("tried    {start} was not read: ");
    assert!(text(&said).contains(&says), "{}", text(&said));
    assert!(folder.path().join("jev.toml").exists());
}
