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
use crate::verification::{LastLook, Proof};

impl Navigator {
    pub(super) fn observe(&mut self, look: Look) {
        self.spent.observations += 1;
        let flight = self.emit_in_budget(EffectKind::Observe);
        self.phase = Phase::Observing { flight, look };
    }

    pub(super) fn observed(&mut self, snapshot: Arc<Snapshot>) {
        self.count_time();
        if !matches!(self.phase, Phase::Observing { .. }) {
            return;
        }
        if snapshot.scope != self.contract.scope {
            self.end(Status::ScopeMismatch, None);
            return;
        }
        if !self.contract.access.allows_text(&snapshot.url) {
            self.end(Status::LeftScope, None);
            return;
        }
        // From here on the step that led here is in the history, wherever the run ends.
        let Phase::Observing { look, .. } = &mut self.phase else {
            return;
        };
        let look = std::mem::replace(look, Look::Page);
        self.record(Event::Observed(Arc::clone(&snapshot)));
        self.page = Some(Arc::clone(&snapshot));
        match look {
            Look::Page => {
                self.progress.is_new(&snapshot, LedBy::Other);
                self.looked(snapshot);
            }
            Look::After(acted) => {
                self.account(acted, &snapshot);
                self.looked(snapshot);
            }
            Look::Done(acted) => {
                self.progress.is_new(&snapshot, LedBy::Other);
                self.verify(snapshot, Why::Claim(acted));
            }
            Look::Blocked(acted) => self.look_again_at_blocked(acted, snapshot),
            Look::Bind {
                verification,
                judged,
                why,
            } => {
                self.progress.is_new(&snapshot, LedBy::Other);
                match Proof::last_look(&self.goal_digest, &verification, &judged, &snapshot) {
                    LastLook::Same(proof) => self.end(Status::Verified(proof), None),
                    LastLook::Changed => {
                        let (before, why) = (Box::new(verification), Box::new(why));
                        self.verify(snapshot, Why::Confirm { before, why });
                    }
                    LastLook::Gone => {
                        if self.rebind() {
                            self.verify(snapshot, why);
                        }
                    }
                }
            }
        }
    }

    /// Pays for verifying anew a page that did not hold still; ends the run when it can't. Says
    /// whether the run goes on.
    pub(super) fn rebind(&mut self) -> bool {
        let paid = self.spent.charge_rebind(&self.contract.limits).is_ok();
        if !paid {
            self.end(Status::VerificationStale, None);
        }
        paid
    }

    /// What follows a look that is not part of a claim.
    fn looked(&mut self, snapshot: Arc<Snapshot>) {
        match self.contract.mode {
            Mode::Off => self.end(Status::Observed, None),
            Mode::Shadow => self.ask(&snapshot),
            Mode::Enforce => {
                let wanted = match self.contract.verify_first {
                    VerifyFirst::On => true,
                    // The last page is verified, so that an answer in front of us is not thrown away.
                    VerifyFirst::Off => self.pending_end.is_some(),
                };
                let verify = wanted && !self.progress.is_refused(snapshot.version());
                if verify {
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

    /// Gives up on a page that was looked at just now.
    pub(super) fn give_up_on(&mut self, page: &Arc<Snapshot>, status: Status) {
        if self.is_unverified(page) {
            self.end_after_verifying(status, None);
            self.verify(Arc::clone(page), Why::NewState);
        } else {
            self.end(status, None);
        }
    }

    /// Gives up on the page that the judge was asked about, which may have changed since.
    pub(super) fn give_up_after_judging(&mut self, page: &Snapshot, status: Status) {
        if self.is_unverified(page) {
            self.end_after_verifying(status, None);
            self.observe(Look::Page);
        } else {
            self.end(status, None);
        }
    }

    /// Whether the verifier has not refused a page: it was not asked, or it failed.
    fn is_unverified(&self, page: &Snapshot) -> bool {
        self.contract.mode == Mode::Enforce && !self.progress.is_refused(page.version())
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
        let scrolled = acted.operation.scrolls();
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
        self.write_history(acted, page_changed);
    }

    /// Writes a step into the history whose outcome on the page was never looked at: it says of the
    /// page what the receipt said.
    pub(super) fn remember_unseen(&mut self, acted: Acted) {
        let page_changed = acted.change;
        self.write_history(acted, page_changed);
    }

    fn write_history(&mut self, acted: Acted, page_changed: PageChange) {
        let entry = HistoryEntry {
            operation: HistoryOperation::Judged(acted.operation),
            target: acted.label,
            outcome: acted.outcome,
            page_changed,
        };
        Arc::make_mut(&mut self.history).push(entry.cut());
    }
}
