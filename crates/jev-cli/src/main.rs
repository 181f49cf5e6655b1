//! The `jev` command: arguments in, calls out.
#![forbid(unsafe_code)]
// `say!` and `aside!` take their place; why is said there.
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
mod say;

mod args;
mod chat;
mod demo;
mod doctor;
mod ending;
mod error;
mod exit_code;
mod help_centre;
mod init;
mod interrupt;
mod judge;
mod mcp;
mod memory;
mod output;
mod prepare;
mod read;
mod story;
mod task;
mod trace;

use std::process::ExitCode;

use clap::Parser;
use tracing::{Level, Metadata};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{EnvFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::{Cli, Command};
use crate::exit_code::Exit;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // Logs go to stderr: stdout carries the result alone. JEV_LOG=debug shows more.
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_filter(filter())
        .with_filter(filter_fn(is_heard));
    tracing_subscriber::registry().with(lines).init();
    let result = match &cli.command {
        Command::Read(args) => read::read(args),
        Command::Judge(command) => judge::judge(command),
        Command::Mcp(args) => mcp::mcp(args),
        Command::Doctor(args) => doctor::doctor(args),
        Command::Init(args) => init::init(args),
        Command::Trace(command) => trace::trace(command),
        Command::Task(command) => task::task(command),
        Command::Memory(args) => memory::memory(args),
        Command::Demo(args) => demo::demo(args),
    };
    let exit = result.unwrap_or_else(|error| {
        aside!("jev: {error}");
        Exit::Usage
    });
    exit.into()
}

/// What `JEV_LOG` says, else warnings.
fn filter() -> EnvFilter {
    EnvFilter::try_from_env("JEV_LOG").unwrap_or_else(|_| EnvFilter::new("warn"))
}

/// Whatever `JEV_LOG` says: the protocol's library writes whole messages, goals and page text
/// included, below warnings, and is never heard there. Its service calls an answer to a client that
/// has left an error, and is not heard at all.
fn is_heard(about: &Metadata<'_>) -> bool {
    let target = about.target();
    if target.starts_with("rmcp::service") {
        return false;
    }
    // Levels are ordered by how talkative they are.
    !target.starts_with("rmcp") || *about.level() <= Level::WARN
}
