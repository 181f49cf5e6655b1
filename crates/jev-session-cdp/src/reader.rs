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

/// The protocol's method for a call into a context.
const CALL: &str = "Runtime.callFunctionOn";

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

/// What is known of the worlds of a tab's documents.
#[derive(Clone, Debug, Default)]
struct Worlds {
    /// The loader and the context of the document that was entered last.
    entered: Option<(String, i64)>,
    /// The context that was made last, and how far it was from the one before: contexts of one
    /// process are numbered in turn, so the next one's number can be guessed.
    last: Option<i64>,
    step: i64,
}

impl Worlds {
    /// Contexts that one document of a plain page makes: the page's own and ours.
    const USUAL_STEP: i64 = 2;

    fn guess(&self) -> Option<i64> {
        self.last.map(|last| last.saturating_add(self.step))
    }

    fn made(&mut self, context: i64) {
        let step = self
            .last
            .map_or(Self::USUAL_STEP, |last| context.saturating_sub(last));
        // Numbers begin again in a new process.
        self.step = if (1..=64).contains(&step) {
            step
        } else {
            Self::USUAL_STEP
        };
        self.last = Some(context);
    }
}

/// Reaches the world of a tab's document.
#[derive(Debug)]
pub(crate) struct Reader {
    tab: Arc<Tab>,
    page: watch::Receiver<Page>,
    worlds: Mutex<Worlds>,
}

impl Reader {
    pub(crate) fn new(tab: Arc<Tab>, page: watch::Receiver<Page>) -> Self {
        Self {
            tab,
            page,
            worlds: Mutex::default(),
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
            let (context, early) = match self.entered(loader) {
                Some(context) => (context, None),
                None => self.make(loader, method, options, left()).await?,
            };
            let answer = match early {
                Some(answer) => answer,
                None => {
                    let params = world::call(context, method, options);
                    self.ask(CALL, params, left()).await
                }
            };
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

    fn entered(&self, loader: &str) -> Option<i64> {
        let worlds = self.lock();
        let (entered, context) = worlds.entered.as_ref()?;
        (entered == loader).then_some(*context)
    }

    /// Makes the world of a document, or finds the one its script has made. A look is asked for in
    /// the same breath, in the context that this will most likely be: a new document is busy, and
    /// each question waits for its turn. What another context answered is thrown away; when that is a
    /// page's own world, the page does not see that it was asked (see `world/call.js`).
    async fn make(
        &self,
        loader: &str,
        method: Method,
        options: &Value,
        deadline: Duration,
    ) -> Result<(i64, Option<Result<Value, CdpError>>), Lost> {
        let end = Instant::now() + deadline;
        let left = || end.saturating_duration_since(Instant::now());
        let session = Some(self.tab.session());
        let connection = self.tab.connection();
        let params = world::create(self.tab.main_frame());
        let making = connection.send(session, "Page.createIsolatedWorld", params);
        let guess = self.lock().guess().filter(|_| method == Method::Look);
        let early = guess.map(|guess| {
            let params = world::call(guess, method, options);
            (guess, connection.send(session, CALL, params))
        });
        let answer = making
            .wait(left())
            .await
            .map_err(|error| self.lost(error))?;
        let context = answer
            .get("executionContextId")
            .and_then(Value::as_i64)
            .ok_or(Lost::Edge(CdpError::Malformed))?;
        {
            let mut worlds = self.lock();
            worlds.made(context);
            if self.loader() == loader {
                worlds.entered = Some((loader.to_owned(), context));
            }
        }
        let answer = match early {
            Some((guess, answer)) if guess == context => Some(answer.wait(left()).await),
            Some(_) | None => None,
        };
        Ok((context, answer))
    }

    fn forget(&self) {
        self.lock().entered = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Worlds> {
        self.worlds.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_context_is_guessed_from_the_last_two() {
        let mut worlds = Worlds::default();
        assert_eq!(worlds.guess(), None);
        let guesses: Vec<_> = [4, 6, 9, 12, 3, i64::MIN, i64::MAX]
            .into_iter()
            .map(|context| {
                worlds.made(context);
                worlds.guess()
            })
            .collect();
        let wanted = [6, 8, 12, 15, 5, i64::MIN + 2, i64::MAX].map(Some);
        assert_eq!(guesses, wanted);
    }
}
