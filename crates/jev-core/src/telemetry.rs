//! Telemetry: the two records a host may keep of every run. They say what happened and what it
//! cost, and hold nothing of the page or of the goal.

use std::time::Duration;

use serde::Serialize;

use crate::action::Operation;
use crate::contract::Mode;
use crate::ports::JudgeIdentity;
use crate::proposal::GateResult;
use crate::question::Usage;
use crate::receipt::Receipt;
use crate::report::{Report, StepReport};
use crate::status::{Handoff, Status};

/// What a million tokens cost, in the host's currency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    input: f64,
    output: f64,
}

/// A price that is no price.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("price: {value} is not a finite number of zero or more")]
pub struct PriceError {
    /// The value given.
    pub value: f64,
}

impl Price {
    /// A price for a million input and a million output tokens.
    ///
    /// # Errors
    /// [`PriceError`] for a negative or unbounded number.
    pub fn per_million(input: f64, output: f64) -> Result<Self, PriceError> {
        for value in [input, output] {
            if !value.is_finite() || value < 0.0 {
                return Err(PriceError { value });
            }
        }
        Ok(Self { input, output })
    }

    /// What these tokens cost.
    #[must_use]
    pub fn of(&self, usage: Usage) -> f64 {
        const MILLION: f64 = 1e6;
        (usage.input_tokens as f64 * self.input + usage.output_tokens as f64 * self.output)
            / MILLION
    }
}

/// Both kinds of record.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum TelemetryRecord {
    /// One judged step.
    BrowserAction(BrowserAction),
    /// One run.
    BrowserTask(BrowserTask),
}

/// What became of one judged step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ActionStatus {
    /// Dispatched and confirmed.
    Applied,
    /// The page had moved on; not dispatched.
    Stale,
    /// Refused; not dispatched.
    Rejected,
    /// Outcome not known.
    Unknown,
    /// DONE or BLOCKED, which are claims and dispatch nothing.
    Claimed,
    /// Waited for a change.
    Waited,
    /// Too weak to act on, or `none`.
    Abstained,
    /// Recorded only (SHADOW), or the run ended before anything came of it.
    Proposed,
    /// The judge failed.
    JudgeError,
    /// The run ended while the judge was asked.
    Unanswered,
}

/// Who judged, as the host configured it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JudgeName {
    /// The judge.
    pub name: String,
    /// The model asked for.
    pub model: Option<String>,
}

impl JudgeName {
    fn of(identity: &JudgeIdentity) -> Self {
        Self {
            name: plain(&identity.name),
            model: identity.model.as_deref().map(plain),
        }
    }
}

/// A name is short and of few characters, or it is not shown: free text has no place here.
fn plain(name: &str) -> String {
    let fits = name.len() <= 80
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._:/@+-".contains(c));
    if fits { name } else { "other" }.to_owned()
}

/// `browser_action`: one judged step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BrowserAction {
    /// How far the run was to go.
    pub mode: Mode,
    /// What became of the step.
    pub status: ActionStatus,
    /// What the judge chose; none when it failed.
    pub operation: Option<Operation>,
    /// Who judged.
    pub judge: JudgeName,
    /// Tokens of the step's requests: narrowings and void answers included.
    pub usage: Usage,
    /// Their cost, where a price is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Judging, and acting or waiting, in milliseconds.
    pub elapsed_ms: u64,
}

/// How many receipts of each kind a run had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReceiptCounts {
    /// Dispatched and confirmed.
    pub applied: u32,
    /// Not dispatched: the page had moved on.
    pub stale: u32,
    /// Not dispatched: refused.
    pub rejected: u32,
    /// Outcome not known.
    pub unknown: u32,
}

/// `browser_task`: one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BrowserTask {
    /// How far it was to go.
    pub mode: Mode,
    /// Why it stopped.
    pub status: Status,
    /// What the host should do next.
    pub handoff: Handoff,
    /// Who judged.
    pub judge: JudgeName,
    /// Judged steps.
    pub steps: u32,
    /// Receipts.
    pub receipts: ReceiptCounts,
    /// Tokens of all requests.
    pub usage: Usage,
    /// Their cost, where a price is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// From the first input to the end of closing, in milliseconds.
    pub elapsed_ms: u64,
}

/// The records of a run: one a judged step, then one for the whole.
#[must_use]
pub fn telemetry(
    report: &Report,
    judge: &JudgeIdentity,
    price: Option<&Price>,
) -> Vec<TelemetryRecord> {
    let judge = JudgeName::of(judge);
    let mut receipts = ReceiptCounts::default();
    let mut records = Vec::with_capacity(report.steps.len() + 1);
    for step in &report.steps {
        match step.receipt {
            Some(Receipt::Applied(_)) => receipts.applied += 1,
            Some(Receipt::Stale(_)) => receipts.stale += 1,
            Some(Receipt::Rejected(_)) => receipts.rejected += 1,
            Some(Receipt::Unknown(_)) => receipts.unknown += 1,
            None => {}
        }
        let usage = step.usage;
        records.push(TelemetryRecord::BrowserAction(BrowserAction {
            mode: report.mode,
            status: status_of(step, report.mode),
            operation: step.proposal.as_ref().map(|proposal| proposal.operation),
            judge: judge.clone(),
            usage,
            cost: price.map(|price| price.of(usage)),
            elapsed_ms: ms(step.judge_time + step.act_time),
        }));
    }
    records.push(TelemetryRecord::BrowserTask(BrowserTask {
        mode: report.mode,
        status: report.status,
        handoff: report.handoff,
        judge,
        steps: report.spent.steps,
        receipts,
        usage: report.spent.usage,
        cost: price.map(|price| price.of(report.spent.usage)),
        elapsed_ms: ms(report.elapsed),
    }));
    records
}

fn status_of(step: &StepReport, mode: Mode) -> ActionStatus {
    let Some(proposal) = &step.proposal else {
        return match step.error {
            Some(_) => ActionStatus::JudgeError,
            None => ActionStatus::Unanswered,
        };
    };
    match step.receipt {
        Some(Receipt::Applied(_)) => return ActionStatus::Applied,
        Some(Receipt::Stale(_)) => return ActionStatus::Stale,
        Some(Receipt::Rejected(_)) => return ActionStatus::Rejected,
        Some(Receipt::Unknown(_)) => return ActionStatus::Unknown,
        None => {}
    }
    match (mode, proposal.gate, proposal.operation) {
        (Mode::Shadow | Mode::Off, _, _) => ActionStatus::Proposed,
        (Mode::Enforce, GateResult::Failed, _) | (Mode::Enforce, _, Operation::None) => {
            ActionStatus::Abstained
        }
        (Mode::Enforce, GateResult::Passed, Operation::Done | Operation::Blocked) => {
            ActionStatus::Claimed
        }
        (Mode::Enforce, GateResult::Passed, Operation::Wait) => ActionStatus::Waited,
        (
            Mode::Enforce,
            GateResult::Passed,
            Operation::Click
            | Operation::ScrollDown
            | Operation::ScrollUp
            | Operation::Back
            | Operation::Reload
            | Operation::Press(_),
        ) => ActionStatus::Proposed,
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::JudgeKind;

    #[test]
    fn a_price_is_a_number() {
        for (input, output) in [(-1.0, 0.0), (0.0, f64::NAN), (f64::INFINITY, 0.0)] {
            assert!(Price::per_million(input, output).is_err());
        }
        let price = Price::per_million(2.0, 10.0).unwrap();
        let cost = price.of(Usage {
            input_tokens: 500_000,
            output_tokens: 10_000,
        });
        assert!((cost - 1.1).abs() < 1e-12);
    }

    #[test]
    fn names_that_are_no_names_are_not_shown() {
        let identity = |name: &str, model: &str| JudgeIdentity {
            name: name.to_owned(),
            model: Some(model.to_owned()),
            kind: JudgeKind::Decides,
        };
        assert_eq!(
            JudgeName::of(&identity("systemone", "jev-1.0@2026")),
            JudgeName {
                name: "systemone".to_owned(),
                model: Some("jev-1.0@2026".to_owned())
            }
        );
        assert_eq!(
            JudgeName::of(&identity("a judge", &"x".repeat(81))),
            JudgeName {
                name: "other".to_owned(),
                model: Some("other".to_owned())
            }
        );
    }
}
