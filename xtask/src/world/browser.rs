//! The sessions of the simulated world: they open, look, act, wait and close as their faults let
//! them, and count every action that really reaches the page.

use jev_core::action::{Action, ScrollDirection};
use jev_core::error::{DispatchError, FetchFault, Sent, SessionError, Stage};
use jev_core::ids::{CandidateId, EffectId, Scope};
use jev_core::input::Input;
use jev_core::permit::Permit;
use jev_core::ports::{Change, CloseOutcome, OpenRequest};
use jev_core::receipt::{AppliedEffect, Receipt, RejectCause, StaleCause, UnknownCause};
use jev_core::snapshot::{Settled, Snapshot};
use std::sync::Arc;

use super::World;
use super::mix::Fault;
use super::site::Leads;

impl World {
    pub(super) fn open(&mut self, id: EffectId, request: &OpenRequest) -> Input {
        if self.hits(Fault::OpenFails) {
            let errors = [
                SessionError::BrowserMissing,
                SessionError::LaunchFailed,
                SessionError::StartUnreachable {
                    fault: FetchFault::Refused,
                },
                SessionError::StartStatus { status: 404 },
            ];
            let error = self
                .chance
                .pick(&errors)
                .unwrap_or(SessionError::LaunchFailed);
            return Input::OpenFailed(id, error);
        }
        if self.hits(Fault::OpenScope) {
            return Input::Opened(id, someone_else(&request.scope));
        }
        Input::Opened(id, request.scope.clone())
    }

    pub(super) fn observe(&mut self, id: EffectId) -> Input {
        self.site.stir(&mut self.chance, &self.mix);
        if self.hits(Fault::LookFails) {
            let errors = [
                SessionError::Crashed,
                SessionError::Hung {
                    stage: Stage::Observe,
                },
                SessionError::BoundaryBreach,
            ];
            let error = self.chance.pick(&errors).unwrap_or(SessionError::Crashed);
            return Input::ObserveFailed(id, error);
        }
        let settled = if self.hits(Fault::Restless) {
            Settled::No
        } else {
            Settled::Yes
        };
        let mut snapshot = self.site.look(settled);
        if self.hits(Fault::Clashes) {
            snapshot = self.clashing(&snapshot);
        }
        if self.hits(Fault::LookScope) {
            let mut parts = (*snapshot).clone();
            parts.scope = someone_else(&parts.scope);
            return Input::Observed(id, Arc::new(Snapshot::new(parts)));
        }
        Input::Observed(id, Arc::new(snapshot))
    }

    /// The page with ids that are not theirs alone.
    fn clashing(&mut self, page: &Snapshot) -> Snapshot {
        let mut parts = (**page).clone();
        let names = ["done", "click", "none", "wait", "back", " "];
        let name = self.chance.pick(&names).unwrap_or("done");
        let twin = self.chance.below(2) == 1;
        if let [first, rest @ ..] = parts.candidates.as_mut_slice() {
            match rest.first_mut().filter(|_| twin) {
                Some(second) => second.id = first.id.clone(),
                None => first.id = CandidateId::new(name),
            }
        }
        Snapshot::new(parts)
    }

    /// Carries out a permit, or not. What reaches the page is counted in `reached`.
    pub(super) fn dispatch(&mut self, id: EffectId, permit: Permit) -> Input {
        if self.hits(Fault::Stale) || permit.document() != &self.site.document() {
            let causes = [
                StaleCause::Document,
                StaleCause::Url,
                StaleCause::TargetGone,
                StaleCause::TargetChanged,
            ];
            let cause = self.chance.pick(&causes).unwrap_or(StaleCause::Document);
            return Input::Receipt(id, Receipt::Stale(cause));
        }
        if self.hits(Fault::Rejected) {
            let causes = [
                RejectCause::Covered,
                RejectCause::Disabled,
                RejectCause::NotVisible,
                RejectCause::OffList,
                RejectCause::Diverted,
                RejectCause::Unsupported,
            ];
            let cause = self.chance.pick(&causes).unwrap_or(RejectCause::Covered);
            return Input::Receipt(id, Receipt::Rejected(cause));
        }
        if self.hits(Fault::SurelyNot) {
            return failed(id, Sent::SurelyNot);
        }
        let intent = permit.intent();
        if self.hits(Fault::MaybeSent) {
            if self.chance.below(2) == 1 {
                self.reached.push(intent);
                self.carry_out(&permit.into_action());
            }
            return failed(id, Sent::Maybe);
        }
        self.reached.push(intent);
        let effect = self.carry_out(&permit.into_action());
        if self.hits(Fault::Unknown) {
            return Input::Receipt(id, Receipt::Unknown(UnknownCause::Failed));
        }
        Input::Receipt(id, Receipt::Applied(effect))
    }

    fn carry_out(&mut self, action: &Action) -> AppliedEffect {
        if self.hits(Fault::NoEffect) {
            return AppliedEffect::NoEffect;
        }
        if self.hits(Fault::DestinationRefused) {
            return AppliedEffect::DestinationRefused;
        }
        if self.hits(Fault::DestinationFailed) {
            return AppliedEffect::DestinationFailed;
        }
        let seen = |happened, effect| {
            if happened {
                effect
            } else {
                AppliedEffect::NoEffect
            }
        };
        match action {
            Action::Click { target } => match self.site.press(&target.id) {
                Some(Leads::Page(_)) => match self.chance.below(8) {
                    7 => AppliedEffect::SameDocument,
                    _ => AppliedEffect::Navigated,
                },
                Some(Leads::Reveals) => AppliedEffect::Changed,
                Some(Leads::Elsewhere) => AppliedEffect::DestinationRefused,
                Some(Leads::Nowhere) | None => AppliedEffect::NoEffect,
            },
            Action::Scroll { direction, pages } => {
                let by = match direction {
                    ScrollDirection::Down => i64::from(*pages),
                    ScrollDirection::Up => -i64::from(*pages),
                };
                seen(self.site.scroll(by), AppliedEffect::Scrolled)
            }
            Action::Back => seen(self.site.go_back(), AppliedEffect::Navigated),
            Action::Reload => {
                self.site.reload();
                AppliedEffect::Navigated
            }
            Action::Press { .. } => seen(self.site.scroll(9), AppliedEffect::Scrolled),
        }
    }

    pub(super) fn wait(&mut self, id: EffectId) -> Input {
        if self.hits(Fault::WaitFails) {
            return Input::WaitFailed(id, SessionError::Hung { stage: Stage::Wait });
        }
        let change = if self.site.load() {
            Change::Seen
        } else {
            Change::None
        };
        Input::Waited(id, change)
    }

    pub(super) fn close(&mut self, id: EffectId) -> Input {
        let outcomes = [
            CloseOutcome::Clean,
            CloseOutcome::Killed,
            CloseOutcome::AlreadyClosed,
        ];
        let outcome = self.chance.pick(&outcomes).unwrap_or(CloseOutcome::Clean);
        Input::Closed(id, outcome.into())
    }
}

fn someone_else(scope: &Scope) -> Scope {
    Scope::new("someone else", scope.session(), scope.tab()).unwrap_or_else(|_| scope.clone())
}

fn failed(id: EffectId, sent: Sent) -> Input {
    Input::DispatchFailed(
        id,
        DispatchError {
            sent,
            error: SessionError::Hung {
                stage: Stage::Dispatch,
            },
        },
    )
}
