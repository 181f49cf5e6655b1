//! `cargo xtask fixtures`: every hostile page in a real Chromium, between a server that is allowed
//! and one that is forbidden and counts. `--endurance` plays sessions that end in every way instead.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jev_session_cdp::find::{Chrome, Preference, find};
use jev_session_cdp::isolation::{IsolationState, NetworkDevice};
use jev_session_cdp::launch::{Browser, LaunchOptions};
use jev_session_cdp::network::policy::OwnCsp;
use jev_session_cdp::testing::endurance::{self, Plan};
use jev_session_cdp::testing::network_cases::NETWORK_CASES;
use jev_session_cdp::testing::page;
use jev_session_cdp::testing::page::run::run_page_case;
use jev_session_cdp::testing::page::site::PageSite;
use jev_session_cdp::testing::run::run_network_cases;
use jev_session_cdp::{CdpSessionFactory, Keep, SessionOptions};
use serde::Serialize;

use crate::repo;
use crate::run::Failure;

/// Bound of starting and of closing a browser. Generous, for the machine may be busy.
const BOUND: Duration = Duration::from_secs(30);

/// How long the forbidden servers are watched after the last page has been closed.
const GRACE: Duration = Duration::from_secs(1);

/// The walls that a session gets by itself.
const BOTH_IF_POSSIBLE: &str = "both walls, where the system allows it";

/// Options of `cargo xtask fixtures`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only cases whose name contains this.
    #[arg(long, value_name = "NAME", conflicts_with = "endurance")]
    only: Option<String>,
    /// The browser; none: every build that is found.
    #[arg(long, value_name = "PATH", conflicts_with = "endurance")]
    chrome: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Play sessions that are reloaded, dropped, crashed and killed, in a row, and look for what is
    /// left of them.
    #[arg(long)]
    endurance: bool,
    /// How many.
    #[arg(long, default_value_t = 200, requires = "endurance", value_parser = clap::value_parser!(u32).range(8..=100_000))]
    rounds: u32,
    /// Decides what happens in each.
    #[arg(long, default_value_t = 1, requires = "endurance")]
    seed: u64,
}

/// One case in one browser.
#[derive(Debug, Serialize)]
struct Row {
    table: &'static str,
    case: &'static str,
    browser: String,
    /// Which walls stood.
    walls: &'static str,
    /// The case's point; empty where its name says it.
    shows: &'static str,
    /// What was not as the table says; empty when it passed.
    faults: Vec<String>,
    /// What the forbidden server saw of it, in connections and datagrams.
    forbidden: u64,
    ms: Option<u128>,
}

#[derive(Debug, Default, Serialize)]
struct Summary {
    /// Different ones.
    cases: usize,
    /// A case once for each browser and each set of walls.
    runs: usize,
    passed: usize,
    failed: usize,
    /// Connections and datagrams that forbidden servers saw.
    forbidden: u64,
    seconds: f64,
    rows: Vec<Row>,
}

/// `cargo xtask fixtures`.
pub(crate) fn command(arguments: &Arguments) -> Result<(), Failure> {
    let runtime = tokio::runtime::Runtime::new().map_err(failed)?;
    if arguments.endurance {
        runtime.block_on(endure(arguments))
    } else {
        runtime.block_on(all(arguments))
    }
}

fn failed(what: impl std::fmt::Display) -> Failure {
    Failure::Unreadable {
        what: format!("fixtures: {what}"),
    }
}

/// The builds that are found, each once.
fn builds(arguments: &Arguments) -> Result<Vec<Chrome>, Failure> {
    let mut found: Vec<Chrome> = Vec::new();
    for preference in [Preference::Shell, Preference::Full] {
        let chrome = find(arguments.chrome.as_deref(), preference).map_err(failed)?;
        if found.iter().all(|known| known.program != chrome.program) {
            found.push(chrome);
        }
    }
    Ok(found)
}

async fn all(arguments: &Arguments) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut summary = Summary::default();
    for chrome in builds(arguments)? {
        for device in [NetworkDevice::NoneIfPossible, NetworkDevice::Keep] {
            let rows = network(arguments, &chrome, device).await?;
            take_in(&mut summary, rows, arguments);
        }
        pages(arguments, &chrome, &mut summary).await?;
    }
    summary.seconds = begun.elapsed().as_secs_f64();
    if arguments.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&summary).map_err(failed)?
        );
    } else {
        println!(
            "\n{} cases in {} runs, {} passed, {} failed; connections and datagrams seen by the forbidden server: {}; {:.0} s",
            summary.cases,
            summary.runs,
            summary.passed,
            summary.failed,
            summary.forbidden,
            summary.seconds
        );
    }
    match (summary.cases, summary.failed, summary.forbidden) {
        (0, ..) => Err(failed("no case has such a name")),
        (_, 0, 0) => Ok(()),
        (_, count, forbidden) => Err(failed(format!(
            "{count} failed, {forbidden} reached the forbidden server"
        ))),
    }
}

fn take_in(summary: &mut Summary, rows: Vec<Row>, arguments: &Arguments) {
    for row in rows {
        if !arguments.json {
            let took = row.ms.map(|ms| format!(" {ms} ms")).unwrap_or_default();
            println!(
                "{:<6} {:<7} {:<24} {} ({}){took}",
                if row.faults.is_empty() {
                    "ok"
                } else {
                    "FAILED"
                },
                row.table,
                row.case,
                row.browser,
                if row.shows.is_empty() {
                    row.walls
                } else {
                    row.shows
                }
            );
            for fault in &row.faults {
                println!("       {fault}");
            }
        }
        summary.runs += 1;
        let known = |other: &Row| {
            (other.table, other.case, other.shows) == (row.table, row.case, row.shows)
        };
        if !summary.rows.iter().any(known) {
            summary.cases += 1;
        }
        if row.faults.is_empty() {
            summary.passed += 1;
        } else {
            summary.failed += 1;
        }
        summary.forbidden += row.forbidden;
        summary.rows.push(row);
    }
}

fn wanted(arguments: &Arguments, name: &str) -> bool {
    let only = arguments.only.as_deref();
    only.is_none_or(|only| name.contains(only))
}

fn folder(kind: &str) -> PathBuf {
    repo::root().join("fixtures/hostile").join(kind)
}

fn name_of(chrome: &Chrome) -> String {
    let name = chrome.program.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The pages that try to reach the network: each has servers of its own.
async fn network(
    arguments: &Arguments,
    chrome: &Chrome,
    device: NetworkDevice,
) -> Result<Vec<Row>, Failure> {
    let cases: Vec<_> = NETWORK_CASES
        .iter()
        .filter(|case| wanted(arguments, case.name))
        .collect();
    if cases.is_empty() {
        return Ok(Vec::new());
    }
    let options = LaunchOptions {
        program: Some(chrome.program.clone()),
        device,
        deadline: BOUND,
        ..LaunchOptions::default()
    };
    let browser = Arc::new(Browser::launch(options).await.map_err(failed)?);
    let walls = match browser.isolation() {
        IsolationState::NoDevice => "both walls",
        IsolationState::Unavailable | IsolationState::NotWanted => "the boundary alone",
    };
    let reports = run_network_cases(&browser, &folder("network"), cases, OwnCsp::On).await;
    let own = browser.counts().breaches;
    if let Some(browser) = Arc::into_inner(browser) {
        browser.close(BOUND).await;
    }
    let row = |case, faults, forbidden| Row {
        table: "network",
        case,
        browser: name_of(chrome),
        walls,
        shows: "",
        faults,
        forbidden,
        ms: None,
    };
    let mut rows: Vec<Row> = reports
        .iter()
        .map(|report| {
            let faults = report.faults.iter().map(ToString::to_string);
            let forbidden = report.connections + report.datagrams;
            row(report.case.name, faults.collect(), forbidden)
        })
        .collect();
    let own = match own {
        0 => Vec::new(),
        count => vec![format!("{count} connections of the browser's own")],
    };
    rows.push(row("the browser by itself", own, 0));
    Ok(rows)
}

/// The pages that are read and acted on.
async fn pages(
    arguments: &Arguments,
    chrome: &Chrome,
    summary: &mut Summary,
) -> Result<(), Failure> {
    let folder = folder("page");
    let factory = CdpSessionFactory::new(SessionOptions {
        chrome: Some(chrome.program.clone()),
        keep: Keep::UntilClosed,
        ..SessionOptions::default()
    });
    let (mut sites, mut counted) = (Vec::new(), 0);
    for case in page::cases() {
        if !wanted(arguments, case.name) {
            continue;
        }
        let (row, site) = one_page(&factory, chrome, &folder, case).await?;
        counted += row.forbidden;
        sites.push(site);
        take_in(summary, vec![row], arguments);
    }
    factory.close(BOUND).await;
    if !sites.is_empty() {
        // What a page sent last may still be on its way; there is no event for nothing.
        tokio::time::sleep(GRACE).await;
    }
    let seen: u64 = sites.iter().map(forbidden).sum();
    summary.forbidden += seen.saturating_sub(counted);
    Ok(())
}

/// What a site's forbidden server has seen, in connections and datagrams.
fn forbidden(site: &PageSite) -> u64 {
    site.forbidden.connections() + site.forbidden.datagrams()
}

async fn one_page(
    factory: &CdpSessionFactory,
    chrome: &Chrome,
    folder: &Path,
    case: &'static page::PageCase,
) -> Result<(Row, PageSite), Failure> {
    let site = PageSite::start(folder).await.map_err(failed)?;
    let begun = Instant::now();
    let ran = run_page_case(factory, &site, folder, case).await;
    let row = Row {
        table: "page",
        case: case.name,
        browser: name_of(chrome),
        walls: BOTH_IF_POSSIBLE,
        shows: case.shows,
        faults: ran
            .err()
            .map(|fault| fault.to_string())
            .into_iter()
            .collect(),
        forbidden: forbidden(&site),
        ms: Some(begun.elapsed().as_millis()),
    };
    Ok((row, site))
}

async fn endure(arguments: &Arguments) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut faults = 0;
    for preference in [Preference::Shell, Preference::Full] {
        let seen = endurance::endure(Plan {
            seed: arguments.seed,
            rounds: arguments.rounds,
            preference,
        })
        .await;
        println!(
            "{preference:?}, {} rounds, seed {}",
            arguments.rounds, arguments.seed
        );
        for (ending, count) in &seen.rounds {
            println!("  {:<24} {count}", format!("{ending:?}"));
        }
        println!("  browsers {}, processes {}", seen.browsers, seen.processes);
        if let Some((before, after)) = seen.held {
            println!("  before   {before:?}\n  after    {after:?}");
        }
        println!(
            "  our memory, least in each quarter, KiB: {:?}",
            seen.resident_kib
        );
        if let Some((young, old)) = seen.browser_kib {
            println!("  the last browser's main process, KiB: {young} young, {old} at the end");
        }
        for fault in &seen.faults {
            println!("  FAULT {fault}");
        }
        faults += seen.faults.len();
    }
    println!("{faults} faults, {:.0} s", begun.elapsed().as_secs_f64());
    match faults {
        0 => Ok(()),
        count => Err(failed(format!("{count} faults"))),
    }
}
