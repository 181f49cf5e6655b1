//! Plans: ordered steps with their own acceptance criteria, and who makes them. A plan may narrow
//! what a task allows, never widen it.

use std::time::Duration;

use async_trait::async_trait;
use jev_core::access::{AccessError, AccessList, AccessPattern};
use jev_core::contract::{ContractError, Goal};
use jev_core::snapshot::Snapshot;
use jev_verify::SpecError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::task::{Criteria, Task, covers};
use crate::chat::ChatError;
use crate::memory::Experience;

/// Most steps of a plan.
pub const PLAN_STEPS_MAX: usize = 16;

/// One step, before it is checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepDraft {
    /// What it is to bring, in words.
    #[schemars(length(min = 1, max = 8000))]
    pub objective: String,
    /// Regular expressions that the page must match for the step to be done. The last step must
    /// meet the task's own criteria as well.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub expect: Vec<String>,
    /// The address it must end at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect_url: Option<String>,
    /// The pages this step may stand on; inside the task's own. Left out: all of those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub allow: Vec<String>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanStep {
    /// What it is to bring.
    pub objective: Goal,
    /// What its page must show.
    pub criteria: Criteria,
    /// Where it may go; none: wherever the task may.
    pub access: Option<AccessList>,
}

/// Ordered steps, at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan(Vec<PlanStep>);

/// What is wrong with a plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanFault {
    /// No step or too many.
    #[error("{count} steps; a plan has 1 to {PLAN_STEPS_MAX}")]
    Count {
        /// How many.
        count: usize,
    },
    /// An objective.
    #[error("step {step}: {fault}")]
    Objective {
        /// From 1 on.
        step: usize,
        /// Why.
        fault: ContractError,
    },
    /// An expression.
    #[error("step {step}: {fault}")]
    Criteria {
        /// From 1 on.
        step: usize,
        /// Why.
        fault: SpecError,
    },
    /// A step before the last without a criterion: nothing could ever end it.
    #[error("step {step}: no `expect`; only the last step may leave it out")]
    NoCriteria {
        /// From 1 on.
        step: usize,
    },
    /// A pattern that can't be read.
    #[error("step {step}: allow: {fault}")]
    Access {
        /// From 1 on.
        step: usize,
        /// Why.
        fault: AccessError,
    },
    /// A pattern outside of the task's own.
    #[error("step {step}: `{pattern}` is outside of what the task allows; a plan may not widen it")]
    Widens {
        /// From 1 on.
        step: usize,
        /// The pattern.
        pattern: String,
    },
}

impl Plan {
    /// One step: the goal itself.
    #[must_use]
    pub fn single(goal: &Goal) -> Self {
        Self(vec![PlanStep {
            objective: goal.clone(),
            criteria: Criteria::default(),
            access: None,
        }])
    }

    /// Checks drafts against what the task allows.
    ///
    /// # Errors
    /// The first fault.
    pub fn check(drafts: Vec<StepDraft>, access: &AccessList) -> Result<Self, PlanFault> {
        let count = drafts.len();
        if !(1..=PLAN_STEPS_MAX).contains(&count) {
            return Err(PlanFault::Count { count });
        }
        let steps: Result<Vec<PlanStep>, PlanFault> = (1..)
            .zip(drafts)
            .map(|(step, draft)| check_step(step, count, draft, access))
            .collect();
        Ok(Self(steps?))
    }

    /// Whether every step stays inside what a task allows. A plan may have been checked against
    /// something else: whoever makes plans may be anybody.
    ///
    /// # Errors
    /// [`PlanFault::Widens`], of the first pattern that does not.
    pub fn stays_inside(&self, access: &AccessList) -> Result<(), PlanFault> {
        for (step, planned) in (1..).zip(&self.0) {
            let patterns = planned.access.iter().flat_map(AccessList::patterns);
            narrower(step, patterns, access)?;
        }
        Ok(())
    }

    /// The steps.
    #[must_use]
    pub fn steps(&self) -> &[PlanStep] {
        &self.0
    }
}

fn check_step(
    step: usize,
    count: usize,
    draft: StepDraft,
    access: &AccessList,
) -> Result<PlanStep, PlanFault> {
    let objective =
        Goal::new(&draft.objective).map_err(|fault| PlanFault::Objective { step, fault })?;
    let criteria = Criteria {
        expect: draft.expect,
        expect_url: draft.expect_url,
    };
    criteria
        .verifier()
        .map_err(|fault| PlanFault::Criteria { step, fault })?;
    if criteria.is_empty() && step < count {
        return Err(PlanFault::NoCriteria { step });
    }
    let narrowed = if draft.allow.is_empty() {
        None
    } else {
        let list = AccessList::parse(draft.allow.iter().map(String::as_str))
            .map_err(|fault| PlanFault::Access { step, fault })?;
        narrower(step, list.patterns(), access)?;
        Some(list)
    };
    Ok(PlanStep {
        objective,
        criteria,
        access: narrowed,
    })
}

/// Refuses the first pattern of a step that reaches beyond a list.
fn narrower<'a>(
    step: usize,
    patterns: impl IntoIterator<Item = &'a AccessPattern>,
    access: &AccessList,
) -> Result<(), PlanFault> {
    match patterns.into_iter().find(|inner| !covers(access, inner)) {
        None => Ok(()),
        Some(wide) => Err(PlanFault::Widens {
            step,
            pattern: wide.to_string(),
        }),
    }
}

/// What a planner is given.
#[derive(Clone, Copy, Debug)]
pub struct PlanRequest<'a> {
    /// The task.
    pub task: &'a Task,
    /// The page it starts on. Untrusted.
    pub page: &'a Snapshot,
    /// What has worked before, promoted experience only.
    pub experience: &'a [Experience],
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// The chat model.
    #[error("{0}")]
    Chat(#[from] ChatError),
    /// Its answer is no plan.
    #[error("the planner's answer is not a plan: {what}")]
    Shape {
        /// What is wrong.
        what: String,
    },
    /// The plan breaks the contract.
    #[error("the planner's plan was refused: {0}")]
    Fault(#[from] PlanFault),
    /// It panicked.
    #[error("the planner panicked")]
    Panicked,
}

/// Makes plans.
#[async_trait]
pub trait Planner: Send + Sync {
    /// Its name, for people.
    fn name(&self) -> &str;

    /// Makes a plan. What it returns is checked again against the task.
    ///
    /// # Errors
    /// [`PlanError`].
    async fn plan(&self, request: PlanRequest<'_>, deadline: Duration) -> Result<Plan, PlanError>;

    /// Whether it makes anything of [`PlanRequest::experience`]. One that does not is given none,
    /// and what it was not given is not blamed when the task fails.
    fn reads_experience(&self) -> bool {
        true
    }

    /// The task's deadline has come or it was cancelled: stop whatever is under way.
    fn cancel(&self) {}
}

/// The task's own plan, or else one step: the goal itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContractPlanner;

#[async_trait]
impl Planner for ContractPlanner {
    fn name(&self) -> &str {
        "contract"
    }

    fn reads_experience(&self) -> bool {
        false
    }

    async fn plan(&self, request: PlanRequest<'_>, _deadline: Duration) -> Result<Plan, PlanError> {
        Ok(request
            .task
            .plan
            .clone()
            .unwrap_or_else(|| Plan::single(&request.task.goal)))
    }
}
