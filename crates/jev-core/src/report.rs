//! The report of a run, for the host, and the tool output, for the agent.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::action::Action;
use crate::contract::Mode;
use crate::error::JudgeError;
use crate::ids::{IntentId, PageVersion, RunId, Scope};
use crate::ledger::{Spent, Timings};
use crate::ports::CloseReport;
use crate::proposal::Proposal;
use crate::question::Usage;
use crate::receipt::Receipt;
use crate::snapshot::Snapshot;
use crate::status::{Cause, Handoff, Status};
use crate::verification::{Evidence, Verdict, Verification};

/// One judged step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepReport {
    /// From 1 on.
    pub number: u32,
    /// The address judged.
    pub url: String,
    /// The version judged.
    pub version: PageVersion,
    /// How many candidates were offered.
    pub offered: usize,
    /// What the judge proposed.
    pub proposal: Option<Proposal>,
    /// Why it proposed nothing.
    pub error: Option<JudgeError>,
    /// The intent, when one was written.
    pub intent: Option<IntentId>,
    /// The action dispatched under it.
    pub action: Option<Action>,
    /// What became of it. Every intent has one when the run has ended.
    pub receipt: Option<Receipt>,
    /// Tokens of all of the step's requests: narrowings and void answers included.
    pub usage: Usage,
    /// How long the judge took.
    pub judge_time: Duration,
    /// How long the dispatch or the wait took.
    pub act_time: Duration,
}

/// All that is known of a run. For the host only.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The run.
    pub run: RunId,
    /// Who it belonged to.
    pub scope: Scope,
    /// How far it was to go.
    pub mode: Mode,
    /// How it ended.
    pub status: Status,
    /// What the host should do next.
    pub handoff: Handoff,
    /// The typed reason, where there is one.
    pub cause: Option<Cause>,
    /// The last page that was read and allowed.
    pub page: Option<Arc<Snapshot>>,
    /// Every judged step.
    pub steps: Vec<StepReport>,
    /// The verification that ended the run, or the last one made.
    pub verification: Option<Verification>,
    /// How closing went; `None` when nothing was opened.
    pub close: Option<CloseReport>,
    /// What was spent.
    pub spent: Spent,
    /// Where the time went.
    pub timings: Timings,
    /// From the first input to the end of closing.
    pub elapsed: Duration,
}

impl Report {
    /// The evidence: not empty exactly when the status is VERIFIED.
    #[must_use]
    pub fn evidence(&self) -> &[Evidence] {
        match (&self.status, &self.verification) {
            (
                Status::Verified(_),
                Some(Verification {
                    verdict: Verdict::Passed(evidence),
                    ..
                }),
            ) => evidence,
            (_, Some(_) | None) => &[],
        }
    }

    /// How many actions were dispatched, or may have been.
    #[must_use]
    pub fn actions(&self) -> usize {
        self.steps
            .iter()
            .filter(|step| step.receipt.is_some_and(|receipt| receipt.maybe_sent()))
            .count()
    }

    /// What the agent is told: never proposals, probabilities or internals.
    #[must_use]
    pub fn tool_output(&self) -> ToolOutput {
        let page = self.page.as_deref();
        ToolOutput {
            status: self.status,
            url: page.map_or_else(String::new, |page| page.url.clone()),
            version: page.map(|page| page.version().clone()),
            visible_text: page.map_or_else(String::new, |page| page.text.clone()),
            evidence: self.evidence().to_vec(),
        }
    }
}

/// What the agent is told. The text is untrusted page content.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolOutput {
    /// How the run ended.
    pub status: Status,
    /// The address of the last page.
    pub url: String,
    /// The last page's version.
    pub version: Option<PageVersion>,
    /// The last page's visible text. Untrusted.
    #[serde(rename = "visibleText")]
    pub visible_text: String,
    /// The evidence; empty unless VERIFIED.
    pub evidence: Vec<Evidence>,
}

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Snapshot", 12)?;
        out.serialize_field("scope", &self.scope)?;
        out.serialize_field("document", &self.document)?;
        out.serialize_field("version", self.version())?;
        out.serialize_field("url", &self.url)?;
        out.serialize_field("title", &self.title)?;
        out.serialize_field("text", &self.text)?;
        out.serialize_field("candidates", &self.candidates)?;
        out.serialize_field("scroll", &self.scroll)?;
        out.serialize_field("omitted", &self.omitted)?;
        out.serialize_field("settled", &self.settled)?;
        out.serialize_field("reach", &self.reach)?;
        out.serialize_field("http_status", &self.http_status)?;
        out.end()
    }
}
