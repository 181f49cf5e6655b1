//! How a run ends: the closed list of statuses, their handoffs, and a sentence for people.

use serde::{Serialize, Serializer};

use crate::error::{JudgeError, SessionError};
use crate::receipt::{RejectCause, UnknownCause};
use crate::verification::Proof;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The verifier passed the page with evidence, and the evidence was seen again. Only this
    /// crate can make the [`Proof`].
    Verified(Proof),
    /// OFF or SHADOW: looked once.
    Observed,
    /// DONE was claimed, the verifier was not satisfied, no recovery is left.
    Unverified,
    /// The page would not hold still long enough to bind evidence.
    VerificationStale,
    /// The gate was not passed, or none of the offered targets is right.
    Abstain,
    /// The judge says it can't be done read-only, and the page was the same on a second look.
    Blocked,
    /// Guard or policy refused, or actions led to no page that may be read; no recovery is left.
    Rejected,
    /// A dispatch without a trustworthy receipt.
    Unknown,
    /// Too many stale pages in a row.
    StaleLimit,
    /// Too many actions in a row without a new page state.
    NoProgress,
    /// All judged steps are used.
    StepLimit,
    /// Waiting brought nothing.
    LoadingTimeout,
    /// The state can't be made to fit.
    StateLimit,
    /// The time budget ended.
    Timeout,
    /// The call to the judge or its answer failed.
    JudgeError,
    /// The browser stands on a page that is not allowed.
    LeftScope,
    /// Session or snapshot belong to someone else.
    ScopeMismatch,
    /// Launch, crash, hang, protocol.
    SessionError,
    /// The caller cancelled.
    Cancelled,
}

impl Status {
    /// Every name, in the order of the table in `docs/statuses.md`.
    pub const NAMES: [&'static str; 19] = [
        "VERIFIED",
        "OBSERVED",
        "UNVERIFIED",
        "VERIFICATION_STALE",
        "ABSTAIN",
        "BLOCKED",
        "REJECTED",
        "UNKNOWN",
        "STALE_LIMIT",
        "NO_PROGRESS",
        "STEP_LIMIT",
        "LOADING_TIMEOUT",
        "STATE_LIMIT",
        "TIMEOUT",
        "JUDGE_ERROR",
        "LEFT_SCOPE",
        "SCOPE_MISMATCH",
        "SESSION_ERROR",
        "CANCELLED",
    ];

    /// The name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Verified(_) => "VERIFIED",
            Self::Observed => "OBSERVED",
            Self::Unverified => "UNVERIFIED",
            Self::VerificationStale => "VERIFICATION_STALE",
            Self::Abstain => "ABSTAIN",
            Self::Blocked => "BLOCKED",
            Self::Rejected => "REJECTED",
            Self::Unknown => "UNKNOWN",
            Self::StaleLimit => "STALE_LIMIT",
            Self::NoProgress => "NO_PROGRESS",
            Self::StepLimit => "STEP_LIMIT",
            Self::LoadingTimeout => "LOADING_TIMEOUT",
            Self::StateLimit => "STATE_LIMIT",
            Self::Timeout => "TIMEOUT",
            Self::JudgeError => "JUDGE_ERROR",
            Self::LeftScope => "LEFT_SCOPE",
            Self::ScopeMismatch => "SCOPE_MISMATCH",
            Self::SessionError => "SESSION_ERROR",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// What the host should do next, in one word.
    #[must_use]
    pub const fn handoff(self) -> Handoff {
        match self {
            Self::Verified(_) | Self::Observed => Handoff::None,
            Self::Unverified | Self::VerificationStale => Handoff::NeedsVerification,
            Self::Abstain => Handoff::LowConfidence,
            Self::Blocked => Handoff::Blocked,
            Self::Rejected => Handoff::ActionError,
            Self::Unknown => Handoff::OutcomeUnknown,
            Self::StaleLimit => Handoff::StalePage,
            Self::NoProgress => Handoff::NoProgress,
            Self::StepLimit => Handoff::StepLimit,
            Self::LoadingTimeout => Handoff::LoadingTimeout,
            Self::StateLimit => Handoff::StateTooLarge,
            Self::Timeout => Handoff::Budget,
            Self::JudgeError => Handoff::DecisionError,
            Self::LeftScope | Self::ScopeMismatch => Handoff::Unauthorized,
            Self::SessionError => Handoff::BrowserError,
            Self::Cancelled => Handoff::Cancelled,
        }
    }

    /// What happened, for a person.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Verified(_) => {
                "The verifier found the evidence on the page, and it was still there on a second look."
            }
            Self::Observed => {
                "The page was read once; nothing was clicked and nothing was verified."
            }
            Self::Unverified => "The judge claims to be done, but the verifier found no evidence.",
            Self::VerificationStale => {
                "The page kept changing, so no evidence could be bound to it."
            }
            Self::Abstain => "No option was strong enough to act on.",
            Self::Blocked => {
                "The judge says the goal can't be reached by reading; the page was the same on a second look."
            }
            Self::Rejected => {
                "Chosen actions were refused by the guard or the policy, or led to an address that is not allowed or to no page."
            }
            Self::Unknown => {
                "An action may have been sent and its outcome is not known; it is never sent again."
            }
            Self::StaleLimit => "The page kept changing between the look and the click.",
            Self::NoProgress => "Several actions in a row led to nothing new.",
            Self::StepLimit => "All judged steps are used up.",
            Self::LoadingTimeout => "Waiting brought nothing new.",
            Self::StateLimit => {
                "The page is too large for one question to the judge, even when trimmed."
            }
            Self::Timeout => "The time budget is used up.",
            Self::JudgeError => "The judge could not be asked, or its answer was void.",
            Self::LeftScope => {
                "The browser stood on a page that is not on the allow-list; nothing of it was used."
            }
            Self::ScopeMismatch => {
                "The session or the page belongs to someone else; nothing of it was used."
            }
            Self::SessionError => "The browser failed.",
            Self::Cancelled => "The run was cancelled.",
        }
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// What the host should do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Handoff {
    /// Nothing.
    None,
    /// Check the page itself.
    NeedsVerification,
    /// Decide itself.
    LowConfidence,
    /// Take another way.
    Blocked,
    /// Look at why an action was refused.
    ActionError,
    /// Find out what happened; never repeat blindly.
    OutcomeUnknown,
    /// The page is restless.
    StalePage,
    /// The loop went in circles.
    NoProgress,
    /// Give more steps, or take over.
    StepLimit,
    /// The page does not load.
    LoadingTimeout,
    /// Narrow the page or raise the limit.
    StateTooLarge,
    /// Give more time.
    Budget,
    /// Look at the judge.
    DecisionError,
    /// Look at the allow-list or the scope.
    Unauthorized,
    /// Look at the browser.
    BrowserError,
    /// The caller knows.
    Cancelled,
}

/// The typed reason behind a status, where there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "cause", content = "detail", rename_all = "snake_case")]
pub enum Cause {
    /// The judge failed.
    Judge(JudgeError),
    /// The session failed.
    Session(SessionError),
    /// An action was refused.
    Rejected(RejectCause),
    /// The network boundary refused where an action led.
    DestinationRefused,
    /// An action led to no page.
    DestinationFailed,
    /// A dispatch's outcome is not known.
    Unknown(UnknownCause),
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Judge(error) => error.fmt(f),
            Self::Session(error) => error.fmt(f),
            Self::Rejected(cause) => write!(f, "an action was refused: {}", cause.word()),
            Self::DestinationRefused => {
                f.write_str("the network boundary refused where the action led")
            }
            Self::DestinationFailed => f.write_str("the action led to no page"),
            Self::Unknown(cause) => {
                write!(f, "the outcome of an action is not known: {}", cause.word())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_in_words_and_not_in_names_of_the_code() {
        for (cause, words) in [
            (
                Cause::Rejected(RejectCause::OffList),
                "an action was refused: off_list",
            ),
            (
                Cause::Unknown(UnknownCause::SessionLost),
                "the outcome of an action is not known: session_lost",
            ),
        ] {
            assert_eq!(cause.to_string(), words);
        }
    }
}
