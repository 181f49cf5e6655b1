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

impl StaleCause {
    /// The cause in one word, as it is serialised.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Url => "url",
            Self::TargetGone => "target_gone",
            Self::TargetChanged => "target_changed",
        }
    }
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

impl RejectCause {
    /// The cause in one word, as it is serialised.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Covered => "covered",
            Self::Disabled => "disabled",
            Self::NotVisible => "not_visible",
            Self::OffList => "off_list",
            Self::Diverted => "diverted",
            Self::Unsupported => "unsupported",
            Self::SessionFailed => "session_failed",
        }
    }
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

impl UnknownCause {
    /// The cause in one word, as it is serialised.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::SessionLost => "session_lost",
            Self::Failed => "failed",
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_in_the_word_that_it_is_serialised_as() {
        let told = |receipt: Receipt| match receipt {
            Receipt::Applied(_) => None,
            Receipt::Stale(cause) => Some(cause.word()),
            Receipt::Rejected(cause) => Some(cause.word()),
            Receipt::Unknown(cause) => Some(cause.word()),
        };
        for receipt in [
            Receipt::Stale(StaleCause::Document),
            Receipt::Stale(StaleCause::Url),
            Receipt::Stale(StaleCause::TargetGone),
            Receipt::Stale(StaleCause::TargetChanged),
            Receipt::Rejected(RejectCause::Covered),
            Receipt::Rejected(RejectCause::Disabled),
            Receipt::Rejected(RejectCause::NotVisible),
            Receipt::Rejected(RejectCause::OffList),
            Receipt::Rejected(RejectCause::Diverted),
            Receipt::Rejected(RejectCause::Unsupported),
            Receipt::Rejected(RejectCause::SessionFailed),
            Receipt::Unknown(UnknownCause::Cancelled),
            Receipt::Unknown(UnknownCause::Timeout),
            Receipt::Unknown(UnknownCause::SessionLost),
            Receipt::Unknown(UnknownCause::Failed),
        ] {
            let serialised = serde_json::to_value(receipt).unwrap();
            assert_eq!(serialised["detail"].as_str(), told(receipt), "{receipt:?}");
        }
    }
}
