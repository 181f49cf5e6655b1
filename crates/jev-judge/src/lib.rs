//! The Choice protocol of System One decision models, and the judges that speak it.
#![forbid(unsafe_code)]

pub mod client;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod credential;
#[cfg(feature = "embedded")]
pub mod embedded;
pub mod endpoint;
mod json;
pub mod lexical;
pub mod model;
pub mod permute;
pub mod probe;
pub mod provider;
pub mod recorded;
pub mod retry;
pub mod scripted;
#[cfg(feature = "server")]
pub mod server;
mod situation;
pub mod spec;
#[cfg(test)]
mod testing;
mod text;
pub mod validate;
pub mod wire;
