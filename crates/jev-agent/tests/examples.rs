//! The examples of this crate do what they say.

#[path = "../examples/reference_scenario.rs"]
mod reference_scenario;
#[path = "../examples/task.rs"]
mod task;

#[test]
fn their_stories_are_told() {
    reference_scenario::main().unwrap();
    task::main().unwrap();
}

#[tokio::test]
async fn the_reference_scenario_counts() {
    let played = reference_scenario::scenario().await.unwrap();
    assert!(played.answer.is_from_evidence());
    assert_eq!(
        played.counts.to_string(),
        "judgments=2 modelCalls=2 browserActions=1 closedSessions=1"
    );
}

#[tokio::test]
async fn the_task_completes() {
    let result = task::carry_out().await.unwrap();
    assert_eq!(result.line(), "COMPLETED | steps=1 recoveries=0");
}
