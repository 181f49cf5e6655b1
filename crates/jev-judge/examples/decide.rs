//! A judge alone: one multiple-choice question, answered in process, without a browser or a key.
//!
//! `cargo run -p jev-judge --example decide`

use std::time::Duration;

use jev_core::access::CanonicalUrl;
use jev_core::action::Operation;
use jev_core::ports::Judge;
use jev_core::question::{
    Answer, ChoiceOption, Question, QuestionKind, Questionnaire, Stage, Subject,
};
use jev_judge::lexical::LexicalJudge;
use serde_json::json;

type Failure = Box<dyn std::error::Error>;

fn link(id: &str, label: &str, to: &str) -> Result<ChoiceOption, Failure> {
    Ok(ChoiceOption {
        name: id.to_owned(),
        description: format!("Follow the link \u{201c}{label}\u{201d} to {to}"),
        subject: Subject::Candidate {
            id: id.to_owned(),
            label: label.to_owned(),
            context: String::new(),
            href: Some(CanonicalUrl::parse(to)?),
        },
    })
}

/// Every option with its probability.
pub(crate) fn decide() -> Result<Vec<(String, f64)>, Failure> {
    let goal = "How long is the warranty?";
    let options = vec![
        link("c1", "Opening hours", "http://shop.test/hours")?,
        link("c2", "Warranty policy", "http://shop.test/warranty")?,
        link("c3", "Careers", "http://shop.test/jobs")?,
        ChoiceOption {
            name: Operation::None.option_name().to_owned(),
            description: "None of these leads to the goal.".to_owned(),
            subject: Subject::Operation(Operation::None),
        },
    ];
    let names: Vec<String> = options
        .iter()
        .map(|option| option.description.clone())
        .collect();
    let questionnaire = Questionnaire {
        stage: Stage::Decide,
        goal: goal.to_owned(),
        state: json!({"goal": goal, "title": "A shop", "text": "Welcome.", "history": []}),
        questions: vec![Question {
            id: "next_step".to_owned(),
            kind: QuestionKind::Choice {
                instructions: "Choose the one next step.".to_owned(),
                options,
            },
        }],
    };
    let judge = LexicalJudge::new();
    let decision = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(judge.decide(&questionnaire, Duration::from_secs(1)))?;
    match decision.answers.first() {
        Some(Answer::Choice(choice)) => Ok(names
            .into_iter()
            .zip(choice.probabilities.iter().copied())
            .collect()),
        Some(Answer::Noul { .. } | Answer::Score { .. }) | None => Err("no choice".into()),
    }
}

pub(crate) fn main() -> Result<(), Failure> {
    for (name, p) in decide()? {
        println!("{:<20} {p:.2}  {name}", "#".repeat((p * 20.0) as usize));
    }
    Ok(())
}
