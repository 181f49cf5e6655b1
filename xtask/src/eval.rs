//! `cargo xtask eval`: task suites in a real Chromium, scored.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use jev_agent::CancellationToken;
use jev_core::contract::{Layout, Reach, VerifyFirst};
use jev_core::limits::{Limits, STEPS};
use jev_eval::locate::SiteFolders;
use jev_eval::report::{self, SuiteReport};
use jev_eval::score::Outcome;
use jev_eval::suite::{self, AgentRunner, Contestant, Settings};
use jev_eval::task::{self, Task};
use jev_judge::spec::{BuildOptions, JudgeSpec};
use jev_session_cdp::{CdpSessionFactory, SessionOptions};

use crate::run::Failure;
use crate::{repo, run, setup};

/// Options of `cargo xtask eval`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    instead: Option<Instead>,
    /// Who decides: `oracle`, or anything that `jev read --judge` takes. Repeatable.
    #[arg(long, value_name = "JUDGE", default_value = "oracle")]
    judge: Vec<String>,
    /// The task file.
    #[arg(long, value_name = "FILE")]
    tasks: Option<PathBuf>,
    /// Only tasks whose id holds this text. Repeatable.
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Whether links and text come from the window or from the whole document.
    #[arg(long, value_enum, default_value_t = ReachArg::Document)]
    reach: ReachArg,
    /// One question over all actions, or two.
    #[arg(long, value_enum, default_value_t = LayoutArg::Flat)]
    layout: LayoutArg,
    /// Whether every new page is verified before the judge is asked.
    #[arg(long, value_enum, default_value_t = VerifyFirstArg::On)]
    verify_first: VerifyFirstArg,
    /// Seconds that one run may take.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=600))]
    budget: u64,
    /// Judged steps of one run. A window's height a scroll takes many on long pages.
    #[arg(long, default_value_t = STEPS.default, value_parser = clap::value_parser!(u32).range(1..=64))]
    max_steps: u32,
    /// Write all reports to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Other evaluations than task suites.
#[derive(Clone, Copy, clap::Subcommand)]
enum Instead {
    /// Which of a page's links each way of ranking puts first, on fixtures/link-choice/set.jsonl.
    LinkChoice,
}

#[derive(Clone, Copy, ValueEnum)]
enum ReachArg {
    /// What the window shows.
    Viewport,
    /// The whole rendered document.
    Document,
}

#[derive(Clone, Copy, ValueEnum)]
enum LayoutArg {
    /// One question.
    Flat,
    /// Two questions.
    TwoHead,
}

#[derive(Clone, Copy, ValueEnum)]
enum VerifyFirstArg {
    /// Yes.
    On,
    /// Only claims of being done are verified.
    Off,
}

/// `cargo xtask eval`.
pub(crate) fn command(arguments: &Arguments) -> Result<(), Failure> {
    let embedded =
        arguments.instead.is_some() || arguments.judge.iter().any(|name| name.contains("embedded"));
    if embedded && !cfg!(feature = "embedded") {
        return with_embedded();
    }
    // What is missing has been said; a task that needs it ends the suite and says it again.
    setup::prepare()?;
    if let Some(Instead::LinkChoice) = arguments.instead {
        return link_choice();
    }
    let tasks = tasks(arguments)?;
    let settings = Settings {
        reach: match arguments.reach {
            ReachArg::Viewport => Reach::Viewport,
            ReachArg::Document => Reach::Document,
        },
        layout: match arguments.layout {
            LayoutArg::Flat => Layout::Flat,
            LayoutArg::TwoHead => Layout::TwoHead,
        },
        verify_first: match arguments.verify_first {
            VerifyFirstArg::On => VerifyFirst::On,
            VerifyFirstArg::Off => VerifyFirst::Off,
        },
        budget: Duration::from_secs(arguments.budget),
        limits: Limits {
            steps: arguments.max_steps,
            ..Limits::default()
        },
        ..Settings::default()
    };
    let contestants: Result<Vec<_>, _> = arguments
        .judge
        .iter()
        .map(|name| contestant(name))
        .collect();
    let contestants = contestants?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Unreadable {
            what: format!("no runtime: {error}"),
        })?;
    let folders = folders(arguments);
    let mut reports = Vec::new();
    for contestant in &contestants {
        let outcome = runtime.block_on(one(&tasks, &folders, contestant, &settings))?;
        println!("\n{}", outcome.sums());
        reports.push(outcome);
    }
    if let Some(file) = &arguments.json {
        let text = serde_json::to_string_pretty(&reports).map_err(|error| Failure::Unreadable {
            what: error.to_string(),
        })?;
        fs::write(file, text + "\n").map_err(|error| Failure::file(file, error))?;
    }
    verdict(&reports)
}

/// The machinery itself: an oracle that knows the way must reach every answer, and where there is
/// none its claim must be refused.
pub(crate) fn oracle() -> Result<(), Failure> {
    command(&run::unnamed()?)
}

/// Starts this program again, built with the embedded judge.
pub(crate) fn with_embedded() -> Result<(), Failure> {
    run::again("with the embedded judge", &["--features", "embedded"])
}

/// Makes the tables of `docs/judges.md`.
#[cfg(feature = "embedded")]
fn link_choice() -> Result<(), Failure> {
    use jev_judge::embedded::{Model, Weights, linkset};
    let unreadable = |what: String| Failure::Unreadable { what };
    let file = repo::root().join("fixtures/link-choice/set.jsonl");
    let text = fs::read_to_string(&file).map_err(|error| Failure::file(&file, error))?;
    let set = linkset::read_set(&text).map_err(|error| unreadable(error.to_string()))?;
    let weights = Weights::locate().map_err(|error| unreadable(error.to_string()))?;
    let model = Model::load(&weights).map_err(|error| unreadable(error.to_string()))?;
    eprintln!(
        "eval: ranking {} goals in every way, about a minute",
        set.len()
    );
    let table = linkset::measure(&set, &model).map_err(|error| unreadable(error.to_string()))?;
    println!("{table}");
    Ok(())
}

#[cfg(not(feature = "embedded"))]
fn link_choice() -> Result<(), Failure> {
    with_embedded()
}

async fn one(
    tasks: &[Task],
    folders: &SiteFolders,
    contestant: &Contestant,
    settings: &Settings,
) -> Result<SuiteReport, Failure> {
    let factory = Arc::new(CdpSessionFactory::new(SessionOptions::default()));
    let runner = AgentRunner::new(factory, CancellationToken::new());
    println!("\n{}", report::header());
    let trials = suite::run(
        tasks,
        folders,
        contestant,
        settings,
        &runner,
        &mut |trial| {
            println!("{}", report::row(trial));
        },
    )
    .await
    .map_err(|error| Failure::Unreadable {
        what: error.to_string(),
    })?;
    Ok(SuiteReport::new(contestant.name(), settings.reach, trials))
}

fn tasks(arguments: &Arguments) -> Result<Vec<Task>, Failure> {
    let path = arguments.tasks.clone().unwrap_or_else(repo::tasks);
    let mut tasks = task::load(&path).map_err(|error| Failure::Unreadable {
        what: format!("{}: {error}", path.display()),
    })?;
    if !arguments.only.is_empty() {
        tasks.retain(|task| arguments.only.iter().any(|part| task.id.contains(part)));
    }
    if tasks.is_empty() {
        return Err(Failure::Unreadable {
            what: "no task has such an id".to_owned(),
        });
    }
    Ok(tasks)
}

/// Sites without a package lie beside the task file that names them.
fn folders(arguments: &Arguments) -> SiteFolders {
    match arguments.tasks.as_deref().and_then(|file| file.parent()) {
        Some(own) => SiteFolders::new(repo::sites(), own),
        None => setup::folders(),
    }
}

fn contestant(name: &str) -> Result<Contestant, Failure> {
    if name == "oracle" {
        return Ok(Contestant::Oracle);
    }
    let unusable = |error: jev_core::error::JudgeError| Failure::Unreadable {
        what: error.to_string(),
    };
    let judge = JudgeSpec::parse(name)
        .and_then(|spec| spec.build(&BuildOptions::default()))
        .map_err(unusable)?;
    Ok(Contestant::Judge(judge))
}

/// What no judge may do, and what the oracle must.
fn verdict(reports: &[SuiteReport]) -> Result<(), Failure> {
    let mut faults = Vec::new();
    for report in reports {
        if report.score.false_successes > 0 {
            faults.push(format!(
                "{}: {} false successes",
                report.judge, report.score.false_successes
            ));
        }
        let missed = report
            .trials
            .iter()
            .filter(|trial| trial.outcome == Outcome::Missed)
            .count();
        if report.judge == "oracle" && missed > 0 {
            faults.push(format!("the oracle missed {missed} tasks"));
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(Failure::Unreadable {
        what: faults.join("; "),
    })
}
