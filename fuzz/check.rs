//! What must hold for any bytes that a server may send. The fuzz target runs it on mutations, an
//! ordinary test of `jev-judge` on the seed corpus.

use jev_core::error::JudgeError;
use jev_core::question::{
    Answer, ChoiceOption, Question, QuestionKind, Questionnaire, Stage, Subject,
};
use jev_judge::validate::{ModelRule, Rules, UsageRule, validate};

/// Options of the choice, with capitals, a composed letter and another script.
const OPTIONS: [&str; 4] = ["Pay", "caf\u{e9}", "\u{d658}\u{bd88}", "none"];
/// Levels of the score.
const LEVELS: usize = 3;

fn asked() -> Questionnaire {
    let question = |id: &str, kind| Question {
        id: id.to_owned(),
        kind,
    };
    let options = OPTIONS.map(|name| ChoiceOption {
        name: name.to_owned(),
        description: String::new(),
        subject: Subject::Opaque,
    });
    Questionnaire {
        stage: Stage::Decide,
        goal: String::new(),
        state: serde_json::Value::Null,
        questions: vec![
            question(
                "next.step \u{1f3af}",
                QuestionKind::Choice {
                    instructions: "Which?".to_owned(),
                    options: options.into(),
                },
            ),
            question(
                "paid",
                QuestionKind::Noul {
                    instructions: "Is it?".to_owned(),
                    yes: None,
                    no: None,
                },
            ),
            question(
                "mood",
                QuestionKind::Score {
                    instructions: "How much?".to_owned(),
                    levels: vec!["level".to_owned(); LEVELS],
                },
            ),
        ],
    }
}

/// Any bytes give either a decision that keeps every promise, or a protocol fault.
pub(crate) fn reply(bytes: &[u8]) {
    let asked = asked();
    for rules in [
        Rules::default(),
        Rules {
            model: ModelRule::Requested("jev-1.13.0".to_owned()),
            usage: UsageRule::Optional,
        },
    ] {
        match validate(&asked, bytes, &rules) {
            Ok(decision) => {
                let [
                    Answer::Choice(choice),
                    Answer::Noul { noul },
                    Answer::Score { probabilities },
                ] = &decision.answers[..]
                else {
                    panic!("answers of other kinds than asked");
                };
                distribution(&choice.probabilities, OPTIONS.len());
                distribution(probabilities, LEVELS);
                assert!((0.0..=1.0).contains(noul));
                assert!(decision.model.is_some_and(|name| name.is_ascii()));
            }
            Err(JudgeError::Protocol { question, .. }) => {
                let known = |id: &String| asked.questions.iter().any(|q| q.id == *id);
                assert!(question.as_ref().is_none_or(known));
            }
            Err(other) => panic!("another error than a fault of the protocol: {other}"),
        }
    }
}

fn distribution(p: &[f64], count: usize) {
    assert_eq!(p.len(), count);
    assert!(p.iter().all(|p| (0.0..=1.0).contains(p)));
    assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-6);
}
