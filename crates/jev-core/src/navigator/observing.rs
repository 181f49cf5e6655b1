//! Observing: every look at the page, what it is checked for, and what it means for progress.

use std::sync::Arc;

use super::phase::{Acted, Look, Phase, Why};
use super::{Ending, Navigator};
use crate::contract::{Mode, VerifyFirst};
use crate::effect::EffectKind;
use crate::history::{HistoryEntry, HistoryOperation, HistoryOutcome, PageChange};
use crate::progress::LedBy;
use crate::record::Event;
use crate::snapshot::Snapshot;
use crate::status::Status;
use crate::verification::Proof;

impl Navigator {
    pub(super) fn observe(&mut self, look: Look) {
        self.spent.observations += 1;
        let flight = self.emit_in_budget(EffectKind::Observe);
        self.phase = Phase::Observing { flight, look };
    }

    pub(super) fn observed(&mut self, snapshot: Arc<Snapshot>) {
        self.count_time();
        let Phase::Observing { look, .. } = &self.phase else {
            return;
        };
        let look = look.clone();
        if snapshot.scope != self.contract.scope {
            self.end(Status::ScopeMismatch, None);
            return;
        }
        if !self.contract.access.allows_text(&snapshot.url) {
            self.end(Status::LeftScope, None);
            return;
        }
        self.record(Event::Observed(Arc::clone(&snapshot)));
        self.page = Some(Arc::clone(&snapshot));
        match look {
            Look::First => {
                self.progress.is_new(&snapshot, LedBy::Other);
                self.looked(snapshot);
            }
            Look::After(acted) => {
                self.account(acted, &snapshot);
                self.looked(snapshot);
            }
            Look::Done(acted) => {
                self.progress.is_new(&snapshot, LedBy::Other);
                self.spent.rebinds = 0;
                self.verify(snapshot, Why::Claim(acted));
            }
            Look::Blocked(acted) => self.look_again_at_blocked(acted, snapshot),
            Look::Bind {
                verification,
                judged,
                why,
            } => {
                self.progress.is_new(&snapshot, LedBy::Other);
                match Proof::bind(&self.goal_digest, &verification, &judged, &snapshot) {
                    Some(proof) => self.end(Status::Verified(proof), None),
                    None if self.spent.charge_rebind(&self.contract.limits).is_ok() => {
                        self.verify(snapshot, why);
                    }
                    None => self.end(Status::VerificationStale, None),
                }
            }
        }
    }

    /// What follows a look that is not part of a claim.
    fn looked(&mut self, snapshot: Arc<Snapshot>) {
        match self.contract.mode {
            Mode::Off => self.end(Status::Observed, None),
            Mode::Shadow => self.ask(&snapshot),
            Mode::Enforce => {
                let verify = match self.contract.verify_first {
                    VerifyFirst::On => !self.progress.is_refused(snapshot.version()),
                    VerifyFirst::Off => false,
                };
                if verify {
                    self.spent.rebinds = 0;
                    self.verify(snapshot, Why::NewState);
                } else {
                    self.proceed();
                }
            }
        }
    }

    /// The page in front of us does not satisfy the goal: end if an end is due, else ask the judge.
    pub(super) fn proceed(&mut self) {
        if let Some(Ending { status, cause }) = self.pending_end.take() {
            self.end(status, cause);
        } else if let Some(page) = self.page.clone() {
            self.ask(&page);
        }
    }

    /// BLOCKED stands when the page is the same on a second look; else the judge saw an old page.
    fn look_again_at_blocked(&mut self, mut acted: Acted, snapshot: Arc<Snapshot>) {
        if *snapshot.version() == acted.version {
            self.end_after_verifying(Status::Blocked, None);
            self.looked(snapshot);
            return;
        }
        acted.outcome = HistoryOutcome::ClaimedBlockedPageChanged;
        self.charge_stale();
        self.account(acted, &snapshot);
        self.looked(snapshot);
    }

    pub(super) fn charge_stale(&mut self) {
        if self.spent.charge_stale(&self.contract.limits).is_err() {
            self.end_after_verifying(Status::StaleLimit, None);
        }
    }

    /// Progress is a page state not seen before in this run.
    fn account(&mut self, acted: Acted, snapshot: &Snapshot) {
        let scrolled = matches!(
            acted.operation,
            crate::action::Operation::ScrollDown | crate::action::Operation::ScrollUp
        );
        let led_by = if scrolled {
            LedBy::Scroll
        } else {
            LedBy::Other
        };
        let is_new = self.progress.is_new(snapshot, led_by);
        let changed = *snapshot.version() != acted.version;
        if is_new {
            self.spent.no_progress = 0;
            self.spent.waits = 0;
        }
        match acted.outcome {
            HistoryOutcome::Applied | HistoryOutcome::NoEffect | HistoryOutcome::DeadEnd => {
                self.spent.waits = 0;
                let limits = &self.contract.limits;
                if !is_new && self.spent.charge_no_progress(limits).is_err() {
                    self.end_after_verifying(Status::NoProgress, None);
                }
                let moved = scrolled && snapshot.scroll.offset != acted.offset;
                if !is_new && !changed && !moved {
                    self.progress
                        .had_no_effect(&acted.version, acted.key.clone());
                }
            }
            HistoryOutcome::Waited => {
                let limits = &self.contract.limits;
                if !is_new && self.spent.charge_wait(limits).is_err() {
                    self.end_after_verifying(Status::LoadingTimeout, None);
                }
            }
            HistoryOutcome::Stale
            | HistoryOutcome::Rejected
            | HistoryOutcome::ClaimedDoneNoEvidence
            | HistoryOutcome::ClaimedBlockedPageChanged
            | HistoryOutcome::Unknown => {}
        }
        self.remember(acted, snapshot);
    }

    /// Writes a step into the history that the judge is told.
    pub(super) fn remember(&mut self, acted: Acted, snapshot: &Snapshot) {
        let page_changed = if *snapshot.version() == acted.version {
            PageChange::Unchanged
        } else {
            PageChange::Changed
        };
        Arc::make_mut(&mut self.history).push(HistoryEntry {
            operation: HistoryOperation::Judged(acted.operation),
            target: acted.label,
            outcome: acted.outcome,
            page_changed,
        });
    }
}
