//! A browser that somebody else started: contexts of our own in it, its user's left alone.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly"
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::action::Action;
use jev_core::contract::Reach;
use jev_core::ids::{IntentId, Scope};
use jev_core::permit::Permit;
use jev_core::policy::ActionPolicy;
use jev_core::ports::{CloseOutcome, OpenRequest, SessionFactory};
use jev_core::receipt::{AppliedEffect, Receipt};
use jev_core::testing::{self, Clock, SessionCase};
use jev_session_cdp::attach::{BoundaryKind, BrowserAddress};
use jev_session_cdp::error::LaunchError;
use jev_session_cdp::find::{Flavour, Preference, find};
use jev_session_cdp::launch::Browser;
use jev_session_cdp::network::policy::{OwnCsp, TabPolicy};
use jev_session_cdp::tab::WorldScript;
use jev_session_cdp::testing::network_cases::NETWORK_CASES;
use jev_session_cdp::testing::run::{CaseFault, run_network_cases};
use jev_session_cdp::testing::server::{Reply, Server};
use jev_session_cdp::{CdpSessionFactory, SessionOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

const BOUND: Duration = Duration::from_secs(30);
const WORLD: WorldScript = WorldScript {
    name: "test",
    source: "0",
};

/// A browser as a user would start it, with a port open.
struct Theirs {
    child: Child,
    socket: String,
    _profile: tempfile::TempDir,
}

async fn theirs(preference: Preference) -> Theirs {
    let chrome = match find(None, preference) {
        Ok(chrome) => chrome,
        Err(error) => panic!("{error}"),
    };
    let profile = tempfile::tempdir().unwrap();
    let mut command = Command::new(&chrome.program);
    command
        .arg("--remote-debugging-port=0")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--no-sandbox", "--no-first-run", "--disable-gpu"])
        .arg("about:blank")
        .env("HOME", profile.path())
        .env("TMPDIR", profile.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    match chrome.flavour {
        Flavour::Shell => {}
        Flavour::Full => drop(command.arg("--headless=new")),
    }
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let told = async {
        loop {
            let line = lines.next_line().await.unwrap().unwrap();
            if let Some((_, socket)) = line.split_once("listening on ") {
                break socket.trim().to_owned();
            }
        }
    };
    let socket = timeout(BOUND, told).await.unwrap();
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Theirs {
        child,
        socket,
        _profile: profile,
    }
}

async fn attach(address: &str) -> Browser {
    match Browser::attach(&address.parse().unwrap(), BOUND).await {
        Ok(browser) => browser,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_users_tabs_are_left_alone() {
    let server = Server::start(|asked| match asked.target.as_str() {
        "/" => Reply::of("text/html", "<title>home</title>"),
        _ => Reply::of("text/html", "<title>other</title>"),
    })
    .await
    .unwrap();
    for preference in [Preference::Shell, Preference::Full] {
        let mut theirs = theirs(preference).await;
        let port = theirs.socket.split(['/', ':']).nth(4).unwrap();
        // By its port, as people know it, and by its socket.
        let user = attach(&format!("http://127.0.0.1:{port}")).await;
        let browser = attach(&theirs.socket).await;
        assert_eq!(browser.boundary(), BoundaryKind::Attached);
        assert!(browser.pid().is_none());
        let call = |method: &'static str, params: Value| {
            let connection = user.connection().clone();
            async move { connection.call(None, method, params, BOUND).await.unwrap() }
        };

        let access = AccessList::parse([server.origin().as_str()]).unwrap();
        let tab = browser
            .new_tab(TabPolicy::new(access), WORLD, BOUND)
            .await
            .unwrap();
        let mut events = tab.connection().subscribe(tab.session());
        let url = format!("{}/", server.origin());
        let go = json!({"url": url});
        let connection = tab.connection();
        let session = Some(tab.session());
        connection
            .call(session, "Page.navigate", go, BOUND)
            .await
            .unwrap();
        let loaded =
            async { while events.next().await.unwrap().method != "Page.loadEventFired" {} };
        timeout(BOUND, loaded).await.unwrap();
        // The whole browser also asks for an icon.
        assert!(tab.counters().counts().allowed >= 1);

        // The user opens a window and a page of theirs with an opener; both stay, unheld.
        let before = server.connections();
        let theirs_url = format!("{}/other", server.origin());
        let opened = call("Target.createTarget", json!({"url": theirs_url})).await;
        let id = opened["targetId"].clone();
        let deadline = tokio::time::Instant::now() + BOUND;
        loop {
            let targets = call("Target.getTargets", json!({})).await;
            let infos = targets["targetInfos"].as_array().unwrap().clone();
            let page = infos.iter().find(|info| info["targetId"] == id).unwrap();
            if page["title"] == "other" {
                break;
            }
            assert!(tokio::time::Instant::now() < deadline, "{page}");
        }
        assert!(server.connections() > before);

        let ours = json!(tab.context());
        assert_eq!(browser.close(BOUND).await, CloseOutcome::Clean);
        let deadline = tokio::time::Instant::now() + BOUND;
        loop {
            let contexts = call("Target.getBrowserContexts", json!({})).await;
            let contexts = contexts["browserContextIds"].as_array().unwrap().clone();
            if !contexts.contains(&ours) {
                break;
            }
            assert!(tokio::time::Instant::now() < deadline);
        }
        let targets = call("Target.getTargets", json!({})).await;
        let infos = targets["targetInfos"].as_array().unwrap();
        assert!(infos.iter().any(|info| info["targetId"] == id));
        assert!(theirs.child.try_wait().unwrap().is_none());
        theirs.child.kill().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_read_and_act_in_it_and_end_with_their_contexts() {
    let server = Server::start(|asked| match asked.target.as_str() {
        "/next" => Reply::of("text/html", "<title>Next</title><p>There"),
        _ => Reply::of(
            "text/html",
            "<title>Form</title><form><input name=q><input type=email name=m></form>\
             <a href=/next>Onward</a>",
        ),
    })
    .await
    .unwrap();
    for preference in [Preference::Shell, Preference::Full] {
        let mut theirs = theirs(preference).await;
        let user = attach(&theirs.socket).await;
        let factory = CdpSessionFactory::new(SessionOptions {
            connect: Some(theirs.socket.parse().unwrap()),
            ..SessionOptions::default()
        });
        for name in ["one", "two"] {
            let request = OpenRequest {
                scope: Scope::new("attach", name, "tab").unwrap(),
                start: CanonicalUrl::parse(&format!("{}/", server.origin())).unwrap(),
                access: AccessList::parse([server.origin().as_str()]).unwrap(),
                actions: ActionPolicy::read_only(),
                reach: Reach::Document,
            };
            let session = factory.open(request, BOUND).await.unwrap();
            let seen = session.observe(BOUND).await.unwrap();
            assert_eq!(seen.title, "Form");
            let target = seen.candidates.first().unwrap().clone();
            let permit = Permit::for_testing(IntentId(1), &seen, Action::Click { target });
            let receipt = session.dispatch(permit, BOUND).await;
            assert_eq!(receipt, Ok(Receipt::Applied(AppliedEffect::Navigated)));
            assert_eq!(session.observe(BOUND).await.unwrap().text, "There");
            let report = session.close(BOUND).await;
            assert_eq!(report.outcome, CloseOutcome::Clean);
        }
        let call = user
            .connection()
            .call(None, "Target.getTargets", json!({}), BOUND);
        let targets = call.await.unwrap();
        let infos = targets["targetInfos"].as_array().unwrap();
        assert!(
            infos.iter().all(|info| info["title"] != "Next"),
            "{targets}"
        );
        assert!(theirs.child.try_wait().unwrap().is_none());
        theirs.child.kill().await.unwrap();
        // A browser that went away is an error, not a wait.
        let gone = factory.warm(BOUND).await.unwrap_err();
        assert!(matches!(gone, LaunchError::Attach(_)), "{gone}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hostile_pages_get_no_further_than_our_proxy() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hostile/network");
    for preference in [Preference::Shell, Preference::Full] {
        let mut theirs = theirs(preference).await;
        let browser = Arc::new(attach(&theirs.socket).await);
        let reports = run_network_cases(&browser, &folder, NETWORK_CASES, OwnCsp::On).await;
        let reached: BTreeSet<&str> = reports
            .iter()
            .filter(|report| report.reached())
            .map(|report| report.case.name)
            .collect();
        for report in &reports {
            for fault in &report.faults {
                println!("{preference:?} {}: {fault}", report.case.name);
            }
        }
        assert!(reached.is_empty(), "{preference:?}: {reached:?}");
        let failed = reports
            .iter()
            .flat_map(|report| &report.faults)
            .any(|fault| matches!(fault, CaseFault::Browser(_) | CaseFault::Server(_)));
        assert!(!failed, "{preference:?}");
        let browser = Arc::into_inner(browser).unwrap();
        browser.close(BOUND).await;
        theirs.child.kill().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_this_machines_browsers_are_attached_to() {
    for address in [
        "ws://example.com/devtools/browser/x",
        "ws://192.168.0.1:9222/devtools/browser/x",
        "ws://127.0.0.1.example.com:9222/x",
        "ws://localhost.example.com:9222/x",
        "wss://127.0.0.1:9222/x",
        "http://user:word@127.0.0.1:9222/",
        "file:///tmp/x",
        "127.0.0.1:9222",
        "",
    ] {
        let error = BrowserAddress::from_str(address).unwrap_err();
        assert!(matches!(error, LaunchError::Address), "{address}: {error}");
    }
    // A server that is no browser.
    let server = Server::start(|_| Reply::of("application/json", "{}"))
        .await
        .unwrap();
    let refused = async |address: &str, bound: Duration| {
        let address = address.parse().unwrap();
        Browser::attach(&address, bound).await.unwrap_err()
    };
    let error = refused(&server.origin(), BOUND).await;
    assert!(matches!(error, LaunchError::Address), "{error}");
    let elsewhere = r#"{"webSocketDebuggerUrl":"ws://10.0.0.1:1/x"}"#;
    let server = Server::start(move |_| Reply::of("application/json", elsewhere))
        .await
        .unwrap();
    let error = refused(&server.origin(), BOUND).await;
    assert!(matches!(error, LaunchError::Address), "{error}");
    let silent = Server::start(|_| Reply::Silence).await.unwrap();
    let short = Duration::from_millis(200);
    for scheme in ["ws", "http"] {
        let address = format!("{scheme}://127.0.0.1:{}/", silent.port());
        let error = refused(&address, short).await;
        assert!(matches!(error, LaunchError::Attach(_)), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_in_a_browser_that_runs_already_conforms() {
    let server = Server::start(|asked| match asked.target.as_str() {
        "/" => Reply::of(
            "text/html",
            "<title>Start</title><a href=/two>Two</a><p>Text.",
        ),
        _ => Reply::of("text/html", "<title>Two</title><p>The second page."),
    })
    .await
    .unwrap();
    let theirs = theirs(Preference::Shell).await;
    let factory = CdpSessionFactory::new(SessionOptions {
        connect: Some(theirs.socket.parse().unwrap()),
        ..SessionOptions::default()
    });
    let case = SessionCase {
        request: OpenRequest {
            scope: Scope::new("attach", "conformance", "tab").unwrap(),
            start: CanonicalUrl::parse(&format!("{}/", server.origin())).unwrap(),
            access: AccessList::parse([server.origin().as_str()]).unwrap(),
            actions: ActionPolicy::read_only(),
            reach: Reach::Document,
        },
        link: "Two".to_owned(),
    };
    let clock = Clock::new(tokio::time::sleep).with_patience(Duration::from_secs(60));
    assert_eq!(testing::session(&factory, &case, &clock).await, Ok(()));
}
