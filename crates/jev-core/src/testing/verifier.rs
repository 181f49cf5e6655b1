//! What every verifier must do: answer for the goal and the page it was given, with evidence that
//! stands there, the same each time.

use std::sync::Arc;

use super::{Broken, Clock, DEADLINE, abandon, both, goal, hold};
use crate::ids::GoalDigest;
use crate::ports::{Verifier, VerifyRequest};
use crate::snapshot::Snapshot;
use crate::verification::{Verdict, Verification};

/// A goal, a page that satisfies it and one that does not.
#[derive(Clone, Debug)]
pub struct VerifierCase {
    /// The goal.
    pub goal: String,
    /// A page that the verifier must pass.
    pub holds: Arc<Snapshot>,
    /// A page that it must refuse.
    pub lacks: Arc<Snapshot>,
}

/// Runs the suite for verifiers.
///
/// # Errors
/// The first rule that is broken.
pub async fn verifier(
    verifier: &dyn Verifier,
    case: &VerifierCase,
    clock: &Clock,
) -> Result<(), Broken> {
    let goal = goal(&case.goal)?;
    let request = |page: &Arc<Snapshot>, digest: GoalDigest| VerifyRequest {
        goal: goal.clone(),
        goal_digest: digest,
        snapshot: Arc::clone(page),
    };
    let ask = async |page: &Arc<Snapshot>, digest: GoalDigest| {
        let call = verifier.verify(request(page, digest.clone()), DEADLINE);
        let verification = clock
            .bounded(DEADLINE, call)
            .await?
            .map_err(|error| Broken::new("a page at rest gets a verdict", error.to_string()))?;
        bound(&verification, page, &digest)?;
        Ok::<Verification, Broken>(verification)
    };
    let digest = || goal.digest();

    let passed = ask(&case.holds, digest()).await?;
    let Verdict::Passed(evidence) = &passed.verdict else {
        return Err(Broken::new(
            "a page that satisfies the goal is passed",
            format!("{:?}", passed.verdict),
        ));
    };
    hold(
        !evidence.is_empty(),
        "a passed verdict has evidence",
        || "none was given".to_owned(),
    )?;
    for piece in evidence {
        hold(
            piece.still_on(&case.holds),
            "every piece of evidence stands on the page it was made from",
            || format!("{:?} does not", piece.quote),
        )?;
    }
    let refused = ask(&case.lacks, digest()).await?;
    hold(
        matches!(refused.verdict, Verdict::Refused(_)),
        "a page that does not satisfy the goal is refused",
        || format!("{:?}", refused.verdict),
    )?;

    // Neither what was asked before nor what was given up decides what is answered now.
    abandon(verifier.verify(request(&case.lacks, digest()), DEADLINE)).await;
    let again = ask(&case.holds, digest()).await?;
    let same = "the same page gets the same verdict, whatever was asked before";
    hold(again == passed, same, || format!("{again:?}"))?;
    let (one, other) = both(ask(&case.holds, digest()), ask(&case.lacks, digest())).await;
    let together = (one?, other?);
    hold(
        together == (passed, refused),
        "calls at the same time do not meddle",
        || format!("{together:?}"),
    )?;
    // Another goal's digest is carried back as it came: `bound` has a look at that.
    ask(&case.holds, GoalDigest::new("another goal")).await?;
    Ok(())
}

fn bound(verification: &Verification, page: &Snapshot, digest: &GoalDigest) -> Result<(), Broken> {
    hold(
        verification.goal == *digest,
        "a verification carries the digest of the goal it was asked for",
        || format!("{} instead of {digest}", verification.goal),
    )?;
    hold(
        verification.version == *page.version(),
        "a verification carries the version of the page it was made from",
        || format!("{} instead of {}", verification.version, page.version()),
    )
}
