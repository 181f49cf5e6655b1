//! Asking: which actions are offered on a page, made to fit the state limit, and how an answer is
//! read back. `fit` decides the sizes, `render` writes the words.

mod excerpt;
mod fit;
mod render;

use std::ops::Range;
use std::sync::Arc;

use crate::action::Operation;
use crate::contract::{Contract, Layout};
use crate::history::HistoryEntry;
use crate::question::{Answer, Questionnaire, Stage};
use crate::snapshot::{Candidate, Snapshot};

pub(crate) use fit::StateTooLarge;

/// How much is said of each candidate. Less is said when the state would not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Detail {
    /// Label (200 characters), heading (80) and address.
    Full,
    /// Label (120) and address path of at most 60 characters.
    Short,
    /// Label (60) only.
    Bare,
}

/// One request to the judge, not yet rendered: it borrows the page instead of copying it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) history: Arc<Vec<HistoryEntry>>,
    pub(crate) goal: Arc<str>,
    pub(crate) layout: Layout,
    pub(crate) stage: Stage,
    /// Operations without a target, in the order in which they are offered.
    pub(crate) operations: Vec<Operation>,
    /// Offered candidates, as indices into the snapshot's.
    pub(crate) candidates: Vec<usize>,
    /// The windows of a narrowing stage, as ranges of `candidates`.
    pub(crate) windows: Vec<Range<usize>>,
    pub(crate) detail: Detail,
    /// How many serialised characters of the text are shown.
    pub(crate) text_chars: usize,
    /// Candidates left out: without a name of their own, narrowed away, or dropped to make the
    /// state fit, duplicates included.
    pub(crate) trimmed: u32,
    /// The first entry of the history that is told; those before it are left out.
    pub(crate) history_from: usize,
}

/// What may be offered on a page, before it is made to fit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offer {
    pub operations: Vec<Operation>,
    pub candidates: Vec<usize>,
    /// How many candidates are left out because an answer could not name them.
    pub unnamed: u32,
}

/// Most candidates of one window that reach the deciding question.
const FINALISTS_A_WINDOW: usize = 16;
/// Most options of one question, a bound of the Choice protocol.
const OPTIONS_MAX: usize = 255;

impl Ask {
    /// The first request of a step: the decision itself, or a narrowing when there are more
    /// candidates than one question may hold.
    pub(crate) fn first(
        contract: &Contract,
        snapshot: &Arc<Snapshot>,
        history: &Arc<Vec<HistoryEntry>>,
        goal: &Arc<str>,
        offer: Offer,
    ) -> Result<Self, StateTooLarge> {
        let mut ask = Self {
            snapshot: Arc::clone(snapshot),
            history: Arc::clone(history),
            goal: Arc::clone(goal),
            layout: contract.layout,
            stage: Stage::Decide,
            operations: offer.operations,
            candidates: offer.candidates,
            windows: Vec::new(),
            detail: Detail::Full,
            text_chars: 0,
            trimmed: offer.unnamed,
            history_from: 0,
        };
        let most = ask.most_candidates(contract);
        let limit = contract.limits.state_chars as usize;
        if ask.candidates.len() > most {
            ask.stage = Stage::Narrow;
        }
        fit::fit(&mut ask, limit, most)?;
        if ask.stage == Stage::Narrow {
            if ask.candidates.len() <= most {
                // What is left can be decided at once, but a decision says more of each candidate.
                ask.stage = Stage::Decide;
                fit::fit(&mut ask, limit, most)?;
            } else {
                let windows = ask.candidates.len().div_ceil(most);
                let size = ask.candidates.len().div_ceil(windows);
                ask.windows = (0..windows)
                    .map(|window| window * size..((window + 1) * size).min(ask.candidates.len()))
                    .collect();
            }
        }
        Ok(ask)
    }

    /// The deciding request after a narrowing: the operations and the best of each window.
    pub(crate) fn decide(
        &self,
        contract: &Contract,
        answers: &[Answer],
    ) -> Result<Self, StateTooLarge> {
        let most = self.most_candidates(contract);
        let each = (most / self.windows.len().max(1)).clamp(1, FINALISTS_A_WINDOW);
        let mut finalists: Vec<(usize, f64)> = Vec::new();
        for (window, answer) in self.windows.iter().zip(answers) {
            let Answer::Choice(choice) = answer else {
                continue;
            };
            let mut ranked: Vec<(usize, f64)> = window
                .clone()
                .zip(choice.probabilities.iter().copied())
                .filter(|(_, p)| *p > 0.0)
                .collect();
            ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
            finalists.extend(ranked.into_iter().take(each));
        }
        // With more windows than finalists the likeliest stay; they are asked in the page's order.
        finalists.sort_by(|a, b| b.1.total_cmp(&a.1));
        finalists.truncate(most);
        finalists.sort_unstable_by_key(|(place, _)| *place);
        let left_out = self.candidates.len() - finalists.len();
        let mut ask = Self {
            stage: Stage::Decide,
            candidates: finalists
                .iter()
                .filter_map(|&(place, _)| self.candidates.get(place).copied())
                .collect(),
            windows: Vec::new(),
            detail: Detail::Full,
            text_chars: 0,
            trimmed: self
                .trimmed
                .saturating_add(u32::try_from(left_out).unwrap_or(u32::MAX)),
            ..self.clone()
        };
        fit::fit(&mut ask, contract.limits.state_chars as usize, most)?;
        Ok(ask)
    }

    /// How many candidates one question may hold: the host's limit, and in the flat layout what
    /// the operations beside them leave of the protocol's.
    fn most_candidates(&self, contract: &Contract) -> usize {
        let beside = match self.layout {
            Layout::Flat => self.operations.len() + 1,
            Layout::TwoHead => 1,
        };
        (contract.limits.candidates as usize).min(OPTIONS_MAX - beside)
    }

    /// The stage.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The page that is asked about.
    #[must_use]
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The offered candidates in the order in which they are offered.
    pub fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates
            .iter()
            .filter_map(|&index| self.snapshot.candidates.get(index))
    }

    /// The offered operations.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// How many candidates of the snapshot were left out: without a name of their own, narrowed
    /// away, or dropped to make the state fit.
    #[must_use]
    pub fn trimmed(&self) -> u32 {
        self.trimmed
    }

    /// The request in words. Rendering is left to whoever sends it, so that the navigator itself
    /// never copies a page.
    #[must_use]
    pub fn questionnaire(&self) -> Questionnaire {
        render::questionnaire(self)
    }

    /// The part of the history that is told.
    pub(crate) fn told(&self) -> &[HistoryEntry] {
        self.history.get(self.history_from..).unwrap_or(&[])
    }

    /// How many options each question has, in the questions' order.
    pub(crate) fn shape(&self) -> Vec<usize> {
        match (self.stage, self.layout) {
            (Stage::Narrow, _) => self.windows.iter().map(|window| window.len() + 1).collect(),
            (Stage::Decide, Layout::Flat) => {
                vec![self.operations.len() + self.candidates.len() + 1]
            }
            (Stage::Decide, Layout::TwoHead) if self.candidates.is_empty() => {
                vec![self.operations.len()]
            }
            (Stage::Decide, Layout::TwoHead) => {
                vec![self.operations.len() + 1, self.candidates.len() + 1]
            }
        }
    }
}

#[cfg(test)]
mod tests;
