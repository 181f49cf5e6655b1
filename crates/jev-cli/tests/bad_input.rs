//! Bad input: one clear line on stderr, exit code 2, and no browser. The named browser does not
//! exist, so a run that got past its checks would end with exit code 6 instead.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::process::Command;

const GOOD: [(&str, &str); 4] = [
    ("--start", "http://127.0.0.1:9/docs/index.html"),
    ("--goal", "How long is the warranty?"),
    ("--judge", "lexical"),
    ("--chrome", "no/such/browser"),
];

/// Runs `jev read` with the good arguments, some of them replaced or added to.
fn read(changes: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jev"));
    command.arg("read");
    for (name, value) in GOOD {
        if !changes.iter().any(|(changed, _)| *changed == name) {
            command.args([name, value]);
        }
    }
    for (name, value) in changes {
        command.args([name, value]);
    }
    let output = command.output().unwrap();
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[test]
fn every_bad_value_is_named_in_one_line_and_no_browser_is_started() {
    let long_goal = "x".repeat(8_001);
    let cases: &[(&[(&str, &str)], &str)] = &[
        (
            &[("--allow", "http://127.0.0.1:9/elsewhere/*")],
            "start: http://127.0.0.1:9/docs/index.html is not inside the allow-list",
        ),
        (
            &[("--start", "http://ada:secret@127.0.0.1:9/docs/")],
            "start: a URL must not carry credentials",
        ),
        (
            &[("--start", "ftp://127.0.0.1/docs/")],
            "start: `ftp:` is not read",
        ),
        (
            &[("--start", "file:///etc/passwd")],
            "start: `file:` is not read",
        ),
        (
            &[("--start", "not a url")],
            "start: `not a url` is not an absolute URL",
        ),
        (
            &[("--allow", "http://*.example/")],
            "allow: `*` may stand only at the end",
        ),
        (&[("--goal", " \t ")], "goal: blank"),
        (&[("--goal", &long_goal)], "goal: 8001 characters"),
        (
            &[("--threshold", "0.3")],
            "threshold: 0.3 is outside 0.55..=1",
        ),
        (
            &[("--threshold", "NaN")],
            "threshold: NaN is outside 0.55..=1",
        ),
        (
            &[("--threshold", "high")],
            "threshold: `high` is not a number",
        ),
        (&[("--budget", "0")], "budget: 0 ms is outside"),
        (&[("--budget", "0s")], "budget: 0 ms is outside"),
        (&[("--budget", "11min")], "budget: 660000 ms is outside"),
        (&[("--budget", "soon")], "budget: `soon` is not a duration"),
        (&[("--max-steps", "0")], "limits.steps: 0 is outside 1..=64"),
        (&[("--max-steps", "-1")], "max-steps: `-1` is not a number"),
        (&[("--max-stale", "9")], "limits.stale: 9 is outside 0..=8"),
        (
            &[("--max-no-progress", "0")],
            "limits.no_progress: 0 is outside 1..=8",
        ),
        (
            &[("--max-candidates", "0")],
            "limits.candidates: 0 is outside",
        ),
        (
            &[("--max-state-chars", "99")],
            "limits.state_chars: 99 is outside 100..=100000",
        ),
        (
            &[("--max-state-chars", "5000000000")],
            "max-state-chars: 5000000000 is outside",
        ),
        (
            &[("--expect", "(")],
            "expect: `(` is not a regular expression",
        ),
        (
            &[("--expect-url", "policy")],
            "expect-url: `policy` is not an absolute URL",
        ),
        (
            &[("--connect", "ws://192.168.0.1:9222/devtools/browser/x")],
            "connect: only a browser of this machine is attached to: http://127.0.0.1:PORT",
        ),
        (
            &[("--connect", "http://127.0.0.1:9222")],
            "connect: a browser to start and one to attach to",
        ),
        (&[("--judge", "oracle")], "judge: "),
        (&[("--judge", "scripted:no/such/script.jsonl")], "judge: "),
        (
            &[("--report", "no/such/folder/report.json")],
            "report: no/such/folder/report.json",
        ),
    ];
    for (changes, expected) in cases {
        let (code, stdout, stderr) = read(changes);
        let said: Vec<&str> = stderr.lines().collect();
        assert_eq!(
            (code, stdout.as_str(), said.len()),
            (Some(2), "", 1),
            "{changes:?}: {stderr}"
        );
        assert!(
            stderr.starts_with(&format!("jev: {expected}")),
            "{changes:?}: {stderr}"
        );
        assert!(!stderr.contains("secret"), "{stderr}");
    }
}

#[test]
fn a_report_stays_until_another_takes_its_place() {
    let report = tempfile::NamedTempFile::new().unwrap();
    let old = "an earlier report ".repeat(10_000);
    std::fs::write(report.path(), &old).unwrap();
    let path = report.path().to_str().unwrap();
    let (code, ..) = read(&[
        ("--report", path),
        ("--judge", "scripted:no/such/script.jsonl"),
    ]);
    assert_eq!(code, Some(2));
    assert_eq!(std::fs::read_to_string(path).unwrap(), old);

    // A run without a browser ends at once, and has a report.
    let (code, ..) = read(&[("--report", path)]);
    assert_eq!(code, Some(6));
    let written = std::fs::read(path).unwrap();
    let written: serde_json::Value = serde_json::from_slice(&written).unwrap();
    assert_eq!(written["report"]["status"], "SESSION_ERROR");
}

#[test]
fn a_browser_that_can_not_be_attached_to_is_a_typed_status_and_says_how() {
    // Port 1 of this machine, where nothing listens.
    let mut command = Command::new(env!("CARGO_BIN_EXE_jev"));
    command.args(["read", "--json", "--mode=off", "--judge=lexical"]);
    command.args(["--start=http://127.0.0.1:9/", "--goal=How long?"]);
    let output = command
        .arg("--connect=http://127.0.0.1:1")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let status = said["status"].as_str();
    assert_eq!(
        (output.status.code(), status),
        (Some(6), Some("SESSION_ERROR"))
    );
    assert!(
        stderr.contains("jev: connect: could not attach"),
        "{stderr}"
    );
    assert!(stderr.contains("--remote-debugging-port"), "{stderr}");
}

#[test]
fn a_browser_that_is_not_there_is_a_typed_status() {
    let (code, stdout, _) = read(&[("--json", "--mode=off")]);
    let output: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        (code, output["status"].as_str()),
        (Some(6), Some("SESSION_ERROR")),
        "{output}"
    );
    assert!(
        output["cause"]
            .as_str()
            .unwrap()
            .contains("apt-get install"),
        "{output}"
    );
}
