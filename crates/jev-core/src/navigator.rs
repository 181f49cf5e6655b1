//! The navigator: the one machine in which the rules of a run live. It knows no clock, no runtime
//! and no I/O. See the crate's documentation for its law of use; one file a phase lies beside.

mod closing;
mod dispatching;
#[cfg(feature = "testing")]
mod fingerprint;
mod judging;
mod observing;
mod opening;
mod phase;
mod verifying;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::carried::Carried;
use crate::contract::{Contract, Mode};
use crate::effect::{Effect, EffectKind, Timer};
use crate::history::HistoryEntry;
use crate::ids::{EffectId, GoalDigest, RunId};
use crate::input::Input;
use crate::ledger::{Spent, Timings};
use crate::limits::WAIT_BOUND;
use crate::ports::CloseReport;
use crate::progress::{ActionKey, Progress};
use crate::receipt::{Receipt, UnknownCause};
use crate::record::{Event, Record};
use crate::report::{Report, StepReport};
use crate::snapshot::Snapshot;
use crate::status::{Cause, Status};
use crate::time::Timestamp;
use crate::verification::Verification;

pub use phase::PhaseName;
use phase::{Flight, Phase};

/// How a run ends, before it is closed.
#[derive(Clone, Debug, PartialEq)]
struct Ending {
    status: Status,
    cause: Option<Cause>,
}

/// One run.
#[derive(Debug)]
pub struct Navigator {
    run: RunId,
    contract: Contract,
    goal: Arc<str>,
    goal_digest: GoalDigest,
    phase: Phase,
    now: Timestamp,
    effects: VecDeque<Effect>,
    records: VecDeque<Record>,
    last_effect: u64,
    last_intent: u64,
    spent: Spent,
    timings: Timings,
    progress: Progress,
    /// What was done on the tab before what the judge is told of.
    earlier: Arc<Vec<HistoryEntry>>,
    history: Arc<Vec<HistoryEntry>>,
    /// How many entries the tab's history holds that this run made.
    back_depth: u32,
    steps: Vec<StepReport>,
    page: Option<Arc<Snapshot>>,
    verification: Option<Verification>,
    /// An end that waits until the page in front of us has been verified.
    pending_end: Option<Ending>,
    ending: Option<Ending>,
    close: Option<CloseReport>,
}

impl Navigator {
    /// A run at its first moment; the effect that opens its session is waiting to be polled.
    #[must_use]
    pub fn new(run: RunId, contract: Contract) -> Self {
        Self::resume(run, contract, Carried::default())
    }

    /// As [`Navigator::new`], on a tab that earlier runs have used: the judge is told their history,
    /// and what led nowhere for them is not tried again. Opening then means taking the tab over as
    /// it stands; its page is where the run begins, wherever that is inside the allow-list.
    #[must_use]
    pub fn resume(run: RunId, contract: Contract, carried: Carried) -> Self {
        let goal: Arc<str> = contract.goal.as_str().into();
        let goal_digest = contract.goal.digest();
        let (earlier, history) = carried.split();
        let mut navigator = Self {
            run,
            contract,
            goal,
            goal_digest,
            phase: Phase::Closed,
            now: Timestamp::ZERO,
            effects: VecDeque::new(),
            records: VecDeque::new(),
            last_effect: 0,
            last_intent: 0,
            spent: Spent::default(),
            timings: Timings::default(),
            progress: carried.progress,
            earlier,
            history,
            back_depth: carried.back_depth,
            steps: Vec::new(),
            page: None,
            verification: None,
            pending_end: None,
            ending: None,
            close: None,
        };
        navigator.open();
        navigator
    }

    /// Takes one input at one time. Whatever the world says is legal; what makes no sense now is
    /// recorded as ignored. A time before an earlier one counts as the earlier one.
    pub fn handle(&mut self, input: Input, now: Timestamp) {
        if self.is_closed() {
            self.record(Event::Ignored(input.effect(), input.name()));
            return;
        }
        self.now = self.now.max(now);
        // An effect that nobody was handed yet can't have been answered.
        if let Some(id) = input.effect()
            && self.effects.iter().any(|effect| effect.id == id)
        {
            self.record(Event::Ignored(Some(id), input.name()));
            return;
        }
        // The clock decides, not the timer: an answer that comes after the budget is too late,
        // except a receipt, which says what is true of the world.
        if self.now >= self.budget_end() && self.phase.is_running() {
            if self.answers_dispatch(&input) {
                self.late_receipt(input);
                return;
            }
            self.expire();
        }
        if input.effect().is_some() && !self.phase.awaits(&input) {
            let event = Event::Ignored(input.effect(), input.name());
            self.record(event);
            return;
        }
        self.take(input);
    }

    /// The next thing to do, until there is none.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// The next event, until there is none.
    pub fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }

    /// When to call [`Navigator::handle`] with [`Input::Tick`], and why. `None` when the run is over.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Timestamp, Timer)> {
        match &self.phase {
            Phase::Closed => None,
            Phase::Closing(closing) => Some((closing.give_up, Timer::CloseGrace)),
            Phase::Waiting { flight, .. } => {
                let wait = flight.since.after(WAIT_BOUND);
                Some(if wait < self.budget_end() {
                    (wait, Timer::Wait)
                } else {
                    (self.budget_end(), Timer::Budget)
                })
            }
            Phase::Opening(_)
            | Phase::Observing { .. }
            | Phase::Verifying { .. }
            | Phase::Judging { .. }
            | Phase::Dispatching { .. } => Some((self.budget_end(), Timer::Budget)),
        }
    }

    /// Where the run stands.
    #[must_use]
    pub fn phase(&self) -> PhaseName {
        self.phase.name()
    }

    /// Whether the run is over and closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// The contract of the run.
    #[must_use]
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// What was spent so far.
    #[must_use]
    pub fn spent(&self) -> &Spent {
        &self.spent
    }

    /// The report, once the run is closed.
    #[must_use]
    pub fn report(&self) -> Option<Report> {
        let ending = self.ending.as_ref().filter(|_| self.is_closed())?;
        Some(Report {
            run: self.run,
            scope: self.contract.scope.clone(),
            mode: self.contract.mode,
            status: ending.status,
            handoff: ending.status.handoff(),
            cause: ending.cause.clone(),
            page: self.page.clone(),
            steps: self.steps.clone(),
            verification: self.verification.clone(),
            close: self.close.clone(),
            spent: self.spent,
            timings: self.timings,
            elapsed: self.now.elapsed(),
        })
    }

    /// What the next run on the same tab is to know. An action whose outcome is not known is in it,
    /// never to be offered again.
    #[must_use]
    pub fn carry(&self) -> Carried {
        let history = [self.earlier.as_slice(), self.history.as_slice()].concat();
        let mut progress = self.progress.carried();
        for step in &self.steps {
            if let (Some(action), Some(Receipt::Unknown(_))) = (&step.action, step.receipt) {
                progress.is_unknown(ActionKey::new(action.operation(), action.target()));
            }
        }
        Carried::new(history, self.back_depth, progress)
    }

    fn budget_end(&self) -> Timestamp {
        Timestamp::since_start(self.contract.budget)
    }

    fn record(&mut self, event: Event) {
        self.records.push_back(Record {
            at: self.now,
            event,
        });
    }

    fn emit(&mut self, kind: EffectKind, deadline: Timestamp) -> Flight {
        self.last_effect += 1;
        let id = EffectId(self.last_effect);
        self.effects.push_back(Effect { id, deadline, kind });
        Flight {
            effect: id,
            since: self.now,
        }
    }

    fn emit_in_budget(&mut self, kind: EffectKind) -> Flight {
        let deadline = self.budget_end();
        self.emit(kind, deadline)
    }

    /// Hands an input to the phase that waits for it.
    fn take(&mut self, input: Input) {
        match input {
            Input::Opened(_, scope) => self.opened(&scope),
            Input::OpenFailed(_, error) => self.open_failed(error),
            Input::Observed(_, snapshot) => self.observed(snapshot),
            Input::ObserveFailed(_, error) | Input::WaitFailed(_, error) => {
                self.session_failed(error)
            }
            Input::Judged(_, decision) => self.judged(decision),
            Input::JudgeFailed(_, error) => self.judge_failed(error),
            Input::Receipt(_, receipt) => self.received(receipt),
            Input::DispatchFailed(_, error) => self.dispatch_failed(error),
            Input::Waited(_, change) => self.waited(change),
            Input::Verified(_, verification) => self.verified(verification),
            Input::VerifyFailed(_, error) => self.verify_failed(error),
            Input::Closed(_, report) => self.closed(report),
            Input::SessionLost(error) => self.session_lost(error),
            Input::Cancel => self.cancel(),
            Input::Tick => self.tick(),
        }
    }

    /// The budget is spent.
    fn expire(&mut self) {
        match &self.phase {
            Phase::Dispatching { .. } => self.unknown(UnknownCause::Timeout),
            // What SHADOW returns is what OFF returns, however long the judge takes.
            Phase::Judging { .. } if self.contract.mode == Mode::Shadow => {
                self.end(Status::Observed, None);
            }
            Phase::Opening(_)
            | Phase::Observing { .. }
            | Phase::Verifying { .. }
            | Phase::Judging { .. }
            | Phase::Waiting { .. } => self.end(Status::Timeout, None),
            Phase::Closing(_) | Phase::Closed => {}
        }
    }

    fn cancel(&mut self) {
        match &self.phase {
            Phase::Dispatching { .. } => self.unknown(UnknownCause::Cancelled),
            Phase::Opening(_)
            | Phase::Observing { .. }
            | Phase::Verifying { .. }
            | Phase::Judging { .. }
            | Phase::Waiting { .. } => self.end(Status::Cancelled, None),
            Phase::Closing(_) | Phase::Closed => self.record(Event::Ignored(None, "Cancel")),
        }
    }

    fn tick(&mut self) {
        match &self.phase {
            Phase::Closing(closing) if self.now >= closing.give_up => self.give_up_closing(),
            Phase::Waiting { flight, .. } if self.now >= flight.since.after(WAIT_BOUND) => {
                self.waited(crate::ports::Change::None);
            }
            Phase::Opening(_)
            | Phase::Observing { .. }
            | Phase::Verifying { .. }
            | Phase::Judging { .. }
            | Phase::Dispatching { .. }
            | Phase::Waiting { .. }
            | Phase::Closing(_)
            | Phase::Closed => {}
        }
    }

    fn session_lost(&mut self, error: crate::error::SessionError) {
        match &self.phase {
            Phase::Dispatching { .. } => {
                self.record(Event::SessionFailed(error));
                self.unknown(UnknownCause::SessionLost);
            }
            // The page has been read: what SHADOW returns is what OFF returns.
            Phase::Judging { .. } if self.contract.mode == Mode::Shadow => {
                self.record(Event::SessionFailed(error));
                self.end(Status::Observed, None);
            }
            Phase::Opening(_)
            | Phase::Observing { .. }
            | Phase::Verifying { .. }
            | Phase::Judging { .. }
            | Phase::Waiting { .. } => self.session_failed(error),
            Phase::Closing(_) | Phase::Closed => self.record(Event::Ignored(None, "SessionLost")),
        }
    }

    fn session_failed(&mut self, error: crate::error::SessionError) {
        self.record(Event::SessionFailed(error));
        self.end(Status::SessionError, Some(Cause::Session(error)));
    }

    /// The pending dispatch's outcome will never be known.
    fn unknown(&mut self, cause: UnknownCause) {
        self.fail_to_send(Receipt::Unknown(cause));
        self.end(Status::Unknown, Some(Cause::Unknown(cause)));
    }
}
