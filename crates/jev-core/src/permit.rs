//! The permit: the right to dispatch one action once, bound to the page that was judged.

use crate::action::Action;
use crate::ids::{DocumentId, IntentId, PageVersion, RunId};

/// The right to dispatch one action once. It can't be cloned, and a session takes it by value, so
/// a second use does not compile:
///
/// ```compile_fail
/// # fn dispatch(_: jev_core::permit::Permit) {}
/// fn twice(permit: jev_core::permit::Permit) {
///     dispatch(permit);
///     dispatch(permit);
/// }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    run: RunId,
    intent: IntentId,
    document: DocumentId,
    version: PageVersion,
    url: String,
    action: Action,
}

impl Permit {
    /// Only the navigator mints permits.
    pub(crate) fn mint(
        run: RunId,
        intent: IntentId,
        document: DocumentId,
        version: PageVersion,
        url: String,
        action: Action,
    ) -> Self {
        Self {
            run,
            intent,
            document,
            version,
            url,
            action,
        }
    }

    /// A permit for trying a session implementation alone, outside a run.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn for_testing(
        intent: IntentId,
        snapshot: &crate::snapshot::Snapshot,
        action: Action,
    ) -> Self {
        Self::mint(
            RunId(0),
            intent,
            snapshot.document.clone(),
            snapshot.version().clone(),
            snapshot.url.clone(),
            action,
        )
    }

    /// The run it belongs to.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.run
    }

    /// The intent it carries out.
    #[must_use]
    pub fn intent(&self) -> IntentId {
        self.intent
    }

    /// The document that was judged.
    #[must_use]
    pub fn document(&self) -> &DocumentId {
        &self.document
    }

    /// The version that was judged.
    #[must_use]
    pub fn version(&self) -> &PageVersion {
        &self.version
    }

    /// The address that was judged.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What may be done.
    #[must_use]
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// Uses the permit up.
    #[must_use]
    pub fn into_action(self) -> Action {
        self.action
    }
}
