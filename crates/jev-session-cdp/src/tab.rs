//! One exclusive tab: its own context, locked before its first byte, watched by one task.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jev_core::error::Sent;
use jev_core::ports::CloseOutcome;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::attach::BoundaryKind;
use crate::connection::{Connection, SessionId};
use crate::error::CdpError;
use crate::flags::Walls;
use crate::frames::Watcher;
use crate::launch::Browser;
use crate::network::boundary::Boundary;
use crate::network::counters::NetworkCounters;
use crate::network::documents::{DocumentNews, DocumentStream};
use crate::network::fetch::Fetcher;
use crate::network::policy::{PageScripts, TabPolicy};
use crate::network::tabs::TabNet;
use crate::network::tripwire::Tripwire;

/// The script that runs in a world of its own before any script of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldScript {
    /// The world's name.
    pub name: &'static str,
    /// The script.
    pub source: &'static str,
}

/// One exclusive tab.
#[derive(Debug)]
pub struct Tab {
    connection: Connection,
    session: SessionId,
    boundary: Arc<Boundary>,
    net: Arc<TabNet>,
    /// None only without a boundary.
    _tripwire: Option<Tripwire>,
    closed: AtomicBool,
}

/// What tabs are made of: the part of a browser that outlives no process and owns none.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) connection: Connection,
    pub(crate) boundary: Arc<Boundary>,
    pub(crate) walls: Walls,
}

impl Browser {
    /// Opens a tab in a context of its own, still blank: nothing is allowed until
    /// [`Tab::allow`] is called.
    ///
    /// # Errors
    /// [`CdpError`]; a half-made context is disposed of.
    pub async fn blank_tab(&self, world: WorldScript, deadline: Duration) -> Result<Tab, CdpError> {
        self.core.blank_tab(world, deadline).await
    }

    /// Opens a tab and sets what it may do. One that was kept ready ([`Browser::keep_ready`]) is
    /// taken when its world is the same.
    ///
    /// # Errors
    /// [`CdpError`].
    pub async fn new_tab(
        &self,
        policy: TabPolicy,
        world: WorldScript,
        deadline: Duration,
    ) -> Result<Tab, CdpError> {
        let tab = match self.shelf.take(world) {
            Some(tab) => tab,
            None => self.blank_tab(world, deadline).await?,
        };
        tab.allow(policy)?;
        Ok(tab)
    }
}

impl Core {
    /// See [`Browser::blank_tab`]. Made in a task of its own: a caller that goes away in the middle
    /// leaves nothing behind, for the finished tab is then dropped.
    pub(crate) async fn blank_tab(
        self: &Arc<Self>,
        world: WorldScript,
        deadline: Duration,
    ) -> Result<Tab, CdpError> {
        let core = Arc::clone(self);
        let making = tokio::spawn(async move { core.make_tab(world, deadline).await });
        making.await.unwrap_or(Err(CdpError::Malformed))
    }

    async fn make_tab(&self, world: WorldScript, deadline: Duration) -> Result<Tab, CdpError> {
        let end = Instant::now() + deadline;
        let left = || end.saturating_duration_since(Instant::now());
        let connection = &self.connection;
        let counters = Arc::new(NetworkCounters::default());
        let policy = Arc::new(OnceLock::new());
        let (tripwire, params) = self.context_of(&counters, &policy).await?;
        let answer = connection
            .call(None, "Target.createBrowserContext", params, left())
            .await?;
        let context = text(&answer, "browserContextId")?;
        let mut orphan = Orphan {
            core: self,
            context: Some(context.clone()),
            net: None,
        };
        connection.post(
            None,
            "Browser.setDownloadBehavior",
            json!({"behavior": "deny", "browserContextId": context, "eventsEnabled": true}),
        );
        let answer = connection
            .call(
                None,
                "Target.createTarget",
                json!({"url": "about:blank", "browserContextId": context}),
                left(),
            )
            .await?;
        let target = text(&answer, "targetId")?;
        let net = Arc::new(TabNet::new(context, target.clone(), counters, policy));
        self.boundary.tabs.add_tab(&net);
        orphan.net = Some(Arc::clone(&net));
        let answer = connection
            .call(
                None,
                "Target.attachToTarget",
                json!({"targetId": target, "flatten": true}),
                left(),
            )
            .await?;
        let session = SessionId::new(&text(&answer, "sessionId")?);
        let events = connection.subscribe(&session);
        let watcher = Watcher {
            connection: connection.clone(),
            session: session.clone(),
            boundary: Arc::clone(&self.boundary),
            net: Arc::clone(&net),
            walls: self.walls,
        };
        for call in watcher.lock(world) {
            call.wait(left()).await?;
        }
        tokio::spawn(watcher.watch(events, 0));
        orphan.adopt();
        Ok(Tab {
            connection: connection.clone(),
            session,
            boundary: Arc::clone(&self.boundary),
            net,
            _tripwire: tripwire,
            closed: AtomicBool::new(false),
        })
    }

    /// A tripwire of its own and what a context with it as its proxy is created by.
    async fn context_of(
        &self,
        counters: &Arc<NetworkCounters>,
        policy: &Arc<OnceLock<TabPolicy>>,
    ) -> Result<(Option<Tripwire>, Value), CdpError> {
        match self.walls {
            Walls::Up | Walls::Attached => {}
            #[cfg(feature = "testing")]
            Walls::Down => return Ok((None, json!({"disposeOnDetach": true}))),
        }
        let policy = Arc::clone(policy);
        let allowed = move || policy.get().map(|policy| policy.origins().clone());
        let tripwire = Tripwire::set(Arc::clone(counters), allowed)
            .await
            // No port left on loopback: no tab without its wall.
            .map_err(|_| CdpError::TargetGone {
                sent: Sent::SurelyNot,
            })?;
        let params = json!({
            "disposeOnDetach": true,
            "proxyServer": format!("http://127.0.0.1:{}", tripwire.port()),
            "proxyBypassList": "<-loopback>",
        });
        Ok((Some(tripwire), params))
    }
}

impl Tab {
    /// Sets what the tab may do, once; a second call is refused.
    ///
    /// # Errors
    /// [`CdpError::TargetGone`] when the tab is closed or has its policy already.
    pub fn allow(&self, policy: TabPolicy) -> Result<(), CdpError> {
        let gone = CdpError::TargetGone {
            sent: Sent::SurelyNot,
        };
        if self.closed.load(Ordering::Acquire) {
            return Err(gone);
        }
        let fetcher = Fetcher::new(policy.private).map_err(|_| gone.clone())?;
        let scripts = policy.scripts;
        self.net.fetcher.set(fetcher).map_err(|_| gone.clone())?;
        self.net.policy.set(policy).map_err(|_| gone)?;
        match scripts {
            PageScripts::Run => {}
            PageScripts::Off => self.connection.post(
                Some(&self.session),
                "Emulation.setScriptExecutionDisabled",
                json!({"value": true}),
            ),
        }
        Ok(())
    }

    /// The connection it is reached by.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// How strong its boundary is.
    #[must_use]
    pub fn boundary(&self) -> BoundaryKind {
        self.boundary.kind()
    }

    /// Its session, for calls and events.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Whether it can still be used: neither closed nor crashed.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        !self.closed.load(Ordering::Acquire) && self.connection.has_session(&self.session)
    }

    /// Its target id, which is its main frame's id too.
    #[must_use]
    pub fn main_frame(&self) -> &str {
        &self.net.main_frame
    }

    /// Its context's id.
    #[must_use]
    pub fn context(&self) -> &str {
        &self.net.context
    }

    /// What it may do, when that has been set.
    #[must_use]
    pub fn policy(&self) -> Option<&TabPolicy> {
        self.net.policy.get()
    }

    /// What its boundary counts.
    #[must_use]
    pub fn counters(&self) -> &Arc<NetworkCounters> {
        &self.net.counters
    }

    /// How many of its requests are in flight: held, being fetched, or not yet taken in.
    #[must_use]
    pub fn in_flight(&self) -> watch::Receiver<u32> {
        self.net.in_flight.subscribe()
    }

    /// What becomes of the documents it asks for, from now on.
    #[must_use]
    pub fn documents(&self) -> DocumentStream {
        self.net.documents.subscribe()
    }

    /// The latest about a loader, among the last 64 documents.
    #[must_use]
    pub fn document_of(&self, loader: &str) -> Option<DocumentNews> {
        self.net.documents.of_loader(loader)
    }

    /// Whether it is known of a document of its own that it declares no shadow trees.
    pub(crate) fn is_treeless(&self, loader: &str) -> bool {
        self.net.documents.is_treeless(loader)
    }

    /// The latest about the tab's own document that is not a redirect.
    #[must_use]
    pub fn main_document(&self) -> Option<DocumentNews> {
        self.net.documents.main()
    }

    /// Closes the tab and disposes of its context: cookies, storage, everything. Idempotent.
    pub async fn close(&self, grace: Duration) -> CloseOutcome {
        if self.closed.swap(true, Ordering::AcqRel) {
            return CloseOutcome::AlreadyClosed;
        }
        self.net.close();
        let params = json!({"browserContextId": self.net.context});
        let disposed = self
            .connection
            .call(None, "Target.disposeBrowserContext", params, grace)
            .await;
        self.boundary.tabs.remove_tab(&self.net);
        self.connection.fail_session(&self.session);
        match disposed {
            Ok(_) => CloseOutcome::Clean,
            // The browser took the context with it.
            Err(CdpError::Disconnected { .. }) => CloseOutcome::Clean,
            Err(
                CdpError::Refused { .. }
                | CdpError::Timeout { .. }
                | CdpError::TargetGone { .. }
                | CdpError::Malformed,
            ) => CloseOutcome::Unanswered,
        }
    }
}

#[cfg(test)]
impl Tab {
    /// A tab of a scripted connection; its session and its main frame are called `tab`.
    pub(crate) fn scripted(connection: &Connection) -> Self {
        let counters = Arc::new(NetworkCounters::default());
        let policy = Arc::default();
        let boundary = Boundary::new(connection.clone(), Arc::clone(&counters), Walls::Up);
        let net = TabNet::new("context".into(), "tab".into(), counters, policy);
        Self {
            connection: connection.clone(),
            session: SessionId::new("tab"),
            boundary,
            net: Arc::new(net),
            _tripwire: None,
            closed: AtomicBool::new(false),
        }
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            self.net.close();
            self.boundary.tabs.remove_tab(&self.net);
            let params = json!({"browserContextId": self.net.context});
            self.connection
                .post(None, "Target.disposeBrowserContext", params);
        }
    }
}

/// Disposes of a context that no tab took over.
struct Orphan<'a> {
    core: &'a Core,
    context: Option<String>,
    net: Option<Arc<TabNet>>,
}

impl Orphan<'_> {
    fn adopt(mut self) {
        self.context = None;
        self.net = None;
    }
}

impl Drop for Orphan<'_> {
    fn drop(&mut self) {
        if let Some(net) = self.net.take() {
            net.close();
            self.core.boundary.tabs.remove_tab(&net);
        }
        if let Some(context) = self.context.take() {
            let params = json!({"browserContextId": context});
            self.core
                .connection
                .post(None, "Target.disposeBrowserContext", params);
        }
    }
}

fn text(answer: &Value, name: &str) -> Result<String, CdpError> {
    let text = answer.get(name).and_then(Value::as_str);
    text.map(str::to_owned).ok_or(CdpError::Malformed)
}
