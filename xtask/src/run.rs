//! Running other programs: a heading before, the duration after, a typed failure in between.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Why a developer command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A program could not be started.
    #[error("`{program}` can't be started: {error}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        error: io::Error,
    },
    /// A program said that it failed.
    #[error("`{program}` failed")]
    Program {
        /// The program with its arguments.
        program: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// Something is missing that this machine can't be given by itself.
    #[error("{what}")]
    Missing {
        /// What is missing and how to get it.
        what: String,
    },
    /// Rules were broken.
    #[error("{count} broken rule(s); CONTRIBUTING.md explains each")]
    Rules {
        /// How many.
        count: usize,
    },
    /// Steps of a longer command failed.
    #[error("failed: {}", names.join(", "))]
    Steps {
        /// Which.
        names: Vec<&'static str>,
    },
    /// A simulation found something, or did not reach what it should.
    #[error("{what}")]
    Simulation {
        /// The exit code, as `sim.rs` lists them.
        code: u8,
        /// What was found.
        what: String,
    },
    /// Something else that this program could not make sense of.
    #[error("{what}")]
    Unreadable {
        /// What.
        what: String,
    },
}

impl Failure {
    /// The code that the command ends with.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Simulation { code, .. } => *code,
            Self::Start { .. }
            | Self::Program { .. }
            | Self::File { .. }
            | Self::Missing { .. }
            | Self::Rules { .. }
            | Self::Steps { .. }
            | Self::Unreadable { .. } => 1,
        }
    }

    pub(crate) fn file(path: &std::path::Path, error: io::Error) -> Self {
        Self::File {
            path: path.display().to_string(),
            error,
        }
    }
}

/// The command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|part| part.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs a command whose output the user sees.
pub(crate) fn visibly(command: &mut Command) -> Result<(), Failure> {
    eprintln!("  $ {}", shown(command));
    let status = command.status().map_err(|error| Failure::Start {
        program: shown(command),
        error,
    })?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::Program {
            program: shown(command),
        })
    }
}

/// Starts this program again with the same arguments, built in another way: `how` says it to the
/// user, `build` to cargo.
pub(crate) fn again(how: &str, build: &[&str]) -> Result<(), Failure> {
    eprintln!("building {how}; from nothing that takes some minutes");
    let mut command = cargo();
    command
        .args(["run", "--quiet", "--package", "xtask"])
        .args(build)
        .arg("--")
        .args(std::env::args_os().skip(1));
    visibly(&mut command)
}

/// A command's arguments as they are when the user names none.
pub(crate) fn unnamed<A: clap::Args>() -> Result<A, Failure> {
    A::augment_args(clap::Command::new("xtask"))
        .try_get_matches_from(["xtask"])
        .and_then(|matches| A::from_arg_matches(&matches))
        .map_err(|error| Failure::Unreadable {
            what: error.to_string(),
        })
}

/// Runs a command whose output the user sees only when it fails.
pub(crate) fn quietly(command: &mut Command) -> Result<(), Failure> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure::Start {
            program: shown(command),
            error,
        })?;
    if output.status.success() {
        return Ok(());
    }
    eprintln!("  $ {}", shown(command));
    for stream in [&output.stdout, &output.stderr] {
        eprint!("{}", String::from_utf8_lossy(stream));
    }
    Err(Failure::Program {
        program: shown(command),
    })
}

/// Runs a command for what it prints on standard output.
pub(crate) fn output(command: &mut Command) -> Result<String, Failure> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failure::Start {
            program: shown(command),
            error,
        })?;
    if !output.status.success() {
        return Err(Failure::Program {
            program: shown(command),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs one step of a longer command under a heading.
pub(crate) fn step(
    name: &str,
    work: impl FnOnce() -> Result<(), Failure>,
) -> (Result<(), Failure>, Duration) {
    eprintln!("\n== {name} ==");
    let began = Instant::now();
    let outcome = work();
    let took = began.elapsed();
    match &outcome {
        Ok(()) => eprintln!("== {name}: ok in {:.1} s ==", took.as_secs_f64()),
        Err(failure) => eprintln!(
            "== {name}: FAILED after {:.1} s: {failure} ==",
            took.as_secs_f64()
        ),
    }
    (outcome, took)
}

/// `cargo`, the same one that runs us.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::repo::root());
    // Set by the cargo that runs us; a nested cargo must work it out for itself.
    for name in [
        "CARGO_MANIFEST_DIR",
        "CARGO_MANIFEST_PATH",
        "CARGO_PKG_NAME",
    ] {
        command.env_remove(name);
    }
    command
}
