//! Opens sessions: starts the browser when it is needed, shares it between the sessions that are
//! open, ends it with the last of them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jev_core::access::AccessList;
use jev_core::error::{SessionError, Stage};
use jev_core::ports::{CloseOutcome, OpenRequest, Session, SessionFactory};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::attach::BrowserAddress;
use crate::error::LaunchError;
use crate::find::Preference;
use crate::launch::{Browser, LaunchOptions};
use crate::network::policy::{PageScripts, TabPolicy};
use crate::session::CdpSession;
use crate::world;

/// Which browser, and what pages may do in it.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// The browser to run; none: searched for.
    pub chrome: Option<PathBuf>,
    /// The running browser to attach to instead of starting one; see [`BoundaryKind::Attached`]
    /// for what holds there.
    ///
    /// [`BoundaryKind::Attached`]: crate::attach::BoundaryKind::Attached
    pub connect: Option<BrowserAddress>,
    /// Which build to take when both are found.
    pub preference: Preference,
    /// Whether pages run their scripts.
    pub scripts: PageScripts,
    /// Origins of sub-resources; none: those of the documents.
    pub resources: Option<AccessList>,
    /// What becomes of the browser when the last session is closed.
    pub keep: Keep,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            chrome: None,
            connect: None,
            preference: Preference::default(),
            scripts: PageScripts::Run,
            resources: None,
            keep: Keep::WhileUsed,
        }
    }
}

/// What becomes of a browser that no session uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// It is closed with the last session.
    #[default]
    WhileUsed,
    /// It stays for the next session, until [`CdpSessionFactory::close`].
    UntilClosed,
}

/// Opens exclusive tabs in a browser of ours.
#[derive(Clone, Debug)]
pub struct CdpSessionFactory {
    options: SessionOptions,
    browser: Shared,
}

type Shared = Arc<Mutex<Option<Arc<Browser>>>>;

impl CdpSessionFactory {
    /// A factory; nothing is started yet.
    #[must_use]
    pub fn new(options: SessionOptions) -> Self {
        Self {
            options,
            browser: Shared::default(),
        }
    }

    /// Starts the browser now, so that the first session need not wait for it.
    ///
    /// # Errors
    /// [`LaunchError`] when there is none, it does not start, or can't be attached to.
    pub async fn warm(&self, deadline: Duration) -> Result<(), LaunchError> {
        self.browser(Instant::now() + deadline).await.map(drop)
    }

    /// Ends a browser that no open session uses.
    pub async fn close(&self, grace: Duration) -> CloseOutcome {
        let mut slot = self.browser.lock().await;
        match slot.take().map(Arc::try_unwrap) {
            Some(Ok(browser)) => browser.close(grace).await,
            Some(Err(used)) => {
                *slot = Some(used);
                CloseOutcome::Unanswered
            }
            None => CloseOutcome::AlreadyClosed,
        }
    }

    /// As [`SessionFactory::open`], with the session's own type.
    ///
    /// # Errors
    /// [`SessionError`]; nothing is left open then.
    pub async fn open_session(
        &self,
        request: OpenRequest,
        deadline: Duration,
    ) -> Result<CdpSession, SessionError> {
        let end = Instant::now() + deadline;
        let left = || end.saturating_duration_since(Instant::now());
        let browser = timeout_at(end, self.browser(end))
            .await
            .map_err(|_| SessionError::Hung {
                stage: Stage::Launch,
            })?
            .map_err(|error| error.as_session())?;
        let lease = Lease {
            browser: Some(Arc::clone(&browser)),
            shared: Arc::clone(&self.browser),
            keep: self.options.keep,
        };
        let mut policy = TabPolicy::new(request.access.clone());
        policy.scripts = self.options.scripts;
        policy.resources = self.options.resources.clone();
        let tab = browser
            .new_tab(policy, world::script(), left())
            .await
            .map_err(|error| error.at(Stage::Launch));
        drop(browser);
        match tab {
            Ok(tab) => CdpSession::open(tab, request, lease, left()).await,
            Err(error) => {
                lease.end(Duration::from_secs(2)).await;
                Err(error)
            }
        }
    }

    /// The browser that runs now.
    #[cfg(feature = "testing")]
    pub async fn running(&self) -> Option<Arc<Browser>> {
        self.browser.lock().await.clone()
    }

    async fn browser(&self, end: Instant) -> Result<Arc<Browser>, LaunchError> {
        let mut slot = self.browser.lock().await;
        if let Some(browser) = slot.as_ref().filter(|known| known.connection().is_open()) {
            return Ok(Arc::clone(browser));
        }
        // One that is gone is reaped when its last user lets go.
        drop(slot.take());
        let deadline = end.saturating_duration_since(Instant::now());
        let browser = match &self.options.connect {
            Some(address) => Browser::attach(address, deadline).await,
            None => {
                let options = LaunchOptions {
                    program: self.options.chrome.clone(),
                    preference: self.options.preference,
                    deadline,
                    ..LaunchOptions::default()
                };
                Browser::launch(options).await
            }
        };
        let browser = browser.inspect_err(|error| tracing::warn!(%error, "no browser"))?;
        let browser = Arc::new(browser);
        *slot = Some(Arc::clone(&browser));
        Ok(browser)
    }
}

#[async_trait]
impl SessionFactory for CdpSessionFactory {
    async fn open(
        &self,
        request: OpenRequest,
        deadline: Duration,
    ) -> Result<Arc<dyn Session>, SessionError> {
        let session = self.open_session(request, deadline).await?;
        Ok(Arc::new(session))
    }
}

/// One session's share in a browser.
#[derive(Debug)]
pub(crate) struct Lease {
    browser: Option<Arc<Browser>>,
    shared: Shared,
    keep: Keep,
}

impl Lease {
    /// Connections that the browser tried to make by itself.
    pub(crate) fn breaches(&self) -> u64 {
        self.browser
            .as_ref()
            .map_or(0, |browser| browser.counts().breaches)
    }

    /// Gives the share back; the last one ends the browser, unless it is kept.
    pub(crate) async fn end(mut self, grace: Duration) -> CloseOutcome {
        let Some(mine) = self.browser.take() else {
            return CloseOutcome::AlreadyClosed;
        };
        let mut slot = self.shared.lock().await;
        if slot.as_ref().is_some_and(|known| Arc::ptr_eq(known, &mine)) {
            let keep = match self.keep {
                Keep::UntilClosed => mine.connection().is_open(),
                // The slot's and ours.
                Keep::WhileUsed => Arc::strong_count(&mine) > 2,
            };
            if keep {
                return CloseOutcome::Clean;
            }
            drop(slot.take());
        }
        drop(slot);
        match Arc::try_unwrap(mine) {
            Ok(browser) => browser.close(grace).await,
            Err(_) => CloseOutcome::Clean,
        }
    }
}
