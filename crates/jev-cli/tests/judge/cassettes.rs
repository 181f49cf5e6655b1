//! Runs in a real Chromium that are written down and played again, plainly and in several orders.

use jev_eval::site::Site;
use serde_json::Value;

use super::{Said, help_centre, jev, said};

const GOAL: &str = "How long is the warranty?";

async fn read(start: &str, goal: &str, judge: &str, more: &[&str]) -> Said {
    let mut command = jev(&["read", "--start", start, "--goal", goal]);
    command
        .args(["--expect", r"\d+ months", "--judge", judge])
        .args(["--json", "--budget", "60s"])
        .args(more);
    if judge.ends_with("embedded") {
        match std::env::var_os("JEV_MODEL_DIR") {
            Some(folder) => command.env("JEV_MODEL_DIR", folder),
            None => command.env_remove("JEV_MODEL_DIR"),
        };
    }
    tokio::task::spawn_blocking(move || said(&mut command))
        .await
        .unwrap()
}

fn told(output: &Value) -> Vec<Value> {
    ["status", "url", "steps", "actions", "visibleText"]
        .iter()
        .map(|field| output[field].clone())
        .collect()
}

async fn recorded_and_replayed(judge: &str, orders: &[&str], calls: usize) {
    let site = Site::serve(&help_centre()).await.unwrap();
    let start = site.url("index.html").unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cassette.jsonl");
    let record = format!("record:{}={judge}", file.display());
    let live = read(&start, GOAL, &record, orders).await;
    let first = live.json();
    assert_eq!(
        (live.code, first["status"].as_str()),
        (Some(0), Some("VERIFIED")),
        "{first}"
    );
    assert_eq!(first["judge"]["name"], judge);
    let lines = std::fs::read_to_string(&file).unwrap().lines().count();
    assert_eq!(lines, 1 + calls, "the header and the exchanges");

    let replay = format!("replay:{}", file.display());
    let again = read(&start, GOAL, &replay, orders).await;
    let second = again.json();
    assert_eq!(again.code, Some(0), "{second}");
    assert_eq!(second["judge"]["name"], format!("replay:{judge}"));
    assert_eq!(told(&first), told(&second));

    // Another goal was never recorded: the judge's error, and nothing is clicked.
    let other = read(&start, "Where are the shops?", &replay, orders).await;
    let missed = other.json();
    assert_eq!(
        (other.code, missed["status"].as_str(), &missed["actions"]),
        (Some(5), Some("JUDGE_ERROR"), &0.into()),
        "{missed}"
    );
    let cause = missed["cause"].as_str().unwrap();
    assert!(cause.contains("first difference: .goal"), "{cause}");
    site.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lexical_judge_is_recorded_and_replayed() {
    recorded_and_replayed("lexical", &[], 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_are_recorded_and_replayed() {
    recorded_and_replayed("lexical", &["--permute", "2"], 2).await;
}

#[cfg(feature = "embedded")]
#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_judge_is_recorded_and_replayed() {
    recorded_and_replayed("embedded", &[], 1).await;
}
