//! `cargo xtask bench step`: our step beside the floor's, in turn, on a tiny page and on 300 nodes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jev_agent::{CancellationToken, Observers, Ports};
use jev_core::access::{AccessList, AccessPattern};
use jev_core::action::{Action, Operation};
use jev_core::contract::{ContractDraft, Goal, Mode, Reach};
use jev_core::ids::{IntentId, RunId, Scope};
use jev_core::permit::Permit;
use jev_core::policy::ActionPolicy;
use jev_core::ports::{OpenRequest, Session, SessionFactory};
use jev_core::receipt::{AppliedEffect, Receipt};
use jev_core::status::Status;
use jev_eval::site::Site;
use jev_judge::scripted::{ScriptedDecision, ScriptedJudge};
use jev_session_cdp::find::{Preference, find};
use jev_session_cdp::{CdpSessionFactory, SessionOptions};
use jev_verify::VerifierSpec;
use serde::Serialize;

use super::floor::RawChrome;
use super::{Figures, failed};
use crate::repo;
use crate::run::{self, Failure};

const BOUND: Duration = Duration::from_secs(30);

/// Options of `cargo xtask bench step`.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Steps of each kind on each page.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(5..=1000))]
    repeats: u32,
    /// The browser; none: found by search.
    #[arg(long, value_name = "PATH")]
    chrome: Option<PathBuf>,
    /// Also measure the headless_chrome crate (its build takes minutes).
    #[arg(long)]
    baseline: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The page that can change by itself.
const SCRIPTED: &str = "300 nodes and a script";
/// What a step may cost, in raw floors.
const BOUND_RATIO: f64 = 1.5;

#[derive(Serialize)]
struct Row {
    page: &'static str,
    floor: Figures,
    step: Figures,
    ratio_of_medians: f64,
    ratio_of_minima: f64,
    observe: Part,
    dispatch: Part,
    click_to_settled: Part,
    settle_and_observe: Figures,
    baseline: Option<Figures>,
}

/// A part of a step, or a whole run, beside the least that the raw protocol needs for the same.
#[derive(Serialize)]
struct Part {
    ours: Figures,
    floor: Figures,
    ratio_of_medians: f64,
    ratio_of_minima: f64,
}

impl Part {
    fn of(ours: &[Duration], floor: &[Duration]) -> Self {
        let (ours, floor) = (Figures::of(ours), Figures::of(floor));
        Self {
            ours,
            floor,
            ratio_of_medians: ours.median / floor.median,
            ratio_of_minima: ours.min / floor.min,
        }
    }
}

#[derive(Serialize)]
struct StepReport {
    browser: String,
    repeats: u32,
    rows: Vec<Row>,
    /// Two hops through the whole navigator, an exclusive context opened and closed included,
    /// beside two raw steps in a tab that is there already.
    whole_run: Part,
    open_cold: f64,
    open_warm: Figures,
    close: Figures,
}

pub(super) fn command(arguments: &Arguments) -> Result<(), Failure> {
    let runtime = tokio::runtime::Runtime::new().map_err(failed)?;
    runtime.block_on(measure(arguments))
}

async fn measure(arguments: &Arguments) -> Result<(), Failure> {
    let chrome = find(arguments.chrome.as_deref(), Preference::default()).map_err(failed)?;
    let folder = tempfile::tempdir().map_err(failed)?;
    write_pages(folder.path()).map_err(failed)?;
    let site = Site::serve(folder.path()).await.map_err(failed)?;
    let factory = CdpSessionFactory::new(SessionOptions {
        chrome: Some(chrome.program.clone()),
        keep: jev_session_cdp::Keep::UntilClosed,
        ..SessionOptions::default()
    });
    let begun = Instant::now();
    let first = open(&factory, &site, "tiny-a.html").await?;
    let open_cold = begun.elapsed().as_secs_f64() * 1_000.0;
    first.close(BOUND).await;
    let mut rows = Vec::new();
    for (page, start) in [
        ("tiny page", "tiny-a.html"),
        ("300 nodes", "wide-a.html"),
        (SCRIPTED, "scripted-a.html"),
    ] {
        rows.push(row(arguments, &factory, &site, &chrome.program, page, start).await?);
    }
    let whole_run = whole_run(arguments, &factory, &site, &chrome.program).await?;
    let (mut opened, mut closed) = (Vec::new(), Vec::new());
    for _ in 0..10 {
        let begun = Instant::now();
        let session = open(&factory, &site, "tiny-a.html").await?;
        opened.push(begun.elapsed());
        let begun = Instant::now();
        session.close(BOUND).await;
        closed.push(begun.elapsed());
    }
    factory.close(BOUND).await;
    site.stop().await;
    let report = StepReport {
        browser: chrome
            .program
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        repeats: arguments.repeats,
        rows,
        whole_run,
        open_cold,
        open_warm: Figures::of(&opened),
        close: Figures::of(&closed),
    };
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&report).map_err(failed)?);
    } else {
        print(&report);
    }
    Ok(())
}

async fn open(
    factory: &CdpSessionFactory,
    site: &Site,
    page: &str,
) -> Result<Arc<dyn Session>, Failure> {
    let start = site.url(page).map_err(failed)?;
    let request = OpenRequest {
        scope: Scope::new("bench", "bench", "tab").map_err(failed)?,
        access: AccessList::new(vec![AccessPattern::folder_of(&start)]).map_err(failed)?,
        start,
        actions: ActionPolicy::read_only(),
        reach: Reach::Document,
    };
    factory.open(request, BOUND).await.map_err(failed)
}

/// Ours and the floor's steps in turn, so that a machine that slows down slows both.
async fn row(
    arguments: &Arguments,
    factory: &CdpSessionFactory,
    site: &Site,
    program: &Path,
    page: &'static str,
    start: &'static str,
) -> Result<Row, Failure> {
    let url = site.url(start).map_err(failed)?;
    let mut raw = RawChrome::launch(program)?;
    raw.open(url.as_str())?;
    let session = open(factory, site, start).await?;
    session.observe(BOUND).await.map_err(failed)?;
    let (mut floor, mut step) = (Vec::new(), Vec::new());
    let (mut observe, mut act, mut settle) = (Vec::new(), Vec::new(), Vec::new());
    let (mut click, mut raw_look) = (Vec::new(), Vec::new());
    let (mut raw_commit, mut raw_click) = (Vec::new(), Vec::new());
    for number in 0..arguments.repeats {
        floor.push(raw.step()?);
        raw_look.push(raw.look()?);
        let clicked = raw.click()?;
        raw_commit.push(clicked.committed);
        raw_click.push(clicked.parsed);
        let begun = Instant::now();
        let page = session.observe(BOUND).await.map_err(failed)?;
        let looked = begun.elapsed();
        let target = page
            .candidates
            .first()
            .cloned()
            .ok_or_else(|| failed("the page shows no link"))?;
        let permit = Permit::for_testing(
            IntentId(u64::from(number) + 1),
            &page,
            Action::Click { target },
        );
        let receipt = session.dispatch(permit, BOUND).await.map_err(failed)?;
        let acted = begun.elapsed();
        if receipt != Receipt::Applied(AppliedEffect::Navigated) {
            return Err(failed(format!("a click ended as {receipt:?}")));
        }
        session.observe(BOUND).await.map_err(failed)?;
        let whole = begun.elapsed();
        step.push(whole);
        observe.push(looked);
        act.push(acted - looked);
        settle.push(whole - acted);
        click.push(whole - looked);
    }
    session.close(BOUND).await;
    drop(raw);
    let baseline = match arguments.baseline {
        true => Some(baseline(program, url.as_str(), arguments.repeats)?),
        false => None,
    };
    let (floor, step) = (Figures::of(&floor), Figures::of(&step));
    Ok(Row {
        page,
        floor,
        step,
        ratio_of_medians: step.median / floor.median,
        ratio_of_minima: step.min / floor.min,
        observe: Part::of(&observe, &raw_look),
        dispatch: Part::of(&act, &raw_commit),
        click_to_settled: Part::of(&click, &raw_click),
        settle_and_observe: Figures::of(&settle),
        baseline,
    })
}

/// Runs of two hops, ours and the floor's in turn.
async fn whole_run(
    arguments: &Arguments,
    factory: &CdpSessionFactory,
    site: &Site,
    program: &Path,
) -> Result<Part, Failure> {
    let start = site.url("run-a.html").map_err(failed)?;
    let mut raw = RawChrome::launch(program)?;
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for number in 0..arguments.repeats.div_ceil(4) {
        floor.push(raw.run(start.as_str(), 2)?);
        let decisions = vec![
            ScriptedDecision::click("Go to b"),
            ScriptedDecision::click("Go to c"),
            ScriptedDecision::operation(Operation::Done),
        ];
        let verifier = VerifierSpec::new().expect_all(["The answer is 42".to_owned()]);
        let ports = Ports {
            factory: Arc::new(factory.clone()),
            judge: Arc::new(ScriptedJudge::new(decisions)),
            verifier: verifier.build().map_err(failed)?,
        };
        let mut draft = ContractDraft::new(
            Goal::new("What is the answer?").map_err(failed)?,
            Scope::new("bench", "run", "tab").map_err(failed)?,
            start.clone(),
            AccessList::new(vec![AccessPattern::folder_of(&start)]).map_err(failed)?,
        );
        draft.mode = Mode::Enforce;
        let contract = draft.check().map_err(failed)?;
        let id = RunId(u64::from(number) + 1);
        let mut observers = Observers::new();
        let begun = Instant::now();
        let cancel = CancellationToken::new();
        let report = jev_agent::run(id, contract, &ports, &mut observers, &cancel).await;
        ours.push(begun.elapsed());
        if !matches!(report.status, Status::Verified(_)) {
            return Err(failed(format!("a run ended as {:?}", report.status)));
        }
    }
    Ok(Part::of(&ours, &floor))
}

/// The same step through the headless_chrome crate, from a package of its own outside the workspace.
fn baseline(program: &Path, url: &str, repeats: u32) -> Result<Figures, Failure> {
    let manifest = repo::root().join("xtask/baseline/Cargo.toml");
    let mut command = run::cargo();
    command
        .args(["run", "--quiet", "--release", "--manifest-path"])
        .arg(manifest)
        .arg("--")
        .arg(program)
        .args([url, &repeats.min(10).to_string()]);
    let output = command.output().map_err(failed)?;
    #[derive(serde::Deserialize)]
    struct Printed {
        step_us: Vec<u64>,
    }
    let printed: Printed = serde_json::from_slice(&output.stdout).map_err(|error| {
        failed(format!(
            "the baseline: {error}: {}",
            String::from_utf8_lossy(&output.stderr)
        ))
    })?;
    let samples: Vec<Duration> = printed
        .step_us
        .into_iter()
        .map(Duration::from_micros)
        .collect();
    Ok(Figures::of(&samples))
}

fn write_pages(folder: &Path) -> std::io::Result<()> {
    let rows: String = (0..98)
        .map(|n| format!("<div class=\"row\"><p>Paragraph {n} of a page with some text.</p><span>note {n}</span></div>\n"))
        .collect();
    // A page that may change by itself is read anew each time.
    let scripted = format!(
        "<script>let seconds = 0; setInterval(() => {{ seconds += 1; }}, 1000);</script>{rows}"
    );
    for (kind, body) in [
        ("tiny", "<p>A tiny page.</p>"),
        ("wide", rows.as_str()),
        ("scripted", scripted.as_str()),
    ] {
        for (name, other) in [("a", "b"), ("b", "a")] {
            let page = format!(
                "<!doctype html><meta charset=\"utf-8\"><title>{kind} {name}</title>\
                 <h1>Page {name}</h1><a href=\"{kind}-{other}.html\">Go to {other}</a>\n{body}"
            );
            std::fs::write(folder.join(format!("{kind}-{name}.html")), page)?;
        }
    }
    for (name, next, body) in [
        ("a", "b", "Nothing here."),
        ("b", "c", "Nor here."),
        ("c", "a", "The answer is 42."),
    ] {
        let page = format!(
            "<!doctype html><meta charset=\"utf-8\"><title>Run {name}</title><h1>Page {name}</h1>\
             <a href=\"run-{next}.html\">Go to {next}</a>\n<p>{body}</p>"
        );
        std::fs::write(folder.join(format!("run-{name}.html")), page)?;
    }
    Ok(())
}

/// The bound is for pages that can't change by themselves, as the floor's are. Any other must show
/// that it is quiet.
fn verdict(row: &Row) -> &'static str {
    match (row.page == SCRIPTED, row.ratio_of_medians <= BOUND_RATIO) {
        (true, _) => "30 ms of it the quiet that a page with a script must show",
        (false, true) => "bound 1.5: ok",
        (false, false) => "bound 1.5: OVER",
    }
}

fn print(report: &StepReport) {
    println!(
        "{} steps of each kind, in turn, in {}",
        report.repeats, report.browser
    );
    println!("milliseconds: median (min, p95)\n");
    let shown = |figures: &Figures| {
        format!(
            "{:6.1} ({:5.1}, {:6.1})",
            figures.median, figures.min, figures.p95
        )
    };
    let part = |name: &str, part: &Part| {
        println!(
            "    {name:<18} {}   {:.2} x its floor {:.1} (minima {:.2} x)",
            shown(&part.ours),
            part.ratio_of_medians,
            part.floor.median,
            part.ratio_of_minima
        );
    };
    for row in &report.rows {
        println!("{}", row.page);
        println!("  raw floor            {}", shown(&row.floor));
        println!(
            "  our step             {}   {:.2} x the floor (minima {:.2} x), {}",
            shown(&row.step),
            row.ratio_of_medians,
            row.ratio_of_minima,
            verdict(row)
        );
        part("look", &row.observe);
        part("guarded click", &row.dispatch);
        part("click to settled", &row.click_to_settled);
        println!("    rest and look      {}", shown(&row.settle_and_observe));
        if let Some(baseline) = &row.baseline {
            println!(
                "  headless_chrome      {}   {:.2} x the floor",
                shown(baseline),
                baseline.median / row.floor.median
            );
        }
    }
    part("run of two hops", &report.whole_run);
    println!("open, cold             {:6.1}", report.open_cold);
    println!("open, browser running  {}", shown(&report.open_warm));
    println!("close                  {}", shown(&report.close));
}
