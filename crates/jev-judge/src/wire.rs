//! The request of the Choice protocol as it goes over the wire, and what servers can take of it.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use jev_core::error::JudgeError;
use jev_core::question::{Question, QuestionKind, Questionnaire};

/// What a server takes. The defaults are those of the protocol; compatible servers are often far
/// smaller, which configuration or a probe says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Most options of a choice.
    pub options: usize,
    /// Most levels of a score.
    pub levels: usize,
    /// Most questions of one request.
    pub questions: usize,
    /// Largest request body, in bytes.
    pub body_bytes: usize,
    /// Which sides of a yes-or-no question may be described.
    pub noul_sides: NoulSides,
}

/// Which sides of a yes-or-no question may be described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoulSides {
    /// Either, both or none.
    Any,
    /// Both or none: a missing side is filled in.
    BothOrNone,
}

impl Default for Capabilities {
    /// The protocol's own bounds: 255 options, 10 levels, 800 questions (the most seen to work),
    /// and 256 KiB, which is above the token limit of the hosted model for any text.
    fn default() -> Self {
        Self {
            options: 255,
            levels: 10,
            questions: 800,
            body_bytes: 256 * 1024,
            noul_sides: NoulSides::Any,
        }
    }
}

/// The body of a request: `model`, `state`, `questions` and nothing else, since the hosted server
/// refuses every other field.
///
/// # Errors
/// [`JudgeError::Capability`] for a question outside the capabilities or not unique in its id or
/// options, [`JudgeError::TooLarge`] for a body over the bound.
pub fn encode(
    model: &str,
    questionnaire: &Questionnaire,
    capabilities: &Capabilities,
) -> Result<Vec<u8>, JudgeError> {
    let body = json!({
        "model": model,
        "state": questionnaire.state,
        "questions": questions(questionnaire, capabilities)?,
    })
    .to_string()
    .into_bytes();
    if body.len() > capabilities.body_bytes {
        return Err(JudgeError::TooLarge);
    }
    Ok(body)
}

fn questions(
    questionnaire: &Questionnaire,
    capabilities: &Capabilities,
) -> Result<Map<String, Value>, JudgeError> {
    let count = questionnaire.questions.len();
    if !(1..=capabilities.questions).contains(&count) {
        return Err(lacks(format!(
            "{count} questions in one request; 1 to {} are taken",
            capabilities.questions
        )));
    }
    let mut map = Map::new();
    for question in &questionnaire.questions {
        if question.id.is_empty() {
            return Err(lacks("a question without an id".to_owned()));
        }
        let encoded = encode_question(question, capabilities)?;
        if map.insert(question.id.clone(), encoded).is_some() {
            return Err(lacks("two questions of one id".to_owned()));
        }
    }
    Ok(map)
}

fn encode_question(question: &Question, capabilities: &Capabilities) -> Result<Value, JudgeError> {
    Ok(match &question.kind {
        QuestionKind::Choice {
            instructions,
            options,
        } => {
            let count = options.len();
            if !(2..=capabilities.options).contains(&count) {
                return Err(lacks(format!(
                    "{count} options in one choice; 2 to {} are taken",
                    capabilities.options
                )));
            }
            let mut names = HashSet::new();
            if !options.iter().all(|option| names.insert(&option.name)) {
                return Err(lacks("two options of one name".to_owned()));
            }
            let criteria: Map<String, Value> = options
                .iter()
                .map(|option| (option.name.clone(), json!(option.description)))
                .collect();
            json!({"type": "choice", "instructions": instructions, "criteria": criteria})
        }
        QuestionKind::Noul {
            instructions,
            yes,
            no,
        } => {
            if instructions.is_empty() && yes.is_none() && no.is_none() {
                return Err(lacks("a yes-or-no question without words".to_owned()));
            }
            let mut criteria = Map::new();
            let fill =
                capabilities.noul_sides == NoulSides::BothOrNone && yes.is_some() != no.is_some();
            for (side, text) in [("true", yes), ("false", no)] {
                if let Some(text) = text {
                    criteria.insert(side.to_owned(), json!(text));
                } else if fill {
                    criteria.insert(side.to_owned(), json!("Anything else."));
                }
            }
            let mut encoded = json!({"type": "noul", "instructions": instructions});
            if let (false, Some(object)) = (criteria.is_empty(), encoded.as_object_mut()) {
                object.insert("criteria".to_owned(), Value::Object(criteria));
            }
            encoded
        }
        QuestionKind::Score {
            instructions,
            levels,
        } => {
            let count = levels.len();
            if !(2..=capabilities.levels).contains(&count) {
                return Err(lacks(format!(
                    "{count} levels in one score; 2 to {} are taken",
                    capabilities.levels
                )));
            }
            json!({"type": "score", "instructions": instructions, "criteria": levels})
        }
    })
}

fn lacks(what: String) -> JudgeError {
    JudgeError::Capability { what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{candidate, choice, flat};
    use jev_core::question::Question;

    fn noul(yes: Option<&str>, no: Option<&str>) -> Question {
        Question {
            id: "n".to_owned(),
            kind: QuestionKind::Noul {
                instructions: "Is it?".to_owned(),
                yes: yes.map(str::to_owned),
                no: no.map(str::to_owned),
            },
        }
    }

    fn encoded(question: Question, capabilities: &Capabilities) -> Result<Value, JudgeError> {
        let mut asked = flat("goal", &[]);
        asked.questions = vec![question];
        encode("m", &asked, capabilities)
            .map(|body| serde_json::from_slice::<Value>(&body).unwrap()["questions"].take())
    }

    #[test]
    fn a_body_holds_three_fields_and_keeps_the_options_order() {
        let page = [
            candidate("z", "Zed", "http://h/z"),
            candidate("a", "Ay", "http://h/a"),
        ];
        let asked = flat("goal", &page);
        let body = encode("jev-latest", &asked, &Capabilities::default()).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["model", "state", "questions"]);
        let names: Vec<&String> = body["questions"]["action"]["criteria"]
            .as_object()
            .unwrap()
            .keys()
            .collect();
        assert_eq!(names[..3], ["z", "a", "scroll_down"]);
    }

    #[test]
    fn a_missing_side_is_filled_only_where_both_are_wanted() {
        let both = Capabilities {
            noul_sides: NoulSides::BothOrNone,
            ..Capabilities::default()
        };
        for (yes, no, capabilities, expected) in [
            (
                Some("y"),
                None,
                Capabilities::default(),
                json!({"true": "y"}),
            ),
            (
                Some("y"),
                None,
                both,
                json!({"true": "y", "false": "Anything else."}),
            ),
            (
                None,
                Some("n"),
                both,
                json!({"true": "Anything else.", "false": "n"}),
            ),
            (
                Some("y"),
                Some("n"),
                both,
                json!({"true": "y", "false": "n"}),
            ),
        ] {
            let questions = encoded(noul(yes, no), &capabilities).unwrap();
            assert_eq!(questions["n"]["criteria"], expected);
        }
        let bare = encoded(noul(None, None), &both).unwrap();
        assert!(bare["n"].get("criteria").is_none());
    }

    #[test]
    fn what_a_server_would_refuse_is_refused_here() {
        let small = Capabilities {
            options: 3,
            levels: 2,
            ..Capabilities::default()
        };
        let options = |names: &[&str]| {
            let options = names.iter().map(|name| candidate(name, name, "http://h/"));
            choice("q", options.collect())
        };
        let score = Question {
            id: "s".to_owned(),
            kind: QuestionKind::Score {
                instructions: String::new(),
                levels: vec![String::new(); 3],
            },
        };
        for question in [
            options(&["a"]),
            options(&["a", "b", "c", "d"]),
            options(&["a", "a"]),
            score,
            Question {
                id: String::new(),
                ..noul(None, None)
            },
        ] {
            let refused = encoded(question, &small);
            assert!(
                matches!(refused, Err(JudgeError::Capability { .. })),
                "{refused:?}"
            );
        }
        let mut asked = flat("goal", &[]);
        asked.questions.push(asked.questions[0].clone());
        assert!(matches!(
            encode("m", &asked, &small),
            Err(JudgeError::Capability { .. })
        ));
        asked.questions.truncate(1);
        asked.state = json!("x".repeat(300_000));
        let refused = encode("m", &asked, &Capabilities::default());
        assert_eq!(refused, Err(JudgeError::TooLarge));
    }
}
