//! Tests of the task runtime: the three demonstrations, bounds, recovery, deadlines, plans.

mod contracts;
mod deadlines;
mod guards;
mod planning;
mod steps;

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use jev_core::policy::ActionPolicy;
use jev_core::ports::OpenRequest;
use jev_core::snapshot::Role;
use jev_judge::scripted::ScriptedJudge;
use tempfile::TempDir;

use super::demos::Demo;
use super::*;
use crate::driver::Unobserved;
use crate::memory::Experience;
use crate::pages::{Page, PageSite};
use crate::trajectory::{self, Body, TraceOptions};

pub(super) fn site() -> PageSite {
    PageSite::new([
        Page::new("http://h/", "Start", "Welcome.")
            .unwrap()
            .link("Broken", "gone")
            .unwrap()
            .link("Twice", "a")
            .unwrap()
            .link("Twice", "b")
            .unwrap()
            .link("Docs", "docs/")
            .unwrap()
            .control(Role::Button, "Show terms", "terms")
            .unwrap(),
        Page::new("http://h/terms", "Start", "Welcome. The terms: 24 months.").unwrap(),
        Page::new("http://h/docs/", "Docs", "All documents.")
            .unwrap()
            .link("Warranty", "warranty")
            .unwrap(),
        Page::new("http://h/docs/warranty", "Warranty", "It lasts 24 months.").unwrap(),
    ])
}

pub(super) fn file() -> TaskFile {
    TaskFile {
        version: 1,
        goal: "How long does it last?".to_owned(),
        start: "http://h/".to_owned(),
        allow: vec!["http://h".to_owned()],
        success: Criteria {
            expect: vec![r"lasts \d+ months".to_owned()],
            expect_url: None,
        },
        budget: BudgetFile::default(),
        actions: ActionsFile::default(),
        gate: None,
        reach: ReachFile::Document,
        layout: LayoutFile::Flat,
        plan: Vec::new(),
    }
}

pub(super) fn task() -> Task {
    Task::check(file()).unwrap()
}

pub(super) fn link(name: &str) -> Proposed {
    Proposed::Click {
        role: Role::Link,
        name: name.to_owned(),
    }
}

pub(super) fn parts(site: &PageSite, actions: Vec<Proposed>) -> RuntimeParts {
    RuntimeParts {
        factory: Arc::new(site.clone()),
        planner: Arc::new(ContractPlanner),
        decider: Decider::Policy(Arc::new(ScriptedPolicy::new(actions))),
        scope: Scope::new("u", "s", "t").unwrap(),
        memory: None,
        redactor: Redactor::new(),
    }
}

pub(super) async fn run_in(runtime: &mut Runtime, task: &Task) -> TaskResult {
    let watchers = Watchers {
        trajectory: None,
        observer: &mut Unobserved,
    };
    runtime
        .run(task, watchers, &CancellationToken::new())
        .await
        .unwrap()
}

pub(super) async fn run(site: &PageSite, task: &Task, actions: Vec<Proposed>) -> TaskResult {
    let mut runtime = Runtime::new(parts(site, actions));
    let result = run_in(&mut runtime, task).await;
    assert_eq!(site.counts().opened(), site.counts().closed());
    result
}

#[tokio::test]
async fn the_demonstrations_end_as_they_say() {
    for _ in 0..3 {
        let mut lines = Vec::new();
        for demo in Demo::ALL {
            let result = demo.run().await.unwrap();
            lines.push(format!("{}: {}", demo.name(), result.line()));
        }
        assert_eq!(
            lines,
            [
                "happy-path: COMPLETED | steps=1 recoveries=0",
                "bounded-recovery: COMPLETED | steps=2 recoveries=1",
                "explicit-blocked: BLOCKED | steps=0 recoveries=0",
            ]
        );
    }
}

#[tokio::test]
async fn a_claim_without_evidence_is_refused_and_costs_a_recovery() {
    let site = site();
    let finish = || Proposed::Finish;
    let way = vec![finish(), link("Docs"), finish(), link("Warranty")];
    let result = run(&site, &task(), way).await;
    assert_eq!(result.line(), "COMPLETED | steps=2 recoveries=2");
    assert_eq!(result.evidence[0].quote, "lasts 24 months");

    let result = run(&site, &task(), vec![finish(), finish(), finish()]).await;
    assert_eq!(result.line(), "BLOCKED | steps=0 recoveries=2");
    assert_eq!(result.reason.status(), Status::Unverified);
    assert!(result.evidence.is_empty());
}

#[tokio::test]
async fn refused_proposals_recover_within_the_bound_and_never_reach_the_page() {
    // What is not offered, what is ambiguous, and what failed before.
    let site = site();
    let way = vec![
        link("Nowhere"),
        link("Twice"),
        link("Docs"),
        link("Warranty"),
    ];
    let result = run(&site, &task(), way).await;
    assert_eq!(result.line(), "COMPLETED | steps=2 recoveries=2");
    assert_eq!(site.counts().dispatched(), 2);

    let before = site.counts().dispatched();
    let way = vec![
        link("Nowhere"),
        link("Nowhere"),
        link("Nowhere"),
        link("Docs"),
    ];
    let result = run(&site, &task(), way).await;
    assert_eq!(result.line(), "BLOCKED | steps=0 recoveries=2");
    assert_eq!(result.reason.status(), Status::Abstain);
    assert_eq!(site.counts().dispatched(), before);
}

#[tokio::test]
async fn an_action_that_failed_in_a_state_is_not_repeated_in_it() {
    let site = site();
    let way = vec![
        link("Broken"),
        link("Broken"),
        link("Docs"),
        link("Warranty"),
    ];
    let result = run(&site, &task(), way).await;
    assert_eq!(result.line(), "COMPLETED | steps=3 recoveries=2");
    // The broken link was tried once in the world.
    assert_eq!(site.counts().dispatched(), 3);
}

#[tokio::test]
async fn controls_are_pressed_only_when_the_task_names_them() {
    let site = site();
    let mut file = file();
    file.success.expect = vec![r"\d+ months".to_owned()];
    let press = Proposed::Click {
        role: Role::Button,
        name: "Show terms".to_owned(),
    };
    let result = run(
        &site,
        &Task::check(file.clone()).unwrap(),
        vec![press.clone()],
    )
    .await;
    assert_eq!(result.state, TaskState::Blocked);
    file.actions.allow = vec!["Show terms".to_owned()];
    let result = run(&site, &Task::check(file).unwrap(), vec![press]).await;
    assert_eq!(result.line(), "COMPLETED | steps=1 recoveries=0");
}

#[tokio::test]
async fn budgets_of_steps_and_actions_hold() {
    let site = site();
    let mut file = file();
    file.budget.actions = Some(1);
    let result = run(
        &site,
        &Task::check(file.clone()).unwrap(),
        vec![
            link("Docs"),
            link("Warranty"),
            Proposed::Back,
            Proposed::GiveUp,
        ],
    )
    .await;
    assert_eq!(result.reason, Reason::Actions);
    assert_eq!(site.counts().dispatched(), 1);
    file.budget.steps = 1;
    file.budget.recoveries = 0;
    let result = run(&site, &Task::check(file).unwrap(), vec![link("Docs")]).await;
    assert_eq!(result.reason.status(), Status::StepLimit);
    assert_eq!(result.judged, 1);
}

#[tokio::test]
async fn the_judge_loop_is_a_policy_too() {
    let site = site();
    let script = "{\"operation\":\"CLICK\",\"target\":\"Docs\"}\n{\"operation\":\"CLICK\",\"target\":\"Warranty\"}";
    let mut parts = parts(&site, Vec::new());
    parts.decider = Decider::Judge(Arc::new(ScriptedJudge::parse(script).unwrap()));
    let result = run_in(&mut Runtime::new(parts), &task()).await;
    assert_eq!(result.line(), "COMPLETED | steps=2 recoveries=0");
}

#[tokio::test]
async fn a_task_is_written_down_with_its_steps_and_its_end() {
    let dir = TempDir::new().unwrap();
    let mut file = file();
    file.plan = vec![
        StepDraft {
            objective: "Find the documents".to_owned(),
            expect: vec!["All documents".to_owned()],
            expect_url: None,
            allow: Vec::new(),
        },
        StepDraft {
            objective: "Find the term".to_owned(),
            expect: Vec::new(),
            expect_url: None,
            allow: vec!["http://h/docs/*".to_owned()],
        },
    ];
    let site = site();
    let way = vec![link("Nowhere"), link("Docs"), link("Warranty")];
    let mut runtime = Runtime::new(parts(&site, way));
    let mut trace = Trajectory::create(&TraceOptions::new(dir.path()), Redactor::new()).unwrap();
    let watchers = Watchers {
        trajectory: Some(&mut trace),
        observer: &mut Unobserved,
    };
    let task = Task::check(file).unwrap();
    let result = runtime
        .run(&task, watchers, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(result.line(), "COMPLETED | steps=2 recoveries=1");
    assert_eq!(result.plan[0].runs, 2);
    let reading = trajectory::read(trace.folder()).unwrap();
    let bodies: Vec<&Body> = reading.events.iter().map(|event| &event.body).collect();
    let Body::Plan(plan) = bodies[0] else {
        panic!("no plan first");
    };
    assert_eq!(plan.objectives.len(), 2);
    let Some(Body::End(end)) = bodies.last() else {
        panic!("no end last");
    };
    assert_eq!(end.result.as_str(), "COMPLETED");
    assert_eq!((end.steps, end.recoveries), (2, 1));
    let recoveries = bodies
        .iter()
        .filter(|body| matches!(body, Body::Recover(_)))
        .count();
    assert_eq!(recoveries, 1);
}

/// Never answers, and counts that it was told to stop.
#[derive(Default)]
struct Silent(AtomicUsize);

#[async_trait]
impl Policy for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    async fn propose(&self, _: &View, _: Duration) -> Result<Proposed, PolicyError> {
        std::future::pending().await
    }

    fn cancel(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Planner for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    async fn plan(&self, _: PlanRequest<'_>, _: Duration) -> Result<Plan, PlanError> {
        std::future::pending().await
    }

    fn cancel(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl SessionFactory for Silent {
    async fn open(
        &self,
        _: OpenRequest,
        _: Duration,
    ) -> Result<Arc<dyn jev_core::ports::Session>, SessionError> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn at_the_deadline_everything_is_cancelled_and_the_runtime_is_spent() {
    for stage in ["open", "plan", "decide"] {
        let dir = TempDir::new().unwrap();
        let site = site();
        let silent = Arc::new(Silent::default());
        let mut parts = parts(&site, Vec::new());
        match stage {
            "open" => parts.factory = Arc::clone(&silent) as Arc<dyn SessionFactory>,
            "plan" => parts.planner = Arc::clone(&silent) as Arc<dyn Planner>,
            _ => parts.decider = Decider::Policy(Arc::clone(&silent) as Arc<dyn Policy>),
        }
        let mut runtime = Runtime::new(parts);
        let mut trace =
            Trajectory::create(&TraceOptions::new(dir.path()), Redactor::new()).unwrap();
        let watchers = Watchers {
            trajectory: Some(&mut trace),
            observer: &mut Unobserved,
        };
        let result = runtime
            .run(&task(), watchers, &CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(result.state, TaskState::Blocked, "{stage}");
        assert_eq!(result.reason.status(), Status::Timeout, "{stage}");
        assert!(result.elapsed >= Duration::from_secs(10), "{stage}");
        assert!(result.elapsed < Duration::from_secs(14), "{stage}");
        let told = silent.0.load(Ordering::SeqCst);
        assert_eq!(told, usize::from(stage != "open"), "{stage}");
        assert_eq!(site.counts().opened(), site.counts().closed());
        assert!(!runtime.is_reusable());
        let watchers = Watchers {
            trajectory: None,
            observer: &mut Unobserved,
        };
        let again = runtime
            .run(&task(), watchers, &CancellationToken::new())
            .await;
        assert_eq!(again, Err(NotReusable));
        let end = trajectory::summary(trace.folder()).unwrap().result;
        assert_eq!(end.unwrap().as_str(), "BLOCKED", "{stage}");
    }
}

#[tokio::test]
async fn a_cancelled_task_closes_its_tab_and_the_runtime_goes_on() {
    let site = site();
    let silent = Arc::new(Silent::default());
    let mut parts = parts(&site, Vec::new());
    parts.planner = Arc::clone(&silent) as Arc<dyn Planner>;
    let mut runtime = Runtime::new(parts);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let watchers = Watchers {
        trajectory: None,
        observer: &mut Unobserved,
    };
    let result = runtime.run(&task(), watchers, &cancel).await.unwrap();
    assert_eq!(result.reason.status(), Status::Cancelled);
    assert_eq!(silent.0.load(Ordering::SeqCst), 1);
    assert_eq!(site.counts().opened(), site.counts().closed());
    assert!(runtime.is_reusable());
}

/// Breaks in the worst way.
struct Panics;

#[async_trait]
impl Policy for Panics {
    fn name(&self) -> &str {
        "panics"
    }

    async fn propose(&self, _: &View, _: Duration) -> Result<Proposed, PolicyError> {
        panic!("a policy that panics")
    }
}

#[async_trait]
impl Planner for Panics {
    fn name(&self) -> &str {
        "panics"
    }

    async fn plan(&self, _: PlanRequest<'_>, _: Duration) -> Result<Plan, PlanError> {
        panic!("a planner that panics")
    }
}

#[tokio::test]
async fn a_panic_ends_in_a_result() {
    let site = site();
    let mut broken = parts(&site, Vec::new());
    broken.decider = Decider::Policy(Arc::new(Panics));
    let result = run_in(&mut Runtime::new(broken), &task()).await;
    assert_eq!(result.reason.status(), Status::JudgeError);
    let mut broken = parts(&site, Vec::new());
    broken.planner = Arc::new(Panics);
    let result = run_in(&mut Runtime::new(broken), &task()).await;
    assert_eq!(result.reason, Reason::Plan(PlanError::Panicked));
    assert_eq!(site.counts().opened(), site.counts().closed());
}

/// Clicks its way, and keeps what it was shown.
#[derive(Default)]
struct Curious {
    shown: Mutex<Vec<Vec<Experience>>>,
    way: ScriptedWay,
}

#[derive(Default)]
struct ScriptedWay(Mutex<Vec<Proposed>>);

#[async_trait]
impl Policy for Curious {
    fn name(&self) -> &str {
        "curious"
    }

    async fn propose(&self, view: &View, _: Duration) -> Result<Proposed, PolicyError> {
        self.shown.lock().unwrap().push(view.experience.clone());
        let mut way = self.way.0.lock().unwrap();
        if way.is_empty() {
            return Err(PolicyError::Failed);
        }
        Ok(way.remove(0))
    }
}

#[tokio::test]
async fn experience_is_shown_once_it_is_promoted_and_goes_when_it_fails() {
    let site = site();
    let memory = Arc::new(Mutex::new(Memory::in_memory(Redactor::new()).unwrap()));
    let curious = Arc::new(Curious::default());
    let mut parts = parts(&site, Vec::new());
    parts.memory = Some(Arc::clone(&memory));
    parts.decider = Decider::Policy(Arc::clone(&curious) as Arc<dyn Policy>);
    let mut runtime = Runtime::new(parts);
    for round in 1..=4 {
        *curious.way.0.lock().unwrap() = vec![link("Docs"), link("Warranty")];
        let result = run_in(&mut runtime, &task()).await;
        assert_eq!(result.state, TaskState::Completed, "{round}");
        let shown = curious.shown.lock().unwrap().last().unwrap().len();
        assert_eq!(shown, usize::from(round > 3), "{round}");
    }
    let known = memory.lock().unwrap().list().unwrap();
    assert_eq!(known.len(), 1);
    assert_eq!(known[0].successes, 4);
    let text = serde_json::to_string(&known).unwrap();
    assert!(text.contains("/docs/warranty"), "{text}");
    assert!(
        !text.contains("Docs") && !text.contains("All documents"),
        "{text}"
    );
    *curious.way.0.lock().unwrap() = vec![Proposed::GiveUp];
    let result = run_in(&mut runtime, &task()).await;
    assert_eq!(result.reason.status(), Status::Blocked);
    let known = memory.lock().unwrap().list().unwrap();
    assert_eq!(known[0].state, crate::memory::Lifecycle::Retired);
    *curious.way.0.lock().unwrap() = vec![link("Docs"), link("Warranty")];
    run_in(&mut runtime, &task()).await;
    assert_eq!(curious.shown.lock().unwrap().last().unwrap().len(), 0);
}

#[test]
fn a_policy_of_links_alone_is_the_read_only_profile() {
    assert_eq!(task().actions, ActionPolicy::read_only());
}
