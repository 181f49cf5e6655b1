//! Typed tool errors: what an agent is told when a tool did not run.

use jev_core::contract::ContractError;
use jev_core::error::SessionError;
use jev_core::ids::BlankScope;

/// Why a tool did not run. No browser was opened and no judge was called, unless the variant says
/// otherwise.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ToolError {
    /// The host injected no source for this context.
    #[error("the host has given this session no source to read")]
    SourceRequired,
    /// The run context or the goal is missing or bad.
    #[error("{0}")]
    ScopeAndGoalRequired(GoalFault),
    /// The arguments are no object, or hold what the schema does not know.
    #[error("{0}")]
    Arguments(ArgumentFault),
    /// The host's permission gate refused.
    #[error("the host does not permit this call: {reason}")]
    Denied {
        /// Why, in the host's words.
        reason: String,
    },
    /// The host was to be asked and did not consent.
    #[error("{0}")]
    NotConsented(ConsentFault),
    /// As many calls as the host allows are running and waiting.
    #[error("{running} calls are running and {waiting} are waiting; call again when one has ended")]
    Busy {
        /// Calls that run at once.
        running: u32,
        /// Calls that may wait.
        waiting: u32,
    },
    /// What the host configured makes no contract.
    #[error("the host's configuration can't be run: {0}")]
    Contract(ContractError),
    /// A session that is kept between calls.
    #[error("{0}")]
    Session(SessionFault),
    /// The call was cancelled before it began.
    #[error("the call was cancelled before it began")]
    Cancelled,
    /// The tool itself failed; a session that it had opened is closed.
    #[error("the tool failed; nothing is known of the page")]
    Failed,
}

/// What is wrong with context or goal.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GoalFault {
    /// No run context.
    #[error("no run context: the host must say for which user and session this is")]
    NoContext,
    /// A blank part of the context.
    #[error("{0}")]
    Scope(#[from] BlankScope),
    /// No goal, or one that is no text.
    #[error("`goal` is required: one text of 1 to 8000 characters")]
    NoGoal,
    /// The goal's length.
    #[error("{0}")]
    Goal(#[from] ContractError),
}

/// What is wrong with the arguments as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentFault {
    /// Not an object.
    #[error("the arguments must be an object")]
    NotAnObject,
    /// A field the schema does not know.
    #[error("`{field}` is not an argument; only {} may be given", known.join(", "))]
    Unknown {
        /// The field, cut short.
        field: String,
        /// What may be given.
        known: Vec<&'static str>,
    },
    /// An argument is missing or has a value that it can't have.
    #[error("`{field}` must be {expected}")]
    Value {
        /// The argument.
        field: &'static str,
        /// What is expected.
        expected: &'static str,
    },
}

/// What is wrong with a session that is kept between calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionFault {
    /// None of that name is open for this client.
    #[error(
        "no such session is open for this client: it was closed, lay idle for too long, or never was; open a new one"
    )]
    Unknown,
    /// As many as the host allows are open.
    #[error("{most} sessions of {of} may be open; close one first")]
    Limit {
        /// How many.
        most: u32,
        /// Of whom.
        of: &'static str,
    },
    /// It could not be opened, or its browser failed.
    #[error("the browser failed: {0}")]
    Browser(SessionError),
    /// The tab belongs to somebody else.
    #[error("the tab belongs to somebody else")]
    ScopeMismatch,
    /// A call on it was given up half-way.
    #[error(
        "an earlier call on this session was given up half-way, so what it did is not known; close the session and open another"
    )]
    CutShort,
}

/// Why there is no consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConsentFault {
    /// Whoever is in charge said no.
    #[error("the host was asked and refused this call")]
    Refused,
    /// Nobody could be asked.
    #[error("the host wants to be asked about each call, and this client offers no way to ask")]
    Unavailable,
}

impl ToolError {
    /// The stable code that begins every rendering of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::SourceRequired => "BROWSER_SOURCE_REQUIRED",
            Self::ScopeAndGoalRequired(_) => "BROWSER_SCOPE_AND_GOAL_REQUIRED",
            Self::Arguments(_) => "BROWSER_ARGUMENTS_INVALID",
            Self::Denied { .. } => "BROWSER_PERMISSION_DENIED",
            Self::NotConsented(_) => "BROWSER_PERMISSION_NOT_GIVEN",
            Self::Busy { .. } => "BROWSER_BUSY",
            Self::Contract(_) => "BROWSER_CONFIGURATION_INVALID",
            Self::Session(SessionFault::Unknown) => "BROWSER_SESSION_UNKNOWN",
            Self::Session(SessionFault::Limit { .. }) => "BROWSER_SESSION_LIMIT",
            Self::Session(
                SessionFault::Browser(_) | SessionFault::ScopeMismatch | SessionFault::CutShort,
            ) => "BROWSER_SESSION_FAILED",
            Self::Cancelled => "BROWSER_CANCELLED",
            Self::Failed => "BROWSER_TOOL_FAILED",
        }
    }

    /// Every code, for documents.
    pub const CODES: [&'static str; 12] = [
        "BROWSER_SOURCE_REQUIRED",
        "BROWSER_SCOPE_AND_GOAL_REQUIRED",
        "BROWSER_ARGUMENTS_INVALID",
        "BROWSER_PERMISSION_DENIED",
        "BROWSER_PERMISSION_NOT_GIVEN",
        "BROWSER_BUSY",
        "BROWSER_CONFIGURATION_INVALID",
        "BROWSER_SESSION_UNKNOWN",
        "BROWSER_SESSION_LIMIT",
        "BROWSER_SESSION_FAILED",
        "BROWSER_CANCELLED",
        "BROWSER_TOOL_FAILED",
    ];

    /// The error as one line for the agent.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{}: {self}", self.code())
    }
}
