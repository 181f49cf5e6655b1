//! A tab as the core's session: one exclusive tab, opened on its start page, read, acted on, closed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jev_core::error::{DispatchError, FetchFault, Sent, SessionError, Stage};
use jev_core::host::HostActs;
use jev_core::ids::{DocumentId, Scope};
use jev_core::permit::Permit;
use jev_core::ports::{Change, CloseOutcome, CloseReport, NetworkCounts, OpenRequest, Session};
use jev_core::receipt::{Receipt, StaleCause};
use jev_core::snapshot::Snapshot;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::attach::BoundaryKind;
use crate::dispatch::Dispatch;
use crate::lease::Lease;
use crate::network::documents::DocumentFate;
use crate::page::{self, Page};
use crate::reader::Reader;
use crate::screenshot::{self, Screenshot};
use crate::settle::{self, Seen};
use crate::tab::Tab;
#[cfg(feature = "testing")]
use crate::world::{self, Method};

/// One exclusive tab in a browser of ours.
#[derive(Debug)]
pub struct CdpSession {
    request: OpenRequest,
    reader: Reader,
    /// The document of the last look.
    last: Mutex<Option<LastLook>>,
    closed: watch::Sender<bool>,
    lease: Mutex<Option<Lease>>,
}

#[derive(Clone, Debug)]
struct LastLook {
    loader: String,
    document: DocumentId,
    news: f64,
}

impl CdpSession {
    pub(crate) async fn open(
        tab: Tab,
        request: OpenRequest,
        lease: Lease,
        deadline: Duration,
    ) -> Result<Self, SessionError> {
        let end = Instant::now() + deadline;
        let tab = Arc::new(tab);
        let main_frame = tab.main_frame().to_owned();
        let page = page::follow(tab.connection(), tab.session(), main_frame);
        let session = Self {
            request,
            reader: Reader::new(tab, page),
            last: Mutex::new(None),
            closed: watch::Sender::new(false),
            lease: Mutex::new(Some(lease)),
        };
        match session.start(end).await {
            Ok(()) => Ok(session),
            Err(error) => {
                session.close(CLOSE_AFTER_FAILURE).await;
                Err(error)
            }
        }
    }

    /// Loads the start page; returns when its document stands in the tab.
    async fn start(&self, end: Instant) -> Result<(), SessionError> {
        let tab = self.reader.tab();
        let mut news = tab.documents();
        let mut page = self.reader.page();
        let left = end.saturating_duration_since(Instant::now());
        let url = self.request.start.as_str();
        let asked = self.reader.ask("Page.navigate", json!({"url": url}), left);
        let asked = asked.await;
        if let Err(error) = &asked {
            return Err(self.not_opened(error.at(Stage::Open)));
        }
        let loader = asked
            .ok()
            .and_then(|answer| Some(answer.get("loaderId").and_then(Value::as_str)?.to_owned()))
            .unwrap_or_default();
        loop {
            let (committed, gone) = {
                let page = page.borrow();
                // The start page may have led on already, before anybody could see it stand there.
                let stood = page.main.loader == loader || page.commits > 0;
                let committed = stood && !page.main.error;
                (committed, gone(&page))
            };
            if let Some(error) = gone {
                return Err(error);
            }
            match tab.document_of(&loader).map(|news| news.fate) {
                Some(DocumentFate::Failed(fault)) => {
                    return Err(SessionError::StartUnreachable { fault });
                }
                Some(DocumentFate::Refused(_)) => {
                    let fault = FetchFault::Boundary;
                    return Err(SessionError::StartUnreachable { fault });
                }
                Some(DocumentFate::Answered { status }) if status >= 400 => {
                    return Err(SessionError::StartStatus { status });
                }
                // No content: there is no page to stand on.
                Some(DocumentFate::Answered {
                    status: status @ (204 | 205),
                }) => return Err(SessionError::StartStatus { status }),
                Some(DocumentFate::Answered { .. } | DocumentFate::Redirected { .. }) | None => {}
            }
            if committed {
                return Ok(());
            }
            if page.borrow().has_failed(&loader) {
                let fault = FetchFault::Broken;
                return Err(SessionError::StartUnreachable { fault });
            }
            let changed = async {
                tokio::select! {
                    changed = page.changed() => changed.is_ok(),
                    news = news.next() => news.is_some(),
                }
            };
            match timeout_at(end, changed).await {
                Ok(true) => {}
                Ok(false) => return Err(SessionError::Disconnected),
                Err(_) => return Err(self.not_opened(SessionError::Hung { stage: Stage::Open })),
            }
        }
    }

    /// A page that is not there in time, told from a browser that is not.
    fn not_opened(&self, error: SessionError) -> SessionError {
        let hung = error == SessionError::Hung { stage: Stage::Open };
        if hung && *self.reader.tab().in_flight().borrow() > 0 {
            SessionError::StartUnreachable {
                fault: FetchFault::Timeout,
            }
        } else {
            error
        }
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }

    pub(crate) fn request(&self) -> &OpenRequest {
        &self.request
    }

    fn last(&self) -> MutexGuard<'_, Option<LastLook>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A picture of the window with the snapshot's candidates outlined; none when another document
    /// stands there by now.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn screenshot(
        &self,
        snapshot: &Snapshot,
        deadline: Duration,
    ) -> Result<Option<Screenshot>, SessionError> {
        self.usable()?;
        let loader = self.reader.loader();
        let taken = screenshot::take(&self.reader, &loader, snapshot, deadline);
        self.unless_closed(taken)
            .await
            .ok_or(SessionError::Closed)?
    }

    /// Whether the session can still be used.
    pub(crate) fn usable(&self) -> Result<(), SessionError> {
        if *self.closed.borrow() {
            return Err(SessionError::Closed);
        }
        match self.reader.tab().boundary() {
            BoundaryKind::Whole if self.counts().breaches > 0 => {
                return Err(SessionError::BoundaryBreach);
            }
            // There our proxy is a wall, not a tripwire: its user's browser has traffic of its own.
            BoundaryKind::Whole | BoundaryKind::Attached => {}
        }
        let page = self.reader.page();
        let page = page.borrow();
        gone(&page).map_or(Ok(()), Err)
    }

    /// Runs something until the session is closed.
    pub(crate) async fn unless_closed<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut closed = self.closed.subscribe();
        tokio::select! {
            biased;
            _ = closed.wait_for(|closed| *closed) => None,
            done = work => Some(done),
        }
    }

    fn counts(&self) -> NetworkCounts {
        let mut counts = self.reader.tab().counters().counts();
        if let Some(lease) = self
            .lease
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
        {
            counts.breaches += lease.breaches();
        }
        counts
    }

    /// What a failing call means once the tab is known to be gone.
    pub(crate) fn explained(&self, error: SessionError) -> SessionError {
        let page = self.reader.page();
        let page = page.borrow();
        match gone(&page) {
            Some(known) => known,
            None => error,
        }
    }
}

#[cfg(test)]
impl CdpSession {
    /// A session of a scripted tab, opened already.
    pub(crate) fn scripted(tab: Tab, request: OpenRequest) -> Self {
        let main_frame = tab.main_frame().to_owned();
        let page = page::follow(tab.connection(), tab.session(), main_frame);
        Self {
            request,
            reader: Reader::new(Arc::new(tab), page),
            last: Mutex::new(None),
            closed: watch::Sender::new(false),
            lease: Mutex::new(None),
        }
    }
}

#[cfg(feature = "testing")]
impl CdpSession {
    /// Runs a script as the page itself would, in a user's name: to change a page between look and
    /// click.
    ///
    /// # Errors
    /// [`SessionError`] when the browser does not answer.
    pub async fn run_in_page(&self, script: &str, deadline: Duration) -> Result<(), SessionError> {
        let params = json!({"expression": script, "awaitPromise": true, "userGesture": true});
        let ran = self.reader.ask("Runtime.evaluate", params, deadline).await;
        ran.map(drop).map_err(|error| error.at(Stage::Dispatch))
    }

    /// Calls into every context that there may be, as if its number were that of our world.
    pub async fn knock(&self, deadline: Duration) {
        for context in 1..=32 {
            let params = world::call(context, Method::State, &json!({"reach": "document"}));
            // Most are nobody's.
            let asked = self.reader.ask("Runtime.callFunctionOn", params, deadline);
            drop(asked.await);
        }
    }

    /// Crashes the tab's process.
    pub async fn crash(&self, deadline: Duration) {
        // It has no answer.
        let _ = self.reader.ask("Page.crash", json!({}), deadline).await;
    }
}

/// How long a tab that could not be opened may take to close.
const CLOSE_AFTER_FAILURE: Duration = Duration::from_secs(2);

fn gone(page: &Page) -> Option<SessionError> {
    if page.crashed {
        Some(SessionError::Crashed)
    } else if page.ended {
        Some(SessionError::Disconnected)
    } else {
        None
    }
}

#[async_trait]
impl Session for CdpSession {
    fn scope(&self) -> &Scope {
        &self.request.scope
    }

    fn host_acts(&self) -> Option<&dyn HostActs> {
        Some(self)
    }

    async fn picture(&self, page: &Snapshot, bound: Duration) -> Option<Vec<u8>> {
        let taken = self.screenshot(page, bound).await.ok()??;
        Some(taken.png)
    }

    async fn observe(&self, deadline: Duration) -> Result<Snapshot, SessionError> {
        self.usable()?;
        let look = settle::observe(&self.reader, &self.request, deadline);
        let Seen {
            snapshot,
            loader,
            news,
        } = self
            .unless_closed(look)
            .await
            .ok_or(SessionError::Closed)?
            .map_err(|error| self.explained(error))?;
        self.usable()?;
        *self.last() = Some(LastLook {
            loader,
            document: snapshot.document.clone(),
            news,
        });
        Ok(snapshot)
    }

    async fn dispatch(&self, permit: Permit, deadline: Duration) -> Result<Receipt, DispatchError> {
        self.usable().map_err(|error| DispatchError {
            sent: Sent::SurelyNot,
            error,
        })?;
        let last = self.last().clone();
        let judged = last.filter(|last| last.document == *permit.document());
        let Some(judged) = judged.filter(|last| last.loader == self.reader.loader()) else {
            return Ok(Receipt::Stale(StaleCause::Document));
        };
        let dispatch = Dispatch {
            reader: &self.reader,
            request: &self.request,
            loader: &judged.loader,
            end: Instant::now() + deadline,
        };
        self.unless_closed(dispatch.run(permit))
            .await
            .unwrap_or(Err(DispatchError {
                sent: Sent::Maybe,
                error: SessionError::Closed,
            }))
            .map_err(|failed| DispatchError {
                error: self.explained(failed.error),
                ..failed
            })
    }

    async fn wait(&self, bound: Duration) -> Result<Change, SessionError> {
        self.usable()?;
        let since = self
            .last()
            .clone()
            .map(|last| (last.loader, last.document.as_str().to_owned(), last.news));
        let change = settle::wait(&self.reader, since, bound);
        let change = self.unless_closed(change).await;
        change.ok_or(SessionError::Closed)?
    }

    async fn lost(&self) -> SessionError {
        let mut page = self.reader.page();
        // When nobody follows the page any more, the connection is gone.
        match page.wait_for(|page| gone(page).is_some()).await {
            Ok(page) => gone(&page).unwrap_or(SessionError::Disconnected),
            Err(_) => SessionError::Disconnected,
        }
    }

    async fn close(&self, grace: Duration) -> CloseReport {
        let end = Instant::now() + grace;
        let again = self.closed.send_replace(true);
        let network = self.counts();
        if again {
            return CloseReport {
                outcome: CloseOutcome::AlreadyClosed,
                network,
            };
        }
        let tab = self.reader.tab().close(grace).await;
        let lease = self
            .lease
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let left = end.saturating_duration_since(Instant::now());
        let breached = self.reader.tab().boundary() == BoundaryKind::Whole && network.breaches > 0;
        let browser = match lease {
            Some(lease) => {
                // A browser that lets a tab wait for ever, or that has tried to get out.
                if tab == CloseOutcome::Unanswered || breached {
                    lease.condemn();
                }
                lease.end(left).await
            }
            None => CloseOutcome::Clean,
        };
        let outcome = match (tab, browser) {
            (_, CloseOutcome::Killed) => CloseOutcome::Killed,
            (_, CloseOutcome::Unanswered) | (CloseOutcome::Unanswered, _) => {
                CloseOutcome::Unanswered
            }
            (CloseOutcome::Clean | CloseOutcome::AlreadyClosed | CloseOutcome::Killed, _) => {
                CloseOutcome::Clean
            }
        };
        CloseReport { outcome, network }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection_tests::pair;
    use crate::dispatch_tests::scripted;

    #[tokio::test]
    async fn a_start_page_that_led_on_at_once_has_stood() {
        let (connection, mut other) = pair();
        other.permit(10);
        let session = scripted(&connection);
        let browser = async {
            let call = other.hear().await;
            for (loader, url) in [("L", "http://h/"), ("M", "http://h/b")] {
                let frame = json!({"id": "tab", "loaderId": loader, "url": url});
                let params = json!({"frame": frame});
                other.answer(
                    &json!({"method": "Page.frameNavigated", "sessionId": "tab", "params": params}),
                );
            }
            other.answer(&json!({"id": call["id"], "result": {"loaderId": "L"}}));
        };
        let end = Instant::now() + Duration::from_secs(2);
        let (started, ()) = tokio::join!(session.start(end), browser);
        assert_eq!(started, Ok(()));
    }
}
