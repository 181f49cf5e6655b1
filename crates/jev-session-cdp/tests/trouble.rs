//! The session in trouble: crashes, closing and cancelling in the middle, deadlines.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails its test by a panic"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::action::Action;
use jev_core::contract::Reach;
use jev_core::error::{DispatchError, FetchFault, Sent, SessionError};
use jev_core::ids::{IntentId, Scope};
use jev_core::permit::Permit;
use jev_core::policy::ActionPolicy;
use jev_core::ports::{CloseOutcome, OpenRequest, Session};
use jev_core::receipt::{AppliedEffect, Receipt};
use jev_core::snapshot::Snapshot;
use jev_session_cdp::session::CdpSession;
use jev_session_cdp::testing::server::{Reply, Server};
use jev_session_cdp::{CdpSessionFactory, Keep, SessionOptions};

const BOUND: Duration = Duration::from_secs(20);

async fn site() -> Server {
    Server::start(|asked| match asked.target.as_str() {
        "/" => Reply::of(
            "text/html",
            "<title>Start</title><a href=/silent>silent</a> <a href=/goal>goal</a>",
        ),
        "/goal" => Reply::of("text/html", "<title>Goal</title>"),
        "/silent" => Reply::Silence,
        "/fetching" => Reply::of(
            "text/html",
            "<title>Fetching</title><p id=p>x<script>fetch('/silent')</script>",
        ),
        _ => Reply::status(404),
    })
    .await
    .unwrap()
}

fn request(site: &Server, path: &str) -> OpenRequest {
    let origin = site.origin();
    OpenRequest {
        scope: Scope::new("user", "session", "tab").unwrap(),
        start: CanonicalUrl::parse(&format!("{origin}{path}")).unwrap(),
        access: AccessList::parse([origin.as_str()]).unwrap(),
        actions: ActionPolicy::read_only(),
        reach: Reach::Document,
    }
}

fn click(page: &Snapshot, label: &str) -> Permit {
    let mut all = page.candidates.iter();
    let target = all.find(|c| c.label == label).unwrap().clone();
    Permit::for_testing(IntentId(1), page, Action::Click { target })
}

async fn open(path: &str) -> (Server, CdpSessionFactory, Arc<CdpSession>) {
    let site = site().await;
    let factory = CdpSessionFactory::new(SessionOptions::default());
    let session = factory.open_session(request(&site, path), BOUND).await;
    (site, factory, Arc::new(session.unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_tab_is_told_and_closes() {
    let (_site, _factory, session) = open("/").await;
    let page = session.observe(BOUND).await.unwrap();
    session.crash(Duration::from_secs(2)).await;
    assert_eq!(session.observe(BOUND).await, Err(SessionError::Crashed));
    let refused = session.dispatch(click(&page, "goal"), BOUND).await;
    let error = SessionError::Crashed;
    let sent = Sent::SurelyNot;
    assert_eq!(refused, Err(DispatchError { sent, error }));
    assert_eq!(session.close(BOUND).await.outcome, CloseOutcome::Clean);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_what_is_pending_and_forbids_the_rest() {
    let (site, _factory, session) = open("/").await;
    let page = session.observe(BOUND).await.unwrap();
    let pending = Arc::clone(&session);
    let permit = click(&page, "silent");
    let dispatch = tokio::spawn(async move { pending.dispatch(permit, BOUND).await });
    // The click has left once the server was asked.
    let left = async {
        while !site.asked().iter().any(|asked| asked.target == "/silent") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(BOUND, left).await.unwrap();
    let begun = Instant::now();
    let report = session.close(BOUND).await;
    assert_eq!(report.outcome, CloseOutcome::Clean);
    assert!(begun.elapsed() < BOUND);
    let sent = Sent::Maybe;
    let error = SessionError::Closed;
    assert_eq!(dispatch.await.unwrap(), Err(DispatchError { sent, error }));
    let asked = site.asked().len();
    let sent = Sent::SurelyNot;
    let refused = session.dispatch(click(&page, "goal"), BOUND).await;
    assert_eq!(refused, Err(DispatchError { sent, error }));
    assert_eq!(session.observe(BOUND).await, Err(SessionError::Closed));
    assert_eq!(session.wait(BOUND).await, Err(SessionError::Closed));
    assert_eq!(site.asked().len(), asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_dropped_harms_nobody() {
    let (_site, _factory, session) = open("/").await;
    let page = session.observe(BOUND).await.unwrap();
    for millis in [0, 1, 2, 4, 8] {
        let bound = Duration::from_millis(millis);
        let _ = tokio::time::timeout(bound, session.observe(BOUND)).await;
        let _ = tokio::time::timeout(bound, session.wait(BOUND)).await;
    }
    let again = session.observe(BOUND).await.unwrap();
    assert_eq!(again.version(), page.version());
    let receipt = session.dispatch(click(&again, "goal"), BOUND).await;
    assert_eq!(receipt, Ok(Receipt::Applied(AppliedEffect::Navigated)));
    session.close(BOUND).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_answers_is_bounded() {
    let site = site().await;
    let factory = CdpSessionFactory::new(SessionOptions {
        keep: Keep::UntilClosed,
        ..SessionOptions::default()
    });
    factory.warm(BOUND).await.unwrap();
    let short = Duration::from_secs(2);
    let opened = factory.open_session(request(&site, "/silent"), short).await;
    let fault = FetchFault::Timeout;
    assert_eq!(opened.err(), Some(SessionError::StartUnreachable { fault }));
    let session = factory.open_session(request(&site, "/"), BOUND).await;
    let session = session.unwrap();
    let page = session.observe(BOUND).await.unwrap();
    // The click's own navigation was seen to begin: that it was carried out is known, and is said
    // before the time is over.
    let receipt = session.dispatch(click(&page, "silent"), short).await;
    let effect = AppliedEffect::DestinationFailed;
    assert_eq!(receipt, Ok(Receipt::Applied(effect)));
    session.close(BOUND).await;
    let session = factory
        .open_session(request(&site, "/fetching"), BOUND)
        .await;
    let session = session.unwrap();
    let begun = Instant::now();
    let page = session.observe(BOUND).await.unwrap();
    assert_eq!(page.settled, jev_core::snapshot::Settled::No);
    assert!(begun.elapsed() < BOUND / 2);
    session.close(BOUND).await;
    assert_eq!(factory.close(BOUND).await, CloseOutcome::Clean);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_one_browser_share_it_until_the_last_is_closed() {
    let site = site().await;
    let factory = CdpSessionFactory::new(SessionOptions::default());
    let opened = futures_of(&factory, &site).await;
    let mut documents = Vec::new();
    for session in &opened {
        documents.push(session.observe(BOUND).await.unwrap().document.clone());
    }
    documents.sort();
    documents.dedup();
    assert_eq!(documents.len(), opened.len());
    for session in opened {
        assert_eq!(session.close(BOUND).await.outcome, CloseOutcome::Clean);
    }
    assert_eq!(factory.close(BOUND).await, CloseOutcome::AlreadyClosed);
}

async fn futures_of(factory: &CdpSessionFactory, site: &Server) -> Vec<CdpSession> {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let factory = factory.clone();
        let request = request(site, "/");
        tasks.spawn(async move { factory.open_session(request, BOUND).await.unwrap() });
    }
    tasks.join_all().await
}
