//! The steps of a plan: what ends the last one, what is left when the judged steps are used up, and
//! plans that somebody else has checked.

use jev_core::access::AccessList;

use super::*;

fn step(expect: &[&str], expect_url: Option<&str>) -> StepDraft {
    StepDraft {
        objective: "Go on".to_owned(),
        expect: expect.iter().map(|&text| text.to_owned()).collect(),
        expect_url: expect_url.map(str::to_owned),
        allow: Vec::new(),
    }
}

fn planned(steps: Vec<StepDraft>, change: impl FnOnce(&mut TaskFile)) -> Task {
    let mut file = file();
    file.plan = steps;
    change(&mut file);
    Task::check(file).unwrap()
}

#[tokio::test]
async fn the_last_steps_address_counts_without_an_expression_of_its_own() {
    for (url, line) in [
        ("http://h/docs/*", "COMPLETED | steps=2 recoveries=0"),
        ("http://h/elsewhere/*", "BLOCKED | steps=2 recoveries=2"),
    ] {
        let task = planned(vec![step(&[], Some(url))], |_| ());
        let mut way = vec![link("Docs"), link("Warranty")];
        way.extend([Proposed::Finish, Proposed::Finish, Proposed::Finish]);
        assert_eq!(run(&site(), &task, way).await.line(), line, "{url}");
    }
}

#[tokio::test]
async fn a_page_that_is_there_already_needs_no_step() {
    let plan = || vec![step(&["All documents"], None), step(&[], None)];
    let bounded = |file: &mut TaskFile| {
        (file.budget.steps, file.budget.recoveries) = (2, 1);
    };
    // The first step uses up both judgments; its page is what the second wants.
    let task = planned(plan(), |file| {
        bounded(file);
        file.success.expect = vec!["All documents".to_owned()];
    });
    let way = || vec![Proposed::Finish, link("Docs"), link("Warranty")];
    let result = run(&site(), &task, way()).await;
    assert_eq!(result.line(), "COMPLETED | steps=1 recoveries=1");
    assert_eq!(result.judged, 2);
    // It is not: what the first step found is no evidence for the task.
    let result = run(&site(), &planned(plan(), bounded), way()).await;
    assert_eq!(result.line(), "BLOCKED | steps=1 recoveries=1");
    assert_eq!(result.reason, Reason::Steps);
    assert_eq!((result.judged, &result.evidence[..]), (2, &[][..]));
    let output = result.output.unwrap();
    assert_eq!(output.status, Status::StepLimit);
    assert!(output.evidence.is_empty());
    assert_eq!(output.url, "http://h/docs/");
}

/// Checks its plans against a list of its own.
struct Generous;

#[async_trait]
impl Planner for Generous {
    fn name(&self) -> &str {
        "generous"
    }

    async fn plan(&self, _: PlanRequest<'_>, _: Duration) -> Result<Plan, PlanError> {
        let wide = AccessList::parse(["http://h", "http://evil"]).unwrap();
        let mut first = step(&["All documents"], None);
        first.allow = vec!["http://h/docs/*".to_owned(), "http://evil".to_owned()];
        Ok(Plan::check(vec![first, step(&[], None)], &wide)?)
    }
}

#[tokio::test]
async fn a_planner_can_not_widen_what_the_task_allows() {
    let site = site();
    let mut parts = parts(&site, vec![link("Docs")]);
    parts.planner = Arc::new(Generous);
    let result = run_in(&mut Runtime::new(parts), &task()).await;
    assert_eq!(result.line(), "BLOCKED | steps=0 recoveries=0");
    let Reason::Plan(PlanError::Fault(PlanFault::Widens { step: 1, pattern })) = &result.reason
    else {
        panic!("{:?}", result.reason);
    };
    assert!(pattern.contains("evil"), "{pattern}");
}
