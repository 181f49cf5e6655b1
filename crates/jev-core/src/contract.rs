//! The contract of a run: everything the host promises and allows, checked before anything opens.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::access::{AccessError, AccessList, CanonicalUrl};
use crate::digest::digest;
use crate::gate::Gate;
use crate::ids::{GoalDigest, Scope};
use crate::limits::{BUDGET, BUDGET_MAX_HOST, BUDGET_MIN, Limits};
use crate::policy::{ActionPolicy, PolicyError};

/// Most characters of a goal.
pub const GOAL_MAX_CHARS: usize = 8_000;

/// A contract that can't be run. Each message names the field and the bound.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ContractError {
    /// The goal is empty or white space.
    #[error("goal: blank; say what to find, in 1 to {GOAL_MAX_CHARS} characters")]
    BlankGoal,
    /// The goal is too long.
    #[error("goal: {chars} characters; at most {GOAL_MAX_CHARS} are read")]
    LongGoal {
        /// Its length in characters.
        chars: usize,
    },
    /// A number out of its range.
    #[error("{field}: {value} is outside {min}..={max}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// The value given.
        value: u64,
        /// The smallest allowed.
        min: u64,
        /// The largest allowed.
        max: u64,
    },
    /// The gate's threshold.
    #[error("threshold: {value} is outside 0.55..=1")]
    Threshold {
        /// The value given.
        value: f64,
    },
    /// The time budget.
    #[error("budget: {} ms is outside {} ms..={} s", value.as_millis(), BUDGET_MIN.as_millis(), BUDGET_MAX_HOST.as_secs())]
    Budget {
        /// The value given.
        value: Duration,
    },
    /// The start address.
    #[error("start: {0}")]
    Start(AccessError),
    /// The allow-list.
    #[error("allow: {0}")]
    Access(AccessError),
    /// The start URL is not inside the allow-list.
    #[error("start: {start} is not inside the allow-list; add it or start elsewhere")]
    StartNotAllowed {
        /// The start URL.
        start: CanonicalUrl,
    },
    /// The action policy.
    #[error("actions: {0}")]
    Policy(#[from] PolicyError),
}

/// What to find, in the user's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Goal(String);

impl TryFrom<String> for Goal {
    type Error = ContractError;

    fn try_from(text: String) -> Result<Self, ContractError> {
        Self::new(&text)
    }
}

impl Goal {
    /// Checks and takes a goal; white space around it is dropped.
    ///
    /// # Errors
    /// [`ContractError::BlankGoal`], [`ContractError::LongGoal`].
    pub fn new(text: &str) -> Result<Self, ContractError> {
        let text = text.trim();
        let chars = text.chars().count();
        if chars == 0 {
            return Err(ContractError::BlankGoal);
        }
        if chars > GOAL_MAX_CHARS {
            return Err(ContractError::LongGoal { chars });
        }
        Ok(Self(text.to_owned()))
    }

    /// The goal's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digest that verifications are bound to.
    #[must_use]
    pub fn digest(&self) -> GoalDigest {
        GoalDigest::new(digest(&self.0))
    }
}

/// How far a run goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Observe once, call no judge.
    #[default]
    Off,
    /// As off, and ask the judge once; its answer is recorded and changes nothing.
    Shadow,
    /// The whole loop.
    Enforce,
}

/// How the judge is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// One question over all actions.
    #[default]
    Flat,
    /// Two questions: `operation` and `click_target`.
    TwoHead,
}

/// Where candidates and text come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// What the window shows now.
    Viewport,
    /// The whole rendered document; a target is scrolled into view at dispatch.
    #[default]
    Document,
}

/// Whether every new page state is verified before the judge is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyFirst {
    /// Yes: a page that already satisfies the goal costs no judgment.
    #[default]
    On,
    /// Only DONE claims are, and the last page of a run that gives up.
    Off,
}

/// A checked contract. Build it with [`ContractDraft::check`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ContractDraft")]
pub struct Contract(ContractDraft);

impl TryFrom<ContractDraft> for Contract {
    type Error = ContractError;

    fn try_from(draft: ContractDraft) -> Result<Self, ContractError> {
        draft.check()
    }
}

/// The parts of a contract, before they are checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContractDraft {
    /// What to find.
    pub goal: Goal,
    /// Who the run belongs to.
    pub scope: Scope,
    /// How far it goes.
    pub mode: Mode,
    /// Where it starts; must be inside `access`.
    pub start: CanonicalUrl,
    /// Which documents it may stand on.
    pub access: AccessList,
    /// What the judge may be offered.
    pub actions: ActionPolicy,
    /// When a choice is acted on.
    pub gate: Gate,
    /// Counters.
    pub limits: Limits,
    /// One clock for opening, observing, judging, acting and verifying.
    pub budget: Duration,
    /// How the judge is asked.
    pub layout: Layout,
    /// Viewport or whole document.
    pub reach: Reach,
    /// Whether new page states are verified before the judge is asked.
    pub verify_first: VerifyFirst,
}

impl ContractDraft {
    /// A draft with every default: mode off, links only, gate of a deciding judge.
    #[must_use]
    pub fn new(goal: Goal, scope: Scope, start: CanonicalUrl, access: AccessList) -> Self {
        Self {
            goal,
            scope,
            mode: Mode::Off,
            start,
            access,
            actions: ActionPolicy::read_only(),
            gate: Gate::deciding(),
            limits: Limits::default(),
            budget: BUDGET,
            layout: Layout::default(),
            reach: Reach::default(),
            verify_first: VerifyFirst::default(),
        }
    }

    /// Checks every field and bound.
    ///
    /// # Errors
    /// The first field at fault.
    pub fn check(self) -> Result<Contract, ContractError> {
        if !self.access.allows(&self.start) {
            return Err(ContractError::StartNotAllowed { start: self.start });
        }
        self.limits.check()?;
        self.actions.check()?;
        if self.budget < BUDGET_MIN || self.budget > BUDGET_MAX_HOST {
            return Err(ContractError::Budget { value: self.budget });
        }
        Ok(Contract(self))
    }
}

impl std::ops::Deref for Contract {
    type Target = ContractDraft;

    fn deref(&self) -> &ContractDraft {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::STEPS;

    fn draft() -> ContractDraft {
        ContractDraft::new(
            Goal::new("how long is the warranty?").unwrap(),
            Scope::new("u", "s", "t").unwrap(),
            CanonicalUrl::parse("http://h/docs/index.html").unwrap(),
            AccessList::parse(["http://h/docs/*"]).unwrap(),
        )
    }

    #[test]
    fn goals_have_a_length() {
        assert_eq!(Goal::new(" \n\t"), Err(ContractError::BlankGoal));
        assert_eq!(
            Goal::new(&"ä".repeat(8_001)),
            Err(ContractError::LongGoal { chars: 8_001 })
        );
        assert!(Goal::new(&"ä".repeat(8_000)).is_ok());
    }

    #[test]
    fn every_bound_is_checked_and_named() {
        assert!(draft().check().is_ok());
        let mut bad = draft();
        bad.limits.steps = STEPS.max + 1;
        assert_eq!(
            bad.check().unwrap_err().to_string(),
            "limits.steps: 65 is outside 1..=64"
        );
        for budget in [Duration::ZERO, Duration::from_secs(660)] {
            let bad = ContractDraft { budget, ..draft() };
            assert_eq!(bad.check(), Err(ContractError::Budget { value: budget }));
        }
        let mut bad = draft();
        bad.start = CanonicalUrl::parse("http://h/elsewhere").unwrap();
        assert!(matches!(
            bad.check(),
            Err(ContractError::StartNotAllowed { .. })
        ));
    }
}
