//! `jev mcp`: the reading tools of a configuration over the Model Context Protocol. Standard output
//! carries the protocol alone.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use jev_agent::CancellationToken;
use jev_agent::config::{Build, Config, FILE_NAME};
use jev_agent::mcp::{Bearer, Ended, HttpOptions, Server, Traces};
use jev_agent::tool::{Discreet, Tool, Tracing};
use jev_agent::trajectory::KeepPictures;
use jev_core::policy::Permission;
use jev_core::ports::SessionFactory;
use jev_core::redact::Redactor;
use jev_judge::credential::Secret;
use jev_session_cdp::find::Preference;
use jev_session_cdp::network::policy::PrivateNames;
use jev_session_cdp::{CdpSessionFactory, SessionOptions};
use tokio::net::TcpListener;

use crate::error::UsageError;
use crate::exit_code::Exit;
use crate::interrupt;
use crate::trace::{self, TraceArgs};

/// The environment variable that holds the bearer token.
const TOKEN_VARIABLE: &str = "JEV_MCP_TOKEN";

/// Largest token file that is read, in bytes.
const TOKEN_FILE_MAX_BYTES: u64 = 4096;

/// `jev mcp`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 the client went away or the server was stopped; 2 usage or configuration.
Set-up for the common agents: docs/mcp.md.

Example:
  claude mcp add jev -- jev mcp --config /path/to/jev.toml")]
pub(crate) struct McpArgs {
    /// The host's configuration.
    #[arg(long, value_name = "FILE", env = "JEV_CONFIG", default_value = FILE_NAME)]
    pub config: PathBuf,
    /// Listen for HTTP here, as in 127.0.0.1:8808, instead of serving one client over stdio.
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// Listen on an address that other machines reach. Needs a bearer token.
    #[arg(long, requires = "http")]
    pub allow_remote: bool,
    /// A name under which clients address the server, beside its address. Repeatable.
    #[arg(long, value_name = "NAME", requires = "http")]
    pub allow_host: Vec<String>,
    /// The file that holds the bearer token; else JEV_MCP_TOKEN is looked at.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub token_file: Option<PathBuf>,
    /// The browser to use instead of the configuration's.
    #[arg(long, value_name = "PATH")]
    pub chrome: Option<PathBuf>,
    /// Whether runs are written down; wins over the configuration.
    #[command(flatten)]
    pub trace: TraceArgs,
}

/// Runs the command.
pub(crate) fn mcp(args: &McpArgs) -> Result<Exit, UsageError> {
    let config = Config::load(&args.config)?;
    if config.sources.is_empty() {
        return Err(UsageError::NoSource {
            file: args.config.display().to_string(),
        });
    }
    let door = args.http.map(|address| door(args, address)).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(UsageError::Runtime)?;
    let exit = runtime.block_on(async {
        let server = server(&config, args)?;
        let stop = CancellationToken::new();
        let watcher = interrupt::watch(stop.clone());
        let exit = match door {
            Some((address, options)) => listen(&server, address, options, stop).await,
            None => Ok(lines(&server, &stop).await),
        };
        watcher.abort();
        exit
    });
    // Standard input is read by a thread that can't be stopped; it must not hold the process.
    crate::ending::end(runtime);
    exit
}

fn server(config: &Config, args: &McpArgs) -> Result<Arc<Server>, UsageError> {
    let judge = config.judge.build_beside().map_err(UsageError::Judge)?;
    let chrome = args
        .chrome
        .clone()
        .or_else(|| config.browser.chrome.clone());
    let factory: Arc<dyn SessionFactory> = Arc::new(CdpSessionFactory::new(SessionOptions {
        chrome,
        preference: preference(config.browser.build),
        private: match config.browser.private_names {
            Permission::Allowed => PrivateNames::Allow,
            Permission::Denied => PrivateNames::Refuse,
        },
        ..SessionOptions::default()
    }));
    // A key that is missing is the judge's own error, at the first question.
    let key = config.judge.credential().read().unwrap_or_default();
    let tracing = tracing(config, &args.trace, key.as_ref())?;
    // A page may show the judge's key; no agent is told it.
    let mut own = Redactor::new();
    if let Some(key) = &key {
        key.hide_in(&mut own);
    }
    let tools = config
        .read_tools(&judge, &factory, tracing.as_ref())?
        .into_iter()
        .map(|tool| Arc::new(tool) as Arc<dyn Tool>)
        .chain(config.session_tools(&judge, &factory, tracing.as_ref())?)
        .map(|tool| Arc::new(Discreet::new(tool, own.clone())) as Arc<dyn Tool>)
        .collect();
    let traces = match tracing {
        Some(_) => Traces::Written,
        None => Traces::Not,
    };
    Ok(Server::new(
        tools,
        &config.mcp,
        Arc::new(config.permission.clone()),
        traces,
    )?)
}

/// The build of the browser that a configuration prefers.
pub(crate) const fn preference(build: Build) -> Preference {
    match build {
        Build::Shell => Preference::Shell,
        Build::Full => Preference::Full,
    }
}

/// Where trajectories go, when they are wanted.
fn tracing(
    config: &Config,
    args: &TraceArgs,
    key: Option<&Secret>,
) -> Result<Option<Tracing>, UsageError> {
    let Some(folder) = args.folder(config.trace.dir.as_deref())? else {
        return Ok(None);
    };
    let mut options = args.options(folder);
    if config.trace.pictures == KeepPictures::Yes {
        options.pictures = KeepPictures::Yes;
    }
    let redactor = trace::redactor_hiding(key);
    Ok(Some(Tracing { options, redactor }))
}

async fn lines(server: &Arc<Server>, stop: &CancellationToken) -> Exit {
    let ended = server
        .serve_lines(tokio::io::stdin(), tokio::io::stdout(), stop)
        .await;
    match ended {
        Ended::Gone => Exit::Success,
        Ended::NotBegun => {
            aside!("jev: the client's first request could not be answered");
            Exit::Usage
        }
    }
}

async fn listen(
    server: &Arc<Server>,
    address: SocketAddr,
    options: HttpOptions,
    stop: CancellationToken,
) -> Result<Exit, UsageError> {
    let failed = |source| UsageError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let real = listener.local_addr().map_err(failed)?;
    aside!("jev: listening on http://{real}/mcp");
    server
        .serve_http(listener, options, stop)
        .await
        .map_err(failed)?;
    Ok(Exit::Success)
}

/// Who may connect to this address.
fn door(args: &McpArgs, address: SocketAddr) -> Result<(SocketAddr, HttpOptions), UsageError> {
    let bearer = bearer(args.token_file.as_deref())?;
    if !address.ip().is_loopback() {
        if !args.allow_remote {
            return Err(UsageError::Remote { address });
        }
        if bearer.is_none() {
            return Err(UsageError::NoToken {
                variable: TOKEN_VARIABLE,
            });
        }
    }
    Ok((
        address,
        HttpOptions {
            bearer,
            hosts: args.allow_host.clone(),
        },
    ))
}

fn bearer(file: Option<&Path>) -> Result<Option<Bearer>, UsageError> {
    let text = match file {
        Some(file) => {
            let unreadable = |source| UsageError::Read {
                field: "token-file",
                path: file.display().to_string(),
                source,
            };
            let bytes = std::fs::metadata(file).map_err(unreadable)?.len();
            if bytes > TOKEN_FILE_MAX_BYTES {
                return Err(unreadable(std::io::ErrorKind::FileTooLarge.into()));
            }
            Some(std::fs::read_to_string(file).map_err(unreadable)?)
        }
        None => std::env::var(TOKEN_VARIABLE).ok(),
    };
    Ok(text.as_deref().map(Bearer::new).transpose()?)
}
