//! A tab that outlives the runs made on it: each run gets a lease, and closing the lease leaves the
//! tab open.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jev_core::error::{DispatchError, Sent, SessionError};
use jev_core::ids::Scope;
use jev_core::limits::CLOSE_GRACE;
use jev_core::permit::Permit;
use jev_core::ports::{Change, CloseOutcome, CloseReport, OpenRequest, Session, SessionFactory};
use jev_core::receipt::{Receipt, RejectCause};
use jev_core::snapshot::Snapshot;

/// What all leases of a tab share: the actions left, and the last page seen.
#[derive(Debug)]
pub(crate) struct Meter {
    actions_left: AtomicU32,
    refused: AtomicBool,
    last: Mutex<Option<Arc<Snapshot>>>,
}

impl Meter {
    pub(crate) fn new(actions: u32) -> Self {
        Self {
            actions_left: AtomicU32::new(actions),
            refused: AtomicBool::new(false),
            last: Mutex::default(),
        }
    }

    /// The page seen last.
    pub(crate) fn last(&self) -> Option<Arc<Snapshot>> {
        self.slot().clone()
    }

    /// Whether an action was refused because none was left.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.refused.load(Ordering::SeqCst)
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<Snapshot>>> {
        // It is set in one assignment, so a panic elsewhere leaves it sound.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn charge(&self) -> Result<(), Receipt> {
        let left = self
            .actions_left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            });
        match left {
            Ok(_) => Ok(()),
            Err(_) => {
                self.refused.store(true, Ordering::SeqCst);
                Err(Receipt::Rejected(RejectCause::Unsupported))
            }
        }
    }
}

/// A tab. Closed in the background when it is dropped open.
pub(crate) struct Tab {
    session: Option<Arc<dyn Session>>,
    meter: Arc<Meter>,
}

impl Tab {
    pub(crate) fn new(session: Arc<dyn Session>, actions: u32) -> Self {
        Self {
            session: Some(session),
            meter: Arc::new(Meter::new(actions)),
        }
    }

    pub(crate) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// The session itself.
    ///
    /// # Errors
    /// [`SessionError::Closed`].
    pub(crate) fn session(&self) -> Result<&Arc<dyn Session>, SessionError> {
        self.session.as_ref().ok_or(SessionError::Closed)
    }

    /// Looks at the page, outside of any run.
    pub(crate) async fn observe(&self, deadline: Duration) -> Result<Arc<Snapshot>, SessionError> {
        self.look(deadline)?.await
    }

    /// As [`Tab::observe`], as a future that borrows nothing.
    pub(crate) fn look(
        &self,
        deadline: Duration,
    ) -> Result<impl Future<Output = Result<Arc<Snapshot>, SessionError>> + use<>, SessionError>
    {
        let (session, meter) = (Arc::clone(self.session()?), Arc::clone(&self.meter));
        Ok(async move {
            let snapshot = Arc::new(session.observe(deadline).await?);
            *meter.slot() = Some(Arc::clone(&snapshot));
            Ok(snapshot)
        })
    }

    /// A factory whose sessions are leases of this tab.
    pub(crate) fn leases(&self) -> Arc<dyn SessionFactory> {
        Arc::new(Leases {
            session: self.session.clone(),
            meter: Arc::clone(&self.meter),
        })
    }

    /// Closes the tab, once.
    pub(crate) async fn close(&mut self, grace: Duration) -> CloseReport {
        match self.session.take() {
            Some(session) => close(session, grace).await,
            None => CloseOutcome::AlreadyClosed.into(),
        }
    }
}

/// How much longer than its grace a close may take before it counts as unanswered.
const CLOSE_MARGIN: Duration = Duration::from_secs(1);

/// Closes a session. One that never answers, or panics, is left to itself: nobody waits for it
/// beyond its grace and a margin.
pub(crate) async fn close(session: Arc<dyn Session>, grace: Duration) -> CloseReport {
    // Not stopped when it is given up: it may still get there.
    let closing = tokio::spawn(async move { session.close(grace).await });
    match tokio::time::timeout(grace.saturating_add(CLOSE_MARGIN), closing).await {
        Ok(Ok(report)) => report,
        Ok(Err(_)) | Err(_) => CloseOutcome::Unanswered.into(),
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        if let (Some(session), Ok(runtime)) =
            (self.session.take(), tokio::runtime::Handle::try_current())
        {
            runtime.spawn(async move {
                session.close(CLOSE_GRACE).await;
            });
        }
    }
}

struct Leases {
    session: Option<Arc<dyn Session>>,
    meter: Arc<Meter>,
}

#[async_trait]
impl SessionFactory for Leases {
    async fn open(
        &self,
        _request: OpenRequest,
        _deadline: Duration,
    ) -> Result<Arc<dyn Session>, SessionError> {
        let session = self.session.clone().ok_or(SessionError::Closed)?;
        Ok(Arc::new(Lease {
            session,
            meter: Arc::clone(&self.meter),
            released: AtomicBool::new(false),
        }))
    }
}

/// One run's share of a tab.
struct Lease {
    session: Arc<dyn Session>,
    meter: Arc<Meter>,
    released: AtomicBool,
}

impl Lease {
    fn check(&self) -> Result<(), SessionError> {
        if self.released.load(Ordering::SeqCst) {
            Err(SessionError::Closed)
        } else {
            Ok(())
        }
    }
}

#[async_trait]
impl Session for Lease {
    fn scope(&self) -> &Scope {
        self.session.scope()
    }

    async fn picture(&self, page: &Snapshot, bound: Duration) -> Option<Vec<u8>> {
        self.check().ok()?;
        self.session.picture(page, bound).await
    }

    async fn lost(&self) -> SessionError {
        self.session.lost().await
    }

    async fn observe(&self, deadline: Duration) -> Result<Snapshot, SessionError> {
        self.check()?;
        let snapshot = self.session.observe(deadline).await?;
        *self.meter.slot() = Some(Arc::new(snapshot.clone()));
        Ok(snapshot)
    }

    async fn dispatch(&self, permit: Permit, deadline: Duration) -> Result<Receipt, DispatchError> {
        self.check().map_err(|error| DispatchError {
            sent: Sent::SurelyNot,
            error,
        })?;
        match self.meter.charge() {
            Ok(()) => self.session.dispatch(permit, deadline).await,
            Err(receipt) => Ok(receipt),
        }
    }

    async fn wait(&self, bound: Duration) -> Result<Change, SessionError> {
        self.check()?;
        self.session.wait(bound).await
    }

    /// Gives the lease back. Nothing is dispatched through it any more; the tab stays open.
    async fn close(&self, _grace: Duration) -> CloseReport {
        let outcome = if self.released.swap(true, Ordering::SeqCst) {
            CloseOutcome::AlreadyClosed
        } else {
            CloseOutcome::Clean
        };
        outcome.into()
    }
}

#[cfg(test)]
mod conformance {
    use jev_core::testing::{self, Clock};

    use super::*;

    #[tokio::test]
    async fn a_lease_of_a_tab_conforms() {
        let (site, case) = crate::testing::conformance_case();
        let opened = site
            .open(case.request.clone(), Duration::from_secs(1))
            .await;
        let tab = Tab::new(opened.unwrap(), 100);
        let clock = Clock::new(tokio::time::sleep);
        let leases = tab.leases();
        assert_eq!(
            testing::session(leases.as_ref(), &case, &clock).await,
            Ok(())
        );
        // The tab outlives its leases.
        assert!(tab.observe(Duration::from_secs(1)).await.is_ok());
    }
}
