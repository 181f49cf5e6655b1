//! The task runtime as a library: a task, a policy of the host's own, and the result.
//!
//! `cargo run -p jev-agent --example task`

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jev_agent::pages::{Page, PageSite};
use jev_agent::runtime::{
    ContractPlanner, Decider, Policy, PolicyError, Proposed, Runtime, RuntimeParts, Task,
    TaskResult, View, Watchers,
};
use jev_agent::{CancellationToken, Unobserved};
use jev_core::ids::Scope;
use jev_core::redact::Redactor;

type Failure = Box<dyn std::error::Error>;

const TASK: &str = r#"
version = 1
goal = "How long does the warranty last?"
start = "http://help.test/"
allow = ["http://help.test"]
success = { expect = ['\d+ months'] }
"#;

/// Follows the first link it has not been refused, and gives up without one.
struct FirstLink;

#[async_trait]
impl Policy for FirstLink {
    fn name(&self) -> &str {
        "first-link"
    }

    async fn propose(&self, view: &View, _: Duration) -> Result<Proposed, PolicyError> {
        let link = view.targets.iter().map(|target| Proposed::Click {
            role: target.role,
            name: target.name.clone(),
        });
        Ok(link
            .into_iter()
            .find(|proposed| !view.refused.contains(proposed))
            .unwrap_or(Proposed::GiveUp))
    }
}

/// Carries the task out on pages in memory.
pub(crate) async fn carry_out() -> Result<TaskResult, Failure> {
    let site = PageSite::new([
        Page::new("http://help.test/", "Help", "How can we help?")?.link("Warranty", "warranty")?,
        Page::new(
            "http://help.test/warranty",
            "Warranty",
            "It lasts 24 months.",
        )?,
    ]);
    let mut runtime = Runtime::new(RuntimeParts {
        factory: Arc::new(site),
        planner: Arc::new(ContractPlanner),
        decider: Decider::Policy(Arc::new(FirstLink)),
        scope: Scope::new("ada", "session-1", "tab-1")?,
        memory: None,
        redactor: Redactor::new(),
    });
    let watchers = Watchers {
        trajectory: None,
        observer: &mut Unobserved,
    };
    let task = Task::parse(TASK)?;
    Ok(runtime
        .run(&task, watchers, &CancellationToken::new())
        .await?)
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Failure> {
    let result = carry_out().await?;
    println!("{}", result.line());
    for piece in &result.evidence {
        println!("evidence: {}", piece.quote);
    }
    Ok(())
}
