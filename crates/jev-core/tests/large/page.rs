//! A run on a large page, input by input: shared by the bench of one input's cost and the proof that
//! no input copies the page.

use std::sync::Arc;
use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::asking::Ask;
use jev_core::contract::{ContractDraft, Goal, Mode, Reach};
use jev_core::effect::{Effect, EffectKind};
use jev_core::ids::{CandidateId, DocumentId, RunId, Scope};
use jev_core::input::Input;
use jev_core::navigator::Navigator;
use jev_core::ports::{CloseOutcome, CloseReport};
use jev_core::question::{Answer, ChoiceAnswer, Decision};
use jev_core::receipt::{AppliedEffect, Receipt, RejectCause, StaleCause};
use jev_core::snapshot::{
    Candidate, Omitted, Placement, Role, ScrollState, Settled, Snapshot, SnapshotParts,
};
use jev_core::time::Timestamp;
use jev_core::verification::{Evidence, EvidencePlace, Refusal, Verdict, Verification};

/// Whether the verifier finds its evidence.
#[derive(Clone, Copy, Debug)]
enum Evidenced {
    Yes,
    No,
}

/// Takes everything that a navigator has to say.
pub(crate) fn drain(navigator: &mut Navigator) -> Option<Effect> {
    let mut last = None;
    while let Some(effect) = navigator.poll_effect() {
        last = Some(effect);
    }
    while navigator.poll_record().is_some() {}
    std::hint::black_box(navigator.poll_timeout());
    last
}

/// A run on a large page.
pub(crate) struct Large {
    pub(crate) navigator: Navigator,
    pub(crate) now: Timestamp,
    /// Pages as the session reads them, made beforehand.
    pub(crate) pages: Vec<Arc<Snapshot>>,
    asked: Option<Effect>,
    step: usize,
}

fn page(number: usize, links: usize, chars: usize) -> Arc<Snapshot> {
    let candidates = (0..links)
        .map(|link| Candidate {
            id: CandidateId::new(format!("c{link}")),
            role: Role::Link,
            label: format!("Chapter {link} of the manual of machine {number}"),
            href: CanonicalUrl::parse(&format!("http://help.test/{number}/chapter-{link}.html"))
                .ok(),
            context: "Table of contents".to_owned(),
            placement: Placement::InView,
            guard: format!("{link:x}"),
        })
        .collect();
    let text = "How the machine is cleaned, oiled and stored. ".repeat(chars / 46 + 1);
    Arc::new(Snapshot::new(SnapshotParts {
        scope: scope(),
        document: DocumentId::new(format!("d{number}")),
        url: format!("http://help.test/{number}/"),
        title: format!("Manual {number}"),
        text,
        candidates,
        scroll: ScrollState {
            offset: 0,
            below: 900,
        },
        omitted: Omitted::default(),
        settled: Settled::Yes,
        reach: Reach::Document,
        http_status: Some(200),
    }))
}

fn scope() -> Scope {
    Scope::new("ada", "session-1", "tab-1").unwrap()
}

impl Large {
    pub(crate) fn new(links: usize, chars: usize) -> Self {
        let mut draft = ContractDraft::new(
            Goal::new("How is the machine cleaned?").unwrap(),
            scope(),
            CanonicalUrl::parse("http://help.test/0/").unwrap(),
            AccessList::parse(["http://help.test/*"]).unwrap(),
        );
        draft.mode = Mode::Enforce;
        let mut navigator = Navigator::new(RunId(1), draft.check().unwrap());
        let asked = drain(&mut navigator);
        Self {
            navigator,
            now: Timestamp::ZERO,
            pages: (0..3).map(|number| page(number, links, chars)).collect(),
            asked,
            step: 0,
        }
    }

    /// The next input of the run and its name: a click that is stale, one that is rejected, one that
    /// is applied, a claim, and evidence at last.
    pub(crate) fn next(&self) -> Option<(&'static str, Input)> {
        let id = self.asked.as_ref()?.id;
        let seen = |number: usize| Input::Observed(id, Arc::clone(&self.pages[number]));
        let receipt = |receipt| Input::Receipt(id, receipt);
        Some(match self.step {
            0 => ("opened", Input::Opened(id, scope())),
            1 => ("observed, to be verified", seen(0)),
            2 => (
                "refused, so the judge is asked",
                self.verdict(Evidenced::No),
            ),
            3 => ("judged, so a click is dispatched", self.choice("c57")),
            4 => ("stale", receipt(Receipt::Stale(StaleCause::TargetGone))),
            5 => ("observed again, so the judge is asked", seen(0)),
            6 => ("judged again", self.choice("c57")),
            7 => ("rejected", receipt(Receipt::Rejected(RejectCause::Covered))),
            8 => ("asked without what was rejected", seen(0)),
            9 => ("judged once more", self.choice("c58")),
            10 => (
                "applied",
                receipt(Receipt::Applied(AppliedEffect::Navigated)),
            ),
            11 => ("observed anew", seen(1)),
            12 => ("refused anew", self.verdict(Evidenced::No)),
            13 => ("judged done", self.choice("done")),
            14 => ("observed for a claim", seen(2)),
            15 => ("passed", self.verdict(Evidenced::Yes)),
            16 => ("seen again, so verified", seen(2)),
            17 => ("closed", Input::Closed(id, clean())),
            _ => return None,
        })
    }

    pub(crate) fn take(&mut self, input: Input) {
        self.navigator.handle(input, self.now);
        self.asked = drain(&mut self.navigator).or(self.asked.take());
        self.now = self.now.after(Duration::from_millis(10));
        self.step += 1;
    }

    fn verdict(&self, evidenced: Evidenced) -> Input {
        let Some(Effect {
            id,
            kind: EffectKind::Verify(request),
            ..
        }) = &self.asked
        else {
            panic!("a verification is due");
        };
        let verdict = match evidenced {
            Evidenced::Yes => Verdict::Passed(vec![Evidence {
                quote: "How the machine is cleaned".to_owned(),
                context: String::new(),
                place: EvidencePlace::Text { start: 0 },
            }]),
            Evidenced::No => Verdict::Refused(Refusal::NotFound),
        };
        Input::Verified(
            *id,
            Verification {
                goal: request.goal_digest.clone(),
                version: request.snapshot.version().clone(),
                verdict,
            },
        )
    }

    fn choice(&self, option: &str) -> Input {
        let Some(Effect {
            id,
            kind: EffectKind::AskJudge(ask),
            ..
        }) = &self.asked
        else {
            panic!("a question is due");
        };
        let names = names(ask);
        let probabilities = names
            .iter()
            .map(|name| f64::from(u8::from(name == option)))
            .collect();
        let decision = Decision {
            answers: vec![Answer::Choice(ChoiceAnswer::plain(probabilities))],
            ..Decision::default()
        };
        Input::Judged(*id, decision)
    }
}

fn clean() -> CloseReport {
    CloseOutcome::Clean.into()
}

/// The options of a question in one head, in their order.
fn names(ask: &Ask) -> Vec<String> {
    ask.candidates()
        .map(|candidate| candidate.id.to_string())
        .chain(
            ask.operations()
                .iter()
                .map(|operation| operation.option_name().to_owned()),
        )
        .chain(["none".to_owned()])
        .collect()
}
