//! Blank tabs kept ready: made while nobody waits for them, already locked, each given away once.
//! One browser holds many exclusive contexts; this takes their cost out of a session's opening.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::launch::Browser;
use crate::tab::{Core, Tab, WorldScript};

/// Most tabs kept ready. Each costs some 25 to 35 MB.
const MOST_READY: usize = 8;
/// How long a taken tab's replacement waits, so that it does not compete with the page that is
/// just being opened.
const REFILL_AFTER: Duration = Duration::from_millis(300);
/// How long making one may take.
const MAKING: Duration = Duration::from_secs(10);

/// The tabs kept ready in one browser.
#[derive(Debug)]
pub(crate) struct Shelf {
    core: Weak<Core>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    ready: Vec<Tab>,
    order: Option<Order>,
    /// One task fills; a second would only make more than wanted.
    filling: Filling,
}

#[derive(Clone, Copy, Debug)]
struct Order {
    world: WorldScript,
    count: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Filling {
    #[default]
    No,
    Yes,
}

impl Browser {
    /// Keeps so many blank tabs of this world ready from now on, at most eight; zero ends it.
    /// They are made in the background. Needs a tokio runtime.
    pub fn keep_ready(&self, world: WorldScript, count: usize) {
        self.shelf.order(Order {
            world,
            count: count.min(MOST_READY),
        });
    }

    /// How many blank tabs stand ready.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.shelf.lock().ready.len()
    }
}

impl Shelf {
    pub(crate) fn new(core: &Arc<Core>) -> Self {
        Self {
            core: Arc::downgrade(core),
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn order(self: &Arc<Self>, order: Order) {
        let surplus: Vec<Tab> = {
            let mut state = self.lock();
            let changed = state.order.is_some_and(|known| known.world != order.world);
            let kept = if changed { 0 } else { order.count };
            state.order = Some(order);
            let kept = kept.min(state.ready.len());
            state.ready.drain(kept..).collect()
        };
        drop(surplus);
        self.fill(Duration::ZERO);
    }

    /// Gives one away, when one of this world is there and alive.
    pub(crate) fn take(self: &Arc<Self>, world: WorldScript) -> Option<Tab> {
        let mut dead = Vec::new();
        let taken = {
            let mut state = self.lock();
            if state.order.is_none_or(|order| order.world != world) {
                return None;
            }
            loop {
                match state.ready.pop() {
                    Some(tab) if tab.is_alive() => break Some(tab),
                    Some(tab) => dead.push(tab),
                    None => break None,
                }
            }
        };
        drop(dead);
        self.fill(REFILL_AFTER);
        taken
    }

    /// Closes them all and makes no more.
    pub(crate) fn clear(&self) {
        let ready = {
            let mut state = self.lock();
            state.order = None;
            std::mem::take(&mut state.ready)
        };
        drop(ready);
    }

    fn fill(self: &Arc<Self>, wait: Duration) {
        {
            let mut state = self.lock();
            if state.filling == Filling::Yes || state.missing().is_none() {
                return;
            }
            state.filling = Filling::Yes;
        }
        let shelf = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            while let Some((core, world)) = next(&shelf) {
                let tab = core.blank_tab(world, MAKING).await;
                drop(core);
                let Some(shelf) = shelf.upgrade() else { return };
                let mut state = shelf.lock();
                // What was wanted may have changed while it was made.
                let wanted = state.missing() == Some(world);
                match tab {
                    Ok(tab) if wanted => state.ready.push(tab),
                    Ok(tab) => {
                        drop(state);
                        drop(tab);
                    }
                    // The next caller makes its own and sees why.
                    Err(error) => {
                        tracing::debug!(%error, "no tab could be kept ready");
                        state.filling = Filling::No;
                        return;
                    }
                }
            }
        });
    }
}

/// What to make next; none when there is enough, and then filling has ended.
fn next(shelf: &Weak<Shelf>) -> Option<(Arc<Core>, WorldScript)> {
    let shelf = shelf.upgrade()?;
    let mut state = shelf.lock();
    match (state.missing(), shelf.core.upgrade()) {
        (Some(world), Some(core)) => Some((core, world)),
        (Some(_) | None, _) => {
            state.filling = Filling::No;
            None
        }
    }
}

impl State {
    fn missing(&self) -> Option<WorldScript> {
        let order = self.order?;
        (self.ready.len() < order.count).then_some(order.world)
    }
}
