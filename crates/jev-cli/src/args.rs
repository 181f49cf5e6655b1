//! The command line: what can be said, and what it means when nothing is said. Values are read as
//! text where clap's own message would not name the way out.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::demo::DemoArgs;
use crate::doctor::DoctorArgs;
use crate::init::InitArgs;
use crate::judge::{JudgeArgs, JudgeCommand};
use crate::mcp::McpArgs;
use crate::memory::MemoryCommandArgs;
use crate::task::TaskCommand;
use crate::trace::{TraceArgs, TraceCommand};

/// Read the web through a bounded, evidence-gated loop.
///
/// A cheap decision model only chooses among what the page shows; an independent verifier alone
/// may say VERIFIED.
#[derive(Debug, Parser)]
#[command(name = "jev", version, propagate_version = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find the answer to a goal on web pages, starting from one page.
    Read(Box<ReadArgs>),
    /// Install, serve or ask a judge.
    #[command(subcommand)]
    Judge(JudgeCommand),
    /// Offer the reading tools of a configuration to agents, over the Model Context Protocol.
    Mcp(Box<McpArgs>),
    /// Check what runs need: browser, judge, key, start pages.
    Doctor(DoctorArgs),
    /// Write a commented configuration and try it.
    Init(InitArgs),
    /// Look at runs that were written down with --trace.
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Carry out task files: plan, execute, verify, recover.
    #[command(subcommand)]
    Task(TaskCommand),
    /// Look at what has been learnt, and correct it.
    Memory(MemoryCommandArgs),
    /// Show the whole chain at work: a chat model asks, the loop reads, the verifier confirms.
    Demo(DemoArgs),
}

/// `jev read`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 VERIFIED; 2 usage or contract; 3 ended without verification; 4 a budget or limit;
5 judge; 6 browser; 7 an action's outcome is unknown; 8 outside the scope; 10 OBSERVED (off, shadow);
130 cancelled. Details: docs/statuses.md.

Example:
  jev read --start http://127.0.0.1:8000/help/ --goal 'How long is the warranty?' --expect '\\d+ months'")]
pub(crate) struct ReadArgs {
    /// The page to start on.
    #[arg(long, value_name = "URL")]
    pub start: String,
    /// A page that may be stood on: exact URL, prefix ending in `*`, or origin. Repeatable.
    /// Without it: the start page's folder.
    #[arg(long, value_name = "PATTERN")]
    pub allow: Vec<String>,
    /// What to find, in your own words, in any language.
    #[arg(long, value_name = "TEXT")]
    pub goal: String,
    /// A regular expression that the page's visible text must match. Repeatable; all must match.
    /// Without it nothing can be VERIFIED.
    #[arg(long, value_name = "REGEX")]
    pub expect: Vec<String>,
    /// The address the answer must stand at: exact URL, prefix ending in `*`, or origin.
    #[arg(long, value_name = "PATTERN")]
    pub expect_url: Option<String>,
    /// Who decides.
    #[command(flatten)]
    pub judge: JudgeArgs,
    /// How far the run goes.
    #[arg(long, value_enum, default_value_t = ModeArg::Enforce)]
    pub mode: ModeArg,
    /// How strong a choice must be, 0.55 to 1. Default: 0.8 for probability, 0.55 for share.
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    pub threshold: Option<String>,
    /// What is compared with the threshold. Default: share for judges that rank (lexical,
    /// embedded), probability for all others.
    #[arg(long, value_enum)]
    pub gate: Option<GateArg>,
    /// Whether links and text come from the window or from the whole document.
    #[arg(long, value_enum, default_value_t = ReachArg::Document)]
    pub reach: ReachArg,
    /// One question over all actions, or two (operation, target).
    #[arg(long, value_enum, default_value_t = LayoutArg::Flat)]
    pub layout: LayoutArg,
    /// One clock for the whole run, up to 10m.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "10s",
        allow_hyphen_values = true
    )]
    pub budget: String,
    /// Judged steps, 1 to 64. Default: 8.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub max_steps: Option<String>,
    /// Stale pages in a row, 0 to 8. Default: 2.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub max_stale: Option<String>,
    /// Actions in a row without a new page state, 1 to 8. Default: 3.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub max_no_progress: Option<String>,
    /// Characters of one request to the judge, 100 to 100000. Default: 32000.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub max_state_chars: Option<String>,
    /// Candidates in one question to the judge, 1 to 254; more are narrowed down first. A small
    /// server takes few: 15 for one of 26 options. Default: 128.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub max_candidates: Option<String>,
    /// The browser to use. Default: found by search; JEV_CHROME names one too.
    #[arg(long, value_name = "PATH")]
    pub chrome: Option<PathBuf>,
    /// Use a running browser of this machine instead of starting one: http://127.0.0.1:PORT or
    /// ws://127.0.0.1:PORT/devtools/browser/ID (started with --remote-debugging-port=PORT). Only a
    /// context of its own is used there, and the network boundary is weaker: docs/security.md.
    #[arg(long, value_name = "URL")]
    pub connect: Option<String>,
    /// Let names on the list stand for addresses of a private network, as sites of an intranet do.
    /// Without it only addresses in numbers and `localhost` lead there.
    #[arg(long)]
    pub private_names: bool,
    /// Read pages without running their scripts.
    #[arg(long)]
    pub no_page_scripts: bool,
    /// Write the whole report to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Print one JSON object instead of the story.
    #[arg(long)]
    pub json: bool,
    /// Whether the run is written down.
    #[command(flatten)]
    pub trace: TraceArgs,
}

/// See [`jev_core::contract::Mode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Read the first page once; the judge is not asked.
    Off,
    /// As off, and ask the judge once for the record.
    Shadow,
    /// The whole loop.
    Enforce,
}

/// See [`jev_core::gate::GateKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GateArg {
    /// The chosen option's probability.
    Probability,
    /// The chosen option's share against the runner-up.
    Share,
}

/// See [`jev_core::contract::Reach`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReachArg {
    /// What the window shows.
    Viewport,
    /// The whole rendered document.
    Document,
}

/// See [`jev_core::contract::Layout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutArg {
    /// One question.
    Flat,
    /// Two questions.
    TwoHead,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use jev_core::limits::{CANDIDATES, NO_PROGRESS, STALE, STATE_CHARS, STEPS};

    #[test]
    fn the_help_says_the_limits_own_ranges_and_defaults() {
        let command = Cli::command();
        let read = command.find_subcommand("read").unwrap();
        for (flag, bound) in [
            ("max-steps", STEPS),
            ("max-stale", STALE),
            ("max-no-progress", NO_PROGRESS),
            ("max-state-chars", STATE_CHARS),
            ("max-candidates", CANDIDATES),
        ] {
            let argument = read
                .get_arguments()
                .find(|argument| argument.get_long() == Some(flag))
                .unwrap();
            let help = argument
                .get_long_help()
                .or(argument.get_help())
                .unwrap()
                .to_string();
            for says in [
                format!("{} to {}", bound.min, bound.max),
                format!("Default: {}", bound.default),
            ] {
                assert!(help.contains(&says), "{flag}: {help}");
            }
        }
    }
}
