//! What a tab is known to be at: its committed document, navigations begun, life and death. Events
//! are taken in as they are read, so that no answer is known before the events that preceded it.

use std::collections::HashSet;

use serde_json::Value;
use tokio::sync::watch;

use crate::connection::{Connection, SessionId};
use crate::latest::Latest;

/// Navigations of the tab's own frame that are remembered.
const KEPT: usize = 32;
/// Those of all frames inside together: apart, so that they can't make the tab's own forgotten.
const KEPT_INSIDE: usize = 256;

/// A document committed in the tab's own frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Committed {
    pub(crate) loader: String,
    pub(crate) url: String,
    /// It is the browser's own error page.
    pub(crate) error: bool,
}

/// A navigation that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Started {
    pub(crate) loader: String,
    pub(crate) url: String,
}

/// The navigations of one kind of frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Begun<const MOST: usize> {
    /// How many there were.
    pub(crate) count: u64,
    latest: Latest<Started, MOST>,
    /// Loaders whose load failed, was given up, or became a download.
    failed: Latest<String, MOST>,
}

impl<const MOST: usize> Begun<MOST> {
    fn begin(&mut self, started: Started) {
        self.latest.keep(started);
        self.count += 1;
    }

    fn of(&self, loader: &str) -> Option<&Started> {
        let mut latest_first = self.latest.iter().rev();
        latest_first.find(|started| started.loader == loader)
    }

    /// Those after the first `count`, oldest first.
    pub(crate) fn after(&self, count: u64) -> impl Iterator<Item = &Started> {
        self.latest.after(count, self.count)
    }
}

/// What is known of the tab.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    pub(crate) main: Committed,
    /// How many documents were committed in the tab's own frame.
    pub(crate) commits: u64,
    /// Loaders of the latest commits in frames inside.
    children: Latest<String, KEPT_INSIDE>,
    /// Navigations of the tab's own frame.
    pub(crate) own: Begun<KEPT>,
    /// Navigations of the frames inside.
    pub(crate) inside: Begun<KEPT_INSIDE>,
    /// Frames inside whose documents are on their way: asked for, answered, or being parsed. More
    /// than `KEPT_INSIDE` at once are not followed.
    loading: HashSet<String>,
    /// How many loads of frames inside have ended.
    pub(crate) loads: u64,
    /// How often the address of the tab's own document changed within it.
    pub(crate) moves: u64,
    /// The latest of those addresses.
    moved: Latest<String, KEPT>,
    /// How many requests the tab's own process was seen to make.
    pub(crate) asked: u64,
    /// The loader of the tab's own document that was parsed to its end last.
    pub(crate) parsed: String,
    /// The loader of the tab's own document that was loaded last.
    pub(crate) loaded: String,
    pub(crate) downloads: u64,
    pub(crate) dialogs: u64,
    pub(crate) crashed: bool,
    /// No more events will come.
    pub(crate) ended: bool,
}

impl Page {
    /// The address that a navigation was begun with.
    pub(crate) fn asked_by(&self, loader: &str) -> Option<&str> {
        let started = self.own.of(loader).or_else(|| self.inside.of(loader));
        started.map(|started| started.url.as_str())
    }

    /// Whether a load failed, was given up, or became a download.
    pub(crate) fn has_failed(&self, loader: &str) -> bool {
        let mut failed = self.own.failed.iter().chain(self.inside.failed.iter());
        failed.any(|known| known == loader)
    }

    /// Whether a document of a frame inside is still on its way. It is, for a moment, when none of
    /// its requests is in flight: between its answer and its commit.
    pub(crate) fn frames_loading(&self) -> bool {
        !self.loading.is_empty()
    }

    /// The addresses that the tab's own document got after its first `count` moves.
    pub(crate) fn moved_after(&self, count: u64) -> impl Iterator<Item = &str> {
        self.moved.after(count, self.moves).map(String::as_str)
    }

    fn end_load(&mut self, frame: &str) {
        if self.loading.remove(frame) {
            self.loads += 1;
        }
    }

    /// Whether a loader's document stands in its frame now, or stood there lately.
    pub(crate) fn has_committed(&self, loader: &str) -> bool {
        self.main.loader == loader || self.children.iter().any(|known| known == loader)
    }

    fn take_in(&mut self, method: &str, params: &Value, main_frame: &str) {
        let text = |name: &str| params.get(name).and_then(Value::as_str);
        match method {
            "Page.frameNavigated" => {
                let frame = params.get("frame").unwrap_or(&Value::Null);
                let field = |name: &str| frame.get(name).and_then(Value::as_str);
                let loader = field("loaderId").unwrap_or_default().to_owned();
                let error = field("unreachableUrl").is_some_and(|url| !url.is_empty());
                if field("id") == Some(main_frame) {
                    let mut url = field("url").unwrap_or_default().to_owned();
                    url.push_str(field("urlFragment").unwrap_or_default());
                    self.main = Committed {
                        loader,
                        error: error || url.starts_with("chrome-error:"),
                        url,
                    };
                    self.commits += 1;
                    self.loading.clear();
                } else if error {
                    self.inside.failed.keep(loader);
                } else {
                    self.children.keep(loader);
                }
            }
            "Page.frameStartedNavigating" => {
                let kind = text("navigationType").unwrap_or_default();
                // A move within the document has an event of its own.
                if !kind.to_ascii_lowercase().contains("samedocument") {
                    let started = Started {
                        loader: text("loaderId").unwrap_or_default().to_owned(),
                        url: text("url").unwrap_or_default().to_owned(),
                    };
                    if text("frameId") == Some(main_frame) {
                        self.own.begin(started);
                    } else {
                        self.inside.begin(started);
                    }
                }
            }
            "Page.frameStartedLoading" => {
                if let Some(frame) = text("frameId").filter(|frame| *frame != main_frame)
                    && self.loading.len() < KEPT_INSIDE
                {
                    self.loading.insert(frame.to_owned());
                }
            }
            // A frame that moves into a process of its own can't be read any more.
            "Page.frameStoppedLoading" | "Page.frameDetached" => {
                self.end_load(text("frameId").unwrap_or_default());
            }
            "Page.navigatedWithinDocument" => {
                if text("frameId") == Some(main_frame)
                    && let Some(url) = text("url")
                {
                    url.clone_into(&mut self.main.url);
                    self.moved.keep(url.to_owned());
                    self.moves += 1;
                }
            }
            "Network.requestWillBeSent" => {
                let url = params.pointer("/request/url").and_then(Value::as_str);
                // The browser asks for a page's icon by itself, at a time of its own.
                if url.is_some_and(|url| url.starts_with("http")) && text("type") != Some("Other") {
                    self.asked += 1;
                }
            }
            "Network.loadingFailed" => {
                // The request of a document has its loader's id.
                if params.get("type").and_then(Value::as_str) == Some("Document")
                    && let Some(id) = text("requestId")
                {
                    // The first document of all was asked for before it was announced.
                    if self.inside.of(id).is_some() {
                        self.inside.failed.keep(id.to_owned());
                    } else {
                        self.own.failed.keep(id.to_owned());
                    }
                }
            }
            "Page.lifecycleEvent" => {
                let loader = || text("loaderId").unwrap_or_default().to_owned();
                match text("name") {
                    _ if text("frameId") != Some(main_frame) => {}
                    Some("DOMContentLoaded") => self.parsed = loader(),
                    Some("load") => self.loaded = loader(),
                    Some(_) | None => {}
                }
            }
            "Page.downloadWillBegin" => self.downloads += 1,
            "Page.javascriptDialogOpening" => self.dialogs += 1,
            "Inspector.targetCrashed" => self.crashed = true,
            _ => {}
        }
    }
}

/// Follows a session's events until there are no more.
pub(crate) fn follow(
    connection: &Connection,
    session: &SessionId,
    main_frame: String,
) -> watch::Receiver<Page> {
    let (sender, receiver) = watch::channel(Page::default());
    let known = Known(sender);
    connection.hear(session, move |event| {
        let take_in = |page: &mut Page| page.take_in(&event.method, &event.params, &main_frame);
        known.0.send_modify(take_in);
    });
    receiver
}

/// Tells its readers when no more events will come.
struct Known(watch::Sender<Page>);

impl Drop for Known {
    fn drop(&mut self) {
        self.0.send_modify(|page| page.ended = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn commits_and_starts_are_told_apart_by_frame() {
        let mut page = Page::default();
        page.take_in(
            "Page.frameStartedNavigating",
            &json!({"frameId": "m", "loaderId": "L1", "url": "http://h/", "navigationType": "differentDocument"}),
            "m",
        );
        page.take_in(
            "Page.frameStartedNavigating",
            &json!({"frameId": "m", "loaderId": "L1", "url": "http://h/#x", "navigationType": "sameDocument"}),
            "m",
        );
        page.take_in(
            "Page.frameNavigated",
            &json!({"frame": {"id": "m", "loaderId": "L1", "url": "http://h/"}}),
            "m",
        );
        page.take_in(
            "Page.frameNavigated",
            &json!({"frame": {"id": "c", "loaderId": "L2", "url": "http://h/c", "parentId": "m"}}),
            "m",
        );
        assert_eq!((page.own.count, page.inside.count, page.commits), (1, 0, 1));
        assert_eq!(page.main.url, "http://h/");
        assert!(page.has_committed("L1") && page.has_committed("L2") && !page.has_committed("L3"));
        assert_eq!(page.own.after(0).count(), 1);
        assert_eq!(page.own.after(1).count(), 0);
    }

    #[test]
    fn frames_inside_do_not_make_the_tabs_own_navigation_forgotten() {
        let mut page = Page::default();
        let start = |page: &mut Page, frame: &str, loader: &str| {
            page.take_in(
                "Page.frameStartedNavigating",
                &json!({"frameId": frame, "loaderId": loader, "url": "http://h/", "navigationType": "differentDocument"}),
                "m",
            );
        };
        let failed = |page: &mut Page, loader: &str| {
            let params = json!({"type": "Document", "requestId": loader});
            page.take_in("Network.loadingFailed", &params, "m");
        };
        start(&mut page, "m", "mine");
        failed(&mut page, "mine");
        for number in 0..1000 {
            let loader = format!("c{number}");
            start(&mut page, "c", &loader);
            failed(&mut page, &loader);
        }
        assert_eq!(page.own.after(0).count(), 1);
        assert_eq!(page.asked_by("mine"), Some("http://h/"));
        assert!(page.has_failed("mine") && page.has_failed("c999") && !page.has_failed("c0"));
    }

    #[test]
    fn frames_load_until_they_stop_go_or_their_page_goes() {
        let mut page = Page::default();
        let tell = |page: &mut Page, what: &str, frame: &str| {
            page.take_in(
                &format!("Page.frame{what}"),
                &json!({"frameId": frame}),
                "m",
            );
        };
        tell(&mut page, "StartedLoading", "m");
        assert!(!page.frames_loading());
        for frame in ["a", "b", "c"] {
            tell(&mut page, "StartedLoading", frame);
        }
        tell(&mut page, "StoppedLoading", "a");
        tell(&mut page, "StoppedLoading", "a");
        tell(&mut page, "Detached", "b");
        assert!(page.frames_loading());
        assert_eq!(page.loads, 2);
        page.take_in(
            "Page.frameNavigated",
            &json!({"frame": {"id": "m", "loaderId": "L", "url": "http://h/"}}),
            "m",
        );
        assert!(!page.frames_loading());
        for number in 0..10_000 {
            tell(&mut page, "StartedLoading", &number.to_string());
        }
        assert_eq!(page.loading.len(), KEPT_INSIDE);
    }

    #[test]
    fn an_error_page_is_known_for_one() {
        let mut page = Page::default();
        page.take_in(
            "Page.frameNavigated",
            &json!({"frame": {"id": "m", "loaderId": "L", "url": "chrome-error://chromewebdata/", "unreachableUrl": "http://h/"}}),
            "m",
        );
        assert!(page.main.error);
    }
}
