//! Reading a page that has come to rest, and waiting for one to change: by events, bounded.

use std::time::Duration;

use jev_core::error::{SessionError, Stage};
use jev_core::ports::{Change, OpenRequest};
use jev_core::snapshot::{Settled, Snapshot};
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, timeout, timeout_at};

use crate::error::CdpError;
use crate::network::documents::DocumentFate;
use crate::network::policy::PageScripts;
use crate::reader::{HUNG, Lost, Reader};
use crate::snapshot::{Look, question, read, seal};
use crate::world::Method;

/// A page that may change by itself is at rest after this long without a change.
const QUIET: Duration = Duration::from_millis(30);
/// The longest time one look waits for rest.
const CAP: Duration = Duration::from_millis(1500);
/// How long a look may take beyond its waiting before it is asked who is slow.
const SLOW: Duration = Duration::from_secs(2);
/// What is kept of a short deadline for the reading itself.
const READING: Duration = Duration::from_millis(300);
/// How long the news of a new document may lag behind the loss of the old one.
const NEWS: Duration = Duration::from_millis(500);
/// Documents that may replace each other under one look.
const DOCUMENTS: u32 = 40;

/// Whether it is known that a page is only large, and does not hang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    Short,
    Long,
}

/// A look, and which document it saw.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) snapshot: Snapshot,
    pub(crate) loader: String,
    /// The document's count of changes then.
    pub(crate) news: f64,
}

/// Lets the page come to rest and reads it.
pub(crate) async fn observe(
    reader: &Reader,
    request: &OpenRequest,
    deadline: Duration,
) -> Result<Seen, SessionError> {
    let begun = Instant::now();
    let end = begun + deadline;
    let cap = begun + CAP.min(deadline.saturating_sub(READING).max(deadline / 2));
    let mut afresh = false;
    let mut patient = Patience::Short;
    for _ in 0..DOCUMENTS {
        let loader = reader.loader();
        let off = reader.scripts() == PageScripts::Off;
        if off {
            loaded(reader, &loader, cap).await;
        }
        let patience = cap.saturating_duration_since(Instant::now());
        let mut options = question(request, millis(QUIET), millis(patience));
        if let Some(options) = options.as_object_mut() {
            options.insert("afresh".into(), json!(afresh));
            options.insert("off".into(), json!(off));
            options.insert("trees".into(), json!(!reader.tab().is_treeless(&loader)));
        }
        let slow = match patient {
            Patience::Long => deadline,
            // A long page is parsed for long.
            Patience::Short if reader.page().borrow().parsed != loader => SLOW.max(deadline / 2),
            Patience::Short => SLOW,
        };
        let bound = end.min(Instant::now() + patience + slow);
        let bound = bound.saturating_duration_since(Instant::now());
        match reader.enter(&loader, Method::Look, &options, bound).await {
            Err(Lost::Edge(CdpError::Timeout { .. }))
                if patient == Patience::Short && Instant::now() < end =>
            {
                if !was_reading(reader, &loader, end).await? {
                    break;
                }
                patient = Patience::Long;
            }
            Ok(text) => {
                let look = read(&text).map_err(|error| error.at(Stage::Observe))?;
                if reader.loader() != loader {
                    continue;
                }
                let busy = !look.still && !is_calm(reader);
                if busy && Instant::now() < cap {
                    calm(reader, &loader, cap).await;
                    // What has just been fetched still has to be made use of.
                    afresh = true;
                    continue;
                }
                let settled = if look.settled && !busy {
                    Settled::Yes
                } else {
                    Settled::No
                };
                return Ok(seen(reader, request, look, loader, settled));
            }
            Err(Lost::Before | Lost::During) => {
                if Instant::now() >= end {
                    break;
                }
                another_document(reader, &loader, end).await;
            }
            Err(lost @ Lost::Edge(_)) => return Err(lost.at(Stage::Observe)),
        }
    }
    Err(SessionError::Hung {
        stage: Stage::Observe,
    })
}

/// Ends whatever script runs in the page and says whether that was our own reading: then the page
/// is only large. Otherwise it is the page's own script that does not end.
async fn was_reading(reader: &Reader, loader: &str, end: Instant) -> Result<bool, SessionError> {
    let session = Some(reader.tab().session());
    reader
        .tab()
        .connection()
        .post(session, "Runtime.terminateExecution", json!({}));
    // A script is ended at once; what may still take its time is the browser's own layout.
    let bound = end.saturating_duration_since(Instant::now());
    let answer = reader
        .enter(loader, Method::State, &json!({}), bound)
        .await
        .map_err(|lost| lost.at(Stage::Observe))?;
    Ok(serde_json::from_str::<State>(&answer).is_ok_and(|state| state.working))
}

#[derive(Deserialize)]
struct State {
    working: bool,
}

fn seen(
    reader: &Reader,
    request: &OpenRequest,
    look: Look,
    loader: String,
    settled: Settled,
) -> Seen {
    let status = reader
        .tab()
        .document_of(&loader)
        .and_then(|news| match news.fate {
            DocumentFate::Answered { status } | DocumentFate::Redirected { status } => Some(status),
            DocumentFate::Refused(_) | DocumentFate::Failed(_) => None,
        });
    tracing::debug!(took_ms = look.took, still = look.still, "looked");
    Seen {
        news: look.news,
        snapshot: seal(look, request, settled, status),
        loader,
    }
}

/// Waits until the document is loaded, another one stands there, or the cap comes.
async fn loaded(reader: &Reader, loader: &str, cap: Instant) {
    let mut page = reader.page();
    let loaded = page.wait_for(|page| {
        page.loaded == loader || page.main.loader != loader || page.crashed || page.ended
    });
    let _ = timeout_at(cap, loaded).await;
}

/// Whether nothing that the page asked for is on its way.
fn is_calm(reader: &Reader) -> bool {
    *reader.tab().in_flight().borrow() == 0 && !reader.page().borrow().frames_loading()
}

/// Waits until nothing is on its way, another document stands there, or the cap comes.
async fn calm(reader: &Reader, loader: &str, cap: Instant) {
    let mut in_flight = reader.tab().in_flight();
    let mut page = reader.page();
    let mut frames = page.clone();
    let nothing = async {
        while !is_calm(reader) && !frames.borrow().ended {
            let _ = in_flight.wait_for(|count| *count == 0).await;
            let _ = frames
                .wait_for(|page| !page.frames_loading() || page.ended)
                .await;
        }
    };
    let calm = async {
        tokio::select! {
            () = nothing => {}
            _ = page.wait_for(|page| page.main.loader != loader || page.ended) => {}
        }
    };
    let _ = timeout_at(cap, calm).await;
}

/// Waits for the news that another document stands there.
async fn another_document(reader: &Reader, loader: &str, end: Instant) {
    let mut page = reader.page();
    let other = page.wait_for(|page| page.main.loader != loader || page.ended);
    let bound = end.min(Instant::now() + NEWS);
    let _ = timeout_at(bound, other).await;
}

#[derive(Deserialize)]
struct Changed {
    changed: bool,
}

/// Waits for a change since the last look: of the document, of what stands in it, or of what is
/// being fetched for it.
pub(crate) async fn wait(
    reader: &Reader,
    since: Option<(String, String, f64)>,
    bound: Duration,
) -> Result<Change, SessionError> {
    let Some((loader, epoch, news)) = since else {
        return Ok(Change::Seen);
    };
    let mut page = reader.page();
    let mut in_flight = reader.tab().in_flight();
    let flying = *in_flight.borrow();
    let loads = page.borrow().loads;
    let options = json!({"epoch": epoch, "since": news, "ms": millis(bound)});
    let changed = async {
        tokio::select! {
            answer = reader.enter(&loader, Method::Change, &options, bound + HUNG) => match answer {
                Ok(text) => serde_json::from_str::<Changed>(&text).is_ok_and(|answer| answer.changed),
                Err(Lost::Before | Lost::During) => true,
                // A page that does not answer is told by the next look.
                Err(Lost::Edge(_)) => false,
            },
            _ = page.wait_for(|page| {
                page.main.loader != loader || page.loads > loads || page.crashed || page.ended
            }) => true,
            _ = in_flight.wait_for(|count| *count < flying) => true,
        }
    };
    match timeout(bound, changed).await {
        Ok(true) => Ok(Change::Seen),
        Ok(false) | Err(_) => Ok(Change::None),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
