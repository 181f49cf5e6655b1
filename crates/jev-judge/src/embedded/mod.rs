//! The embedded judge: sentence embeddings in process, no key, no network.

mod encoder;
mod error;
mod model;
mod weights;

pub use encoder::{DIMENSIONS, MAX_PIECES};
pub use error::{EmbedError, FileFault, INSTALL_COMMAND, InstallError, PIP_PACKAGE, WeightsError};
pub use model::{Embedder, Embedding, GivenUp, Model};
pub use weights::{MODEL_DIR_VARIABLE, MODEL_NAME, MODEL_SHA256, Weights};
