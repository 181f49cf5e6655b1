//! For state searches: copies of a run, and its fingerprint, a digest of everything that decides
//! what it does next. Left out are the time, ids, totals without a limit, timings, what only the
//! report shows, and the history, which only words the judge's questions: two runs that can only
//! go on alike have one fingerprint.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::phase::{Acted, Look, Phase, Why};
use super::{Ending, Navigator};
use crate::effect::EffectKind;
use crate::snapshot::Snapshot;
use crate::verification::Verification;

impl Navigator {
    /// A copy of this run, as long as nothing is waiting to be polled: a permit has no copy.
    #[must_use]
    pub fn fork(&self) -> Option<Self> {
        let drained = self.effects.is_empty() && self.records.is_empty();
        drained.then(|| Self {
            run: self.run,
            contract: self.contract.clone(),
            goal: Arc::clone(&self.goal),
            goal_digest: self.goal_digest.clone(),
            phase: self.phase.clone(),
            now: self.now,
            effects: VecDeque::new(),
            records: VecDeque::new(),
            last_effect: self.last_effect,
            last_intent: self.last_intent,
            spent: self.spent,
            timings: self.timings,
            progress: self.progress.clone(),
            earlier: Arc::clone(&self.earlier),
            history: Arc::clone(&self.history),
            back_depth: self.back_depth,
            steps: self.steps.clone(),
            page: self.page.clone(),
            verification: self.verification.clone(),
            pending_end: self.pending_end.clone(),
            ending: self.ending.clone(),
            close: self.close.clone(),
        })
    }

    /// A digest of the state of the run: equal for equal states, different for different ones as
    /// far as 64 bits can tell. Stable within one build of this crate.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let into = &mut hasher;
        phase(&self.phase, into);
        ending(self.ending.as_ref(), into);
        self.close
            .as_ref()
            .map(|close| format!("{close:?}"))
            .hash(into);
        for effect in &self.effects {
            (effect.kind.name(), effect.deadline).hash(into);
            if let EffectKind::Dispatch(permit) = &effect.kind {
                format!("{permit:?}").hash(into);
            }
        }
        if self.phase.is_running() {
            self.course(into);
        }
        hasher.finish()
    }

    /// What decides only as long as the run goes on.
    fn course(&self, into: &mut DefaultHasher) {
        let spent = &self.spent;
        (spent.steps, spent.recoveries, spent.stale).hash(into);
        (spent.no_progress, spent.waits, spent.rebinds).hash(into);
        self.progress.fingerprint().hash(into);
        self.back_depth.hash(into);
        if let Some(page) = self.page.as_deref() {
            snapshot(page, into);
        }
        ending(self.pending_end.as_ref(), into);
    }
}

fn ending(ending: Option<&Ending>, into: &mut DefaultHasher) {
    ending
        .map(|ending| (ending.status.name(), format!("{:?}", ending.cause)))
        .hash(into);
}

fn snapshot(page: &Snapshot, into: &mut DefaultHasher) {
    (
        page.version(),
        &page.document,
        &page.scope,
        page.settled as u8,
    )
        .hash(into);
    (page.scroll.offset, page.scroll.below, page.candidates.len()).hash(into);
}

fn verification(verification: &Verification, into: &mut DefaultHasher) {
    format!("{verification:?}").hash(into);
}

fn acted(acted: &Acted, into: &mut DefaultHasher) {
    (acted.operation, &acted.label, &acted.key).hash(into);
    (&acted.version, acted.offset, acted.outcome).hash(into);
}

fn why(of: &Why, into: &mut DefaultHasher) {
    match of {
        Why::NewState => "new".hash(into),
        Why::Claim(step) => acted(step, into),
        Why::Confirm {
            before,
            why: behind,
        } => {
            format!("confirm {before:?}").hash(into);
            why(behind, into);
        }
    }
}

fn phase(phase: &Phase, into: &mut DefaultHasher) {
    phase.name().hash(into);
    phase.flight().map(|flight| flight.since).hash(into);
    match phase {
        Phase::Opening(_) | Phase::Closed => {}
        Phase::Observing { look, .. } => match look {
            Look::Page => "page".hash(into),
            Look::After(step) => {
                "after".hash(into);
                acted(step, into);
            }
            Look::Done(step) => {
                "done".hash(into);
                acted(step, into);
            }
            Look::Blocked(step) => {
                "blocked".hash(into);
                acted(step, into);
            }
            Look::Bind {
                verification: verdict,
                judged,
                why: reason,
            } => {
                verification(verdict, into);
                snapshot(judged, into);
                why(reason, into);
            }
        },
        Phase::Verifying {
            snapshot: page,
            why: reason,
            ..
        } => {
            snapshot(page, into);
            why(reason, into);
        }
        Phase::Judging { ask, .. } => {
            snapshot(&ask.snapshot, into);
            (ask.stage, ask.detail, &ask.operations).hash(into);
            (&ask.candidates, &ask.windows, ask.text_chars, ask.trimmed).hash(into);
        }
        Phase::Dispatching { acted: step, .. } | Phase::Waiting { acted: step, .. } => {
            acted(step, into);
        }
        Phase::Closing(closing) => {
            (
                closing.open_pending.is_some(),
                closing.give_up,
                closing.since,
            )
                .hash(into);
        }
    }
}
