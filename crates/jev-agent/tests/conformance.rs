//! The sessions of this crate keep the promises of their port: pages in memory, and a tab that is
//! shared with the host.

#[path = "../examples/own_adapters.rs"]
mod own_adapters;

use jev_agent::pages::{Page, PageSite};
use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::contract::Reach;
use jev_core::ids::Scope;
use jev_core::policy::ActionPolicy;
use jev_core::ports::OpenRequest;
use jev_core::testing::{self, Clock, SessionCase};

#[tokio::test]
async fn a_session_on_pages_in_memory_conforms() {
    let start = Page::new("http://help.test/", "Help", "How can we help?")
        .and_then(|page| page.link("Warranty", "/warranty"))
        .unwrap();
    let warranty = Page::new("http://help.test/warranty", "Warranty", "24 months.").unwrap();
    let site = PageSite::new([start, warranty]);
    let case = SessionCase {
        request: OpenRequest {
            scope: Scope::new("ada", "session-1", "tab-1").unwrap(),
            start: CanonicalUrl::parse("http://help.test/").unwrap(),
            access: AccessList::parse(["http://help.test/*"]).unwrap(),
            actions: ActionPolicy::read_only(),
            reach: Reach::Document,
        },
        link: "Warranty".to_owned(),
    };
    let clock = Clock::new(tokio::time::sleep);
    assert_eq!(testing::session(&site, &case, &clock).await, Ok(()));
    // One was given up while it opened, one was used.
    assert_eq!(site.counts().closed(), 1);
}

#[test]
fn the_example_of_ones_own_adapters_conforms() {
    own_adapters::main().unwrap();
}
