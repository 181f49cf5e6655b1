//! The safety invariants S1 to S17 of the contract of behaviour, one function each, asked after
//! every step. `docs/invariants.md` lists them; `cargo xtask tidy` checks that it does.

use jev_core::contract::Mode;
use jev_core::navigator::PhaseName;
use jev_core::question::Usage;
use jev_core::status::Status;

use super::liveness;
use super::site::MARK;
use super::witness::Witness;

/// What an invariant says: nothing, or how it is broken.
pub type Verdict = Result<(), &'static str>;

/// An invariant.
pub type Invariant = fn(&Witness) -> Verdict;

/// The safety invariants with their names.
pub const SAFETY: [(&str, Invariant); 21] = [
    ("S1", s1),
    ("S2", s2),
    ("S3", s3),
    ("S4", s4),
    ("S5", s5),
    ("S6", s6),
    ("S7", s7),
    ("S8", s8),
    ("S9", s9),
    ("S10", s10),
    ("S11", s11),
    ("S12", s12),
    ("S13", s13),
    ("S14", s14),
    ("S15", s15),
    ("S16", s16),
    ("S17", s17),
    ("E1", e1),
    ("E2", e2),
    ("E3", e3),
    ("E4", e4),
];

/// Every invariant's name: the safety invariants, then the liveness invariants.
pub fn invariant_names() -> Vec<&'static str> {
    SAFETY
        .iter()
        .map(|(name, _)| *name)
        .chain(liveness::LIVENESS.iter().map(|(name, _)| *name))
        .collect()
}

#[expect(
    clippy::fn_params_excessive_bools,
    reason = "an assertion takes what it asserts"
)]
fn hold(holds: bool, otherwise: &'static str) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise) }
}

/// VERIFIED only with a passed verdict with evidence for this goal, re-seen after it was made.
pub fn s1(w: &Witness) -> Verdict {
    match w.step.ended {
        Some((Status::Verified(_), _)) => hold(
            w.reference.verified_now,
            "VERIFIED although no evidence for this goal was just seen again",
        ),
        Some(_) | None => Ok(()),
    }
}

/// A judge alone can never yield VERIFIED.
pub fn s2(w: &Witness) -> Verdict {
    let verified = matches!(w.status, Some(Status::Verified(_)));
    hold(
        !verified || w.reference.passed_ever,
        "VERIFIED although the verifier never passed anything",
    )
}

/// An intent is dispatched at most once, and nothing is dispatched after an unknown outcome.
pub fn s3(w: &Witness) -> Verdict {
    if let Some(dispatched) = &w.step.dispatched {
        hold(!dispatched.repeated, "an intent was dispatched twice")?;
        hold(
            !dispatched.after_unknown,
            "something was dispatched after an outcome that is not known",
        )?;
    }
    hold(
        !w.unpermitted,
        "an action reached the page without a permit of its own, or twice",
    )
}

/// No dispatch against a target other than the one judged.
pub fn s4(w: &Witness) -> Verdict {
    match &w.step.dispatched {
        Some(dispatched) => hold(
            dispatched.as_judged,
            "a permit differs from what the judge chose on the page that was judged",
        ),
        None => Ok(()),
    }
}

/// No dispatch in OFF or SHADOW.
pub fn s5(w: &Witness) -> Verdict {
    hold(
        w.contract.mode == Mode::Enforce || w.step.dispatched.is_none(),
        "something was dispatched in OFF or SHADOW",
    )
}

/// No dispatch after close, cancel, timeout or a terminal status.
pub fn s6(w: &Witness) -> Verdict {
    match &w.step.dispatched {
        Some(dispatched) => hold(
            !dispatched.stopped,
            "something was dispatched after the run was told to stop",
        ),
        None => Ok(()),
    }
}

/// Spend never exceeds a limit, is charged before the effect, never falls.
pub fn s7(w: &Witness) -> Verdict {
    let (spent, before, limits) = (&w.spent, &w.step.spent_before, &w.contract.limits);
    hold(
        spent.steps <= limits.steps
            && spent.recoveries <= limits.recoveries
            && spent.stale <= limits.stale
            && spent.rebinds <= limits.stale
            && spent.no_progress <= limits.no_progress
            && spent.waits <= limits.waits,
        "more was spent than a limit allows",
    )?;
    hold(
        spent.steps >= before.steps
            && spent.recoveries >= before.recoveries
            && spent.judge_calls >= before.judge_calls
            && spent.permits >= before.permits
            && spent.observations >= before.observations
            && spent.verifications >= before.verifications
            && spent.usage.input_tokens >= before.usage.input_tokens
            && spent.usage.output_tokens >= before.usage.output_tokens,
        "a total fell",
    )?;
    hold(
        spent.steps == w.reference.steps
            && spent.judge_calls == w.questions
            && spent.observations == w.observes
            && spent.verifications == w.verifies
            && usize::try_from(spent.permits) == Ok(w.intents.len())
            && spent.recoveries == w.recoveries,
        "an effect went out that was not charged, or was charged twice",
    )?;
    hold(
        !w.step.asked_past_limit && !w.step.verified_past_limit,
        "the run went on although a limit was used up",
    )?;
    hold(
        !w.step.oversized,
        "a question is larger than its limits allow",
    )?;
    hold(
        spent.usage.input_tokens == w.reference.tokens,
        "the tokens are not those of the answers",
    )?;
    if let Some((report, _)) = &w.reports {
        let mut of_steps = Usage::default();
        report
            .steps
            .iter()
            .for_each(|step| of_steps.add(step.usage));
        hold(
            of_steps == spent.usage,
            "the tokens of the steps are not those of the run",
        )?;
    }
    hold(
        w.status.is_some() || spent.stale == w.reference.stale.min(limits.stale),
        "the count of stale pages is not the world's",
    )
}

/// Every intent ends in exactly one receipt, UNKNOWN included, at any cancellation point.
pub fn s8(w: &Witness) -> Verdict {
    hold(
        !w.step.wrong_receipt,
        "a receipt was written that is not what the world said",
    )?;
    for (number, &(sent, receipts)) in (1_u64..).zip(&w.intents) {
        let open = w.in_flight.is_some_and(|intent| intent.0 == number);
        hold(
            sent == 0 || receipts == u32::from(!open),
            "an intent has no receipt, or more than one",
        )?;
    }
    hold(
        w.status.is_none() || w.in_flight.is_none(),
        "the run ended with an intent without a receipt",
    )?;
    let Some((report, _)) = &w.reports else {
        return Ok(());
    };
    let all = report
        .steps
        .iter()
        .all(|step| step.intent.is_some() == step.receipt.is_some());
    let counted = report.steps.iter().filter(|step| step.intent.is_some());
    hold(
        all && counted.count() == w.intents.len(),
        "the report's receipts are not the run's",
    )
}

/// At most one dispatch in flight.
pub fn s9(w: &Witness) -> Verdict {
    match &w.step.dispatched {
        Some(dispatched) => hold(!dispatched.second, "two dispatches were in flight"),
        None => Ok(()),
    }
}

/// Late, duplicate or foreign replies change nothing.
pub fn s10(w: &Witness) -> Verdict {
    hold(
        !w.step.foreign
            || (w.step.state_before == w.step.state_after
                && w.step.before == Some(w.phase)
                && w.step.spent_before == w.spent
                && w.step.effects == 0
                && w.step.events == 0),
        "an answer that was not due, or a tick that was not due, changed something",
    )
}

/// A terminal state absorbs.
pub fn s11(w: &Witness) -> Verdict {
    let closing = matches!(w.step.before, Some(PhaseName::Closing | PhaseName::Closed));
    hold(
        !closing || w.step.ended.is_none(),
        "a run that had ended ended again",
    )?;
    hold(
        !closing || matches!(w.phase, PhaseName::Closing | PhaseName::Closed),
        "a run that had ended went on",
    )?;
    hold(
        w.step.before != Some(PhaseName::Closed)
            || (w.phase == PhaseName::Closed && w.step.effects == 0 && w.step.events == 0),
        "a closed run did something",
    )?;
    match &w.reports {
        Some((first, last)) => hold(first == last, "the report of a closed run changed"),
        None => Ok(()),
    }
}

/// Not terminal implies something is in flight or a timer is armed, and a timer that fired is not
/// armed for the same moment again.
pub fn s12(w: &Witness) -> Verdict {
    if w.phase == PhaseName::Closed {
        return hold(w.wakes.is_none(), "a closed run has a timer");
    }
    let Some(wakes) = w.wakes else {
        return Err("a run that is not over has no timer");
    };
    hold(
        w.outstanding.is_some() || w.phase == PhaseName::Closing,
        "a run that is not over waits for nothing",
    )?;
    hold(
        w.step.timer.is_none() || wakes > w.now,
        "a timer fired and is still due",
    )
}

/// Same inputs, same trace.
pub fn s13(w: &Witness) -> Verdict {
    hold(
        !w.step.twin_differs,
        "a second navigator did something else with the same inputs",
    )
}

/// Every action was among those offered for that snapshot and allowed by policy and gate.
pub fn s14(w: &Witness) -> Verdict {
    if let Some(bad) = w.step.bad_offer {
        return Err(bad);
    }
    match &w.step.dispatched {
        Some(dispatched) => {
            hold(
                dispatched.lawful,
                "an action was dispatched that was not offered or is not allowed",
            )?;
            hold(
                dispatched.strong,
                "an action was dispatched that did not pass the gate",
            )
        }
        None => Ok(()),
    }
}

/// What the tool returns in SHADOW is what it returns in OFF.
pub fn s15(w: &Witness) -> Verdict {
    match (&w.reports, &w.off_output) {
        (Some((report, _)), Some(off)) if w.contract.mode == Mode::Shadow => hold(
            report.tool_output() == *off || report.status == Status::Cancelled,
            "SHADOW returns something else than OFF",
        ),
        (Some(_) | None, Some(_) | None) => Ok(()),
    }
}

/// No telemetry record holds page or goal content.
pub fn s16(w: &Witness) -> Verdict {
    hold(
        !w.telemetry.contains(MARK) && !w.telemetry.contains("http"),
        "a telemetry record holds something of the page, the goal or the scope",
    )
}

/// Close happens exactly once per opened session.
pub fn s17(w: &Witness) -> Verdict {
    hold(
        w.closes <= w.opened && w.opened <= 1,
        "a close for which there is no session",
    )?;
    if w.phase != PhaseName::Closed {
        return Ok(());
    }
    hold(
        w.closes == w.opened,
        "a session that was opened was not closed",
    )?;
    match &w.reports {
        Some((report, _)) => hold(
            report.close.is_some() || w.opened == 0,
            "the report does not say how closing went",
        ),
        None => Ok(()),
    }
}

/// A run ends in a status only when the world gave cause for it, and at once when it leaves no
/// choice.
pub fn e1(w: &Witness) -> Verdict {
    if let Some((_, allowed)) = w.step.ended {
        hold(
            allowed,
            "the run ended in a status for which there was no cause",
        )?;
    }
    hold(
        w.status.is_some() || !w.reference.must_end(),
        "the run went on although it had to end",
    )
}

/// The judge is asked only about pages that the verifier has refused, or was given and could not
/// judge since the last look, where pages are verified first.
pub fn e2(w: &Witness) -> Verdict {
    hold(
        !w.step.unverified,
        "the judge was asked about a page that the verifier has not looked at",
    )
}

/// A run gives up only on a page that the verifier has looked at.
pub fn e3(w: &Witness) -> Verdict {
    let gives_up = match w.step.ended {
        Some((
            Status::Abstain
            | Status::Blocked
            | Status::Rejected
            | Status::StaleLimit
            | Status::NoProgress
            | Status::StepLimit
            | Status::LoadingTimeout
            | Status::StateLimit
            | Status::Unverified,
            _,
        )) => w.contract.mode == Mode::Enforce,
        Some((
            Status::Verified(_)
            | Status::VerificationStale
            | Status::Observed
            | Status::Unknown
            | Status::Timeout
            | Status::JudgeError
            | Status::LeftScope
            | Status::ScopeMismatch
            | Status::SessionError
            | Status::Cancelled,
            _,
        ))
        | None => false,
    };
    hold(
        !gives_up || w.front_was_verified(),
        "the run gave up on a page that the verifier has not looked at",
    )
}

/// The next run on the same tab is told every action of the earlier ones.
pub fn e4(w: &Witness) -> Verdict {
    match w.told_on {
        Some((told, acted)) => hold(told == acted, "the next run is not told of an action"),
        None => Ok(()),
    }
}
