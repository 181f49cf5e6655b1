//! What became of the documents a tab asked for: the status of those answered, the cause of those
//! that were not. Dispatch and opening learn from here what a navigation came to.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jev_core::error::FetchFault;
use tokio::sync::mpsc;

use super::filter::Refusal;
use crate::latest::Latest;

/// Results kept for [`Documents::of_loader`], of the tab's own documents and of its frames' apart:
/// a page with many frames must not make what became of itself forgotten.
const KEPT: usize = 64;

/// Which frame a document was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// The tab's own.
    Main,
    /// A frame inside it.
    Child,
}

/// What became of one request for a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentFate {
    /// It was answered with this HTTP status and handed to the browser.
    Answered {
        /// The status.
        status: u16,
    },
    /// It was answered with a redirect, which the browser now asks for under the same loader.
    Redirected {
        /// The status.
        status: u16,
    },
    /// We refused it. The tab stays on its page.
    Refused(Refusal),
    /// It could not be fetched. The tab stays on its page.
    Failed(FetchFault),
}

/// One request for a document and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentNews {
    /// The tab or a frame inside.
    pub frame: FrameKind,
    /// The frame's id.
    pub frame_id: String,
    /// The loader's id, as in `Page.frameNavigated` and `Page.frameStartedNavigating`.
    pub loader: String,
    /// The address asked for; page data.
    pub url: String,
    /// What became of it.
    pub fate: DocumentFate,
}

/// News of documents in their order; ends with the tab.
#[derive(Debug)]
pub struct DocumentStream(mpsc::UnboundedReceiver<DocumentNews>);

impl DocumentStream {
    /// The next news; none when the tab is closed. May be dropped without losing one.
    pub async fn next(&mut self) -> Option<DocumentNews> {
        self.0.recv().await
    }

    /// The next news that is there already.
    pub fn try_next(&mut self) -> Option<DocumentNews> {
        self.0.try_recv().ok()
    }
}

/// The documents of one tab.
#[derive(Debug, Default)]
pub struct Documents(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    own: Latest<DocumentNews, KEPT>,
    inside: Latest<DocumentNews, KEPT>,
    subscribers: Vec<mpsc::UnboundedSender<DocumentNews>>,
    closed: bool,
    /// Loaders of the tab's own documents that declare no shadow tree.
    treeless: Latest<String, KEPT>,
    /// Frames in which a document that was asked for stands, or is about to.
    standing: HashSet<String>,
}

impl Documents {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn publish(&self, news: DocumentNews) {
        let mut state = self.lock();
        let shown = match news.fate {
            DocumentFate::Answered { status } => !matches!(status, 204 | 205),
            DocumentFate::Redirected { .. }
            | DocumentFate::Refused(_)
            | DocumentFate::Failed(_) => false,
        };
        if shown && news.frame == FrameKind::Child {
            state.standing.insert(news.frame_id.clone());
        }
        state
            .subscribers
            .retain(|subscriber| subscriber.send(news.clone()).is_ok());
        let recent = match news.frame {
            FrameKind::Main => &mut state.own,
            FrameKind::Child => &mut state.inside,
        };
        recent.keep(news);
    }

    /// Takes in the body of a document of the tab itself, before the browser does. Only here can a
    /// closed shadow tree be told that the document declares: no script can look into one, nor see
    /// that there is one.
    pub(crate) fn read(&self, loader: &str, body: &[u8]) {
        if !declares_trees(body) {
            self.lock().treeless.keep(loader.to_owned());
        }
    }

    /// Whether it is known of a document of the tab itself that it declares no shadow trees.
    pub(crate) fn is_treeless(&self, loader: &str) -> bool {
        self.lock().treeless.iter().any(|known| known == loader)
    }

    /// Whether a frame inside the tab has had a document of the list.
    pub(crate) fn has_stood(&self, frame: &str) -> bool {
        self.lock().standing.contains(frame)
    }

    /// Forgets a frame that is gone.
    pub(crate) fn forget(&self, frame: &str) {
        self.lock().standing.remove(frame);
    }

    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.subscribers.clear();
    }

    /// News from now on.
    #[must_use]
    pub fn subscribe(&self) -> DocumentStream {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut state = self.lock();
        if !state.closed {
            state.subscribers.push(sender);
        }
        DocumentStream(receiver)
    }

    /// The latest about a loader, among the last 64 news of the tab itself and of its frames.
    #[must_use]
    pub fn of_loader(&self, loader: &str) -> Option<DocumentNews> {
        let state = self.lock();
        let mut latest_first = state.own.iter().rev().chain(state.inside.iter().rev());
        latest_first.find(|news| news.loader == loader).cloned()
    }

    /// The latest about the tab's own document that is not a redirect.
    #[must_use]
    pub fn main(&self) -> Option<DocumentNews> {
        let state = self.lock();
        let mut latest_first = state.own.iter().rev();
        latest_first
            .find(|news| !matches!(news.fate, DocumentFate::Redirected { .. }))
            .cloned()
    }
}

/// The attribute that makes a template a shadow tree. It can't be written with character references.
const DECLARES: &[u8] = b"shadowrootmode";

/// Whether a body may declare a shadow tree, in any encoding that browsers know: they all keep ASCII
/// as it is, but for zeros between (UTF-16) and escapes of two more bytes (ISO-2022-JP).
fn declares_trees(body: &[u8]) -> bool {
    let mut matched = 0;
    let mut escaped = 0_u8;
    for byte in body {
        match byte {
            0 => continue,
            0x1b => {
                escaped = 2;
                continue;
            }
            _ if escaped > 0 => {
                escaped -= 1;
                continue;
            }
            _ => {}
        }
        let byte = byte.to_ascii_lowercase();
        // No beginning of the word stands again inside of it, but for its first letter.
        matched = if DECLARES.get(matched) == Some(&byte) {
            matched + 1
        } else {
            usize::from(DECLARES.first() == Some(&byte))
        };
        if matched == DECLARES.len() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_trees_are_found_in_every_encoding() {
        let wide: Vec<u8> = "<template SHADOWrootmode"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        for body in [
            b"<template shadowrootmode=closed>".as_slice(),
            b"shshadowrootmode",
            b"shadow\x1b(Brootmode",
            wide.as_slice(),
        ] {
            assert!(declares_trees(body));
        }
        for body in [b"".as_slice(), b"shadow root mode", b"shadowrootmod"] {
            assert!(!declares_trees(body));
        }
    }
}
