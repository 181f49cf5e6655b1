//! `jev read` on a real Chromium: what it prints, how it exits, and what it leaves behind.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, also in its helpers"
)]

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::StatusCode;
use axum::response::Html;
use axum::routing::get;
use jev_eval::site::Site;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What one run of the command said.
struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Said {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }
}

fn command(start: &str, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jev"));
    command
        .args([
            "read",
            "--start",
            start,
            "--goal",
            "How long is the warranty?",
        ])
        .args(more)
        .kill_on_drop(true);
    command
}

async fn read(start: &str, more: &[&str]) -> Said {
    let output = tokio::time::timeout(Duration::from_secs(60), command(start, more).output())
        .await
        .expect("a run is bounded")
        .unwrap();
    Said {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

async fn help_centre() -> (Site, String, String) {
    let folder = repository().join("fixtures/help-centre");
    let site = Site::serve(&folder).await.unwrap();
    let start = site.url("index.html").unwrap().to_string();
    let judge = format!("scripted:{}", folder.join("script.jsonl").display());
    (site, start, judge)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_warranty_is_verified_with_one_action() {
    let (site, start, judge) = help_centre().await;
    let report = tempfile::NamedTempFile::new().unwrap();
    let path = report.path().display().to_string();
    let said = read(
        &start,
        &[
            "--expect",
            r"\d+ months",
            "--judge",
            &judge,
            "--json",
            "--report",
            &path,
            "--budget",
            "30s",
        ],
    )
    .await;
    let output = said.json();
    assert_eq!(
        (said.code, output["status"].as_str()),
        (Some(0), Some("VERIFIED")),
        "{output}"
    );
    assert_eq!(
        (&output["actions"], &output["steps"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        (&output["judge"]["name"], &output["judge"]["calls"]),
        (&"scripted".into(), &1.into())
    );
    assert_eq!(output["handoff"], "none");
    let quote = output["evidence"][0]["quote"].as_str().unwrap();
    assert!(
        output["evidence"][0]["context"]
            .as_str()
            .unwrap()
            .contains(quote)
    );
    assert!(output["visibleText"].as_str().unwrap().contains(quote));
    for phase in ["open", "observe", "judge", "act", "verify", "close"] {
        assert!(output["timings"][phase].is_u64(), "{phase}");
    }
    let written: Value = serde_json::from_slice(&std::fs::read(report.path()).unwrap()).unwrap();
    assert_eq!(written["report"]["status"], "VERIFIED");
    assert_eq!(
        written["report"]["steps"][0]["receipt"]["receipt"],
        "APPLIED"
    );
    assert_eq!(written["report"]["close"]["network"]["breaches"], 0);
    site.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shadow_tells_the_agent_what_off_tells_it() {
    let (site, start, judge) = help_centre().await;
    let mut outputs = Vec::new();
    for (mode, judge, calls) in [
        ("off", judge.as_str(), 0),
        ("shadow", judge.as_str(), 1),
        ("shadow", "lexical", 1),
    ] {
        let said = read(
            &start,
            &[
                "--judge", judge, "--mode", mode, "--json", "--budget", "30s",
            ],
        )
        .await;
        let output = said.json();
        assert_eq!(
            (said.code, output["status"].as_str()),
            (Some(10), Some("OBSERVED")),
            "{output}"
        );
        assert_eq!(output["actions"], 0);
        assert_eq!(output["judge"]["calls"], calls, "{mode}");
        let told: Vec<Value> = ["status", "url", "version", "visibleText", "evidence"]
            .iter()
            .map(|field| output[field].clone())
            .collect();
        outputs.push(told);
    }
    assert_eq!(outputs[0], outputs[1]);
    assert_eq!(outputs[0], outputs[2]);
    site.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_story_is_for_people() {
    let (site, start, judge) = help_centre().await;
    let said = read(
        &start,
        &[
            "--expect",
            r"\d+ months",
            "--judge",
            &judge,
            "--budget",
            "30s",
        ],
    )
    .await;
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    for part in [
        "only the start page's folder",
        "judge    scripted",
        "click",
        "APPLIED",
        "\nVERIFIED  ",
        "\nevidence ",
    ] {
        assert!(said.stdout.contains(part), "{part}\n{}", said.stdout);
    }
    assert!(!said.stdout.contains('\u{1b}'));
    site.stop().await;
}

/// Pages that go wrong in one way each.
async fn troubled() -> SocketAddr {
    const PAGE: &str = "<title>t</title><p>The warranty lasts 24 months.</p>";
    let page = |head: &'static str| move || async move { Html(format!("{head}{PAGE}")) };
    let router = Router::new()
        .route(
            "/missing",
            get(|| async { (StatusCode::NOT_FOUND, Html(PAGE)) }),
        )
        .route(
            "/broken",
            get(|| async { (StatusCode::INTERNAL_SERVER_ERROR, Html(PAGE)) }),
        )
        .route("/loop", get(page("<script>for(;;){}</script>")))
        .route(
            "/late-loop",
            get(page(
                "<script>addEventListener('load',()=>{for(;;){}})</script>",
            )),
        )
        .route("/alert", get(page("<script>alert('hello')</script>")))
        .route(
            "/late-alert",
            get(page(
                "<script>addEventListener('load',()=>{alert(1);confirm(2);prompt(3)})</script>",
            )),
        );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn trouble_ends_typed_and_in_bounded_time() {
    let address = troubled().await;
    let dead = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    for (start, code, status) in [
        (format!("http://{dead}/"), 6, "SESSION_ERROR"),
        (format!("http://{address}/missing"), 6, "SESSION_ERROR"),
        (format!("http://{address}/broken"), 6, "SESSION_ERROR"),
        (format!("http://{address}/loop"), 6, "SESSION_ERROR"),
        (format!("http://{address}/late-loop"), 6, "SESSION_ERROR"),
        (format!("http://{address}/alert"), 0, "VERIFIED"),
        (format!("http://{address}/late-alert"), 0, "VERIFIED"),
    ] {
        let said = read(
            &start,
            &[
                "--judge",
                "lexical",
                "--expect",
                "24 months",
                "--json",
                "--budget",
                "20s",
            ],
        )
        .await;
        let output = said.json();
        assert_eq!(
            (said.code, output["status"].as_str()),
            (Some(code), Some(status)),
            "{start}: {output}"
        );
    }
}

/// The processes below one, by walking the process table.
fn descendants(root: u32) -> BTreeSet<u32> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // The command's name stands in parentheses and may hold anything.
        let parent = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1))
            .and_then(|parent| parent.parse::<u32>().ok());
        parents.extend(parent.map(|parent| (pid, parent)));
    }
    let mut found = BTreeSet::new();
    let mut todo = vec![root];
    while let Some(parent) = todo.pop() {
        for &(pid, _) in parents.iter().filter(|(_, of)| *of == parent) {
            if found.insert(pid) {
                todo.push(pid);
            }
        }
    }
    found
}

fn alive(pid: u32) -> bool {
    // A zombie waits to be reaped by whoever adopted it and runs nothing.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        stat.rsplit_once(')')
            .is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
    })
}

/// How many processes were started with this folder, or one inside it, for temporary files: ours by
/// their inheritance, browsers because their profile lies there.
fn inheritors(temp: &Path) -> usize {
    let wanted = format!("TMPDIR={}", temp.display());
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("environ")).ok())
        .filter(|environ| {
            environ
                .split(|byte| *byte == 0)
                .any(|pair| pair.starts_with(wanted.as_bytes()))
        })
        .count()
}

/// Waits for an event of the system that can only be polled.
async fn within(bound: Duration, what: &str, mut happened: impl FnMut() -> bool) {
    let end = Instant::now() + bound;
    while !happened() {
        assert!(Instant::now() < end, "not within {bound:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn slow_judge() -> tempfile::NamedTempFile {
    use std::io::Write;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, r#"{{"delay_ms":60000,"operation":"WAIT","p":0.99}}"#).unwrap();
    file
}

/// Returns when the run listens for signals: the first page has been read.
async fn until_it_listens(child: &mut Child) {
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    let listens = async {
        while !said.contains("  page  ") {
            let read = lines.read_line(&mut said).await.unwrap();
            assert!(read > 0, "{said}");
        }
    };
    tokio::time::timeout(Duration::from_secs(60), listens)
        .await
        .expect("the first page is read in bounded time");
}

async fn send(signal: &str, pid: u32) {
    let mut kill = Command::new("kill");
    let sent = kill.args([signal, &pid.to_string()]).status().await;
    assert!(sent.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_went_away_changes_neither_the_end_nor_the_exit_code() {
    let (site, start, judge) = help_centre().await;
    // A run that is cancelled, with nobody left to be told so.
    let script = slow_judge();
    let slow = format!("scripted:{}", script.path().display());
    let mut child = command(&start, &["--judge", &slow, "--budget", "60s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    let pid = child.id().unwrap();
    until_it_listens(&mut child).await;
    let browser = descendants(pid);
    assert!(browser.len() > 3, "{browser:?}");
    send("-TERM", pid).await;
    let status = tokio::time::timeout(Duration::from_secs(20), child.wait())
        .await
        .expect("a cancelled run ends")
        .unwrap();
    assert_eq!(status.code(), Some(130));
    within(Duration::from_secs(2), "the browser is gone", || {
        !browser.iter().any(|&pid| alive(pid))
    })
    .await;

    // A run that ends by itself has something to say before it begins and after it has ended.
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().display().to_string();
    let more = [
        "--judge",
        &judge,
        "--expect",
        r"\d+ months",
        "--budget",
        "30s",
        "--trace",
        &traces,
    ];
    for output in [&["--json"][..], &[]] {
        let mut child = command(&start, &[&more[..], output].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        let status = tokio::time::timeout(Duration::from_secs(60), child.wait())
            .await
            .expect("a run is bounded")
            .unwrap();
        assert_eq!(status.code(), Some(0), "{output:?}");
    }
    site.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_run_leaves_no_browser() {
    let (site, start, _) = help_centre().await;
    let script = slow_judge();
    let judge = format!("scripted:{}", script.path().display());
    for signal in [Signal::Kill, Signal::Interrupt] {
        let mut child = command(&start, &["--judge", &judge, "--budget", "60s"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id().unwrap();
        within(Duration::from_secs(20), "the browser starts", || {
            descendants(pid).len() > 3
        })
        .await;
        let browser = descendants(pid);
        match signal {
            Signal::Kill => child.start_kill().unwrap(),
            Signal::Interrupt => {
                until_it_listens(&mut child).await;
                send("-INT", pid).await;
            }
        }
        let status = tokio::time::timeout(Duration::from_secs(20), child.wait())
            .await
            .unwrap()
            .unwrap();
        let expected = match signal {
            Signal::Kill => None,
            Signal::Interrupt => Some(130),
        };
        assert_eq!(status.code(), expected, "{signal:?}");
        within(Duration::from_secs(2), "the browser is gone", || {
            !browser.iter().any(|&pid| alive(pid))
        })
        .await;
    }
    site.stop().await;
}

/// A page that never comes, and a program that is no browser: the run ends in time, with nothing of
/// its browser left, process or folder.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_still_opening_is_gone_too() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}/", listener.local_addr().unwrap());
    let scratch = tempfile::tempdir().unwrap();
    let hung = scratch.path().join("hung");
    std::fs::write(&hung, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hung, mode).unwrap();
    let hung = hung.display().to_string();

    let temporary = scratch.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let left = || -> Vec<_> {
        let entries = std::fs::read_dir(&temporary).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    };
    // The page is asked for, so the browser runs; then Ctrl-C.
    let mut child = command(&silent, &["--budget", "60s"])
        .env("TMPDIR", &temporary)
        .spawn()
        .unwrap();
    let accepted = tokio::time::timeout(Duration::from_secs(30), listener.accept()).await;
    let connection = accepted.expect("the page is asked for").unwrap();
    let browser = descendants(child.id().unwrap());
    assert!(!browser.is_empty() && !left().is_empty());
    let begun = Instant::now();
    let pid = child.id().unwrap().to_string();
    let killed = Command::new("kill").args(["-INT", &pid]).status().await;
    assert!(killed.unwrap().success());
    let status = tokio::time::timeout(Duration::from_secs(20), child.wait()).await;
    assert_eq!(status.unwrap().unwrap().code(), Some(130));
    println!("ended {} ms after Ctrl-C", begun.elapsed().as_millis());
    assert!(!browser.iter().any(|&pid| alive(pid)));
    assert_eq!(left(), [""; 0]);
    drop(connection);

    // It never answers, and the budget ends.
    let mut child = command(&silent, &["--budget", "2s", "--chrome", &hung])
        .env("TMPDIR", &temporary)
        .spawn()
        .unwrap();
    let pid = child.id().unwrap();
    within(Duration::from_secs(20), "the program starts", || {
        !descendants(pid).is_empty()
    })
    .await;
    let program = descendants(pid);
    let status = tokio::time::timeout(Duration::from_secs(20), child.wait()).await;
    let code = status.unwrap().unwrap().code();
    assert!(matches!(code, Some(4 | 6)), "{code:?}");
    assert!(!program.iter().any(|&pid| alive(pid)));
    assert_eq!(left(), [""; 0]);
}

#[derive(Clone, Copy, Debug)]
enum Signal {
    Kill,
    Interrupt,
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_runs_leave_nothing_behind() {
    let (site, start, judge) = help_centre().await;
    let temp = tempfile::tempdir().unwrap();
    // A finder that finds nothing would prove nothing: it sees the browser of a run that lingers.
    let script = slow_judge();
    let slow = format!("scripted:{}", script.path().display());
    let mut lingering = command(&start, &["--judge", &slow, "--budget", "4s", "--json"])
        .env("TMPDIR", temp.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    within(Duration::from_secs(20), "a browser is seen", || {
        inheritors(temp.path()) > 2
    })
    .await;
    tokio::time::timeout(Duration::from_secs(60), lingering.wait())
        .await
        .expect("a run is bounded")
        .unwrap();
    for round in 0..50 {
        let mut run = command(
            &start,
            &[
                "--expect",
                r"\d+ months",
                "--judge",
                &judge,
                "--json",
                "--budget",
                "30s",
            ],
        );
        let run = run.env("TMPDIR", temp.path()).output();
        let output = tokio::time::timeout(Duration::from_secs(60), run)
            .await
            .expect("a run is bounded")
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "round {round}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
    let left: Vec<_> = std::fs::read_dir(temp.path())
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    assert_eq!(left, Vec::<PathBuf>::new());
    within(Duration::from_secs(2), "no process is left", || {
        inheritors(temp.path()) == 0
    })
    .await;
    site.stop().await;
}
