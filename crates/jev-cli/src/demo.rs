//! `jev demo`: the reference scenario and the three runtime tasks. Without options it needs no
//! browser, no key and no network.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use jev_agent::CancellationToken;
use jev_agent::chat::ConversationError;
use jev_agent::runtime::demos::Demo;
use jev_agent::scenario::{self, Cast, Played, QUESTION, ScenarioError};
use jev_core::access::CanonicalUrl;
use jev_core::contract::VerifyFirst;
use jev_core::ports::{Judge, SessionFactory};
use jev_judge::spec::{BuildOptions, JudgeSpec};
use jev_session_cdp::{CdpSessionFactory, SessionOptions};

use crate::chat::ChatArgs;
use crate::error::UsageError;
use crate::exit_code::Exit;
use crate::help_centre;
use crate::interrupt;
use crate::judge::Hiding;
use crate::story::{Story, clean};

/// How long the conversation may take: in memory, and with live models.
const BUDGET: Duration = Duration::from_secs(30);
const LIVE_BUDGET: Duration = Duration::from_secs(120);

/// `jev demo`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Scripted judgments and a scripted chat model prove the chain, not a model's accuracy.
Exit codes: 0 the answer is verified; 3 it is not; 5 the chat model failed; 130 cancelled; 2 usage."
)]
pub(crate) struct DemoArgs {
    /// Another demonstration.
    #[command(subcommand)]
    pub command: Option<DemoCommand>,
    /// Read the pages in a real Chromium, from a server on this machine.
    #[arg(long)]
    pub browser: bool,
    /// Whether a new page is verified before the judge is asked about it.
    #[arg(long, value_enum, default_value_t = SwitchArg::Off)]
    pub verify_first: SwitchArg,
    /// Let this judge decide instead of the script; see `jev read --help`.
    #[arg(long, value_name = "JUDGE")]
    pub live_judge: Option<String>,
    /// Let this chat model speak instead of the script: URL#MODEL of an OpenAI-compatible endpoint.
    #[arg(long, value_name = "URL#MODEL")]
    pub live_chat: Option<String>,
    /// The environment variable that holds the chat model's key.
    #[arg(long, value_name = "VARIABLE", requires = "live_chat")]
    pub chat_key: Option<String>,
    /// The browser to use with --browser.
    #[arg(long, value_name = "PATH", requires = "browser")]
    pub chrome: Option<PathBuf>,
}

/// The other demonstrations.
#[derive(Debug, Subcommand)]
pub(crate) enum DemoCommand {
    /// Three tasks: one completes, one recovers, one is blocked.
    Runtime(RuntimeArgs),
}

/// `jev demo runtime`.
#[derive(Debug, Args)]
pub(crate) struct RuntimeArgs {
    /// Carry them out in a real Chromium, on pages from a server on this machine.
    #[arg(long)]
    pub browser: bool,
    /// The browser to use with --browser.
    #[arg(long, value_name = "PATH", requires = "browser")]
    pub chrome: Option<PathBuf>,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SwitchArg {
    /// On.
    On,
    /// Off.
    Off,
}

/// Runs the command.
pub(crate) fn demo(args: &DemoArgs) -> Result<Exit, UsageError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(UsageError::Runtime)?;
    let exit = match &args.command {
        Some(DemoCommand::Runtime(args)) => runtime.block_on(tasks(args)),
        None => runtime.block_on(reference(args)),
    };
    crate::ending::end(runtime);
    exit
}

async fn tasks(args: &RuntimeArgs) -> Result<Exit, UsageError> {
    let mut out = std::io::stdout();
    let server = match args.browser {
        true => Some(
            help_centre::serve_tasks()
                .await
                .map_err(UsageError::DemoServer)?,
        ),
        false => None,
    };
    for demo in Demo::ALL {
        let result = match &server {
            Some(server) => {
                let base = CanonicalUrl::parse(&server.base()).map_err(UsageError::Start)?;
                demo.run_on(browser(args.chrome.clone()), &base).await?
            }
            None => demo.run().await?,
        };
        // A reader that went away is no failure.
        let _ = writeln!(out, "{}: {}", demo.name(), result.line());
    }
    Ok(Exit::Success)
}

fn browser(chrome: Option<PathBuf>) -> Arc<dyn SessionFactory> {
    Arc::new(CdpSessionFactory::new(SessionOptions {
        chrome,
        ..SessionOptions::default()
    }))
}

async fn reference(args: &DemoArgs) -> Result<Exit, UsageError> {
    let chat_args = ChatArgs {
        chat: args.live_chat.clone(),
        chat_key: args.chat_key.clone(),
    };
    let live_chat = chat_args.model()?;
    let mut hiding = Hiding::of(&chat_args.key());
    let live_judge: Option<Arc<dyn Judge>> = match &args.live_judge {
        Some(text) => {
            let spec = JudgeSpec::parse(text).map_err(UsageError::Judge)?;
            let options = BuildOptions::default();
            hiding.know(&spec.credential(&options).read().unwrap_or_default());
            Some(spec.build(&options).map_err(UsageError::Judge)?)
        }
        None => None,
    };
    let live = live_chat.is_some() || live_judge.is_some();
    let scripted = live_chat.is_none() || live_judge.is_none();
    let server = match args.browser {
        true => Some(help_centre::serve().await.map_err(UsageError::DemoServer)?),
        false => None,
    };
    let (factory, base): (Arc<dyn SessionFactory>, String) = match &server {
        Some(server) => (browser(args.chrome.clone()), server.base()),
        None => (
            Arc::new(scenario::help_centre().map_err(UsageError::Start)?),
            scenario::IN_MEMORY.to_owned(),
        ),
    };
    let cast = Cast {
        factory,
        base: CanonicalUrl::parse(&base).map_err(UsageError::Start)?,
        chat: live_chat.unwrap_or_else(|| Arc::new(scenario::scripted_chat())),
        judge: live_judge.unwrap_or_else(|| Arc::new(scenario::scripted_judge())),
        verify_first: match args.verify_first {
            SwitchArg::On => VerifyFirst::On,
            SwitchArg::Off => VerifyFirst::Off,
        },
        budget: if live { LIVE_BUDGET } else { BUDGET },
    };
    let mut out = hiding.lines(std::io::stdout());
    let _ = writeln!(out, "user     {QUESTION}");
    let _ = writeln!(
        out,
        "chat     {}\njudge    {}\npages    {}\n",
        clean(&cast.chat.name(), 80),
        cast.judge.identity().name,
        if args.browser {
            "in Chromium, from this machine"
        } else {
            "in memory"
        },
    );
    let cancel = CancellationToken::new();
    let watcher = interrupt::watch(cancel.clone());
    let mut lines = Story::bare(hiding.lines(std::io::stdout()));
    let played = scenario::play(cast, &mut lines, &cancel).await;
    watcher.abort();
    let Played { answer, counts } = match played {
        Ok(played) => played,
        Err(ScenarioError::Conversation(error)) => {
            // It began: this is how it ended, and no wrong use.
            aside!("jev: {error}");
            return Ok(match error {
                ConversationError::Model(_) => Exit::Judge,
                ConversationError::NoAnswer => Exit::NotVerified,
                ConversationError::Cancelled => Exit::Cancelled,
            });
        }
        Err(error) => return Err(error.into()),
    };
    let _ = writeln!(out, "\nagent    {}", clean(&answer.text, 600));
    if scripted {
        let _ = writeln!(
            out,
            "note     scripted turns prove the chain, not a model's accuracy"
        );
    }
    let _ = writeln!(out, "{counts}");
    Ok(if answer.is_from_evidence() {
        Exit::Success
    } else {
        Exit::NotVerified
    })
}
