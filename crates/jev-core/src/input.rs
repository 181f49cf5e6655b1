//! Inputs: everything the world can say to the navigator. All of it is legal at any time.

use serde::{Deserialize, Serialize};

use crate::error::{DispatchError, JudgeError, SessionError, VerifyError};
use crate::ids::{EffectId, Scope};
use crate::ports::{Change, CloseReport};
use crate::question::Decision;
use crate::receipt::Receipt;
use crate::snapshot::Snapshot;
use crate::verification::Verification;
use std::sync::Arc;

/// One thing that happened. An answer carries the id of the effect it answers; an answer with
/// another id is recorded as ignored and changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// The session opened; it says who it belongs to.
    Opened(EffectId, Scope),
    /// The session did not open.
    OpenFailed(EffectId, SessionError),
    /// A look at the page.
    Observed(EffectId, Arc<Snapshot>),
    /// The look failed.
    ObserveFailed(EffectId, SessionError),
    /// The judge's valid answer.
    Judged(EffectId, Decision),
    /// The judge failed.
    JudgeFailed(EffectId, JudgeError),
    /// What became of a dispatch.
    Receipt(EffectId, Receipt),
    /// The dispatch failed.
    DispatchFailed(EffectId, DispatchError),
    /// A wait ended.
    Waited(EffectId, Change),
    /// A wait failed.
    WaitFailed(EffectId, SessionError),
    /// A verdict.
    Verified(EffectId, Verification),
    /// The verifier failed.
    VerifyFailed(EffectId, VerifyError),
    /// The session is gone.
    SessionLost(SessionError),
    /// The session closed.
    Closed(EffectId, CloseReport),
    /// The caller cancels.
    Cancel,
    /// Time passed.
    Tick,
}

impl Input {
    /// The effect this answers, when it answers one.
    #[must_use]
    pub const fn effect(&self) -> Option<EffectId> {
        match self {
            Self::Opened(id, _)
            | Self::OpenFailed(id, _)
            | Self::Observed(id, _)
            | Self::ObserveFailed(id, _)
            | Self::Judged(id, _)
            | Self::JudgeFailed(id, _)
            | Self::Receipt(id, _)
            | Self::DispatchFailed(id, _)
            | Self::Waited(id, _)
            | Self::WaitFailed(id, _)
            | Self::Verified(id, _)
            | Self::VerifyFailed(id, _)
            | Self::Closed(id, _) => Some(*id),
            Self::SessionLost(_) | Self::Cancel | Self::Tick => None,
        }
    }

    /// The input's bare name, for records and for the transition matrix.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Opened(..) => "Opened",
            Self::OpenFailed(..) => "OpenFailed",
            Self::Observed(..) => "Observed",
            Self::ObserveFailed(..) => "ObserveFailed",
            Self::Judged(..) => "Judged",
            Self::JudgeFailed(..) => "JudgeFailed",
            Self::Receipt(..) => "Receipt",
            Self::DispatchFailed(..) => "DispatchFailed",
            Self::Waited(..) => "Waited",
            Self::WaitFailed(..) => "WaitFailed",
            Self::Verified(..) => "Verified",
            Self::VerifyFailed(..) => "VerifyFailed",
            Self::SessionLost(..) => "SessionLost",
            Self::Closed(..) => "Closed",
            Self::Cancel => "Cancel",
            Self::Tick => "Tick",
        }
    }
}
