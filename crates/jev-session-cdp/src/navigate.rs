//! Following one navigation from its beginning to the document it brings, or to what came instead.

use std::time::Duration;

use jev_core::error::{DispatchError, Sent, SessionError};
use jev_core::ports::OpenRequest;
use jev_core::receipt::{AppliedEffect, Receipt};
use tokio::time::{Instant, timeout_at};

use crate::dispatch::Stop;
use crate::network::documents::{DocumentFate, DocumentStream};
use crate::page::Page;
use crate::reader::Reader;

/// How long a navigation that the page announced may take to begin.
const BEGIN: Duration = Duration::from_millis(1000);

/// How long a navigation may take to begin after the address has changed to where it leads: a page
/// can have changed it before. Without one, the page itself showed what the link leads to.
const BEGIN_AFTER_MOVE: Duration = Duration::from_millis(100);

/// Kept of a deadline, so that a navigation that was seen to begin is told before it.
const TELLING: Duration = Duration::from_millis(200);

/// Where things stood before an action.
#[derive(Debug)]
pub(crate) struct Mark {
    /// Navigations of the tab itself that had begun, and of frames inside.
    pub(crate) starts: u64,
    inside: u64,
    pub(crate) commits: u64,
    pub(crate) moves: u64,
    pub(crate) downloads: u64,
    pub(crate) dialogs: u64,
    /// Requests answered.
    pub(crate) allowed: u64,
    /// Requests that the page made.
    pub(crate) asked: u64,
    /// The document's address.
    pub(crate) url: String,
    news: DocumentStream,
}

impl Mark {
    pub(crate) fn here(reader: &Reader) -> Self {
        let news = reader.tab().documents();
        let page = reader.page();
        let page = page.borrow();
        Self {
            starts: page.own.count,
            inside: page.inside.count,
            commits: page.commits,
            moves: page.moves,
            downloads: page.downloads,
            dialogs: page.dialogs,
            allowed: reader.tab().counters().counts().allowed,
            asked: page.asked,
            url: page.main.url.clone(),
            news,
        }
    }
}

/// Which navigation is meant.
#[derive(Debug)]
pub(crate) struct Expected {
    /// Its address, when it is known.
    pub(crate) url: Option<String>,
    /// The address that the target said it leads to, when it said one.
    pub(crate) wanted: Option<String>,
    /// It is the tab's own, not a frame's.
    pub(crate) own: bool,
}

impl Expected {
    /// The next navigation of the tab itself, wherever it leads.
    pub(crate) const fn any() -> Self {
        Self {
            url: None,
            wanted: None,
            own: true,
        }
    }

    /// The tab's own navigation to an address.
    pub(crate) fn to(url: String) -> Self {
        Self {
            url: Some(url.clone()),
            wanted: Some(url),
            own: true,
        }
    }
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    /// A navigation or a move.
    ForEither,
    /// A navigation.
    ForIt,
}

/// What became of a loader.
enum Fate {
    Committed,
    Refused,
    Failed,
    Superseded,
}

/// Follows the navigation that an action caused.
pub(crate) async fn follow(
    reader: &Reader,
    request: &OpenRequest,
    mark: &mut Mark,
    expected: &Expected,
    end: Instant,
) -> Result<Receipt, Stop> {
    let mut page = reader.page();
    let mut loader = None;
    let mut moved = false;
    // A move is no answer yet: the page can change its address and then be left.
    for (bound, patience) in [
        (BEGIN, Patience::ForEither),
        (BEGIN_AFTER_MOVE, Patience::ForIt),
    ] {
        let begun = page.wait_for(|page| {
            loader_of(page, mark, expected).is_some()
                || (patience == Patience::ForEither && has_moved(page, mark, expected))
                || page.crashed
                || page.ended
        });
        if let Ok(Ok(page)) = timeout_at(end.min(Instant::now() + bound), begun).await {
            loader = loader_of(&page, mark, expected);
            moved = has_moved(&page, mark, expected);
        }
        if loader.is_some() || !moved {
            break;
        }
    }
    alive(reader)?;
    let Some(loader) = loader else {
        // The page turned it into a move within the document, or took it back.
        return Ok(Receipt::Applied(if moved {
            AppliedEffect::SameDocument
        } else {
            AppliedEffect::NoEffect
        }));
    };
    let left = end.saturating_duration_since(Instant::now());
    let end = end - TELLING.min(left / 10);
    loop {
        if let Some(fate) = fate_of(reader, mark, &loader, expected) {
            let effect = effect_of(reader, request, fate, &loader, expected);
            return Ok(Receipt::Applied(effect));
        }
        alive(reader)?;
        let changed = async {
            tokio::select! {
                changed = page.changed() => changed.is_ok(),
                news = mark.news.next() => news.is_some(),
            }
        };
        match timeout_at(end, changed).await {
            Ok(true) => {}
            Ok(false) => return Err(lost(SessionError::Disconnected)),
            // It was carried out, and so it is told: only what it brings did not come in time.
            Err(_) => return Ok(Receipt::Applied(AppliedEffect::DestinationFailed)),
        }
    }
}

fn lost(error: SessionError) -> Stop {
    Stop::Error(DispatchError {
        sent: Sent::Maybe,
        error,
    })
}

pub(crate) fn alive(reader: &Reader) -> Result<(), Stop> {
    let page = reader.page();
    let page = page.borrow();
    if page.crashed {
        Err(lost(SessionError::Crashed))
    } else if page.ended {
        Err(lost(SessionError::Disconnected))
    } else {
        Ok(())
    }
}

/// The loader of the navigation that is meant: of the right address if there is one, else the first.
fn loader_of(page: &Page, mark: &Mark, expected: &Expected) -> Option<String> {
    let fresh = || {
        let (own, inside) = if expected.own {
            (Some(page.own.after(mark.starts)), None)
        } else {
            (None, Some(page.inside.after(mark.inside)))
        };
        let all = own.into_iter().flatten();
        all.chain(inside.into_iter().flatten())
            .filter(|started| !started.loader.is_empty())
    };
    let named = expected
        .url
        .as_deref()
        .and_then(|url| fresh().find(|started| plain(&started.url) == plain(url)));
    named
        .or_else(|| fresh().next())
        .map(|started| started.loader.clone())
}

/// Whether the tab's own document moved to where the navigation was to lead.
fn has_moved(page: &Page, mark: &Mark, expected: &Expected) -> bool {
    let mut moves = page.moved_after(mark.moves);
    let url = expected.url.as_deref().map(plain);
    moves.any(|moved| url.is_none_or(|url| plain(moved) == url))
}

/// An address without its query and its fragment.
pub(crate) fn place(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

/// An address without its fragment.
fn plain(url: &str) -> &str {
    url.split('#').next().unwrap_or_default()
}

fn fate_of(reader: &Reader, mark: &Mark, loader: &str, expected: &Expected) -> Option<Fate> {
    let page = reader.page();
    let page = page.borrow();
    if page.has_committed(loader) {
        return Some(if page.main.loader == loader && page.main.error {
            Fate::Failed
        } else {
            Fate::Committed
        });
    }
    let given_up = page.has_failed(loader);
    match reader.tab().document_of(loader).map(|news| news.fate) {
        Some(DocumentFate::Refused(_)) => return Some(Fate::Refused),
        Some(DocumentFate::Failed(_)) => return Some(Fate::Failed),
        // An answer of no kind that is shown would have become a download.
        Some(DocumentFate::Answered { status }) if given_up => {
            return Some(if matches!(status, 204 | 205) {
                Fate::Failed
            } else {
                Fate::Refused
            });
        }
        Some(DocumentFate::Answered { .. } | DocumentFate::Redirected { .. }) | None => {}
    }
    if page.downloads > mark.downloads {
        return Some(Fate::Refused);
    }
    if given_up {
        return Some(Fate::Failed);
    }
    (expected.own && page.commits > mark.commits).then_some(Fate::Superseded)
}

fn effect_of(
    reader: &Reader,
    request: &OpenRequest,
    fate: Fate,
    loader: &str,
    expected: &Expected,
) -> AppliedEffect {
    match fate {
        Fate::Committed => {
            let page = reader.page();
            let page = page.borrow();
            // What was asked for counts, not where the server led on from there.
            let as_said = match (&expected.wanted, page.asked_by(loader)) {
                (Some(wanted), Some(asked)) => plain(wanted) == plain(asked),
                (None, _) | (_, None) => true,
            };
            if as_said && (!expected.own || request.access.allows_text(&page.main.url)) {
                AppliedEffect::Navigated
            } else {
                AppliedEffect::DestinationRefused
            }
        }
        Fate::Refused => AppliedEffect::DestinationRefused,
        // Another navigation of the page took its place: this one brought no page.
        Fate::Failed | Fate::Superseded => AppliedEffect::DestinationFailed,
    }
}
