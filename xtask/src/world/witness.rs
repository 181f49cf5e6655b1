//! The witness: everything that crosses the border between navigator and world, kept as facts for
//! the invariants. It judges nothing by itself.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use jev_core::access::CanonicalUrl;
use jev_core::action::{Action, Operation};
use jev_core::asking::Ask;
use jev_core::contract::{Contract, Mode, VerifyFirst};
use jev_core::effect::{Effect, EffectKind, Timer};
use jev_core::error::Sent;
use jev_core::ids::{EffectId, IntentId};
use jev_core::input::Input;
use jev_core::ledger::Spent;
use jev_core::navigator::{Navigator, PhaseName};
use jev_core::permit::Permit;
use jev_core::question::{Questionnaire, Stage};
use jev_core::receipt::Receipt;
use jev_core::record::{Event, Record, Recovery};
use jev_core::report::{Report, ToolOutput};
use jev_core::snapshot::Snapshot;
use jev_core::status::Status;
use jev_core::time::Timestamp;
use jev_core::verification::Verdict;

use super::coverage::{Comes, Step};
use super::offers::{self, Memory};
use super::reading::{self, Choice};
use super::reference::{Heard, Reference};
use super::site::is_inside;

/// An effect that was handed to the world and not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outstanding {
    id: EffectId,
    kind: &'static str,
}

/// A dispatch, at the moment it left the navigator.
#[derive(Clone, Debug)]
pub struct Dispatched {
    /// Whether this intent had been dispatched before.
    pub repeated: bool,
    /// Whether the permit names the page, the address and the target that were judged, and what
    /// was judged was chosen.
    pub as_judged: bool,
    /// Whether the choice was strong enough.
    pub strong: bool,
    /// Whether it was among what was offered, and is allowed by policy and access list.
    pub lawful: bool,
    /// Whether the run had been told to stop: an end, a cancel, the budget, a lost session.
    pub stopped: bool,
    /// Whether another dispatch was in flight.
    pub second: bool,
    /// Whether an earlier dispatch's outcome was not known.
    pub after_unknown: bool,
}

/// What happened in one step: one input, and all that followed from it.
#[derive(Clone, Debug, Default)]
pub struct StepFacts {
    /// Whether the input was an answer that was due.
    pub due: bool,
    /// Whether it was an answer that was not due.
    pub foreign: bool,
    /// Whether it was a tick for a timer that was due.
    pub timer: Option<Timer>,
    /// The phase before.
    pub before: Option<PhaseName>,
    /// What was spent before.
    pub spent_before: Spent,
    /// The state before, for inputs that may change nothing.
    pub state_before: Option<u64>,
    /// The state after, likewise.
    pub state_after: Option<u64>,
    /// Effects in this step.
    pub effects: u32,
    /// Records in this step, without those that only say that an input was ignored.
    pub events: u32,
    /// The dispatch of this step.
    pub dispatched: Option<Dispatched>,
    /// Something was offered to the judge that may not be, or left out that must be there.
    pub bad_offer: Option<&'static str>,
    /// The end that this step brought, and whether there was cause for it.
    pub ended: Option<(Status, bool)>,
    /// The judge was asked although a limit was used up.
    pub asked_past_limit: bool,
    /// The question is larger than the contract allows.
    pub oversized: bool,
    /// A receipt was written that is not the one the world gave.
    pub wrong_receipt: bool,
    /// The judge was asked about a page that the verifier was never shown.
    pub unverified: bool,
    /// The page was verified again more often than it may be.
    pub verified_past_limit: bool,
    /// The twin did something else.
    pub twin_differs: bool,
}

/// Everything that was seen of one run.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The contract.
    pub contract: Arc<Contract>,
    /// What the world has given cause for.
    pub reference: Reference,
    /// This step.
    pub step: StepFacts,
    /// Where the navigator stands.
    pub phase: PhaseName,
    /// What it has spent.
    pub spent: Spent,
    /// When it wants to be woken.
    pub wakes: Option<Timestamp>,
    /// The latest time it was told.
    pub now: Timestamp,
    /// The effect under way.
    pub outstanding: Option<Outstanding>,
    /// Sessions that were opened.
    pub opened: u32,
    /// Closes that were asked for.
    pub closes: u32,
    /// Permits by intent, from intent 1 on: dispatched how often, receipts how many.
    pub intents: Vec<(u32, u32)>,
    /// The dispatch in flight.
    pub in_flight: Option<IntentId>,
    /// Effects asked for: looks, verifications, questions.
    pub observes: u32,
    /// Verifications asked for.
    pub verifies: u32,
    /// Questions asked.
    pub questions: u32,
    /// Recoveries that were said to be spent.
    pub recoveries: u32,
    /// How the run ended.
    pub status: Option<Status>,
    /// The report, and the report after everything that came too late.
    pub reports: Option<(Report, Report)>,
    /// What the same world's OFF run returns, for a SHADOW run.
    pub off_output: Option<ToolOutput>,
    /// What telemetry says of the run, as JSON.
    pub telemetry: String,
    /// An action reached the page without a permit, or twice.
    pub unpermitted: bool,
    /// Actions of this run and the earlier ones of its tab: those that the next run is told of, and
    /// those that there were.
    pub told_on: Option<(usize, usize)>,
    /// Pages that the verifier has refused, for this goal.
    refused: HashSet<Content>,
    /// The verifier was given a page since the last look.
    shown: bool,
    /// The page that was looked at last and may be used.
    front: Option<Content>,
    due_receipt: Option<&'static str>,
    stopped: bool,
    unknown_seen: bool,
    verifying: Option<Arc<Snapshot>>,
    asked: Option<(Arc<Ask>, Arc<Questionnaire>)>,
    choice: Option<Choice>,
    memory: Memory,
}

/// What a page shows, told apart without its version, which the code under test works out.
type Content = u64;

fn content(page: &Snapshot) -> Content {
    let mut hasher = DefaultHasher::new();
    (&page.url, &page.title, &page.text).hash(&mut hasher);
    for candidate in &page.candidates {
        let href = candidate.href.as_ref().map(CanonicalUrl::as_str);
        (&candidate.label, href).hash(&mut hasher);
    }
    hasher.finish()
}

fn answers(input: &Input, kind: &str) -> bool {
    match input {
        Input::Opened(..) | Input::OpenFailed(..) => kind == "Open",
        Input::Observed(..) | Input::ObserveFailed(..) => kind == "Observe",
        Input::Judged(..) | Input::JudgeFailed(..) => kind == "AskJudge",
        Input::Receipt(..) | Input::DispatchFailed(..) => kind == "Dispatch",
        Input::Waited(..) | Input::WaitFailed(..) => kind == "Wait",
        Input::Verified(..) | Input::VerifyFailed(..) => kind == "Verify",
        Input::Closed(..) => kind == "Close",
        Input::SessionLost(_) | Input::Cancel | Input::Tick => false,
    }
}

impl Witness {
    /// A witness of a run that begins.
    pub fn new(contract: Contract) -> Self {
        let contract = Arc::new(contract);
        Self {
            reference: Reference::new(Arc::clone(&contract)),
            contract,
            step: StepFacts::default(),
            phase: PhaseName::Opening,
            spent: Spent::default(),
            wakes: None,
            now: Timestamp::ZERO,
            outstanding: None,
            opened: 0,
            closes: 0,
            intents: Vec::new(),
            in_flight: None,
            observes: 0,
            verifies: 0,
            questions: 0,
            recoveries: 0,
            status: None,
            reports: None,
            off_output: None,
            telemetry: String::new(),
            unpermitted: false,
            told_on: None,
            front: None,
            refused: HashSet::new(),
            shown: false,
            due_receipt: None,
            stopped: false,
            unknown_seen: false,
            verifying: None,
            asked: None,
            choice: None,
            memory: Memory::default(),
        }
    }

    /// A witness of the next run on the same tab.
    pub fn next(&self, contract: Contract) -> Self {
        Self {
            memory: self.memory.carried(),
            ..Self::new(contract)
        }
    }

    /// The host changed something between two runs.
    pub fn host_acted(&mut self) {
        self.memory.host_acted();
    }

    /// Whether an intent was permitted in this run.
    pub fn is_permitted(&self, intent: IntentId) -> bool {
        let place = usize::try_from(intent.0).unwrap_or(usize::MAX);
        let counts = place
            .checked_sub(1)
            .and_then(|place| self.intents.get(place));
        counts.is_some_and(|(sent, _)| *sent > 0)
    }

    /// Whether the verifier has had its say on the page in front: it has refused it, or was given it
    /// since the last look.
    pub fn front_was_verified(&self) -> bool {
        self.shown
            || self
                .front
                .as_ref()
                .is_none_or(|page| self.refused.contains(page))
    }

    fn budget_end(&self) -> Timestamp {
        Timestamp::since_start(self.contract.budget)
    }

    fn is_running(&self) -> bool {
        !matches!(self.phase, PhaseName::Closing | PhaseName::Closed)
    }

    /// A digest of all that later verdicts may depend on.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let into = &mut hasher;
        (self.phase, self.wakes, self.now).hash(into);
        (self.opened, self.closes, self.in_flight.is_some()).hash(into);
        self.outstanding
            .map(|outstanding| outstanding.kind)
            .hash(into);
        self.status.map(Status::name).hash(into);
        if self.is_running() {
            self.reference.digest().hash(into);
            (self.stopped, self.unknown_seen).hash(into);
            let mut refused: Vec<&Content> = self.refused.iter().collect();
            refused.sort();
            (refused, self.shown).hash(into);
            self.memory.digest(self.in_flight).hash(into);
            self.front.hash(into);
        }
        hasher.finish()
    }

    /// An input is about to be handled.
    pub fn before(&mut self, navigator: &Navigator, input: &Input, at: Timestamp) {
        self.now = self.now.max(at);
        let late = self.now >= self.budget_end();
        let due = self.outstanding.is_some_and(|outstanding| {
            Some(outstanding.id) == input.effect() && answers(input, outstanding.kind)
        });
        let timer = match (input, navigator.poll_timeout()) {
            (Input::Tick, Some((when, timer))) if self.now >= when => Some(timer),
            (_, Some(_) | None) => None,
        };
        let foreign = input.effect().is_some() && !due;
        // Time that has run out changes the run whatever the input.
        let inert =
            (foreign || (*input == Input::Tick && timer.is_none())) && !(late && self.is_running());
        self.step = StepFacts {
            due,
            foreign: inert,
            timer,
            before: Some(self.phase),
            spent_before: self.spent,
            state_before: inert.then(|| navigator.fingerprint()),
            ..StepFacts::default()
        };
        if due {
            self.outstanding = None;
        }
        if late && self.is_running() {
            self.reference.is_late();
        }
        let told_to_stop = late || matches!(input, Input::Cancel | Input::SessionLost(_));
        if told_to_stop && self.is_running() {
            if self.in_flight.is_some() && !(due && self.phase == PhaseName::Dispatching) {
                self.reference.cut_off();
            }
            self.stopped = true;
        }
        if timer == Some(Timer::Wait) && !late {
            self.reference.waited();
            self.outstanding = None;
        }
        // A dispatch that this input cuts off is not known any more.
        self.due_receipt = Some("UNKNOWN");
        if let Input::Receipt(_, receipt) = input
            && due
        {
            self.due_receipt = Some(receipt.name());
        } else if let Input::DispatchFailed(_, error) = input
            && due
            && error.sent == Sent::SurelyNot
        {
            self.due_receipt = Some("REJECTED");
        }
        let receipt = matches!(input, Input::Receipt(..) | Input::DispatchFailed(..));
        let in_time = !late || receipt;
        let unasked = matches!(input, Input::Cancel | Input::SessionLost(_));
        let matters = self.is_running() && ((unasked && !late) || (due && in_time));
        if let Input::Opened(..) = input
            && due
        {
            self.opened += 1;
        }
        if matters {
            self.hear(input);
        }
    }

    /// This step for the coverage, before it is known where it leads.
    pub fn names(&self, input: &Input) -> Step {
        let late = self.now >= self.budget_end() && self.is_running();
        let comes = if late {
            Comes::Late
        } else if input.effect().is_some() && !self.step.due {
            Comes::Unasked
        } else {
            Comes::InTime
        };
        Step::new(self.phase, input, comes)
    }

    fn hear(&mut self, input: &Input) {
        if let (Input::Judged(_, decision), Some((_, questionnaire))) = (input, &self.asked) {
            self.choice = reading::read(questionnaire, decision, &self.contract.gate);
        }
        let heard = Heard {
            page: self.verifying.as_ref(),
            judged: self.asked.as_ref().map(|(ask, _)| ask.snapshot()),
            asked: self.asked.as_ref().map(|(_, asked)| asked.as_ref()),
            choice: self.choice.as_ref(),
            operation: self.memory.operation(),
        };
        self.reference.heard(input, heard);
        if let Input::Receipt(_, receipt) = input {
            self.memory.received(*receipt);
        } else if let Input::Observed(_, page) = input
            && page.scope == self.contract.scope
            && is_inside(&page.url)
        {
            // What is someone else's or not allowed says nothing.
            self.memory.looked(page);
            self.front = Some(content(page));
            self.shown = false;
        } else if let (Input::Verified(_, verification), Some(page)) = (input, &self.verifying)
            && let Verdict::Refused(_) = verification.verdict
            && verification.version == *page.version()
            && verification.goal == self.contract.goal.digest()
        {
            self.refused.insert(content(page));
        }
    }

    /// An effect left the navigator; `asked` is the question of an effect that asks the judge.
    pub fn effect(&mut self, effect: &Effect, asked: Option<&Arc<Questionnaire>>) {
        self.step.effects += 1;
        self.outstanding = Some(Outstanding {
            id: effect.id,
            kind: effect.kind.name(),
        });
        match &effect.kind {
            EffectKind::Open(_) | EffectKind::Wait { .. } => {}
            EffectKind::Observe => self.observes += 1,
            EffectKind::Verify(request) => {
                self.verifies += 1;
                self.step.verified_past_limit = self.reference.unbound > self.contract.limits.stale;
                self.shown = true;
                self.verifying = Some(Arc::clone(&request.snapshot));
            }
            EffectKind::AskJudge(ask) => self.asks(ask, asked),
            EffectKind::Dispatch(permit) => self.dispatches(permit),
            EffectKind::Close { .. } => {
                self.closes += 1;
                self.stopped = true;
            }
        }
    }

    fn asks(&mut self, ask: &Arc<Ask>, asked: Option<&Arc<Questionnaire>>) {
        self.questions += 1;
        self.choice = None;
        let decides_after_narrowing = self
            .asked
            .as_ref()
            .is_some_and(|(earlier, _)| earlier.stage() == Stage::Narrow);
        if ask.stage() == Stage::Narrow || !decides_after_narrowing {
            self.reference.asked();
        }
        let limits = &self.contract.limits;
        let seen = &self.reference;
        self.step.asked_past_limit = seen.steps > limits.steps
            || seen.stale > limits.stale
            || seen.troubles > limits.recoveries
            || seen.no_progress >= limits.no_progress
            || seen.waits >= limits.waits;
        self.step.bad_offer = self.memory.bad_offer(&self.contract, ask);
        self.step.unverified = self.contract.mode == Mode::Enforce
            && self.contract.verify_first == VerifyFirst::On
            && !self.front_was_verified();
        if let Some(questionnaire) = asked {
            if !reading::has_own_names(questionnaire) {
                self.step.bad_offer = Some("two options of a question have one name");
            }
            self.step.oversized = reading::is_oversized(questionnaire, limits);
            self.asked = Some((Arc::clone(ask), Arc::clone(questionnaire)));
        }
    }

    fn dispatches(&mut self, permit: &Permit) {
        let intent = permit.intent();
        let place = usize::try_from(intent.0)
            .unwrap_or(usize::MAX)
            .saturating_sub(1);
        if self.intents.len() <= place && place < 1_000 {
            self.intents.resize(place + 1, (0, 0));
        }
        let repeated = match self.intents.get_mut(place) {
            Some((sent, _)) => {
                *sent += 1;
                *sent > 1
            }
            None => true,
        };
        let action = permit.action();
        let (target, operation) = match action {
            Action::Click { target } => (Some(target), Operation::Click),
            Action::Scroll { .. } | Action::Back | Action::Reload | Action::Press { .. } => {
                (None, action.operation())
            }
        };
        let asked = self.asked.as_ref().map(|(ask, _)| ask);
        let choice = self.choice.take();
        let as_judged = match (&choice, asked) {
            (Some(choice), Some(ask)) => {
                let page = ask.snapshot();
                choice.operation == operation
                    && choice.target.as_ref() == target.map(|target| &target.id)
                    && target.is_none_or(|target| page.candidate(&target.id) == Some(target))
                    && permit.version() == page.version()
                    && permit.document() == &page.document
                    && permit.url() == page.url
            }
            (Some(_), None) | (None, Some(_) | None) => false,
        };
        self.step.dispatched = Some(Dispatched {
            repeated,
            as_judged,
            strong: choice.is_some_and(|choice| choice.strong),
            lawful: asked.is_some_and(|ask| offers::is_lawful(&self.contract, ask, action)),
            stopped: self.stopped || self.now >= self.budget_end(),
            second: self.in_flight.is_some(),
            after_unknown: self.unknown_seen,
        });
        self.in_flight = Some(intent);
        if let Some((ask, _)) = &self.asked {
            self.memory.acts(ask.snapshot(), operation, target);
        }
    }

    /// A record left the navigator.
    pub fn record(&mut self, record: &Record) {
        self.step.events += u32::from(!matches!(record.event, Event::Ignored(..)));
        match &record.event {
            Event::Received(intent, receipt) => {
                self.step.wrong_receipt |= self.due_receipt != Some(receipt.name());
                let place = usize::try_from(intent.0)
                    .unwrap_or(usize::MAX)
                    .saturating_sub(1);
                if let Some((_, receipts)) = self.intents.get_mut(place) {
                    *receipts += 1;
                }
                if self.in_flight == Some(*intent) {
                    self.in_flight = None;
                }
                if let Receipt::Unknown(_) = receipt {
                    self.unknown_seen = true;
                    self.memory.is_unknown();
                }
            }
            Event::Recovered(
                Recovery::RefusedClaim | Recovery::RejectedAction | Recovery::FailedTarget,
            ) => self.recoveries += 1,
            Event::Ending(status, _) => {
                self.step.ended = Some((*status, self.reference.allows(*status)));
                self.status = Some(*status);
                self.stopped = true;
            }
            Event::Opened
            | Event::Observed(_)
            | Event::Verified(_)
            | Event::VerifyFailed(_)
            | Event::Asked(_)
            | Event::Narrowed { .. }
            | Event::Proposed(_)
            | Event::JudgeFailed(_)
            | Event::Intent(..)
            | Event::Waited(_)
            | Event::Ignored(..)
            | Event::SessionFailed(_)
            | Event::Closed(_) => {}
        }
    }

    /// The step is over.
    pub fn after(&mut self, navigator: &Navigator) {
        self.phase = navigator.phase();
        self.spent = *navigator.spent();
        self.wakes = navigator.poll_timeout().map(|(at, _)| at);
        if self.step.state_before.is_some() {
            self.step.state_after = Some(navigator.fingerprint());
        }
        if self.phase == PhaseName::Closed {
            self.outstanding = None;
        }
    }
}
