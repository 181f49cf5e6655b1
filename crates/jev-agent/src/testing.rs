//! In-memory doubles of the ports for this crate's own tests: a help centre of two pages, a judge
//! that follows its only link, and counters of everything that was done.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::action::Action;
use jev_core::error::{DispatchError, JudgeError, SessionError};
use jev_core::ids::{CandidateId, DocumentId, Scope};
use jev_core::permit::Permit;
use jev_core::policy::ActionPolicy;
use jev_core::ports::{
    Change, CloseOutcome, CloseReport, Judge, JudgeIdentity, JudgeKind, OpenRequest, Session,
    SessionFactory,
};
use jev_core::question::{Answer, ChoiceAnswer, Decision, QuestionKind, Questionnaire, Subject};
use jev_core::receipt::{AppliedEffect, Receipt};
use jev_core::snapshot::{
    Candidate, Omitted, Placement, Role, ScrollState, Settled, Snapshot, SnapshotParts,
};
use jev_core::testing::SessionCase;
use jev_verify::VerifierSpec;
use tokio::sync::Notify;

use crate::pages::{Page, PageSite};
use crate::source::Source;

pub(crate) const START: &str = "http://h/help/index.html";
pub(crate) const POLICY: &str = "http://h/help/warranty.html";
pub(crate) const POLICY_TEXT: &str = "The warranty lasts 24 months from the date of purchase.";
pub(crate) const GOAL: &str = "How long does the warranty last?";

/// How often each thing was done, in the world.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub opened: AtomicUsize,
    pub open_now: AtomicUsize,
    pub most_open: AtomicUsize,
    pub closed: AtomicUsize,
    pub clicks: AtomicUsize,
    pub judged: AtomicUsize,
}

/// The world of one test.
#[derive(Clone, Default)]
pub(crate) struct World {
    pub counts: Arc<Counts>,
    /// When set, observing waits here until it is told to go on.
    pub hold: Option<Arc<Notify>>,
    /// Told whenever a session has begun to observe.
    pub observing: Arc<Notify>,
    /// Told whenever a session was closed.
    pub closing: Arc<Notify>,
    /// Panics in the middle of an open.
    pub broken: bool,
}

impl World {
    pub(crate) fn source(&self) -> Source {
        Source {
            factory: Arc::new(self.clone()),
            verifier: VerifierSpec::new().expect(r"\d+ months").build().unwrap(),
            start: CanonicalUrl::parse(START).unwrap(),
            access: AccessList::parse(["http://h/help/*"]).unwrap(),
            actions: ActionPolicy::read_only(),
        }
    }

    pub(crate) fn judge(&self) -> Arc<dyn Judge> {
        Arc::new(FollowsLinks(Arc::clone(&self.counts)))
    }
}

#[async_trait]
impl SessionFactory for World {
    async fn open(
        &self,
        request: OpenRequest,
        _deadline: Duration,
    ) -> Result<Arc<dyn Session>, SessionError> {
        assert!(!self.broken, "a factory that panics");
        self.counts.opened.fetch_add(1, Ordering::SeqCst);
        let now = self.counts.open_now.fetch_add(1, Ordering::SeqCst) + 1;
        self.counts.most_open.fetch_max(now, Ordering::SeqCst);
        Ok(Arc::new(Tab {
            world: self.clone(),
            scope: request.scope,
            at: Mutex::new(START.to_owned()),
            closed: AtomicUsize::new(0),
        }))
    }
}

struct Tab {
    world: World,
    scope: Scope,
    at: Mutex<String>,
    closed: AtomicUsize,
}

#[async_trait]
impl Session for Tab {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    async fn picture(&self, _page: &Snapshot, _bound: Duration) -> Option<Vec<u8>> {
        // The signature alone; nobody here looks at it.
        Some(b"\x89PNG\r\n\x1a\n".to_vec())
    }

    async fn observe(&self, _deadline: Duration) -> Result<Snapshot, SessionError> {
        self.world.observing.notify_one();
        if let Some(hold) = &self.world.hold {
            hold.notified().await;
        }
        let url = self.at.lock().unwrap().clone();
        Ok(page(&self.scope, &url))
    }

    async fn dispatch(
        &self,
        permit: Permit,
        _deadline: Duration,
    ) -> Result<Receipt, DispatchError> {
        self.world.counts.clicks.fetch_add(1, Ordering::SeqCst);
        if let Action::Click { target } = permit.action()
            && let Some(href) = &target.href
        {
            *self.at.lock().unwrap() = href.to_string();
        }
        Ok(Receipt::Applied(AppliedEffect::Navigated))
    }

    async fn wait(&self, _bound: Duration) -> Result<Change, SessionError> {
        Ok(Change::None)
    }

    async fn close(&self, _grace: Duration) -> CloseReport {
        let outcome = if self.closed.fetch_add(1, Ordering::SeqCst) == 0 {
            self.world.counts.open_now.fetch_sub(1, Ordering::SeqCst);
            self.world.counts.closed.fetch_add(1, Ordering::SeqCst);
            self.world.closing.notify_one();
            CloseOutcome::Clean
        } else {
            CloseOutcome::AlreadyClosed
        };
        outcome.into()
    }
}

pub(crate) fn page(scope: &Scope, url: &str) -> Snapshot {
    let start = url == START;
    let candidates = start.then(|| Candidate {
        id: CandidateId::new("c1"),
        role: Role::Link,
        label: "Warranty policy".to_owned(),
        href: CanonicalUrl::parse(POLICY).ok(),
        context: String::new(),
        placement: Placement::InView,
        guard: "g".to_owned(),
    });
    Snapshot::new(SnapshotParts {
        scope: scope.clone(),
        document: DocumentId::new(url),
        url: url.to_owned(),
        title: "Help".to_owned(),
        text: if start {
            "How can we help?"
        } else {
            POLICY_TEXT
        }
        .to_owned(),
        candidates: candidates.into_iter().collect(),
        scroll: ScrollState::default(),
        omitted: Omitted::default(),
        settled: Settled::Yes,
        reach: jev_core::contract::Reach::Document,
        http_status: Some(200),
    })
}

/// Clicks the first link offered, else claims to be blocked.
struct FollowsLinks(Arc<Counts>);

#[async_trait]
impl Judge for FollowsLinks {
    fn identity(&self) -> JudgeIdentity {
        JudgeIdentity {
            name: "double".to_owned(),
            model: None,
            kind: JudgeKind::Decides,
        }
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        _deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        self.0.judged.fetch_add(1, Ordering::SeqCst);
        let answers = questionnaire.questions.iter().map(|question| {
            let QuestionKind::Choice { options, .. } = &question.kind else {
                panic!("choices only");
            };
            let at = options
                .iter()
                .position(|option| matches!(option.subject, Subject::Candidate { .. }))
                .unwrap_or(0);
            let mut p = vec![0.0; options.len()];
            p[at] = 1.0;
            Answer::Choice(ChoiceAnswer::plain(p))
        });
        Ok(Decision {
            answers: answers.collect(),
            ..Decision::default()
        })
    }
}

/// A site of two pages and how to open it, for the suite of sessions.
pub(crate) fn conformance_case() -> (PageSite, SessionCase) {
    let start = Page::new(START, "Help", "How can we help?")
        .and_then(|page| page.link("Warranty policy", POLICY))
        .unwrap();
    let site = PageSite::new([start, Page::new(POLICY, "Warranty", POLICY_TEXT).unwrap()]);
    let case = SessionCase {
        request: OpenRequest {
            scope: Scope::new("ada", "session-1", "tab-1").unwrap(),
            start: CanonicalUrl::parse(START).unwrap(),
            access: AccessList::parse(["http://h/help/*"]).unwrap(),
            actions: ActionPolicy::read_only(),
            reach: jev_core::contract::Reach::Document,
        },
        link: "Warranty policy".to_owned(),
    };
    (site, case)
}
