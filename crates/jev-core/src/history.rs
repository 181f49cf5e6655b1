//! The history of a run: what was done and what came of it, as the judge is told.

use serde::{Deserialize, Serialize};

use crate::action::Operation;
use crate::snapshot::json_chars;

/// What came of an earlier step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryOutcome {
    /// Carried out.
    Applied,
    /// Carried out, and nothing was seen to happen.
    NoEffect,
    /// The page had moved on; not carried out.
    Stale,
    /// Refused; not carried out.
    Rejected,
    /// Carried out, but it led to an address that is not allowed or to no page.
    DeadEnd,
    /// Done was claimed and no evidence was found.
    ClaimedDoneNoEvidence,
    /// Blocked was claimed, and the page had changed on a second look.
    ClaimedBlockedPageChanged,
    /// Waited.
    Waited,
    /// It is not known whether it was carried out; it is never tried again.
    Unknown,
}

/// What the host may do by its own hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum HostOperation {
    /// Went to an address.
    HostNavigate,
    /// Filled a field. What was typed is told to nobody.
    HostFill,
    /// Pressed a control.
    HostPress,
}

/// What was done: chosen by the judge, or done by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HistoryOperation {
    /// Chosen by the judge.
    Judged(Operation),
    /// Done by the host.
    Host(HostOperation),
}

/// Whether a step led to another page state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "bool", from = "bool")]
pub enum PageChange {
    /// It did.
    Changed,
    /// It did not.
    Unchanged,
}

impl From<PageChange> for bool {
    fn from(change: PageChange) -> Self {
        match change {
            PageChange::Changed => true,
            PageChange::Unchanged => false,
        }
    }
}

impl From<bool> for PageChange {
    fn from(changed: bool) -> Self {
        match changed {
            true => Self::Changed,
            false => Self::Unchanged,
        }
    }
}

/// One earlier step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// What was done, and by whom.
    pub operation: HistoryOperation,
    /// The target's label, for a click or an act of the host. Page text: untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What came of it.
    pub outcome: HistoryOutcome,
    /// Whether the page changed.
    pub page_changed: PageChange,
}

/// Most characters of a target's label that the history keeps.
const LABEL_CHARS: usize = 120;

impl HistoryEntry {
    /// Cuts the label to what the history keeps.
    pub(crate) fn cut(mut self) -> Self {
        if let Some(target) = &mut self.target
            && let Some((end, _)) = target.char_indices().nth(LABEL_CHARS)
        {
            target.truncate(end);
        }
        self
    }

    /// At most so many characters in JSON.
    pub(crate) fn chars(&self) -> usize {
        // The longest operation, outcome and keys come to 110; the rest is the label.
        128 + self.target.as_deref().map_or(0, json_chars)
    }
}
