//! A whole suite without a browser: sessions over a handful of written pages, our own driver, the
//! oracle and two judges that know nothing.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test panics where it fails; helpers outside of test functions too"
)]

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jev_agent::CancellationToken;
use jev_core::access::CanonicalUrl;
use jev_core::action::Action;
use jev_core::error::{DispatchError, JudgeError, SessionError};
use jev_core::ids::{CandidateId, DocumentId, Scope};
use jev_core::permit::Permit;
use jev_core::ports::{
    Change, CloseOutcome, CloseReport, Judge, JudgeIdentity, JudgeKind, NetworkCounts, OpenRequest,
    Session, SessionFactory,
};
use jev_core::question::{Answer, ChoiceAnswer, Decision, QuestionKind, Questionnaire};
use jev_core::receipt::{AppliedEffect, Receipt, RejectCause};
use jev_core::snapshot::{
    Candidate, Omitted, Placement, Role, ScrollState, Settled, Snapshot, SnapshotParts,
};
use jev_eval::locate::SiteFolders;
use jev_eval::report::SuiteReport;
use jev_eval::score::Outcome;
use jev_eval::suite::{AgentRunner, Contestant, Settings, SuiteError, run};
use jev_eval::task::{self, Task};

/// Path, text, links.
const PAGES: [(&str, &str, &[&str]); 4] = [
    ("/index.html", "Welcome", &["about.html", "terms.html"]),
    ("/about.html", "We are a shop.", &["index.html"]),
    (
        "/terms.html",
        "Terms of sale",
        &["index.html", "terms/warranty.html"],
    ),
    ("/terms/warranty.html", "The warranty lasts 24 months.", &[]),
];

struct Paper;

struct PaperSession {
    request: OpenRequest,
    /// The page in front, and how many were opened before it.
    at: Mutex<(CanonicalUrl, u32)>,
}

#[async_trait]
impl SessionFactory for Paper {
    async fn open(
        &self,
        request: OpenRequest,
        _: Duration,
    ) -> Result<Arc<dyn Session>, SessionError> {
        let at = Mutex::new((request.start.clone(), 0));
        Ok(Arc::new(PaperSession { request, at }))
    }
}

#[async_trait]
impl Session for PaperSession {
    fn scope(&self) -> &Scope {
        &self.request.scope
    }

    async fn observe(&self, _: Duration) -> Result<Snapshot, SessionError> {
        let (url, age) = self.at.lock().unwrap().clone();
        let page = PAGES.iter().find(|page| page.0 == url.url().path());
        let (_, text, links) = page.unwrap_or(&("", "404", &[]));
        let candidates = links
            .iter()
            .map(|link| Candidate {
                id: CandidateId::new(format!("{age}-{link}")),
                role: Role::Link,
                label: (*link).to_owned(),
                href: Some(CanonicalUrl::new(url.url().join(link).unwrap()).unwrap()),
                context: String::new(),
                placement: Placement::InView,
                guard: String::new(),
            })
            .collect();
        Ok(Snapshot::new(SnapshotParts {
            scope: self.request.scope.clone(),
            document: DocumentId::new(age.to_string()),
            url: url.to_string(),
            title: String::new(),
            text: (*text).to_owned(),
            candidates,
            scroll: ScrollState::default(),
            omitted: Omitted::default(),
            settled: Settled::Yes,
            reach: self.request.reach,
            http_status: Some(200),
        }))
    }

    async fn dispatch(&self, permit: Permit, _: Duration) -> Result<Receipt, DispatchError> {
        let Action::Click { target } = permit.action() else {
            return Ok(Receipt::Rejected(RejectCause::Unsupported));
        };
        let mut at = self.at.lock().unwrap();
        *at = (target.href.clone().unwrap(), at.1 + 1);
        Ok(Receipt::Applied(AppliedEffect::Navigated))
    }

    async fn wait(&self, _: Duration) -> Result<Change, SessionError> {
        Ok(Change::None)
    }

    async fn close(&self, _: Duration) -> CloseReport {
        CloseReport {
            outcome: CloseOutcome::Clean,
            network: NetworkCounts::default(),
        }
    }
}

/// Always picks the option at this place with this probability.
struct Stubborn {
    place: usize,
    p: f64,
}

#[async_trait]
impl Judge for Stubborn {
    fn identity(&self) -> JudgeIdentity {
        JudgeIdentity {
            name: "stubborn".to_owned(),
            model: None,
            kind: JudgeKind::Decides,
        }
    }

    async fn decide(&self, asked: &Questionnaire, _: Duration) -> Result<Decision, JudgeError> {
        let answers = asked
            .questions
            .iter()
            .map(|question| {
                let QuestionKind::Choice { options, .. } = &question.kind else {
                    panic!("only choices are asked here");
                };
                let rest = (1.0 - self.p) / (options.len() - 1) as f64;
                let mut probabilities = vec![rest; options.len()];
                probabilities[self.place] = self.p;
                Answer::Choice(ChoiceAnswer::plain(probabilities))
            })
            .collect();
        Ok(Decision {
            answers,
            attempts: 1,
            ..Decision::default()
        })
    }
}

fn tasks() -> Vec<Task> {
    let common = r#""site":"shop","root":"site","start":"index.html","lang":"en""#;
    let lines = [
        format!(
            r#"{{"id":"yes",{common},"goal":"How long is the warranty?","evidence":"\\d+ months","kind":"answerable","answer_page":"terms/warranty.html","shortest_path":["index.html","terms.html","terms/warranty.html"],"hops":2}}"#
        ),
        format!(
            r#"{{"id":"no",{common},"goal":"What does shipping cost?","evidence":"\\d+ EUR","kind":"unanswerable"}}"#
        ),
    ];
    task::parse(&lines.join("\n")).unwrap()
}

async fn suite(contestant: &Contestant) -> SuiteReport {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("site")).unwrap();
    fs::write(folder.path().join("site/index.html"), "Welcome").unwrap();
    let folders = SiteFolders::new(folder.path(), folder.path());
    let settings = Settings::default();
    let runner = AgentRunner::new(Arc::new(Paper), CancellationToken::new());
    let mut seen = Vec::new();
    let trials = run(
        &tasks(),
        &folders,
        contestant,
        &settings,
        &runner,
        &mut |trial| seen.push(trial.id.clone()),
    )
    .await
    .unwrap();
    assert_eq!(seen, ["yes", "no"]);
    SuiteReport::new(contestant.name(), settings.reach, trials)
}

#[tokio::test]
async fn the_oracle_reaches_the_answer_and_is_not_believed_without_one() {
    let report = suite(&Contestant::Oracle).await;
    let [yes, no] = &report.trials[..] else {
        panic!("two trials: {report:?}");
    };
    assert_eq!(
        (yes.outcome, yes.status.as_str()),
        (Outcome::Success, "VERIFIED")
    );
    assert_eq!(yes.quote.as_deref(), Some("24 months"));
    assert_eq!(
        yes.pages,
        ["index.html", "terms.html", "terms/warranty.html"]
    );
    assert_eq!(
        (yes.actions, yes.detour.is_none(), yes.elsewhere),
        (2, true, false)
    );
    assert!(yes.asked_chars > 100, "{}", yes.asked_chars);
    assert_eq!(
        (no.outcome, no.status.as_str()),
        (Outcome::Declined, "UNVERIFIED")
    );
    assert_eq!(no.actions, 0);
    assert_eq!(
        (report.score.successes, report.score.false_successes),
        (1, 0)
    );
}

#[tokio::test]
async fn a_judge_that_goes_astray_is_shown_where() {
    let first = Arc::new(Stubborn { place: 0, p: 0.9 });
    let report = suite(&Contestant::Judge(first)).await;
    let yes = &report.trials[0];
    assert_eq!(yes.outcome, Outcome::Missed);
    let detour = yes.detour.as_ref().unwrap();
    assert_eq!((detour.click, detour.to.as_str()), (1, "about.html"));
    assert_eq!(report.score.false_successes, 0);
}

#[tokio::test]
async fn a_judge_below_the_gate_does_nothing() {
    let weak = Arc::new(Stubborn { place: 0, p: 0.5 });
    let report = suite(&Contestant::Judge(weak)).await;
    assert_eq!(report.score.statuses.get("ABSTAIN"), Some(&2));
    assert_eq!((report.score.actions, report.score.covered), (0, 0));
}

#[tokio::test]
async fn a_site_that_is_not_here_ends_the_suite_with_the_way_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let error = run(
        &tasks(),
        &SiteFolders::new(folder.path(), folder.path()),
        &Contestant::Oracle,
        &Settings::default(),
        &AgentRunner::new(Arc::new(Paper), CancellationToken::new()),
        &mut |_| {},
    )
    .await
    .unwrap_err();
    assert!(matches!(error, SuiteError::NoSite { .. }));
    assert!(error.to_string().contains("cargo xtask setup"), "{error}");
}
