//! Runs one hostile page in one browser and says what happened.

use std::time::Duration;

use jev_core::access::AccessList;
use jev_core::ports::NetworkCounts;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::network_cases::{NetworkCase, Refused, Trigger};
use super::site::Site;
use crate::error::CdpError;
use crate::launch::Browser;
use crate::network::policy::{OwnCsp, TabPolicy};
use crate::tab::{Tab, WorldScript};

/// Longest wait for anything a page does.
const BOUND: Duration = Duration::from_secs(5);
/// How long nothing may have been in flight for a page to count as finished.
const QUIET: Duration = Duration::from_millis(100);

/// A world without content.
const WORLD: WorldScript = WorldScript {
    name: "fixture",
    source: "0",
};

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseOutcome {
    /// What the boundary counted.
    pub counts: NetworkCounts,
    /// The address the tab stood on at the end.
    pub ends_on: String,
}

/// How one count reads in an outcome.
#[must_use]
pub fn refused(counts: &NetworkCounts, what: Refused) -> u64 {
    match what {
        Refused::Documents => counts.refused_documents,
        Refused::Resources => counts.refused_resources,
        Refused::Methods => counts.refused_methods,
        Refused::Kinds => counts.refused_kinds,
        Refused::Windows => counts.refused_windows,
        Refused::Downloads => counts.refused_downloads,
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
    let _ = timeout(Duration::from_secs(1), loaded).await;
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
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        let counts = tab.counters().counts();
        let met = case.refused.iter().all(|what| refused(&counts, *what) > 0);
        if quiet(&tab).await && met || Instant::now() > deadline {
            break;
        }
    }
    let tree = call(&tab, "Page.getFrameTree", json!({})).await?;
    let ends_on = tree
        .pointer("/frameTree/frame/url")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let counts = tab.counters().counts();
    tab.close(BOUND).await;
    Ok(CaseOutcome { counts, ends_on })
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
