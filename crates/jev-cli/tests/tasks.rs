//! `jev demo`, `jev task`, `jev memory` and `jev trace`: what they print and how they exit.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use jev_eval::site::Site;
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

async fn jev(arguments: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jev"));
    command.args(arguments).kill_on_drop(true);
    // A key of the host, which must be found nowhere.
    command.env("SOME_API_KEY", "planted-hunter2-key");
    let output = tokio::time::timeout(Duration::from_secs(90), command.output())
        .await
        .expect("a command is bounded")
        .unwrap();
    Said {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[tokio::test]
async fn the_runtime_demonstration_prints_three_lines() {
    for arguments in [&["demo", "runtime"][..], &["demo", "runtime", "--browser"]] {
        let said = jev(arguments).await;
        assert_eq!(
            (said.code, said.stdout.as_str()),
            (
                Some(0),
                "happy-path: COMPLETED | steps=1 recoveries=0\n\
                 bounded-recovery: COMPLETED | steps=2 recoveries=1\n\
                 explicit-blocked: BLOCKED | steps=0 recoveries=0\n"
            ),
            "{arguments:?}: {}",
            said.stderr
        );
    }
}

#[tokio::test]
async fn the_reference_scenario_ends_with_its_counts() {
    for (arguments, judgments) in [
        (&["demo"][..], 2),
        (&["demo", "--verify-first", "on"], 1),
        (&["demo", "--browser"], 2),
        (&["demo", "--browser", "--verify-first", "on"], 1),
    ] {
        let said = jev(arguments).await;
        assert_eq!(said.code, Some(0), "{arguments:?}: {}", said.stderr);
        assert_eq!(
            said.stdout.lines().last(),
            Some(
                format!("judgments={judgments} modelCalls=2 browserActions=1 closedSessions=1")
                    .as_str()
            ),
            "{}",
            said.stdout
        );
        assert!(said.stdout.contains("24 months"), "{}", said.stdout);
        assert!(
            said.stdout
                .contains("prove the chain, not a model's accuracy"),
            "{}",
            said.stdout
        );
    }
}

#[tokio::test]
async fn bad_input_of_the_demonstration_is_named() {
    for (arguments, words) in [
        (
            &["demo", "--live-chat", "http://127.0.0.1:1"][..],
            "chat: write it like",
        ),
        (&["demo", "--live-chat", "ftp://x#m"], "chat model: "),
        (&["demo", "--live-judge", "oracle"], "judge: "),
    ] {
        let said = jev(arguments).await;
        assert_eq!(said.code, Some(2), "{arguments:?}: {}", said.stdout);
        assert!(said.stderr.contains(words), "{}", said.stderr);
    }
    // A live model that does not answer: no counts are made up, and it is no wrong use.
    let said = jev(&["demo", "--live-chat", "http://127.0.0.1:1#m"]).await;
    assert_eq!(said.code, Some(5), "{}", said.stdout);
    assert!(said.stderr.contains("was not reached"), "{}", said.stderr);
}

/// The help centre on a server, and a task file about it in a folder.
async fn task(more: &str) -> (Site, TempDir, String) {
    let site = Site::serve(&repository().join("fixtures/help-centre"))
        .await
        .unwrap();
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("task.toml");
    let text = format!(
        "version = 1\n\
         goal = \"How long is the warranty? planted-hunter2-key\"\n\
         start = \"{base}index.html\"\n\
         allow = [\"{base}*\"]\n\
         {more}\n\
         [success]\n\
         expect = ['\\d+ months from the date of purchase']\n\
         [budget]\n\
         time = \"60s\"\n",
        base = site.base(),
    );
    std::fs::write(&file, text).unwrap();
    let path = file.display().to_string();
    (site, dir, path)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_carried_out_written_down_and_remembered() {
    let (site, dir, file) = task("").await;
    let judge = format!(
        "scripted:{}",
        repository()
            .join("fixtures/help-centre/script.jsonl")
            .display()
    );
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (memory, traces) = (path("experience.db"), path("traces"));
    for round in 1..=2 {
        let said = jev(&[
            "task", "run", &file, "--judge", &judge, "--memory", &memory, "--trace", &traces,
            "--json",
        ])
        .await;
        let result: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|error| {
            panic!("{error}: {}\n{}", said.stdout, said.stderr);
        });
        assert_eq!(said.code, Some(0), "{round}: {result}");
        assert_eq!(result["state"], "COMPLETED");
        assert_eq!(
            (&result["steps"], &result["recoveries"]),
            (&1.into(), &0.into())
        );
        assert_eq!(result["close"]["outcome"], "clean");
        assert_eq!(
            (&result["judge"]["name"], &result["judge"]["model"]),
            (&"scripted".into(), &Value::Null)
        );
        assert_eq!(result["reason"], "VERIFIED");
        assert_eq!(
            (&result["cause"], &result["cost"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(result["notices"], serde_json::json!([]));
        assert!(said.stderr.contains("trace: "), "{}", said.stderr);
    }
    assert!(site.requests() >= 4);

    let said = jev(&["trace", "list", &traces, "--json"]).await;
    let listed: Vec<Value> = said
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(listed.len(), 2, "{}", said.stdout);
    assert_eq!(listed[0]["result"], "COMPLETED");
    assert_eq!(listed[0]["goal"], "How long is the warranty? [key]");
    let run = dir
        .path()
        .join("traces")
        .join(listed[0]["id"].as_str().unwrap());
    let said = jev(&["trace", "show", &run.display().to_string()]).await;
    assert_eq!(said.code, Some(0));
    for words in [
        "plan ",
        "observe ",
        "intent ",
        "APPLIED: navigated",
        "COMPLETED",
    ] {
        assert!(said.stdout.contains(words), "{words}: {}", said.stdout);
    }

    let memory_command = |more: &'static [&'static str]| {
        let mut arguments = vec!["memory", "--memory", memory.as_str()];
        arguments.extend(more);
        arguments.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let run = |arguments: Vec<String>| async move {
        jev(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).await
    };
    let said = run(memory_command(&["list", "--json"])).await;
    let known: Value = serde_json::from_str(said.stdout.trim()).unwrap();
    assert_eq!(
        (&known["successes"], &known["state"]),
        (&2.into(), &"candidate".into())
    );
    assert_eq!(known["steps"][0]["path"], "/policies/warranty.html");
    let said = run(memory_command(&["promote", "1"])).await;
    assert!(
        said.stdout.contains("promoted"),
        "{}{}",
        said.stdout,
        said.stderr
    );
    let said = run(memory_command(&["retire", "1"])).await;
    assert!(said.stdout.contains("retired"), "{}", said.stdout);
    let said = run(memory_command(&["show", "7"])).await;
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("no experience 7"), "{}", said.stderr);
    assert_eq!(run(memory_command(&["purge"])).await.code, Some(2));
    let said = run(memory_command(&["purge", "--all"])).await;
    assert_eq!(said.stdout, "1 deleted\n");

    // The planted key is found in nothing that was written.
    let mut files = vec![dir.path().to_owned()];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(
                std::fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else if !path.ends_with("task.toml") {
            let bytes = std::fs::read(&path).unwrap();
            let planted = b"planted-hunter2-key";
            let found = bytes.windows(planted.len()).any(|window| window == planted);
            assert!(!found, "{}", path.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_memory_is_kept_and_the_task_goes_on() {
    let (_site, dir, file) = task("").await;
    let judge = format!(
        "scripted:{}",
        repository()
            .join("fixtures/help-centre/script.jsonl")
            .display()
    );
    let memory = dir.path().join("experience.db");
    let broken = "not a database ".repeat(1_000);
    std::fs::write(&memory, &broken).unwrap();
    let memory = memory.display().to_string();
    let said = jev(&["task", "run", &file, "--judge", &judge, "--memory", &memory]).await;
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert!(
        said.stdout.contains("COMPLETED | steps=1 recoveries=0"),
        "{}",
        said.stdout
    );
    assert!(said.stderr.contains("it was kept as"), "{}", said.stderr);
    let kept = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.display().to_string().contains(".corrupt-"))
        .unwrap();
    assert_eq!(std::fs::read_to_string(kept).unwrap(), broken);
}

#[tokio::test]
async fn task_files_are_checked_without_opening_anything() {
    let (site, _dir, file) = task("").await;
    let said = jev(&["task", "check", &file]).await;
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(
        said.stdout.contains("success  \\d+ months"),
        "{}",
        said.stdout
    );
    for (more, words) in [
        ("color = 1", "unknown field `color`"),
        (
            "plan = [{objective = \"x\", expect = [\"y\"], allow = [\"http://other\"]}]",
            "may not widen",
        ),
        (
            "actions = {allow = [\"Buy\"], reserve = [\"Buy\"]}",
            "`Buy` is allowed and also",
        ),
        (
            "gate = {kind = \"share\", threshold = 0.3}",
            "threshold: 0.3",
        ),
    ] {
        let (_site, _dir, file) = task(more).await;
        for command in ["check", "run"] {
            let said = jev(&["task", command, &file]).await;
            assert_eq!(said.code, Some(2), "{more}: {}", said.stdout);
            assert!(said.stderr.contains(words), "{more}: {}", said.stderr);
        }
    }
    assert_eq!(site.requests(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documents_first_example_is_completed() {
    let site = Site::serve(&repository().join("fixtures/help-centre"))
        .await
        .unwrap();
    let document = std::fs::read_to_string(repository().join("docs/tasks.md")).unwrap();
    let example = document.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let text = example.replace("http://127.0.0.1:8000/", site.base().as_str());
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("task.toml");
    std::fs::write(&file, format!("{text}\n[budget]\ntime = \"60s\"\n")).unwrap();
    let script = repository().join("fixtures/help-centre/script.jsonl");
    let (file, judge) = (
        file.display().to_string(),
        format!("scripted:{}", script.display()),
    );
    let said = jev(&["task", "run", &file, "--judge", &judge, "--no-memory"]).await;
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert!(
        said.stdout.contains("COMPLETED | steps=1"),
        "{}",
        said.stdout
    );
}

#[tokio::test]
async fn a_task_that_is_blocked_says_why_in_json_too() {
    let (_site, _dir, file) = task("").await;
    let arguments = ["task", "run", &file, "--no-memory", "--json"];
    let said = jev(&[&arguments[..], &["--judge", "chat:http://127.0.0.1:1#m"]].concat()).await;
    assert_eq!(said.code, Some(5), "{}{}", said.stdout, said.stderr);
    let result: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(result["reason"], "JUDGE_ERROR");
    assert!(
        result["cause"]
            .as_str()
            .unwrap()
            .contains("was not reached"),
        "{result}"
    );
    assert_eq!(result["judge"]["model"], "m");
}

#[tokio::test]
async fn a_trace_that_can_not_be_written_stops_the_command_before_it_begins() {
    let (site, _dir, file) = task("").await;
    let said = jev(&["task", "run", &file, "--trace", &format!("{file}/x")]).await;
    assert_eq!(said.code, Some(2), "{}", said.stdout);
    assert!(said.stderr.contains("trace: "), "{}", said.stderr);
    assert_eq!(site.requests(), 0);
    let said = jev(&["task", "run", &file, "--trace-pictures"]).await;
    assert_eq!(said.code, Some(2), "{}", said.stdout);
    assert!(said.stderr.contains("--trace DIR"), "{}", said.stderr);
    let said = jev(&["trace", "show", &file]).await;
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("is not an event"), "{}", said.stderr);
    let said = jev(&["trace", "list", "there/is/none"]).await;
    assert_eq!(said.code, Some(2));
}
