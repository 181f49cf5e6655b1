//! What a task brought: its state, the reason underneath, and what was spent.

use std::time::Duration;

use jev_core::ports::{CloseReport, JudgeIdentity};
use jev_core::question::Usage;
use jev_core::report::ToolOutput;
use jev_core::status::{Cause, Handoff, Status};
use jev_core::verification::Evidence;
use serde::{Serialize, Serializer};

use super::plan::PlanError;

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TaskState {
    /// Its success criteria were verified, with evidence.
    Completed,
    /// Anything else.
    Blocked,
}

impl TaskState {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed => "COMPLETED",
            Self::Blocked => "BLOCKED",
        }
    }
}

/// Why a task ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// A run ended so.
    Run {
        /// Its status.
        status: Status,
        /// The typed reason behind it.
        cause: Option<Cause>,
    },
    /// There was no plan.
    Plan(PlanError),
    /// The one deadline came outside of a run.
    Deadline,
    /// The caller cancelled outside of a run.
    Cancelled,
    /// All judged steps of the task are used.
    Steps,
    /// All actions of the task are used.
    Actions,
    /// A step of the plan may not stand on the page the step before it ended on.
    OutsideStep,
}

impl Reason {
    /// The status underneath, as a run would say it.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Run { status, .. } => *status,
            Self::Plan(_) => Status::JudgeError,
            Self::Deadline => Status::Timeout,
            Self::Cancelled => Status::Cancelled,
            Self::Steps => Status::StepLimit,
            Self::Actions => Status::Rejected,
            Self::OutsideStep => Status::LeftScope,
        }
    }

    /// The reason in words, where the status does not say it all.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        match self {
            Self::Run { cause, .. } => cause.as_ref().map(ToString::to_string),
            Self::Plan(error) => Some(error.to_string()),
            Self::Actions => Some("all actions of the task are used up".to_owned()),
            Self::OutsideStep => {
                Some("the next step may not stand on the page before it".to_owned())
            }
            Self::Deadline | Self::Cancelled | Self::Steps => None,
        }
    }
}

/// What came of one step of the plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepResult {
    /// What it was to bring.
    pub objective: String,
    /// How its last run ended.
    pub status: Status,
    /// How many runs it took: more than one when proposals were refused.
    pub runs: u32,
}

/// What a task brought.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskResult {
    /// COMPLETED or BLOCKED.
    pub state: TaskState,
    /// Why: written as the status underneath, `reason`, and its words, `cause`.
    #[serde(flatten, serialize_with = "reason_and_cause")]
    pub reason: Reason,
    /// What the host should do next.
    pub handoff: Handoff,
    /// Actions tried, whatever their receipts.
    pub steps: u32,
    /// Recoveries.
    pub recoveries: u32,
    /// Judged steps.
    pub judged: u32,
    /// Who decided.
    pub judge: JudgeIdentity,
    /// Tokens of the judge.
    pub usage: Usage,
    /// Each step of the plan that was begun.
    pub plan: Vec<StepResult>,
    /// The evidence; empty unless COMPLETED.
    pub evidence: Vec<Evidence>,
    /// The last page, as the reading tool would show it.
    pub output: Option<ToolOutput>,
    /// How closing went.
    pub close: Option<CloseReport>,
    /// From the beginning to the end of closing.
    pub elapsed: Duration,
}

fn reason_and_cause<S: Serializer>(reason: &Reason, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Written {
        reason: Status,
        cause: Option<String>,
    }
    let written = Written {
        reason: reason.status(),
        cause: reason.words(),
    };
    written.serialize(serializer)
}

impl TaskResult {
    /// One line: state, steps and recoveries.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "{} | steps={} recoveries={}",
            self.state.name(),
            self.steps,
            self.recoveries
        )
    }
}
