//! `--trace` and `jev trace`: where trajectories are written, and how they are looked at.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use jev_agent::trajectory::{
    self, Body, CandidateLine, Judge, KeepInputs, KeepPictures, Note, TraceEvent, TraceOptions,
    Trajectory,
};
use jev_core::redact::{Hidden, Redactor};
use jev_judge::credential::Secret;

use crate::error::UsageError;
use crate::exit_code::Exit;
use crate::output::Form;
use crate::story::clean;

/// Most characters of a text in one line.
const SHOWN: usize = 100;

/// The options of every command that makes runs.
#[derive(Debug, Default, Args)]
pub(crate) struct TraceArgs {
    /// Write the run down in a new folder inside this one, with everything that looks like a secret
    /// taken out; see `jev trace`.
    #[arg(long, value_name = "DIR")]
    pub trace: Option<PathBuf>,
    /// Where runs are written down: also keep the raw inputs, which replaying the run needs. They
    /// hold everything every page said. Only you can read the file.
    #[arg(long)]
    pub trace_inputs: bool,
    /// Where runs are written down: also keep a picture of every page, under its SHA-256. Pictures
    /// are not redacted: they show whatever the page shows. Only you can read the files.
    #[arg(long)]
    pub trace_pictures: bool,
}

impl TraceArgs {
    /// Where runs are written down: the folder named, else the one configured.
    pub(crate) fn folder<'a>(
        &'a self,
        configured: Option<&'a Path>,
    ) -> Result<Option<&'a Path>, UsageError> {
        match self.trace.as_deref().or(configured) {
            None if self.trace_inputs || self.trace_pictures => Err(UsageError::TraceNowhere),
            folder => Ok(folder),
        }
    }

    /// What is kept, in this folder.
    pub(crate) fn options(&self, folder: &Path) -> TraceOptions {
        let mut options = TraceOptions::new(folder);
        if self.trace_inputs {
            options.inputs = KeepInputs::Raw;
        }
        if self.trace_pictures {
            options.pictures = KeepPictures::Yes;
        }
        options
    }

    /// The trajectory, when one is asked for.
    pub(crate) fn begin(&self, redactor: Redactor) -> Result<Option<Trajectory>, UsageError> {
        let Some(folder) = self.folder(None)? else {
            return Ok(None);
        };
        let trajectory = Trajectory::create(&self.options(folder), redactor)?;
        Ok(Some(trajectory))
    }
}

/// Knows every value of the environment whose name says that it is a secret.
pub(crate) fn redactor() -> Redactor {
    const SIGNS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];
    let mut redactor = Redactor::new();
    for (name, value) in std::env::vars_os() {
        let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else {
            continue;
        };
        let name = name.to_uppercase();
        if value.len() >= 8 && SIGNS.iter().any(|sign| name.contains(sign)) {
            redactor.hide(value, Hidden::Credential);
        }
    }
    redactor
}

/// The same, with keys that need not stand in the environment, or stand there under any name.
pub(crate) fn redactor_hiding<'a>(keys: impl IntoIterator<Item = &'a Secret>) -> Redactor {
    let mut redactor = redactor();
    for key in keys {
        key.hide_in(&mut redactor);
    }
    redactor
}

/// Says where a trajectory is, or why it is not whole.
pub(crate) fn tell(trajectory: Option<&Trajectory>) {
    let Some(trajectory) = trajectory else {
        return;
    };
    match trajectory.failure() {
        None => aside!("trace: {}", trajectory.folder().display()),
        Some(kind) => aside!(
            "trace: {} ends early: {kind}",
            trajectory.folder().display()
        ),
    }
}

/// `jev trace`.
#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// List the trajectories in a folder, oldest first.
    List {
        /// The folder that --trace named.
        dir: PathBuf,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Show one trajectory as a story.
    Show {
        /// Its folder, or the file in it.
        run: PathBuf,
        /// Its events as they are written, one JSON object a line.
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
pub(crate) fn trace(command: &TraceCommand) -> Result<Exit, UsageError> {
    let mut out = std::io::stdout().lock();
    match command {
        TraceCommand::List { dir, json } => list(&mut out, dir, Form::from(*json)),
        TraceCommand::Show { run, json } => show(&mut out, run, Form::from(*json)),
    }
}

fn list(out: &mut impl Write, dir: &Path, form: Form) -> Result<Exit, UsageError> {
    let found = trajectory::list(dir)?;
    for summary in &found {
        let result = summary.result.as_ref().map(|result| result.as_str());
        let line = if form == Form::Json {
            serde_json::json!({
                "id": summary.id,
                "result": result,
                "started": summary.started,
                "bytes": summary.bytes,
                "goal": summary.goal,
            })
            .to_string()
        } else {
            format!(
                "{}  {:<18}  {:>7} kB  {}",
                summary.id,
                result.unwrap_or("(unfinished)"),
                summary.bytes.div_ceil(1024),
                clean(&summary.goal, SHOWN),
            )
        };
        // A reader that went away is no failure.
        let _ = writeln!(out, "{line}");
    }
    if found.is_empty() && form == Form::Lines {
        let _ = writeln!(out, "no trajectories in {}", dir.display());
    }
    Ok(Exit::Success)
}

fn show(out: &mut impl Write, run: &Path, form: Form) -> Result<Exit, UsageError> {
    let reading = trajectory::read(run)?;
    if form == Form::Lines {
        let _ = writeln!(out, "trajectory {}", reading.id);
    }
    for event in &reading.events {
        let line = if form == Form::Json {
            serde_json::to_string(event).unwrap_or_default()
        } else {
            story(event)
        };
        let _ = writeln!(out, "{line}");
    }
    let ended = matches!(
        reading.events.last().map(|event| &event.body),
        Some(Body::End(_))
    );
    if form == Form::Lines && !ended {
        let _ = writeln!(out, "the writer died here, or still writes");
    }
    Ok(Exit::Success)
}

/// One event on one line.
fn story(event: &TraceEvent) -> String {
    let at = event.at_us as f64 / 1e6;
    format!("{at:9.3}s  {:<8} {}", event.body.name(), words(&event.body))
}

fn words(body: &Body) -> String {
    match body {
        Body::Plan(plan) => {
            let mut text = format!(
                "{}: \u{201c}{}\u{201d} from {} ({}, {} steps, {} ms)",
                plan.mode.as_str(),
                clean(plan.goal.as_str(), SHOWN),
                clean(plan.start.as_str(), SHOWN),
                clean(plan.judge.as_str(), SHOWN),
                plan.steps,
                plan.budget_ms,
            );
            for (number, objective) in (1..).zip(&plan.objectives) {
                text.push_str(&format!(
                    "\n{:21}{number}. {}",
                    "",
                    clean(objective.as_str(), SHOWN)
                ));
            }
            text
        }
        Body::Observe(look) => match &look.page {
            Some(page) => format!(
                "{} {} \u{2014} {} ({} candidates, {} characters more than shown)\n{:21}{}",
                look.document,
                clean(page.title.as_str(), SHOWN),
                clean(look.url.as_str(), SHOWN),
                page.candidates.len() as u64 + page.candidates_more,
                page.text_more,
                "",
                clean(page.text.as_str(), SHOWN),
            ),
            None => format!(
                "{} {} (as before)",
                look.document,
                clean(look.url.as_str(), SHOWN)
            ),
        },
        Body::Judge(judge) => judge_words(judge),
        Body::Intent(intent) => format!(
            "#{} {}{}",
            intent.intent,
            intent.operation.as_str(),
            target(intent.target.as_ref())
        ),
        Body::Receipt(receipt) => format!(
            "#{} {}: {}",
            receipt.intent,
            receipt.receipt.as_str(),
            receipt.detail.as_str()
        ),
        Body::Verify(verify) => {
            let mut text = verify.verdict.as_str().to_owned();
            if let Some(reason) = &verify.reason {
                text.push_str(&format!(" ({})", reason.as_str()));
            }
            for piece in &verify.evidence {
                text.push_str(&format!(
                    " \u{201c}{}\u{201d}",
                    clean(piece.quote.as_str(), SHOWN)
                ));
            }
            text
        }
        Body::Recover(recover) => recover.what.as_str().to_owned(),
        Body::Note(note) => note_words(note),
        Body::End(end) => {
            let mut text = end.result.as_str().to_owned();
            if let Some(status) = &end.status
                && status.as_str() != end.result.as_str()
            {
                text.push_str(&format!(" ({})", status.as_str()));
            }
            if let Some(cause) = &end.cause {
                text.push_str(&format!(": {}", clean(cause.as_str(), SHOWN)));
            }
            text.push_str(&format!(
                " \u{2014} {} steps, {} recoveries, {} judge calls, {} ms",
                end.steps, end.recoveries, end.judge_calls, end.elapsed_ms
            ));
            text
        }
    }
}

fn judge_words(judge: &Judge) -> String {
    match judge {
        Judge::Asked {
            candidates,
            operations,
            ..
        } => format!(
            "asked over {candidates} candidates and {} operations",
            operations.len()
        ),
        Judge::Narrowed { from, to } => format!("narrowed {from} candidates to {to}"),
        Judge::Proposed(proposed) => format!(
            "{}{} (p {:.2}, gate {:.2}{})",
            proposed.operation.as_str(),
            target(proposed.target.as_ref()),
            proposed.p,
            proposed.statistic,
            if proposed.passed { "" } else { ", too weak" }
        ),
        Judge::Failed { error } => clean(error.as_str(), SHOWN),
    }
}

fn note_words(note: &Note) -> String {
    match note {
        Note::Opened => "session open".to_owned(),
        Note::Step { number, objective } => {
            format!("step {number}: {}", clean(objective.as_str(), SHOWN))
        }
        Note::Waited { changed: true } => "waited; the page changed".to_owned(),
        Note::Waited { changed: false } => "waited; nothing changed".to_owned(),
        Note::HostWaited { outcome } => format!("the host waited: {}", outcome.as_str()),
        Note::HostLookRefused => "the host looked at a page that is not allowed".to_owned(),
        Note::Ignored { input } => format!("ignored a late {}", input.as_str()),
        Note::SessionFailed { error } => clean(error.as_str(), SHOWN),
        Note::Ending { status } => format!("ending as {}", status.as_str()),
        Note::Closed {
            outcome,
            allowed,
            refused,
        } => format!(
            "closed ({}); {allowed} requests answered, {refused} refused",
            outcome.as_str()
        ),
        Note::Full => "the size limit was reached; what follows is missing".to_owned(),
    }
}

fn target(target: Option<&CandidateLine>) -> String {
    target
        .map(|target| format!(" \u{201c}{}\u{201d}", clean(target.label.as_str(), SHOWN)))
        .unwrap_or_default()
}
