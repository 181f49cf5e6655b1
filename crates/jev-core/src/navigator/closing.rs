//! Closing: the end is decided first, then the session is closed exactly once, within its grace.

use std::time::Duration;

use super::phase::{Closing, Look, Phase};
use super::{Ending, Navigator};
use crate::effect::EffectKind;
use crate::limits::CLOSE_GRACE;
use crate::ports::{CloseOutcome, CloseReport};
use crate::record::Event;
use crate::status::{Cause, Status};

/// How much longer than its grace a close is waited for: the adapter's own kill takes a moment.
const ANSWER_SLACK: Duration = Duration::from_millis(1_000);

impl Navigator {
    /// Ends the run. Nothing is dispatched after this.
    pub(super) fn end(&mut self, status: Status, cause: Option<Cause>) {
        self.count_time();
        if let Phase::Observing {
            look: Look::After(acted),
            ..
        } = &self.phase
        {
            let acted = acted.clone();
            self.remember_unseen(acted);
        }
        let ending = Ending { status, cause };
        match &self.phase {
            Phase::Opening(flight) => {
                let open = flight.effect;
                let not_begun = self.effects.iter().any(|effect| effect.id == open);
                self.effects.clear();
                if not_begun {
                    self.end_without_session(ending);
                } else {
                    self.begin_ending(ending);
                    self.phase = Phase::Closing(Closing {
                        flight: None,
                        open_pending: Some(open),
                        give_up: self.now.after(CLOSE_GRACE + ANSWER_SLACK),
                        since: self.now,
                    });
                }
            }
            Phase::Observing { .. }
            | Phase::Verifying { .. }
            | Phase::Judging { .. }
            | Phase::Dispatching { .. }
            | Phase::Waiting { .. } => {
                self.effects.clear();
                self.close_session(ending);
            }
            Phase::Closing(_) | Phase::Closed => {}
        }
    }

    /// Ends the run once the page in front of us has been verified, so that an answer there is not
    /// thrown away. The first reason stands.
    pub(super) fn end_after_verifying(&mut self, status: Status, cause: Option<Cause>) {
        self.pending_end.get_or_insert(Ending { status, cause });
    }

    fn begin_ending(&mut self, ending: Ending) {
        self.record(Event::Ending(ending.status, ending.cause.clone()));
        self.ending = Some(ending);
    }

    pub(super) fn close_session(&mut self, ending: Ending) {
        self.begin_ending(ending);
        self.emit_close();
    }

    pub(super) fn end_without_session(&mut self, ending: Ending) {
        self.begin_ending(ending);
        self.phase = Phase::Closed;
    }

    /// A session that opened after the run had ended.
    pub(super) fn close_late_session(&mut self) {
        self.count_time();
        self.record(Event::Opened);
        self.emit_close();
    }

    fn emit_close(&mut self) {
        let flight = self.emit(
            EffectKind::Close { grace: CLOSE_GRACE },
            self.now.after(CLOSE_GRACE),
        );
        self.phase = Phase::Closing(Closing {
            flight: Some(flight),
            open_pending: None,
            give_up: self.now.after(CLOSE_GRACE + ANSWER_SLACK),
            since: self.now,
        });
    }

    pub(super) fn closed(&mut self, report: CloseReport) {
        self.record(Event::Closed(report.clone()));
        self.close = Some(report);
        self.finish();
    }

    pub(super) fn give_up_closing(&mut self) {
        self.closed(CloseOutcome::Unanswered.into());
    }

    pub(super) fn finish(&mut self) {
        self.count_time();
        self.phase = Phase::Closed;
    }

    /// Adds the time since the phase began to where it belongs. Called when an answer arrives and
    /// when none is waited for any more; what was counted once is not counted again.
    pub(super) fn count_time(&mut self) {
        let took = self.phase.count(self.now);
        let step = self.steps.last_mut();
        match &self.phase {
            Phase::Opening(_) => self.timings.open += took,
            Phase::Observing { .. } => self.timings.observe += took,
            Phase::Verifying { .. } => self.timings.verify += took,
            Phase::Judging { .. } => {
                self.timings.judge += took;
                if let Some(step) = step {
                    step.judge_time += took;
                }
            }
            Phase::Dispatching { .. } | Phase::Waiting { .. } => {
                self.timings.act += took;
                if let Some(step) = step {
                    step.act_time += took;
                }
            }
            Phase::Closing(_) => self.timings.close += took,
            Phase::Closed => {}
        }
    }
}
