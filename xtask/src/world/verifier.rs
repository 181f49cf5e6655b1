//! The verifiers of the simulated world: one that finds the answer, and every way of being wrong.

use jev_core::error::VerifyError;
use jev_core::ids::{GoalDigest, PageVersion};
use jev_core::ports::VerifyRequest;
use jev_core::snapshot::Snapshot;
use jev_core::verification::{Evidence, EvidencePlace, Refusal, Verdict, Verification};

use super::chance::Chance;
use super::mix::{Fault, Mix};
use super::site::ANSWER;

fn quote(words: &str) -> Evidence {
    Evidence {
        quote: words.to_owned(),
        context: String::new(),
        place: EvidencePlace::Text { start: 0 },
    }
}

/// What the page in front of the verifier deserves.
fn honest(snapshot: &Snapshot) -> Verdict {
    if snapshot.text.contains(ANSWER) {
        Verdict::Passed(vec![quote(ANSWER)])
    } else {
        Verdict::Refused(Refusal::NotFound)
    }
}

/// What a verifier answers.
pub fn answer(
    chance: &mut Chance,
    mix: &Mix,
    request: &VerifyRequest,
) -> Result<Verification, VerifyError> {
    if chance.hits(mix.rate(Fault::VerifierFails)) {
        return Err(chance
            .pick(&[VerifyError::Failed, VerifyError::Timeout])
            .unwrap_or(VerifyError::Failed));
    }
    let page = &request.snapshot;
    let mut verification = Verification {
        goal: request.goal_digest.clone(),
        version: page.version().clone(),
        verdict: honest(page),
    };
    if chance.hits(mix.rate(Fault::Lies)) {
        let some = match chance.below(3) {
            0 => Evidence {
                quote: page.title.clone(),
                context: String::new(),
                place: EvidencePlace::Title,
            },
            1 => Evidence {
                quote: page.url.clone(),
                context: String::new(),
                place: EvidencePlace::Url,
            },
            _ => quote(page.collapsed_text()),
        };
        verification.verdict = Verdict::Passed(vec![some]);
    }
    if chance.hits(mix.rate(Fault::FalseEvidence)) {
        let false_words = match chance.below(4) {
            0 => quote("The warranty never ends."),
            1 => quote(""),
            2 => quote(" "),
            _ => Evidence {
                quote: "http://site/".to_owned(),
                context: String::new(),
                place: EvidencePlace::Url,
            },
        };
        let mut evidence = vec![false_words];
        if chance.below(2) == 1 {
            evidence.insert(0, quote(page.collapsed_text()));
        }
        verification.verdict = Verdict::Passed(evidence);
    }
    if chance.hits(mix.rate(Fault::NoEvidence)) {
        verification.verdict = Verdict::Passed(Vec::new());
    }
    if chance.hits(mix.rate(Fault::Flaps)) {
        verification.verdict = Verdict::Refused(Refusal::Undecided);
    }
    if chance.hits(mix.rate(Fault::WrongVersion)) {
        verification.version = PageVersion::new("another version");
    }
    if chance.hits(mix.rate(Fault::WrongGoal)) {
        verification.goal = GoalDigest::new("another goal");
    }
    Ok(verification)
}
