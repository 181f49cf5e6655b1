//! What is refused never becomes another action; what breaks before the first run still ends in a
//! result; what has worked before reaches the judge as data.

use jev_core::contract::Layout;
use jev_core::error::JudgeError;
use jev_core::question::{Decision, Questionnaire};
use serde_json::Value;

use super::*;
use crate::memory::{Lifecycle, PROMOTE_SUCCESSES};

/// A page with nothing on it to click.
fn bare() -> PageSite {
    PageSite::new([Page::new("http://h/", "Start", "Nothing to click.").unwrap()])
}

#[tokio::test]
async fn a_refused_proposal_never_becomes_another_action() {
    for layout in [LayoutFile::TwoHead, LayoutFile::Flat] {
        for way in [link("Nowhere"), Proposed::Back] {
            let site = bare();
            let mut file = file();
            file.layout = layout;
            // The first operation that is offered: it must not be taken for the refused one.
            file.actions.reload = true;
            let task = Task::check(file).unwrap();
            let way = vec![way.clone(), way.clone(), way];
            let result = run(&site, &task, way).await;
            assert_eq!(result.line(), "BLOCKED | steps=0 recoveries=2");
            assert_eq!(site.counts().dispatched(), 0);
        }
    }
    // With targets, the two questions take a refused proposal and a right one.
    let site = site();
    let mut file = file();
    file.layout = LayoutFile::TwoHead;
    let task = Task::check(file).unwrap();
    assert_eq!(task.layout, Layout::TwoHead);
    let way = vec![link("Nowhere"), link("Docs"), link("Warranty")];
    let result = run(&site, &task, way).await;
    assert_eq!(result.line(), "COMPLETED | steps=2 recoveries=1");
    assert_eq!(site.counts().dispatched(), 2);
}

/// Refuses once, then fails: the first refusal is none of the second failure's.
struct FailsLater(Mutex<Vec<Proposed>>);

#[async_trait]
impl Policy for FailsLater {
    fn name(&self) -> &str {
        "fails later"
    }

    async fn propose(&self, _: &View, _: Duration) -> Result<Proposed, PolicyError> {
        self.0.lock().unwrap().pop().ok_or(PolicyError::Failed)
    }
}

#[tokio::test]
async fn a_policy_that_fails_is_not_taken_for_a_refused_one() {
    let site = site();
    let mut parts = parts(&site, Vec::new());
    let way = vec![link("Docs"), link("Nowhere")];
    parts.decider = Decider::Policy(Arc::new(FailsLater(Mutex::new(way))));
    let result = run_in(&mut Runtime::new(parts), &task()).await;
    assert_eq!(result.line(), "BLOCKED | steps=1 recoveries=1");
    assert_eq!(result.reason.status(), Status::JudgeError);
}

#[async_trait]
impl SessionFactory for Panics {
    async fn open(
        &self,
        _: OpenRequest,
        _: Duration,
    ) -> Result<Arc<dyn jev_core::ports::Session>, SessionError> {
        panic!("a factory that panics")
    }
}

#[tokio::test]
async fn a_task_that_never_begins_is_written_down_with_its_plan_and_its_end() {
    for broken in ["factory", "planner"] {
        let dir = TempDir::new().unwrap();
        let site = site();
        let mut parts = parts(&site, Vec::new());
        match broken {
            "factory" => parts.factory = Arc::new(Panics),
            _ => parts.planner = Arc::new(Panics),
        }
        let mut trace =
            Trajectory::create(&TraceOptions::new(dir.path()), Redactor::new()).unwrap();
        let watchers = Watchers {
            trajectory: Some(&mut trace),
            observer: &mut Unobserved,
        };
        let result = Runtime::new(parts)
            .run(&task(), watchers, &CancellationToken::new())
            .await
            .unwrap();
        let status = match broken {
            "factory" => Status::SessionError,
            _ => Status::JudgeError,
        };
        assert_eq!(result.reason.status(), status, "{broken}");
        assert_eq!(site.counts().opened(), site.counts().closed(), "{broken}");
        let events = trajectory::read(trace.folder()).unwrap().events;
        let names: Vec<&str> = events.iter().map(|event| event.body.name()).collect();
        assert_eq!(names, ["plan", "end"], "{broken}");
        let summary = trajectory::summary(trace.folder()).unwrap();
        assert_eq!(summary.goal, "How long does it last?", "{broken}");
    }
}

/// Decides as its script says, and keeps what it was told.
struct Told {
    script: Arc<dyn Judge>,
    states: Mutex<Vec<Value>>,
}

#[async_trait]
impl Judge for Told {
    fn identity(&self) -> JudgeIdentity {
        self.script.identity()
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        self.states
            .lock()
            .unwrap()
            .push(questionnaire.state.clone());
        self.script.decide(questionnaire, deadline).await
    }
}

fn told(script: &str) -> Arc<Told> {
    Arc::new(Told {
        script: Arc::new(ScriptedJudge::parse(script).unwrap()),
        states: Mutex::default(),
    })
}

const WAY: &str = "{\"operation\":\"CLICK\",\"target\":\"Docs\"}\n{\"operation\":\"CLICK\",\"target\":\"Warranty\"}";

#[tokio::test]
async fn the_judge_is_told_what_has_worked_and_what_it_was_told_is_what_fails() {
    let site = site();
    let memory = Arc::new(Mutex::new(Memory::in_memory(Redactor::new()).unwrap()));
    let played = async |script: &str| {
        let judge = told(script);
        let mut parts = parts(&site, Vec::new());
        parts.memory = Some(Arc::clone(&memory));
        parts.decider = Decider::Judge(Arc::clone(&judge) as Arc<dyn Judge>);
        let result = run_in(&mut Runtime::new(parts), &task()).await;
        let states = judge.states.lock().unwrap().clone();
        (result, states)
    };
    for _ in 0..PROMOTE_SUCCESSES {
        let (result, states) = played(WAY).await;
        assert_eq!(result.state, TaskState::Completed);
        assert!(states.iter().all(|state| state.get("experience").is_none()));
    }
    let (_, states) = played(WAY).await;
    assert_eq!(states.len(), 2);
    for state in &states {
        assert_eq!(
            state["experience"],
            serde_json::json!([{
                "goal": "How long does it last?",
                "steps": [
                    {"do": "follow", "path": "/docs/"},
                    {"do": "follow", "path": "/docs/warranty"},
                ],
            }])
        );
    }
    // A task whose tab does not open has shown it to nobody.
    let mut unopened = parts(&site, Vec::new());
    unopened.memory = Some(Arc::clone(&memory));
    unopened.planner = Arc::new(Panics);
    run_in(&mut Runtime::new(unopened), &task()).await;
    let state = || memory.lock().unwrap().list().unwrap()[0].state;
    assert_eq!(state(), Lifecycle::Promoted);
    let (result, _) = played("{\"operation\":\"BLOCKED\"}").await;
    assert_eq!(result.reason.status(), Status::Blocked);
    assert_eq!(state(), Lifecycle::Retired);
}

#[tokio::test]
async fn recorded_inputs_replay_every_step_of_a_task() {
    let dir = TempDir::new().unwrap();
    let mut options = TraceOptions::new(dir.path());
    options.inputs = trajectory::KeepInputs::Raw;
    let mut trace = Trajectory::create(&options, Redactor::new()).unwrap();
    let mut file = file();
    file.success.expect = vec!["Welcome".to_owned()];
    let step = |objective: &str, expect: &str| StepDraft {
        objective: objective.to_owned(),
        expect: vec![expect.to_owned()],
        expect_url: None,
        allow: Vec::new(),
    };
    file.plan = vec![
        step("Find the documents", "All documents"),
        step("Go to the start", "Welcome"),
    ];
    let site = site();
    let mut runtime = Runtime::new(parts(&site, vec![link("Docs"), Proposed::Back]));
    let watchers = Watchers {
        trajectory: Some(&mut trace),
        observer: &mut Unobserved,
    };
    let result = runtime
        .run(
            &Task::check(file).unwrap(),
            watchers,
            &CancellationToken::new(),
        )
        .await
        .unwrap();
    assert_eq!(result.line(), "COMPLETED | steps=2 recoveries=0");
    let runs = trajectory::RecordedRun::read(trace.folder()).unwrap();
    assert_eq!(runs.len(), 2);
    for run in &runs {
        let again = run.replay().unwrap();
        assert!(
            matches!(again.status, Status::Verified(_)),
            "{:?}",
            again.cause
        );
        assert_eq!(again.steps.len(), 1);
    }
}
