//! `jev judge serve`: a judge of this program for other tools, over the System One protocol, on
//! loopback.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use jev_judge::credential::{Credential, Secret};
use jev_judge::server::{ServerConfig, serve as answer};
use jev_judge::spec::{BuildOptions, JudgeSpec};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::{preferred, shown};
use crate::error::UsageError;
use crate::exit_code::Exit;
use crate::interrupt;

/// How long answers under way may take once the server is to end.
const GRACE: Duration = Duration::from_secs(3);

/// `jev judge serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Answers POST /v1/systemone and GET /v1/models until it is stopped. The first line of standard
output is the address.

Exit codes: 0 stopped; 2 usage; 5 the server's socket broke.")]
pub(crate) struct ServeArgs {
    /// The port on 127.0.0.1; 0 takes any that is free.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub port: u16,
    /// Who decides: embedded or lexical. Default: embedded when its model is installed, else
    /// lexical.
    #[arg(long, value_name = "JUDGE")]
    pub judge: Option<String>,
    /// The variable that holds the key which requests must bring. Without it none is asked for.
    #[arg(long, value_name = "VAR")]
    pub key_env: Option<String>,
}

/// Runs the command.
pub(crate) fn serve(args: &ServeArgs) -> Result<Exit, UsageError> {
    let spec = spec(args)?;
    let key = key(args)?;
    let judge = spec
        .build(&BuildOptions::default())
        .map_err(UsageError::Judge)?;
    let config = ServerConfig {
        key,
        ..ServerConfig::default()
    };
    let runtime = tokio::runtime::Runtime::new().map_err(UsageError::Runtime)?;
    let exit = runtime.block_on(async {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
        let failed = |source| UsageError::Port { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let real = listener.local_addr().map_err(failed)?;
        say!("http://{real}");
        aside!(
            "jev: {} answers at http://{real}/v1/systemone",
            shown(&judge.identity())
        );
        let (stopping, stopped) = oneshot::channel();
        let stop = async move {
            interrupt::signal().await;
            let _ = stopping.send(());
        };
        let late = async {
            // The sender goes away when the server ends first; then there is nothing to cut off.
            if stopped.await.is_ok() {
                tokio::time::sleep(GRACE).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        let ended = tokio::select! {
            ended = answer(listener, judge, config, stop) => ended,
            () = late => Ok(()),
        };
        Ok(match ended {
            Ok(()) => Exit::Success,
            Err(error) => {
                aside!("jev: {error}");
                Exit::Judge
            }
        })
    });
    runtime.shutdown_background();
    exit
}

/// Only judges that ask nobody: a key of this machine's user is not lent to every program on it.
fn spec(args: &ServeArgs) -> Result<JudgeSpec, UsageError> {
    let Some(text) = &args.judge else {
        let (spec, notice) = preferred();
        if let Some(notice) = notice {
            aside!("note: {notice}");
        }
        return Ok(spec);
    };
    match JudgeSpec::parse(text).map_err(UsageError::Judge)? {
        spec @ (JudgeSpec::Lexical | JudgeSpec::Embedded) => Ok(spec),
        JudgeSpec::Scripted { .. }
        | JudgeSpec::Compatible { .. }
        | JudgeSpec::Chat { .. }
        | JudgeSpec::TypeSafe { .. }
        | JudgeSpec::OpenRouter { .. }
        | JudgeSpec::Record { .. }
        | JudgeSpec::Replay { .. } => Err(UsageError::NotServed),
    }
}

fn key(args: &ServeArgs) -> Result<Option<Secret>, UsageError> {
    let Some(variable) = &args.key_env else {
        return Ok(None);
    };
    Credential::Environment {
        variable: variable.clone(),
    }
    .read()
    .map_err(UsageError::Judge)
}
