//! Many exclusive tabs in one browser, and tabs kept ready.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly"
)]

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
use jev_session_cdp::find::Preference;
use jev_session_cdp::launch::{Browser, LaunchOptions};
use jev_session_cdp::network::policy::TabPolicy;
use jev_session_cdp::tab::{Tab, WorldScript};
use jev_session_cdp::testing::server::{Reply, Server};
use jev_session_cdp::{CdpSessionFactory, SessionOptions};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

const BOUND: Duration = Duration::from_secs(60);
const WORLD: WorldScript = WorldScript {
    name: "test",
    source: "globalThis.mark = 1",
};
const OTHER: WorldScript = WorldScript {
    name: "other",
    source: "globalThis.mark = 2",
};

async fn launch(preference: Preference) -> Browser {
    let options = LaunchOptions {
        preference,
        deadline: BOUND,
        ..LaunchOptions::default()
    };
    match Browser::launch(options).await {
        Ok(browser) => browser,
        Err(error) => panic!("{error}"),
    }
}

fn policy(server: &Server) -> TabPolicy {
    let mut policy = TabPolicy::new(AccessList::parse([server.origin().as_str()]).unwrap());
    // On a busy machine a page may wait long for its turn; these tests are not about that.
    policy.caps.request = BOUND;
    policy.caps.silence = BOUND;
    policy
}

async fn call(tab: &Tab, method: &str, params: Value) -> Value {
    let session = Some(tab.session());
    let answer = tab.connection().call(session, method, params, BOUND).await;
    answer.unwrap()
}

async fn evaluate(tab: &Tab, script: &str) -> Value {
    let params = json!({"expression": script, "awaitPromise": true, "returnByValue": true});
    let answer = call(tab, "Runtime.evaluate", params).await;
    assert!(answer.get("exceptionDetails").is_none(), "{answer}");
    answer.pointer("/result/value").cloned().unwrap_or_default()
}

async fn load(tab: &Tab, url: &str) {
    let mut events = tab.connection().subscribe(tab.session());
    call(tab, "Page.navigate", json!({"url": url})).await;
    let loaded = async { while events.next().await.unwrap().method != "Page.loadEventFired" {} };
    timeout(BOUND, loaded).await.unwrap();
}

async fn ready(browser: &Browser, count: usize) {
    let deadline = Instant::now() + BOUND;
    while browser.ready() != count {
        assert!(Instant::now() < deadline, "{} ready", browser.ready());
        sleep(Duration::from_millis(5)).await;
    }
}

async fn contexts(browser: &Browser) -> usize {
    let answer = browser
        .connection()
        .call(None, "Target.getBrowserContexts", json!({}), BOUND)
        .await
        .unwrap();
    answer["browserContextIds"].as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_two_tabs_see_nothing_of_each_other() {
    let server = Server::start(|asked| match asked.target.as_str() {
        "/second" => Reply::of("text/html", "<title>second</title>"),
        _ => Reply::of("text/html", "<title>first</title><a href=/second>next</a>"),
    })
    .await
    .unwrap();
    let browser = Arc::new(launch(Preference::Shell).await);
    let server = Arc::new(server);
    let mut tabs = JoinSet::new();
    for number in 0..32 {
        let (browser, server) = (Arc::clone(&browser), Arc::clone(&server));
        tabs.spawn(async move {
            let tab = browser.new_tab(policy(&server), WORLD, BOUND).await.unwrap();
            load(&tab, &format!("{}/", server.origin())).await;
            let mark = format!(
                "[document.cookie, localStorage.x, document.cookie = 'n={number}', localStorage.x = '{number}'].slice(0, 2).join()"
            );
            assert_eq!(evaluate(&tab, &mark).await, json!(","), "tab {number}");
            load(&tab, &format!("{}/second", server.origin())).await;
            let seen = evaluate(&tab, "document.title + document.cookie + localStorage.x").await;
            assert_eq!(seen, json!(format!("secondn={number}{number}")));
            assert_eq!(tab.counters().counts().allowed, 2);
            tab.close(BOUND).await
        });
    }
    while let Some(outcome) = tabs.join_next().await {
        assert_eq!(outcome.unwrap(), CloseOutcome::Clean);
    }
    assert_eq!(contexts(&browser).await, 0);
    let browser = Arc::into_inner(browser).unwrap();
    assert_eq!(browser.close(BOUND).await, CloseOutcome::Clean);
}

/// A site that tells each visitor what it kept of them, and what the server was sent.
async fn keeping_site() -> Server {
    Server::start(|asked| {
        let (path, query) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
        let next = match path {
            "/start" => "<a href=/middle>middle</a>",
            "/middle" => "<a href=/end>end</a>",
            _ => "",
        };
        let sent = asked.header("cookie").unwrap_or("nothing");
        let set = match query {
            "" => String::new(),
            number => format!(
                "document.cookie = 'kept={number}'; localStorage.kept = {number}; \
                 sessionStorage.kept = {number};"
            ),
        };
        Reply::of(
            "text/html",
            format!(
                "<title>{path}</title><p>sent {sent}<p id=p></p>{next}<script>p.append('has ', \
                 document.cookie || 'nothing', ' ', localStorage.kept || 'nothing', ' ', \
                 sessionStorage.kept || 'nothing'); {set}</script>"
            ),
        )
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_two_sessions_of_one_browser_finish_a_task_of_two_hops_each() {
    let server = Arc::new(keeping_site().await);
    let factory = CdpSessionFactory::new(SessionOptions {
        preference: Preference::Shell,
        ..SessionOptions::default()
    });
    let mut runs = JoinSet::new();
    let all_open = Arc::new(Barrier::new(32));
    for number in 1..=32 {
        let (factory, server) = (factory.clone(), Arc::clone(&server));
        let all_open = Arc::clone(&all_open);
        runs.spawn(async move {
            let start = format!("{}/start?{number}", server.origin());
            let request = OpenRequest {
                scope: Scope::new("user", format!("session-{number}"), "tab").unwrap(),
                start: CanonicalUrl::parse(&start).unwrap(),
                access: AccessList::parse([server.origin().as_str()]).unwrap(),
                actions: ActionPolicy::read_only(),
                reach: Reach::Document,
            };
            let session = factory.open(request, BOUND).await.unwrap();
            let mut page = session.observe(BOUND).await.unwrap();
            // Nothing of anybody is there, though all use one site at one time.
            assert_eq!(
                page.text,
                "sent nothing\nhas nothing nothing nothing\nmiddle"
            );
            all_open.wait().await;
            for (hop, next) in [("/middle", "\nend"), ("/end", "")] {
                let target = page.candidates.first().unwrap().clone();
                let permit = Permit::for_testing(IntentId(1), &page, Action::Click { target });
                let receipt = session.dispatch(permit, BOUND).await;
                assert_eq!(receipt, Ok(Receipt::Applied(AppliedEffect::Navigated)));
                page = session.observe(BOUND).await.unwrap();
                assert_eq!(page.title, hop);
                let kept = format!("sent kept={number}\nhas kept={number} {number} {number}{next}");
                assert_eq!(page.text, kept);
            }
            session.close(BOUND).await
        });
    }
    while let Some(report) = runs.join_next().await {
        let report = report.unwrap();
        assert_eq!(report.outcome, CloseOutcome::Clean);
        assert_eq!((report.network.breaches, report.network.allowed), (0, 3));
    }
    // The last took the one browser with it.
    assert_eq!(factory.close(BOUND).await, CloseOutcome::AlreadyClosed);
}

#[tokio::test(flavor = "multi_thread")]
async fn tabs_kept_ready_are_given_away_once_and_replaced() {
    let server = Server::start(|_| Reply::of("text/html", "<title>x</title>"))
        .await
        .unwrap();
    let browser = launch(Preference::Shell).await;
    browser.keep_ready(WORLD, 2);
    ready(&browser, 2).await;
    let kept = browser
        .connection()
        .call(None, "Target.getBrowserContexts", json!({}), BOUND)
        .await
        .unwrap();
    let first = browser
        .new_tab(policy(&server), WORLD, BOUND)
        .await
        .unwrap();
    // One of those that were ready; another may be ready already in its place.
    let kept = kept["browserContextIds"].as_array().unwrap();
    assert!(kept.contains(&json!(first.context())), "{kept:?}");
    let second = browser
        .new_tab(policy(&server), WORLD, BOUND)
        .await
        .unwrap();
    assert_ne!(first.context(), second.context());
    load(&first, &format!("{}/", server.origin())).await;
    assert_eq!(evaluate(&first, "document.title").await, json!("x"));
    ready(&browser, 2).await;

    // Another world is made afresh and takes none of them.
    let other = browser
        .new_tab(policy(&server), OTHER, BOUND)
        .await
        .unwrap();
    assert_eq!(browser.ready(), 2);
    // One that died on the shelf is passed over.
    let mut events = browser.connection().subscribe_root();
    browser.keep_ready(OTHER, 1);
    ready(&browser, 1).await;
    let targets = browser
        .connection()
        .call(None, "Target.getTargets", json!({}), BOUND)
        .await
        .unwrap();
    let used = [&first, &second, &other].map(|tab| json!(tab.main_frame()));
    let infos = targets["targetInfos"].as_array().unwrap();
    let kept = infos
        .iter()
        .find(|info| info["type"] == "page" && !used.contains(&info["targetId"]))
        .unwrap();
    browser
        .connection()
        .call(
            None,
            "Target.closeTarget",
            json!({"targetId": kept["targetId"]}),
            BOUND,
        )
        .await
        .unwrap();
    let gone = async {
        loop {
            let event = events.next().await.unwrap();
            let of_kept = event.params["targetId"] == kept["targetId"];
            if event.method == "Target.detachedFromTarget" && of_kept {
                break;
            }
        }
    };
    timeout(BOUND, gone).await.unwrap();
    let taken = browser
        .new_tab(policy(&server), OTHER, BOUND)
        .await
        .unwrap();
    load(&taken, &format!("{}/", server.origin())).await;

    // A replacement is being made; none is wanted any more when it is done.
    let begun = async {
        loop {
            let event = events.next().await.unwrap();
            let of_taken = event.params["targetInfo"]["targetId"] == json!(taken.main_frame());
            if event.method == "Target.attachedToTarget" && !of_taken {
                break;
            }
        }
    };
    timeout(BOUND, begun).await.unwrap();
    browser.keep_ready(OTHER, 0);
    for tab in [first, second, other, taken] {
        tab.close(BOUND).await;
    }
    let deadline = Instant::now() + BOUND;
    while contexts(&browser).await > 0 {
        assert!(Instant::now() < deadline);
    }
    browser.keep_ready(WORLD, 3);
    assert_eq!(browser.close(BOUND).await, CloseOutcome::Clean);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_tabs_closed_dropped_and_crashed_leave_no_context() {
    let server = Server::start(|_| Reply::of("text/html", "<title>x</title>"))
        .await
        .unwrap();
    let browser = launch(Preference::Shell).await;
    let url = format!("{}/", server.origin());
    for round in 0..200 {
        let tab = browser
            .new_tab(policy(&server), WORLD, BOUND)
            .await
            .unwrap();
        match round % 4 {
            0 => drop(tab.close(BOUND).await),
            1 => drop(tab),
            2 => {
                load(&tab, &url).await;
                tab.close(BOUND).await;
            }
            _ => {
                let session = Some(tab.session());
                let crash = tab.connection().send(session, "Page.crash", json!({}));
                assert!(crash.wait(BOUND).await.is_err());
                drop(tab);
            }
        }
    }
    let deadline = Instant::now() + BOUND;
    while contexts(&browser).await > 0 {
        assert!(Instant::now() < deadline);
    }
    assert_eq!(browser.close(BOUND).await, CloseOutcome::Clean);
}
