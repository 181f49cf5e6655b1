//! Three tasks that always end the same way: one that is completed, one that recovers once, one that
//! is blocked. No key and no network; on pages in memory, or on loopback in a browser.

use std::sync::Arc;

use jev_core::access::{AccessError, CanonicalUrl};
use jev_core::ids::{BlankScope, Scope};
use jev_core::ports::SessionFactory;
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

    /// Runs it on pages in memory.
    ///
    /// # Errors
    /// [`DemoError`].
    pub async fn run(self) -> Result<TaskResult, DemoError> {
        let base = CanonicalUrl::parse(IN_MEMORY)?;
        self.run_on(Arc::new(site(&base)?), &base).await
    }

    /// Runs it where [`PAGES`] stand under this address, which ends in `/`, and nothing else does.
    ///
    /// # Errors
    /// [`DemoError`].
    pub async fn run_on(
        self,
        factory: Arc<dyn SessionFactory>,
        base: &CanonicalUrl,
    ) -> Result<TaskResult, DemoError> {
        let mut runtime = Runtime::new(RuntimeParts {
            factory,
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
            .run(&task(base)?, watchers, &CancellationToken::new())
            .await?)
    }
}

/// Where the pages stand in memory.
const IN_MEMORY: &str = "http://kettles.test/";

/// A page of the tasks.
#[derive(Clone, Copy, Debug)]
pub struct DemoPage {
    /// Its path, without a slash before it.
    pub path: &'static str,
    title: &'static str,
    text: &'static str,
    /// Names and addresses, relative to its own.
    links: &'static [(&'static str, &'static str)],
}

/// All pages. One of the links leads to none of them.
pub const PAGES: [DemoPage; 2] = [
    DemoPage {
        path: "help/",
        title: "Help centre",
        text: "How can we help? Everything we promise about our kettles is written down.",
        links: &[
            ("Warranty (old page)", "old/warranty.html"),
            ("Warranty policy", "warranty.html"),
        ],
    },
    DemoPage {
        path: "help/warranty.html",
        title: "Warranty policy",
        text: "The warranty covers defects in material and workmanship for 24 months from the date of purchase.",
        links: &[],
    },
];

impl DemoPage {
    /// The page as a browser reads it.
    #[must_use]
    pub fn html(&self) -> String {
        let Self { title, text, .. } = self;
        let links: String = self
            .links
            .iter()
            .map(|(name, to)| format!("<p><a href=\"{to}\">{name}</a></p>"))
            .collect();
        format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\
             <h1>{title}</h1><p>{text}</p>{links}</html>"
        )
    }
}

fn site(base: &CanonicalUrl) -> Result<PageSite, AccessError> {
    let pages = PAGES.iter().map(|page| {
        let shown = Page::new(&format!("{base}{}", page.path), page.title, page.text)?;
        page.links
            .iter()
            .try_fold(shown, |shown, (name, to)| shown.link(name, to))
    });
    Ok(PageSite::new(pages.collect::<Result<Vec<_>, _>>()?))
}

fn task(base: &CanonicalUrl) -> Result<Task, TaskError> {
    Task::check(TaskFile {
        version: TASK_VERSION,
        goal: "How long does the warranty on a kettle last?".to_owned(),
        start: format!("{base}help/"),
        allow: vec![format!("{base}help/*")],
        success: Criteria {
            expect: vec![r"\d+ months from the date of purchase".to_owned()],
            expect_url: None,
        },
        budget: BudgetFile {
            // A browser on a busy machine takes its time.
            time: "60s".to_owned(),
            ..BudgetFile::default()
        },
        actions: super::ActionsFile::default(),
        gate: None,
        reach: super::ReachFile::Document,
        layout: super::LayoutFile::Flat,
        plan: Vec::new(),
    })
}
