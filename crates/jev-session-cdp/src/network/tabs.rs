//! Which frame belongs to which tab, and what the boundary knows of each tab.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::counters::NetworkCounters;
use super::documents::{Documents, FrameKind};
use super::fetch::Fetcher;
use super::policy::TabPolicy;
use crate::latest::Latest;

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
    flying: Mutex<Flying>,
}

/// Documents of the tab itself whose answers are remembered until they are committed.
const ANSWERS: usize = 16;

/// The requests in flight, in the order in which they began.
#[derive(Debug, Default)]
struct Flying {
    last: u64,
    all: HashMap<u64, Flight>,
    /// The loaders of documents of the tab itself that were answered, each with the last request
    /// before its answer: those can't be its own.
    answered: Latest<(String, u64), ANSWERS>,
}

#[derive(Debug)]
struct Flight {
    network_id: Option<String>,
    given_up: Arc<Notify>,
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
            flying: Mutex::default(),
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

    fn flying(&self) -> MutexGuard<'_, Flying> {
        self.flying.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page no longer wants what it asked for under this id.
    pub(crate) fn give_up(&self, network_id: &str) {
        for flight in self.flying().all.values() {
            if flight.network_id.as_deref() == Some(network_id) {
                flight.given_up.notify_one();
            }
        }
    }

    /// A document of the tab itself is about to be handed to the browser.
    pub(crate) fn answered(&self, loader: &str) {
        let mut flying = self.flying();
        let last = flying.last;
        flying.answered.keep((loader.to_owned(), last));
    }

    /// A document stands in the tab: whatever the one before it asked for, nobody wants any more.
    pub(crate) fn committed(&self, loader: &str) {
        let flying = self.flying();
        let mut latest_first = flying.answered.iter().rev();
        let Some((_, last)) = latest_first.find(|(known, _)| known == loader) else {
            return;
        };
        for (number, flight) in &flying.all {
            if number <= last && flight.network_id.as_deref() != Some(loader) {
                flight.given_up.notify_one();
            }
        }
    }

    /// Counts one more request; its number, from 1.
    pub(crate) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// One request in flight: counted while this lives.
#[derive(Debug)]
pub(crate) struct InFlight {
    tab: Arc<TabNet>,
    number: u64,
    given_up: Arc<Notify>,
}

impl InFlight {
    pub(crate) fn begin(tab: &Arc<TabNet>, network_id: Option<&str>) -> Self {
        tab.in_flight.send_modify(|count| *count += 1);
        let given_up = Arc::new(Notify::new());
        let mut flying = tab.flying();
        flying.last += 1;
        let number = flying.last;
        let flight = Flight {
            network_id: network_id.map(str::to_owned),
            given_up: Arc::clone(&given_up),
        };
        flying.all.insert(number, flight);
        drop(flying);
        Self {
            tab: Arc::clone(tab),
            number,
            given_up,
        }
    }

    /// Resolves when the page no longer wants it.
    pub(crate) async fn given_up(&self) {
        self.given_up.notified().await;
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.tab.flying().all.remove(&self.number);
        self.tab
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
