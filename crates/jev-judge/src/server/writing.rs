//! Writing a reply: answers with the protocol's own confidence, and the list of models.

use serde_json::{Map, Value, json};

use jev_core::ports::JudgeIdentity;
use jev_core::question::{Answer, Decision, Question, QuestionKind};

use super::distribution;
use super::reading::Asked;

/// The names under which any judge is served: clients of the protocol ask for them by default.
const ALIASES: [&str; 2] = ["jev-latest", "jev-preview"];

/// Whether a model's name means this judge.
pub(super) fn serves(identity: &JudgeIdentity, model: &str) -> bool {
    model == identity.name || ALIASES.contains(&model)
}

/// The list of models.
pub(super) fn models(identity: &JudgeIdentity) -> Value {
    let release = "2026-11-30";
    let entry = |name: &str, description: String| json!({"name": name, "description": description, "release_date": release});
    let own = entry(
        &identity.name,
        format!("The {} judge of Jev Navigator, in process.", identity.name),
    );
    let aliases = ALIASES.map(|alias| entry(alias, format!("Means {} here.", identity.name)));
    let models: Vec<Value> = std::iter::once(own).chain(aliases).collect();
    json!({"models": models})
}

/// The reply; `None` when the decision does not fit the questions, which a judge must not do.
pub(super) fn reply(identity: &JudgeIdentity, asked: &Asked, decision: &Decision) -> Option<Value> {
    let questions = &asked.questionnaire.questions;
    if decision.answers.len() != questions.len() {
        return None;
    }
    let mut answers = Map::new();
    for ((question, given), levels) in questions.iter().zip(&decision.answers).zip(&asked.levels) {
        answers.insert(question.id.clone(), answer(question, given, levels)?);
    }
    Some(json!({
        "model": decision.model.as_ref().unwrap_or(&identity.name),
        "answers": answers,
        "usage": {
            "input_tokens": decision.usage.input_tokens,
            "output_tokens": decision.usage.output_tokens,
        },
    }))
}

fn answer(question: &Question, given: &Answer, levels: &[Value]) -> Option<Value> {
    let p = distribution(given);
    match (&question.kind, given) {
        (QuestionKind::Noul { .. }, Answer::Noul { noul }) => {
            Some(json!({"type": "noul", "noul": noul}))
        }
        (QuestionKind::Choice { options, .. }, Answer::Choice(_)) if options.len() == p.len() => {
            let named = options.iter().map(|option| option.name.clone());
            let probabilities: Map<String, Value> = named.zip(p.iter().map(|p| json!(p))).collect();
            Some(json!({
                "type": "choice",
                "choice": options.get(mode(p)?)?.name,
                "probabilities": probabilities,
                "confidence": choice_confidence(p),
            }))
        }
        (QuestionKind::Score { .. }, Answer::Score { .. }) if levels.len() == p.len() => {
            let keyed = |values: Vec<Value>| -> Map<String, Value> {
                (0..)
                    .zip(values)
                    .map(|(i, v): (usize, _)| (i.to_string(), v))
                    .collect()
            };
            let score: f64 = (0..).zip(p).map(|(i, p)| f64::from(i) * p).sum();
            Some(json!({
                "type": "score",
                "score": score,
                "legend": keyed(levels.to_vec()),
                "probabilities": keyed(p.iter().map(|p| json!(p)).collect()),
                "confidence": score_confidence(p)?,
            }))
        }
        (
            QuestionKind::Noul { .. } | QuestionKind::Choice { .. } | QuestionKind::Score { .. },
            Answer::Noul { .. } | Answer::Choice(_) | Answer::Score { .. },
        ) => None,
    }
}

/// The most probable place; the first of equals.
fn mode(p: &[f64]) -> Option<usize> {
    (0..p.len()).reduce(|best, next| {
        if p.get(next) > p.get(best) {
            next
        } else {
            best
        }
    })
}

/// How far the most probable option stands above an even share.
fn choice_confidence(p: &[f64]) -> f64 {
    let even = 1.0 / p.len() as f64;
    let most = p.iter().copied().fold(0.0, f64::max);
    if p.len() < 2 {
        return 1.0;
    }
    ((most - even) / (1.0 - even)).clamp(0.0, 1.0)
}

/// How little mass lies away from the most probable level, against an even spread.
fn score_confidence(p: &[f64]) -> Option<f64> {
    if p.len() < 2 {
        return Some(1.0);
    }
    let away = |from: f64| move |(i, p): (u32, f64)| p * (f64::from(i) - from).abs();
    let mode = u32::try_from(mode(p)?).ok()?;
    let spread: f64 = (0..)
        .zip(p.iter().copied())
        .map(away(f64::from(mode)))
        .sum();
    let middle = (p.len() - 1) as f64 / 2.0;
    let even = 1.0 / p.len() as f64;
    let widest: f64 = (0..).zip(p.iter().map(|_| even)).map(away(middle)).sum();
    Some((1.0 - spread / widest).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidences_follow_the_published_formulas() {
        for (p, expected) in [
            (vec![1.0], 1.0),
            (vec![0.88, 0.12, 0.0], 0.82),
            (vec![0.25; 4], 0.0),
        ] {
            assert!((choice_confidence(&p) - expected).abs() < 1e-9, "{p:?}");
        }
        // D is 0.667 for three levels.
        for (p, expected) in [
            (vec![0.0, 1.0, 0.0], 1.0),
            (vec![0.1, 0.8, 0.1], 1.0 - 0.2 * 1.5),
            (vec![0.5, 0.0, 0.5], 0.0),
        ] {
            let found = score_confidence(&p).unwrap();
            assert!((found - expected).abs() < 1e-9, "{p:?}: {found}");
        }
    }
}
