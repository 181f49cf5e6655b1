//! Small questionnaires for this crate's own tests, in the shapes the loop asks.

use std::time::Duration;

use jev_core::access::CanonicalUrl;
use jev_core::action::Operation;
use jev_core::error::JudgeError;
use jev_core::ports::Judge;
use jev_core::question::{
    Answer, ChoiceOption, Decision, Question, QuestionKind, Questionnaire, Stage, Subject,
};

/// A link candidate.
pub(crate) fn candidate(id: &str, label: &str, href: &str) -> ChoiceOption {
    ChoiceOption {
        name: id.to_owned(),
        description: format!("click the link `{label}` to {href}"),
        subject: Subject::Candidate {
            id: id.to_owned(),
            label: label.to_owned(),
            context: String::new(),
            href: Some(CanonicalUrl::parse(href).unwrap()),
        },
    }
}

pub(crate) fn operation(operation: Operation) -> ChoiceOption {
    ChoiceOption {
        name: operation.option_name().to_owned(),
        description: format!("the operation {}", operation.option_name()),
        subject: Subject::Operation(operation),
    }
}

pub(crate) fn choice(id: &str, options: Vec<ChoiceOption>) -> Question {
    Question {
        id: id.to_owned(),
        kind: QuestionKind::Choice {
            instructions: "What next?".to_owned(),
            options,
        },
    }
}

pub(crate) fn questionnaire(goal: &str, stage: Stage, questions: Vec<Question>) -> Questionnaire {
    Questionnaire {
        stage,
        goal: goal.to_owned(),
        state: serde_json::json!({
            "goal": goal,
            "url": "http://h/start.html",
            "title": "Start",
            "text": "Welcome to this page. It lists several documents for you to read.",
            "history": [],
        }),
        questions,
    }
}

const OPERATIONS: [Operation; 5] = [
    Operation::ScrollDown,
    Operation::Wait,
    Operation::Done,
    Operation::Blocked,
    Operation::None,
];

/// One question over everything.
pub(crate) fn flat(goal: &str, candidates: &[ChoiceOption]) -> Questionnaire {
    let options = candidates
        .iter()
        .cloned()
        .chain(OPERATIONS.map(operation))
        .collect();
    questionnaire(goal, Stage::Decide, vec![choice("action", options)])
}

/// An operation question and a target question.
pub(crate) fn two_head(goal: &str, candidates: &[ChoiceOption]) -> Questionnaire {
    let operations = [Operation::Click]
        .into_iter()
        .chain(OPERATIONS)
        .map(operation);
    let targets = candidates
        .iter()
        .cloned()
        .chain([operation(Operation::None)]);
    questionnaire(
        goal,
        Stage::Decide,
        vec![
            choice("operation", operations.collect()),
            choice("click_target", targets.collect()),
        ],
    )
}

/// Narrowing windows of `size` candidates.
pub(crate) fn windows(goal: &str, candidates: &[ChoiceOption], size: usize) -> Questionnaire {
    let questions = (0..)
        .zip(candidates.chunks(size))
        .map(|(index, chunk)| {
            let options = chunk.iter().cloned().chain([operation(Operation::None)]);
            choice(&format!("window_{index}"), options.collect())
        })
        .collect();
    questionnaire(goal, Stage::Narrow, questions)
}

/// Runs a judge that needs no network.
pub(crate) fn decide(
    judge: &dyn Judge,
    questionnaire: &Questionnaire,
) -> Result<Decision, JudgeError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(judge.decide(questionnaire, Duration::from_secs(10)))
}

/// The picked option's name and probability, question by question.
pub(crate) fn picks(questionnaire: &Questionnaire, decision: &Decision) -> Vec<(String, f64)> {
    questionnaire
        .questions
        .iter()
        .zip(&decision.answers)
        .map(|(question, answer)| {
            let (QuestionKind::Choice { options, .. }, Answer::Choice(answer)) =
                (&question.kind, answer)
            else {
                panic!("choices only");
            };
            assert_eq!(options.len(), answer.probabilities.len());
            let sum: f64 = answer.probabilities.iter().sum();
            assert!((sum - 1.0).abs() < 1e-9, "sum {sum}");
            let (index, p, _) = answer.top().unwrap();
            (options[index].name.clone(), p)
        })
        .collect()
}
