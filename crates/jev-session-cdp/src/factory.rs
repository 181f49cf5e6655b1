//! Opens sessions: starts the browser when it is needed, and shares it between the sessions that are
//! open.

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
pub use crate::lease::Keep;
use crate::lease::{Desk, Lease, Taken};
use crate::network::policy::{PageScripts, PrivateNames, TabPolicy};
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
    /// Whether names of the list may stand for addresses of a private network.
    pub private: PrivateNames,
    /// What becomes of the browser when the last session is closed.
    pub keep: Keep,
    /// How many blank tabs are kept ready in a browser, at most eight: they make opening a session
    /// faster, for some 25 to 35 MB each.
    pub ready: usize,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            chrome: None,
            connect: None,
            preference: Preference::default(),
            scripts: PageScripts::Run,
            resources: None,
            private: PrivateNames::Refuse,
            keep: Keep::WhileUsed,
            ready: 0,
        }
    }
}

/// How long a browser in which no tab could be opened may take to answer at all.
const SIGN_OF_LIFE: Duration = Duration::from_secs(2);
/// How long a browser may take to end in which no tab could be opened.
const AFTER_FAILURE: Duration = Duration::from_secs(2);

/// Opens exclusive tabs in a browser of ours.
#[derive(Clone, Debug)]
pub struct CdpSessionFactory {
    options: SessionOptions,
    desk: Arc<Desk>,
    /// One browser is started at a time.
    starting: Arc<Mutex<()>>,
}

impl CdpSessionFactory {
    /// A factory; nothing is started yet.
    #[must_use]
    pub fn new(options: SessionOptions) -> Self {
        Self {
            options,
            desk: Arc::default(),
            starting: Arc::default(),
        }
    }

    /// Starts the browser now, so that the first session need not wait for it.
    ///
    /// # Errors
    /// [`LaunchError`] when there is none, it does not start, or can't be attached to.
    pub async fn warm(&self, deadline: Duration) -> Result<(), LaunchError> {
        self.start(Instant::now() + deadline).await
    }

    /// Ends a browser that no open session uses.
    pub async fn close(&self, grace: Duration) -> CloseOutcome {
        match self.desk.take_unused() {
            Taken::Unused(browser) => browser.end(grace).await,
            Taken::Used => CloseOutcome::Unanswered,
            Taken::Nothing => CloseOutcome::AlreadyClosed,
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
        let lease = timeout_at(end, self.lease(end))
            .await
            .map_err(|_| SessionError::Hung {
                stage: Stage::Launch,
            })?
            .map_err(|error| error.as_session())?;
        let browser = lease.browser().ok_or(SessionError::Disconnected)?;
        let mut policy = TabPolicy::new(request.access.clone());
        policy.scripts = self.options.scripts;
        policy.resources = self.options.resources.clone();
        policy.private = self.options.private;
        let tab = browser
            .new_tab(policy, world::script(), left())
            .await
            .map_err(|error| error.at(Stage::Launch));
        match tab {
            Ok(tab) => CdpSession::open(tab, request, lease, left()).await,
            Err(error) => {
                lease.check(SIGN_OF_LIFE).await;
                lease.end(AFTER_FAILURE).await;
                Err(error)
            }
        }
    }

    /// The browser that runs now.
    #[cfg(feature = "testing")]
    pub async fn running(&self) -> Option<Arc<Browser>> {
        self.desk.browser()
    }

    async fn lease(&self, end: Instant) -> Result<Lease, LaunchError> {
        loop {
            if let Some(lease) = self.desk.lease(self.options.keep) {
                return Ok(lease);
            }
            self.start(end).await?;
        }
    }

    /// Has a browser that can be used.
    async fn start(&self, end: Instant) -> Result<(), LaunchError> {
        let _starting = self.starting.lock().await;
        if self.desk.has_sound() {
            return Ok(());
        }
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
        if self.options.ready > 0 {
            browser.keep_ready(world::script(), self.options.ready);
        }
        self.desk.put(browser);
        Ok(())
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
