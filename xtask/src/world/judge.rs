//! The judges of the simulated world: one that knows the way, and every way of being wrong.

use jev_core::action::Operation;
use jev_core::error::{AnswerFault, JudgeError};
use jev_core::question::{
    Answer, ChoiceAnswer, ChoiceOption, Decision, QuestionKind, Questionnaire, Stage, Subject,
    Usage,
};

use super::chance::Chance;
use super::mix::{Fault, Mix};
use super::site::Next;

/// The options of a question, in its order.
pub fn options(questionnaire: &Questionnaire, number: usize) -> &[ChoiceOption] {
    match questionnaire
        .questions
        .get(number)
        .map(|question| &question.kind)
    {
        Some(QuestionKind::Choice { options, .. }) => options,
        Some(QuestionKind::Noul { .. } | QuestionKind::Score { .. }) | None => &[],
    }
}

fn operation_at(options: &[ChoiceOption], operation: Operation) -> Option<usize> {
    options
        .iter()
        .position(|option| option.subject == Subject::Operation(operation))
}

/// Where the option stands that takes the next step of someone who knows the way.
fn place(options: &[ChoiceOption], next: &Next) -> Option<usize> {
    let operation = |operation| operation_at(options, operation);
    match next {
        Next::Click(label, href) => options
            .iter()
            .position(|option| match &option.subject {
                Subject::Candidate {
                    label: shown,
                    href: leads,
                    ..
                } => shown == label && leads == href,
                Subject::Operation(_) | Subject::Opaque => false,
            })
            // A question over operations only.
            .or_else(|| operation(Operation::Click)),
        Next::Down => operation(Operation::ScrollDown),
        Next::Up => operation(Operation::ScrollUp),
        Next::Wait => operation(Operation::Wait),
        Next::Done => operation(Operation::Done),
        Next::Blocked => operation(Operation::Blocked),
    }
}

/// All on one option, or, when it is not among them, on `none` or else the last one.
fn sure(options: &[ChoiceOption], place: Option<usize>, p: f64) -> Answer {
    let fallback =
        operation_at(options, Operation::None).unwrap_or(options.len().saturating_sub(1));
    let place = place.unwrap_or(fallback);
    let others = options.len().saturating_sub(1).max(1);
    let rest = (1.0 - p) / others as f64;
    let probabilities = (0..options.len())
        .map(|index| if index == place { p } else { rest })
        .collect();
    Answer::Choice(ChoiceAnswer::plain(probabilities))
}

fn decision(answers: Vec<Answer>) -> Decision {
    Decision {
        answers,
        usage: Usage {
            input_tokens: 100,
            output_tokens: 1,
        },
        attempts: 1,
        ..Decision::default()
    }
}

/// What a judge answers.
pub fn answer(
    chance: &mut Chance,
    mix: &Mix,
    questionnaire: &Questionnaire,
    next: &Next,
    earlier: Option<&Decision>,
) -> Result<Decision, JudgeError> {
    if chance.hits(mix.rate(Fault::JudgeFails)) {
        return Err(error(chance));
    }
    if let Some(earlier) = earlier
        && chance.hits(mix.rate(Fault::StaleAnswer))
    {
        return Ok(earlier.clone());
    }
    let claim = [
        (Fault::ClaimsDone, Operation::Done),
        (Fault::ClaimsBlocked, Operation::Blocked),
        (Fault::Waits, Operation::Wait),
        (Fault::ChoosesNone, Operation::None),
    ]
    .into_iter()
    .find(|(fault, _)| chance.hits(mix.rate(*fault)))
    .map(|(_, operation)| operation);
    let wrong = chance.hits(mix.rate(Fault::Wrong));
    let answers = (0..questionnaire.questions.len())
        .map(|number| {
            let options = options(questionnaire, number);
            // Each head by itself: a sure operation may stand beside an unsure target.
            let p = if chance.hits(mix.rate(Fault::Weak)) {
                chance.pick(&[0.3, 0.54, 0.6, 0.79]).unwrap_or(0.3)
            } else if questionnaire.stage == Stage::Narrow && chance.below(2) == 1 {
                // Which of some targets is best is never certain; no gate asks for it.
                0.7
            } else {
                1.0
            };
            let place = match claim {
                _ if wrong => Some(astray(chance, options)),
                Some(operation) => operation_at(options, operation),
                None => place(options, next),
            };
            sure(options, place, p)
        })
        .collect();
    let mut decision = decision(answers);
    if chance.hits(mix.rate(Fault::CountsHigh)) {
        decision.usage.input_tokens = u64::MAX - 1;
        decision.usage.output_tokens = u64::MAX;
    }
    if chance.hits(mix.rate(Fault::Malformed)) {
        break_rule(chance, &mut decision);
    }
    Ok(decision)
}

/// Any option, but seldom one that ends the run: a judge that strays shows more than one that stops.
fn astray(chance: &mut Chance, options: &[ChoiceOption]) -> usize {
    let ends = |place: usize| {
        let subject = options.get(place).map(|option| &option.subject);
        [Operation::Done, Operation::Blocked, Operation::None]
            .iter()
            .any(|end| subject == Some(&Subject::Operation(*end)))
    };
    let mut place = 0;
    for _ in 0..3 {
        place = chance.below(options.len() as u32) as usize;
        if !ends(place) {
            break;
        }
    }
    place
}

/// Breaks one rule of an answer.
fn break_rule(chance: &mut Chance, decision: &mut Decision) {
    let kind = chance.below(9);
    if kind == 0 {
        decision.answers.pop();
        return;
    }
    let Some(first) = decision.answers.first_mut() else {
        return;
    };
    let Answer::Choice(choice) = first else {
        return;
    };
    let p = &mut choice.probabilities;
    match kind {
        1 => p.push(0.0),
        2 => {
            p.pop();
        }
        3 => p.iter_mut().for_each(|p| *p = 0.0),
        4 => p.iter_mut().for_each(|p| *p = 1.0),
        5 => set_first(p, f64::NAN),
        6 => set_first(p, -0.5),
        7 => set_first(p, 2.0),
        _ => *first = Answer::Noul { noul: 1.0 },
    }
}

fn set_first(p: &mut [f64], value: f64) {
    if let Some(first) = p.first_mut() {
        *first = value;
    }
}

fn error(chance: &mut Chance) -> JudgeError {
    match chance.below(4) {
        0 => JudgeError::Timeout,
        1 => JudgeError::RateLimited,
        2 => JudgeError::Server { status: 500 },
        _ => JudgeError::Protocol {
            question: None,
            fault: AnswerFault::Shape,
        },
    }
}
