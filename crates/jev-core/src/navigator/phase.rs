//! The phases of a run: what is in flight and what it is for.

use std::sync::Arc;
use std::time::Duration;

use crate::action::Operation;
use crate::asking::Ask;
use crate::history::{HistoryOutcome, PageChange};
use crate::ids::{EffectId, IntentId, PageVersion};
use crate::input::Input;
use crate::progress::ActionKey;
use crate::snapshot::Snapshot;
use crate::time::Timestamp;
use crate::verification::Verification;

/// An effect under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub effect: EffectId,
    pub since: Timestamp,
}

/// A step whose action is over and whose result on the page is still to be looked at.
#[derive(Clone, Debug)]
pub(super) struct Acted {
    pub operation: Operation,
    pub label: Option<String>,
    pub key: ActionKey,
    /// The content that was judged.
    pub version: PageVersion,
    /// Where the window stood.
    pub offset: u32,
    pub outcome: HistoryOutcome,
    /// What the receipt says of the page.
    pub change: PageChange,
}

/// What a look at the page is for.
#[derive(Clone, Debug)]
pub(super) enum Look {
    /// The page for itself: the first one, and the last one of a run that gives up.
    Page,
    /// What an action led to.
    After(Acted),
    /// The fresh page that a DONE claim is verified on.
    Done(Acted),
    /// The second look that a BLOCKED claim needs.
    Blocked(Acted),
    /// The last look that binds a passed verification.
    Bind {
        verification: Verification,
        judged: Arc<Snapshot>,
        why: Why,
    },
}

/// Why a page is verified.
#[derive(Clone, Debug)]
pub(super) enum Why {
    /// A page state not seen before.
    NewState,
    /// A DONE claim.
    Claim(Acted),
    /// A page that changed around the evidence of a verdict; `why` is what that verdict was for.
    Confirm {
        before: Box<Verification>,
        why: Box<Why>,
    },
}

impl Why {
    /// The verdict that is to be confirmed, if that is what it is for, and what lies behind it.
    pub(super) fn taken_apart(self) -> (Option<Verification>, Self) {
        match self {
            Self::Confirm { before, why } => (Some(*before), *why),
            Self::NewState | Self::Claim(_) => (None, self),
        }
    }
}

/// Closing.
#[derive(Clone, Debug)]
pub(super) struct Closing {
    /// The close under way.
    pub flight: Option<Flight>,
    /// An open that had not been answered when the run ended; its session must be closed too.
    pub open_pending: Option<EffectId>,
    /// When the run ends without an answer.
    pub give_up: Timestamp,
    pub since: Timestamp,
}

#[derive(Clone, Debug)]
pub(super) enum Phase {
    Opening(Flight),
    Observing {
        flight: Flight,
        look: Look,
    },
    Verifying {
        flight: Flight,
        snapshot: Arc<Snapshot>,
        why: Why,
    },
    Judging {
        flight: Flight,
        ask: Arc<Ask>,
    },
    Dispatching {
        flight: Flight,
        intent: IntentId,
        acted: Acted,
    },
    Waiting {
        flight: Flight,
        acted: Acted,
    },
    Closing(Closing),
    Closed,
}

/// A phase's bare name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PhaseName {
    /// The session is being opened.
    Opening,
    /// The page is being read.
    Observing,
    /// The verifier is looking.
    Verifying,
    /// The judge is being asked.
    Judging,
    /// An action is being dispatched.
    Dispatching,
    /// The page is given time to change.
    Waiting,
    /// The session is being closed.
    Closing,
    /// The run is over.
    Closed,
}

impl Phase {
    pub(super) fn name(&self) -> PhaseName {
        match self {
            Self::Opening(_) => PhaseName::Opening,
            Self::Observing { .. } => PhaseName::Observing,
            Self::Verifying { .. } => PhaseName::Verifying,
            Self::Judging { .. } => PhaseName::Judging,
            Self::Dispatching { .. } => PhaseName::Dispatching,
            Self::Waiting { .. } => PhaseName::Waiting,
            Self::Closing(_) => PhaseName::Closing,
            Self::Closed => PhaseName::Closed,
        }
    }

    /// Whether the run is before its end.
    pub(super) fn is_running(&self) -> bool {
        !matches!(self, Self::Closing(_) | Self::Closed)
    }

    /// The time since the effect under way began or was last counted; from `now` on it counts anew.
    pub(super) fn count(&mut self, now: Timestamp) -> Duration {
        let since = match self {
            Self::Opening(flight)
            | Self::Observing { flight, .. }
            | Self::Verifying { flight, .. }
            | Self::Judging { flight, .. }
            | Self::Dispatching { flight, .. }
            | Self::Waiting { flight, .. } => &mut flight.since,
            Self::Closing(closing) => &mut closing.since,
            Self::Closed => return Duration::ZERO,
        };
        std::mem::replace(since, now).until(now)
    }

    /// The effect under way, before the end.
    pub(super) fn flight(&self) -> Option<Flight> {
        match self {
            Self::Opening(flight)
            | Self::Observing { flight, .. }
            | Self::Verifying { flight, .. }
            | Self::Judging { flight, .. }
            | Self::Dispatching { flight, .. }
            | Self::Waiting { flight, .. } => Some(*flight),
            Self::Closing(closing) => closing.flight,
            Self::Closed => None,
        }
    }

    /// Whether `input` is the answer this phase waits for: the right kind with the right id.
    pub(super) fn awaits(&self, input: &Input) -> bool {
        let Some(id) = input.effect() else {
            return false;
        };
        let in_flight = self.flight().is_some_and(|flight| flight.effect == id);
        match self {
            Self::Opening(_) => {
                in_flight && matches!(input, Input::Opened(..) | Input::OpenFailed(..))
            }
            Self::Observing { .. } => {
                in_flight && matches!(input, Input::Observed(..) | Input::ObserveFailed(..))
            }
            Self::Verifying { .. } => {
                in_flight && matches!(input, Input::Verified(..) | Input::VerifyFailed(..))
            }
            Self::Judging { .. } => {
                in_flight && matches!(input, Input::Judged(..) | Input::JudgeFailed(..))
            }
            Self::Dispatching { .. } => {
                in_flight && matches!(input, Input::Receipt(..) | Input::DispatchFailed(..))
            }
            Self::Waiting { .. } => {
                in_flight && matches!(input, Input::Waited(..) | Input::WaitFailed(..))
            }
            Self::Closing(closing) => match input {
                Input::Closed(..) => in_flight,
                Input::Opened(..) | Input::OpenFailed(..) => closing.open_pending == Some(id),
                Input::Observed(..)
                | Input::ObserveFailed(..)
                | Input::Judged(..)
                | Input::JudgeFailed(..)
                | Input::Receipt(..)
                | Input::DispatchFailed(..)
                | Input::Waited(..)
                | Input::WaitFailed(..)
                | Input::Verified(..)
                | Input::VerifyFailed(..)
                | Input::SessionLost(_)
                | Input::Cancel
                | Input::Tick => false,
            },
            Self::Closed => false,
        }
    }
}
