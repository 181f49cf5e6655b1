//! Reading a request: every fault is listed with its place, as clients of the protocol expect.

use serde_json::{Map, Value, json};

use jev_core::access::CanonicalUrl;
use jev_core::error::AnswerFault;
use jev_core::question::{
    Answer, ChoiceAnswer, ChoiceOption, Question, QuestionKind, Questionnaire, Stage, Subject,
};

use crate::json;
use crate::scripted::operation_of;
use crate::situation::loose_text;

/// Most options of a choice.
const OPTIONS_MAX: usize = 255;
/// Most levels of a score.
const LEVELS_MAX: usize = 10;

/// One fault of a request.
#[derive(Debug, PartialEq)]
pub(super) struct Invalid {
    place: Vec<Value>,
    message: &'static str,
    kind: &'static str,
}

impl Invalid {
    fn new(place: &[&str], message: &'static str, kind: &'static str) -> Self {
        let place = ["body"].iter().chain(place).map(|part| json!(part));
        Self {
            place: place.collect(),
            message,
            kind,
        }
    }

    /// Never echoes what was sent.
    pub(super) fn json(&self) -> Value {
        json!({"loc": self.place, "msg": self.message, "type": self.kind})
    }
}

/// A request that is in order.
#[derive(Debug)]
pub(super) struct Asked {
    pub model: String,
    pub questionnaire: Questionnaire,
    /// What each score's levels were, to be echoed; empty for other questions.
    pub levels: Vec<Vec<Value>>,
    /// Whether the questions are heads of one decision.
    pub together: bool,
}

/// Reads a body.
pub(super) fn read(body: &[u8]) -> Result<Asked, Vec<Invalid>> {
    let value = json::parse(body).map_err(|fault| {
        let message = if fault == AnswerFault::DuplicateKey {
            "A key stands twice in one object"
        } else {
            "JSON decode error"
        };
        vec![Invalid::new(&[], message, "json_invalid")]
    })?;
    let Value::Object(mut body) = value else {
        let message = "Input should be a valid dictionary";
        return Err(vec![Invalid::new(&[], message, "dict_type")]);
    };
    let mut faults = Vec::new();
    let model = match body.get("model") {
        Some(Value::String(model)) => model.clone(),
        Some(_) => {
            let message = "Input should be a valid string";
            faults.push(Invalid::new(&["model"], message, "string_type"));
            String::new()
        }
        None => {
            faults.push(missing(&["model"]));
            String::new()
        }
    };
    let state = match body.remove("state") {
        Some(state @ (Value::String(_) | Value::Object(_) | Value::Array(_))) => state,
        Some(_) => {
            let message = "Input should be a string, an object or an array";
            faults.push(Invalid::new(&["state"], message, "state_type"));
            Value::Null
        }
        None => {
            faults.push(missing(&["state"]));
            Value::Null
        }
    };
    let mut questions = Vec::new();
    let mut levels = Vec::new();
    match body.get("questions") {
        Some(Value::Object(given)) if !given.is_empty() => {
            for (id, question) in given {
                match read_question(id, question) {
                    Ok((question, echoed)) => {
                        questions.push(question);
                        levels.push(echoed);
                    }
                    Err(fault) => faults.push(fault),
                }
            }
        }
        Some(Value::Object(_)) => {
            let message = "There should be at least one question";
            faults.push(Invalid::new(&["questions"], message, "too_short"));
        }
        Some(_) => {
            let message = "Input should be a valid dictionary";
            faults.push(Invalid::new(&["questions"], message, "dict_type"));
        }
        None => faults.push(missing(&["questions"])),
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut asked = Asked {
        model,
        questionnaire: Questionnaire {
            stage: Stage::Decide,
            goal: String::new(),
            state,
            questions,
        },
        levels,
        together: false,
    };
    recognise(&mut asked);
    Ok(asked)
}

fn missing(place: &[&str]) -> Invalid {
    Invalid::new(place, "Field required", "missing")
}

/// A question and, for a score, its levels as they were sent.
fn read_question(id: &str, value: &Value) -> Result<(Question, Vec<Value>), Invalid> {
    let at = |part: &'static str, message, kind| {
        Err(Invalid::new(&["questions", id, part], message, kind))
    };
    if id.is_empty() {
        return at("id", "An id should not be empty", "too_short");
    }
    let Value::Object(fields) = value else {
        return at("type", "Input should be a valid dictionary", "dict_type");
    };
    let instructions = match fields.get("instructions") {
        None | Some(Value::Null) => String::new(),
        Some(text) => match words(text) {
            Some(words) => words,
            None => return at("instructions", "Input should be text", "text_type"),
        },
    };
    let criteria = fields.get("criteria").filter(|value| !value.is_null());
    let mut levels = Vec::new();
    let kind = match fields.get("type").and_then(Value::as_str) {
        Some("noul") => read_noul(instructions, criteria),
        Some("choice") => read_choice(instructions, criteria),
        Some("score") => read_score(instructions, criteria, &mut levels),
        Some(_) | None => {
            return at(
                "type",
                "The type should be noul, choice or score",
                "union_tag_invalid",
            );
        }
    };
    match kind {
        Ok(kind) => {
            let id = id.to_owned();
            Ok((Question { id, kind }, levels))
        }
        Err((message, kind)) => at("criteria", message, kind),
    }
}

type Fault = (&'static str, &'static str);

fn read_noul(instructions: String, criteria: Option<&Value>) -> Result<QuestionKind, Fault> {
    let empty = Map::new();
    let sides = match criteria {
        None => &empty,
        Some(Value::Object(sides)) if sides.keys().all(|k| k == "true" || k == "false") => sides,
        Some(_) => return Err(("Input should hold `true` and/or `false`", "model_type")),
    };
    let side = |name: &str| match sides.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(text) => words(text)
            .map(Some)
            .ok_or(("A side should be text", "text_type")),
    };
    let (yes, no) = (side("true")?, side("false")?);
    if instructions.is_empty() && yes.is_none() && no.is_none() {
        return Err(("Instructions or criteria are needed", "missing"));
    }
    Ok(QuestionKind::Noul {
        instructions,
        yes,
        no,
    })
}

fn read_choice(instructions: String, criteria: Option<&Value>) -> Result<QuestionKind, Fault> {
    let Some(Value::Object(options)) = criteria else {
        return Err(("Input should be a valid dictionary", "dict_type"));
    };
    match options.len() {
        0 => return Err(("There should be at least one option", "too_short")),
        count if count > OPTIONS_MAX => {
            return Err(("There should be at most 255 options", "too_long"));
        }
        _ => {}
    }
    let options: Option<Vec<ChoiceOption>> = options
        .iter()
        .map(|(name, description)| {
            let description = if description.is_null() {
                String::new()
            } else {
                words(description)?
            };
            Some(ChoiceOption {
                name: name.clone(),
                description,
                subject: Subject::Opaque,
            })
        })
        .collect();
    Ok(QuestionKind::Choice {
        instructions,
        options: options.ok_or(("A description should be text or null", "text_type"))?,
    })
}

fn read_score(
    instructions: String,
    criteria: Option<&Value>,
    echoed: &mut Vec<Value>,
) -> Result<QuestionKind, Fault> {
    let Some(Value::Array(levels)) = criteria else {
        return Err(("Input should be a valid list", "list_type"));
    };
    match levels.len() {
        0 => return Err(("There should be at least one level", "too_short")),
        count if count > LEVELS_MAX => {
            return Err(("There should be at most 10 levels", "too_long"));
        }
        _ => {}
    }
    let texts: Option<Vec<String>> = levels.iter().map(words).collect();
    echoed.clone_from(levels);
    Ok(QuestionKind::Score {
        instructions,
        levels: texts.ok_or(("A level should be text", "text_type"))?,
    })
}

/// The words of a text, which may be a string, an object or a list.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(_) | Value::Array(_) => Some(loose_text(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// A question with one possible answer is not worth a judge.
pub(super) fn certain(question: &Question) -> Option<Answer> {
    match &question.kind {
        QuestionKind::Choice { options, .. } if options.len() == 1 => {
            Some(Answer::Choice(ChoiceAnswer::plain(vec![1.0])))
        }
        QuestionKind::Score { levels, .. } if levels.len() == 1 => Some(Answer::Score {
            probabilities: vec![1.0],
        }),
        QuestionKind::Choice { .. } | QuestionKind::Noul { .. } | QuestionKind::Score { .. } => {
            None
        }
    }
}

/// A request of this project's own loop carries a goal and a history. Its options are put back
/// into types, so that a judge behind the wire knows as much as one in process.
fn recognise(asked: &mut Asked) {
    let state = &asked.questionnaire.state;
    let goal = state.get("goal").and_then(Value::as_str);
    let (Some(goal), Some(Value::Array(_))) = (goal, state.get("history")) else {
        return;
    };
    let goal = goal.to_owned();
    let page = state
        .get("url")
        .and_then(Value::as_str)
        .and_then(|url| CanonicalUrl::parse(url).ok());
    if state.get("candidates").is_none() {
        asked.questionnaire.stage = Stage::Narrow;
    }
    asked.questionnaire.goal = goal;
    asked.together = true;
    for question in &mut asked.questionnaire.questions {
        if let QuestionKind::Choice { options, .. } = &mut question.kind {
            // One option alone is answered without a judge, which asks for questions apart.
            asked.together &= options.len() > 1;
            for option in options {
                option.subject = subject(option, page.as_ref());
            }
        }
    }
}

fn subject(option: &ChoiceOption, page: Option<&CanonicalUrl>) -> Subject {
    if let Some(operation) = operation_of(&option.name)
        && operation.option_name() == option.name
    {
        return Subject::Operation(operation);
    }
    // The loop puts label and heading into typographic quotes, and the path after them.
    let mut quoted = option.description.split('\u{201c}').skip(1);
    let mut next = || quoted.next().and_then(|part| part.split('\u{201d}').next());
    let (label, context) = (next(), next().unwrap_or_default());
    let path = option
        .description
        .rsplit_once("\u{201d} to ")
        .map(|(_, path)| path);
    Subject::Candidate {
        id: option.name.clone(),
        label: label.unwrap_or(&option.description).to_owned(),
        context: context.to_owned(),
        href: page
            .zip(path)
            .and_then(|(page, path)| page.url().join(path).ok())
            .and_then(|url| CanonicalUrl::new(url).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jev_core::action::Operation;

    fn read_json(value: Value) -> Result<Asked, Vec<Invalid>> {
        read(value.to_string().as_bytes())
    }

    #[test]
    fn every_fault_is_listed_with_its_place() {
        let faults = read_json(json!({
            "model": 1, "state": null,
            "questions": {
                "a": {"type": "boolean"},
                "b": {"type": "score", "criteria": {"0": "x"}},
                "c": {"type": "choice", "criteria": {"x": 1}},
                "d": {"type": "noul"},
            },
        }))
        .unwrap_err();
        let places: Vec<String> = faults
            .iter()
            .map(|fault| {
                let parts = fault.place.iter().filter_map(Value::as_str);
                parts.collect::<Vec<_>>().join(".")
            })
            .collect();
        assert_eq!(
            places,
            [
                "body.model",
                "body.state",
                "body.questions.a.type",
                "body.questions.b.criteria",
                "body.questions.c.criteria",
                "body.questions.d.criteria",
            ]
        );
        for bad in [
            json!([]),
            json!({}),
            json!({"model": "m", "state": "s", "questions": {}}),
        ] {
            assert!(read_json(bad.clone()).is_err(), "{bad}");
        }
        let twice = br#"{"model":"m","model":"m","state":"s","questions":{}}"#;
        assert_eq!(read(twice).unwrap_err()[0].kind, "json_invalid");
    }

    #[test]
    fn the_loops_own_questions_get_their_types_back() {
        let asked = read_json(json!({
            "model": "jev-latest",
            "state": {"goal": "warranty", "url": "http://h/docs/", "history": [], "candidates": []},
            "questions": {"next_step": {"type": "choice", "instructions": "Which?", "criteria": {
                "c1": "Follow the link \u{201c}Terms\u{201d} under \u{201c}Legal\u{201d} to /docs/terms.html",
                "done": "Stop.", "none": "None of these.",
            }}},
        }))
        .unwrap();
        assert!(asked.together);
        let questionnaire = &asked.questionnaire;
        assert_eq!(
            (questionnaire.stage, questionnaire.goal.as_str()),
            (Stage::Decide, "warranty")
        );
        let QuestionKind::Choice { options, .. } = &questionnaire.questions[0].kind else {
            panic!("a choice");
        };
        assert_eq!(
            options[0].subject,
            Subject::Candidate {
                id: "c1".to_owned(),
                label: "Terms".to_owned(),
                context: "Legal".to_owned(),
                href: CanonicalUrl::parse("http://h/docs/terms.html").ok(),
            }
        );
        assert_eq!(options[1].subject, Subject::Operation(Operation::Done));
        assert_eq!(options[2].subject, Subject::Operation(Operation::None));
    }
}
