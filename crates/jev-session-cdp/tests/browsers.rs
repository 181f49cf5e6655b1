//! Which browser a session gets, and when a browser ends: with its last session, however that ends,
//! and never given to another once it can't be trusted.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails its test by a panic"
)]

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpStream;
use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::contract::Reach;
use jev_core::error::SessionError;
use jev_core::ids::Scope;
use jev_core::policy::ActionPolicy;
use jev_core::ports::{CloseOutcome, OpenRequest, Session};
use jev_session_cdp::testing::server::{Reply, Server};
use jev_session_cdp::testing::traces::{Process, family};
use jev_session_cdp::{CdpSessionFactory, Keep, SessionOptions};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep, timeout};

const BOUND: Duration = Duration::from_secs(30);

async fn site() -> Server {
    Server::start(|_| Reply::of("text/html", "<title>x</title><p>text"))
        .await
        .unwrap()
}

fn request(site: &Server) -> OpenRequest {
    OpenRequest {
        scope: Scope::new("user", "session", "tab").unwrap(),
        start: CanonicalUrl::parse(&site.origin()).unwrap(),
        access: AccessList::parse([site.origin().as_str()]).unwrap(),
        actions: ActionPolicy::read_only(),
        reach: Reach::Document,
    }
}

fn factory(keep: Keep) -> CdpSessionFactory {
    CdpSessionFactory::new(SessionOptions {
        keep,
        ..SessionOptions::default()
    })
}

async fn pid(factory: &CdpSessionFactory) -> Option<u32> {
    factory.running().await?.pid()
}

async fn gone(processes: &BTreeSet<Process>) {
    let end = Instant::now() + BOUND;
    while processes.iter().any(|process| process.exists()) {
        assert!(Instant::now() < end, "left: {processes:?}");
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_close_together_end_their_browser() {
    let site = site().await;
    for _ in 0..10 {
        let factory = factory(Keep::WhileUsed);
        let (one, other) = tokio::join!(
            factory.open_session(request(&site), BOUND),
            factory.open_session(request(&site), BOUND)
        );
        let (one, other) = (one.unwrap(), other.unwrap());
        let processes = family(pid(&factory).await.unwrap());
        let (one, other) = tokio::join!(one.close(BOUND), other.close(BOUND));
        assert_eq!(one.outcome, CloseOutcome::Clean);
        assert_eq!(other.outcome, CloseOutcome::Clean);
        assert!(factory.running().await.is_none());
        gone(&processes).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_given_up_while_it_opens_leaves_no_browser() {
    let site = site().await;
    let factory = factory(Keep::WhileUsed);
    let mut seen = BTreeSet::new();
    let mut given_up = 0;
    for millis in (0..).step_by(40) {
        let bound = Duration::from_millis(millis);
        let opening = factory.open_session(request(&site), BOUND);
        let opened = timeout(bound, opening).await;
        if let Some(pid) = pid(&factory).await {
            seen.extend(family(pid));
        }
        match opened {
            Err(_) => given_up += 1,
            Ok(session) => {
                session.unwrap().close(BOUND).await;
                break;
            }
        }
        assert!(factory.running().await.is_none(), "after {millis} ms");
    }
    assert!(given_up > 0);
    gone(&seen).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_session_ends_its_browser() {
    let site = site().await;
    let factory = factory(Keep::WhileUsed);
    let session = factory.open_session(request(&site), BOUND).await.unwrap();
    let processes = family(pid(&factory).await.unwrap());
    drop(session);
    assert!(factory.running().await.is_none());
    gone(&processes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_does_not_answer_is_given_to_nobody_else() {
    let site = site().await;
    let factory = factory(Keep::UntilClosed);
    let session = factory.open_session(request(&site), BOUND).await.unwrap();
    let other = factory.open_session(request(&site), BOUND).await.unwrap();
    let hung = pid(&factory).await.unwrap();
    let processes = family(hung);
    for process in &processes {
        let pid = Pid::from_raw(i32::try_from(process.pid).unwrap()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
    }
    let report = session.close(Duration::from_millis(300)).await;
    assert_eq!(report.outcome, CloseOutcome::Unanswered);
    // The other session keeps it until its own end.
    assert!(processes.iter().all(|process| process.exists()));
    let fresh = factory.open_session(request(&site), BOUND).await.unwrap();
    assert_ne!(pid(&factory).await, Some(hung));
    assert_eq!(fresh.observe(BOUND).await.unwrap().title, "x");
    let report = other.close(Duration::from_millis(300)).await;
    assert_eq!(report.outcome, CloseOutcome::Killed);
    gone(&processes).await;
    assert_eq!(fresh.close(BOUND).await.outcome, CloseOutcome::Clean);
    assert_eq!(factory.close(BOUND).await, CloseOutcome::Clean);
}

/// The port of the browser's own proxy, on which nothing may ever connect.
fn tripwire(processes: &BTreeSet<Process>) -> u16 {
    let flag = "--proxy-server=http://127.0.0.1:";
    let mut lines = processes.iter().filter_map(|process| {
        let line = fs::read_to_string(format!("/proc/{}/cmdline", process.pid)).ok()?;
        let port = line.split('\0').find_map(|word| word.strip_prefix(flag))?;
        port.parse().ok()
    });
    lines.next().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_tried_to_get_out_is_given_to_nobody_else() {
    let site = site().await;
    let factory = factory(Keep::UntilClosed);
    let session = factory.open_session(request(&site), BOUND).await.unwrap();
    let breached = pid(&factory).await.unwrap();
    let processes = family(breached);
    TcpStream::connect(("127.0.0.1", tripwire(&processes)))
        .map(|mut stream| std::io::Write::write_all(&mut stream, b"CONNECT somewhere:443\r\n\r\n"))
        .unwrap()
        .unwrap();
    let end = Instant::now() + BOUND;
    while session.observe(BOUND).await != Err(SessionError::BoundaryBreach) {
        assert!(Instant::now() < end);
    }
    // Neither before nor after its session is closed.
    let fresh = factory.open_session(request(&site), BOUND).await.unwrap();
    assert_ne!(pid(&factory).await, Some(breached));
    let report = session.close(BOUND).await;
    assert_eq!(report.outcome, CloseOutcome::Killed);
    assert_eq!(report.network.breaches, 1);
    gone(&processes).await;
    assert_eq!(fresh.observe(BOUND).await.unwrap().title, "x");
    assert_eq!(fresh.close(BOUND).await.outcome, CloseOutcome::Clean);
    assert_eq!(factory.close(BOUND).await, CloseOutcome::Clean);
}
