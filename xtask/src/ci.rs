//! `cargo xtask ci`: all that continuous integration checks, each step under a heading with its time.

use std::time::Duration;

use crate::run::{self, Failure, cargo, visibly};
use crate::{eval, setup, sim, test, tidy};

type Work = fn() -> Result<(), Failure>;

/// The steps in their order: the quick ones that need no browser first.
const STEPS: [(&str, Work); 8] = [
    ("format", format),
    ("lints", lints),
    ("docs", docs),
    ("tidy", tidy::command),
    ("sim", sim::all),
    ("setup", prepare),
    ("tests", tests),
    ("eval", eval::oracle),
];

/// `cargo xtask ci`. Every step runs, also after one has failed: one round shows everything.
pub(crate) fn command() -> Result<(), Failure> {
    let mut failed = Vec::new();
    let mut table: Vec<(&str, &str, Duration)> = Vec::new();
    for (name, work) in STEPS {
        let (outcome, took) = run::step(name, work);
        table.push((name, if outcome.is_ok() { "ok" } else { "FAILED" }, took));
        if outcome.is_err() {
            failed.push(name);
        }
    }
    eprintln!();
    for (name, outcome, took) in &table {
        eprintln!("{name:<8} {outcome:<7} {:>7.1} s", took.as_secs_f64());
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::Steps { names: failed })
    }
}

fn format() -> Result<(), Failure> {
    visibly(cargo().args(["fmt", "--all", "--check"]))
}

fn lints() -> Result<(), Failure> {
    visibly(cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "-D",
        "warnings",
    ]))
}

/// The documentation of the code, in which every link leads somewhere.
fn docs() -> Result<(), Failure> {
    visibly(cargo().env("RUSTDOCFLAGS", "-D warnings").args([
        "doc",
        "--workspace",
        "--all-features",
        "--no-deps",
    ]))
}

/// What is missing is said here; the tests that need it fail.
fn prepare() -> Result<(), Failure> {
    setup::prepare().map(|_| ())
}

fn tests() -> Result<(), Failure> {
    test::tests(&[])
}
