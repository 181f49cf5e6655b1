//! The task runtime: plan, execute, verify, recover, under one deadline. Each step of a plan is a run
//! of the loop on one tab; only the verifier ends a step.

mod chat_planner;
pub mod demos;
mod experience;
mod opening;
mod plan;
mod policy;
mod result;
mod task;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jev_core::access::CanonicalUrl;
use jev_core::carried::Carried;
use jev_core::contract::{Contract, ContractDraft, Mode};
use jev_core::error::{JudgeError, SessionError};
use jev_core::gate::Gate;
use jev_core::ids::{RunId, Scope};
use jev_core::limits::{BUDGET_MIN, CLOSE_GRACE, Limits, STATE_CHARS};
use jev_core::ports::{Judge, JudgeIdentity, JudgeKind, SessionFactory, Verifier};
use jev_core::question::{Decision, Questionnaire};
use jev_core::redact::Redactor;
use jev_core::report::{Report, StepReport};
use jev_core::snapshot::Snapshot;
use jev_core::status::Status;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::driver::{Observer, Observers, Ports, resume};
use crate::lease::Tab;
use crate::memory::Memory;
use crate::trajectory::Trajectory;
use experience::{HintedJudge, Recalled};
use opening::{failed, guarded, open, stopped, verifier, within};
use policy::PolicyJudge;

pub use chat_planner::ChatPlanner;
pub use plan::{
    ContractPlanner, PLAN_STEPS_MAX, Plan, PlanError, PlanFault, PlanRequest, PlanStep, Planner,
    StepDraft,
};
pub use policy::{Offered, Past, Policy, PolicyError, Proposed, ScriptedPolicy, View};
pub use result::{Reason, StepResult, TaskResult, TaskState};
pub use task::{
    ActionsFile, BudgetFile, Budgets, Criteria, GateFile, LayoutFile, ReachFile, TASK_VERSION,
    Task, TaskError, TaskFile,
};

/// Who proposes actions.
#[derive(Clone)]
pub enum Decider {
    /// The judge, through the loop's own questions.
    Judge(Arc<dyn Judge>),
    /// A policy of the host.
    Policy(Arc<dyn Policy>),
}

impl Decider {
    fn identity(&self) -> JudgeIdentity {
        match self {
            Self::Judge(judge) => judge.identity(),
            Self::Policy(policy) => policy::identity(policy.as_ref()),
        }
    }

    fn cancel(&self) {
        match self {
            // A judge's call is dropped with its run.
            Self::Judge(_) => {}
            Self::Policy(policy) => policy.cancel(),
        }
    }
}

/// What a runtime stands on.
#[derive(Clone)]
pub struct RuntimeParts {
    /// Opens the tab.
    pub factory: Arc<dyn SessionFactory>,
    /// Makes the plan.
    pub planner: Arc<dyn Planner>,
    /// Proposes the actions.
    pub decider: Decider,
    /// In whose name.
    pub scope: Scope,
    /// What has worked before, when that is kept.
    pub memory: Option<Arc<Mutex<Memory>>>,
    /// Knows the host's credentials.
    pub redactor: Redactor,
}

/// A runtime that can't take a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this runtime met a deadline in the middle of something and is not used again; make a new one"
)]
pub struct NotReusable;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readiness {
    Ready,
    Spent,
}

/// Carries out tasks, one after the other.
pub struct Runtime {
    parts: RuntimeParts,
    readiness: Readiness,
    runs: u64,
}

/// Why the work stopped before its end.
struct Stop(Reason);

/// What a task has spent and brought so far.
struct Work<'a> {
    task: &'a Task,
    end: Instant,
    steps: u32,
    recoveries: u32,
    judged: u32,
    /// Characters of what has worked before, as the judge is told it.
    hint_chars: u32,
    usage: jev_core::question::Usage,
    carried: Carried,
    reports: Vec<Report>,
    plan: Vec<StepResult>,
}

impl Work<'_> {
    fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    fn count(&mut self, report: &Report) {
        let tried = |step: &&StepReport| step.intent.is_some();
        self.steps += u32::try_from(report.steps.iter().filter(tried).count()).unwrap_or(u32::MAX);
        self.recoveries += report.spent.recoveries;
        self.judged += report.spent.steps;
        self.usage.add(report.spent.usage);
    }
}

/// Who watches a task.
pub struct Watchers<'a> {
    /// The task's trajectory, when one is written.
    pub trajectory: Option<&'a mut Trajectory>,
    /// Anybody else.
    pub observer: &'a mut dyn Observer,
}

impl Runtime {
    /// A runtime.
    #[must_use]
    pub fn new(parts: RuntimeParts) -> Self {
        Self {
            parts,
            readiness: Readiness::Ready,
            runs: 0,
        }
    }

    /// Whether it takes another task. After a deadline it does not: what was under way may still
    /// be going on somewhere.
    #[must_use]
    pub fn is_reusable(&self) -> bool {
        self.readiness == Readiness::Ready
    }

    /// Carries out a task: opens, observes, plans, decides, acts and verifies under its one
    /// deadline, and closes. Whatever happens, there is a result, and a trajectory has an end.
    ///
    /// # Errors
    /// [`NotReusable`], before anything is opened.
    pub async fn run(
        &mut self,
        task: &Task,
        mut watchers: Watchers<'_>,
        cancel: &CancellationToken,
    ) -> Result<TaskResult, NotReusable> {
        if !self.is_reusable() {
            return Err(NotReusable);
        }
        // Spent until it is known that nothing was left under way, also when this future is dropped.
        self.readiness = Readiness::Spent;
        let began = Instant::now();
        let mut work = Work {
            task,
            end: began + task.budgets.time,
            steps: 0,
            recoveries: 0,
            judged: 0,
            hint_chars: 0,
            usage: jev_core::question::Usage::default(),
            carried: Carried::default(),
            reports: Vec::new(),
            plan: Vec::new(),
        };
        self.announce(&work, &objectives(task, task.plan.as_ref()), &mut watchers);
        let recalled = Arc::new(self.recall(task).await);
        let mut tab = None;
        let reason = match self
            .work(&mut work, &mut tab, &recalled, &mut watchers, cancel)
            .await
        {
            Ok(()) => Reason::Run {
                status: work
                    .reports
                    .last()
                    .map_or(Status::Unverified, |report| report.status),
                cause: None,
            },
            Err(Stop(reason)) => reason,
        };
        // An action that the deadline cut short is UNKNOWN, and the deadline has come all the same.
        let expired = matches!(reason.status(), Status::Timeout)
            || matches!(reason.status(), Status::Unknown) && work.left().is_zero();
        if expired || matches!(reason.status(), Status::Cancelled) {
            self.parts.planner.cancel();
            self.parts.decider.cancel();
        }
        if !expired {
            self.readiness = Readiness::Ready;
        }
        let close = match &mut tab {
            Some(tab) => Some(tab.close(CLOSE_GRACE).await),
            None => None,
        };
        self.learn(&work, &reason, &recalled).await;
        // An earlier step's evidence is none for the task.
        let output = work.reports.last().map(|report| {
            let mut output = report.tool_output();
            if output.status != reason.status() {
                output.status = reason.status();
                output.evidence.clear();
            }
            output
        });
        let result = TaskResult {
            state: if matches!(reason.status(), Status::Verified(_)) {
                TaskState::Completed
            } else {
                TaskState::Blocked
            },
            handoff: reason.status().handoff(),
            steps: work.steps,
            recoveries: work.recoveries,
            judged: work.judged,
            judge: self.parts.decider.identity(),
            usage: work.usage,
            evidence: output
                .as_ref()
                .map_or_else(Vec::new, |output| output.evidence.clone()),
            output,
            plan: work.plan,
            close,
            elapsed: began.elapsed(),
            reason,
        };
        if let Some(trajectory) = &mut watchers.trajectory {
            trajectory.end_task(&result);
        }
        Ok(result)
    }

    async fn work(
        &mut self,
        work: &mut Work<'_>,
        tab: &mut Option<Tab>,
        recalled: &Arc<Recalled>,
        watchers: &mut Watchers<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), Stop> {
        let task = work.task;
        let page = within(work, cancel, open(&self.parts, task, tab)).await??;
        if !task.access.allows_text(&page.url) {
            return Err(stopped(Status::LeftScope, None));
        }
        let Some(tab) = tab else {
            return Err(failed(SessionError::Closed));
        };
        let plan = self.plan(work, page, recalled, cancel).await?;
        let planned = objectives(task, Some(&plan));
        if planned != objectives(task, task.plan.as_ref()) {
            self.announce(work, &planned, watchers);
        }
        let (judge, policy) = match &self.parts.decider {
            Decider::Judge(own) => {
                let (judge, hint_chars) = HintedJudge::before(own, recalled);
                work.hint_chars = hint_chars;
                (judge, None)
            }
            Decider::Policy(policy) => {
                let policy = Arc::new(PolicyJudge::new(
                    Arc::clone(policy),
                    Arc::clone(tab.meter()),
                    Arc::clone(recalled),
                ));
                (Arc::clone(&policy) as Arc<dyn Judge>, Some(policy))
            }
        };
        let success = verifier(&task.success)?;
        for (number, step) in (1..).zip(plan.steps()) {
            let verifier: Arc<dyn Verifier> = if number < plan.steps().len() {
                verifier(&step.criteria)?
            } else {
                let both = step.criteria.beside(&success);
                // Checked when the task and its plan were.
                both.map_err(|_| Stop(Reason::OutsideStep))?
            };
            if let Some(trajectory) = &mut watchers.trajectory {
                trajectory.step(
                    u32::try_from(number).unwrap_or(u32::MAX),
                    step.objective.as_str(),
                );
            }
            work.plan.push(StepResult {
                objective: step.objective.as_str().to_owned(),
                status: Status::Cancelled,
                runs: 0,
            });
            let ports = Ports {
                factory: tab.leases(),
                judge: Arc::clone(&judge),
                verifier,
            };
            self.step(work, step, tab, &ports, policy.as_deref(), watchers, cancel)
                .await?;
        }
        Ok(())
    }

    /// One step of the plan: a run, and another one for each refused proposal while recoveries last.
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one step, used once"
    )]
    async fn step(
        &mut self,
        work: &mut Work<'_>,
        step: &PlanStep,
        tab: &Tab,
        ports: &Ports,
        policy: Option<&PolicyJudge>,
        watchers: &mut Watchers<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), Stop> {
        loop {
            let here = tab
                .meter()
                .last()
                .and_then(|page| CanonicalUrl::parse(&page.url).ok())
                .unwrap_or_else(|| work.task.start.clone());
            let identity = ports.judge.identity();
            let contract = self
                .contract(work, Some(step), &here, &identity)
                .map_err(|_| Stop(Reason::OutsideStep))?;
            let spent = work.judged >= work.task.budgets.steps;
            // The page in front of us is verified all the same: that costs no judgment.
            let unasked = spent.then(|| Ports {
                judge: Arc::new(NoStepsLeft(identity)),
                ..ports.clone()
            });
            let ports = unasked.as_ref().unwrap_or(ports);
            self.runs += 1;
            let id = RunId(self.runs);
            let report = {
                let mut observers = Observers::new();
                if let Some(trajectory) = watchers.trajectory.as_deref_mut() {
                    trajectory.resume_run(id, &contract, &ports.judge.identity(), &work.carried);
                    observers = observers.with(Some(trajectory));
                }
                let mut observers = observers.with(Some(&mut *watchers.observer));
                let carried = std::mem::take(&mut work.carried);
                let (report, carried) =
                    resume(id, contract, carried, ports, &mut observers, cancel).await;
                work.carried = carried;
                report
            };
            work.count(&report);
            work.judged = work.judged.min(work.task.budgets.steps);
            let (status, cause) = (report.status, report.cause.clone());
            work.reports.push(report);
            if let Some(entry) = work.plan.last_mut() {
                entry.status = status;
                entry.runs += 1;
            }
            if matches!(status, Status::Verified(_)) {
                return Ok(());
            }
            if spent && matches!(status, Status::JudgeError) {
                return Err(Stop(Reason::Steps));
            }
            let refused = policy.is_some_and(|policy| policy.take_refusal().is_some());
            // Where no `none` is offered, a refused proposal ends the run as an error of the judge.
            let recoverable = matches!(status, Status::Abstain | Status::JudgeError) && refused;
            if recoverable && work.recoveries < work.task.budgets.recoveries {
                work.recoveries += 1;
                if let Some(trajectory) = watchers.trajectory.as_deref_mut() {
                    trajectory.recovered("refused_proposal");
                }
                continue;
            }
            let out_of_ideas = matches!(
                status,
                Status::Rejected
                    | Status::Blocked
                    | Status::Abstain
                    | Status::NoProgress
                    | Status::StepLimit
                    | Status::Unverified
            );
            if tab.meter().is_exhausted() && out_of_ideas {
                return Err(Stop(Reason::Actions));
            }
            return Err(stopped(status, cause));
        }
    }

    async fn plan(
        &self,
        work: &Work<'_>,
        page: Arc<Snapshot>,
        recalled: &Recalled,
        cancel: &CancellationToken,
    ) -> Result<Plan, Stop> {
        let planner = Arc::clone(&self.parts.planner);
        let task = work.task.clone();
        let experience = if planner.reads_experience() {
            recalled.show().to_vec()
        } else {
            Vec::new()
        };
        let left = work.left();
        let planning = guarded(async move {
            let request = PlanRequest {
                task: &task,
                page: &page,
                experience: &experience,
            };
            planner.plan(request, left).await
        });
        match within(work, cancel, planning).await? {
            // A planner may be anybody's: what it returns is checked again.
            Some(Ok(plan)) => match plan.stays_inside(&work.task.access) {
                Ok(()) => Ok(plan),
                Err(fault) => Err(Stop(Reason::Plan(fault.into()))),
            },
            Some(Err(error)) => Err(Stop(Reason::Plan(error))),
            None => Err(Stop(Reason::Plan(PlanError::Panicked))),
        }
    }

    /// Writes down what is to be done, before anything is.
    fn announce(&self, work: &Work<'_>, objectives: &[String], watchers: &mut Watchers<'_>) {
        let Some(trajectory) = &mut watchers.trajectory else {
            return;
        };
        let identity = self.parts.decider.identity();
        let objectives: Vec<&str> = objectives.iter().map(String::as_str).collect();
        if let Ok(contract) = self.contract(work, None, &work.task.start, &identity) {
            trajectory.begin_task(&contract, &identity, &objectives);
        }
    }

    fn contract(
        &self,
        work: &Work<'_>,
        step: Option<&PlanStep>,
        start: &CanonicalUrl,
        judge: &JudgeIdentity,
    ) -> Result<Contract, jev_core::contract::ContractError> {
        let task = work.task;
        let access = step
            .and_then(|step| step.access.as_ref())
            .unwrap_or(&task.access);
        let goal = step.map_or(&task.goal, |step| &step.objective);
        let default_gate = match judge.kind {
            JudgeKind::Decides => Gate::deciding(),
            JudgeKind::Ranks => Gate::ranking(),
        };
        let budgets = &task.budgets;
        ContractDraft {
            mode: Mode::Enforce,
            actions: task.actions.clone(),
            gate: task.gate.unwrap_or(default_gate),
            limits: Limits {
                steps: budgets.steps.saturating_sub(work.judged).max(1),
                recoveries: budgets.recoveries.saturating_sub(work.recoveries),
                // What the judge is told beside the state is part of the same bound.
                state_chars: STATE_CHARS.default.saturating_sub(work.hint_chars),
                ..Limits::default()
            },
            budget: work.left().max(BUDGET_MIN),
            layout: task.layout,
            reach: task.reach,
            ..ContractDraft::new(
                goal.clone(),
                self.parts.scope.clone(),
                start.clone(),
                access.clone(),
            )
        }
        .check()
    }
}

/// Stands in for a judge that may not be asked any more.
struct NoStepsLeft(JudgeIdentity);

#[async_trait]
impl Judge for NoStepsLeft {
    fn identity(&self) -> JudgeIdentity {
        self.0.clone()
    }

    async fn decide(&self, _: &Questionnaire, _: Duration) -> Result<Decision, JudgeError> {
        Err(JudgeError::Capability {
            what: "the task's judged steps are used up".to_owned(),
        })
    }
}

/// The objectives of a plan's steps; without one, the goal.
fn objectives(task: &Task, plan: Option<&Plan>) -> Vec<String> {
    match plan {
        Some(plan) => plan
            .steps()
            .iter()
            .map(|step| step.objective.as_str().to_owned())
            .collect(),
        None => vec![task.goal.as_str().to_owned()],
    }
}
