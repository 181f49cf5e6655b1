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
        (&[("--budget", "0")], "budget: 0 ms is outside"),
        (&[("--budget", "0s")], "budget: 0 ms is outside"),
        (&[("--budget", "11min")], "budget: 660000 ms is outside"),
        (&[("--budget", "soon")], "budget: `soon` is not a duration"),
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
fn a_number_s_fault_names_the_flag_the_range_and_what_was_given() {
    let whole = [
        ("--max-steps", 1, 64),
        ("--max-stale", 0, 8),
        ("--max-no-progress", 1, 8),
        ("--max-state-chars", 100, 100_000),
        ("--max-candidates", 1, 254),
        ("--permute", 1, 8),
    ];
    let mut cases = Vec::new();
    for (flag, min, max) in whole {
        let outside = [
            (min - 1).to_string(),
            (max + 1).to_string(),
            "5000000000".to_owned(),
            "99999999999999999999999".to_owned(),
        ];
        for given in outside {
            let says = format!("{given} is outside {min}..={max}");
            cases.push((flag, given, says));
        }
        for given in ["many", "1.5", "-", ""] {
            let says = format!("`{given}` is not a number; write one from {min} to {max}");
            cases.push((flag, given.to_owned(), says));
        }
    }
    for given in ["0.54", "1.01", "-1", "NaN"] {
        let says = format!("{given} is outside 0.55..=1");
        cases.push(("--threshold", given.to_owned(), says));
    }
    let says = "`high` is not a number; write one from 0.55 to 1";
    cases.push(("--threshold", "high".to_owned(), says.to_owned()));
    for (flag, given, says) in cases {
        let (code, stdout, stderr) = read(&[(flag, &given)]);
        let expected = format!("jev: {}: {says}\n", flag.trim_start_matches("--"));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{flag} {given}");
        assert_eq!(stderr, expected, "{flag} {given}");
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
