//! Verifying: the independent verdict on a page, and what a refusal costs.

use std::sync::Arc;

use super::Navigator;
use super::phase::{Look, Phase, Why};
use crate::effect::EffectKind;
use crate::error::VerifyError;
use crate::history::HistoryOutcome;
use crate::ports::VerifyRequest;
use crate::record::{Event, Recovery};
use crate::snapshot::Snapshot;
use crate::status::Status;
use crate::verification::{Proof, Verification};

impl Navigator {
    pub(super) fn verify(&mut self, snapshot: Arc<Snapshot>, why: Why) {
        self.spent.verifications += 1;
        let request = VerifyRequest {
            goal: self.contract.goal.clone(),
            goal_digest: self.goal_digest.clone(),
            snapshot: Arc::clone(&snapshot),
        };
        let flight = self.emit_in_budget(EffectKind::Verify(request));
        self.phase = Phase::Verifying {
            flight,
            snapshot,
            why,
        };
    }

    pub(super) fn verified(&mut self, verification: Verification) {
        let Some((snapshot, why)) = self.land_verification() else {
            return;
        };
        let (before, why) = why.taken_apart();
        self.record(Event::Verified(verification.clone()));
        self.verification = Some(verification.clone());
        // Evidence that is not on the page it was made from is no evidence.
        let passed = verification
            .evidence_for(&self.goal_digest, snapshot.version())
            .is_some_and(|evidence| evidence.iter().all(|piece| piece.still_on(&snapshot)));
        if let Some(before) = before {
            let goal = &self.goal_digest;
            match Proof::confirm(goal, &before, &verification, &snapshot) {
                Some(proof) if passed => {
                    self.end(Status::Verified(proof), None);
                    return;
                }
                Some(_) | None if !self.rebind() => return,
                Some(_) | None => {}
            }
        }
        if passed {
            self.observe(Look::Bind {
                verification,
                judged: snapshot,
                why,
            });
        } else {
            // A verdict on another goal or page, or with evidence that is not there, says nothing of
            // this page: it counts as a verifier that failed.
            if verification.refuses(&self.goal_digest, snapshot.version()) {
                self.progress.refuse(snapshot.version());
            }
            self.refused(&snapshot, why);
        }
    }

    pub(super) fn verify_failed(&mut self, error: VerifyError) {
        let Some((snapshot, why)) = self.land_verification() else {
            return;
        };
        self.record(Event::VerifyFailed(error));
        let (before, why) = why.taken_apart();
        if before.is_some() && !self.rebind() {
            return;
        }
        self.refused(&snapshot, why);
    }

    fn land_verification(&mut self) -> Option<(Arc<Snapshot>, Why)> {
        self.count_time();
        let Phase::Verifying { snapshot, why, .. } = &self.phase else {
            return None;
        };
        Some((Arc::clone(snapshot), why.clone()))
    }

    /// A page that was not passed. Only a verdict marks it as looked at: a verifier that failed is
    /// asked again at the next look.
    fn refused(&mut self, snapshot: &Snapshot, why: Why) {
        match why {
            Why::NewState | Why::Confirm { .. } => self.proceed(),
            Why::Claim(mut acted) => {
                acted.outcome = HistoryOutcome::ClaimedDoneNoEvidence;
                self.remember(acted, snapshot);
                if self.spent.charge_recovery(&self.contract.limits).is_ok() {
                    self.record(Event::Recovered(Recovery::RefusedClaim));
                    self.proceed();
                } else {
                    self.end(Status::Unverified, None);
                }
            }
        }
    }
}
