//! Receipts: what became of a dispatch. Unknown is a value, not an error.

use serde::{Deserialize, Serialize};

/// What an applied action was seen to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AppliedEffect {
    /// The click's own navigation to a new document was seen.
    Navigated,
    /// The address changed within the document (fragment, history entry).
    SameDocument,
    /// The window moved.
    Scrolled,
    /// The page changed in place.
    Changed,
    /// It was carried out, and nothing was seen to happen.
    NoEffect,
    /// It was carried out, and where it led was refused: by the network boundary (a redirect off the
    /// list, a download, a new window), or because it is not where the target said it leads.
    DestinationRefused,
    /// It was carried out, and the server did not answer with a page.
    DestinationFailed,
}

/// Why an action was no longer the one that was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StaleCause {
    /// Another document stands in the tab.
    Document,
    /// The address changed.
    Url,
    /// The target is gone.
    TargetGone,
    /// The target's address, name or state changed.
    TargetChanged,
}

/// Why the guard or the policy refused an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectCause {
    /// Something else lies over the target.
    Covered,
    /// The target is disabled or inert.
    Disabled,
    /// The target can't be brought into view.
    NotVisible,
    /// Its address is not allowed.
    OffList,
    /// The page's own handler led it elsewhere, and that was stopped before anything was sent.
    Diverted,
    /// The session does not carry out this action, or not here.
    Unsupported,
    /// The session failed before anything was sent.
    SessionFailed,
}

/// Why it is not known whether an action was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownCause {
    /// The run was cancelled before the receipt arrived.
    Cancelled,
    /// The time budget ended before the receipt arrived.
    Timeout,
    /// The session was lost before the receipt arrived.
    SessionLost,
    /// The session failed in the middle.
    Failed,
}

/// What became of one dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(
    tag = "receipt",
    content = "detail",
    rename_all = "SCREAMING_SNAKE_CASE"
)]
pub enum Receipt {
    /// Dispatched and confirmed.
    Applied(AppliedEffect),
    /// The page moved on. Guaranteed not dispatched.
    Stale(StaleCause),
    /// Refused by guard or policy. Guaranteed not dispatched.
    Rejected(RejectCause),
    /// May have been dispatched. Terminal, never retried.
    Unknown(UnknownCause),
}

impl Receipt {
    /// The receipt's bare name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Applied(_) => "APPLIED",
            Self::Stale(_) => "STALE",
            Self::Rejected(_) => "REJECTED",
            Self::Unknown(_) => "UNKNOWN",
        }
    }

    /// Whether the action may have reached the page.
    #[must_use]
    pub const fn maybe_sent(&self) -> bool {
        match self {
            Self::Applied(_) | Self::Unknown(_) => true,
            Self::Stale(_) | Self::Rejected(_) => false,
        }
    }
}
