//! Dispatching: the intent, its permit, and exactly one receipt for it.

use std::sync::Arc;

use super::Navigator;
use super::phase::{Acted, Look, Phase};
use crate::action::{Action, Operation};
use crate::effect::EffectKind;
use crate::error::{DispatchError, Sent};
use crate::history::{HistoryOutcome, PageChange};
use crate::ids::IntentId;
use crate::input::Input;
use crate::permit::Permit;
use crate::ports::Change;
use crate::receipt::{AppliedEffect, Receipt, RejectCause, UnknownCause};
use crate::record::{Event, Recovery};
use crate::snapshot::Snapshot;
use crate::status::{Cause, Status};

impl Navigator {
    pub(super) fn dispatch(&mut self, page: &Arc<Snapshot>, action: Action, acted: Acted) {
        self.last_intent += 1;
        let intent = IntentId(self.last_intent);
        self.spent.permits += 1;
        self.record(Event::Intent(intent, action.clone()));
        if let Some(step) = self.steps.last_mut() {
            step.intent = Some(intent);
            step.action = Some(action.clone());
        }
        let permit = Permit::mint(
            self.run,
            intent,
            page.document.clone(),
            page.version().clone(),
            page.url.clone(),
            action,
        );
        let flight = self.emit_in_budget(EffectKind::Dispatch(permit));
        self.phase = Phase::Dispatching {
            flight,
            intent,
            acted,
        };
    }

    /// Whether an input answers the dispatch that is under way.
    pub(super) fn answers_dispatch(&self, input: &Input) -> bool {
        matches!(self.phase, Phase::Dispatching { .. }) && self.phase.awaits(input)
    }

    /// A receipt that comes when the budget is over still says what happened.
    pub(super) fn late_receipt(&mut self, input: Input) {
        let receipt = match input {
            Input::Receipt(_, receipt) => {
                if let Some(acted) = self.land_receipt(receipt) {
                    self.remember_unseen(acted);
                }
                receipt
            }
            Input::DispatchFailed(_, error) => {
                let receipt = receipt_of(&error);
                self.fail_to_send(receipt);
                receipt
            }
            Input::Opened(..)
            | Input::OpenFailed(..)
            | Input::Observed(..)
            | Input::ObserveFailed(..)
            | Input::Judged(..)
            | Input::JudgeFailed(..)
            | Input::Waited(..)
            | Input::WaitFailed(..)
            | Input::Verified(..)
            | Input::VerifyFailed(..)
            | Input::SessionLost(_)
            | Input::Closed(..)
            | Input::Cancel
            | Input::Tick => return,
        };
        match receipt {
            Receipt::Unknown(cause) => self.end(Status::Unknown, Some(Cause::Unknown(cause))),
            Receipt::Applied(_) | Receipt::Stale(_) | Receipt::Rejected(_) => {
                self.end(Status::Timeout, None);
            }
        }
    }

    /// Writes the one receipt of the intent under way.
    pub(super) fn settle_receipt(&mut self, receipt: Receipt) {
        let Phase::Dispatching { intent, .. } = &self.phase else {
            return;
        };
        let intent = *intent;
        self.count_time();
        if let Some(step) = self.steps.last_mut() {
            step.receipt = Some(receipt);
        }
        self.record(Event::Received(intent, receipt));
    }

    pub(super) fn received(&mut self, receipt: Receipt) {
        let Some(acted) = self.land_receipt(receipt) else {
            return;
        };
        if let Receipt::Unknown(cause) = receipt {
            self.remember_unseen(acted);
            self.end(Status::Unknown, Some(Cause::Unknown(cause)));
            return;
        }
        self.observe(Look::After(acted));
    }

    /// Writes the receipt and what it means for this run and the next. The step as it stands now.
    fn land_receipt(&mut self, receipt: Receipt) -> Option<Acted> {
        let Phase::Dispatching { acted, .. } = &self.phase else {
            return None;
        };
        let mut acted = acted.clone();
        self.settle_receipt(receipt);
        acted.outcome = match receipt {
            Receipt::Applied(effect) => {
                acted.change = change_of(effect);
                self.applied(effect, &acted)
            }
            Receipt::Stale(_) => {
                self.charge_stale();
                HistoryOutcome::Stale
            }
            Receipt::Rejected(cause) => {
                if let Some(page) = &self.page {
                    self.progress
                        .was_rejected(&page.document, acted.key.clone());
                }
                self.recover(Recovery::RejectedAction, Cause::Rejected(cause));
                HistoryOutcome::Rejected
            }
            Receipt::Unknown(_) => HistoryOutcome::Unknown,
        };
        Some(acted)
    }

    /// The receipt of a dispatch that gets none from its session. It says nothing of the target.
    pub(super) fn fail_to_send(&mut self, receipt: Receipt) {
        let Phase::Dispatching { acted, .. } = &self.phase else {
            return;
        };
        let mut acted = acted.clone();
        self.settle_receipt(receipt);
        acted.outcome = match receipt {
            Receipt::Applied(_) => HistoryOutcome::Applied,
            Receipt::Stale(_) => HistoryOutcome::Stale,
            Receipt::Rejected(_) => HistoryOutcome::Rejected,
            Receipt::Unknown(_) => HistoryOutcome::Unknown,
        };
        self.remember_unseen(acted);
    }

    fn applied(&mut self, effect: AppliedEffect, acted: &Acted) -> HistoryOutcome {
        self.spent.stale = 0;
        match effect {
            AppliedEffect::Navigated | AppliedEffect::SameDocument => {
                match acted.operation {
                    Operation::Back => self.back_depth = self.back_depth.saturating_sub(1),
                    Operation::Reload => {}
                    Operation::Click
                    | Operation::ScrollDown
                    | Operation::ScrollUp
                    | Operation::Press(_)
                    | Operation::Wait
                    | Operation::Done
                    | Operation::Blocked
                    | Operation::None => self.back_depth = self.back_depth.saturating_add(1),
                }
                HistoryOutcome::Applied
            }
            AppliedEffect::Scrolled | AppliedEffect::Changed => HistoryOutcome::Applied,
            AppliedEffect::NoEffect => HistoryOutcome::NoEffect,
            AppliedEffect::DestinationRefused => self.dead_end(acted, Cause::DestinationRefused),
            AppliedEffect::DestinationFailed => self.dead_end(acted, Cause::DestinationFailed),
        }
    }

    fn dead_end(&mut self, acted: &Acted, cause: Cause) -> HistoryOutcome {
        self.progress.is_dead_end(acted.key.clone());
        self.recover(Recovery::FailedTarget, cause);
        HistoryOutcome::DeadEnd
    }

    /// Spends a recovery; with none left the run ends once the page has been verified.
    fn recover(&mut self, recovery: Recovery, cause: Cause) {
        if self.spent.charge_recovery(&self.contract.limits).is_ok() {
            self.record(Event::Recovered(recovery));
        } else {
            self.end_after_verifying(Status::Rejected, Some(cause));
        }
    }

    pub(super) fn dispatch_failed(&mut self, error: DispatchError) {
        self.record(Event::SessionFailed(error.error));
        self.fail_to_send(receipt_of(&error));
        match error.sent {
            Sent::Maybe => self.end(Status::Unknown, Some(Cause::Unknown(UnknownCause::Failed))),
            Sent::SurelyNot => self.end(Status::SessionError, Some(Cause::Session(error.error))),
        }
    }

    pub(super) fn waited(&mut self, change: Change) {
        self.count_time();
        let Phase::Waiting { acted, .. } = &self.phase else {
            return;
        };
        let acted = acted.clone();
        self.record(Event::Waited(change));
        self.observe(Look::After(acted));
    }
}

/// What an applied action is said to have done to the page, before it was looked at.
fn change_of(effect: AppliedEffect) -> PageChange {
    match effect {
        AppliedEffect::Navigated | AppliedEffect::SameDocument | AppliedEffect::Changed => {
            PageChange::Changed
        }
        AppliedEffect::Scrolled
        | AppliedEffect::NoEffect
        | AppliedEffect::DestinationRefused
        | AppliedEffect::DestinationFailed => PageChange::Unchanged,
    }
}

fn receipt_of(error: &DispatchError) -> Receipt {
    match error.sent {
        Sent::Maybe => Receipt::Unknown(UnknownCause::Failed),
        Sent::SurelyNot => Receipt::Rejected(RejectCause::SessionFailed),
    }
}
