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
    pub(crate) policy: Arc<OnceLock<TabPolicy>>,
    pub(crate) fetcher: OnceLock<Fetcher>,
    pub(crate) counters: Arc<NetworkCounters>,
    pub(crate) documents: Documents,
    pub(crate) in_flight: watch::Sender<u32>,
    closed: watch::Sender<bool>,
    requests: AtomicU64,
}

impl TabNet {
    pub(crate) fn new(
        context: String,
        main_frame: String,
        counters: Arc<NetworkCounters>,
        policy: Arc<OnceLock<TabPolicy>>,
    ) -> Self {
        Self {
            context,
            main_frame,
            policy,
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
    /// Targets that get nothing, with the tab they came from: windows on their way out, service
    /// workers.
    strangers: HashMap<String, Option<Arc<TabNet>>>,
    /// Which of the frames are workers: those end with their target, while a frame outlives a
    /// target that it only moved out of.
    workers: HashSet<String>,
}

/// Whose request it is.
#[derive(Debug)]
pub(crate) enum Owner {
    /// A tab's own: judged by its policy.
    Tab(Arc<TabNet>),
    /// Of something that gets nothing; counted for the tab it came from, when that is known.
    Stranger(Option<Arc<TabNet>>),
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

    pub(crate) fn add_worker(&self, target: String, tab: &Arc<TabNet>) {
        self.lock().workers.insert(target.clone());
        self.add_frame(target, tab);
    }

    pub(crate) fn remove_frame(&self, frame: &str) {
        self.lock().by_frame.remove(frame);
    }

    pub(crate) fn remove_tab(&self, tab: &Arc<TabNet>) {
        let mut state = self.lock();
        state.by_frame.retain(|_, owner| !Arc::ptr_eq(owner, tab));
        state.strangers.retain(|_, from| {
            let from = from.as_ref();
            !from.is_some_and(|owner| Arc::ptr_eq(owner, tab))
        });
    }

    /// A target that will never be ours; its requests need not be held.
    pub(crate) fn add_stranger(&self, target: String, from: Option<Arc<TabNet>>) {
        self.lock().strangers.insert(target, from);
        self.changed.send_replace(());
    }

    /// Forgets a target that is gone.
    pub(crate) fn remove_target(&self, target: &str) {
        let mut state = self.lock();
        state.strangers.remove(target);
        if state.workers.remove(target) {
            state.by_frame.remove(target);
        }
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

    /// Whose the frame is, waiting a little for its announcement.
    pub(crate) async fn owner_of(&self, frame: &str) -> Owner {
        let mut changed = self.changed.subscribe();
        let found = async {
            loop {
                {
                    let state = self.lock();
                    if let Some(tab) = state.by_frame.get(frame) {
                        return Owner::Tab(Arc::clone(tab));
                    }
                    if let Some(from) = state.strangers.get(frame) {
                        return Owner::Stranger(from.clone());
                    }
                }
                if changed.changed().await.is_err() {
                    return Owner::Stranger(None);
                }
            }
        };
        tokio::time::timeout(ANNOUNCEMENT, found)
            .await
            .unwrap_or(Owner::Stranger(None))
    }
}
