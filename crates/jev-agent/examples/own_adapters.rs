//! Adapters of one's own, and how to test them: a judge and a verifier run the conformance suites
//! of their ports. A session does the same with `testing::session`.
//!
//! `cargo run -p jev-agent --example own_adapters`; the suites need the feature `testing` of
//! `jev-core`.

use std::time::Duration;

use async_trait::async_trait;
use jev_core::action::Operation;
use jev_core::error::{JudgeError, VerifyError};
use jev_core::ports::{Judge, JudgeIdentity, JudgeKind, Verifier, VerifyRequest};
use jev_core::question::{Answer, ChoiceAnswer, Decision, QuestionKind, Questionnaire, Subject};
use jev_core::testing::{self, Broken, Clock, VerifierCase};
use jev_core::verification::{Evidence, EvidencePlace, Refusal, Verdict, Verification};

/// Takes the first link there is, else claims that nothing can be done.
struct FirstLink;

#[async_trait]
impl Judge for FirstLink {
    fn identity(&self) -> JudgeIdentity {
        JudgeIdentity {
            name: "first-link".to_owned(),
            model: None,
            kind: JudgeKind::Decides,
        }
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        _deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        let answers = questionnaire.questions.iter().map(|question| {
            let QuestionKind::Choice { options, .. } = &question.kind else {
                return Err(JudgeError::Capability {
                    what: "only choices are answered".to_owned(),
                });
            };
            let place = |wanted: fn(&Subject) -> bool| {
                options.iter().position(|option| wanted(&option.subject))
            };
            let chosen = place(|subject| matches!(subject, Subject::Candidate { .. }))
                .or_else(|| place(|subject| *subject == Subject::Operation(Operation::Blocked)))
                .unwrap_or(0);
            let probabilities = (0..options.len())
                .map(|place| f64::from(u8::from(place == chosen)))
                .collect();
            Ok(Answer::Choice(ChoiceAnswer::plain(probabilities)))
        });
        Ok(Decision {
            answers: answers.collect::<Result<_, _>>()?,
            ..Decision::default()
        })
    }
}

/// Passes a page that names a number of months.
struct Months;

#[async_trait]
impl Verifier for Months {
    async fn verify(
        &self,
        request: VerifyRequest,
        _deadline: Duration,
    ) -> Result<Verification, VerifyError> {
        let text = request.snapshot.collapsed_text();
        let found = text.find(" months").map(|end| {
            let start = text[..end].rfind(' ').map_or(0, |space| space + 1);
            (start, text[start..end].to_owned() + " months")
        });
        Ok(Verification {
            goal: request.goal_digest.clone(),
            version: request.snapshot.version().clone(),
            verdict: match found {
                Some((start, quote)) => Verdict::Passed(vec![Evidence {
                    quote,
                    context: text.to_owned(),
                    place: EvidencePlace::Text { start },
                }]),
                None => Verdict::Refused(Refusal::NotFound),
            },
        })
    }
}

/// Runs the suites.
async fn check() -> Result<(), Broken> {
    let clock = Clock::new(tokio::time::sleep);
    let answered = testing::judge(&FirstLink, &clock).await?;
    println!("the judge answers: {}", answered.answered.join(", "));
    let case = VerifierCase {
        goal: "How long does the warranty last?".to_owned(),
        holds: testing::page("http://help.test/w", "Warranty", "It lasts 24 months."),
        lacks: testing::page("http://help.test/", "Help", "How can we help?"),
    };
    testing::verifier(&Months, &case, &clock).await?;
    println!("the verifier conforms");
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Broken> {
    check().await
}
