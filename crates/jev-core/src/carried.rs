//! What the earlier runs of one tab leave to the next: the history the judge is told, and what has
//! led nowhere, so that no run repeats another's failures.

use std::sync::Arc;

use crate::history::{HistoryEntry, HistoryOperation, HistoryOutcome, HostOperation, PageChange};
use crate::progress::Progress;

/// Most entries of history that are carried on; the oldest go first.
pub const HISTORY_MAX: usize = 48;

/// What a tab's earlier runs left. Empty for a tab that nobody has used.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    pub(crate) history: Arc<Vec<HistoryEntry>>,
    pub(crate) back_depth: u32,
    pub(crate) progress: Progress,
}

impl Carried {
    pub(crate) fn new(mut history: Vec<HistoryEntry>, back_depth: u32, progress: Progress) -> Self {
        history.drain(..history.len().saturating_sub(HISTORY_MAX));
        let history = history.into_iter().map(HistoryEntry::cut).collect();
        Self {
            history: Arc::new(history),
            back_depth,
            progress,
        }
    }

    /// What was done so far, oldest first.
    #[must_use]
    pub fn history(&self) -> &[HistoryEntry] {
        &self.history
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
