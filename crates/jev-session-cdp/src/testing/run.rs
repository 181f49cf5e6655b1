//! Runs hostile pages in a real browser and says what happened: one page, or the whole table.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jev_core::access::AccessList;
use jev_core::ports::NetworkCounts;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::network_cases::{Control, NetworkCase, Refused, Trigger};
use super::site::Site;
use crate::error::CdpError;
use crate::isolation::IsolationState;
use crate::launch::Browser;
use crate::network::policy::{OwnCsp, TabPolicy};
use crate::tab::{Tab, WorldScript};

/// Longest wait for an answer of the browser.
const BOUND: Duration = Duration::from_secs(20);
/// Longest wait for what a page must cause.
const CAUSE: Duration = Duration::from_secs(10);
/// Longest wait for a page that may cause nothing.
const LOAD: Duration = Duration::from_secs(2);
/// How long nothing may have been in flight for a page to count as finished.
const QUIET: Duration = Duration::from_millis(100);
/// How long the servers go on counting after the last page.
const AFTER: Duration = Duration::from_secs(1);
/// Pages at the same time.
const AT_ONCE: usize = 4;

/// A world without content.
const WORLD: WorldScript = WorldScript {
    name: "fixture",
    source: "0",
};

/// What happened to one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseOutcome {
    /// What the boundary counted.
    pub counts: NetworkCounts,
    /// The address the tab stood on at the end, the allowed origin left out.
    pub ends_on: String,
}

/// One thing that was not as the table says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaseFault {
    /// The forbidden server saw something.
    #[error("the forbidden server saw {connections} connections and {datagrams} datagrams")]
    Reached {
        /// TCP connections.
        connections: u64,
        /// UDP datagrams.
        datagrams: u64,
    },
    /// Nothing of a kind that must be refused was.
    #[error("nothing was counted as {0:?}")]
    NotRefused(Refused),
    /// The browser tried by itself where it should not even have tried.
    #[error("{0} breaches")]
    Breached(u64),
    /// The tab stood elsewhere.
    #[error("the tab stood on {0}")]
    EndsOn(String),
    /// The browser failed.
    #[error("{0}")]
    Browser(#[from] CdpError),
    /// The servers could not be started.
    #[error("no test server: {0}")]
    Server(io::ErrorKind),
    /// Without a boundary, the forbidden server saw nothing either: the page shows nothing.
    #[error("without a boundary nothing is reached: the page shows nothing")]
    Harmless,
}

/// One page's result.
#[derive(Debug)]
pub struct CaseReport {
    /// Which.
    pub case: &'static NetworkCase,
    /// What was wrong; empty when all was as the table says.
    pub faults: Vec<CaseFault>,
    /// Connections that the forbidden server saw.
    pub connections: u64,
    /// Datagrams that the forbidden server saw.
    pub datagrams: u64,
}

impl CaseReport {
    fn of(case: &'static NetworkCase, site: Option<&Site>, faults: Vec<CaseFault>) -> Self {
        let forbidden = site.map(|site| &site.forbidden);
        Self {
            case,
            faults,
            connections: forbidden.map_or(0, |server| server.connections()),
            datagrams: forbidden.map_or(0, |server| server.datagrams()),
        }
    }

    /// Whether the forbidden server was reached.
    #[must_use]
    pub const fn reached(&self) -> bool {
        self.connections + self.datagrams > 0
    }
}

/// Runs every case behind the boundary and compares with the table.
pub async fn run_network_cases(
    browser: &Arc<Browser>,
    folder: &Path,
    cases: impl IntoIterator<Item = &'static NetworkCase>,
    csp: OwnCsp,
) -> Vec<CaseReport> {
    run_all(browser, folder, cases, csp)
        .await
        .into_iter()
        .map(|(case, site, result)| {
            let mut faults = Vec::new();
            if let Some(reached) = site.as_ref().and_then(reached) {
                faults.push(reached);
            }
            match result {
                Ok(outcome) => compare(browser, case, csp, &outcome, &mut faults),
                Err(fault) => faults.push(fault),
            }
            CaseReport::of(case, site.as_ref(), faults)
        })
        .collect()
}

/// Runs the cases that reach the network without a boundary, in a browser without one. A fault is
/// reported for a page that reached nothing; another build may still reach it.
#[cfg(feature = "testing")]
pub async fn run_controls(
    browser: &Arc<Browser>,
    folder: &Path,
    cases: impl IntoIterator<Item = &'static NetworkCase>,
) -> Vec<CaseReport> {
    let all = run_all(browser, folder, cases, OwnCsp::Off).await;
    all.into_iter()
        .map(|(case, site, _)| {
            let reached = site.as_ref().and_then(reached).is_some();
            let faults = match (case.control, reached) {
                (Control::Reaches | Control::ReachesInWhole, false) => vec![CaseFault::Harmless],
                (Control::Reaches | Control::ReachesInWhole, true)
                | (Control::Silent, true | false) => Vec::new(),
            };
            CaseReport::of(case, site.as_ref(), faults)
        })
        .collect()
}

type Ran = (
    &'static NetworkCase,
    Option<Site>,
    Result<CaseOutcome, CaseFault>,
);

async fn run_all(
    browser: &Arc<Browser>,
    folder: &Path,
    cases: impl IntoIterator<Item = &'static NetworkCase>,
    csp: OwnCsp,
) -> Vec<Ran> {
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for case in cases {
        let browser = Arc::clone(browser);
        let slots = Arc::clone(&slots);
        let folder = folder.to_path_buf();
        running.spawn(async move {
            let _slot = slots.acquire().await;
            match Site::start(&folder, case).await {
                Ok(site) => {
                    let result = run_case(&browser, &site, case, csp).await;
                    (case, Some(site), result.map_err(CaseFault::from))
                }
                Err(error) => (case, None, Err(CaseFault::Server(error.kind()))),
            }
        });
    }
    let mut all = Vec::new();
    while let Some(ran) = running.join_next().await {
        // Only a bug of this module ends a task otherwise.
        if let Ok(ran) = ran {
            all.push(ran);
        }
    }
    // Something may still be on its way; the servers live until here.
    sleep(AFTER).await;
    all.sort_by_key(|(case, ..)| case.name);
    all
}

fn reached(site: &Site) -> Option<CaseFault> {
    let (connections, datagrams) = (site.forbidden.connections(), site.forbidden.datagrams());
    (connections + datagrams > 0).then_some(CaseFault::Reached {
        connections,
        datagrams,
    })
}

fn compare(
    browser: &Browser,
    case: &NetworkCase,
    csp: OwnCsp,
    outcome: &CaseOutcome,
    faults: &mut Vec<CaseFault>,
) {
    let expected = expected(browser, case);
    for what in &expected {
        if refused(&outcome.counts, *what) == 0 {
            faults.push(CaseFault::NotRefused(*what));
        }
    }
    match csp {
        OwnCsp::On => {
            if outcome.counts.breaches > 0 && !expected.contains(&Refused::Breaches) {
                faults.push(CaseFault::Breached(outcome.counts.breaches));
            }
            let page = format!("/network/{}.html", case.name);
            let ends_on = case.ends_on.unwrap_or(&page);
            if !outcome.ends_on.starts_with(ends_on) {
                faults.push(CaseFault::EndsOn(outcome.ends_on.clone()));
            }
        }
        // Without our policy more is tried, and ends at the other walls.
        OwnCsp::Off => {}
    }
}

/// What must be counted with this browser.
fn expected(browser: &Browser, case: &NetworkCase) -> Vec<Refused> {
    let seen = |what: &Refused| match browser.isolation() {
        // Without a device an attempt ends before it comes to the tripwire.
        IsolationState::NoDevice => *what != Refused::Breaches,
        IsolationState::Unavailable | IsolationState::NotWanted => true,
    };
    case.refused.iter().copied().filter(seen).collect()
}

fn refused(counts: &NetworkCounts, what: Refused) -> u64 {
    match what {
        Refused::Documents => counts.refused_documents,
        Refused::Resources => counts.refused_resources,
        Refused::Methods => counts.refused_methods,
        Refused::Kinds => counts.refused_kinds,
        Refused::Windows => counts.refused_windows,
        Refused::Downloads => counts.refused_downloads,
        Refused::Breaches => counts.breaches,
    }
}

/// Opens the page in a tab of its own, sets it off, lets it finish, and closes the tab.
///
/// # Errors
/// [`CdpError`] when the browser fails; a page's own failures are part of the outcome.
pub async fn run_case(
    browser: &Browser,
    site: &Site,
    case: &NetworkCase,
    csp: OwnCsp,
) -> Result<CaseOutcome, CdpError> {
    let origin = site.allowed.origin();
    let access = AccessList::parse([origin.as_str()]).map_err(|_| CdpError::Malformed)?;
    let policy = TabPolicy {
        csp,
        ..TabPolicy::new(access)
    };
    let tab = browser.new_tab(policy, WORLD, BOUND).await?;
    let url = format!("{origin}/network/{}.html", case.name);
    let mut events = tab.connection().subscribe(tab.session());
    call(&tab, "Page.navigate", json!({"url": url})).await?;
    let loaded = async {
        while let Some(event) = events.next().await {
            if event.method == "Page.loadEventFired" {
                break;
            }
        }
    };
    // A page that leaves at once never loads.
    let _ = timeout(LOAD, loaded).await;
    match case.trigger {
        Trigger::Load => {}
        Trigger::Click => {
            let script = "document.getElementById('go')?.click()";
            let params = json!({"expression": script, "userGesture": true});
            // It may navigate away under the call.
            let _ = call(&tab, "Runtime.evaluate", params).await;
        }
    }
    let params = json!({"expression": "window.attack", "awaitPromise": true});
    let _ = call(&tab, "Runtime.evaluate", params).await;
    finish(browser, site, case, csp, &tab).await;
    let tree = call(&tab, "Page.getFrameTree", json!({})).await?;
    let address = tree.pointer("/frameTree/frame/url").and_then(Value::as_str);
    let ends_on = address.unwrap_or_default().replacen(&origin, "", 1);
    tab.close(BOUND).await;
    let counts = tab.counters().counts();
    Ok(CaseOutcome { counts, ends_on })
}

/// Waits until the page is quiet and what it must cause has been caused.
async fn finish(browser: &Browser, site: &Site, case: &NetworkCase, csp: OwnCsp, tab: &Tab) {
    let expected = expected(browser, case);
    let page = format!("/network/{}.html", case.name);
    let deadline = Instant::now() + CAUSE;
    loop {
        let counts = tab.counters().counts();
        let met = expected.iter().all(|what| refused(&counts, *what) > 0);
        let moved = match (case.ends_on, tab.main_document()) {
            (Some(path), Some(news)) if path.starts_with('/') => !news.url.ends_with(&page),
            _ => true,
        };
        let done = match csp {
            OwnCsp::On => met && moved,
            // Nothing need be caused; or there is no boundary, and the forbidden server is.
            OwnCsp::Off => met || reached(site).is_some() || case.control == Control::Silent,
        };
        if quiet(tab).await && done || Instant::now() > deadline {
            return;
        }
    }
}

async fn call(tab: &Tab, method: &str, params: Value) -> Result<Value, CdpError> {
    let session = Some(tab.session());
    tab.connection().call(session, method, params, BOUND).await
}

/// Whether nothing is in flight for a while.
async fn quiet(tab: &Tab) -> bool {
    let mut in_flight = tab.in_flight();
    let idle = async { in_flight.wait_for(|count| *count == 0).await.is_ok() };
    if !timeout(BOUND, idle).await.unwrap_or(false) {
        return false;
    }
    timeout(QUIET, in_flight.wait_for(|count| *count > 0))
        .await
        .is_err()
}
