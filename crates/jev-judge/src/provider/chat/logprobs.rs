//! Reading a chat model's first token: the distribution over the letters, or a typed fault. A
//! letter that the server did not list is bounded and counted, never silently nought.

use serde_json::Value;

use jev_core::error::AnswerFault;
use jev_core::question::Usage;

use super::prompt::LABELS;
use crate::json;
use crate::model::is_model_name;

/// Mass outside the letters above which the model was not answering the question.
const MISSING_MASS_MAX: f64 = 0.2;
/// How far listed probabilities may exceed 1 together: half-precision noise.
const NOISE: f64 = 0.02;
/// The least that an unlisted letter is given.
const FLOOR: f64 = 1e-6;

/// What one reply says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReadOut {
    /// One probability a letter; they sum to 1.
    pub p: Vec<f64>,
    /// Mass that fell on no letter.
    pub missing_mass: f64,
    /// Letters the server did not list, whose probability is an upper bound.
    pub bounded: u32,
    /// Tokens, where they are counted.
    pub usage: Usage,
    /// The model that answered, when it says so.
    pub model: Option<String>,
}

/// Reads a reply to a question of so many letters.
pub(super) fn read(body: &[u8], letters: usize) -> Result<ReadOut, AnswerFault> {
    let reply = json::parse(body)?;
    let first = reply.get("choices").and_then(|choices| choices.get(0));
    let logprobs = first
        .and_then(|choice| choice.get("logprobs"))
        .ok_or(AnswerFault::Shape)?;
    let (sampled, listed) = listed(logprobs)?;
    // A token of thinking, or of any other talk, means that no letter was being chosen.
    let sampled = letter(sampled).filter(|at| *at < letters);
    if sampled.is_none() || listed.is_empty() {
        return Err(AnswerFault::Choice);
    }
    let mut p = vec![None; letters];
    let mut all = 0.0;
    let mut smallest = 1.0;
    for (token, logprob) in listed {
        if !logprob.is_finite() || logprob > 1e-6 {
            return Err(AnswerFault::Range);
        }
        let mass = logprob.exp();
        all += mass;
        smallest = f64::min(smallest, mass);
        // "A", " A" and "a" are one letter.
        if let Some(slot) = letter(token).and_then(|at| p.get_mut(at)) {
            *slot = Some(slot.unwrap_or(0.0) + mass);
        }
    }
    if all > 1.0 + NOISE {
        return Err(AnswerFault::Sum);
    }
    let seen: f64 = p.iter().flatten().sum();
    if 1.0 - seen > MISSING_MASS_MAX {
        return Err(AnswerFault::Mass);
    }
    // What is not listed is no likelier than the least likely token that is, and all of it together
    // is no likelier than what is left.
    let bounded = p.iter().filter(|p| p.is_none()).count();
    let left = (1.0 - all) / bounded.max(1) as f64;
    let bound = f64::min(smallest, left).max(FLOOR);
    let p: Vec<f64> = p.into_iter().map(|p| p.unwrap_or(bound)).collect();
    let sum: f64 = p.iter().sum();
    Ok(ReadOut {
        p: p.iter().map(|p| p / sum).collect(),
        missing_mass: (1.0 - seen).max(0.0),
        bounded: u32::try_from(bounded).unwrap_or(u32::MAX),
        usage: usage(reply.get("usage"))?,
        model: model(reply.get("model"))?,
    })
}

/// Not every server names the model; a name that can't be one is no answer from the one asked.
fn model(value: Option<&Value>) -> Result<Option<String>, AnswerFault> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value
            .as_str()
            .filter(|name| is_model_name(name))
            .map(|name| Some(name.to_owned()))
            .ok_or(AnswerFault::Model),
    }
}

/// Tokens and their log-probabilities.
type Listed<'a> = Vec<(&'a str, f64)>;

/// The sampled token and the listed ones, in the chat shape or the older completions shape.
fn listed(logprobs: &Value) -> Result<(&str, Listed<'_>), AnswerFault> {
    if let Some(first) = logprobs.get("content").and_then(|content| content.get(0)) {
        let sampled = first.get("token").and_then(Value::as_str);
        let top = first.get("top_logprobs").and_then(Value::as_array);
        let (Some(sampled), Some(top)) = (sampled, top) else {
            return Err(AnswerFault::Shape);
        };
        let entries = top.iter().map(|entry| {
            let token = entry.get("token")?.as_str()?;
            Some((token, entry.get("logprob")?.as_f64()?))
        });
        let entries: Option<Vec<_>> = entries.collect();
        return Ok((sampled, entries.ok_or(AnswerFault::Range)?));
    }
    let first = |name: &str| logprobs.get(name).and_then(|list| list.get(0));
    let sampled = first("tokens").and_then(Value::as_str);
    let top = first("top_logprobs").and_then(Value::as_object);
    let (Some(sampled), Some(top)) = (sampled, top) else {
        return Err(AnswerFault::Shape);
    };
    let entries: Option<Vec<_>> = top
        .iter()
        .map(|(token, logprob)| Some((token.as_str(), logprob.as_f64()?)))
        .collect();
    Ok((sampled, entries.ok_or(AnswerFault::Range)?))
}

/// Which letter a token is, white space (also as tokenisers write it) and case aside.
fn letter(token: &str) -> Option<usize> {
    let bare =
        token.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\u{2581}' | '\u{120}'));
    let mut chars = bare.chars();
    let (only, rest) = (chars.next()?, chars.next());
    LABELS
        .iter()
        .position(|label| rest.is_none() && label.eq_ignore_ascii_case(&only))
}

/// Chat servers need not count; what they count must be whole numbers.
fn usage(value: Option<&Value>) -> Result<Usage, AnswerFault> {
    let Some(usage) = value.filter(|usage| !usage.is_null()) else {
        return Ok(Usage::default());
    };
    let tokens = |name: &str| match usage.get(name) {
        None | Some(Value::Null) => Ok(0),
        Some(count) => count.as_u64().ok_or(AnswerFault::Usage),
    };
    Ok(Usage {
        input_tokens: tokens("prompt_tokens")?,
        output_tokens: tokens("completion_tokens")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reply(sampled: &str, top: &[(&str, f64)]) -> Vec<u8> {
        let top: Vec<Value> = top
            .iter()
            .map(|(token, p)| json!({"token": token, "logprob": p.ln()}))
            .collect();
        json!({
            "model": "qwen", "usage": {"prompt_tokens": 7, "completion_tokens": 1},
            "choices": [{"logprobs": {"content": [{"token": sampled, "top_logprobs": top}]}}],
        })
        .to_string()
        .into_bytes()
    }

    fn near(found: &[f64], expected: &[f64]) -> bool {
        found.len() == expected.len()
            && found
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-6)
    }

    #[test]
    fn variants_merge_and_strangers_count_as_missing() {
        let read = read(
            &reply(" A", &[("A", 0.5), (" a", 0.1), ("B", 0.3), ("The", 0.1)]),
            2,
        )
        .unwrap();
        assert!(near(&read.p, &[2.0 / 3.0, 1.0 / 3.0]), "{read:?}");
        assert!((read.missing_mass - 0.1).abs() < 1e-9);
        assert_eq!((read.bounded, read.usage.input_tokens), (0, 7));
        assert_eq!(read.model.as_deref(), Some("qwen"));
    }

    #[test]
    fn an_unlisted_letter_is_bounded_and_counted() {
        let read = read(&reply("A", &[("A", 0.9), ("B", 0.06)]), 3).unwrap();
        // No likelier than B (0.06), nor than what is left (0.04).
        assert!(near(&read.p, &[0.9, 0.06, 0.04]), "{read:?}");
        assert_eq!(read.bounded, 1);
        let sure = super::read(&reply("A", &[("A", 1.0)]), 2).unwrap();
        assert!(sure.p[1] > 0.0 && sure.bounded == 1, "{sure:?}");
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for (body, fault) in [
            (
                reply("<think>", &[("<think>", 0.99), ("A", 0.01)]),
                AnswerFault::Choice,
            ),
            (reply("C", &[("C", 0.9), ("A", 0.1)]), AnswerFault::Choice),
            (reply("A", &[]), AnswerFault::Choice),
            (reply("A", &[("A", 0.5), ("The", 0.5)]), AnswerFault::Mass),
            (reply("A", &[("A", 1.5)]), AnswerFault::Range),
            (reply("A", &[("A", 0.9), ("B", 0.9)]), AnswerFault::Sum),
            (b"{\"choices\":[]}".to_vec(), AnswerFault::Shape),
            (
                b"{\"choices\":[{\"logprobs\":null}]}".to_vec(),
                AnswerFault::Shape,
            ),
        ] {
            assert_eq!(
                read(&body, 2),
                Err(fault),
                "{}",
                String::from_utf8_lossy(&body)
            );
        }
        let nan = String::from_utf8(reply("A", &[("A", 1.0)])).unwrap();
        let nan = nan.replace("\"logprob\":0.0", "\"logprob\":null");
        assert_eq!(read(nan.as_bytes(), 2), Err(AnswerFault::Range));
    }

    #[test]
    fn the_older_shape_reads_the_same() {
        let body = json!({"choices": [{"logprobs": {
            "tokens": [" B"], "top_logprobs": [{" A": 0.1_f64.ln(), " B": 0.9_f64.ln()}],
        }}]});
        let read = read(body.to_string().as_bytes(), 2).unwrap();
        assert!(near(&read.p, &[0.1, 0.9]), "{read:?}");
    }
}
