//! `jev read`: prepare, run, tell.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use jev_agent::trajectory::Trajectory;
use jev_agent::{CancellationToken, Observer, Observers, Ports};
use jev_core::ids::RunId;
use jev_core::ports::{JudgeIdentity, SessionFactory};
use jev_core::report::Report;
use jev_session_cdp::CdpSessionFactory;
use serde::Serialize;

use crate::args::ReadArgs;
use crate::error::UsageError;
use crate::exit_code::Exit;
use crate::interrupt;
use crate::output::Output;
use crate::prepare::{Prepared, prepare};
use crate::story::Story;
use crate::trace;

/// How long a running browser may take to be attached to.
const CONNECT: Duration = Duration::from_secs(5);

/// Runs the command.
pub(crate) fn read(args: &ReadArgs) -> Result<Exit, UsageError> {
    let mut prepared = prepare(args)?;
    let report_file = prepared.report_file.take();
    let mut trajectory = prepared.trajectory.take();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(UsageError::Runtime)?;
    let identity = prepared.chosen.judge.identity();
    let report = runtime.block_on(run(args, &prepared, &identity, trajectory.as_mut()));
    trace::tell(trajectory.as_ref());
    if args.json {
        let price = prepared.chosen.price;
        let output = Output::new(&report, &identity, price, &prepared.notices);
        let output = serde_json::to_value(&output).unwrap_or_default();
        let text = prepared.chosen.hiding.value(output).to_string();
        // A reader that went away is no failure of the run.
        let _ = writeln!(std::io::stdout(), "{text}");
    }
    if let (Some(mut file), Some(path)) = (report_file, args.report.as_deref())
        && let Err(error) = write_report(&mut file, &report, &prepared, &identity)
    {
        // How the run ended stands whatever becomes of the file, and so does its exit code.
        aside!("jev: report {} is not whole: {error}", path.display());
    }
    crate::ending::end(runtime);
    Ok(Exit::from(report.status))
}

async fn run(
    args: &ReadArgs,
    prepared: &Prepared,
    identity: &JudgeIdentity,
    mut trajectory: Option<&mut Trajectory>,
) -> Report {
    let factory = CdpSessionFactory::new(prepared.session.clone());
    if prepared.session.connect.is_some()
        && let Err(error) = factory.warm(CONNECT).await
    {
        // The run ends with its status all the same; what is to be done is said here.
        aside!("jev: connect: {error}");
    }
    let factory: Arc<dyn SessionFactory> = Arc::new(factory);
    let ports = Ports {
        factory: Trajectory::watch(trajectory.as_deref(), factory),
        judge: Arc::clone(&prepared.chosen.judge),
        verifier: Arc::clone(&prepared.verifier),
    };
    let cancel = CancellationToken::new();
    let watcher = interrupt::watch(cancel.clone());
    let id = RunId(u64::from(std::process::id()));
    let contract = prepared.contract.clone();
    if let Some(trajectory) = &mut trajectory {
        trajectory.begin_run(id, &contract, identity, &[]);
    }
    let traced = trajectory
        .as_deref_mut()
        .map(|trajectory| trajectory as &mut dyn Observer);
    let report = if args.json {
        for notice in &prepared.notices {
            aside!("note: {notice}");
        }
        let mut observers = Observers::new().with(traced);
        jev_agent::run(id, contract, &ports, &mut observers, &cancel).await
    } else {
        let out = prepared.chosen.hiding.lines(std::io::stdout());
        let mut story = Story::begin(out, &contract, identity, &prepared.notices);
        let mut observers = Observers::new().with(Some(&mut story)).with(traced);
        let report = jev_agent::run(id, contract, &ports, &mut observers, &cancel).await;
        drop(observers);
        story.end(&report, prepared.chosen.price);
        report
    };
    watcher.abort();
    if let Some(trajectory) = trajectory {
        trajectory.end_run(&report);
    }
    report
}

#[derive(Serialize)]
struct Written<'a> {
    contract: &'a jev_core::contract::Contract,
    judge: &'a JudgeIdentity,
    /// What the judge's tokens cost; null without a price.
    cost: Option<f64>,
    report: &'a Report,
}

fn write_report(
    file: &mut File,
    report: &Report,
    prepared: &Prepared,
    judge: &JudgeIdentity,
) -> std::io::Result<()> {
    let written = Written {
        contract: &prepared.contract,
        judge,
        cost: prepared
            .chosen
            .price
            .map(|price| price.of(report.spent.usage)),
        report,
    };
    let written = prepared
        .chosen
        .hiding
        .value(serde_json::to_value(&written)?);
    // A pipe or a device has no length.
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    serde_json::to_writer_pretty(&mut *file, &written)?;
    file.write_all(b"\n")?;
    file.sync_all()
}
