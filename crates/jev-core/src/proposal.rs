//! Proposals: what a judge's answer says to do, and whether it is strong enough. A proposal is
//! never authority: only the navigator turns one into a permit.

use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::action::Operation;
use crate::asking::Ask;
use crate::contract::Layout;
use crate::error::{AnswerFault, JudgeError};
use crate::gate::Gate;
use crate::question::{Answer, ChoiceAnswer, Decision};
use crate::snapshot::Candidate;

/// Whether the gate let a proposal pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateResult {
    /// Strong enough to act on.
    Passed,
    /// Too weak.
    Failed,
}

/// What the judge proposes.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// What to do.
    pub operation: Operation,
    /// The target of a click, as an index into the snapshot's candidates.
    pub(crate) target: Option<usize>,
    /// The chosen option's probability (of the weaker head when two were asked).
    pub p: f64,
    /// The gate's statistic (of the weaker head).
    pub statistic: f64,
    /// What the gate says.
    pub gate: GateResult,
    /// The whole answer.
    pub decision: Decision,
    ask: Arc<Ask>,
}

impl Proposal {
    /// Reads a decision back into the terms of what was asked.
    ///
    /// # Errors
    /// [`JudgeError::Protocol`] when the decision does not have the shape of the question: the
    /// judge's own validation is not taken on trust.
    pub(crate) fn read(
        ask: &Arc<Ask>,
        decision: Decision,
        gate: &Gate,
    ) -> Result<Self, JudgeError> {
        check(ask, &decision)?;
        let heads: Vec<&ChoiceAnswer> = choices(&decision);
        let candidates = ask.candidates.len();
        let at = |place: usize| ask.candidates.get(place).copied();
        let operation_at = |place: usize| {
            ask.operations
                .get(place)
                .copied()
                .unwrap_or(Operation::None)
        };
        let (operation, target, tops) = match (ask.layout, heads.as_slice()) {
            (Layout::Flat, [head]) => {
                let top = head.top().unwrap_or((usize::MAX, 0.0, 0.0));
                match at(top.0) {
                    Some(index) => (Operation::Click, Some(index), vec![top]),
                    None => (
                        operation_at(top.0.saturating_sub(candidates)),
                        None,
                        vec![top],
                    ),
                }
            }
            // Without candidates there is nothing to aim at, and only one head is asked.
            (Layout::TwoHead, [operation]) if candidates == 0 => {
                let chosen = operation.top().unwrap_or((usize::MAX, 0.0, 0.0));
                (operation_at(chosen.0), None, vec![chosen])
            }
            (Layout::TwoHead, [operation, target]) if candidates > 0 => {
                let chosen = operation.top().unwrap_or((usize::MAX, 0.0, 0.0));
                if chosen.0 == 0 {
                    let aim = target.top().unwrap_or((usize::MAX, 0.0, 0.0));
                    match at(aim.0) {
                        Some(index) => (Operation::Click, Some(index), vec![chosen, aim]),
                        None => (Operation::None, None, vec![chosen, aim]),
                    }
                } else {
                    // A target answered beside another operation has no power.
                    (operation_at(chosen.0 - 1), None, vec![chosen])
                }
            }
            (Layout::Flat | Layout::TwoHead, _) => return Err(fault(None, AnswerFault::Shape)),
        };
        let statistic = tops
            .iter()
            .map(|&(_, p, second)| gate.statistic(p, second))
            .fold(f64::INFINITY, f64::min);
        Ok(Self {
            operation,
            target,
            p: tops.iter().map(|top| top.1).fold(f64::INFINITY, f64::min),
            statistic,
            gate: if gate.passes(statistic) {
                GateResult::Passed
            } else {
                GateResult::Failed
            },
            decision,
            ask: Arc::clone(ask),
        })
    }

    /// The candidate that would be clicked.
    #[must_use]
    pub fn candidate(&self) -> Option<&Candidate> {
        self.ask.snapshot.candidates.get(self.target?)
    }

    /// What was asked.
    #[must_use]
    pub fn ask(&self) -> &Ask {
        &self.ask
    }

    /// How far the answers of several option orders lay apart, where more than one was asked: from 0
    /// to 1, of the question in which it is largest.
    #[must_use]
    pub fn order_disagreement(&self) -> Option<f64> {
        choices(&self.decision)
            .into_iter()
            .filter_map(|choice| choice.flags.order_disagreement)
            .reduce(f64::max)
    }

    /// Every option's name with its probability, most probable first, a list for each question.
    #[must_use]
    pub fn distributions(&self) -> Vec<Vec<(String, f64)>> {
        let candidates: Vec<String> = self
            .ask
            .candidates()
            .map(|candidate| candidate.id.to_string())
            .collect();
        let operations = self
            .ask
            .operations
            .iter()
            .map(|operation| operation.option_name().to_owned());
        let none = Operation::None.option_name().to_owned();
        let name_lists: Vec<Vec<String>> = match self.ask.layout {
            Layout::Flat => vec![
                candidates
                    .into_iter()
                    .chain(operations)
                    .chain([none])
                    .collect(),
            ],
            Layout::TwoHead => vec![
                (!candidates.is_empty())
                    .then(|| Operation::Click.option_name().to_owned())
                    .into_iter()
                    .chain(operations)
                    .collect(),
                candidates.into_iter().chain([none]).collect(),
            ],
        };
        name_lists
            .into_iter()
            .zip(choices(&self.decision))
            .map(|(names, choice)| {
                let mut pairs: Vec<(String, f64)> = names
                    .into_iter()
                    .zip(choice.probabilities.iter().copied())
                    .collect();
                pairs.sort_by(|a, b| b.1.total_cmp(&a.1));
                pairs
            })
            .collect()
    }
}

impl Serialize for Proposal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Proposal", 10)?;
        out.serialize_field("operation", &self.operation)?;
        out.serialize_field("target", &self.candidate().map(|candidate| &candidate.id))?;
        out.serialize_field("label", &self.candidate().map(|candidate| &candidate.label))?;
        out.serialize_field("p", &self.p)?;
        out.serialize_field("statistic", &self.statistic)?;
        out.serialize_field("gate", &self.gate)?;
        out.serialize_field("model", &self.decision.model)?;
        out.serialize_field("usage", &self.decision.usage)?;
        out.serialize_field("order_disagreement", &self.order_disagreement())?;
        out.serialize_field("distributions", &self.distributions())?;
        out.end()
    }
}

fn choices(decision: &Decision) -> Vec<&ChoiceAnswer> {
    decision
        .answers
        .iter()
        .filter_map(|answer| match answer {
            Answer::Choice(choice) => Some(choice),
            Answer::Noul { .. } | Answer::Score { .. } => None,
        })
        .collect()
}

fn fault(question: Option<usize>, fault: AnswerFault) -> JudgeError {
    JudgeError::Protocol {
        question: question.map(|number| format!("#{}", number + 1)),
        fault,
    }
}

/// How far the probabilities of a question may sum to more than 1. A judge has divided rounding
/// away already; mass above 1 would make a choice look stronger than it is.
const SUM_OVER: f64 = 0.05;

/// How far they may sum to less: half a unit of rounding to two decimals for each option.
fn sum_under(options: usize) -> f64 {
    f64::max(SUM_OVER, options as f64 * 0.005)
}

/// Whether a decision answers what was asked, number by number.
pub(crate) fn check(ask: &Ask, decision: &Decision) -> Result<(), JudgeError> {
    let shape = ask.shape();
    if shape.len() != decision.answers.len() {
        return Err(fault(None, AnswerFault::Missing));
    }
    for (number, (options, answer)) in shape.iter().zip(&decision.answers).enumerate() {
        let Answer::Choice(choice) = answer else {
            return Err(fault(Some(number), AnswerFault::Type));
        };
        let p = &choice.probabilities;
        if p.len() != *options {
            return Err(fault(Some(number), AnswerFault::OptionMissing));
        }
        if !p.iter().all(|p| (0.0..=1.0).contains(p)) {
            return Err(fault(Some(number), AnswerFault::Range));
        }
        let sum: f64 = p.iter().sum();
        if sum <= 0.0 {
            return Err(fault(Some(number), AnswerFault::Mass));
        }
        if sum - 1.0 > SUM_OVER || 1.0 - sum > sum_under(*options) {
            return Err(fault(Some(number), AnswerFault::Sum));
        }
    }
    Ok(())
}
