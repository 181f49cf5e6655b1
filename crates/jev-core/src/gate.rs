//! The gate: when a choice is strong enough to act on.

use serde::{Deserialize, Serialize};

use crate::contract::ContractError;

/// The statistic that is compared with the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateKind {
    /// The probability of the chosen option.
    Probability,
    /// p1 / (p1 + p2): does not shrink with the number of options, suits judges that rank.
    Share,
}

/// A statistic and its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "GateParts")]
pub struct Gate {
    kind: GateKind,
    threshold: f64,
}

/// A gate as it is written, before it is checked.
#[derive(Deserialize)]
struct GateParts {
    kind: GateKind,
    threshold: f64,
}

impl TryFrom<GateParts> for Gate {
    type Error = ContractError;

    fn try_from(parts: GateParts) -> Result<Self, ContractError> {
        Self::new(parts.kind, parts.threshold)
    }
}

/// The lowest threshold a host may set.
pub const THRESHOLD_MIN: f64 = 0.55;
/// The highest threshold a host may set.
pub const THRESHOLD_MAX: f64 = 1.0;
/// Jev rounds to two decimals; a threshold of 0.8 must accept a sum of floats that prints as 0.8.
const SLACK: f64 = 1e-9;

impl Gate {
    /// A gate.
    ///
    /// # Errors
    /// [`ContractError::Threshold`] for a number outside 0.55..=1, NaN included.
    pub fn new(kind: GateKind, threshold: f64) -> Result<Self, ContractError> {
        if (THRESHOLD_MIN..=THRESHOLD_MAX).contains(&threshold) {
            Ok(Self { kind, threshold })
        } else {
            Err(ContractError::Threshold { value: threshold })
        }
    }

    /// The command line's default for judges that decide: probability 0.8.
    #[must_use]
    pub const fn deciding() -> Self {
        Self {
            kind: GateKind::Probability,
            threshold: 0.8,
        }
    }

    /// The command line's default for judges that rank (embedded, lexical): share 0.55.
    #[must_use]
    pub const fn ranking() -> Self {
        Self {
            kind: GateKind::Share,
            threshold: THRESHOLD_MIN,
        }
    }

    /// The kind.
    #[must_use]
    pub const fn kind(&self) -> GateKind {
        self.kind
    }

    /// The threshold.
    #[must_use]
    pub const fn threshold(&self) -> f64 {
        self.threshold
    }

    /// The statistic of a choice: of its chosen probability and the best of the others.
    #[must_use]
    pub fn statistic(&self, chosen: f64, runner_up: f64) -> f64 {
        match self.kind {
            GateKind::Probability => chosen,
            GateKind::Share if chosen + runner_up > 0.0 => chosen / (chosen + runner_up),
            GateKind::Share => 0.0,
        }
    }

    /// Whether a statistic passes.
    #[must_use]
    pub fn passes(&self, statistic: f64) -> bool {
        statistic + SLACK >= self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_have_a_range_and_nan_is_outside() {
        for bad in [0.3, 0.549, 1.01, f64::NAN, f64::INFINITY] {
            assert!(Gate::new(GateKind::Probability, bad).is_err(), "{bad}");
        }
        for good in [0.55, 0.8, 1.0] {
            assert!(Gate::new(GateKind::Share, good).is_ok(), "{good}");
        }
    }

    #[test]
    fn share_does_not_shrink_with_options_and_probability_does() {
        let share = Gate::ranking();
        assert!(share.passes(share.statistic(0.06, 0.04)));
        assert!(!share.passes(share.statistic(0.05, 0.05)));
        assert!(!share.passes(share.statistic(0.0, 0.0)));
        let probability = Gate::deciding();
        assert!(probability.passes(probability.statistic(0.1 + 0.7, 0.1)));
        assert!(!probability.passes(probability.statistic(0.79, 0.0)));
    }
}
