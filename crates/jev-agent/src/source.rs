//! What the host injects for a run: who it is for, and the source it may read.

use std::sync::Arc;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::ids::{BlankScope, Scope};
use jev_core::policy::ActionPolicy;
use jev_core::ports::{SessionFactory, Verifier};

/// In whose name a tool is called. The model has no part in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunContext {
    /// The user.
    pub user: String,
    /// The user's session with the agent.
    pub session: String,
}

impl RunContext {
    /// A context; blank parts are refused when a tool is called with it.
    pub fn new(user: impl Into<String>, session: impl Into<String>) -> Self {
        Self {
            user: user.into(),
            session: session.into(),
        }
    }

    /// The scope of one tab of this context.
    ///
    /// # Errors
    /// [`BlankScope`] naming the blank part.
    pub fn scope(&self, tab: impl Into<String>) -> Result<Scope, BlankScope> {
        Scope::new(&self.user, &self.session, tab)
    }
}

/// What a tool may read, and what proves an answer.
#[derive(Clone)]
pub struct Source {
    /// Opens the sessions; must not block.
    pub factory: Arc<dyn SessionFactory>,
    /// Gives the verdicts.
    pub verifier: Arc<dyn Verifier>,
    /// The page every run starts on.
    pub start: CanonicalUrl,
    /// The documents a run may stand on.
    pub access: AccessList,
    /// What the judge may be offered.
    pub actions: ActionPolicy,
}

/// Says which source a run context may read: the binding between the two.
pub trait SourceProvider: Send + Sync {
    /// The source of this context, if it has one.
    fn source(&self, context: &RunContext) -> Option<Source>;
}

/// A source of one context alone.
pub struct Bound {
    /// The context.
    pub context: RunContext,
    /// Its source.
    pub source: Source,
}

impl SourceProvider for Bound {
    fn source(&self, context: &RunContext) -> Option<Source> {
        (*context == self.context).then(|| self.source.clone())
    }
}

/// A source that every context of this process may read, as for a server on its user's own machine.
pub struct Shared(pub Source);

impl SourceProvider for Shared {
    fn source(&self, _context: &RunContext) -> Option<Source> {
        Some(self.0.clone())
    }
}

/// No source was injected.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSource;

impl SourceProvider for NoSource {
    fn source(&self, _context: &RunContext) -> Option<Source> {
        None
    }
}
