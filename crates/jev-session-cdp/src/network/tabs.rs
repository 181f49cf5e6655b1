//! Which frame belongs to which tab, and what the boundary knows of each tab.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::counters::NetworkCounters;
use super::documents::{Documents, FrameKind};
use super::fetch::Fetcher;
use super::policy::TabPolicy;

/// How long a request of a frame that nobody announced yet is held before it is refused. The
/// announcement travels another way than the request and was seen up to some milliseconds later.
const ANNOUNCEMENT: Duration = Duration::from_millis(500);

/// What the boundary knows of one tab.
#[derive(Debug)]
pub(crate) struct TabNet {
    pub(crate) context: String,
    pub(crate) main_frame: String,
    /// Set once; until then nothing is allowed.
    pub(crate) policy: OnceLock<TabPolicy>,
    pub(crate) fetcher: OnceLock<Fetcher>,
    pub(crate) counters: Arc<NetworkCounters>,
    pub(crate) documents: Documents,
    pub(crate) in_flight: watch::Sender<u32>,
    closed: watch::Sender<bool>,
    requests: AtomicU64,
}

impl TabNet {
    pub(crate) fn new(context: String, main_frame: String, counters: Arc<NetworkCounters>) -> Self {
        Self {
            context,
            main_frame,
            policy: OnceLock::new(),
            fetcher: OnceLock::new(),
            counters,
            documents: Documents::default(),
            in_flight: watch::Sender::new(0),
            closed: watch::Sender::new(false),
            requests: AtomicU64::new(0),
        }
    }

    pub(crate) fn frame_kind(&self, frame: &str) -> FrameKind {
        if frame == self.main_frame {
            FrameKind::Main
        } else {
            FrameKind::Child
        }
    }

    /// Ends all fetches for this tab.
    pub(crate) fn close(&self) {
        self.closed.send_replace(true);
        self.documents.close();
    }

    /// Resolves when the tab is closed.
    pub(crate) async fn closed(&self) {
        // The sender lives as long as `self`.
        let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
    }

    /// Counts one more request; its number, from 1.
    pub(crate) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// One request in flight: counted while this lives.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<TabNet>);

impl InFlight {
    pub(crate) fn begin(tab: &Arc<TabNet>) -> Self {
        tab.in_flight.send_modify(|count| *count += 1);
        Self(Arc::clone(tab))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0
            .in_flight
            .send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// All tabs of one browser.
#[derive(Debug)]
pub(crate) struct Tabs {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    by_frame: HashMap<String, Arc<TabNet>>,
    /// Targets that are not ours to keep: popups on their way out.
    strangers: HashSet<String>,
}

impl Tabs {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State::default()),
            changed: watch::Sender::new(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add_tab(&self, tab: &Arc<TabNet>) {
        self.add_frame(tab.main_frame.clone(), tab);
    }

    pub(crate) fn add_frame(&self, frame: String, tab: &Arc<TabNet>) {
        {
            let mut state = self.lock();
            state.strangers.remove(&frame);
            state.by_frame.insert(frame, Arc::clone(tab));
        }
        self.changed.send_replace(());
    }

    pub(crate) fn remove_frame(&self, frame: &str) {
        self.lock().by_frame.remove(frame);
    }

    pub(crate) fn remove_tab(&self, tab: &Arc<TabNet>) {
        self.lock()
            .by_frame
            .retain(|_, owner| !Arc::ptr_eq(owner, tab));
    }

    /// A target that will never be ours; its requests need not be held.
    pub(crate) fn add_stranger(&self, target: String) {
        self.lock().strangers.insert(target);
        self.changed.send_replace(());
    }

    pub(crate) fn remove_stranger(&self, target: &str) {
        self.lock().strangers.remove(target);
    }

    pub(crate) fn of_frame(&self, frame: &str) -> Option<Arc<TabNet>> {
        self.lock().by_frame.get(frame).cloned()
    }

    pub(crate) fn of_context(&self, context: &str) -> Option<Arc<TabNet>> {
        let state = self.lock();
        state
            .by_frame
            .values()
            .find(|tab| tab.context == context)
            .cloned()
    }

    /// The frame's tab, waiting a little for its announcement.
    pub(crate) async fn of_announced_frame(&self, frame: &str) -> Option<Arc<TabNet>> {
        let mut changed = self.changed.subscribe();
        let found = async {
            loop {
                {
                    let state = self.lock();
                    if let Some(tab) = state.by_frame.get(frame) {
                        return Some(Arc::clone(tab));
                    }
                    if state.strangers.contains(frame) {
                        return None;
                    }
                }
                if changed.changed().await.is_err() {
                    return None;
                }
            }
        };
        tokio::time::timeout(ANNOUNCEMENT, found)
            .await
            .unwrap_or_default()
    }
}
