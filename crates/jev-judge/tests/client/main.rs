//! The client, the chat judge and the server, each against a server on loopback that does whatever
//! a test wants.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod chat;
mod common;
mod faults;
mod mock_replies;
mod port;
mod secrets;
mod server;
