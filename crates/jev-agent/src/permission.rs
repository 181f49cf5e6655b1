//! The host's permission gate: every tool call passes it before anything happens.

use async_trait::async_trait;

use crate::source::RunContext;

/// What the gate is told of a call. The goal is the agent's words, as they came and unchecked.
#[derive(Clone, Copy, Debug)]
pub struct PermissionRequest<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// In whose name, where that is known.
    pub context: Option<&'a RunContext>,
    /// What the agent wants to know, where it said so.
    pub goal: Option<&'a str>,
    /// What the agent wants to do by its own hand, in our words, where it is not reading. Holds
    /// names and addresses, never what is typed.
    pub act: Option<&'a str>,
}

/// The host's rule for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// Go on.
    Allow,
    /// Stop; the agent is told why.
    Deny {
        /// Why, in the host's words.
        reason: String,
    },
    /// Ask whoever is in charge, each time.
    Ask,
}

/// What whoever is in charge answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Yes, this once.
    Given,
    /// No.
    Refused,
    /// Nobody could be asked, or nobody answered. Counts as no.
    Unavailable,
}

/// Rules over tool calls, and asks when the rule is to ask.
#[async_trait]
pub trait PermissionGate: Send + Sync {
    /// The rule for a call. Called first, before the call's arguments are even checked.
    async fn rule(&self, request: &PermissionRequest<'_>) -> Ruling;

    /// Asks whoever is in charge. Called only after [`Ruling::Ask`], for a call that is otherwise
    /// in order, and before anything is opened. Without an implementation nobody can be asked.
    async fn ask(&self, _request: &PermissionRequest<'_>) -> Consent {
        Consent::Unavailable
    }
}

/// One rule for every call; nobody is there to be asked.
#[async_trait]
impl PermissionGate for Ruling {
    async fn rule(&self, _request: &PermissionRequest<'_>) -> Ruling {
        self.clone()
    }
}
