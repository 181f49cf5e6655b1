//! Experience memory: which ways through a site have led to verified answers. Only experience that
//! has proved itself is ever shown to a policy or a planner. It holds no page text, nothing typed and
//! no credential.

mod store;
#[cfg(test)]
mod tests;

use jev_core::access::CanonicalUrl;
use jev_core::action::{Action, ScrollDirection};
use jev_core::policy::{ActionPolicy, NameRule, SafeKey};
use jev_core::receipt::{AppliedEffect, Receipt};
use jev_core::redact::Redactor;
use jev_core::report::StepReport;
use jev_core::snapshot::Role;
use serde::{Deserialize, Serialize};

pub use store::{Memory, MemoryError, Opened, Purge};

/// Verified successes without a failure that promote an experience by themselves.
pub const PROMOTE_SUCCESSES: u32 = 3;
/// Verified successes without a failure that the host needs to promote one by hand: more than one,
/// for once may be luck.
pub const PROMOTE_BY_HAND: u32 = 2;
/// Most experiences shown for one task.
pub const RECALL_MAX: usize = 5;
/// Most characters of a goal that are kept.
const GOAL_CHARS: usize = 500;
/// Most steps that are kept of one way.
const TRAIL_MAX: usize = 32;

/// How far an experience has come. It goes forward only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// It has worked; not often enough.
    Candidate,
    /// It has proved itself; policies and planners are shown it.
    Promoted,
    /// It has failed since, or the host took it away. For ever.
    Retired,
}

impl Lifecycle {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Candidate => "candidate",
            Self::Promoted => "promoted",
            Self::Retired => "retired",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::Candidate, Self::Promoted, Self::Retired]
            .into_iter()
            .find(|state| state.name() == name)
    }
}

/// One step of a way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum TrailStep {
    /// Follow the link to this path of the site; query and fragment are not kept.
    Follow {
        /// The path.
        path: String,
    },
    /// Press the control of this name. The name is the host's, from its own list.
    Press {
        /// What it is.
        role: Role,
        /// The host's word for it.
        name: String,
    },
    /// Scroll down.
    ScrollDown,
    /// Scroll up.
    ScrollUp,
    /// Go back.
    Back,
    /// Load the page again.
    Reload,
    /// Press a key.
    Key {
        /// Which.
        key: SafeKey,
    },
}

/// A way that led to a verified answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trail {
    goal: String,
    origin: String,
    steps: Vec<TrailStep>,
}

impl Trail {
    /// The way that these steps went, from a start page, for a goal.
    #[must_use]
    pub fn of<'a>(
        goal: &str,
        start: &CanonicalUrl,
        steps: impl IntoIterator<Item = &'a StepReport>,
        policy: &ActionPolicy,
        redactor: &Redactor,
    ) -> Self {
        let steps = steps
            .into_iter()
            .filter(|step| {
                matches!(
                    step.receipt,
                    Some(Receipt::Applied(
                        AppliedEffect::Navigated
                            | AppliedEffect::SameDocument
                            | AppliedEffect::Scrolled
                            | AppliedEffect::Changed
                    ))
                )
            })
            .filter_map(|step| trail_step(step.action.as_ref()?, policy, redactor))
            .take(TRAIL_MAX)
            .collect();
        Self {
            goal: kept_goal(goal, redactor),
            origin: start.origin().ascii_serialization(),
            steps,
        }
    }
}

/// A goal as it is kept.
fn kept_goal(goal: &str, redactor: &Redactor) -> String {
    redactor.cut(goal, GOAL_CHARS).0.into_string()
}

/// The path of an address as it is kept: without query and fragment. Redacted as the whole address
/// it is, for alone it would look like a folder of this machine.
fn kept_path(href: &CanonicalUrl, redactor: &Redactor) -> String {
    let origin = href.origin().ascii_serialization();
    let shown = redactor
        .text(&format!("{origin}{}", href.url().path()))
        .into_string();
    match shown.strip_prefix(&origin) {
        Some(path) => path.to_owned(),
        None => shown,
    }
}

fn trail_step(action: &Action, policy: &ActionPolicy, redactor: &Redactor) -> Option<TrailStep> {
    Some(match action {
        Action::Click { target } => match &target.href {
            Some(href) => TrailStep::Follow {
                path: kept_path(href, redactor),
            },
            None => TrailStep::Press {
                role: target.role,
                // A name that the host did not write down itself is page text.
                name: policy.allow.iter().find_map(|rule| match rule {
                    NameRule::Exact(name) if rule.matches(&target.label) => Some(name.clone()),
                    NameRule::Exact(_) | NameRule::Contains(_) => None,
                })?,
            },
        },
        Action::Scroll {
            direction: ScrollDirection::Down,
            ..
        } => TrailStep::ScrollDown,
        Action::Scroll {
            direction: ScrollDirection::Up,
            ..
        } => TrailStep::ScrollUp,
        Action::Back => TrailStep::Back,
        Action::Reload => TrailStep::Reload,
        Action::Press { key } => TrailStep::Key { key: *key },
    })
}

/// One experience.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Experience {
    /// Its number.
    pub id: i64,
    /// What was asked, redacted.
    pub goal: String,
    /// The site.
    pub origin: String,
    /// The way.
    pub steps: Vec<TrailStep>,
    /// How far it has come.
    pub state: Lifecycle,
    /// Verified successes.
    pub successes: u32,
    /// Failures: as a candidate of any task with its goal on its site, once promoted of those that
    /// were shown it.
    pub failures: u32,
    /// When it was first seen, in seconds since 1970.
    pub created: u64,
    /// When it last changed.
    pub updated: u64,
}
