//! The network boundary: the browser has no network; we fetch what is allowed and hand it in.

pub(crate) mod boundary;
pub mod counters;
pub mod documents;
pub(crate) mod fetch;
pub mod filter;
pub mod paused;
pub mod policy;
pub(crate) mod resolve;
pub(crate) mod tabs;
pub(crate) mod tripwire;
