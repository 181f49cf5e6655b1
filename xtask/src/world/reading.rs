//! Reading: what a decision and a verdict say, read straight from the rules and by other code than
//! the navigator's.

use jev_core::action::Operation;
use jev_core::gate::{Gate, GateKind};
use jev_core::ids::{CandidateId, GoalDigest};
use jev_core::limits::{Limits, STATE_CHARS};
use jev_core::question::{
    Answer, ChoiceOption, Decision, QuestionKind, Questionnaire, Stage, Subject,
};
use jev_core::snapshot::Snapshot;
use jev_core::verification::{Evidence, EvidencePlace, Verdict, Verification};

use super::judge::options;

/// What a decision says, read from the question as it was put.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// What to do.
    pub operation: Operation,
    /// On which candidate.
    pub target: Option<CandidateId>,
    /// Whether the gate lets it pass.
    pub strong: bool,
}

/// The most probable option and how far it is ahead; nothing when the answer breaks a rule.
fn best(options: usize, answer: &Answer) -> Option<(usize, f64, f64)> {
    let Answer::Choice(choice) = answer else {
        return None;
    };
    let p = &choice.probabilities;
    let total: f64 = p.iter().sum();
    let lawful = p.len() == options
        && p.iter().all(|p| p.is_finite() && *p >= 0.0 && *p <= 1.0)
        && (0.9..=1.06).contains(&total);
    if !lawful {
        return None;
    }
    let mut order: Vec<usize> = (0..options).collect();
    order.sort_by(|&a, &b| {
        p.get(b)
            .partial_cmp(&p.get(a))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let first = *order.first()?;
    let second = order.get(1).and_then(|&index| p.get(index)).copied();
    Some((first, *p.get(first)?, second.unwrap_or(0.0)))
}

fn strong(gate: &Gate, first: f64, second: f64) -> bool {
    let statistic = match gate.kind() {
        GateKind::Probability => first,
        GateKind::Share => first / (first + second),
    };
    statistic >= gate.threshold() - 1e-6
}

/// Whether every option has a name of its own, and that of a candidate is its id.
pub fn has_own_names(asked: &Questionnaire) -> bool {
    (0..asked.questions.len()).all(|number| {
        let options = options(asked, number);
        let mut names: Vec<&str> = options.iter().map(|option| option.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let as_named = |option: &ChoiceOption| match &option.subject {
            Subject::Candidate { id, .. } => *id == option.name,
            Subject::Operation(_) | Subject::Opaque => true,
        };
        names.len() == options.len()
            && names.iter().all(|name| !name.trim().is_empty())
            && options.iter().all(as_named)
    })
}

/// Reads a decision. Nothing when it breaks a rule or only narrows.
pub fn read(questionnaire: &Questionnaire, decision: &Decision, gate: &Gate) -> Option<Choice> {
    let lawful = decision.answers.len() == questionnaire.questions.len();
    if !lawful || questionnaire.stage == Stage::Narrow {
        return None;
    }
    let head = |number: usize| {
        let options = options(questionnaire, number);
        let (place, first, second) = best(options.len(), decision.answers.get(number)?)?;
        Some((
            options.get(place)?.subject.clone(),
            strong(gate, first, second),
        ))
    };
    let heads: Option<Vec<_>> = (0..questionnaire.questions.len()).map(head).collect();
    let mut heads = heads?.into_iter();
    let (mut subject, mut passes) = heads.next()?;
    if subject == Subject::Operation(Operation::Click) {
        let (target, target_passes) = heads.next()?;
        subject = target;
        passes = passes && target_passes;
    }
    match subject {
        Subject::Operation(operation) => Some(Choice {
            operation,
            target: None,
            strong: passes,
        }),
        Subject::Candidate { id, .. } => Some(Choice {
            operation: Operation::Click,
            target: Some(CandidateId::new(id)),
            strong: passes,
        }),
        Subject::Opaque => None,
    }
}

/// Whether a decision keeps every rule of an answer.
pub fn is_lawful(questionnaire: &Questionnaire, decision: &Decision) -> bool {
    decision.answers.len() == questionnaire.questions.len()
        && decision
            .answers
            .iter()
            .enumerate()
            .all(|(number, answer)| best(options(questionnaire, number).len(), answer).is_some())
}

/// Whether a question is larger than its limits: too many candidates, or too many characters when
/// it is written as the Choice protocol writes it. No page of this world comes near the default
/// limit, so only smaller ones are counted.
pub fn is_oversized(asked: &Questionnaire, limits: &Limits) -> bool {
    let links = |number| {
        let offered = options(asked, number).iter();
        let links = offered.filter(|option| matches!(option.subject, Subject::Candidate { .. }));
        links.count()
    };
    let most = (0..asked.questions.len()).map(links).max();
    if most.is_some_and(|most| most > limits.candidates as usize) {
        return true;
    }
    if limits.state_chars >= STATE_CHARS.default {
        return false;
    }
    let mut chars = asked.state.to_string().chars().count();
    for question in &asked.questions {
        if let QuestionKind::Choice {
            instructions,
            options,
        } = &question.kind
        {
            // At least the quotes, colons and braces: what is escaped is not counted.
            chars += 48 + instructions.chars().count();
            let option = |option: &ChoiceOption| {
                5 + option.name.chars().count() + option.description.chars().count()
            };
            chars += options.iter().map(option).sum::<usize>();
        }
    }
    chars > limits.state_chars as usize
}

/// Whether evidence is on a page.
pub fn stands_on(evidence: &Evidence, page: &Snapshot) -> bool {
    let text = || {
        let words: Vec<&str> = page.text.split_whitespace().collect();
        words.join(" ")
    };
    !evidence.quote.trim().is_empty()
        && match evidence.place {
            EvidencePlace::Text { .. } => text().contains(&evidence.quote),
            EvidencePlace::Title => page.title.contains(&evidence.quote),
            EvidencePlace::Url => page.url == evidence.quote,
        }
}

/// The evidence of a verdict that counts: passed, not empty, for this goal, made from this page,
/// and really on it.
pub fn evidence<'a>(
    verification: &'a Verification,
    goal: &GoalDigest,
    page: &Snapshot,
) -> Option<&'a [Evidence]> {
    match &verification.verdict {
        Verdict::Passed(evidence)
            if !evidence.is_empty()
                && verification.goal == *goal
                && verification.version == *page.version()
                && evidence.iter().all(|piece| stands_on(piece, page)) =>
        {
            Some(evidence)
        }
        Verdict::Passed(_) | Verdict::Refused(_) => None,
    }
}

/// Whether two verdicts quote the same words of the same parts of a page.
pub fn has_same_words(before: &Verification, now: &Verification) -> bool {
    let said = |verification: &Verification| match &verification.verdict {
        Verdict::Passed(evidence) => {
            let part = |piece: &Evidence| match piece.place {
                EvidencePlace::Text { .. } => "text",
                EvidencePlace::Title => "title",
                EvidencePlace::Url => "url",
            };
            let pieces = evidence
                .iter()
                .map(|piece| (part(piece), piece.quote.clone()));
            Some(pieces.collect::<Vec<_>>())
        }
        Verdict::Refused(_) => None,
    };
    said(before).is_some() && said(before) == said(now)
}
