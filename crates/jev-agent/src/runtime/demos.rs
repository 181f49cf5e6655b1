//! Three tasks on pages in memory that always end the same way: one that is completed, one that
//! recovers once, one that is blocked. No key, no network, no browser.

use std::sync::Arc;

use jev_core::access::AccessError;
use jev_core::ids::{BlankScope, Scope};
use jev_core::redact::Redactor;
use jev_core::snapshot::Role;
use tokio_util::sync::CancellationToken;

use super::{
    BudgetFile, ContractPlanner, Criteria, Decider, NotReusable, Proposed, Runtime, RuntimeParts,
    ScriptedPolicy, TASK_VERSION, Task, TaskError, TaskFile, TaskResult, Watchers,
};
use crate::driver::Unobserved;
use crate::pages::{Page, PageSite};

/// What can go wrong with a demonstration: only what its own text says.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// Its pages.
    #[error("demonstration: {0}")]
    Pages(#[from] AccessError),
    /// Its task.
    #[error("demonstration: {0}")]
    Task(#[from] TaskError),
    /// Its scope.
    #[error("demonstration: {0}")]
    Scope(#[from] BlankScope),
    /// Its runtime.
    #[error("demonstration: {0}")]
    Runtime(#[from] NotReusable),
}

/// One demonstration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demo {
    /// The first action leads to the answer.
    HappyPath,
    /// The first action leads nowhere, the second to the answer.
    BoundedRecovery,
    /// The policy says that it can't be done.
    ExplicitBlocked,
}

impl Demo {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 3] = [
        Self::HappyPath,
        Self::BoundedRecovery,
        Self::ExplicitBlocked,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HappyPath => "happy-path",
            Self::BoundedRecovery => "bounded-recovery",
            Self::ExplicitBlocked => "explicit-blocked",
        }
    }

    fn script(self) -> Vec<Proposed> {
        let link = |name: &str| Proposed::Click {
            role: Role::Link,
            name: name.to_owned(),
        };
        match self {
            Self::HappyPath => vec![link("Warranty policy")],
            Self::BoundedRecovery => vec![link("Warranty (old page)"), link("Warranty policy")],
            Self::ExplicitBlocked => vec![Proposed::GiveUp],
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// [`DemoError`].
    pub async fn run(self) -> Result<TaskResult, DemoError> {
        let mut runtime = Runtime::new(RuntimeParts {
            factory: Arc::new(site()?),
            planner: Arc::new(ContractPlanner),
            decider: Decider::Policy(Arc::new(ScriptedPolicy::new(self.script()))),
            scope: Scope::new("demo", "runtime", self.name())?,
            memory: None,
            redactor: Redactor::new(),
        });
        let watchers = Watchers {
            trajectory: None,
            observer: &mut Unobserved,
        };
        Ok(runtime
            .run(&task()?, watchers, &CancellationToken::new())
            .await?)
    }
}

fn site() -> Result<PageSite, AccessError> {
    Ok(PageSite::new([
        Page::new(
            "http://kettles.test/help/",
            "Help centre",
            "How can we help? Everything we promise about our kettles is written down.",
        )?
        .link("Warranty (old page)", "old/warranty.html")?
        .link("Warranty policy", "warranty.html")?,
        Page::new(
            "http://kettles.test/help/warranty.html",
            "Warranty policy",
            "The warranty covers defects in material and workmanship for 24 months from the date of purchase.",
        )?,
    ]))
}

fn task() -> Result<Task, TaskError> {
    Task::check(TaskFile {
        version: TASK_VERSION,
        goal: "How long does the warranty on a kettle last?".to_owned(),
        start: "http://kettles.test/help/".to_owned(),
        allow: vec!["http://kettles.test/help/*".to_owned()],
        success: Criteria {
            expect: vec![r"\d+ months from the date of purchase".to_owned()],
            expect_url: None,
        },
        budget: BudgetFile::default(),
        actions: super::ActionsFile::default(),
        gate: None,
        reach: super::ReachFile::Document,
        layout: super::LayoutFile::Flat,
        plan: Vec::new(),
    })
}
