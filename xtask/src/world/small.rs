//! The small world: two pages with three links each and limits of two, in which every order of
//! events is played. A breadth-first search over states; two histories that can only go on alike
//! are one state.

mod tab;

use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::contract::{Contract, ContractDraft, Goal, Layout, Mode, VerifyFirst};
use jev_core::effect::{Effect, EffectKind};
use jev_core::error::{DispatchError, JudgeError, Sent, SessionError, Stage, VerifyError};
use jev_core::ids::{EffectId, GoalDigest, PageVersion, RunId, Scope};
use jev_core::input::Input;
use jev_core::navigator::Navigator;
use jev_core::ports::Change;
use jev_core::question::Questionnaire;
use jev_core::receipt::{AppliedEffect, Receipt, RejectCause, StaleCause, UnknownCause};
use jev_core::snapshot::Snapshot;
use jev_core::time::Timestamp;
use jev_core::verification::{Evidence, EvidencePlace, Refusal, Verdict, Verification};

use super::case::{Broken, Failure};
use super::coverage::{Coverage, Step};
use super::ending;
use super::hunt::{Fault, caught};
use super::invariants::SAFETY;
use super::witness::Witness;
use tab::{ANSWER, Pages, Tab, closed, decisions, foreign};

/// One thing that the small world can do next.
#[derive(Clone, Debug)]
struct Move {
    name: String,
    tab: Tab,
    at: Timestamp,
    input: Input,
}

/// What the navigator waits for.
#[derive(Clone, Debug)]
enum Waiting {
    Nothing,
    Open(EffectId, Scope),
    Observe(EffectId),
    Verify(EffectId, GoalDigest, Arc<Snapshot>),
    Judge(EffectId, Arc<Questionnaire>),
    Dispatch(EffectId),
    Wait(EffectId),
    Close(EffectId),
}

/// A state of the small world and its navigator.
struct State {
    pages: Arc<Pages>,
    navigator: Navigator,
    witness: Witness,
    tab: Tab,
    waiting: Waiting,
    answered: Option<Input>,
    /// The history of a SHADOW run, to tell an OFF run the same.
    told: Vec<(Input, Timestamp)>,
    now: Timestamp,
}

/// What a search found.
#[derive(Debug)]
pub struct Found {
    /// Distinct states.
    pub states: usize,
    /// Steps between states.
    pub steps: usize,
    /// The longest of the shortest histories.
    pub depth: usize,
    /// What was reached.
    pub coverage: Coverage,
    /// The first broken invariant, with the history that leads to it.
    pub failure: Option<(Fault, Vec<String>)>,
}

/// Which small world.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// How the judge is asked.
    pub layout: Layout,
    /// Candidates in one question: 2 makes the three links need a narrowing.
    pub candidates: u32,
    /// Whether pages are verified before the judge is asked.
    pub verify_first: VerifyFirst,
    /// OFF, SHADOW or ENFORCE.
    pub mode: Mode,
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mode, layout, most) = (self.mode, self.layout, self.candidates);
        let first = self.verify_first;
        write!(
            f,
            "{mode:?}, {layout:?}, {most} candidates a question, verify first {first:?}"
        )
    }
}

/// Every small world that is searched.
pub const VARIANTS: [Variant; 5] = [
    Variant {
        layout: Layout::Flat,
        candidates: 128,
        verify_first: VerifyFirst::On,
        mode: Mode::Enforce,
    },
    Variant {
        layout: Layout::TwoHead,
        candidates: 2,
        verify_first: VerifyFirst::On,
        mode: Mode::Enforce,
    },
    Variant {
        layout: Layout::Flat,
        candidates: 128,
        verify_first: VerifyFirst::Off,
        mode: Mode::Enforce,
    },
    Variant {
        layout: Layout::Flat,
        candidates: 2,
        verify_first: VerifyFirst::On,
        mode: Mode::Shadow,
    },
    Variant {
        layout: Layout::Flat,
        candidates: 128,
        verify_first: VerifyFirst::On,
        mode: Mode::Off,
    },
];

fn contract(variant: Variant) -> Option<Contract> {
    let mut draft = ContractDraft::new(
        Goal::new("Where is the answer?").ok()?,
        Scope::new("user", "session", "tab").ok()?,
        CanonicalUrl::parse("http://small/0").ok()?,
        AccessList::parse(["http://small"]).ok()?,
    );
    draft.mode = variant.mode;
    draft.layout = variant.layout;
    draft.verify_first = variant.verify_first;
    draft.limits.candidates = variant.candidates;
    draft.limits.steps = 2;
    draft.limits.stale = 2;
    draft.limits.no_progress = 2;
    draft.limits.waits = 2;
    draft.limits.recoveries = 2;
    draft.budget = Duration::from_secs(10);
    draft.check().ok()
}

impl State {
    fn new(contract: &Contract) -> Self {
        let mut state = Self {
            pages: Arc::new(Pages::new(&contract.scope)),
            navigator: Navigator::new(RunId(1), contract.clone()),
            witness: Witness::new(contract.clone()),
            tab: Tab::default(),
            waiting: Waiting::Nothing,
            answered: None,
            told: Vec::new(),
            now: Timestamp::ZERO,
        };
        state.drain();
        state.witness.after(&state.navigator);
        state
    }

    fn fork(&self) -> Option<Self> {
        Some(Self {
            pages: Arc::clone(&self.pages),
            navigator: self.navigator.fork()?,
            witness: self.witness.clone(),
            tab: self.tab,
            waiting: self.waiting.clone(),
            answered: self.answered.clone(),
            told: self.told.clone(),
            now: self.now,
        })
    }

    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.navigator.fingerprint().hash(&mut hasher);
        self.witness.digest().hash(&mut hasher);
        (self.tab, self.now).hash(&mut hasher);
        std::mem::discriminant(&self.waiting).hash(&mut hasher);
        hasher.finish()
    }

    fn moves(&self) -> Vec<Move> {
        let mut moves = match &self.waiting {
            Waiting::Nothing => Vec::new(),
            Waiting::Open(id, scope) => vec![
                self.says("opens", Input::Opened(*id, scope.clone())),
                self.says("opens foreign", Input::Opened(*id, foreign(scope))),
                self.says("fails", Input::OpenFailed(*id, SessionError::LaunchFailed)),
            ],
            Waiting::Observe(id) => self.looks(*id),
            Waiting::Verify(id, goal, page) => self.verdicts(*id, goal, page),
            Waiting::Judge(id, asked) => {
                let mut moves = decisions(asked)
                    .into_iter()
                    .map(|(name, decision)| self.says(&name, Input::Judged(*id, decision)))
                    .collect::<Vec<_>>();
                moves.push(self.says("fails", Input::JudgeFailed(*id, JudgeError::Timeout)));
                moves
            }
            Waiting::Dispatch(id) => self.receipts(*id),
            Waiting::Wait(id) => {
                let mut tab = self.tab;
                tab.flips();
                vec![
                    self.turns("changes", tab, Input::Waited(*id, Change::Seen)),
                    self.says("stays", Input::Waited(*id, Change::None)),
                    self.says("fails", Input::WaitFailed(*id, SessionError::Crashed)),
                ]
            }
            Waiting::Close(id) => vec![self.says("closes", Input::Closed(*id, closed()))],
        };
        if let Some((wakes, _)) = self.navigator.poll_timeout() {
            moves.push(self.says("cancels", Input::Cancel));
            moves.push(self.says("lost", Input::SessionLost(SessionError::Crashed)));
            let wakes = self.now.max(wakes);
            if wakes > self.now {
                // Everything can also come in the moment in which a timer is due, before its tick.
                let late: Vec<Move> = moves
                    .iter()
                    .map(|next| Move {
                        name: format!("{}, late", next.name),
                        at: wakes,
                        ..next.clone()
                    })
                    .collect();
                moves.extend(late);
            }
            moves.push(Move {
                at: wakes,
                ..self.says("timer", Input::Tick)
            });
        }
        moves
    }

    fn says(&self, name: &str, input: Input) -> Move {
        self.turns(name, self.tab, input)
    }

    fn turns(&self, name: &str, tab: Tab, input: Input) -> Move {
        Move {
            name: name.to_owned(),
            tab,
            at: self.now,
            input,
        }
    }

    fn looks(&self, id: EffectId) -> Vec<Move> {
        let (mut flipped, mut reloaded, mut elsewhere) = (self.tab, self.tab, self.tab);
        flipped.flips();
        reloaded.reloads();
        elsewhere.goes();
        let mut moves: Vec<Move> = [
            ("looks", self.tab),
            ("looks, flipped", flipped),
            ("looks, reloaded", reloaded),
            ("looks, elsewhere", elsewhere),
        ]
        .into_iter()
        .map(|(name, tab)| self.turns(name, tab, Input::Observed(id, self.pages.look(tab))))
        .collect();
        let (not_ours, outside) = (self.pages.foreign.clone(), self.pages.outside.clone());
        moves.push(self.says("looks, foreign", Input::Observed(id, not_ours)));
        moves.push(self.says("looks, outside", Input::Observed(id, outside)));
        moves.push(self.says("fails", Input::ObserveFailed(id, SessionError::Crashed)));
        moves
    }

    fn verdicts(&self, id: EffectId, goal: &GoalDigest, page: &Snapshot) -> Vec<Move> {
        let says = |name, version: &PageVersion, verdict| {
            let verification = Verification {
                goal: goal.clone(),
                version: version.clone(),
                verdict,
            };
            self.says(name, Input::Verified(id, verification))
        };
        let quote = |quote: &str, place| Evidence {
            quote: quote.to_owned(),
            context: String::new(),
            place,
        };
        let answer = vec![quote(ANSWER, EvidencePlace::Text { start: 0 })];
        let truth = if page.text == ANSWER {
            Verdict::Passed(answer.clone())
        } else {
            Verdict::Refused(Refusal::NotFound)
        };
        let title = vec![quote(&page.title, EvidencePlace::Title)];
        vec![
            says("verifies", page.version(), truth),
            says("lies", page.version(), Verdict::Passed(title)),
            says("invents", page.version(), Verdict::Passed(answer.clone())),
            says(
                "verifies other",
                &PageVersion::new("other"),
                Verdict::Passed(answer),
            ),
            self.says("fails", Input::VerifyFailed(id, VerifyError::Failed)),
        ]
    }

    fn receipts(&self, id: EffectId) -> Vec<Move> {
        let mut moved = self.tab;
        moved.goes();
        let failed = |name, sent| {
            let stage = Stage::Dispatch;
            let error = SessionError::Hung { stage };
            self.says(
                name,
                Input::DispatchFailed(id, DispatchError { sent, error }),
            )
        };
        let mut moves: Vec<Move> = [
            (
                "navigates",
                moved,
                Receipt::Applied(AppliedEffect::Navigated),
            ),
            (
                "does nothing",
                self.tab,
                Receipt::Applied(AppliedEffect::NoEffect),
            ),
            (
                "dead end",
                self.tab,
                Receipt::Applied(AppliedEffect::DestinationFailed),
            ),
            ("stale", self.tab, Receipt::Stale(StaleCause::TargetGone)),
            (
                "rejected",
                self.tab,
                Receipt::Rejected(RejectCause::Covered),
            ),
            ("unknown", self.tab, Receipt::Unknown(UnknownCause::Failed)),
        ]
        .into_iter()
        .map(|(name, tab, receipt)| self.turns(name, tab, Input::Receipt(id, receipt)))
        .collect();
        moves.push(failed("surely not sent", Sent::SurelyNot));
        moves.push(failed("maybe sent", Sent::Maybe));
        moves
    }

    fn step(&mut self, next: &Move, coverage: &mut Coverage) -> Result<(), Failure> {
        self.tab = next.tab;
        self.now = next.at;
        if next.input.effect().is_some() {
            self.answered = Some(next.input.clone());
        }
        self.take(next.input.clone(), coverage)
    }

    /// The last answer comes a second time, which changes nothing, wherever the run has come to.
    fn hears_again(&mut self, coverage: &mut Coverage) -> Result<(), Failure> {
        match self.answered.clone() {
            Some(again) => self.take(again, coverage),
            None => Ok(()),
        }
    }

    fn take(&mut self, input: Input, coverage: &mut Coverage) -> Result<(), Failure> {
        if self.witness.contract.mode == Mode::Shadow {
            self.told.push((input.clone(), self.now));
        }
        self.witness.before(&self.navigator, &input, self.now);
        let step = self.witness.names(&input);
        self.navigator.handle(input, self.now);
        let to = self.navigator.phase();
        coverage.step(Step { to, ..step });
        self.drain();
        self.witness.after(&self.navigator);
        if self.navigator.is_closed() {
            self.waiting = Waiting::Nothing;
            self.ends();
        }
        self.check()
    }

    /// What is said of the run once it is closed: the report then, and after what came too late.
    fn ends(&mut self) {
        let Some(report) = self.navigator.report() else {
            return;
        };
        let first = match self.witness.reports.take() {
            Some((first, _)) => first,
            None => report.clone(),
        };
        self.witness.reports = Some((first, report));
        self.witness.telemetry = ending::telemetry_json(&self.witness);
        if self.witness.contract.mode == Mode::Shadow {
            self.witness.off_output = ending::off_output(&self.witness.contract, &self.told);
        }
    }

    fn check(&self) -> Result<(), Failure> {
        for (invariant, holds) in SAFETY {
            holds(&self.witness).map_err(|why| Failure {
                invariant,
                why,
                broken: Broken::Safety,
                input: 0,
            })?;
        }
        Ok(())
    }

    fn drain(&mut self) {
        while let Some(effect) = self.navigator.poll_effect() {
            let asked = effect.kind.questionnaire().map(Arc::new);
            self.witness.effect(&effect, asked.as_ref());
            self.waiting = waiting(effect, asked);
        }
        while let Some(record) = self.navigator.poll_record() {
            self.witness.record(&record);
        }
    }
}

fn waiting(effect: Effect, asked: Option<Arc<Questionnaire>>) -> Waiting {
    let id = effect.id;
    match effect.kind {
        EffectKind::Open(request) => Waiting::Open(id, request.scope),
        EffectKind::Observe => Waiting::Observe(id),
        EffectKind::AskJudge(_) => match asked {
            Some(asked) => Waiting::Judge(id, asked),
            None => Waiting::Nothing,
        },
        EffectKind::Dispatch(_) => Waiting::Dispatch(id),
        EffectKind::Verify(request) => Waiting::Verify(id, request.goal_digest, request.snapshot),
        EffectKind::Wait { .. } => Waiting::Wait(id),
        EffectKind::Close { .. } => Waiting::Close(id),
    }
}

/// Plays every order of events of every small world, each on a thread of its own.
pub fn search_all(most: usize) -> Vec<(Variant, Result<Found, Fault>)> {
    std::thread::scope(|scope| {
        let searches = VARIANTS.map(|variant| {
            scope.spawn(move || caught(|| search(variant, most)).and_then(|found| found))
        });
        let gone = || Fault::Crashed("the thread of the search is gone".to_owned());
        VARIANTS
            .into_iter()
            .zip(searches)
            .map(|(variant, search)| (variant, search.join().unwrap_or_else(|_| Err(gone()))))
            .collect()
    })
}

/// Plays every order of events of a small world. Stops at `most` states.
///
/// # Errors
/// A panic outside of a step: of a history there is none then.
pub fn search(variant: Variant, most: usize) -> Result<Found, Fault> {
    let unsound = |what: &str| Fault::Crashed(what.to_owned());
    let contract = contract(variant).ok_or_else(|| unsound("the contract is not sound"))?;
    let mut found = Found {
        states: 0,
        steps: 0,
        depth: 0,
        coverage: Coverage::default(),
        failure: None,
    };
    found.coverage.began();
    let start = State::new(&contract);
    let mut seen = HashSet::from([start.digest()]);
    let mut layer: Vec<(State, Vec<String>)> = vec![(start, Vec::new())];
    while !layer.is_empty() && seen.len() < most {
        let mut next_layer = Vec::new();
        for (state, history) in layer {
            for next in state.moves() {
                let forked = state.fork();
                let mut after = forked.ok_or_else(|| unsound("something was left to poll"))?;
                found.steps += 1;
                let mut is_new = false;
                let outcome = caught(|| {
                    after.step(&next, &mut found.coverage)?;
                    is_new = seen.insert(after.digest());
                    if is_new {
                        after.hears_again(&mut found.coverage)?;
                    }
                    Ok::<(), Failure>(())
                });
                let extended = || {
                    let mut longer = history.clone();
                    longer.push(next.name.clone());
                    longer
                };
                let fault = match outcome {
                    Ok(Ok(())) => None,
                    Ok(Err(failure)) => Some(Fault::Broke(Failure {
                        input: u32::try_from(history.len() + 1).unwrap_or(u32::MAX),
                        ..failure
                    })),
                    Err(crash) => Some(crash),
                };
                if let Some(fault) = fault {
                    found.failure = Some((fault, extended()));
                    found.states = seen.len();
                    return Ok(found);
                }
                if is_new && !after.navigator.is_closed() {
                    next_layer.push((after, extended()));
                }
            }
        }
        found.depth += 1;
        layer = next_layer;
    }
    found.states = seen.len();
    Ok(found)
}
