//! Every hostile page in a real browser, against its table.

use std::path::Path;
use std::time::Duration;

use jev_session_cdp::testing::page::cases;
use jev_session_cdp::testing::page::run::run_page_case;
use jev_session_cdp::testing::page::site::PageSite;
use jev_session_cdp::{CdpSessionFactory, Keep, SessionOptions};

#[tokio::test(flavor = "multi_thread")]
async fn every_hostile_page_is_read_and_acted_on_as_its_table_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hostile/page");
    let site = PageSite::start(&folder).await.unwrap();
    let factory = CdpSessionFactory::new(SessionOptions {
        keep: Keep::UntilClosed,
        ..SessionOptions::default()
    });
    let only = std::env::var("JEV_PAGE").unwrap_or_default();
    let mut faults = Vec::new();
    for case in cases() {
        if !case.name.contains(&only) {
            continue;
        }
        if let Err(fault) = run_page_case(&factory, &site, &folder, case).await {
            faults.push(fault.to_string());
        }
    }
    factory.close(Duration::from_secs(5)).await;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(site.forbidden.connections() + site.forbidden.datagrams(), 0);
}
