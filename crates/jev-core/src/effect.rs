//! Effects: everything the navigator can ask of the world, and the timers it arms.

use std::sync::Arc;
use std::time::Duration;

use crate::asking::Ask;
use crate::ids::EffectId;
use crate::permit::Permit;
use crate::ports::{OpenRequest, VerifyRequest};
use crate::question::Questionnaire;
use crate::time::Timestamp;

/// One thing to do. The answer must carry `id`. Not `Clone`: it may hold a permit.
#[derive(Debug)]
pub struct Effect {
    /// To be echoed by the answer.
    pub id: EffectId,
    /// When the answer will no longer be waited for.
    pub deadline: Timestamp,
    /// What to do.
    pub kind: EffectKind,
}

/// What to do.
#[derive(Debug)]
pub enum EffectKind {
    /// Open the session.
    Open(OpenRequest),
    /// Let the page come to rest and read it.
    Observe,
    /// Ask the judge; [`Ask::questionnaire`] renders the question.
    AskJudge(Arc<Ask>),
    /// Carry out the permit, once.
    Dispatch(Permit),
    /// Verify the snapshot.
    Verify(VerifyRequest),
    /// Wait for the page to change.
    Wait {
        /// At most so long.
        bound: Duration,
    },
    /// Close the session.
    Close {
        /// Within so long.
        grace: Duration,
    },
}

impl EffectKind {
    /// The effect's bare name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Open(_) => "Open",
            Self::Observe => "Observe",
            Self::AskJudge(_) => "AskJudge",
            Self::Dispatch(_) => "Dispatch",
            Self::Verify(_) => "Verify",
            Self::Wait { .. } => "Wait",
            Self::Close { .. } => "Close",
        }
    }

    /// What the judge is asked; `None` for any other effect.
    #[must_use]
    pub fn questionnaire(&self) -> Option<Questionnaire> {
        match self {
            Self::AskJudge(ask) => Some(ask.questionnaire()),
            Self::Open(_)
            | Self::Observe
            | Self::Dispatch(_)
            | Self::Verify(_)
            | Self::Wait { .. }
            | Self::Close { .. } => None,
        }
    }
}

/// Why the navigator wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// The run's time budget ends.
    Budget,
    /// A wait's bound passed without an answer: look anyway.
    Wait,
    /// Closing took longer than its grace: the run ends without its answer.
    CloseGrace,
}
