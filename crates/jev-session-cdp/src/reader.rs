//! Calls into the isolated world of the document that stands in the tab now.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jev_core::error::{Sent, SessionError, Stage};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::error::CdpError;
use crate::network::policy::PageScripts;
use crate::page::Page;
use crate::tab::Tab;
use crate::world::{self, Method};

/// How long the page may take for a call beyond the waiting that the call itself asks for. A page
/// that takes longer runs a script that does not end.
pub(crate) const HUNG: Duration = Duration::from_secs(3);

/// Why a call into the world brought nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The document was gone before the call reached it: nothing ran.
    Before,
    /// The document went while the call ran.
    During,
    /// The browser's edge failed.
    Edge(CdpError),
}

impl Lost {
    /// Whether the call may have done something.
    pub(crate) const fn sent(&self) -> Sent {
        match self {
            Self::Before => Sent::SurelyNot,
            Self::During => Sent::Maybe,
            Self::Edge(error) => error.sent(),
        }
    }

    /// The same, as the core's error.
    pub(crate) const fn at(&self, stage: Stage) -> SessionError {
        match self {
            Self::Before | Self::During => SessionError::Hung { stage },
            Self::Edge(error) => error.at(stage),
        }
    }
}

/// A world of one document.
#[derive(Clone, Debug)]
struct World {
    loader: String,
    context: i64,
}

/// Reaches the world of a tab's document.
#[derive(Debug)]
pub(crate) struct Reader {
    tab: Arc<Tab>,
    page: watch::Receiver<Page>,
    world: Mutex<Option<World>>,
}

impl Reader {
    pub(crate) fn new(tab: Arc<Tab>, page: watch::Receiver<Page>) -> Self {
        Self {
            tab,
            page,
            world: Mutex::new(None),
        }
    }

    pub(crate) fn tab(&self) -> &Arc<Tab> {
        &self.tab
    }

    /// Whether the page's scripts run. Where they don't, neither timers nor listeners work in any
    /// world: nothing there can be waited for.
    pub(crate) fn scripts(&self) -> PageScripts {
        self.tab
            .policy()
            .map_or(PageScripts::Run, |policy| policy.scripts)
    }

    /// What is known of the tab, and news of it.
    pub(crate) fn page(&self) -> watch::Receiver<Page> {
        self.page.clone()
    }

    /// The loader of the document that stands in the tab.
    pub(crate) fn loader(&self) -> String {
        self.page.borrow().main.loader.clone()
    }

    /// One protocol call in the tab's session.
    pub(crate) async fn ask(
        &self,
        method: &str,
        params: Value,
        deadline: Duration,
    ) -> Result<Value, CdpError> {
        let session = Some(self.tab.session());
        self.tab
            .connection()
            .call(session, method, params, deadline)
            .await
    }

    /// Calls into the world of the document of this loader. The document itself checks that it is
    /// the one that is meant; the loader only says which context is worth trying.
    pub(crate) async fn enter(
        &self,
        loader: &str,
        method: Method,
        options: &Value,
        deadline: Duration,
    ) -> Result<String, Lost> {
        let end = Instant::now() + deadline;
        let left = || end.saturating_duration_since(Instant::now());
        for attempt in 0_u8..3 {
            let context = self.context(loader, left()).await?;
            let answer = self
                .ask(
                    "Runtime.callFunctionOn",
                    world::call(context, method, options),
                    left(),
                )
                .await;
            let text = match answer {
                Ok(answer) => text_of(&answer)?,
                Err(error) => return Err(self.lost(error)),
            };
            if text != world::MISSING {
                return Ok(text);
            }
            // The context belongs to another document by now, or the script has not run here: it
            // does not in a new process whose first document has no script.
            if self.loader() != loader {
                self.forget();
                return Err(Lost::Before);
            }
            if attempt == 0 {
                self.forget();
                continue;
            }
            self.ask("Runtime.evaluate", world::install(context), left())
                .await
                .map_err(|error| self.lost(error))?;
        }
        Err(Lost::Edge(CdpError::Malformed))
    }

    async fn context(&self, loader: &str, deadline: Duration) -> Result<i64, Lost> {
        if let Some(world) = self.lock().as_ref()
            && world.loader == loader
        {
            return Ok(world.context);
        }
        let answer = self
            .ask(
                "Page.createIsolatedWorld",
                world::create(self.tab.main_frame()),
                deadline,
            )
            .await
            .map_err(|error| self.lost(error))?;
        let context = answer
            .get("executionContextId")
            .and_then(Value::as_i64)
            .ok_or(Lost::Edge(CdpError::Malformed))?;
        if self.loader() == loader {
            *self.lock() = Some(World {
                loader: loader.to_owned(),
                context,
            });
        }
        Ok(context)
    }

    fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<World>> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The browser says in words which of two things happened to a document's context.
    fn lost(&self, error: CdpError) -> Lost {
        match &error {
            CdpError::Refused { message, .. } => {
                self.forget();
                if message.contains("Cannot find context") || message.contains("No frame for given")
                {
                    Lost::Before
                } else if message.contains("context was destroyed")
                    || message.contains("navigated or closed")
                    || message.contains("Promise was collected")
                {
                    Lost::During
                } else {
                    Lost::Edge(error)
                }
            }
            CdpError::Timeout { .. }
            | CdpError::Disconnected { .. }
            | CdpError::TargetGone { .. }
            | CdpError::Malformed => Lost::Edge(error),
        }
    }
}

fn text_of(answer: &Value) -> Result<String, Lost> {
    if let Some(details) = answer.get("exceptionDetails") {
        // Our own script failed; what it says may hold page text, so only its place is told.
        let place = |name: &str| details.get(name).and_then(Value::as_i64).unwrap_or(-1);
        let (line, column) = (place("lineNumber"), place("columnNumber"));
        tracing::warn!(line, column, "the world's script failed");
        return Err(Lost::Edge(CdpError::Malformed));
    }
    let text = answer.pointer("/result/value").and_then(Value::as_str);
    text.map(str::to_owned)
        .ok_or(Lost::Edge(CdpError::Malformed))
}
