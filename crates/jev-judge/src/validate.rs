//! The complete check of a reply: one pure function. Any fault voids the whole reply; nothing is
//! ever guessed from a broken one.

use serde_json::{Map, Value};

use jev_core::error::{AnswerFault, JudgeError};
use jev_core::question::{
    Answer, AnswerFlags, ChoiceAnswer, ChoiceOption, Decision, Question, QuestionKind,
    Questionnaire, Usage,
};

use crate::json;
use crate::model::{answers_to, is_model_name};

/// How far a sum of probabilities may be from 1 whatever the rounding.
pub const SUM_TOLERANCE: f64 = 0.05;
/// How far a rounded number may lie above 1.
pub const RANGE_SLACK: f64 = 0.005;
/// How far the chosen option may trail the most probable one: one unit of the hosted model's
/// rounding to two decimals.
pub const CHOICE_SLACK: f64 = 0.01;
/// Sums nearer to 1 than this are left as they are.
const EXACT: f64 = 1e-9;

/// What differs between servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Which model may answer.
    pub model: ModelRule,
    /// Whether tokens must be counted.
    pub usage: UsageRule,
}

/// Which model may answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelRule {
    /// Whichever the server names.
    Any,
    /// This one: itself or a finer version of it; any at all when it is an alias.
    Requested(String),
}

/// Whether tokens must be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageRule {
    /// Both counts must be there, as whole numbers.
    Required,
    /// Usage may be missing; when it is there, it must be whole numbers.
    Optional,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            model: ModelRule::Any,
            usage: UsageRule::Required,
        }
    }
}

/// Checks a reply's body against what was asked and turns it into a decision: probabilities in the
/// options' own order, summing to 1. What rounding took or gave is put back evenly, at most half a
/// unit an option, so that no option gains by the rounding of others; only the rest is divided out.
///
/// `request_id` and `attempts` of the decision are left for the caller to fill in.
///
/// # Errors
/// [`JudgeError::Protocol`] with the first fault found and, where one is at fault, the question.
pub fn validate(
    questionnaire: &Questionnaire,
    body: &[u8],
    rules: &Rules,
) -> Result<Decision, JudgeError> {
    let reply = json::parse(body).map_err(of_reply)?;
    let reply = reply.as_object().ok_or(of_reply(AnswerFault::Shape))?;
    let model = reply
        .get("model")
        .and_then(Value::as_str)
        .filter(|name| is_model_name(name))
        .ok_or(of_reply(AnswerFault::Shape))?;
    match &rules.model {
        ModelRule::Requested(requested) if !answers_to(requested, model) => {
            return Err(of_reply(AnswerFault::Model));
        }
        ModelRule::Requested(_) | ModelRule::Any => {}
    }
    let usage = usage(reply.get("usage"), rules.usage)?;
    let given = reply
        .get("answers")
        .and_then(Value::as_object)
        .ok_or(of_reply(AnswerFault::Shape))?;

    let mut decision = Decision {
        model: Some(model.to_owned()),
        usage,
        ignored_fields: surplus(reply, &["model", "usage", "answers"]),
        ..Decision::default()
    };
    let mut asked = 0;
    for question in &questionnaire.questions {
        let fault = |fault| JudgeError::Protocol {
            question: Some(question.id.clone()),
            fault,
        };
        let answer = given
            .get(&question.id)
            .ok_or(AnswerFault::Missing)
            .and_then(|answer| answer.as_object().ok_or(AnswerFault::Shape))
            .map_err(fault)?;
        let checked = check(question, answer).map_err(fault)?;
        decision.answers.push(checked.answer);
        decision.ignored_fields += checked.ignored;
        decision.odd_fields += checked.odd;
        asked += 1;
    }
    // Question ids are unique, so whatever is more than the questions was not asked for.
    decision.ignored_fields += count(given.len().saturating_sub(asked));
    Ok(decision)
}

fn of_reply(fault: AnswerFault) -> JudgeError {
    JudgeError::Protocol {
        question: None,
        fault,
    }
}

fn usage(value: Option<&Value>, rule: UsageRule) -> Result<Usage, JudgeError> {
    let tokens = |usage: &Value, name: &str| usage.get(name).and_then(Value::as_u64);
    match (value, rule) {
        (None | Some(Value::Null), UsageRule::Optional) => Ok(Usage::default()),
        (None, UsageRule::Required) => Err(of_reply(AnswerFault::Usage)),
        (Some(usage), _) => tokens(usage, "input_tokens")
            .zip(tokens(usage, "output_tokens"))
            .map(|(input_tokens, output_tokens)| Usage {
                input_tokens,
                output_tokens,
            })
            .ok_or(of_reply(AnswerFault::Usage)),
    }
}

struct Checked {
    answer: Answer,
    ignored: u32,
    odd: u32,
}

fn check(question: &Question, given: &Map<String, Value>) -> Result<Checked, AnswerFault> {
    let wanted = match &question.kind {
        QuestionKind::Choice { .. } => "choice",
        QuestionKind::Noul { .. } => "noul",
        QuestionKind::Score { .. } => "score",
    };
    if given.get("type").and_then(Value::as_str) != Some(wanted) {
        return Err(AnswerFault::Type);
    }
    match &question.kind {
        QuestionKind::Choice { options, .. } => check_choice(options, given),
        QuestionKind::Noul { .. } => Ok(Checked {
            answer: Answer::Noul {
                noul: probability(given.get("noul").ok_or(AnswerFault::Shape)?)?,
            },
            ignored: surplus(given, &["type", "noul"]),
            odd: 0,
        }),
        QuestionKind::Score { levels, .. } => check_score(levels, given),
    }
}

fn check_choice(
    options: &[ChoiceOption],
    given: &Map<String, Value>,
) -> Result<Checked, AnswerFault> {
    let names: Vec<&str> = options.iter().map(|option| option.name.as_str()).collect();
    let Distribution {
        probabilities,
        renormalised_by,
        as_given,
        rounded_to,
    } = distribution(&names, given.get("probabilities"))?;
    let chosen = given
        .get("choice")
        .and_then(Value::as_str)
        .ok_or(AnswerFault::Shape)?;
    let chosen = names
        .iter()
        .zip(&as_given)
        .find(|(name, _)| **name == chosen)
        .map(|(_, p)| *p)
        .ok_or(AnswerFault::Choice)?;
    let most = as_given.iter().copied().fold(0.0, f64::max);
    if most - chosen > CHOICE_SLACK + EXACT {
        return Err(AnswerFault::Choice);
    }
    let (confidence, odd) = confidence(given.get("confidence"));
    let ignored = surplus(given, &["type", "choice", "probabilities", "confidence"]);
    Ok(Checked {
        answer: Answer::Choice(ChoiceAnswer {
            probabilities,
            confidence,
            flags: AnswerFlags {
                renormalised_by,
                rounded_to,
                ignored_fields: ignored,
                ..AnswerFlags::default()
            },
        }),
        ignored,
        odd,
    })
}

fn check_score(levels: &[String], given: &Map<String, Value>) -> Result<Checked, AnswerFault> {
    let names: Vec<String> = (0..levels.len()).map(|index| index.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let Distribution {
        probabilities,
        renormalised_by,
        as_given: _,
        rounded_to: _,
    } = distribution(&names, given.get("probabilities"))?;
    let mut odd = confidence(given.get("confidence")).1;
    // The score is worked out here from the distribution, so the server's own is only compared.
    let score = given
        .get("score")
        .and_then(Value::as_f64)
        .ok_or(AnswerFault::Shape)?;
    let last = names.len().saturating_sub(1) as f64;
    if !(-RANGE_SLACK..=last + RANGE_SLACK).contains(&score) {
        return Err(AnswerFault::Score);
    }
    let expected: f64 = (0..)
        .zip(&probabilities)
        .map(|(i, p)| f64::from(i) * p)
        .sum();
    // Rounding moves each p by half a unit, and the server may or may not have made up for the sum.
    let scale = renormalised_by.unwrap_or(1.0);
    let slack = 0.02 + RANGE_SLACK * (1.0 + last * (last + 1.0) / 2.0) + last * (scale - 1.0).abs();
    if (score - expected).abs() > slack {
        odd += 1;
    }
    let legend = given.get("legend").and_then(Value::as_object);
    if legend.is_none_or(|legend| !names.iter().all(|name| legend.contains_key(*name))) {
        odd += 1;
    }
    let known = ["type", "score", "legend", "probabilities", "confidence"];
    Ok(Checked {
        answer: Answer::Score { probabilities },
        ignored: surplus(given, &known),
        odd,
    })
}

/// Probabilities in their options' order.
struct Distribution {
    /// They sum to 1.
    probabilities: Vec<f64>,
    /// What they summed to, when that was not 1.
    renormalised_by: Option<f64>,
    /// As the server wrote them.
    as_given: Vec<f64>,
    /// The decimals they came with, when they were rounded.
    rounded_to: Option<u8>,
}

/// The probabilities in the order of `names`.
fn distribution(names: &[&str], given: Option<&Value>) -> Result<Distribution, AnswerFault> {
    let given = given.and_then(Value::as_object).ok_or(AnswerFault::Shape)?;
    let mut values = Vec::with_capacity(names.len());
    for name in names {
        let value = given.get(*name).ok_or(AnswerFault::OptionMissing)?;
        values.push(probability(value)?);
    }
    if given.len() > names.len() {
        return Err(AnswerFault::OptionUnknown);
    }
    let sum: f64 = values.iter().sum();
    if sum <= 0.0 {
        return Err(AnswerFault::Mass);
    }
    // Rounding moves a value by at most half a unit; one reported as 0 can only have been larger.
    let rounded_to = decimals(&values);
    let half_unit = rounded_to.map_or(0.0, |decimals| 0.5 / 10_f64.powi(i32::from(decimals)));
    let above = values.iter().filter(|value| **value > 0.0).count() as f64;
    let over = f64::max(SUM_TOLERANCE, above * half_unit);
    let under = f64::max(SUM_TOLERANCE, values.len() as f64 * half_unit);
    if sum - 1.0 > over + EXACT || 1.0 - sum > under + EXACT {
        return Err(AnswerFault::Sum);
    }
    let renormalised_by = ((sum - 1.0).abs() > EXACT).then_some(sum);
    let as_given = values.clone();
    if let Some(sum) = renormalised_by {
        even_out(&mut values, sum, above, half_unit);
    }
    Ok(Distribution {
        probabilities: values,
        renormalised_by,
        as_given,
        rounded_to,
    })
}

/// Makes values sum to 1: those that can have been rounded towards the sum's side of 1 are moved
/// back by equal parts of half a unit at most, and what is left over is divided out. Dividing at
/// once would give what many small options lost to the one that was reported.
fn even_out(values: &mut [f64], sum: f64, above: f64, half_unit: f64) {
    let count = values.len() as f64;
    if sum < 1.0 {
        let each = f64::min((1.0 - sum) / count, half_unit);
        values.iter_mut().for_each(|value| *value += each);
    } else {
        // Nothing can have been rounded up to 0, and what was rounded up is a whole unit at least.
        let each = f64::min((sum - 1.0) / above, half_unit);
        let reported = values.iter_mut().filter(|value| **value > 0.0);
        reported.for_each(|value| *value -= each);
    }
    let left: f64 = values.iter().sum();
    values.iter_mut().for_each(|value| *value /= left);
}

/// A number from 0 to 1; a rounded one may lie a little above, and counts as 1.
fn probability(value: &Value) -> Result<f64, AnswerFault> {
    match value.as_f64() {
        Some(p) if (0.0..=1.0 + RANGE_SLACK).contains(&p) => Ok(p.min(1.0)),
        Some(_) | None => Err(AnswerFault::Range),
    }
}

/// The fewest decimals, 2 to 6, that all values are rounded to; `None` when they are not.
fn decimals(values: &[f64]) -> Option<u8> {
    (2..=6).find(|decimals| {
        let scale = 10_f64.powi(i32::from(*decimals));
        let exact = |value: &f64| (value * scale - (value * scale).round()).abs() < 1e-7 * scale;
        values.iter().all(exact)
    })
}

/// A server's own confidence is advisory: missing or senseless, it is dropped and counted.
fn confidence(value: Option<&Value>) -> (Option<f64>, u32) {
    let sensible = value
        .and_then(Value::as_f64)
        .filter(|c| (0.0..=1.0 + RANGE_SLACK).contains(c));
    (sensible, u32::from(sensible.is_none()))
}

fn surplus(object: &Map<String, Value>, known: &[&str]) -> u32 {
    count(
        object
            .keys()
            .filter(|key| !known.contains(&key.as_str()))
            .count(),
    )
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
