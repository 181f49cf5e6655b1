//! What stops a command before it begins: one line that names the setting and the way out.

use std::net::SocketAddr;

use jev_agent::chat::ChatError;
use jev_agent::config::ConfigError;
use jev_agent::mcp::{BearerError, ServerError};
use jev_agent::memory::MemoryError;
use jev_agent::runtime::demos::DemoError;
use jev_agent::runtime::{NotReusable, TaskError};
use jev_agent::scenario::ScenarioError;
use jev_agent::trajectory::{ReadError, TraceError};
use jev_core::access::AccessError;
use jev_core::contract::ContractError;
use jev_core::error::JudgeError;
use jev_core::ids::BlankScope;
use jev_session_cdp::error::LaunchError;
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
    /// A price that is none.
    #[error(
        "price: `{text}` is not two numbers of zero or more; write the prices of input and output tokens per million, as in 0.05,0.20"
    )]
    Price {
        /// What was given.
        text: String,
    },
    /// A setting without a word in it.
    #[error("{field}: blank")]
    Blank {
        /// The setting.
        field: &'static str,
    },
    /// Too few or too many options of a choice.
    #[error("option: {count} given; give 1 to 254 with --option or as lines on standard input")]
    Options {
        /// How many.
        count: usize,
    },
    /// A judge that is not lent to other programs.
    #[cfg(feature = "server")]
    #[error("judge: only embedded and lexical are served; a key is not lent to other programs")]
    NotServed,
    /// The judge's server can't listen.
    #[cfg(feature = "server")]
    #[error("port: {address}: {source}")]
    Port {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The address of a running browser.
    #[error("connect: {0}")]
    Connect(LaunchError),
    /// Two browsers.
    #[error("connect: a browser to start and one to attach to; give --chrome or --connect")]
    TwoBrowsers,
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
    #[error("{field}: `{text}` is not a number; write one from {min} to {max}")]
    Number {
        /// The setting.
        field: &'static str,
        /// What was given.
        text: String,
        /// The smallest allowed.
        min: f64,
        /// The largest allowed.
        max: f64,
    },
    /// A whole number out of its range.
    #[error("{field}: {text} is outside {min}..={max}")]
    OutOfRange {
        /// The setting.
        field: &'static str,
        /// What was given, which may be more than any type holds.
        text: String,
        /// The smallest allowed.
        min: u32,
        /// The largest allowed.
        max: u32,
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
    /// Something more is to be kept of runs that are not written down.
    #[error(
        "trace: nothing is written down; say where with --trace DIR, or `dir` in [trace] of the configuration"
    )]
    TraceNowhere,
    /// The trajectory can't be written.
    #[error("{0}")]
    Trace(#[from] TraceError),
    /// A trajectory can't be read.
    #[error("{0}")]
    ReadTrace(#[from] ReadError),
    /// The configuration.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// A configuration that offers nothing.
    #[error("{file} has no [[source]]; add one, or let `jev init --start URL` write one")]
    NoSource {
        /// The file.
        file: String,
    },
    /// The MCP server.
    #[error("{0}")]
    Server(#[from] ServerError),
    /// The address can't be listened on.
    #[error("http: {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// An address that other machines reach, without the flag that allows it.
    #[error("http: {address} is reached by other machines; say --allow-remote if that is meant")]
    Remote {
        /// The address.
        address: SocketAddr,
    },
    /// Such an address without a token.
    #[error("http: other machines need a bearer token; set {variable} or give --token-file")]
    NoToken {
        /// The variable.
        variable: &'static str,
    },
    /// The token.
    #[error("{0}")]
    Bearer(#[from] BearerError),
    /// A file that can't be read.
    #[error("{field}: {path}: {source}")]
    Read {
        /// The setting.
        field: &'static str,
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file that would be overwritten.
    #[error("{file} is there already and is never overwritten; name another with --file")]
    Exists {
        /// The file.
        file: String,
    },
    /// The task file.
    #[error("{0}")]
    Task(#[from] TaskError),
    /// The task runtime.
    #[error("{0}")]
    NotReusable(#[from] NotReusable),
    /// The chat model's name.
    #[error("chat: write it like https://host/v1#model")]
    ChatName,
    /// The chat model.
    #[error("{0}")]
    Chat(#[from] ChatError),
    /// The experience memory.
    #[error("{0}")]
    Memory(#[from] MemoryError),
    /// No home folder is known.
    #[error("memory: no home folder is known; name a file with --memory or JEV_MEMORY")]
    NoMemoryPlace,
    /// The runtime's demonstrations.
    #[error("{0}")]
    Demo(#[from] DemoError),
    /// The reference scenario.
    #[error("{0}")]
    Scenario(#[from] ScenarioError),
    /// The demonstration's server.
    #[error("demo: no port on 127.0.0.1: {0}")]
    DemoServer(std::io::Error),
    /// The async runtime did not start.
    #[error("the runtime did not start: {0}")]
    Runtime(std::io::Error),
}
