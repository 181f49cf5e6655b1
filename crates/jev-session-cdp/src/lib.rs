//! A guarded browser session on a real Chrome.
#![forbid(unsafe_code)]

pub mod connection;
pub mod error;
mod surrogates;
mod transport;
