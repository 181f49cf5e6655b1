//! The liveness invariants L1 to L3, asked when a run is over or should be.

use std::time::Duration;

use jev_core::contract::Mode;
use jev_core::limits::CLOSE_GRACE;
use jev_core::navigator::PhaseName;
use jev_core::status::Status;
use jev_core::time::Timestamp;

use super::invariants::Verdict;
use super::mix::Kind;
use super::witness::Witness;

/// What a run's end is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// The kind of its world.
    pub kind: Kind,
    /// Inputs that were handled.
    pub inputs: u32,
    /// Inputs that nobody asked for: foreign answers, odd ticks, doubles.
    pub unasked: u32,
    /// Whether every timer fired in time.
    pub prompt: bool,
}

/// A liveness invariant.
pub type Liveness = fn(&Witness, &Course) -> Verdict;

/// The liveness invariants with their names.
pub const LIVENESS: [(&str, Liveness); 3] = [("L1", l1), ("L2", l2), ("L3", l3)];

/// How much longer than its grace a close is waited for, as the navigator's own documentation says.
const CLOSE_SLACK: Duration = Duration::from_secs(1);

/// With an honest judge, a prompt verifier and ample limits, a reachable answer is VERIFIED.
pub fn l1(w: &Witness, course: &Course) -> Verdict {
    let honest = course.kind == Kind::Honest && w.contract.mode == Mode::Enforce;
    match w.status {
        _ if !honest => Ok(()),
        Some(Status::Verified(_)) => Ok(()),
        Some(_) | None => Err("an honest world with a reachable answer was not VERIFIED"),
    }
}

/// A silent world ends by budget.
pub fn l2(w: &Witness, course: &Course) -> Verdict {
    if course.kind != Kind::Silent {
        return Ok(());
    }
    if w.phase != PhaseName::Closed {
        return Err("a silent world did not end");
    }
    // One close may begin at the end of the budget, or an open be answered after it.
    let last = Timestamp::since_start(w.contract.budget).after(2 * (CLOSE_GRACE + CLOSE_SLACK));
    if course.prompt && w.now > last {
        return Err("a silent world ended long after its budget");
    }
    Ok(())
}

/// Once faults stop, a terminal status is reached within a bound.
pub fn l3(w: &Witness, course: &Course) -> Verdict {
    if w.phase != PhaseName::Closed {
        return Err("no terminal status was reached");
    }
    // A step is at most two questions, one action or wait and its look, and after that, or after
    // a claim's look, verdicts with their last looks until the page holds still.
    let limits = &w.contract.limits;
    let bound = 8 + (limits.steps + 1) * (5 + 2 * (limits.stale + 2));
    if course.inputs - course.unasked.min(course.inputs) > bound {
        return Err("the run took more inputs than its limits allow");
    }
    Ok(())
}
