//! The inputs of a run, kept raw: what replaying it through the core needs, byte for byte. They hold
//! everything a page said, so they are written only when asked for, into a file of their own.

use std::io;
use std::path::Path;

use jev_core::carried::Carried;
use jev_core::contract::Contract;
use jev_core::ids::RunId;
use jev_core::input::Input;
use jev_core::navigator::Navigator;
use jev_core::report::Report;
use jev_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::file::{Appended, LineFile};

/// The file's name.
pub const INPUTS_FILE: &str = "inputs.jsonl";

/// A line of the file, as it is written.
#[derive(Serialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum LineRef<'a> {
    Run {
        run: RunId,
        contract: &'a Contract,
        carried: &'a Carried,
    },
    Input {
        at: Timestamp,
        input: &'a Input,
    },
}

/// A line of the file, as it is read.
#[derive(Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    Run {
        run: RunId,
        contract: Box<Contract>,
        #[serde(default)]
        carried: Box<Carried>,
    },
    Input {
        at: Timestamp,
        input: Box<Input>,
    },
}

/// Writes inputs.
#[derive(Debug)]
pub(crate) struct InputLog {
    file: LineFile,
}

impl InputLog {
    pub(crate) fn create(folder: &Path, cap: u64) -> io::Result<Self> {
        Ok(Self {
            file: LineFile::create(&folder.join(INPUTS_FILE), cap)?,
        })
    }

    pub(crate) fn run(
        &mut self,
        run: RunId,
        contract: &Contract,
        carried: &Carried,
    ) -> io::Result<Appended> {
        self.line(&LineRef::Run {
            run,
            contract,
            carried,
        })
    }

    pub(crate) fn input(&mut self, input: &Input, at: Timestamp) -> io::Result<Appended> {
        self.line(&LineRef::Input { at, input })
    }

    fn line(&mut self, line: &LineRef<'_>) -> io::Result<Appended> {
        self.file.append(&serde_json::to_vec(line)?, 0)
    }
}

/// Everything one run was told.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    /// The run.
    pub run: RunId,
    /// Its contract, checked anew.
    pub contract: Contract,
    /// What earlier runs on its tab had left.
    pub carried: Carried,
    /// Its inputs with their times.
    pub inputs: Vec<(Timestamp, Input)>,
}

/// Why recorded inputs can't be read.
#[derive(Debug, thiserror::Error)]
pub enum InputsError {
    /// The file.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A line that is none of ours.
    #[error("line {line} is not a recorded input")]
    Line {
        /// From 1 on.
        line: usize,
    },
}

impl RecordedRun {
    /// Reads the runs of a trajectory's folder. A last line that was cut off is left out.
    ///
    /// # Errors
    /// [`InputsError`].
    pub fn read(folder: &Path) -> Result<Vec<Self>, InputsError> {
        let path = folder.join(INPUTS_FILE);
        let text = std::fs::read_to_string(&path).map_err(|source| InputsError::File {
            path: path.display().to_string(),
            source,
        })?;
        let mut runs: Vec<Self> = Vec::new();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for (number, line) in (1..).zip(&lines) {
            if !line.ends_with('\n') {
                break;
            }
            let bad = InputsError::Line { line: number };
            match serde_json::from_str(line) {
                Ok(Line::Run {
                    run,
                    contract,
                    carried,
                }) => runs.push(Self {
                    run,
                    contract: *contract,
                    carried: *carried,
                    inputs: Vec::new(),
                }),
                Ok(Line::Input { at, input }) => match runs.last_mut() {
                    Some(run) => run.inputs.push((at, *input)),
                    None => return Err(bad),
                },
                Err(_) => return Err(bad),
            }
        }
        Ok(runs)
    }

    /// Runs the core again over the same inputs. `None` when they do not reach the end.
    #[must_use]
    pub fn replay(&self) -> Option<Report> {
        let mut navigator =
            Navigator::resume(self.run, self.contract.clone(), self.carried.clone());
        let drain = |navigator: &mut Navigator| {
            while navigator.poll_effect().is_some() {}
            while navigator.poll_record().is_some() {}
        };
        drain(&mut navigator);
        for (at, input) in &self.inputs {
            navigator.handle(input.clone(), *at);
            drain(&mut navigator);
        }
        navigator.report()
    }
}
