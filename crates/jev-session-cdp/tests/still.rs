//! What is kept of a page in which nothing can act: used while nothing has changed, and never after.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails its test by a panic"
)]

use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::action::{Action, ScrollDirection};
use jev_core::contract::Reach;
use jev_core::ids::{IntentId, Scope};
use jev_core::permit::Permit;
use jev_core::policy::ActionPolicy;
use jev_core::ports::{OpenRequest, Session};
use jev_core::snapshot::Snapshot;
use jev_session_cdp::session::CdpSession;
use jev_session_cdp::testing::server::{Reply, Server};
use jev_session_cdp::{CdpSessionFactory, Keep, SessionOptions};

const BOUND: Duration = Duration::from_secs(20);

/// Hides a paragraph by a rule of the style sheet, which no observer of mutations tells.
const UNTOLD: &str = "document.styleSheets[0].insertRule('#b { visibility: hidden }', 0)";

async fn site() -> Server {
    Server::start(|asked| {
        let (handler, tail) = match asked.target.as_str() {
            "/still" => ("", ""),
            "/handler" => ("onclick='void 0'", ""),
            "/shadow" => (
                "",
                "<div><template shadowrootmode=open><p>Inside</p></template></div>",
            ),
            "/script" => ("", "<script>document.title = 'Script'</script>"),
            "/moving" => ("", "<p style='animation: turn 9s infinite'>Moving"),
            _ => return Reply::status(404),
        };
        Reply::of(
            "text/html",
            format!(
                "<!doctype html><title>Still</title><style>.gone {{ display: none }} \
                 @keyframes turn {{ to {{ rotate: 1turn }} }}</style><p id=a>One</p>\
                 <p id=b {handler}>Two</p><a id=l href=/still?2>Link</a>\
                 <div style='height: 3000px'></div>{tail}"
            ),
        )
    })
    .await
    .unwrap()
}

async fn open(factory: &CdpSessionFactory, site: &Server, path: &str) -> (CdpSession, Snapshot) {
    let origin = site.origin();
    let request = OpenRequest {
        scope: Scope::new("user", "session", "tab").unwrap(),
        start: CanonicalUrl::parse(&format!("{origin}{path}")).unwrap(),
        access: AccessList::parse([origin.as_str()]).unwrap(),
        actions: ActionPolicy::read_only(),
        reach: Reach::Document,
    };
    let session = factory.open_session(request, BOUND).await.unwrap();
    let first = session.observe(BOUND).await.unwrap();
    assert!(first.text.contains("One\nTwo"), "{}", first.text);
    (session, first)
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_kept_only_where_nothing_can_act() {
    let site = site().await;
    let factory = CdpSessionFactory::new(SessionOptions {
        keep: Keep::UntilClosed,
        ..SessionOptions::default()
    });
    for (path, kept) in [
        ("/still", true),
        ("/handler", false),
        ("/shadow", false),
        ("/script", false),
        ("/moving", false),
    ] {
        let (session, first) = open(&factory, &site, path).await;
        session.run_in_page(UNTOLD, BOUND).await.unwrap();
        let second = session.observe(BOUND).await.unwrap();
        assert_eq!(second.text == first.text, kept, "{path}: {}", second.text);
        session.close(BOUND).await;
    }
    factory.close(BOUND).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_change_and_any_action_ends_it() {
    let site = site().await;
    let factory = CdpSessionFactory::new(SessionOptions {
        keep: Keep::UntilClosed,
        ..SessionOptions::default()
    });
    for (change, wanted) in [
        ("a.textContent = 'Three'", "Three\nTwo"),
        ("a.firstChild.data = 'Three'", "Three\nTwo"),
        ("a.className = 'gone'", "Two"),
        ("a.hidden = true", "Two"),
        ("a.remove()", "Two"),
        (
            "document.styleSheets[0].ownerNode.textContent += '#a{display:none}'",
            "Two",
        ),
        ("history.replaceState(0, '', '#x')", "One\nTwo"),
        ("scrollTo(0, 500)", "One\nTwo"),
        ("a.animate({rotate: ['0deg', '90deg']}, 1e6)", "One\nTwo"),
    ] {
        let (session, first) = open(&factory, &site, "/still").await;
        session.run_in_page(change, BOUND).await.unwrap();
        // Seen although no mutation tells it: what was kept is not asked any more.
        let untold = UNTOLD.replace("#b", "#l");
        session.run_in_page(&untold, BOUND).await.unwrap();
        let second = session.observe(BOUND).await.unwrap();
        assert_eq!(second.text, wanted, "{change}");
        assert_eq!(first.text, "One\nTwo\nLink", "{change}");
        session.close(BOUND).await;
    }
    let (session, first) = open(&factory, &site, "/still").await;
    for direction in [ScrollDirection::Down, ScrollDirection::Up] {
        let action = Action::Scroll {
            direction,
            pages: 1,
        };
        let permit = Permit::for_testing(IntentId(1), &first, action);
        session.dispatch(permit, BOUND).await.unwrap();
    }
    session.run_in_page(UNTOLD, BOUND).await.unwrap();
    let second = session.observe(BOUND).await.unwrap();
    assert_eq!(second.scroll.offset, first.scroll.offset);
    assert_eq!(second.text, "One\nLink");
    session.close(BOUND).await;
    factory.close(BOUND).await;
}
