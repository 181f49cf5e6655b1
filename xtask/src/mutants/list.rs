//! The list of deliberate faults: each is a textual change of `jev-core`, made in a copy of it. A
//! fault that the simulated world does not notice is a hole in the invariants.

/// One change: this text, which stands exactly once in the file, becomes that.
pub(crate) struct Edit {
    /// Below `crates/jev-core/src`.
    pub(crate) file: &'static str,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
}

/// One deliberate fault.
pub(crate) struct Mutant {
    pub(crate) name: &'static str,
    /// What it makes the core do.
    pub(crate) what: &'static str,
    pub(crate) edits: &'static [Edit],
}

macro_rules! mutants {
    ($($name:literal: $what:literal { $($file:literal: $from:literal => $to:literal;)+ })+) => {
        &[$(Mutant {
            name: $name,
            what: $what,
            edits: &[$(Edit { file: $file, from: $from, to: $to },)+],
        },)+]
    };
}

/// Every deliberate fault.
pub(crate) const MUTANTS: &[Mutant] = mutants! {
    // Verification.
    "skip-the-recheck": "the last look is compared with itself" {
        "navigator/observing.rs": "&verification, &judged, &snapshot)" => "&verification, &judged, &judged)";
    }
    "skip-the-last-look": "a passed verdict ends the run without another look" {
        "navigator/verifying.rs": "        if passed {
            self" => "        if let crate::verification::LastLook::Same(proof) = Proof::last_look(&self.goal_digest, &verification, &snapshot, &snapshot) {
            self.end(Status::Verified(proof), None);
        } else if passed {
            self";
    }
    "believe-the-judge": "DONE ends the run, with the page's title as its evidence" {
        "navigator/judging.rs": "Operation::Done => return self.observe(Look::Done(acted))," => "Operation::Done => {
                let verification = crate::verification::Verification {
                    goal: self.goal_digest.clone(),
                    version: page.version().clone(),
                    verdict: crate::verification::Verdict::Passed(vec![crate::verification::Evidence {
                        quote: page.title.clone(),
                        context: String::new(),
                        place: crate::verification::EvidencePlace::Title,
                    }]),
                };
                match crate::verification::Proof::last_look(&self.goal_digest, &verification, page, page) {
                    crate::verification::LastLook::Same(proof) => return self.end(Status::Verified(proof), None),
                    _ => return self.end(Status::Unverified, None),
                }
            }";
    }
    "claim-on-the-old-page": "DONE is verified on the page that was judged, not on a fresh one" {
        "navigator/judging.rs": "return self.observe(Look::Done(acted))" => "return self.verify(Arc::clone(page), super::phase::Why::Claim(acted))";
    }
    "another-goal": "a verification of another goal counts" {
        "verification.rs": "self.goal == *goal && " => "!goal.as_str().is_empty() && ";
    }
    "another-version": "a verification of another version counts" {
        "verification.rs": "&& self.version == *version" => "&& !version.as_str().is_empty()";
    }
    "empty-evidence": "a verdict without evidence counts" {
        "verification.rs": "if !evidence.is_empty() && " => "if ";
    }
    "evidence-not-on-the-page": "evidence is not looked for on the page it was made from" {
        "navigator/verifying.rs": ".is_some_and(|evidence| evidence.iter().all(|piece| piece.still_on(&snapshot)))" => ".is_some()";
    }
    "quotes-are-enough": "a page that changed around the quotes is not verified again" {
        "verification.rs": "} else if judged.version() == again.version() {" => "} else if verification.evidence_for(goal, judged.version()).is_some_and(|evidence| evidence.iter().all(|piece| piece.still_on(again))) {";
    }
    "other-words-confirm": "other words than those of the verdict confirm it" {
        "verification.rs": "        same.then_some(Self(()))" => "        (same || !evidence.is_empty()).then_some(Self(()))";
    }
    "a-false-confirmation": "evidence that is not on the page confirms a verdict" {
        "navigator/verifying.rs": "Some(proof) if passed => {" => "Some(proof) => {";
    }
    "confirm-for-ever": "a page that is not confirmed is verified again without bound" {
        "navigator/verifying.rs": "Some(_) | None if !self.rebind() => return," => "Some(_) | None if self.spent.rebinds > 1_000 => return,";
    }
    "another-document": "the last look may show another document" {
        "verification.rs": "judged.document == again.document && " => "";
    }
    "a-failed-verifier-passes": "a verifier that fails counts as one that passed the title" {
        "navigator/verifying.rs": "        if before.is_some() && !self.rebind() {
            return;
        }
        self.refused(&snapshot, why);" => "        if before.is_some() && !self.rebind() {
            return;
        }
        let verification = Verification {
            goal: self.goal_digest.clone(),
            version: snapshot.version().clone(),
            verdict: crate::verification::Verdict::Passed(vec![crate::verification::Evidence {
                quote: snapshot.title.clone(),
                context: String::new(),
                place: crate::verification::EvidencePlace::Title,
            }]),
        };
        self.observe(Look::Bind { verification, judged: snapshot, why });";
    }
    "verify-first-skipped": "new pages go to the judge unverified" {
        "navigator/observing.rs": "                if verify {" => "                if verify && self.pending_end.is_some() {";
    }
    "give-up-unverified": "the last page of a run that gives up is not verified where pages are not verified first" {
        "navigator/observing.rs": "VerifyFirst::Off => self.pending_end.is_some()," => "VerifyFirst::Off => false,";
    }
    "a-verifier-fails-for-good": "the last page of a run that gives up is not verified when the verifier had failed on it" {
        "navigator/observing.rs": "self.contract.mode == Mode::Enforce && !self.progress" => "self.contract.mode == Mode::Enforce && self.contract.verify_first == VerifyFirst::Off && !self.progress";
    }
    "keys-do-not-scroll": "a key that moved the window counts as no progress" {
        "policy.rs": "Self::PageUp | Self::PageDown | Self::Home | Self::End => true," => "Self::PageUp | Self::PageDown | Self::Home | Self::End => false,";
    }
    "a-void-verdict-refuses": "a verdict that is not bound to goal and page counts as a refusal" {
        "navigator/verifying.rs": "if verification.refuses(&self.goal_digest, snapshot.version()) {" => "if !verification.version.as_str().is_empty() {";
    }
    "blank-evidence": "evidence of white space counts" {
        "verification.rs": "self.quote.trim().is_empty()" => "self.quote.is_empty()";
    }
    "version-without-text": "the version of a page does not depend on its text" {
        "snapshot.rs": "            .part(&parts.title)
            .part(&collapsed);" => "            .part(&parts.title);";
    }
    "rebind-for-ever": "a page that will not hold still is verified again without bound" {
        "navigator/observing.rs": "let paid = self.spent.charge_rebind(&self.contract.limits).is_ok();" => "let paid = self.spent.rebinds < 1_000;";
    }
    // Dispatch.
    "reuse-an-intent": "every permit carries the first intent" {
        "navigator/dispatching.rs": "self.last_intent += 1;" => "self.last_intent = 1;";
    }
    "another-target": "the first candidate is clicked, whichever was chosen" {
        "navigator/judging.rs": "Some(target) => Action::Click { target }," => "Some(target) => Action::Click { target: page.candidates.first().cloned().unwrap_or(target) },";
    }
    "one-target-off": "the candidate after the chosen one is clicked" {
        "proposal.rs": "let at = |place: usize| ask.candidates.get(place).copied();" => "let at = |place: usize| ask.candidates.get(place).map(|_| ask.candidates.get(place + 1).copied().unwrap_or(0));";
    }
    "permit-for-another-page": "the permit is bound to another document" {
        "navigator/dispatching.rs": "            page.document.clone()," => "            crate::ids::DocumentId::new(page.url.clone()),";
    }
    "permit-for-another-version": "the permit is bound to another version of the page" {
        "permit.rs": "            document,
            version,
            url,
            action,
        }" => "            document,
            version: PageVersion::new(format!(\"{version} \")),
            url,
            action,
        }";
    }
    "dispatch-in-shadow": "SHADOW acts on the proposal" {
        "navigator/judging.rs": "        if self.contract.mode == Mode::Shadow {" => "        if self.contract.mode == Mode::Off {";
    }
    "ask-in-off": "OFF asks the judge and acts" {
        "navigator/observing.rs": "Mode::Off => self.end(Status::Observed, None)," => "Mode::Off => self.ask(&snapshot),";
    }
    "skip-the-gate": "a weak choice is acted on" {
        "navigator/judging.rs": "if gate == GateResult::Failed {" => "if gate == GateResult::Failed && operation == Operation::None {";
    }
    "a-lower-gate": "the threshold is a tenth lower" {
        "gate.rs": "const SLACK: f64 = 1e-9;" => "const SLACK: f64 = 0.1;";
    }
    "one-head-is-enough": "of two heads the stronger one decides" {
        "proposal.rs": "            .map(|&(_, p, second)| gate.statistic(p, second))
            .fold(f64::INFINITY, f64::min);" => "            .map(|&(_, p, second)| gate.statistic(p, second))
            .fold(0.0, f64::max);";
    }
    "none-means-wait": "a choice of none waits instead" {
        "proposal.rs": ".unwrap_or(Operation::None)" => ".unwrap_or(Operation::Wait)";
    }
    // Receipts.
    "replay-on-unknown": "an unknown receipt is tried again" {
        "navigator/dispatching.rs": "        if let Receipt::Unknown(cause) = receipt {
            self.remember_unseen(acted);
            self.end(Status::Unknown, Some(Cause::Unknown(cause)));
            return;
        }
" => "";
    }
    "maybe-means-no": "a dispatch that may have been sent counts as not sent" {
        "navigator/dispatching.rs": "Sent::Maybe => Receipt::Unknown(UnknownCause::Failed)," => "Sent::Maybe => Receipt::Rejected(RejectCause::SessionFailed),";
    }
    "no-receipt-when-cut-off": "a dispatch that is cut off gets no receipt" {
        "navigator.rs": "        self.fail_to_send(Receipt::Unknown(cause));
" => "";
    }
    "cancel-forgets-the-dispatch": "a cancel during a dispatch ends as CANCELLED" {
        "navigator.rs": "Phase::Dispatching { .. } => self.unknown(UnknownCause::Cancelled)," => "Phase::Dispatching { .. } => self.end(Status::Cancelled, None),";
    }
    "a-lost-session-forgets-the-dispatch": "a session lost during a dispatch is a session error" {
        "navigator.rs": "                self.record(Event::SessionFailed(error));
                self.unknown(UnknownCause::SessionLost);" => "                self.session_failed(error);";
    }
    "late-receipt-ignored": "a receipt that comes with the end of the budget is not written" {
        "navigator.rs": "if self.answers_dispatch(&input) {" => "if self.answers_dispatch(&input) && self.contract.budget.is_zero() {";
    }
    // Counters.
    "stale-reset-by-news": "a new page state resets the count of stale pages" {
        "navigator/observing.rs": "            self.spent.no_progress = 0;
" => "            self.spent.no_progress = 0;
            self.spent.stale = 0;
";
    }
    "stale-never-reset": "a successful dispatch does not reset the count of stale pages" {
        "navigator/dispatching.rs": "        self.spent.stale = 0;
" => "";
    }
    "stale-is-free": "a stale receipt is not charged" {
        "navigator/dispatching.rs": "                self.charge_stale();
                HistoryOutcome::Stale" => "                HistoryOutcome::Stale";
    }
    "rejections-are-free": "a rejected action costs no recovery" {
        "navigator/dispatching.rs": "                self.recover(Recovery::RejectedAction, Cause::Rejected(cause));
" => "                let _ = cause;
";
    }
    "dead-ends-are-free": "a target that led nowhere costs no recovery" {
        "navigator/dispatching.rs": "        self.recover(Recovery::FailedTarget, cause);
" => "        let _ = cause;
";
    }
    "claims-are-free": "a refused claim costs no recovery" {
        "navigator/verifying.rs": "if self.spent.charge_recovery(&self.contract.limits).is_ok() {" => "if self.spent.recoveries <= self.contract.limits.recoveries {";
    }
    "steps-are-free": "asking the judge is not charged" {
        "navigator/judging.rs": "if self.spent.charge_step(&self.contract.limits).is_err() {" => "if self.contract.limits.steps == 0 {";
    }
    "one-more": "every counted limit allows one more" {
        "ledger.rs": "        if *counter >= limit {
            return Err(Exhausted);" => "        if *counter > limit {
            return Err(Exhausted);";
    }
    "no-progress-is-free": "actions that lead nowhere are not counted" {
        "navigator/observing.rs": "if !is_new && self.spent.charge_no_progress(limits).is_err() {" => "if self.spent.no_progress > limits.no_progress {";
    }
    "waiting-is-free": "waits that bring nothing are not counted" {
        "navigator/observing.rs": "if !is_new && self.spent.charge_wait(limits).is_err() {" => "if self.spent.waits > limits.waits {";
    }
    "any-move-is-progress": "a window that moved counts as progress whatever moved it" {
        "progress.rs": "new_version || (led_by == LedBy::Scroll && new_offset)" => "new_version || (led_by != LedBy::Scroll && new_offset) || new_offset";
    }
    "state-twice-as-large": "a question may be twice as large as the state limit" {
        "asking.rs": "let limit = contract.limits.state_chars as usize;" => "let limit = 2 * contract.limits.state_chars as usize;";
    }
    "candidates-without-limit": "a question holds as many candidates as the protocol allows, whatever the limit" {
        "asking.rs": "(contract.limits.candidates as usize).min(OPTIONS_MAX - beside)" => "(contract.limits.candidates as usize).max(OPTIONS_MAX - beside)";
    }
    "permits-uncounted": "a permit is handed out without being counted" {
        "navigator/dispatching.rs": "        self.spent.permits += 1;
" => "";
    }
    "tokens-uncounted": "tokens are not summed" {
        "navigator/judging.rs": "self.spent.usage.add(decision.usage);" => "self.spent.usage = decision.usage;";
    }
    "our-words-are-free": "the words that every question holds are not counted" {
        "asking/fit.rs": "const FIXED: usize = 3_000;" => "const FIXED: usize = 0;";
    }
    "tokens-overflow": "tokens are summed without regard to the largest number" {
        "question.rs": "self.input_tokens.saturating_add(other.input_tokens)" => "self.input_tokens + other.input_tokens";
    }
    // What is offered.
    "an-address-on-any-host": "an allowed folder is allowed on every host" {
        "access.rs": "Self::Prefix(prefix) => url.as_str().starts_with(prefix.as_str())," => "Self::Prefix(prefix) => url.url().path().starts_with(prefix.url().path()),";
    }
    "the-whole-origin": "an allowed folder allows its whole origin" {
        "access.rs": "Self::Prefix(prefix) => url.as_str().starts_with(prefix.as_str())," => "Self::Prefix(prefix) => url.origin() == prefix.origin(),";
    }
    "the-denied-is-offered": "a control that the host denies is offered" {
        "policy.rs": "if named(&self.deny) || named(&self.reserve) {" => "if named(&self.reserve) {";
    }
    "the-reserved-is-offered": "a control that the host keeps for itself is offered" {
        "policy.rs": "if named(&self.deny) || named(&self.reserve) {" => "if named(&self.deny) {";
    }
    "discover-unasked": "low-risk controls are offered although the host did not ask for it" {
        "policy.rs": "self.discover == Discovery::LowRisk && low_risk" => "low_risk";
    }
    "discover-consequences": "controls that speak of consequences count as low-risk" {
        "policy.rs": "low_risk && !is_consequential(name)" => "low_risk";
    }
    "names-that-clash": "a candidate whose id is not its own is offered" {
        "navigator/judging.rs": "!unnamed.contains(index)" => "(unnamed.is_empty() || *index < usize::MAX)";
    }
    "names-from-the-page": "options are named by the page's labels" {
        "asking/render.rs": "            name: candidate.id.as_str().to_owned()," => "            name: candidate.label.clone(),";
    }
    "no-way-to-say-none": "`none` is not among the targets" {
        "asking/render.rs": "    options.push(operation_option(Operation::None));
" => "";
    }
    "finalists-by-place": "with more windows than finalists the first on the page stay" {
        "asking.rs": "        finalists.sort_by(|a, b| b.1.total_cmp(&a.1));
" => "";
    }
    "offer-the-rejected": "a target that was refused is offered again" {
        "navigator/dispatching.rs": "                        .was_rejected(&page.document, acted.key.clone());" => "                        .was_rejected(&crate::ids::DocumentId::new(page.url.clone()), acted.key.clone());";
    }
    "offer-what-did-nothing": "an action that did nothing is offered again" {
        "navigator/observing.rs": "if !is_new && !changed && !moved {" => "if is_new && !changed && !moved {";
    }
    "offer-dead-ends": "a target that led nowhere is offered again" {
        "navigator/dispatching.rs": "        self.progress.is_dead_end(acted.key.clone());
" => "        let _ = acted;
";
    }
    "offer-other-links-to-dead-ends": "another link to an address that led nowhere is offered" {
        "progress.rs": "!self.addresses.contains(href) && !" => "!";
    }
    "offer-any-address": "addresses are not held against the allow-list" {
        "navigator/judging.rs": ".is_none_or(|href| self.contract.access.allows(href))" => ".is_none_or(|href| !href.as_str().is_empty())";
    }
    "offer-any-control": "controls are not held against the policy" {
        "navigator/judging.rs": "actions.offers(candidate.role, &candidate.label)" => "!candidate.label.is_empty()";
    }
    "offer-back-at-the-start": "going back is offered although there is nothing to go back to" {
        "navigator/judging.rs": "self.back_depth > 0" => "self.back_depth < 1_000";
    }
    "offer-scrolling-at-the-end": "scrolling down is offered at the end of the page" {
        "navigator/judging.rs": "page.scroll.below > 0" => "page.scroll.below < u32::MAX";
    }
    "drop-the-finalists": "of each window the least likely targets reach the decision" {
        "asking.rs": "ranked.sort_by(|a, b| b.1.total_cmp(&a.1));" => "ranked.retain(|(_, p)| *p < 0.5);";
    }
    // The next run on the same tab.
    "forget-the-unknown": "the next run may do again what may have been done" {
        "navigator.rs": "                progress.is_unknown(ActionKey::new(action.operation(), action.target()));
" => "                let _ = action;
";
    }
    "forget-dead-ends": "the next run is offered what led nowhere" {
        "progress.rs": "            dead_addresses: self.dead_addresses.clone(),
" => "";
    }
    "forget-rejections": "the next run is offered what was refused on the same document" {
        "progress.rs": "            rejected: self.rejected.clone(),
" => "";
    }
    "forget-the-history": "the next run is told nothing of this one" {
        "navigator.rs": "[self.earlier.as_slice(), self.history.as_slice()].concat()" => "self.earlier.to_vec()";
    }
    "forget-a-late-receipt": "a receipt at the end of the budget changes nothing for the next run" {
        "navigator/dispatching.rs": "                if let Some(acted) = self.land_receipt(receipt) {
                    self.remember_unseen(acted);
                }
" => "                self.settle_receipt(receipt);
";
    }
    "forget-a-step-cut-off": "an action whose result was never looked at is not told" {
        "navigator/closing.rs": "            let acted = acted.clone();
            self.remember_unseen(acted);
" => "            let _ = acted;
";
    }
    "undo-the-host": "going back is offered although the host went elsewhere by itself" {
        "carried.rs": "        self.back_depth = 0;
" => "";
    }
    // Answers.
    "answers-by-kind": "an answer of the right kind is taken whatever its id" {
        "navigator/phase.rs": ".is_some_and(|flight| flight.effect == id)" => ".is_some_and(|flight| flight.effect.0 > 0 || flight.effect == id)";
    }
    "answers-unchecked": "a judge's answer is not checked" {
        "proposal.rs": "        check(ask, &decision)?;
" => "";
    }
    "any-sum": "probabilities may sum to anything" {
        "proposal.rs": "if sum - 1.0 > SUM_OVER || 1.0 - sum > sum_under(*options) {" => "if sum - 1.0 > SUM_OVER + 1e9 || 1.0 - sum > sum_under(*options) {";
    }
    "trust-the-scope": "a snapshot of someone else's tab is used" {
        "navigator/observing.rs": "if snapshot.scope != self.contract.scope {" => "if snapshot.scope.user().is_empty() {";
    }
    "trust-the-address": "a page outside the allow-list is used" {
        "navigator/observing.rs": "if !self.contract.access.allows_text(&snapshot.url) {" => "if snapshot.url.is_empty() {";
    }
    "blocked-at-once": "BLOCKED ends the run without a second look" {
        "navigator/judging.rs": "Operation::Blocked => return self.observe(Look::Blocked(acted))," => "Operation::Blocked => return self.end(Status::Blocked, None),";
    }
    "blocked-on-another-page": "BLOCKED stands although the page changed" {
        "navigator/observing.rs": "        if *snapshot.version() == acted.version {
            self.end_after" => "        if !snapshot.version().as_str().is_empty() {
            self.end_after";
    }
    // Ends.
    "never-close": "a session that was opened is not closed" {
        "navigator/closing.rs": "        self.begin_ending(ending);
        self.emit_close();" => "        self.begin_ending(ending);
        self.finish();";
    }
    "ignore-cancel": "a cancel is not heard" {
        "navigator.rs": "Input::Cancel => self.cancel()," => "Input::Cancel => {}";
    }
    "ignore-a-lost-session": "a session that is gone is not missed" {
        "navigator.rs": "Input::SessionLost(error) => self.session_lost(error)," => "Input::SessionLost(_) => {}";
    }
    "end-twice": "a session lost while the run closes ends it again" {
        "navigator.rs": "Phase::Closing(_) | Phase::Closed => self.record(Event::Ignored(None, \"SessionLost\"))," => "Phase::Closing(_) | Phase::Closed => self.close_session(Ending { status: Status::SessionError, cause: None }),";
    }
    "the-budget-is-a-wish": "the clock is not looked at" {
        "navigator.rs": "if self.now >= self.budget_end() && self.phase.is_running() {" => "if self.now >= self.budget_end().after(std::time::Duration::from_secs(3600)) && self.phase.is_running() {";
    }
    "waits-for-ever": "the bound of a wait is not looked at" {
        "navigator.rs": "Phase::Waiting { flight, .. } if self.now >= flight.since.after(WAIT_BOUND) => {" => "Phase::Waiting { flight, .. } if self.now >= flight.since.after(WAIT_BOUND * 1_000) => {";
    }
    "closes-for-ever": "the grace of a close is not looked at" {
        "navigator.rs": "Phase::Closing(closing) if self.now >= closing.give_up => self.give_up_closing()," => "Phase::Closing(closing) if self.now >= closing.give_up.after(WAIT_BOUND * 1_000) => self.give_up_closing(),";
    }
    "a-closed-run-listens": "a closed run still takes time and inputs" {
        "navigator.rs": "        if self.is_closed() {
            self.record" => "        if self.is_closed() && self.contract.budget.is_zero() {
            self.record";
    }
    "close-twice": "a cancel during closing closes again" {
        "navigator.rs": "Phase::Closing(_) | Phase::Closed => self.record(Event::Ignored(None, \"Cancel\"))," => "Phase::Closing(_) => self.close_late_session(),
            Phase::Closed => {}";
    }
    "leave-a-foreign-session-open": "a session of someone else is not closed" {
        "navigator/opening.rs": "        self.close_session(Ending {
            status,
            cause: None,
        });" => "        self.end_without_session(Ending {
            status,
            cause: None,
        });";
    }
    "leave-a-late-session-open": "a session that opens after the end is not closed" {
        "navigator/opening.rs": "                self.close_late_session();
" => "                self.finish();
";
    }
    "shadow-shows-the-clock": "SHADOW returns TIMEOUT when the judge takes too long" {
        "navigator.rs": "            // What SHADOW returns is what OFF returns, however long the judge takes.
            Phase::Judging { .. } if self.contract.mode == Mode::Shadow => {" => "            Phase::Judging { .. } if self.contract.mode == Mode::Off => {";
    }
    "shadow-shows-the-judge": "SHADOW returns JUDGE_ERROR when the judge fails" {
        "navigator/judging.rs": "            Mode::Shadow => self.end(Status::Observed, None),
            Mode::Off | Mode::Enforce => {
                self.end(Status::JudgeError" => "            Mode::Off => self.end(Status::Observed, None),
            Mode::Shadow | Mode::Enforce => {
                self.end(Status::JudgeError";
    }
    "telemetry-shows-names": "telemetry repeats a judge's name whatever it says" {
        "telemetry.rs": "if fits { name } else { \"other\" }.to_owned()" => "if fits || !name.is_empty() { name } else { \"other\" }.to_owned()";
    }
    "roll-dice": "two navigators number their effects differently" {
        "navigator.rs": "            last_effect: 0," => "            last_effect: std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0) % 1_000,";
    }
};

#[cfg(test)]
mod tests {
    use super::MUTANTS;
    use crate::repo;

    /// The list changes with the code: a fault whose place is gone tests nothing.
    #[test]
    fn every_fault_has_its_place_in_the_code() {
        for mutant in MUTANTS {
            for edit in mutant.edits {
                let path = repo::root().join("crates/jev-core/src").join(edit.file);
                let text = std::fs::read_to_string(&path).unwrap();
                let count = text.matches(edit.from).count();
                assert_eq!(
                    count, 1,
                    "{}: `{}` in {}",
                    mutant.name, edit.from, edit.file
                );
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = MUTANTS.iter().map(|mutant| mutant.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), MUTANTS.len());
        assert!(names.len() >= 25);
    }
}
