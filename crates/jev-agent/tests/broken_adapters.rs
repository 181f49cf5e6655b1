//! The conformance suites refuse what breaks a port's promise: adapters that are sound but for one
//! fault, and the rule that each must be refused with.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a flaw changes one place, and every other place lets all others by"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jev_agent::pages::{Page, PageSite};
use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::action::Action;
use jev_core::contract::Reach;
use jev_core::error::{DispatchError, JudgeError, Sent, SessionError, VerifyError};
use jev_core::ids::{CandidateId, DocumentId, GoalDigest, IntentId, PageVersion, Scope};
use jev_core::permit::Permit;
use jev_core::policy::ActionPolicy;
use jev_core::ports::{
    Change, CloseReport, Judge, JudgeIdentity, JudgeKind, OpenRequest, Session, SessionFactory,
    Verifier, VerifyRequest,
};
use jev_core::question::{Answer, ChoiceAnswer, Decision, QuestionKind, Questionnaire};
use jev_core::receipt::{AppliedEffect, Receipt};
use jev_core::snapshot::{Snapshot, SnapshotParts};
use jev_core::testing::{self, Broken, Clock, SessionCase, VerifierCase};
use jev_core::verification::{Evidence, EvidencePlace, Refusal, Verdict, Verification};

fn clock() -> Clock {
    Clock::new(tokio::time::sleep).with_patience(Duration::from_secs(1))
}

/// What one session does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    AnotherScope,
    AnotherScopeInSnapshots,
    AnotherStart,
    Restless,
    OffTheList,
    SharedIds,
    OperationIds,
    RaggedLabels,
    LinksWithoutAddress,
    NoLinks,
    ClicksAnything,
    ActsAndSaysStale,
    HangsOnWait,
    ForgetsToGo,
    KeepsItsDocumentId,
    FollowsOldPermits,
    GoesNowhereBack,
    HangsAfterAbandon,
    SendsWhileClosing,
    HangsOnClose,
    ClosesTwice,
    ReadsWhenClosed,
    WaitsWhenClosed,
    SendsWhenClosed,
    MaybeSendsWhenClosed,
    ClosedForAnotherReason,
}

struct Flawed {
    site: PageSite,
    flaw: Flaw,
}

struct FlawedSession {
    inner: Arc<dyn Session>,
    flaw: Flaw,
    scope: Scope,
    looks: AtomicU32,
    closes: AtomicU32,
    dispatches: AtomicU32,
}

#[async_trait]
impl SessionFactory for Flawed {
    async fn open(
        &self,
        mut request: OpenRequest,
        deadline: Duration,
    ) -> Result<Arc<dyn Session>, SessionError> {
        let mut scope = request.scope.clone();
        if self.flaw == Flaw::AnotherScope {
            scope = another_scope();
        }
        if self.flaw == Flaw::AnotherStart {
            request.start = CanonicalUrl::parse("http://help.test/warranty").unwrap();
        }
        Ok(Arc::new(FlawedSession {
            inner: self.site.open(request, deadline).await?,
            flaw: self.flaw,
            scope,
            looks: AtomicU32::new(0),
            closes: AtomicU32::new(0),
            dispatches: AtomicU32::new(0),
        }))
    }
}

fn another_scope() -> Scope {
    Scope::new("someone", "else's", "tab").unwrap()
}

impl FlawedSession {
    fn is_closed(&self) -> bool {
        self.closes.load(Ordering::SeqCst) > 0
    }

    fn spoil(&self, page: Snapshot) -> Snapshot {
        let mut parts: SnapshotParts = (*page).clone();
        let look = self.looks.fetch_add(1, Ordering::SeqCst);
        match self.flaw {
            Flaw::AnotherScopeInSnapshots => parts.scope = another_scope(),
            Flaw::Restless => parts.text = format!("Look {look}"),
            Flaw::OffTheList => parts.url = "http://elsewhere.test/".to_owned(),
            Flaw::SharedIds => rename(&mut parts, &["c", "c"]),
            Flaw::OperationIds => rename(&mut parts, &["done", "wait"]),
            Flaw::RaggedLabels => relabel(&mut parts, " Warranty"),
            Flaw::LinksWithoutAddress => {
                parts.candidates.iter_mut().for_each(|one| one.href = None)
            }
            Flaw::NoLinks => parts.candidates.clear(),
            Flaw::KeepsItsDocumentId => parts.document = DocumentId::new("document-1"),
            _ => {}
        }
        Snapshot::new(parts)
    }
}

fn rename(parts: &mut SnapshotParts, ids: &[&str]) {
    for (candidate, id) in parts.candidates.iter_mut().zip(ids) {
        candidate.id = CandidateId::new(*id);
    }
}

fn relabel(parts: &mut SnapshotParts, label: &str) {
    for candidate in &mut parts.candidates {
        candidate.label = label.to_owned();
    }
}

const APPLIED: Receipt = Receipt::Applied(AppliedEffect::Navigated);

#[async_trait]
impl Session for FlawedSession {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    async fn observe(&self, deadline: Duration) -> Result<Snapshot, SessionError> {
        if self.is_closed() && self.flaw == Flaw::ClosedForAnotherReason {
            return Err(SessionError::Crashed);
        }
        if self.is_closed() && self.flaw == Flaw::ReadsWhenClosed {
            return Ok(Arc::unwrap_or_clone(testing::page(
                "http://help.test/",
                "",
                "",
            )));
        }
        // The look after the fifth dispatch is the one after the dispatch that was given up.
        if self.flaw == Flaw::HangsAfterAbandon && self.dispatches.load(Ordering::SeqCst) == 5 {
            std::future::pending::<()>().await;
        }
        self.inner
            .observe(deadline)
            .await
            .map(|page| self.spoil(page))
    }

    async fn dispatch(&self, permit: Permit, deadline: Duration) -> Result<Receipt, DispatchError> {
        self.dispatches.fetch_add(1, Ordering::SeqCst);
        let closed = self.is_closed();
        let surely_not = DispatchError {
            sent: Sent::Maybe,
            error: SessionError::Closed,
        };
        match (self.flaw, permit.intent(), permit.action()) {
            (Flaw::ClicksAnything, IntentId(1), _) => Ok(APPLIED),
            (Flaw::ActsAndSaysStale, IntentId(1), _) => {
                let page = self.inner.observe(deadline).await.unwrap();
                let target = page.candidates[0].clone();
                let real = Permit::for_testing(IntentId(1), &page, Action::Click { target });
                self.inner.dispatch(real, deadline).await?;
                Ok(Receipt::Stale(jev_core::receipt::StaleCause::TargetGone))
            }
            (Flaw::ForgetsToGo, IntentId(2), _) => Ok(APPLIED),
            (Flaw::FollowsOldPermits, IntentId(3), _) => Ok(APPLIED),
            (Flaw::GoesNowhereBack, _, Action::Back) if !closed => Ok(APPLIED),
            (Flaw::SendsWhileClosing, IntentId(8), _) => Ok(APPLIED),
            (Flaw::SendsWhenClosed, IntentId(9), _) => Ok(APPLIED),
            (Flaw::MaybeSendsWhenClosed, IntentId(9), _) => Err(surely_not),
            _ => self.inner.dispatch(permit, deadline).await,
        }
    }

    async fn wait(&self, bound: Duration) -> Result<Change, SessionError> {
        match self.flaw {
            Flaw::HangsOnWait if !self.is_closed() => std::future::pending().await,
            Flaw::WaitsWhenClosed if self.is_closed() => Ok(Change::None),
            _ => self.inner.wait(bound).await,
        }
    }

    async fn close(&self, grace: Duration) -> CloseReport {
        if self.flaw == Flaw::HangsOnClose {
            std::future::pending::<()>().await;
        }
        let report = self.inner.close(grace).await;
        let again = self.closes.fetch_add(1, Ordering::SeqCst) > 0;
        if again && self.flaw == Flaw::ClosesTwice {
            return CloseReport {
                outcome: jev_core::ports::CloseOutcome::Clean,
                ..report
            };
        }
        report
    }
}

async fn session_with(flaw: Flaw) -> Result<(), Broken> {
    let start = Page::new("http://help.test/", "Help", "How can we help?")
        .and_then(|page| page.link("Warranty", "/warranty"))
        .and_then(|page| page.link("Start", "/"))
        .unwrap();
    let warranty = Page::new("http://help.test/warranty", "Warranty", "24 months.").unwrap();
    let factory = Flawed {
        site: PageSite::new([start, warranty]),
        flaw,
    };
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
    testing::session(&factory, &case, &clock()).await
}

#[tokio::test(start_paused = true)]
async fn every_fault_of_a_session_is_refused_with_its_rule() {
    assert_eq!(session_with(Flaw::None).await, Ok(()));
    let table = [
        (
            Flaw::AnotherScope,
            "a session belongs to whom it was opened for",
        ),
        (
            Flaw::AnotherScopeInSnapshots,
            "a snapshot carries the session's scope",
        ),
        (Flaw::AnotherStart, "a session begins on its start page"),
        (
            Flaw::Restless,
            "a page at rest reads the same twice, ids and guards included",
        ),
        (Flaw::OffTheList, "a session stands on allowed pages only"),
        (Flaw::SharedIds, "every candidate has an id of its own"),
        (
            Flaw::OperationIds,
            "no candidate's id is blank or the name of an operation",
        ),
        (
            Flaw::RaggedLabels,
            "every candidate has a name, white space collapsed",
        ),
        (
            Flaw::LinksWithoutAddress,
            "links have an address, other controls none",
        ),
        (Flaw::NoLinks, "the links of a page are listed"),
        (
            Flaw::ClicksAnything,
            "a target that is not on the page is stale",
        ),
        (
            Flaw::ActsAndSaysStale,
            "what is not applied has not happened",
        ),
        (Flaw::HangsOnWait, "a call ends by its deadline"),
        (
            Flaw::ForgetsToGo,
            "the next look shows the page that the link leads to",
        ),
        (
            Flaw::KeepsItsDocumentId,
            "a new document has a new id, and NAVIGATED says that there is one",
        ),
        (
            Flaw::FollowsOldPermits,
            "a permit of an earlier document is stale",
        ),
        (
            Flaw::GoesNowhereBack,
            "going back is applied and leads back",
        ),
        (Flaw::HangsAfterAbandon, "a call ends by its deadline"),
        (
            Flaw::SendsWhileClosing,
            "a dispatch that begins after a close is surely not sent",
        ),
        (Flaw::HangsOnClose, "a call ends by its deadline"),
        (
            Flaw::ClosesTwice,
            "a second close says that it is closed already",
        ),
        (
            Flaw::ReadsWhenClosed,
            "a closed session answers every call with an error",
        ),
        (
            Flaw::WaitsWhenClosed,
            "a closed session answers every call with an error",
        ),
        (
            Flaw::SendsWhenClosed,
            "a closed session surely sends nothing",
        ),
        (
            Flaw::MaybeSendsWhenClosed,
            "a closed session surely sends nothing",
        ),
        (
            Flaw::ClosedForAnotherReason,
            "a closed session says that it is closed",
        ),
    ];
    for (flaw, rule) in table {
        let outcome = session_with(flaw).await;
        assert_eq!(outcome.map_err(|broken| broken.rule), Err(rule), "{flaw:?}");
    }
}

/// What one judge does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
    None,
    Nameless,
    Changes,
    Fails,
    RefusesAll,
    Hangs,
    HangsWithoutTime,
    OneOptionShort,
    OneAnswerShort,
    NotNormal,
    Negative,
    NotANumber,
    AnotherKind,
}

struct Slipping(Slip, AtomicU32);

#[async_trait]
impl Judge for Slipping {
    fn identity(&self) -> JudgeIdentity {
        let asked = self.1.load(Ordering::SeqCst);
        JudgeIdentity {
            name: match self.0 {
                Slip::Nameless => " ".to_owned(),
                Slip::Changes => format!("judge {asked}"),
                _ => "judge".to_owned(),
            },
            model: None,
            kind: JudgeKind::Decides,
        }
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        match self.0 {
            Slip::Fails => return Err(JudgeError::RateLimited),
            Slip::RefusesAll => return Err(JudgeError::TooLarge),
            Slip::Hangs => std::future::pending().await,
            Slip::HangsWithoutTime if deadline.is_zero() => std::future::pending().await,
            _ => {}
        }
        let answer = |question: &jev_core::question::Question| {
            let QuestionKind::Choice { options, .. } = &question.kind else {
                return Answer::Noul { noul: 0.5 };
            };
            let mut p = vec![0.0; options.len()];
            p[0] = 1.0;
            match self.0 {
                Slip::OneOptionShort => drop(p.pop()),
                Slip::NotNormal => p.fill(0.9),
                Slip::Negative => p[0] = -1.0,
                Slip::NotANumber => p[0] = f64::NAN,
                Slip::AnotherKind => return Answer::Noul { noul: 0.5 },
                _ => {}
            }
            Answer::Choice(ChoiceAnswer::plain(p))
        };
        let mut answers: Vec<Answer> = questionnaire.questions.iter().map(answer).collect();
        if self.0 == Slip::OneAnswerShort {
            answers.pop();
        }
        Ok(Decision {
            answers,
            ..Decision::default()
        })
    }
}

#[tokio::test(start_paused = true)]
async fn every_fault_of_a_judge_is_refused_with_its_rule() {
    let valid = "an answer has one probability from 0 to 1 for each option, and they sum to 1";
    let table = [
        (Slip::Nameless, "a judge has a name"),
        (Slip::Changes, "a judge stays who it is"),
        (
            Slip::Fails,
            "a question is answered, or refused as one that can't be answered",
        ),
        (Slip::RefusesAll, "some kind of question is answered"),
        (Slip::Hangs, "a call ends by its deadline"),
        (Slip::HangsWithoutTime, "a call ends by its deadline"),
        (Slip::OneOptionShort, valid),
        (Slip::OneAnswerShort, valid),
        (Slip::NotNormal, valid),
        (Slip::Negative, valid),
        (Slip::NotANumber, valid),
        (Slip::AnotherKind, valid),
    ];
    let judged = async |slip| testing::judge(&Slipping(slip, AtomicU32::new(0)), &clock()).await;
    assert!(judged(Slip::None).await.is_ok());
    for (slip, rule) in table {
        let outcome = judged(slip).await.map(|_| ());
        assert_eq!(outcome.map_err(|broken| broken.rule), Err(rule), "{slip:?}");
    }
}

/// What one verifier does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lapse {
    None,
    Fails,
    RefusesAll,
    PassesAll,
    NoEvidence,
    EvidenceElsewhere,
    BlankEvidence,
    ItsOwnGoal,
    AnotherVersion,
    Tires,
    Hangs,
}

struct Lapsing(Lapse, AtomicU32);

#[async_trait]
impl Verifier for Lapsing {
    async fn verify(
        &self,
        request: VerifyRequest,
        _deadline: Duration,
    ) -> Result<Verification, VerifyError> {
        let asked = self.1.fetch_add(1, Ordering::SeqCst);
        let page = &request.snapshot;
        let quote = |words: &str| {
            vec![Evidence {
                quote: words.to_owned(),
                context: String::new(),
                place: EvidencePlace::Title,
            }]
        };
        let truth = match page.title == "Manual" {
            true => Verdict::Passed(quote("Manual")),
            false => Verdict::Refused(Refusal::NotFound),
        };
        let passed = matches!(truth, Verdict::Passed(_));
        let verdict = match self.0 {
            Lapse::Fails => return Err(VerifyError::Failed),
            Lapse::Hangs => std::future::pending().await,
            Lapse::RefusesAll => Verdict::Refused(Refusal::Undecided),
            Lapse::PassesAll => Verdict::Passed(quote(&page.title)),
            Lapse::NoEvidence if passed => Verdict::Passed(Vec::new()),
            Lapse::EvidenceElsewhere if passed => Verdict::Passed(quote("Elsewhere")),
            Lapse::BlankEvidence if passed => Verdict::Passed(quote(" ")),
            Lapse::Tires if asked > 2 => Verdict::Refused(Refusal::Undecided),
            _ => truth,
        };
        Ok(Verification {
            goal: match self.0 {
                Lapse::ItsOwnGoal => GoalDigest::new("its own"),
                _ => request.goal_digest,
            },
            version: match self.0 {
                Lapse::AnotherVersion => PageVersion::new("another"),
                _ => page.version().clone(),
            },
            verdict,
        })
    }
}

#[tokio::test(start_paused = true)]
async fn every_fault_of_a_verifier_is_refused_with_its_rule() {
    let stands = "every piece of evidence stands on the page it was made from";
    let table = [
        (Lapse::Fails, "a page at rest gets a verdict"),
        (Lapse::Hangs, "a call ends by its deadline"),
        (
            Lapse::RefusesAll,
            "a page that satisfies the goal is passed",
        ),
        (
            Lapse::PassesAll,
            "a page that does not satisfy the goal is refused",
        ),
        (Lapse::NoEvidence, "a passed verdict has evidence"),
        (Lapse::EvidenceElsewhere, stands),
        (Lapse::BlankEvidence, stands),
        (
            Lapse::ItsOwnGoal,
            "a verification carries the digest of the goal it was asked for",
        ),
        (
            Lapse::AnotherVersion,
            "a verification carries the version of the page it was made from",
        ),
        (
            Lapse::Tires,
            "the same page gets the same verdict, whatever was asked before",
        ),
    ];
    let verified = async |lapse| {
        let case = VerifierCase {
            goal: "Which page is the manual?".to_owned(),
            holds: testing::page("http://h/manual", "Manual", "All about it."),
            lacks: testing::page("http://h/", "Start", "See the manual."),
        };
        testing::verifier(&Lapsing(lapse, AtomicU32::new(0)), &case, &clock()).await
    };
    assert_eq!(verified(Lapse::None).await, Ok(()));
    for (lapse, rule) in table {
        let outcome = verified(lapse).await;
        assert_eq!(
            outcome.map_err(|broken| broken.rule),
            Err(rule),
            "{lapse:?}"
        );
    }
}
