//! Coverage: which phases, statuses, receipts, timers, inputs, effects and transitions were reached.

use jev_core::effect::{EffectKind, Timer};
use jev_core::input::Input;
use jev_core::navigator::PhaseName;
use jev_core::receipt::{AppliedEffect, Receipt, RejectCause, StaleCause, UnknownCause};
use jev_core::status::Status;

/// Every phase, in the order of a run.
pub const PHASES: [PhaseName; 8] = [
    PhaseName::Opening,
    PhaseName::Observing,
    PhaseName::Verifying,
    PhaseName::Judging,
    PhaseName::Dispatching,
    PhaseName::Waiting,
    PhaseName::Closing,
    PhaseName::Closed,
];

/// Every input's name.
pub const INPUTS: [&str; 16] = [
    "Opened",
    "OpenFailed",
    "Observed",
    "ObserveFailed",
    "Verified",
    "VerifyFailed",
    "Judged",
    "JudgeFailed",
    "Receipt",
    "DispatchFailed",
    "Waited",
    "WaitFailed",
    "SessionLost",
    "Cancel",
    "Tick",
    "Closed",
];

const EFFECTS: [&str; 7] = [
    "Open", "Observe", "AskJudge", "Dispatch", "Verify", "Wait", "Close",
];

const TIMERS: [&str; 3] = ["Budget", "Wait", "CloseGrace"];

const RECEIPTS: [&str; 22] = [
    "APPLIED navigated",
    "APPLIED same document",
    "APPLIED scrolled",
    "APPLIED changed",
    "APPLIED no effect",
    "APPLIED destination refused",
    "APPLIED destination failed",
    "STALE document",
    "STALE url",
    "STALE target gone",
    "STALE target changed",
    "REJECTED covered",
    "REJECTED disabled",
    "REJECTED not visible",
    "REJECTED off list",
    "REJECTED diverted",
    "REJECTED unsupported",
    "REJECTED session failed",
    "UNKNOWN cancelled",
    "UNKNOWN timeout",
    "UNKNOWN session lost",
    "UNKNOWN failed",
];

fn receipt(receipt: Receipt) -> &'static str {
    match receipt {
        Receipt::Applied(AppliedEffect::Navigated) => "APPLIED navigated",
        Receipt::Applied(AppliedEffect::SameDocument) => "APPLIED same document",
        Receipt::Applied(AppliedEffect::Scrolled) => "APPLIED scrolled",
        Receipt::Applied(AppliedEffect::Changed) => "APPLIED changed",
        Receipt::Applied(AppliedEffect::NoEffect) => "APPLIED no effect",
        Receipt::Applied(AppliedEffect::DestinationRefused) => "APPLIED destination refused",
        Receipt::Applied(AppliedEffect::DestinationFailed) => "APPLIED destination failed",
        Receipt::Stale(StaleCause::Document) => "STALE document",
        Receipt::Stale(StaleCause::Url) => "STALE url",
        Receipt::Stale(StaleCause::TargetGone) => "STALE target gone",
        Receipt::Stale(StaleCause::TargetChanged) => "STALE target changed",
        Receipt::Rejected(RejectCause::Covered) => "REJECTED covered",
        Receipt::Rejected(RejectCause::Disabled) => "REJECTED disabled",
        Receipt::Rejected(RejectCause::NotVisible) => "REJECTED not visible",
        Receipt::Rejected(RejectCause::OffList) => "REJECTED off list",
        Receipt::Rejected(RejectCause::Diverted) => "REJECTED diverted",
        Receipt::Rejected(RejectCause::Unsupported) => "REJECTED unsupported",
        Receipt::Rejected(RejectCause::SessionFailed) => "REJECTED session failed",
        Receipt::Unknown(UnknownCause::Cancelled) => "UNKNOWN cancelled",
        Receipt::Unknown(UnknownCause::Timeout) => "UNKNOWN timeout",
        Receipt::Unknown(UnknownCause::SessionLost) => "UNKNOWN session lost",
        Receipt::Unknown(UnknownCause::Failed) => "UNKNOWN failed",
    }
}

fn timer(timer: Timer) -> usize {
    match timer {
        Timer::Budget => 0,
        Timer::Wait => 1,
        Timer::CloseGrace => 2,
    }
}

/// A phase's place in [`PHASES`].
pub fn phase_index(phase: PhaseName) -> usize {
    match phase {
        PhaseName::Opening => 0,
        PhaseName::Observing => 1,
        PhaseName::Verifying => 2,
        PhaseName::Judging => 3,
        PhaseName::Dispatching => 4,
        PhaseName::Waiting => 5,
        PhaseName::Closing => 6,
        PhaseName::Closed => 7,
    }
}

fn input_index(input: &Input) -> usize {
    match input {
        Input::Opened(..) => 0,
        Input::OpenFailed(..) => 1,
        Input::Observed(..) => 2,
        Input::ObserveFailed(..) => 3,
        Input::Verified(..) => 4,
        Input::VerifyFailed(..) => 5,
        Input::Judged(..) => 6,
        Input::JudgeFailed(..) => 7,
        Input::Receipt(..) => 8,
        Input::DispatchFailed(..) => 9,
        Input::Waited(..) => 10,
        Input::WaitFailed(..) => 11,
        Input::SessionLost(_) => 12,
        Input::Cancel => 13,
        Input::Tick => 14,
        Input::Closed(..) => 15,
    }
}

/// One input taken in one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The phase before.
    pub from: PhaseName,
    /// The input's place in [`INPUTS`].
    pub input: usize,
    /// Its row in the matrix; none for an answer that was not due, which changes nothing.
    pub row: Option<usize>,
    /// The phase after.
    pub to: PhaseName,
}

/// How an input comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comes {
    /// As it should.
    InTime,
    /// It answers nothing that was asked.
    Unasked,
    /// To a running navigator whose budget is spent.
    Late,
}

/// The row of the matrix for whatever comes when the budget is spent.
const LATE: usize = INPUTS.len();
/// The rows of the matrix: the inputs, and lateness.
const ROWS: usize = INPUTS.len() + 1;

impl Step {
    /// A step, before it is known where it leads.
    pub fn new(from: PhaseName, input: &Input, comes: Comes) -> Self {
        let place = input_index(input);
        Self {
            from,
            input: place,
            row: match comes {
                Comes::Late => Some(LATE),
                Comes::Unasked => None,
                Comes::InTime => Some(place),
            },
            to: from,
        }
    }
}

/// Counts of everything that was reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Inputs handled.
    pub inputs: u64,
    phases: [u64; PHASES.len()],
    statuses: [u64; Status::NAMES.len()],
    receipts: [u64; RECEIPTS.len()],
    timers: [u64; TIMERS.len()],
    taken: [u64; INPUTS.len()],
    effects: [u64; EFFECTS.len()],
    /// For each phase and row, a bit a phase reached.
    matrix: [[u8; ROWS]; PHASES.len()],
}

fn bump(counts: &mut [u64], place: Option<usize>) {
    if let Some(count) = place.and_then(|place| counts.get_mut(place)) {
        *count += 1;
    }
}

impl Coverage {
    /// An input was handled.
    pub fn step(&mut self, step: Step) {
        self.inputs += 1;
        bump(&mut self.phases, Some(phase_index(step.to)));
        bump(&mut self.taken, Some(step.input));
        let row = self.matrix.get_mut(phase_index(step.from));
        if let Some(cell) = row.and_then(|row| row.get_mut(step.row?)) {
            *cell |= 1 << phase_index(step.to);
        }
    }

    /// The phase in which every run begins.
    pub fn began(&mut self) {
        bump(&mut self.phases, Some(0));
    }

    /// A run ended.
    pub fn ended(&mut self, status: Status) {
        let name = status.name();
        let place = Status::NAMES.iter().position(|known| *known == name);
        bump(&mut self.statuses, place);
    }

    /// A receipt was written.
    pub fn received(&mut self, of: Receipt) {
        let name = receipt(of);
        bump(
            &mut self.receipts,
            RECEIPTS.iter().position(|known| *known == name),
        );
    }

    /// A timer fired.
    pub fn fired(&mut self, of: Timer) {
        bump(&mut self.timers, Some(timer(of)));
    }

    /// An effect was asked for.
    pub fn effect(&mut self, kind: &EffectKind) {
        let name = kind.name();
        bump(
            &mut self.effects,
            EFFECTS.iter().position(|known| *known == name),
        );
    }

    /// Adds what another part of the run reached.
    pub fn add(&mut self, other: &Self) {
        self.inputs += other.inputs;
        for (mine, theirs) in [
            (&mut self.phases[..], &other.phases[..]),
            (&mut self.statuses, &other.statuses),
            (&mut self.receipts, &other.receipts),
            (&mut self.timers, &other.timers),
            (&mut self.taken, &other.taken),
            (&mut self.effects, &other.effects),
        ] {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += theirs;
            }
        }
        for (mine, theirs) in self.matrix.iter_mut().zip(&other.matrix) {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine |= theirs;
            }
        }
    }

    /// Every count with its kind and name.
    pub fn counts(&self) -> Vec<(&'static str, String, u64)> {
        let phases: Vec<String> = PHASES.iter().map(|phase| format!("{phase:?}")).collect();
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let groups: [(&str, Vec<String>, &[u64]); 6] = [
            ("phase", phases, &self.phases),
            ("status", named(&Status::NAMES), &self.statuses),
            ("receipt", named(&RECEIPTS), &self.receipts),
            ("timer", named(&TIMERS), &self.timers),
            ("input", named(&INPUTS), &self.taken),
            ("effect", named(&EFFECTS), &self.effects),
        ];
        groups
            .into_iter()
            .flat_map(|(kind, names, counts)| {
                names
                    .into_iter()
                    .zip(counts)
                    .map(move |(name, count)| (kind, name, *count))
            })
            .collect()
    }

    /// What was never reached.
    pub fn missing(&self) -> Vec<String> {
        self.counts()
            .into_iter()
            .filter(|(_, _, count)| *count == 0)
            .map(|(kind, name, _)| format!("{kind} {name}"))
            .collect()
    }

    /// The transition matrix for a reader: for each phase, the inputs it takes and the phases they
    /// lead to.
    pub fn matrix(&self) -> String {
        let mut text = String::new();
        for from in PHASES {
            text.push_str(&format!("{from:?}\n"));
            for row in 0..ROWS {
                let reached = self.reached(from, row);
                if !reached.is_empty() {
                    let name = INPUTS.get(row).unwrap_or(&"budget spent");
                    text.push_str(&format!("  {name:<14} -> {}\n", reached.join(", ")));
                }
            }
        }
        text
    }

    fn reached(&self, from: PhaseName, row: usize) -> Vec<String> {
        let cells = self.matrix.get(phase_index(from));
        let cell = cells.and_then(|cells| cells.get(row)).copied().unwrap_or(0);
        PHASES
            .into_iter()
            .filter(|phase| cell & (1 << phase_index(*phase)) != 0)
            .map(|phase| format!("{phase:?}"))
            .collect()
    }
}
