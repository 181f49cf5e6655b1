//! A guarded browser session on a real Chrome.
#![forbid(unsafe_code)]

pub mod connection;
pub mod error;
pub mod find;
pub mod flags;
pub mod launch;
pub mod network;
mod process;
mod profile;
mod surrogates;
pub mod tab;
mod transport;
