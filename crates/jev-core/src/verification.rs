//! Verification: the independent verdict, its evidence, and the proof that alone makes a run VERIFIED.

use std::mem::discriminant;

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
    /// Whether another piece quotes the same words from the same part of a page.
    fn says_as(&self, other: &Self) -> bool {
        // Where in the text it stands may have moved.
        discriminant(&self.place) == discriminant(&other.place) && self.quote == other.quote
    }

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

/// What the last look says of a passed verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastLook {
    /// The page is the one that was verified.
    Same(Proof),
    /// The same document at the same address, but something on it changed. Quotes that still stand
    /// there may mean something else now ("5 days" also stands in "15 days"), so the verifier has to
    /// read this page too.
    Changed,
    /// Another page.
    Gone,
}

impl Proof {
    /// The last look. [`LastLook::Same`] only when the verification passed with evidence, for this
    /// goal, on the snapshot it was made from, and `again` is the same page in the same version.
    pub(crate) fn last_look(
        goal: &GoalDigest,
        verification: &Verification,
        judged: &Snapshot,
        again: &Snapshot,
    ) -> LastLook {
        let passed = verification.evidence_for(goal, judged.version()).is_some();
        let same_place = judged.document == again.document && judged.url == again.url;
        if !(passed && same_place) {
            LastLook::Gone
        } else if judged.version() == again.version() {
            LastLook::Same(Self(()))
        } else {
            LastLook::Changed
        }
    }

    /// A verdict on the last look itself, after one on the page before it. `Some` only when it passed
    /// for this goal and that look, with the same quotes.
    pub(crate) fn confirm(
        goal: &GoalDigest,
        before: &Verification,
        now: &Verification,
        again: &Snapshot,
    ) -> Option<Self> {
        let evidence = now.evidence_for(goal, again.version())?;
        let Verdict::Passed(earlier) = &before.verdict else {
            return None;
        };
        let same = evidence.len() == earlier.len()
            && evidence.iter().zip(earlier).all(|(a, b)| a.says_as(b));
        same.then_some(Self(()))
    }
}
