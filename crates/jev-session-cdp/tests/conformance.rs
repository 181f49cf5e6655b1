//! A session in a real Chromium keeps the promises of its port.

use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::contract::Reach;
use jev_core::ids::Scope;
use jev_core::policy::ActionPolicy;
use jev_core::ports::OpenRequest;
use jev_core::testing::{self, Clock, SessionCase};
use jev_session_cdp::testing::server::{Reply, Server};
use jev_session_cdp::{CdpSessionFactory, SessionOptions};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_in_chromium_conforms() {
    let site = Server::start(|asked| match asked.target.as_str() {
        "/" => Reply::of(
            "text/html",
            "<title>Start</title><h1>Help</h1><a href=/two>The  second\n page</a> <a href=/>Here</a>\
             <button>Delete all</button><p>Text.",
        ),
        "/two" => Reply::of("text/html", "<title>Two</title><p>The second page. <a href=/>Back</a>"),
        _ => Reply::status(404),
    })
    .await
    .unwrap();
    let origin = site.origin();
    let clock = Clock::new(tokio::time::sleep).with_patience(Duration::from_secs(60));
    for reach in [Reach::Document, Reach::Viewport] {
        let case = SessionCase {
            request: OpenRequest {
                scope: Scope::new("user", "session", "tab").unwrap(),
                start: CanonicalUrl::parse(&format!("{origin}/")).unwrap(),
                access: AccessList::parse([origin.as_str()]).unwrap(),
                actions: ActionPolicy::read_only(),
                reach,
            },
            link: "The second page".to_owned(),
        };
        let factory = CdpSessionFactory::new(SessionOptions::default());
        let outcome = testing::session(&factory, &case, &clock).await;
        assert_eq!(outcome, Ok(()), "{reach:?}");
    }
}
