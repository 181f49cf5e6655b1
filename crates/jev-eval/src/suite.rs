//! Running a suite: every task against one judge, on its own site, one after another.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jev_agent::{CancellationToken, Observer, Ports};
use jev_core::access::{AccessError, AccessList, CanonicalUrl};
use jev_core::asking::Ask;
use jev_core::contract::{
    Contract, ContractDraft, ContractError, Goal, Layout, Mode, Reach, VerifyFirst,
};
use jev_core::gate::Gate;
use jev_core::ids::{RunId, Scope};
use jev_core::limits::Limits;
use jev_core::ports::{Judge, JudgeKind, SessionFactory, Verifier};
use jev_core::record::{Event, Record};
use jev_core::report::Report;
use jev_verify::{SpecError, VerifierSpec};

use crate::locate::SiteFolders;
use crate::oracle::OracleJudge;
use crate::score::{Traffic, Trial, trial};
use crate::site::{Site, SiteError};
use crate::task::{Kind, Task};

/// What holds for every task of a suite.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Viewport or whole document.
    pub reach: Reach,
    /// One question or two.
    pub layout: Layout,
    /// The clock of one run.
    pub budget: Duration,
    /// The counters of one run.
    pub limits: Limits,
    /// Whether new pages are verified before the judge is asked.
    pub verify_first: VerifyFirst,
    /// The gate; none means the default of the judge's kind.
    pub gate: Option<Gate>,
}

impl Default for Settings {
    /// Whole document, one question, 60 s a run, the limits of a contract.
    fn default() -> Self {
        Self {
            reach: Reach::Document,
            layout: Layout::Flat,
            budget: Duration::from_secs(60),
            limits: Limits::default(),
            verify_first: VerifyFirst::On,
            gate: None,
        }
    }
}

/// Who answers the questions.
#[derive(Clone)]
pub enum Contestant {
    /// A judge for every task.
    Judge(Arc<dyn Judge>),
    /// For each task an oracle of its own; on unanswerable tasks it claims to be done at once.
    Oracle,
}

impl Contestant {
    fn judge(
        &self,
        base: &CanonicalUrl,
        task: &Task,
        reach: Reach,
    ) -> Result<Arc<dyn Judge>, AccessError> {
        match self {
            Self::Judge(judge) => Ok(Arc::clone(judge)),
            Self::Oracle => {
                let start = std::slice::from_ref(&task.start);
                let way = match task.kind {
                    Kind::Answerable if !task.shortest_path.is_empty() => &task.shortest_path,
                    Kind::Answerable | Kind::Unanswerable => start,
                };
                let pages = way.iter().map(String::as_str);
                Ok(Arc::new(OracleJudge::new(base, pages, reach)?))
            }
        }
    }

    /// The name in reports.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Judge(judge) => judge.identity().name,
            Self::Oracle => "oracle".to_owned(),
        }
    }
}

/// A task that could not be run at all. Such a task is a fault of the suite or the machine, never
/// of a judge, so it ends the suite.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// Its pages are not on this machine.
    #[error(
        "task {id}: the pages of {site} are not on this machine; `cargo xtask setup` fetches them"
    )]
    NoSite {
        /// The task.
        id: String,
        /// Its package or, without one, its site.
        site: String,
    },
    /// Its site can't be served.
    #[error("task {id}: {error}")]
    Serve {
        /// The task.
        id: String,
        /// Why.
        error: SiteError,
    },
    /// Its pages make no addresses.
    #[error("task {id}: {error}")]
    Address {
        /// The task.
        id: String,
        /// Why.
        error: AccessError,
    },
    /// Its contract is not one.
    #[error("task {id}: {error}")]
    Contract {
        /// The task.
        id: String,
        /// Why.
        error: ContractError,
    },
    /// Its evidence can't be looked for.
    #[error("task {id}: {error}")]
    Evidence {
        /// The task.
        id: String,
        /// Why.
        error: SpecError,
    },
}

/// Carries out one run. The suite knows contracts and reports, and not how a run comes about, so
/// that another tool can be measured on the same tasks.
#[async_trait]
pub trait TaskRunner: Send + Sync {
    /// Runs a contract to its end.
    async fn run(
        &self,
        run: RunId,
        contract: Contract,
        judge: Arc<dyn Judge>,
        verifier: Arc<dyn Verifier>,
    ) -> Ran;
}

/// What a run brought.
#[derive(Debug)]
pub struct Ran {
    /// Its report.
    pub report: Report,
    /// Characters of all requests to the judge, as JSON.
    pub asked_chars: u64,
}

/// Runs with this workspace's own driver.
#[derive(Clone)]
pub struct AgentRunner {
    factory: Arc<dyn SessionFactory>,
    cancel: CancellationToken,
}

impl AgentRunner {
    /// A runner that opens its sessions with `factory` and ends when `cancel` is cancelled.
    #[must_use]
    pub fn new(factory: Arc<dyn SessionFactory>, cancel: CancellationToken) -> Self {
        Self { factory, cancel }
    }
}

#[async_trait]
impl TaskRunner for AgentRunner {
    async fn run(
        &self,
        run: RunId,
        contract: Contract,
        judge: Arc<dyn Judge>,
        verifier: Arc<dyn Verifier>,
    ) -> Ran {
        let ports = Ports {
            factory: Arc::clone(&self.factory),
            judge,
            verifier,
        };
        let mut asked = Asked::default();
        let report = jev_agent::run(run, contract, &ports, &mut asked, &self.cancel).await;
        Ran {
            report,
            asked_chars: asked.chars(),
        }
    }
}

/// Keeps what the judge was asked; it is measured after the run, so that measuring costs it nothing.
#[derive(Default)]
struct Asked(Vec<Arc<Ask>>);

impl Observer for Asked {
    fn record(&mut self, record: &Record) {
        if let Event::Asked(ask) = &record.event {
            self.0.push(Arc::clone(ask));
        }
    }
}

impl Asked {
    fn chars(&self) -> u64 {
        self.0
            .iter()
            .filter_map(|ask| serde_json::to_string(&ask.questionnaire()).ok())
            .map(|text| text.chars().count() as u64)
            .sum()
    }
}

/// Runs every task in order and hands each result to `progress` as it comes. Sites are served for
/// as long as the suite runs; every run gets a session of its own.
///
/// # Errors
/// The first task that can't be run at all.
pub async fn run(
    tasks: &[Task],
    folders: &SiteFolders,
    contestant: &Contestant,
    settings: &Settings,
    runner: &dyn TaskRunner,
    progress: &mut (dyn FnMut(&Trial) + Send),
) -> Result<Vec<Trial>, SuiteError> {
    let mut sites: BTreeMap<PathBuf, Site> = BTreeMap::new();
    let mut trials = Vec::new();
    for (number, task) in (1..).zip(tasks) {
        let id = || task.id.clone();
        let root = folders.find(task).ok_or_else(|| SuiteError::NoSite {
            id: id(),
            site: task.package.clone().unwrap_or_else(|| task.site.clone()),
        })?;
        if !sites.contains_key(&root) {
            let site = Site::serve(&root)
                .await
                .map_err(|error| SuiteError::Serve { id: id(), error })?;
            sites.insert(root.clone(), site);
        }
        let Some(site) = sites.get(&root) else {
            continue;
        };
        let address = |error| SuiteError::Address { id: id(), error };
        let judge = contestant
            .judge(site.base(), task, settings.reach)
            .map_err(address)?;
        let contract = contract(task, site, judge.identity().kind, settings)?;
        let verifier = VerifierSpec::new()
            .expect(&task.evidence)
            .build()
            .map_err(|error| SuiteError::Evidence { id: id(), error })?;
        let before = site.hits().len();
        let ran = runner.run(RunId(number), contract, judge, verifier).await;
        let hits = site.hits().split_off(before);
        let traffic = Traffic {
            requests: hits.len() as u64,
            bytes: hits.iter().map(|hit| hit.bytes).sum(),
        };
        let trial = trial(task, site.base(), &ran.report, ran.asked_chars, traffic);
        progress(&trial);
        trials.push(trial);
    }
    for site in sites.into_values() {
        site.stop().await;
    }
    Ok(trials)
}

/// The contract of a task: its goal, its site's origin and nothing else.
fn contract(
    task: &Task,
    site: &Site,
    kind: JudgeKind,
    settings: &Settings,
) -> Result<Contract, SuiteError> {
    let address = |error| SuiteError::Address {
        id: task.id.clone(),
        error,
    };
    let refused = |error| SuiteError::Contract {
        id: task.id.clone(),
        error,
    };
    let start = site.url(&task.start).map_err(address)?;
    let origin = format!("{}*", site.base());
    let access = AccessList::parse([origin.as_str()]).map_err(address)?;
    let scope = Scope::new("eval", &task.id, "tab").map_err(|_| {
        // A task's id was checked when its file was read.
        refused(ContractError::BlankGoal)
    })?;
    let goal = Goal::new(&task.goal).map_err(refused)?;
    let gate = settings.gate.unwrap_or(match kind {
        JudgeKind::Decides => Gate::deciding(),
        JudgeKind::Ranks => Gate::ranking(),
    });
    ContractDraft {
        mode: Mode::Enforce,
        gate,
        limits: settings.limits,
        budget: settings.budget,
        layout: settings.layout,
        reach: settings.reach,
        verify_first: settings.verify_first,
        ..ContractDraft::new(goal, scope, start, access)
    }
    .check()
    .map_err(refused)
}
