//! The hostile network pages in real browsers: nothing reaches the forbidden server, whichever of
//! the walls stands alone.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jev_session_cdp::find::{Flavour, Preference, find};
use jev_session_cdp::isolation::NetworkDevice;
use jev_session_cdp::launch::{Browser, LaunchOptions};
use jev_session_cdp::network::policy::OwnCsp;
use jev_session_cdp::testing::network_cases::{Control, NETWORK_CASES};
use jev_session_cdp::testing::run::{CaseFault, CaseReport, run_controls, run_network_cases};

const BOTH: [Preference; 2] = [Preference::Shell, Preference::Full];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hostile/network")
}

fn options(preference: Preference, device: NetworkDevice) -> LaunchOptions {
    LaunchOptions {
        preference,
        device,
        deadline: Duration::from_secs(30),
        ..LaunchOptions::default()
    }
}

fn faults(reports: &[CaseReport]) -> Vec<String> {
    let of = |report: &CaseReport| {
        let name = report.case.name;
        let faults = report.faults.iter();
        faults
            .map(|fault| format!("{name}: {fault}"))
            .collect::<Vec<_>>()
    };
    reports.iter().flat_map(of).collect()
}

async fn check(preference: Preference, device: NetworkDevice, csp: OwnCsp) {
    let browser = match Browser::launch(options(preference, device)).await {
        Ok(browser) => Arc::new(browser),
        Err(error) => panic!("{error}"),
    };
    let reports = run_network_cases(&browser, &folder(), NETWORK_CASES, csp).await;
    assert_eq!(reports.len(), NETWORK_CASES.len());
    let own = browser.counts();
    let browser = Arc::into_inner(browser).unwrap();
    browser.close(Duration::from_secs(10)).await;
    let wrong: Vec<String> = match csp {
        OwnCsp::On => faults(&reports),
        // More is tried then, and what is counted shifts; nothing may get out all the same.
        OwnCsp::Off => {
            let out = reports.iter().filter(|report| report.reached());
            out.map(|report| report.case.name.to_owned()).collect()
        }
    };
    assert!(
        wrong.is_empty(),
        "{preference:?} {device:?} {csp:?}: {wrong:#?}"
    );
    assert_eq!(own.breaches, 0, "{preference:?}: the browser's own traffic");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_boundary_holds() {
    for preference in BOTH {
        check(preference, NetworkDevice::NoneIfPossible, OwnCsp::On).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_holds_with_a_network_device() {
    for preference in BOTH {
        check(preference, NetworkDevice::Keep, OwnCsp::On).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_holds_without_our_policy_in_the_pages() {
    for preference in BOTH {
        check(preference, NetworkDevice::Keep, OwnCsp::Off).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_it_the_pages_are_live() {
    let whole = find(None, Preference::Full).unwrap().flavour == Flavour::Full;
    let mut dead: BTreeSet<&str> = NETWORK_CASES
        .iter()
        .filter(|case| match case.control {
            Control::Reaches => true,
            Control::ReachesInWhole => whole,
            Control::Silent => false,
        })
        .map(|case| case.name)
        .collect();
    for preference in BOTH {
        let options = options(preference, NetworkDevice::Keep);
        let browser = Browser::launch_without_boundary(options).await;
        let browser = Arc::new(browser.unwrap());
        for report in run_controls(&browser, &folder(), NETWORK_CASES).await {
            let harmless = report.faults.contains(&CaseFault::Harmless);
            if !harmless {
                dead.remove(report.case.name);
            }
        }
        let browser = Arc::into_inner(browser).unwrap();
        browser.close(Duration::from_secs(10)).await;
    }
    assert!(dead.is_empty(), "pages that reach nothing: {dead:?}");
}

#[test]
fn every_page_is_in_the_table_and_every_case_has_its_page() {
    let pages: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            name.strip_suffix(".html").map(str::to_owned)
        })
        .collect();
    let cases: BTreeSet<String> = NETWORK_CASES
        .iter()
        .map(|case| case.name.to_owned())
        .collect();
    assert_eq!(pages, cases);
    assert_eq!(cases.len(), NETWORK_CASES.len());
}
