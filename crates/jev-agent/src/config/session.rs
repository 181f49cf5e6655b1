//! The `[session]` table of the host's file: whether an agent may keep a tab of its own, and what it
//! may do there by its own hand.

use std::time::Duration;

use jev_core::policy::{NameRule, Permission};
use serde::Serialize;

use super::error::ConfigError;
use super::reader::Table;
use super::source::{PERMISSIONS, names};

/// Shortest time after which a tab that lies idle is closed.
const IDLE_MIN: Duration = Duration::from_secs(1);
/// Longest time.
const IDLE_MAX: Duration = Duration::from_secs(60 * 60);

/// Sessions that outlive a call, as `[session]` says it. Off when nothing is said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionSettings {
    /// Whether the session tools are offered at all.
    pub tools: Permission,
    /// Sessions that one client may hold open, 1 to 16.
    pub open: u32,
    /// Sessions of all clients together, 1 to 64.
    pub total: u32,
    /// How long a session may lie idle before it is closed, 1 s to 1 h.
    pub idle: Duration,
    /// Whether the agent may say what a page must show for a run to end as VERIFIED. Else the
    /// source's own expectations alone decide.
    pub until: Permission,
    /// Whether the agent may go to an address of the allow-list by itself.
    pub navigate: Permission,
    /// Names of the fields that the agent may fill. Empty: none.
    pub fill: Vec<NameRule>,
    /// Names of the controls that the agent may press by its own hand, reserved ones too. What
    /// the source denies is denied here as well. Empty: none.
    pub press: Vec<NameRule>,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            tools: Permission::Denied,
            open: 2,
            total: 4,
            idle: Duration::from_secs(5 * 60),
            until: Permission::Denied,
            navigate: Permission::Denied,
            fill: Vec::new(),
            press: Vec::new(),
        }
    }
}

impl SessionSettings {
    pub(super) fn read(mut table: Table) -> Result<Self, ConfigError> {
        let base = Self::default();
        let settings = Self {
            tools: table.word("tools", &PERMISSIONS)?.unwrap_or(base.tools),
            open: table.count("open", 1, 16)?.unwrap_or(base.open),
            total: table.count("total", 1, 64)?.unwrap_or(base.total),
            idle: table
                .duration("idle", IDLE_MIN, IDLE_MAX)?
                .unwrap_or(base.idle),
            until: table.word("until", &PERMISSIONS)?.unwrap_or(base.until),
            navigate: table
                .word("navigate", &PERMISSIONS)?
                .unwrap_or(base.navigate),
            fill: named(&mut table, "fill")?,
            press: named(&mut table, "press")?,
        };
        table.finish()?;
        Ok(settings)
    }
}

fn named(table: &mut Table, key: &'static str) -> Result<Vec<NameRule>, ConfigError> {
    let rules = names(table, key)?;
    if rules.iter().any(|rule| rule.text().trim().is_empty()) {
        return Err(ConfigError::Type {
            key: table.key(key),
            expected: "a list of names that are not blank",
        });
    }
    Ok(rules)
}
