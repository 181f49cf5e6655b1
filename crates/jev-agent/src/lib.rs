//! The async side of the Jev navigator: the driver that runs a contract against a browser session,
//! a judge and a verifier.
#![forbid(unsafe_code)]

pub mod chat;
pub mod config;
pub mod driver;
mod lease;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod memory;
pub mod pages;
pub mod permission;
pub mod runtime;
pub mod scenario;
pub mod session_tools;
pub mod shared_session;
pub mod source;
#[cfg(test)]
mod testing;
pub mod tool;
pub mod trajectory;

pub use driver::{Observer, Observers, Ports, Unobserved, resume, run};
pub use tokio_util::sync::CancellationToken;
