//! Every hostile page in a real browser, against its table.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jev_session_cdp::testing::page::cases;
use jev_session_cdp::testing::page::run::run_page_case;
use jev_session_cdp::testing::page::site::PageSite;
use jev_session_cdp::{CdpSessionFactory, Keep, SessionOptions};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hostile/page")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_hostile_page_is_read_and_acted_on_as_its_table_says() {
    let folder = folder();
    let site = PageSite::start(&folder).await.unwrap();
    let factory = CdpSessionFactory::new(SessionOptions {
        keep: Keep::UntilClosed,
        ..SessionOptions::default()
    });
    let mut faults = Vec::new();
    for case in cases() {
        if let Err(fault) = run_page_case(&factory, &site, &folder, case).await {
            faults.push(fault.to_string());
        }
    }
    factory.close(Duration::from_secs(5)).await;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(site.forbidden.connections() + site.forbidden.datagrams(), 0);
}

#[test]
fn every_page_is_in_the_table_and_every_case_has_its_page() {
    let pages: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".html").map(str::to_owned))
        // A page inside another, like `frames.inner`, is no case of its own.
        .filter(|stem| !stem.contains('.'))
        .collect();
    // A page may have several cases.
    let named: BTreeSet<String> = cases().iter().map(|case| case.name.to_owned()).collect();
    assert_eq!(pages, named);
}
