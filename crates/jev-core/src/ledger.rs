//! The ledger: what a run has spent, charged before the effect, and where its time went.

use std::time::Duration;

use serde::Serialize;

use crate::limits::Limits;
use crate::question::Usage;

/// What one run has spent. No figure exceeds its limit; the totals never fall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// Judged steps.
    pub steps: u32,
    /// Recoveries.
    pub recoveries: u32,
    /// Stale pages in a row, now.
    pub stale: u32,
    /// Actions in a row without a new page state, now.
    pub no_progress: u32,
    /// Waits in a row that brought nothing, now.
    pub waits: u32,
    /// Verifications made again because the page had moved, since the judge was last asked.
    pub rebinds: u32,
    /// Requests to the judge.
    pub judge_calls: u32,
    /// Permits handed out.
    pub permits: u32,
    /// Looks at the page.
    pub observations: u32,
    /// Verifications.
    pub verifications: u32,
    /// Tokens.
    pub usage: Usage,
}

/// Which counter ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

impl Spent {
    fn charge(counter: &mut u32, limit: u32) -> Result<(), Exhausted> {
        if *counter >= limit {
            return Err(Exhausted);
        }
        *counter += 1;
        Ok(())
    }

    pub(crate) fn charge_step(&mut self, limits: &Limits) -> Result<(), Exhausted> {
        Self::charge(&mut self.steps, limits.steps)
    }

    pub(crate) fn charge_recovery(&mut self, limits: &Limits) -> Result<(), Exhausted> {
        Self::charge(&mut self.recoveries, limits.recoveries)
    }

    pub(crate) fn charge_stale(&mut self, limits: &Limits) -> Result<(), Exhausted> {
        Self::charge(&mut self.stale, limits.stale)
    }

    pub(crate) fn charge_rebind(&mut self, limits: &Limits) -> Result<(), Exhausted> {
        Self::charge(&mut self.rebinds, limits.stale)
    }

    /// Counts an action without progress; at the limit the run ends.
    pub(crate) fn charge_no_progress(&mut self, limits: &Limits) -> Result<(), Exhausted> {
        Self::charge_up_to(&mut self.no_progress, limits.no_progress)
    }

    /// Counts a wait that brought nothing; at the limit the run ends.
    pub(crate) fn charge_wait(&mut self, limits: &Limits) -> Result<(), Exhausted> {
        Self::charge_up_to(&mut self.waits, limits.waits)
    }

    fn charge_up_to(counter: &mut u32, limit: u32) -> Result<(), Exhausted> {
        *counter = (*counter + 1).min(limit);
        if *counter == limit {
            Err(Exhausted)
        } else {
            Ok(())
        }
    }
}

/// Where the time went, summed over effects of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Timings {
    /// Opening the session, start page included.
    pub open: Duration,
    /// Coming to rest and reading.
    pub observe: Duration,
    /// Waiting for the judge.
    pub judge: Duration,
    /// Dispatching and waiting.
    pub act: Duration,
    /// Verifying.
    pub verify: Duration,
    /// Closing.
    pub close: Duration,
}
