//! The core alone: a run over a user's own session, judge and verifier, driven by hand. No runtime,
//! no browser, no clock: whoever owns those turns effects into inputs.
//!
//! `cargo run -p jev-core --example own_session`

use std::sync::Arc;
use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::action::Action;
use jev_core::asking::Ask;
use jev_core::contract::{ContractDraft, Goal, Mode, Reach};
use jev_core::effect::EffectKind;
use jev_core::ids::{CandidateId, DocumentId, RunId, Scope};
use jev_core::input::Input;
use jev_core::navigator::Navigator;
use jev_core::ports::{Change, CloseOutcome, CloseReport, NetworkCounts, VerifyRequest};
use jev_core::question::{Answer, ChoiceAnswer, Decision, QuestionKind};
use jev_core::receipt::{AppliedEffect, Receipt};
use jev_core::report::Report;
use jev_core::snapshot::{
    Candidate, Omitted, Placement, Role, ScrollState, Settled, Snapshot, SnapshotParts,
};
use jev_core::time::Timestamp;
use jev_core::verification::{Evidence, EvidencePlace, Refusal, Verdict, Verification};

type Failure = Box<dyn std::error::Error>;

/// Two pages: address, text, and where their one link leads.
const PAGES: [(&str, &str, Option<&str>); 2] = [
    (
        "http://help.test/",
        "How can we help?",
        Some("http://help.test/warranty"),
    ),
    (
        "http://help.test/warranty",
        "The warranty lasts 24 months.",
        None,
    ),
];

/// A session of our own: it stands on one of the pages.
struct Tab {
    scope: Scope,
    at: usize,
    visits: usize,
}

impl Tab {
    fn look(&self) -> Result<Snapshot, Failure> {
        let (url, text, link) = PAGES[self.at];
        let candidates = match link {
            Some(to) => vec![Candidate {
                id: CandidateId::new("c1"),
                role: Role::Link,
                label: "Warranty".to_owned(),
                href: Some(CanonicalUrl::parse(to)?),
                context: String::new(),
                placement: Placement::InView,
                guard: String::new(),
            }],
            None => Vec::new(),
        };
        Ok(Snapshot::new(SnapshotParts {
            scope: self.scope.clone(),
            document: DocumentId::new(format!("visit-{}", self.visits)),
            url: url.to_owned(),
            title: String::new(),
            text: text.to_owned(),
            candidates,
            scroll: ScrollState::default(),
            omitted: Omitted::default(),
            settled: Settled::Yes,
            reach: Reach::Document,
            http_status: Some(200),
        }))
    }

    /// A permit is consumed: there is no way to carry it out twice.
    fn act(&mut self, action: &Action) -> Receipt {
        let Action::Click { target } = action else {
            return Receipt::Applied(AppliedEffect::NoEffect);
        };
        let to = target.href.as_ref().map(CanonicalUrl::as_str);
        match PAGES.iter().position(|page| Some(page.0) == to) {
            Some(page) => {
                self.at = page;
                self.visits += 1;
                Receipt::Applied(AppliedEffect::Navigated)
            }
            None => Receipt::Applied(AppliedEffect::DestinationFailed),
        }
    }
}

/// A judge of our own: it always takes the first option.
fn judge(ask: &Ask) -> Decision {
    let questionnaire = ask.questionnaire();
    let answers = questionnaire.questions.iter().map(|question| {
        let count = match &question.kind {
            QuestionKind::Choice { options, .. } => options.len(),
            QuestionKind::Noul { .. } | QuestionKind::Score { .. } => 0,
        };
        let mut p = vec![0.0; count];
        if let Some(first) = p.first_mut() {
            *first = 1.0;
        }
        Answer::Choice(ChoiceAnswer::plain(p))
    });
    Decision {
        answers: answers.collect(),
        ..Decision::default()
    }
}

/// A verifier of our own: it looks for the term in the page's text.
fn verify(request: &VerifyRequest) -> Verification {
    let text = request.snapshot.collapsed_text();
    let verdict = match text.find("24 months") {
        Some(start) => Verdict::Passed(vec![Evidence {
            quote: "24 months".to_owned(),
            context: text.to_owned(),
            place: EvidencePlace::Text { start },
        }]),
        None => Verdict::Refused(Refusal::NotFound),
    };
    Verification {
        goal: request.goal_digest.clone(),
        version: request.snapshot.version().clone(),
        verdict,
    }
}

/// Runs the contract to its end.
pub(crate) fn run() -> Result<Report, Failure> {
    let mut draft = ContractDraft::new(
        Goal::new("How long does the warranty last?")?,
        Scope::new("ada", "session-1", "tab-1")?,
        CanonicalUrl::parse(PAGES[0].0)?,
        AccessList::parse(["http://help.test/*"])?,
    );
    draft.mode = Mode::Enforce;
    let contract = draft.check()?;
    let mut tab = Tab {
        scope: contract.scope.clone(),
        at: 0,
        visits: 1,
    };
    let mut navigator = Navigator::new(RunId(1), contract);
    let mut now = Timestamp::ZERO;
    while !navigator.is_closed() {
        while let Some(effect) = navigator.poll_effect() {
            let id = effect.id;
            let input = match effect.kind {
                EffectKind::Open(request) => Input::Opened(id, request.scope),
                EffectKind::Observe => Input::Observed(id, Arc::new(tab.look()?)),
                EffectKind::AskJudge(ask) => Input::Judged(id, judge(&ask)),
                EffectKind::Dispatch(permit) => Input::Receipt(id, tab.act(&permit.into_action())),
                EffectKind::Verify(request) => Input::Verified(id, verify(&request)),
                EffectKind::Wait { .. } => Input::Waited(id, Change::None),
                EffectKind::Close { .. } => Input::Closed(
                    id,
                    CloseReport {
                        outcome: CloseOutcome::Clean,
                        network: NetworkCounts::default(),
                    },
                ),
            };
            now = now.after(Duration::from_millis(5));
            navigator.handle(input, now);
        }
        while let Some(record) = navigator.poll_record() {
            println!(
                "{:>4} ms  {}",
                record.at.elapsed().as_millis(),
                record.event.name()
            );
        }
    }
    navigator
        .report()
        .ok_or_else(|| "a closed run has a report".into())
}

pub(crate) fn main() -> Result<(), Failure> {
    let report = run()?;
    println!("{}: {}", report.status.name(), report.status.sentence());
    for piece in report.evidence() {
        println!("evidence: {}", piece.quote);
    }
    Ok(())
}
