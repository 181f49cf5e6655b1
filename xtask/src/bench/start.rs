//! `cargo xtask bench start`: how long `jev mcp` takes from its start to its first answer, beside its
//! bound. An agent's host starts it with every conversation, and waits.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Figures, failed};
use crate::run::{self, Failure};

const STARTS: usize = 10;
/// What the fastest start may take, in milliseconds: what the program needs is the least that it took,
/// the rest is what else the machine did.
const BOUND_MS: f64 = 150.0;

/// A source is never opened before it is asked for, so its page need not be there.
const CONFIG: &str = "[[source]]\nname = 'a'\nstart = 'http://127.0.0.1:9/'\n";

/// `cargo xtask bench start`.
pub(super) fn command() -> Result<(), Failure> {
    let program = built()?;
    let folder = tempfile::tempdir().map_err(failed)?;
    let config = folder.path().join("jev.toml");
    std::fs::write(&config, CONFIG).map_err(|error| Failure::file(&config, error))?;
    let starts = (0..STARTS)
        .map(|_| start(&program, &config))
        .collect::<Result<Vec<Duration>, Failure>>()?;
    let figures = Figures::of(&starts);
    let verdict = if figures.min < BOUND_MS { "ok" } else { "OVER" };
    println!(
        "{STARTS} starts of `jev mcp` until its first answer: fastest {:.1}, median {:.1} ms   bound of the fastest {BOUND_MS} ms: {verdict}",
        figures.min, figures.median
    );
    Ok(())
}

/// Builds the program as users run it, for speed, and says where it is.
fn built() -> Result<PathBuf, Failure> {
    eprintln!("building jev for speed; from nothing that takes some minutes");
    let mut build = run::cargo();
    build.args(["build", "--release", "--package", "jev-cli", "--bin", "jev"]);
    build.arg("--message-format=json-render-diagnostics");
    run::output(&mut build)?
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "jev")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .ok_or_else(|| failed("cargo named no program `jev`"))
}

/// One start, timed from before it to the first answer.
fn start(program: &Path, config: &Path) -> Result<Duration, Failure> {
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"}
    }});
    let begun = Instant::now();
    let mut server = Command::new(program)
        .args(["mcp", "--config"])
        .arg(config)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let (Some(mut input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
        return Err(failed("the server has no pipes"));
    };
    writeln!(input, "{hello}").map_err(failed)?;
    let mut answer = String::new();
    BufReader::new(output)
        .read_line(&mut answer)
        .map_err(failed)?;
    let took = begun.elapsed();
    // The end of its input is how a client leaves.
    drop(input);
    server.wait().map_err(failed)?;
    let answer: Value = serde_json::from_str(&answer).map_err(failed)?;
    if answer["result"]["serverInfo"].is_null() {
        return Err(failed(format!("the server answered {answer}")));
    }
    Ok(took)
}
