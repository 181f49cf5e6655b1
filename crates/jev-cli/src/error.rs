//! What stops a command before it begins: one line that names the setting and the way out.

use jev_core::access::AccessError;
use jev_core::contract::ContractError;
use jev_core::error::JudgeError;
use jev_core::ids::BlankScope;
use jev_verify::SpecError;

/// A command that can't begin. Shown as one line on stderr; exit code 2.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UsageError {
    /// The contract.
    #[error("{0}")]
    Contract(#[from] ContractError),
    /// The verifier.
    #[error("{0}")]
    Verifier(#[from] SpecError),
    /// The judge.
    #[error("judge: {0}")]
    Judge(JudgeError),
    /// The start address.
    #[error("start: {0}")]
    Start(AccessError),
    /// An allow pattern.
    #[error("allow: {0}")]
    Allow(AccessError),
    /// The scope.
    #[error("{0}")]
    Scope(#[from] BlankScope),
    /// A duration that can't be read.
    #[error("{field}: `{text}` is not a duration; write it like 10s, 500ms or 2m")]
    Duration {
        /// The setting.
        field: &'static str,
        /// What was given.
        text: String,
    },
    /// A number that can't be read.
    #[error("{field}: `{text}` is not a number")]
    Number {
        /// The setting.
        field: &'static str,
        /// What was given.
        text: String,
    },
    /// A file that can't be written.
    #[error("{field}: {path}: {source}")]
    Write {
        /// The setting.
        field: &'static str,
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The async runtime did not start.
    #[error("the runtime did not start: {0}")]
    Runtime(std::io::Error),
}
