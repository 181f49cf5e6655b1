//! Opening: one exclusive session, whose scope is compared before the first read.

use super::phase::{Look, Phase};
use super::{Ending, Navigator};
use crate::effect::EffectKind;
use crate::error::SessionError;
use crate::ids::Scope;
use crate::ports::OpenRequest;
use crate::record::Event;
use crate::status::{Cause, Status};

impl Navigator {
    pub(super) fn open(&mut self) {
        let request = OpenRequest {
            scope: self.contract.scope.clone(),
            start: self.contract.start.clone(),
            access: self.contract.access.clone(),
            actions: self.contract.actions.clone(),
            reach: self.contract.reach,
        };
        let flight = self.emit_in_budget(EffectKind::Open(request));
        self.phase = Phase::Opening(flight);
    }

    pub(super) fn opened(&mut self, scope: &Scope) {
        match &self.phase {
            Phase::Opening(_) => self.count_time(),
            Phase::Closing(_) => {
                self.close_late_session();
                return;
            }
            Phase::Observing { .. }
            | Phase::Verifying { .. }
            | Phase::Judging { .. }
            | Phase::Dispatching { .. }
            | Phase::Waiting { .. }
            | Phase::Closed => return,
        }
        self.record(Event::Opened);
        // From here on there is a session to close, whatever happens.
        if *scope == self.contract.scope {
            self.observe(Look::Page);
        } else {
            self.observe_nothing_and_end(Status::ScopeMismatch);
        }
    }

    /// Ends a run whose session is open but was never read.
    fn observe_nothing_and_end(&mut self, status: Status) {
        self.close_session(Ending {
            status,
            cause: None,
        });
    }

    pub(super) fn open_failed(&mut self, error: SessionError) {
        match &self.phase {
            Phase::Opening(_) => {
                self.count_time();
                self.record(Event::SessionFailed(error));
                self.end_without_session(Ending {
                    status: Status::SessionError,
                    cause: Some(Cause::Session(error)),
                });
            }
            Phase::Closing(_) => self.finish(),
            Phase::Observing { .. }
            | Phase::Verifying { .. }
            | Phase::Judging { .. }
            | Phase::Dispatching { .. }
            | Phase::Waiting { .. }
            | Phase::Closed => {}
        }
    }
}
