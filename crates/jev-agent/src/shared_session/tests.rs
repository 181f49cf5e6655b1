//! Tests of shared sessions: one history over judge and host, typed text that nobody else sees,
//! waits, refusals, and handoffs that are taken up again.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use jev_core::access::{AccessList, AccessPattern};
use jev_core::contract::Reach;
use jev_core::error::JudgeError;
use jev_core::history::HistoryOperation;
use jev_core::host::{AccessibleName, FieldRole};
use jev_core::ids::{DocumentId, Scope};
use jev_core::permit::Permit;
use jev_core::policy::NameRule;
use jev_core::ports::{Change, CloseOutcome, JudgeIdentity, Session};
use jev_core::question::{Decision, Questionnaire};
use jev_core::receipt::{Receipt, StaleCause};
use jev_core::snapshot::{Omitted, Role, ScrollState, Settled, SnapshotParts};
use jev_judge::scripted::ScriptedJudge;
use jev_verify::VerifierSpec;
use serde_json::json;
use tempfile::TempDir;

use jev_core::error::{DispatchError, Sent};

use super::*;
use crate::driver::Unobserved;
use crate::pages::{Page, PageSite};
use crate::trajectory::{Body, EVENTS_FILE, TraceOptions};

mod dropped;
mod kept;
mod veil;

const TYPED: &str = "Kettle 9000 b\u{e4}ckerei";
const SECOND: Duration = Duration::from_secs(1);

fn site() -> PageSite {
    PageSite::new([
        Page::new("http://shop.test/", "Shop", "Welcome.")
            .unwrap()
            .link("Dead end", "gone")
            .unwrap()
            .control(Role::Tab, "Search", "panel")
            .unwrap(),
        Page::new(
            "http://shop.test/panel",
            "Shop",
            "Search panel. You typed: {Find}",
        )
        .unwrap()
        .field(FieldRole::SearchBox, "Find")
        .unwrap()
        .field(FieldRole::TextBox, "Note")
        .unwrap()
        .field(FieldRole::TextBox, "Note")
        .unwrap()
        .control(Role::Button, "Go", "results")
        .unwrap(),
        Page::new(
            "http://shop.test/results",
            "Results for {Find}",
            "One result for {Find}.",
        )
        .unwrap()
        .link("Warranty of your kettle", "warranty")
        .unwrap(),
        Page::new(
            "http://shop.test/warranty",
            "Warranty",
            "It lasts 24 months.",
        )
        .unwrap(),
    ])
}

/// Keeps every question it is asked.
struct Listening(ScriptedJudge, Mutex<Vec<String>>);

#[async_trait]
impl Judge for Listening {
    fn identity(&self) -> JudgeIdentity {
        self.0.identity()
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        self.1
            .lock()
            .unwrap()
            .push(format!("{questionnaire:?} {}", questionnaire.state));
        self.0.decide(questionnaire, deadline).await
    }
}

fn judge(script: &str) -> Arc<Listening> {
    Arc::new(Listening(
        ScriptedJudge::parse(script).unwrap(),
        Mutex::default(),
    ))
}

fn request() -> OpenRequest {
    OpenRequest {
        scope: Scope::new("u", "s", "t").unwrap(),
        start: CanonicalUrl::parse("http://shop.test/").unwrap(),
        access: AccessList::parse(["http://shop.test"]).unwrap(),
        actions: ActionPolicy {
            allow: vec![NameRule::Exact("Search".to_owned())],
            deny: vec![NameRule::Contains("delete".to_owned())],
            reserve: vec![NameRule::Exact("Go".to_owned())],
            ..ActionPolicy::read_only()
        },
        reach: Reach::Document,
    }
}

async fn open(
    factory: Arc<dyn SessionFactory>,
    judge: Arc<dyn Judge>,
    trajectory: Option<Trajectory>,
) -> SharedSession {
    let parts = SharedParts {
        factory,
        judge,
        request: request(),
        deadline: SECOND,
        price: Some(Price::per_million(1.0, 1.0).unwrap()),
        redactor: Redactor::new(),
        trajectory,
    };
    SharedSession::open(parts).await.unwrap()
}

fn task(goal: &str, expect: &str) -> SharedTask {
    SharedTask::new(
        Goal::new(goal).unwrap(),
        VerifierSpec::new().expect(expect).build().unwrap(),
    )
}

async fn run(session: &mut SharedSession, goal: &str, expect: &str) -> Handback {
    session
        .run(
            task(goal, expect),
            &mut Unobserved,
            &CancellationToken::new(),
        )
        .await
        .unwrap()
}

fn field(role: FieldRole, name: &str) -> Field {
    Field {
        role,
        name: AccessibleName::new(name).unwrap(),
    }
}

fn control(name: &str) -> Control {
    Control {
        role: Role::Button,
        name: AccessibleName::new(name).unwrap(),
    }
}

/// Whatever a spelling of the typed text would leave behind.
fn leaks(text: &str) -> bool {
    let text = text.to_lowercase();
    [
        "kettle 9000",
        "kettle%209000",
        "kettle+9000",
        "b\u{e4}ckerei",
        "b%c3%a4ckerei",
    ]
    .iter()
    .any(|piece| text.contains(piece))
}

#[tokio::test]
async fn judge_and_host_share_one_tab_and_one_history() {
    let dir = TempDir::new().unwrap();
    let site = site();
    let judge = judge(
        "{\"operation\":\"CLICK\",\"target\":\"Dead end\"}\n{\"operation\":\"CLICK\",\"target\":\"Search\"}\n{\"operation\":\"CLICK\",\"target\":\"Warranty of your kettle\"}",
    );
    let trace = Trajectory::create(&TraceOptions::new(dir.path()), Redactor::new()).unwrap();
    let folder = trace.folder().to_owned();
    let mut session = open(
        Arc::new(site.clone()),
        Arc::clone(&judge) as Arc<dyn Judge>,
        Some(trace),
    )
    .await;

    let first = run(&mut session, "Open the search panel", "Search panel").await;
    assert_eq!(first.report.status.name(), "VERIFIED");

    let typed = TypedText::new(TYPED).unwrap();
    let filled = session
        .fill(&field(FieldRole::SearchBox, "Find"), &typed, SECOND)
        .await
        .unwrap();
    assert_eq!(filled, HostReceipt::Applied(AppliedEffect::Changed));
    let pressed = session.press(&control("Go"), SECOND).await.unwrap();
    assert_eq!(pressed, HostReceipt::Applied(AppliedEffect::Changed));
    let page = session.observe(SECOND).await.unwrap().unwrap();
    assert!(page.text.contains(TYPED), "the host sees what it typed");

    let second = run(&mut session, "How long is the warranty?", r"\d+ months").await;
    assert_eq!(second.report.status.name(), "VERIFIED");
    assert_eq!(second.report.evidence()[0].quote, "24 months");

    let history: Vec<_> = second
        .history
        .iter()
        .map(|entry| {
            let target = entry.target.clone().unwrap_or_default();
            (
                serde_json::to_value(entry.operation).unwrap(),
                target,
                entry.outcome,
            )
        })
        .collect();
    let entry =
        |operation: &str, target: &str, outcome| (json!(operation), target.to_owned(), outcome);
    assert_eq!(
        history,
        [
            entry("CLICK", "Dead end", HistoryOutcome::DeadEnd),
            entry("CLICK", "Search", HistoryOutcome::Applied),
            entry("HOST_FILL", "Find", HistoryOutcome::Applied),
            entry("HOST_PRESS", "Go", HistoryOutcome::Applied),
            entry("CLICK", "Warranty of your kettle", HistoryOutcome::Applied),
        ]
    );
    let metrics = session.metrics().clone();
    assert_eq!(
        (
            metrics.runs,
            metrics.decisions,
            metrics.executed,
            metrics.host_acts
        ),
        (2, 3, 3, 2)
    );
    assert_eq!(metrics.recoveries, 1);
    assert_eq!(metrics.handoffs.get("none"), Some(&2));
    assert_eq!(session.cost(), Some(0.0));
    assert_eq!(session.close(SECOND).await.outcome, CloseOutcome::Clean);
    assert_eq!((site.counts().opened(), site.counts().closed()), (1, 1));

    // The judge was told that something was typed, and never what.
    let asked = judge.1.lock().unwrap();
    assert_eq!(asked.len(), 3);
    assert!(asked[2].contains("One result for [typed]."), "{}", asked[2]);
    assert!(asked[2].contains("HOST_FILL"), "{}", asked[2]);
    assert!(!asked.iter().any(|asked| leaks(asked)));
    // The reserved button was offered to nobody.
    assert!(
        !asked
            .iter()
            .any(|asked| asked.contains("\u{201c}Go\u{201d}"))
    );
    let text = std::fs::read_to_string(folder.join(EVENTS_FILE)).unwrap();
    assert!(!leaks(&text), "{text}");
    let reading = crate::trajectory::read(&folder).unwrap();
    let host_acts = reading
        .events
        .iter()
        .filter(|event| {
            matches!(&event.body, Body::Intent(intent) if intent.by == crate::trajectory::Actor::Host)
        })
        .count();
    assert_eq!(host_acts, 2);
    let Some(Body::End(end)) = reading.events.last().map(|event| &event.body) else {
        panic!("no end");
    };
    assert_eq!(end.result.as_str(), "CLOSED");
}

#[tokio::test]
async fn refused_acts_do_nothing_and_say_why() {
    let site = site();
    let mut session = open(Arc::new(site), judge(""), None).await;
    let text = TypedText::new("x").unwrap();
    let elsewhere = CanonicalUrl::parse("http://other.test/").unwrap();
    let panel = CanonicalUrl::parse("http://shop.test/panel").unwrap();
    let refused = |receipt: HostReceipt| match receipt {
        HostReceipt::Refused(refusal) => Some(refusal),
        HostReceipt::Applied(_) | HostReceipt::Unknown(_) => None,
    };
    let receipt = session.navigate(&elsewhere, SECOND).await.unwrap();
    assert_eq!(refused(receipt), Some(HostRefusal::OffList));
    let receipt = session.navigate(&panel, SECOND).await.unwrap();
    assert_eq!(receipt, HostReceipt::Applied(AppliedEffect::Navigated));
    for (role, name, expected) in [
        (FieldRole::TextBox, "Find", HostRefusal::NotFound),
        (FieldRole::SearchBox, "find", HostRefusal::NotFound),
        (FieldRole::TextBox, "Note", HostRefusal::Ambiguous),
    ] {
        let receipt = session
            .fill(&field(role, name), &text, SECOND)
            .await
            .unwrap();
        assert_eq!(refused(receipt), Some(expected), "{name}");
    }
    let receipt = session.press(&control("Delete all"), SECOND).await.unwrap();
    assert_eq!(refused(receipt), Some(HostRefusal::Denied));
    let receipt = session.press(&control("Nowhere"), SECOND).await.unwrap();
    assert_eq!(refused(receipt), Some(HostRefusal::NotFound));
    assert_eq!(session.history().len(), 1);
    let metrics = session.metrics();
    assert_eq!((metrics.host_acts, metrics.host_refusals), (1, 6));
}

#[tokio::test]
async fn a_handoff_is_taken_up_with_its_history() {
    let site = site();
    let judge = judge(
        "{\"operation\":\"CLICK\",\"target\":\"Dead end\"}\n{\"operation\":\"BLOCKED\"}\n{\"operation\":\"CLICK\",\"target\":\"Dead end\"}\n{\"operation\":\"CLICK\",\"target\":\"Search\"}\n{\"operation\":\"NONE\"}",
    );
    let mut session = open(
        Arc::new(site.clone()),
        Arc::clone(&judge) as Arc<dyn Judge>,
        None,
    )
    .await;
    let first = run(&mut session, "Find the terms", "no such text").await;
    assert_eq!(first.report.status.name(), "BLOCKED");
    // What led nowhere in the first run is not offered in the second.
    let second = run(&mut session, "Find the terms", "no such text").await;
    assert_eq!(second.report.status.name(), "ABSTAIN");
    assert_eq!(site.counts().dispatched(), 1);
    let third = run(&mut session, "Open the panel", "Search panel").await;
    assert_eq!(third.report.status.name(), "VERIFIED");
    // Each run begins where the tab stands.
    let fourth = run(&mut session, "Anything else", "no such text").await;
    assert_eq!(fourth.report.status.name(), "ABSTAIN");
    assert!(fourth.report.page.unwrap().url.ends_with("/panel"));
    assert_eq!(fourth.history.len(), 2);
    let handoffs = &session.metrics().handoffs;
    assert_eq!(handoffs.get("blocked"), Some(&1));
    assert_eq!(handoffs.get("low_confidence"), Some(&2));
}

/// A tab of its own mind: it shows one page after the other, and can get lost.
#[derive(Default)]
struct Wanders {
    pages: Mutex<Vec<(&'static str, &'static str)>>,
    dispatched: AtomicUsize,
    lost_receipts: bool,
    scope: Option<Scope>,
}

struct WanderingFactory(Arc<Wanders>);

#[async_trait]
impl SessionFactory for WanderingFactory {
    async fn open(&self, _: OpenRequest, _: Duration) -> Result<Arc<dyn Session>, SessionError> {
        let scope = self.0.scope.clone();
        Ok(Arc::new(WanderingTab(
            Arc::clone(&self.0),
            scope.unwrap_or_else(|| request().scope),
        )))
    }
}

struct WanderingTab(Arc<Wanders>, Scope);

#[async_trait]
impl Session for WanderingTab {
    fn scope(&self) -> &Scope {
        &self.1
    }

    async fn observe(&self, _: Duration) -> Result<Snapshot, SessionError> {
        let mut pages = self.0.pages.lock().unwrap();
        let (url, text) = if pages.len() > 1 {
            pages.remove(0)
        } else {
            pages[0]
        };
        Ok(Snapshot::new(SnapshotParts {
            scope: self.1.clone(),
            document: DocumentId::new("d"),
            url: url.to_owned(),
            title: String::new(),
            text: text.to_owned(),
            candidates: vec![jev_core::snapshot::Candidate {
                id: jev_core::ids::CandidateId::new("c1"),
                role: Role::Link,
                label: "Pay now".to_owned(),
                href: CanonicalUrl::parse("http://shop.test/pay").ok(),
                context: String::new(),
                placement: jev_core::snapshot::Placement::InView,
                guard: String::new(),
            }],
            scroll: ScrollState::default(),
            omitted: Omitted::default(),
            settled: Settled::Yes,
            reach: Reach::Document,
            http_status: None,
        }))
    }

    async fn dispatch(&self, _: Permit, _: Duration) -> Result<Receipt, DispatchError> {
        self.0.dispatched.fetch_add(1, Ordering::SeqCst);
        if self.0.lost_receipts {
            return Err(DispatchError {
                sent: Sent::Maybe,
                error: SessionError::Hung {
                    stage: jev_core::error::Stage::Dispatch,
                },
            });
        }
        Ok(Receipt::Stale(StaleCause::TargetGone))
    }

    async fn wait(&self, bound: Duration) -> Result<Change, SessionError> {
        tokio::time::sleep(bound).await;
        Ok(Change::None)
    }

    async fn close(&self, _: Duration) -> CloseReport {
        CloseOutcome::Clean.into()
    }
}

fn factory(world: Wanders) -> Arc<dyn SessionFactory> {
    Arc::new(WanderingFactory(Arc::new(world)))
}

fn wanders(pages: &[(&'static str, &'static str)]) -> Wanders {
    Wanders {
        pages: Mutex::new(pages.to_vec()),
        ..Wanders::default()
    }
}

#[tokio::test(start_paused = true)]
async fn waits_are_bounded_and_look_at_the_allow_list_each_time() {
    let loading = ("http://shop.test/", "Loading");
    let ready = ("http://shop.test/", "All is\n ready");
    let moved = ("http://shop.test/b/c", "Moved");
    let outside = ("http://other.test/", "Loading no more");
    let text = |text: &str| text.to_owned();
    let at = Until::At(AccessPattern::parse("http://shop.test/b/*").unwrap());
    let cases = [
        (
            vec![loading, loading, ready],
            Until::TextAppears(text("is  ready")),
            "met",
        ),
        (
            vec![loading, ready],
            Until::TextGone(text("Loading")),
            "met",
        ),
        (vec![loading, moved], at.clone(), "met"),
        (
            vec![loading],
            Until::TextAppears(text("ready")),
            "timed out",
        ),
        (
            vec![loading, outside],
            Until::TextGone(text("Loading")),
            "left",
        ),
        (vec![outside], at, "left"),
    ];
    for (pages, until, expected) in cases {
        let mut session = open(factory(wanders(&pages)), judge(""), None).await;
        let before = Instant::now();
        let waited = session.wait_for(&until, 10 * SECOND).await.unwrap();
        let how = match waited {
            Waited::Met(_) => "met",
            Waited::TimedOut(_) => "timed out",
            Waited::LeftScope => "left",
        };
        assert_eq!(how, expected, "{until:?}");
        assert!(before.elapsed() <= 11 * SECOND);
    }
    let mut session = open(factory(wanders(&[loading])), judge(""), None).await;
    for value in [Duration::ZERO, Duration::from_millis(60_001)] {
        let waited = session
            .wait_for(&Until::TextGone(String::new()), value)
            .await;
        assert_eq!(waited, Err(SharedError::Bound { value }));
    }
}

#[tokio::test]
async fn an_action_of_unknown_outcome_is_never_offered_again() {
    let world = Arc::new(Wanders {
        lost_receipts: true,
        ..wanders(&[("http://shop.test/", "Pay here")])
    });
    let line = "{\"operation\":\"CLICK\",\"target\":\"Pay now\"}\n";
    let judge = judge(&line.repeat(3));
    let mut session = open(
        Arc::new(WanderingFactory(Arc::clone(&world))),
        Arc::clone(&judge) as Arc<dyn Judge>,
        None,
    )
    .await;
    let first = run(&mut session, "Pay", "no such text").await;
    assert_eq!(first.report.status.name(), "UNKNOWN");
    assert_eq!(first.history[0].outcome, HistoryOutcome::Unknown);
    for _ in 0..2 {
        let again = run(&mut session, "Pay", "no such text").await;
        assert_eq!(again.report.status.name(), "ABSTAIN");
    }
    assert_eq!(world.dispatched.load(Ordering::SeqCst), 1);
    assert_eq!(
        first.history[0].operation,
        HistoryOperation::Judged(jev_core::action::Operation::Click)
    );
}

#[tokio::test]
async fn a_session_without_host_acts_says_so() {
    let mut session = open(
        factory(wanders(&[("http://shop.test/", "x")])),
        judge(""),
        None,
    )
    .await;
    let to = CanonicalUrl::parse("http://shop.test/b").unwrap();
    assert_eq!(
        session.navigate(&to, SECOND).await,
        Ok(HostReceipt::Refused(HostRefusal::Unsupported))
    );
}

#[tokio::test]
async fn a_tab_of_somebody_else_is_not_taken() {
    let world = factory(Wanders {
        scope: Scope::new("other", "s", "t").ok(),
        ..wanders(&[("http://shop.test/", "x")])
    });
    let parts = SharedParts {
        factory: world,
        judge: judge(""),
        request: request(),
        deadline: SECOND,
        price: None,
        redactor: Redactor::new(),
        trajectory: None,
    };
    assert_eq!(
        SharedSession::open(parts).await.err(),
        Some(SharedError::ScopeMismatch)
    );
}

#[test]
fn every_call_can_be_made_from_another_thread() {
    fn sent<T: Send>(_: &T) {}
    fn check(session: &mut SharedSession, to: &CanonicalUrl) {
        sent(&session.navigate(to, SECOND));
        let typed = TypedText::new("x").unwrap();
        sent(&session.fill(&field(FieldRole::TextBox, "x"), &typed, SECOND));
        sent(&session.press(&control("x"), SECOND));
        sent(&session.wait_for(&Until::TextGone(String::new()), SECOND));
        let mut observer = Unobserved;
        sent(&session.run(task("x", "x"), &mut observer, &CancellationToken::new()));
    }
    let _ = check;
}
