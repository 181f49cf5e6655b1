//! Bounds of a run: every number a host may set, its default and its range.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::contract::ContractError;

/// One bound's name, default and range. The code has these numbers from here alone; where documents
/// and the command line's help repeat them, a test compares.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The field's name in configuration, errors and documents.
    pub field: &'static str,
    /// The value when nothing is said.
    pub default: u32,
    /// The smallest allowed value.
    pub min: u32,
    /// The largest allowed value.
    pub max: u32,
}

impl Bound {
    const fn new(field: &'static str, default: u32, min: u32, max: u32) -> Self {
        Self {
            field,
            default,
            min,
            max,
        }
    }

    /// Whether `value` is in range.
    ///
    /// # Errors
    /// [`ContractError::OutOfRange`] naming the field and the range.
    pub const fn check(&self, value: u32) -> Result<(), ContractError> {
        if value < self.min || value > self.max {
            return Err(ContractError::OutOfRange {
                field: self.field,
                value: value as u64,
                min: self.min as u64,
                max: self.max as u64,
            });
        }
        Ok(())
    }
}

/// Judged steps.
pub const STEPS: Bound = Bound::new("limits.steps", 8, 1, 64);
/// Stale pages in a row.
pub const STALE: Bound = Bound::new("limits.stale", 2, 0, 8);
/// Actions in a row without a new page state.
pub const NO_PROGRESS: Bound = Bound::new("limits.no_progress", 3, 1, 8);
/// Waits in a row that brought nothing.
pub const WAITS: Bound = Bound::new("limits.waits", 3, 1, 8);
/// Recoveries.
pub const RECOVERIES: Bound = Bound::new("limits.recoveries", 2, 0, 8);
/// Characters of one serialised judge request.
pub const STATE_CHARS: Bound = Bound::new("limits.state_chars", 32_000, 100, 100_000);
/// Candidates in one question.
pub const CANDIDATES: Bound = Bound::new("limits.candidates", 128, 1, 254);

/// The run's time budget when nothing is said.
pub const BUDGET: Duration = Duration::from_secs(10);
/// The shortest budget.
pub const BUDGET_MIN: Duration = Duration::from_millis(1);
/// The longest budget of the tool.
pub const BUDGET_MAX_TOOL: Duration = Duration::from_secs(30);
/// The longest budget of a host's own call.
pub const BUDGET_MAX_HOST: Duration = Duration::from_secs(600);
/// How long closing may take, outside the budget.
pub const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// How long one WAIT waits for a change at most.
pub const WAIT_BOUND: Duration = Duration::from_millis(1_500);

/// Counters that bound a run. See the constants of this module for defaults and ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Judged steps.
    pub steps: u32,
    /// Stale pages in a row before giving up; a successful dispatch resets the count.
    pub stale: u32,
    /// Non-WAIT actions in a row that led to no new page state.
    pub no_progress: u32,
    /// WAITs in a row that brought nothing new.
    pub waits: u32,
    /// Refused DONE claims, rejected actions and failed targets that may be tried around.
    pub recoveries: u32,
    /// Characters of one serialised judge request (state and questions).
    pub state_chars: u32,
    /// Candidates offered in one question.
    pub candidates: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: STEPS.default,
            stale: STALE.default,
            no_progress: NO_PROGRESS.default,
            waits: WAITS.default,
            recoveries: RECOVERIES.default,
            state_chars: STATE_CHARS.default,
            candidates: CANDIDATES.default,
        }
    }
}

impl Limits {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first field out of range.
    pub fn check(&self) -> Result<(), ContractError> {
        STEPS.check(self.steps)?;
        STALE.check(self.stale)?;
        NO_PROGRESS.check(self.no_progress)?;
        WAITS.check(self.waits)?;
        RECOVERIES.check(self.recoveries)?;
        STATE_CHARS.check(self.state_chars)?;
        CANDIDATES.check(self.candidates)
    }
}
