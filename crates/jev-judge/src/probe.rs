//! A start-up probe: one tiny question that any judge must be able to answer.

use std::time::{Duration, Instant};

use serde_json::json;

use jev_core::error::JudgeError;
use jev_core::ports::Judge;
use jev_core::question::{
    Answer, ChoiceOption, Decision, Question, QuestionKind, Questionnaire, Stage, Subject,
};

/// What a probe found.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// The judge's decision, checked like any other.
    pub decision: Decision,
    /// How long it took, a connection included.
    pub elapsed: Duration,
    /// Whether the judge picked the option that says the same as the state.
    pub verdict: ProbeVerdict,
}

/// Whether a probe's answer was the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeVerdict {
    /// The judge reads.
    Right,
    /// The reply is in order, but the answer is not.
    Wrong,
}

/// Asks a judge the tiny question. A scripted judge's next decision is used up by it.
///
/// # Errors
/// Whatever the judge fails with.
pub async fn probe(judge: &dyn Judge, deadline: Duration) -> Result<Probe, JudgeError> {
    let option = |name: &str, description: &str| ChoiceOption {
        name: name.to_owned(),
        description: description.to_owned(),
        subject: Subject::Opaque,
    };
    let questionnaire = Questionnaire {
        stage: Stage::Decide,
        goal: String::new(),
        state: json!({"note": "The invoice for March was paid twice."}),
        questions: vec![Question {
            id: "topic".to_owned(),
            kind: QuestionKind::Choice {
                instructions: "What is the note about?".to_owned(),
                options: vec![
                    option("weather", "rain, wind or sunshine"),
                    option("payment", "an invoice that was paid"),
                ],
            },
        }],
    };
    let begun = Instant::now();
    let decision = judge.decide(&questionnaire, deadline).await?;
    let elapsed = begun.elapsed();
    let top = match decision.answers.first() {
        Some(Answer::Choice(choice)) => choice.top().map(|(index, _, _)| index),
        Some(Answer::Noul { .. } | Answer::Score { .. }) | None => None,
    };
    Ok(Probe {
        decision,
        elapsed,
        verdict: match top {
            Some(1) => ProbeVerdict::Right,
            Some(_) | None => ProbeVerdict::Wrong,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::LexicalJudge;

    #[tokio::test]
    async fn the_lexical_judge_reads() {
        let found = probe(&LexicalJudge::new(), Duration::from_secs(5)).await;
        assert_eq!(found.map(|probe| probe.verdict), Ok(ProbeVerdict::Right));
    }
}
