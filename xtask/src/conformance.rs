//! `cargo xtask conformance`: our judge server under a test suite that we didn't write, and our client
//! against that suite's mock server with each of its faults. The suite is Python's `jevcompat`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::repo;
use crate::run::{self, Failure};

/// The suite and the client library it tries a server with, pinned.
const PACKAGES: [&str; 2] = ["jevcompat==0.1.1", "typesafe-sdk==0.7.5"];

/// The key of the server that wants one, and the variable that carries it.
const KEY: (&str, &str) = ("JEV_CONFORMANCE_KEY", "conformance-key-0123456789");

/// What can be had of the suite on this machine.
pub(crate) enum Suite {
    /// The program.
    Ready(PathBuf),
    /// Why it can't be had.
    Missing(String),
}

/// `cargo xtask conformance`.
pub(crate) fn command() -> Result<(), Failure> {
    match suite()? {
        Suite::Ready(program) => all(&program),
        Suite::Missing(what) => Err(Failure::Missing {
            what: format!("{what}; nothing was tested"),
        }),
    }
}

/// Everything, also after a part has failed: one round shows all.
fn all(program: &Path) -> Result<(), Failure> {
    run::visibly(run::cargo().args(["build", "--package", "jev-cli"]))?;
    let mut failed = Vec::new();
    for (name, judge, key) in [
        ("server, lexical judge", "lexical", None),
        ("server, lexical judge, with a key", "lexical", Some(KEY)),
        ("server, embedded judge", "embedded", None),
    ] {
        if run::step(name, || server(program, judge, key)).0.is_err() {
            failed.push(name);
        }
    }
    let name = "client against the mock's faults";
    if run::step(name, || client(program)).0.is_err() {
        failed.push(name);
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::Steps { names: failed })
    }
}

/// Installs the suite into its own environment under the target folder, once.
fn suite() -> Result<Suite, Failure> {
    let folder = repo::root().join("target/jevcompat/venv");
    let (programs, ending) = if cfg!(windows) {
        (folder.join("Scripts"), ".exe")
    } else {
        (folder.join("bin"), "")
    };
    let program = programs.join(format!("jevcompat{ending}"));
    let mark = folder.join("installed");
    let wanted = PACKAGES.join("\n");
    if program.is_file() && fs::read_to_string(&mark).is_ok_and(|found| found == wanted) {
        return Ok(Suite::Ready(program));
    }
    let mut version = Command::new("python3");
    version.arg("--version");
    if run::output(&mut version).is_err() {
        return Ok(Suite::Missing(
            "Python 3 is not on this machine, and the suite is written in it".to_owned(),
        ));
    }
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).arg(&folder);
    if let Err(failure) = run::visibly(&mut venv) {
        return Ok(Suite::Missing(format!(
            "Python makes no virtual environment ({failure}); on Debian `apt-get install -y python3-venv` helps"
        )));
    }
    let mut pip = Command::new(programs.join(format!("python{ending}")));
    pip.args(["-m", "pip", "install", "--disable-pip-version-check"])
        .args(["--no-input", "--quiet"])
        .args(PACKAGES);
    if let Err(failure) = run::visibly(&mut pip) {
        return Ok(Suite::Missing(format!(
            "pip could not fetch {} ({failure})",
            PACKAGES.join(" and ")
        )));
    }
    fs::write(&mark, wanted).map_err(|error| Failure::file(&mark, error))?;
    Ok(Suite::Ready(program))
}

/// A program that ends with its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The suite against `jev judge serve`.
fn server(program: &Path, judge: &'static str, key: Option<(&str, &str)>) -> Result<(), Failure> {
    let mut serve = run::cargo();
    serve
        .args(["run", "--quiet", "--package", "jev-cli", "--"])
        .args(["judge", "serve", "--port", "0", "--judge", judge])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    if let Some((variable, value)) = key {
        serve.args(["--key-env", variable]).env(variable, value);
    }
    let shown = run::shown(&serve);
    let mut child = serve.spawn().map_err(|error| Failure::Start {
        program: shown.clone(),
        error,
    })?;
    let out = child.stdout.take();
    let running = Running(child);
    let mut address = String::new();
    if let Some(out) = out {
        BufReader::new(out)
            .read_line(&mut address)
            .map_err(|error| Failure::Start {
                program: shown.clone(),
                error,
            })?;
    }
    let address = address.trim();
    if address.is_empty() {
        // It has said why on standard error.
        return Err(Failure::Program { program: shown });
    }
    let keyed = if key.is_some() { "-key" } else { "" };
    let result = repo::root().join(format!("target/jevcompat/{judge}{keyed}.json"));
    let mut test = Command::new(program);
    test.args(["test", address, "--model", "jev-latest", "--json"])
        .arg(&result);
    if let Some((variable, value)) = key {
        test.args(["--key-env", variable]).env(variable, value);
    }
    let outcome = run::quietly(&mut test);
    drop(running);
    eprintln!("  {}", summary(&result)?);
    outcome
}

/// The suite's own sums.
fn summary(result: &Path) -> Result<String, Failure> {
    let text = fs::read(result).map_err(|error| Failure::file(result, error))?;
    let found: Value = serde_json::from_slice(&text).map_err(|error| Failure::Unreadable {
        what: format!("{}: {error}", result.display()),
    })?;
    let sums = |level: &str| {
        let of = |name: &str| found["summary"][level][name].as_u64().unwrap_or_default();
        format!(
            "{level} {} passed, {} failed, {} not applicable",
            of("passed"),
            of("failed"),
            of("skipped")
        )
    };
    Ok(format!("{}; {}", sums("MUST"), sums("SHOULD")))
}

/// Our client against the mock, one fault after another.
fn client(program: &Path) -> Result<(), Failure> {
    let mut suite = run::cargo();
    suite
        .args(["run", "--quiet", "--package", "jev-judge"])
        .args(["--features", "conformance", "--example", "mock_suite", "--"])
        .arg(program);
    run::visibly(&mut suite)
}
