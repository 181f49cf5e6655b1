//! Verification: the independent verdict, its evidence, and the proof that alone makes a run VERIFIED.

use serde::{Deserialize, Serialize};

use crate::ids::{GoalDigest, PageVersion};
use crate::snapshot::Snapshot;

/// Where a piece of evidence stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum EvidencePlace {
    /// In the collapsed visible text, from this character on.
    Text {
        /// Characters before the quote.
        start: usize,
    },
    /// In the title.
    Title,
    /// The address itself.
    Url,
}

/// A quote from the page that supports the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The words themselves, white space collapsed. Never empty.
    pub quote: String,
    /// The words around it.
    pub context: String,
    /// Where it stands.
    #[serde(flatten)]
    pub place: EvidencePlace,
}

impl Evidence {
    /// Whether the same words can still be seen on `snapshot` where this evidence says.
    #[must_use]
    pub fn still_on(&self, snapshot: &Snapshot) -> bool {
        // White space stands on every page and says nothing.
        if self.quote.trim().is_empty() {
            return false;
        }
        match self.place {
            EvidencePlace::Text { .. } => snapshot.collapsed_text().contains(&self.quote),
            EvidencePlace::Title => snapshot.title.contains(&self.quote),
            EvidencePlace::Url => snapshot.url == self.quote,
        }
    }
}

/// Why a verifier did not pass a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// What is asked for was not found on the page.
    NotFound,
    /// The host gave nothing to check against.
    NoCriteria,
    /// It could not be decided.
    Undecided,
}

/// What a verifier says of one snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The page holds what the goal asks for; here is where.
    Passed(Vec<Evidence>),
    /// It does not, or it can't be told.
    Refused(Refusal),
}

/// A verdict bound to the goal it was made for and the snapshot it was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// The goal's digest.
    pub goal: GoalDigest,
    /// The version of the snapshot that was read.
    pub version: PageVersion,
    /// The verdict.
    pub verdict: Verdict,
}

impl Verification {
    /// The evidence, when the verdict passed with some and is bound to this goal and this version.
    #[must_use]
    pub fn evidence_for(&self, goal: &GoalDigest, version: &PageVersion) -> Option<&[Evidence]> {
        match &self.verdict {
            Verdict::Passed(evidence)
                if !evidence.is_empty() && self.goal == *goal && self.version == *version =>
            {
                Some(evidence)
            }
            Verdict::Passed(_) | Verdict::Refused(_) => None,
        }
    }
}

impl Verification {
    /// Whether the verdict is a refusal bound to this goal and this version.
    pub(crate) fn refuses(&self, goal: &GoalDigest, version: &PageVersion) -> bool {
        match &self.verdict {
            Verdict::Refused(_) => (&self.goal, &self.version) == (goal, version),
            Verdict::Passed(_) => false,
        }
    }
}

/// The proof that `Status::Verified` carries. Only this crate
/// can make one, and only from a passed verification whose evidence was seen again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof(());

impl Proof {
    /// The last look. `Some` only when the verification passed with evidence, for this goal, on the
    /// snapshot it was made from, and `again` shows the same document, address and evidence.
    pub(crate) fn bind(
        goal: &GoalDigest,
        verification: &Verification,
        judged: &Snapshot,
        again: &Snapshot,
    ) -> Option<Self> {
        let evidence = verification.evidence_for(goal, judged.version())?;
        let same_place = judged.document == again.document && judged.url == again.url;
        (same_place && evidence.iter().all(|piece| piece.still_on(again))).then_some(Self(()))
    }
}
