//! What the earlier runs of one tab leave to the next: the history the judge is told, and what has
//! led nowhere, so that no run repeats another's failures.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::history::{HistoryEntry, HistoryOperation, HistoryOutcome, HostOperation, PageChange};
use crate::progress::Progress;

/// Most earlier entries of history that the judge is told; the oldest are left out first.
pub const HISTORY_MAX: usize = 48;

/// What a tab's earlier runs left. Empty for a tab that nobody has used. Written down it is what a
/// replay of the next run needs, beside that run's inputs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carried {
    history: Arc<Vec<HistoryEntry>>,
    pub(crate) back_depth: u32,
    pub(crate) progress: Progress,
}

impl Carried {
    pub(crate) fn new(history: Vec<HistoryEntry>, back_depth: u32, progress: Progress) -> Self {
        let history = history.into_iter().map(HistoryEntry::cut).collect();
        Self {
            history: Arc::new(history),
            back_depth,
            progress,
        }
    }

    /// Everything that was done so far, oldest first.
    #[must_use]
    pub fn history(&self) -> &[HistoryEntry] {
        &self.history
    }

    /// The entries that the judge is not told any more, and those that it is.
    pub(crate) fn split(&self) -> (Arc<Vec<HistoryEntry>>, Arc<Vec<HistoryEntry>>) {
        match self.history.len().checked_sub(HISTORY_MAX) {
            None | Some(0) => (Arc::default(), Arc::clone(&self.history)),
            Some(most) => {
                let (earlier, told) = self.history.split_at_checked(most).unwrap_or_default();
                (Arc::new(earlier.to_vec()), Arc::new(told.to_vec()))
            }
        }
    }

    /// Notes what the host did by its own hand. What had no effect before may have one now.
    /// `target` is a name or an address, never what was typed.
    pub fn host_acted(
        &mut self,
        operation: HostOperation,
        target: &str,
        outcome: HistoryOutcome,
        page_changed: PageChange,
    ) {
        let mut history = std::mem::take(Arc::make_mut(&mut self.history));
        history.push(HistoryEntry {
            operation: HistoryOperation::Host(operation),
            target: Some(target.to_owned()),
            outcome,
            page_changed,
        });
        self.progress.host_acted();
        // Going back would undo the host's own step.
        self.back_depth = 0;
        *self = Self::new(history, self.back_depth, std::mem::take(&mut self.progress));
    }
}
