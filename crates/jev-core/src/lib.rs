//! The sans-IO navigator.
#![forbid(unsafe_code)]

pub mod access;
pub mod action;
pub mod contract;
pub mod digest;
pub mod error;
pub mod gate;
pub mod ids;
pub mod limits;
pub mod permit;
pub mod policy;
pub mod ports;
pub mod question;
pub mod receipt;
pub mod snapshot;
pub mod time;
pub mod verification;
