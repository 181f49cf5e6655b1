//! Records: the ordered events of a run, for progress lines and trajectories. They hold page
//! content and belong to the host.

use std::sync::Arc;

use serde::Serialize;

use crate::action::Action;
use crate::asking::Ask;
use crate::error::{JudgeError, SessionError, VerifyError};
use crate::ids::{EffectId, IntentId};
use crate::ports::{Change, CloseReport};
use crate::proposal::Proposal;
use crate::receipt::Receipt;
use crate::snapshot::Snapshot;
use crate::status::{Cause, Status};
use crate::time::Timestamp;
use crate::verification::Verification;

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The session opened.
    Opened,
    /// The page was read.
    Observed(Arc<Snapshot>),
    /// The verifier gave a verdict.
    Verified(Verification),
    /// The verifier gave none.
    VerifyFailed(VerifyError),
    /// The judge is asked.
    Asked(Arc<Ask>),
    /// More candidates than one question may hold were narrowed down.
    Narrowed {
        /// How many were offered in windows.
        from: usize,
        /// How many reach the deciding question.
        to: usize,
    },
    /// The judge proposed.
    Proposed(Proposal),
    /// The judge failed.
    JudgeFailed(JudgeError),
    /// An action is about to be dispatched.
    Intent(IntentId, Action),
    /// What became of it.
    Received(IntentId, Receipt),
    /// A wait ended.
    Waited(Change),
    /// A recovery was spent.
    Recovered(Recovery),
    /// An answer to no pending effect came and was ignored.
    Ignored(Option<EffectId>, &'static str),
    /// The session failed.
    SessionFailed(SessionError),
    /// The run ends so; closing follows.
    Ending(Status, Option<Cause>),
    /// The session closed.
    Closed(CloseReport),
}

impl Event {
    /// The event's bare name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Observed(_) => "observed",
            Self::Verified(_) => "verified",
            Self::VerifyFailed(_) => "verify_failed",
            Self::Asked(_) => "asked",
            Self::Narrowed { .. } => "narrowed",
            Self::Proposed(_) => "proposed",
            Self::JudgeFailed(_) => "judge_failed",
            Self::Intent(..) => "intent",
            Self::Received(..) => "received",
            Self::Waited(_) => "waited",
            Self::Recovered(_) => "recovered",
            Self::Ignored(..) => "ignored",
            Self::SessionFailed(_) => "session_failed",
            Self::Ending(..) => "ending",
            Self::Closed(_) => "closed",
        }
    }
}

/// What a recovery was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// A refused DONE claim.
    RefusedClaim,
    /// An action refused by guard or policy.
    RejectedAction,
    /// A target that led nowhere allowed.
    FailedTarget,
}
