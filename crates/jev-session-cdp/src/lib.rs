//! A guarded browser session on a real Chrome.
#![forbid(unsafe_code)]

pub mod attach;
pub mod connection;
#[cfg(test)]
mod connection_tests;
mod dispatch;
#[cfg(test)]
mod dispatch_tests;
pub mod error;
pub mod factory;
pub mod find;
pub mod flags;
mod frames;
mod host;
pub mod isolation;
mod keys;
mod latest;
pub mod launch;
mod lease;
mod navigate;
pub mod network;
mod page;
mod pool;
mod process;
mod profile;
mod reader;
pub mod screenshot;
pub mod session;
mod settle;
mod snapshot;
mod surrogates;
pub mod tab;
#[cfg(feature = "testing")]
pub mod testing;
mod transport;
mod websocket;
pub mod world;

pub use factory::{CdpSessionFactory, Keep, SessionOptions};
pub use process::all_ended;
