//! Who uses which browser: sessions hold leases, the last lease of a browser ends it. A browser that
//! can't be trusted any more is given to no later session and is killed with its last lease.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jev_core::ports::CloseOutcome;
use serde_json::json;

use crate::attach::BoundaryKind;
use crate::error::CdpError;
use crate::launch::Browser;

/// What becomes of a browser that no session uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// It is closed with the last session.
    #[default]
    WhileUsed,
    /// It stays for the next session, until [`CdpSessionFactory::close`].
    ///
    /// [`CdpSessionFactory::close`]: crate::CdpSessionFactory::close
    UntilClosed,
}

/// The browser that sessions are opened in, and how many use it. Nothing waits while it is locked.
#[derive(Debug, Default)]
pub(crate) struct Desk(Mutex<Option<Shared>>);

/// A browser, as the desk and each of its leases hold it.
#[derive(Clone, Debug)]
struct Shared {
    browser: Arc<Browser>,
    /// How many leases of it are out; changed only while the desk is locked.
    leases: Arc<AtomicUsize>,
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Option<Shared>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A share in the browser that is there. One that is gone or can't be trusted is put away.
    pub(crate) fn lease(self: &Arc<Self>, keep: Keep) -> Option<Lease> {
        let mut entry = self.lock();
        let known = entry.take_if(|known| !is_sound(&known.browser));
        let lease = entry.as_ref().map(|known| Lease::of(self, known, keep));
        drop(entry);
        // Reaped when its last user lets go, which may be now.
        drop(known);
        lease
    }

    /// Whether a sound browser is there.
    pub(crate) fn has_sound(&self) -> bool {
        let entry = self.lock();
        entry.as_ref().is_some_and(|known| is_sound(&known.browser))
    }

    /// Puts a new browser there.
    pub(crate) fn put(&self, browser: Browser) {
        let before = self.lock().replace(Shared {
            browser: Arc::new(browser),
            leases: Arc::default(),
        });
        drop(before);
    }

    /// Takes the browser away, unless a session uses it.
    pub(crate) fn take_unused(&self) -> Taken {
        let mut entry = self.lock();
        match entry.take_if(|known| known.leases.load(Ordering::Relaxed) == 0) {
            Some(known) => Taken::Unused(known.browser),
            None if entry.is_some() => Taken::Used,
            None => Taken::Nothing,
        }
    }

    /// The browser that is there.
    #[cfg(feature = "testing")]
    pub(crate) fn browser(&self) -> Option<Arc<Browser>> {
        let entry = self.lock();
        entry.as_ref().map(|known| Arc::clone(&known.browser))
    }
}

/// What there was to take.
pub(crate) enum Taken {
    /// A browser without a session.
    Unused(Arc<Browser>),
    /// Sessions use it, so it stays.
    Used,
    /// Nothing.
    Nothing,
}

/// Whether a browser may be given to another session.
fn is_sound(browser: &Browser) -> bool {
    let breached = match browser.boundary() {
        BoundaryKind::Whole => browser.counts().breaches > 0,
        // There our proxy is a wall, not a tripwire: its user's browser has traffic of its own.
        BoundaryKind::Attached => false,
    };
    browser.connection().is_open() && !breached
}

/// One session's share in a browser. Dropped, it is given back: a browser that ends with it is then
/// killed in the background.
#[derive(Debug)]
pub(crate) struct Lease {
    /// None once it is given back.
    share: Option<Shared>,
    desk: Arc<Desk>,
    keep: Keep,
}

/// How a browser is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Farewell {
    /// It is asked first.
    Ask,
    /// It is known not to answer, or can't be trusted.
    Kill,
}

impl Lease {
    fn of(desk: &Arc<Desk>, known: &Shared, keep: Keep) -> Self {
        known.leases.fetch_add(1, Ordering::Relaxed);
        Self {
            share: Some(known.clone()),
            desk: Arc::clone(desk),
            keep,
        }
    }

    /// The browser; none once the lease has ended.
    pub(crate) fn browser(&self) -> Option<&Arc<Browser>> {
        self.share.as_ref().map(|share| &share.browser)
    }

    /// Connections that the browser tried to make by itself.
    pub(crate) fn breaches(&self) -> u64 {
        self.browser()
            .map_or(0, |browser| browser.counts().breaches)
    }

    /// Says that the browser must not be given to anybody else.
    pub(crate) fn condemn(&self) {
        let Some(mine) = self.browser() else { return };
        let mut entry = self.desk.lock();
        let condemned = entry.take_if(|known| Arc::ptr_eq(&known.browser, mine));
        drop(entry);
        drop(condemned);
    }

    /// Condemns a browser that does not answer within the bound.
    pub(crate) async fn check(&self, bound: Duration) {
        let Some(browser) = self.browser() else {
            return;
        };
        let asked = browser
            .connection()
            .call(None, "Browser.getVersion", json!({}), bound);
        if let Err(CdpError::Timeout { .. }) = asked.await {
            self.condemn();
        }
    }

    /// Gives the share back; the last one ends the browser, unless it is kept.
    pub(crate) async fn end(mut self, grace: Duration) -> CloseOutcome {
        match self.give_back() {
            Some((browser, Farewell::Ask)) => browser.end(grace).await,
            Some((browser, Farewell::Kill)) => browser.end(Duration::ZERO).await,
            None => CloseOutcome::Clean,
        }
    }

    /// The browser when it ends with this share.
    fn give_back(&mut self) -> Option<(Arc<Browser>, Farewell)> {
        let mine = self.share.take()?;
        let mut entry = self.desk.lock();
        if mine.leases.fetch_sub(1, Ordering::Relaxed) > 1 {
            return None;
        }
        let there = entry
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(&known.browser, &mine.browser));
        let farewell = if !there {
            Farewell::Kill
        } else if self.keep == Keep::UntilClosed && mine.browser.connection().is_open() {
            return None;
        } else {
            drop(entry.take());
            Farewell::Ask
        };
        Some((mine.browser, farewell))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some((browser, _)) = self.give_back() {
            browser.forsake();
        }
    }
}
