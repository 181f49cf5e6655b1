//! The task contract: what a task file says, and every check it must pass before anything opens.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jev_core::access::{AccessError, AccessList, AccessPattern, CanonicalUrl};
use jev_core::contract::{ContractError, Goal, Layout, Reach};
use jev_core::gate::{Gate, GateKind};
use jev_core::limits::{BUDGET, BUDGET_MAX_HOST, BUDGET_MIN, RECOVERIES, STEPS};
use jev_core::policy::{ActionPolicy, Discovery, NameRule, Permission, SafeKey};
use jev_core::ports::Verifier;
use jev_verify::{All, SpecError, UrlVerifier, VerifierSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plan::{Plan, PlanFault, StepDraft};

/// The number of the task file's format.
pub const TASK_VERSION: u32 = 1;
/// Largest task file that is read, in bytes.
const FILE_MAX_BYTES: u64 = 256 << 10;

/// A task file as it is written, in TOML or JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Jev task")]
pub struct TaskFile {
    /// 1.
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
    /// What to find, in your own words, 1 to 8,000 characters.
    #[schemars(length(min = 1, max = 8000))]
    pub goal: String,
    /// The page to start on; inside `allow`.
    pub start: String,
    /// The pages it may stand on: exact URLs, prefixes ending in `*`, or origins.
    #[schemars(length(min = 1, max = 256))]
    pub allow: Vec<String>,
    /// What the last page must show for the task to be complete.
    pub success: Criteria,
    /// How far it may go.
    #[serde(default)]
    pub budget: BudgetFile,
    /// What may be done beside following links. Nothing when left out: links, scroll, back.
    #[serde(default)]
    pub actions: ActionsFile,
    /// When a choice is strong enough. Left out: what suits the judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateFile>,
    /// Where links and text come from.
    #[serde(default)]
    pub reach: ReachFile,
    /// How the judge is asked.
    #[serde(default)]
    pub layout: LayoutFile,
    /// The steps, in order. Left out: one step, the goal itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub plan: Vec<StepDraft>,
}

/// What a page must show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Criteria {
    /// Regular expressions; the visible text must match each.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub expect: Vec<String>,
    /// The address it must stand at: exact URL, prefix ending in `*`, or origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect_url: Option<String>,
}

impl Criteria {
    /// Whether nothing could ever be proved.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.expect.is_empty()
    }

    /// The verifier of a last step: the task's own, and whatever the step asks for beside it. An
    /// address alone proves nothing, but beside `success` it counts.
    pub(super) fn beside(
        &self,
        success: &Arc<dyn Verifier>,
    ) -> Result<Arc<dyn Verifier>, SpecError> {
        let own: Arc<dyn Verifier> = match (self.expect.is_empty(), &self.expect_url) {
            (true, None) => return Ok(Arc::clone(success)),
            (true, Some(url)) => Arc::new(UrlVerifier::parse(url)?),
            (false, Some(_) | None) => self.verifier()?,
        };
        Ok(Arc::new(All::new(vec![own, Arc::clone(success)])))
    }

    /// The verifier.
    ///
    /// # Errors
    /// [`SpecError`] for an expression or address that can't be read.
    pub fn verifier(&self) -> Result<Arc<dyn Verifier>, SpecError> {
        let spec = VerifierSpec::new().expect_all(self.expect.iter().cloned());
        match &self.expect_url {
            Some(url) => spec.expect_url(url),
            None => spec,
        }
        .build()
    }
}

/// How far a task may go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetFile {
    /// Judged steps, 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub steps: u32,
    /// Recoveries, 0 to 8, less than `steps`.
    #[schemars(range(min = 0, max = 8))]
    pub recoveries: u32,
    /// Actions on pages, 0 to 64, at most `steps`. Left out: as many as steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 64))]
    pub actions: Option<u32>,
    /// One clock for everything, such as `10s`; up to 10m.
    pub time: String,
}

impl Default for BudgetFile {
    fn default() -> Self {
        Self {
            steps: STEPS.default,
            recoveries: RECOVERIES.default,
            actions: None,
            time: format!("{}s", BUDGET.as_secs()),
        }
    }
}

/// What may be done beside following links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ActionsFile {
    /// Buttons, tabs, switches and menu entries that may be pressed: `Save` is a whole name, `*save*`
    /// a part of one; letter case does not count. So in all lists of names.
    pub allow: Vec<String>,
    /// Whether tabs and menu entries may be pressed that are not named, unless their names speak of
    /// buying, sending, deleting and the like.
    pub discover: bool,
    /// Names that are never offered, links included. None may be among `allow`.
    pub deny: Vec<String>,
    /// Names kept for the host's own hand. None may be among `allow`.
    pub reserve: Vec<String>,
    /// Whether it may scroll.
    pub scroll: bool,
    /// Window heights of one scroll, 1 to 5.
    #[schemars(range(min = 1, max = 5))]
    pub scroll_pages: u8,
    /// Parts of a page that scroll by themselves and may be scrolled, by their names.
    pub scroll_areas: Vec<String>,
    /// Whether it may go back.
    pub back: bool,
    /// Whether it may reload.
    pub reload: bool,
    /// Keys it may press: Enter, Escape, Tab, PageUp, PageDown, Home, End.
    #[schemars(with = "Vec<String>")]
    pub keys: Vec<SafeKey>,
}

impl Default for ActionsFile {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            discover: false,
            deny: Vec::new(),
            reserve: Vec::new(),
            scroll: true,
            scroll_pages: 1,
            scroll_areas: Vec::new(),
            back: true,
            reload: false,
            keys: Vec::new(),
        }
    }
}

/// When a choice is acted on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateFile {
    /// `probability` or `share`.
    #[schemars(with = "String", regex(pattern = "^(probability|share)$"))]
    pub kind: GateKind,
    /// 0.55 to 1.
    #[schemars(range(min = 0.55, max = 1.0))]
    pub threshold: f64,
}

/// Where links and text come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReachFile {
    /// What the window shows.
    Viewport,
    /// The whole rendered document.
    #[default]
    Document,
}

/// How the judge is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LayoutFile {
    /// One question.
    #[default]
    Flat,
    /// Two questions.
    TwoHead,
}

/// Why a task can't be run. Each message names the field.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The file can't be read.
    #[error("task file {path}: {source}")]
    Read {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is too large.
    #[error("task file {path}: more than {FILE_MAX_BYTES} bytes")]
    TooLarge {
        /// Which.
        path: String,
    },
    /// It is not TOML or JSON of the right shape; the message says where.
    #[error("task file: {what}")]
    Shape {
        /// What is wrong, and in which line.
        what: String,
    },
    /// Another format.
    #[error("version: {value} is not known; this program reads {TASK_VERSION}")]
    Version {
        /// The number given.
        value: u32,
    },
    /// A field of the contract.
    #[error("{0}")]
    Contract(#[from] ContractError),
    /// A pattern of the allow-list, or the start.
    #[error("{field}: {source}")]
    Access {
        /// `start` or `allow`.
        field: &'static str,
        /// Why.
        source: AccessError,
    },
    /// The success criteria.
    #[error("success.{0}")]
    Success(SpecError),
    /// No criteria.
    #[error("success.expect: empty; without a criterion no task can be COMPLETED")]
    NoCriteria,
    /// The time.
    #[error("budget.time: `{text}` is not a duration; write it like 10s, 500ms or 2m")]
    Time {
        /// What was given.
        text: String,
    },
    /// Two budgets that can't both be meant.
    #[error("budget: {what}")]
    Contradiction {
        /// Which, and why.
        what: &'static str,
    },
    /// The plan.
    #[error("plan: {0}")]
    Plan(#[from] PlanFault),
}

/// What a task may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Judged steps.
    pub steps: u32,
    /// Recoveries.
    pub recoveries: u32,
    /// Actions on pages.
    pub actions: u32,
    /// The one clock.
    pub time: Duration,
}

/// A checked task.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// What to find.
    pub goal: Goal,
    /// Where it starts.
    pub start: CanonicalUrl,
    /// Where it may go.
    pub access: AccessList,
    /// What completes it. Never empty, and every part of it compiles.
    pub success: Criteria,
    /// What it may spend.
    pub budgets: Budgets,
    /// What may be done.
    pub actions: ActionPolicy,
    /// When a choice is acted on; none: what suits the judge.
    pub gate: Option<Gate>,
    /// Viewport or whole document.
    pub reach: Reach,
    /// One question or two.
    pub layout: Layout,
    /// The plan of the file, when it has one.
    pub plan: Option<Plan>,
}

impl Task {
    /// Reads and checks a file: JSON when it is called so or begins with a brace, else TOML.
    ///
    /// # Errors
    /// [`TaskError`].
    pub fn load(path: &Path) -> Result<Self, TaskError> {
        let shown = path.display().to_string();
        let failed = |source| TaskError::Read {
            path: shown.clone(),
            source,
        };
        if std::fs::metadata(path).map_err(failed)?.len() > FILE_MAX_BYTES {
            return Err(TaskError::TooLarge { path: shown });
        }
        Self::parse(&std::fs::read_to_string(path).map_err(failed)?)
    }

    /// Checks a text: JSON when it begins with a brace, else TOML.
    ///
    /// # Errors
    /// [`TaskError`].
    pub fn parse(text: &str) -> Result<Self, TaskError> {
        let shape = |what: String| TaskError::Shape {
            what: what.trim().to_owned(),
        };
        let file = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| shape(error.to_string()))?
        } else {
            toml::from_str(text).map_err(|error| shape(error.to_string()))?
        };
        Self::check(file)
    }

    /// Checks every field.
    ///
    /// # Errors
    /// The first field at fault.
    pub fn check(file: TaskFile) -> Result<Self, TaskError> {
        if file.version != TASK_VERSION {
            return Err(TaskError::Version {
                value: file.version,
            });
        }
        let access = |field| move |source| TaskError::Access { field, source };
        let goal = Goal::new(&file.goal)?;
        let start = CanonicalUrl::parse(&file.start).map_err(access("start"))?;
        let allow =
            AccessList::parse(file.allow.iter().map(String::as_str)).map_err(access("allow"))?;
        if !allow.allows(&start) {
            return Err(ContractError::StartNotAllowed { start }.into());
        }
        file.success.verifier().map_err(TaskError::Success)?;
        if file.success.is_empty() {
            return Err(TaskError::NoCriteria);
        }
        let budgets = budgets(&file.budget)?;
        let actions = actions(&file.actions);
        actions.check().map_err(ContractError::Policy)?;
        let gate = file
            .gate
            .map(|gate| Gate::new(gate.kind, gate.threshold))
            .transpose()?;
        let plan = match file.plan.is_empty() {
            true => None,
            false => Some(Plan::check(file.plan, &allow)?),
        };
        if plan
            .as_ref()
            .is_some_and(|plan| plan.steps().len() > budgets.steps as usize)
        {
            return Err(TaskError::Contradiction {
                what: "the plan has more steps than `steps` allows judged steps",
            });
        }
        Ok(Self {
            goal,
            start,
            access: allow,
            success: file.success,
            budgets,
            actions,
            gate,
            reach: match file.reach {
                ReachFile::Viewport => Reach::Viewport,
                ReachFile::Document => Reach::Document,
            },
            layout: match file.layout {
                LayoutFile::Flat => Layout::Flat,
                LayoutFile::TwoHead => Layout::TwoHead,
            },
            plan,
        })
    }
}

fn budgets(file: &BudgetFile) -> Result<Budgets, TaskError> {
    STEPS.check(file.steps)?;
    RECOVERIES.check(file.recoveries)?;
    let actions = file.actions.unwrap_or(file.steps);
    if actions > file.steps {
        return Err(TaskError::Contradiction {
            what: "`actions` is more than `steps`; every action takes a judged step",
        });
    }
    if file.recoveries >= file.steps && file.recoveries > 0 {
        return Err(TaskError::Contradiction {
            what: "`recoveries` is not less than `steps`; a recovery needs a step to follow it",
        });
    }
    let time = match file.time.trim() {
        "0" => Duration::ZERO,
        text => humantime::parse_duration(text).map_err(|_| TaskError::Time {
            text: file.time.clone(),
        })?,
    };
    if !(BUDGET_MIN..=BUDGET_MAX_HOST).contains(&time) {
        return Err(ContractError::Budget { value: time }.into());
    }
    Ok(Budgets {
        steps: file.steps,
        recoveries: file.recoveries,
        actions,
        time,
    })
}

fn actions(file: &ActionsFile) -> ActionPolicy {
    let names = |names: &[String]| names.iter().map(|text| NameRule::written(text)).collect();
    let permission = |allowed| match allowed {
        true => Permission::Allowed,
        false => Permission::Denied,
    };
    ActionPolicy {
        allow: names(&file.allow),
        discover: match file.discover {
            true => Discovery::LowRisk,
            false => Discovery::Off,
        },
        deny: names(&file.deny),
        reserve: names(&file.reserve),
        scroll: permission(file.scroll),
        scroll_pages: file.scroll_pages,
        scroll_areas: names(&file.scroll_areas),
        back: permission(file.back),
        reload: permission(file.reload),
        keys: file.keys.clone(),
    }
}

/// Whether everything that `pattern` allows is allowed by `list` too.
pub(super) fn covers(list: &AccessList, pattern: &AccessPattern) -> bool {
    match pattern {
        AccessPattern::Exact(url) => list.allows(url),
        AccessPattern::Prefix(inner) | AccessPattern::Origin(inner) => {
            list.patterns().iter().any(|outer| match outer {
                AccessPattern::Exact(_) => false,
                AccessPattern::Prefix(outer) | AccessPattern::Origin(outer) => {
                    inner.as_str().starts_with(outer.as_str())
                }
            })
        }
    }
}
