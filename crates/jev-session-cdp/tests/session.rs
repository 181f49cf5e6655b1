//! The session on plain pages, end to end: open, observe, act, observe, close.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of tests fails its test by a panic"
)]

use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::action::{Action, ScrollDirection};
use jev_core::contract::Reach;
use jev_core::error::{FetchFault, SessionError};
use jev_core::ids::{IntentId, Scope};
use jev_core::permit::Permit;
use jev_core::policy::ActionPolicy;
use jev_core::ports::{Change, CloseOutcome, OpenRequest, Session, SessionFactory};
use jev_core::receipt::{AppliedEffect, Receipt, RejectCause, StaleCause};
use jev_core::snapshot::{Placement, Settled, Snapshot};
use jev_session_cdp::network::policy::PageScripts;
use jev_session_cdp::testing::server::{Reply, Server};
use jev_session_cdp::{CdpSessionFactory, SessionOptions};

const BOUND: Duration = Duration::from_secs(20);

fn request(start: &str, allow: &[&str]) -> OpenRequest {
    OpenRequest {
        scope: Scope::new("user", "session", "tab").unwrap(),
        start: CanonicalUrl::parse(start).unwrap(),
        access: AccessList::parse(allow.iter().copied()).unwrap(),
        actions: ActionPolicy::read_only(),
        reach: Reach::Document,
    }
}

async fn site() -> Server {
    Server::start(|asked| match asked.target.as_str() {
        "/" => Reply::of(
            "text/html",
            "<title>Start</title><h1>Start</h1><p>Go to <a href=/two>page two</a>.</p>\
             <a href=/missing>gone</a> <a href=/dead>dead</a> <a href=/out>out</a> <a href=/blank target=_blank>blank</a>\
             <div style=height:4000px></div><a href=/far>far</a>",
        ),
        "/two" => Reply::of("text/html", "<title>Two</title><p>The second page."),
        "/far" => Reply::of("text/html", "<title>Far</title><p>Far."),
        "/blank" => Reply::of("text/html", "<title>Blank</title><p>In the same tab."),
        "/out" => Reply::redirect(302, "http://localhost:1/x"),
        "/dead" => Reply::Raw(Vec::new()),
        _ => Reply::status(404),
    })
    .await
    .unwrap()
}

fn click(snapshot: &Snapshot, label: &str) -> Permit {
    let target = snapshot
        .candidates
        .iter()
        .find(|candidate| candidate.label == label)
        .unwrap_or_else(|| panic!("no candidate {label}: {:?}", snapshot.candidates))
        .clone();
    Permit::for_testing(IntentId(1), snapshot, Action::Click { target })
}

async fn follow(session: &dyn Session, snapshot: &Snapshot, label: &str) -> Receipt {
    session
        .dispatch(click(snapshot, label), BOUND)
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_run_reads_clicks_goes_back_and_closes() {
    let site = site().await;
    let origin = site.origin();
    let factory = CdpSessionFactory::new(SessionOptions::default());
    let session = factory
        .open(request(&format!("{origin}/"), &[&origin]), BOUND)
        .await
        .unwrap();
    let first = session.observe(BOUND).await.unwrap();
    assert_eq!(first.title, "Start");
    assert_eq!(first.url, format!("{origin}/"));
    assert_eq!(first.http_status, Some(200));
    assert_eq!(first.settled, Settled::Yes);
    assert!(
        first.text.starts_with("Start\nGo to page two."),
        "{}",
        first.text
    );
    let labels: Vec<_> = first.candidates.iter().map(|c| c.label.as_str()).collect();
    assert_eq!(labels, ["page two", "gone", "dead", "out", "blank", "far"]);
    let again = session.observe(BOUND).await.unwrap();
    assert_eq!(
        again, first,
        "nothing changed, so nothing differs, ids and guards included"
    );

    let receipt = follow(session.as_ref(), &first, "page two").await;
    assert_eq!(receipt, Receipt::Applied(AppliedEffect::Navigated));
    let second = session.observe(BOUND).await.unwrap();
    assert_eq!(
        (second.title.as_str(), second.text.as_str()),
        ("Two", "The second page.")
    );
    assert_ne!(second.document, first.document);

    let stale = follow(session.as_ref(), &first, "page two").await;
    assert_eq!(stale, Receipt::Stale(StaleCause::Document));

    let back = Permit::for_testing(IntentId(2), &second, Action::Back);
    let receipt = session.dispatch(back, BOUND).await.unwrap();
    assert_eq!(receipt, Receipt::Applied(AppliedEffect::Navigated));
    let third = session.observe(BOUND).await.unwrap();
    assert_eq!(third.version(), first.version());

    let receipt = follow(session.as_ref(), &third, "far").await;
    assert_eq!(receipt, Receipt::Applied(AppliedEffect::Navigated));
    assert_eq!(session.observe(BOUND).await.unwrap().title, "Far");
    let report = session.close(BOUND).await;
    assert_eq!(report.outcome, CloseOutcome::Clean);
    assert_eq!(report.network.breaches, 0);
    assert_eq!(session.observe(BOUND).await, Err(SessionError::Closed));
    assert_eq!(
        session.close(BOUND).await.outcome,
        CloseOutcome::AlreadyClosed
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn destinations_that_are_not_reached_are_told_apart() {
    let site = site().await;
    let origin = site.origin();
    let factory = CdpSessionFactory::new(SessionOptions::default());
    let session = factory
        .open(request(&format!("{origin}/"), &[&origin]), BOUND)
        .await
        .unwrap();
    for (label, effect, title) in [
        ("dead", AppliedEffect::DestinationFailed, "Start"),
        ("out", AppliedEffect::DestinationRefused, "Start"),
        ("blank", AppliedEffect::Navigated, "Blank"),
    ] {
        let page = session.observe(BOUND).await.unwrap();
        assert_eq!(page.title, "Start");
        let receipt = follow(session.as_ref(), &page, label).await;
        assert_eq!(receipt, Receipt::Applied(effect), "{label}");
        assert_eq!(
            session.observe(BOUND).await.unwrap().title,
            title,
            "{label}"
        );
    }
    session.close(BOUND).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scrolling_is_confirmed_by_the_position() {
    let site = site().await;
    let origin = site.origin();
    let factory = CdpSessionFactory::new(SessionOptions::default());
    let mut asked = request(&format!("{origin}/"), &[&origin]);
    asked.reach = Reach::Viewport;
    let session = factory.open(asked, BOUND).await.unwrap();
    let page = session.observe(BOUND).await.unwrap();
    assert!(page.candidates.iter().all(|c| c.label != "far"));
    assert!(page.scroll.below > 3000);
    let scroll = |page: &Snapshot, direction, pages| {
        Permit::for_testing(IntentId(1), page, Action::Scroll { direction, pages })
    };
    let down = scroll(&page, ScrollDirection::Down, 5);
    let receipt = session.dispatch(down, BOUND).await.unwrap();
    assert_eq!(receipt, Receipt::Applied(AppliedEffect::Scrolled));
    let page = session.observe(BOUND).await.unwrap();
    assert!(page.candidates.iter().any(|c| c.label == "far"), "{page:?}");
    assert_eq!(page.scroll.below, 0);
    let down = scroll(&page, ScrollDirection::Down, 1);
    let receipt = session.dispatch(down, BOUND).await.unwrap();
    assert_eq!(receipt, Receipt::Applied(AppliedEffect::NoEffect));
    let reload = Permit::for_testing(IntentId(1), &page, Action::Reload);
    let receipt = session.dispatch(reload, BOUND).await.unwrap();
    assert_eq!(receipt, Receipt::Rejected(RejectCause::Unsupported));
    assert_eq!(
        session.wait(Duration::from_millis(100)).await,
        Ok(Change::None)
    );
    session.close(BOUND).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_page_that_is_none_is_told_why() {
    let site = site().await;
    let origin = site.origin();
    let factory = CdpSessionFactory::new(SessionOptions::default());
    let open = async |start: String, allow: &str| {
        let opened = factory.open(request(&start, &[allow]), BOUND).await;
        opened.map(|_| ()).unwrap_err()
    };
    let error = open(format!("{origin}/missing"), &origin).await;
    assert_eq!(error, SessionError::StartStatus { status: 404 });
    let error = open("http://127.0.0.1:1/".into(), "http://127.0.0.1:1").await;
    let fault = FetchFault::Refused;
    assert_eq!(error, SessionError::StartUnreachable { fault });
    let error = open(format!("{origin}/dead"), &origin).await;
    let fault = FetchFault::Broken;
    assert_eq!(error, SessionError::StartUnreachable { fault });
    let error = open(format!("{origin}/out"), &origin).await;
    let fault = FetchFault::Boundary;
    assert_eq!(error, SessionError::StartUnreachable { fault });
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_without_scripts_are_read_and_followed() {
    let site = Server::start(|asked| match asked.target.as_str() {
        "/" => Reply::of(
            "text/html",
            "<title>Start</title><noscript>shown</noscript><p id=p>as sent <a href=/two onclick='location=\"/trap\"'>two</a>\
             <script>p.textContent = 'ran'; setInterval(() => p.append('x'), 1)</script>",
        ),
        "/two" => Reply::of("text/html", "<title>Two</title><p>second"),
        _ => Reply::status(404),
    })
    .await
    .unwrap();
    let origin = site.origin();
    let factory = CdpSessionFactory::new(SessionOptions {
        scripts: PageScripts::Off,
        ..SessionOptions::default()
    });
    let session = factory
        .open(request(&format!("{origin}/"), &[&origin]), BOUND)
        .await
        .unwrap();
    let page = session.observe(BOUND).await.unwrap();
    assert_eq!(page.text, "shown\nas sent two");
    let receipt = follow(session.as_ref(), &page, "two").await;
    assert_eq!(receipt, Receipt::Applied(AppliedEffect::Navigated));
    assert_eq!(session.observe(BOUND).await.unwrap().text, "second");
    let none = session.wait(Duration::from_millis(50)).await;
    assert_eq!(none, Ok(Change::None));
    session.close(BOUND).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_a_frame_that_comes_late_is_seen() {
    let site = Server::start(|asked| match asked.target.as_str() {
        "/" => Reply::of(
            "text/html",
            "<title>Start</title><p>outside</p><iframe src=/slow></iframe>",
        ),
        // Longer than a look waits.
        "/slow" => Reply::Later(Duration::from_millis(2500), "inside"),
        _ => Reply::status(404),
    })
    .await
    .unwrap();
    let origin = site.origin();
    let factory = CdpSessionFactory::new(SessionOptions {
        scripts: PageScripts::Off,
        ..SessionOptions::default()
    });
    let request = request(&format!("{origin}/"), &[&origin]);
    let session = factory.open_session(request, BOUND).await.unwrap();
    let first = session.observe(BOUND).await.unwrap();
    assert!(!first.text.contains("inside"));
    let end = tokio::time::Instant::now() + BOUND;
    while !session
        .observe(BOUND)
        .await
        .unwrap()
        .text
        .contains("inside")
    {
        assert!(tokio::time::Instant::now() < end);
        session.wait(Duration::from_millis(100)).await.unwrap();
    }
    session.close(BOUND).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_of_another_site_run_no_scripts_either() {
    let site = Server::start(|asked| match asked.target.as_str() {
        "/inside" => Reply::of(
            "text/html",
            "<script>new Image().src = '/ran'</script><body onload=\"new Image().src = '/ran'\">\
             <p>inside</p><img src=/seen><iframe srcdoc=\"<script>new Image().src = '/ran'</script>\"></iframe>\
             <iframe src=\"javascript:new Image().src='/ran'\"></iframe>",
        ),
        _ => Reply::of("text/html", ""),
    })
    .await
    .unwrap();
    // By name it is another site than by address, so the frame gets a process of its own.
    let inside = format!("http://localhost:{}", site.port());
    let page = format!("<title>Start</title><p>outside<iframe src={inside}/inside></iframe>");
    let outside = Server::start(move |_| Reply::of("text/html", page.clone())).await;
    let outside = outside.unwrap();
    let origin = outside.origin();
    for (scripts, ran) in [(PageScripts::Off, false), (PageScripts::Run, true)] {
        let factory = CdpSessionFactory::new(SessionOptions {
            scripts,
            ..SessionOptions::default()
        });
        let request = request(&format!("{origin}/"), &[&origin, &inside]);
        let session = factory.open_session(request, BOUND).await.unwrap();
        let before = site.asked().len();
        let asked = |path: &str| {
            let asked = site.asked();
            let mut fresh = asked.iter().skip(before);
            fresh.any(|asked| asked.target == path)
        };
        let end = tokio::time::Instant::now() + BOUND;
        while !asked("/seen") || (ran && !asked("/ran")) {
            assert!(tokio::time::Instant::now() < end);
            session.wait(Duration::from_millis(20)).await.unwrap();
            session.observe(BOUND).await.unwrap();
        }
        // Everything that the frame asked for by then has come, and what it would do follows.
        let quiet = session.observe(BOUND).await.unwrap();
        assert_eq!(quiet.omitted.frames, 1);
        session.close(BOUND).await;
        assert_eq!(asked("/ran"), ran);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_shows_where_the_candidates_are() {
    let site = site().await;
    let origin = site.origin();
    let factory = CdpSessionFactory::new(SessionOptions::default());
    let session = factory
        .open_session(request(&format!("{origin}/"), &[&origin]), BOUND)
        .await
        .unwrap();
    let page = session.observe(BOUND).await.unwrap();
    let picture = session.screenshot(&page, BOUND).await.unwrap().unwrap();
    assert!(picture.png.starts_with(b"\x89PNG"));
    let outlined: Vec<_> = picture.outlines.iter().map(|o| o.id.clone()).collect();
    let in_view: Vec<_> = page
        .candidates
        .iter()
        .filter(|c| c.placement == Placement::InView)
        .map(|c| c.id.clone())
        .collect();
    assert_eq!(outlined, in_view);
    assert_eq!(in_view.len(), page.candidates.len() - 1);
    let receipt = follow(&session, &page, "page two").await;
    assert_eq!(receipt, Receipt::Applied(AppliedEffect::Navigated));
    assert_eq!(session.screenshot(&page, BOUND).await, Ok(None));
    session.close(BOUND).await;
}
