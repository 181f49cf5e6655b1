//! The sessions that are open: whose they are, how many there may be, and how each of them ends.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use jev_core::limits::CLOSE_GRACE;
use jev_core::ports::{CloseOutcome, Verifier};
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::SessionParts;
use super::ask::Ask;
use crate::shared_session::{Closer, SharedSession};
use crate::source::RunContext;
use crate::tool::{Connection, SessionFault, ToolError};

/// How long what is under way on a tab may take to notice that the tab is being closed.
const NOTICE: Duration = Duration::from_millis(500);

/// Whose a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A client that can be told from others.
    Client(RunContext),
    /// Whoever knows the session's name, in the name of this user: requests that stand alone can't
    /// be told from one another, and the name can't be guessed.
    Bearer {
        /// The user.
        user: String,
    },
}

impl Owner {
    pub(super) fn of(context: &RunContext, connection: Connection) -> Self {
        match connection {
            Connection::Lasting => Self::Client(context.clone()),
            Connection::Single => Self::Bearer {
                user: context.user.clone(),
            },
        }
    }
}

/// One open session.
pub(super) struct Held {
    owner: Owner,
    session: Arc<tokio::sync::Mutex<Option<SharedSession>>>,
    closer: Closer,
    /// What proves an answer of the source, where the agent says nothing else.
    pub(super) verifier: Arc<dyn Verifier>,
    /// Cancelled when the session ends: whatever is under way on it stops.
    pub(super) gone: CancellationToken,
    use_: Mutex<Use>,
}

/// When a session was used last.
#[derive(Clone, Copy)]
struct Use {
    calls: u32,
    last: Instant,
}

/// One call on a session, until it is dropped.
pub(super) struct InUse(Arc<Held>);

impl Drop for InUse {
    fn drop(&mut self) {
        let mut used = self.0.used();
        used.calls = used.calls.saturating_sub(1);
        used.last = Instant::now();
    }
}

impl Held {
    fn used(&self) -> MutexGuard<'_, Use> {
        // Its numbers are set one by one, and each of them alone is sound.
        self.use_.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(self: &Arc<Self>) -> InUse {
        self.used().calls += 1;
        InUse(Arc::clone(self))
    }

    /// When it will have lain idle for so long, if nobody uses it.
    fn due(&self, idle: Duration) -> Option<Instant> {
        let used = *self.used();
        (used.calls == 0).then(|| used.last + idle)
    }
}

/// A session by its name: open, or on its way.
enum Entry {
    Opening(Owner),
    Open(Arc<Held>),
}

impl Entry {
    fn owner(&self) -> &Owner {
        match self {
            Self::Opening(owner) => owner,
            Self::Open(held) => &held.owner,
        }
    }
}

/// All sessions of a server.
pub(crate) struct Sessions {
    pub(super) parts: SessionParts,
    entries: Mutex<BTreeMap<String, Entry>>,
    tabs: AtomicU64,
}

/// A session's place among those that may be open; given back when it is dropped unused.
pub(super) struct Place {
    sessions: Weak<Sessions>,
    pub(super) id: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(sessions) = self.sessions.upgrade() {
            let mut entries = sessions.entries();
            if matches!(entries.get(&self.id), Some(Entry::Opening(_))) {
                entries.remove(&self.id);
            }
        }
    }
}

impl Sessions {
    pub(super) fn new(parts: SessionParts) -> Arc<Self> {
        Arc::new(Self {
            parts,
            entries: Mutex::default(),
            tabs: AtomicU64::new(1),
        })
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        // Entries go in and out whole.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number for the next tab's scope.
    pub(super) fn next_tab(&self) -> u64 {
        self.tabs.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether the session that a call names is there and this owner's.
    pub(super) fn check(&self, ask: &Ask<'_>, owner: &Owner) -> Result<(), ToolError> {
        match ask.session() {
            Some(id) => self.find(id, owner).map(drop),
            None => Ok(()),
        }
    }

    /// The session of this name. Another owner's is as unknown as one that never was.
    pub(super) fn find(&self, id: &str, owner: &Owner) -> Result<Arc<Held>, ToolError> {
        match self.entries().get(id) {
            Some(Entry::Open(held)) if held.owner == *owner => Ok(Arc::clone(held)),
            Some(Entry::Open(_) | Entry::Opening(_)) | None => {
                Err(ToolError::Session(SessionFault::Unknown))
            }
        }
    }

    /// Takes a place for a session of this owner.
    pub(super) fn reserve(self: &Arc<Self>, owner: &Owner) -> Result<Place, ToolError> {
        let settings = &self.parts.settings;
        let limit = |most, of| Err(ToolError::Session(SessionFault::Limit { most, of }));
        let id = name().ok_or(ToolError::Failed)?;
        let mut entries = self.entries();
        if entries.len() >= settings.total as usize {
            return limit(settings.total, "all clients together");
        }
        let own = entries.values().filter(|entry| entry.owner() == owner);
        if own.count() >= settings.open as usize {
            return limit(settings.open, "one client");
        }
        entries.insert(id.clone(), Entry::Opening(owner.clone()));
        drop(entries);
        Ok(Place {
            sessions: Arc::downgrade(self),
            id,
        })
    }

    /// Keeps a session in its place, and watches that it does not lie idle.
    pub(super) fn keep(
        self: &Arc<Self>,
        place: &Place,
        owner: Owner,
        session: SharedSession,
        verifier: Arc<dyn Verifier>,
    ) -> (Arc<Held>, InUse) {
        let held = Arc::new(Held {
            owner,
            verifier,
            closer: session.closer(),
            session: Arc::new(tokio::sync::Mutex::new(Some(session))),
            gone: CancellationToken::new(),
            use_: Mutex::new(Use {
                calls: 0,
                last: Instant::now(),
            }),
        });
        let using = held.enter();
        self.entries()
            .insert(place.id.clone(), Entry::Open(Arc::clone(&held)));
        tokio::spawn(watch(
            Arc::downgrade(self),
            place.id.clone(),
            Arc::clone(&held),
            self.parts.settings.idle,
        ));
        (held, using)
    }

    /// Waits for a turn on a session, in the order of asking.
    pub(super) async fn enter(
        &self,
        held: &Arc<Held>,
        cancel: &CancellationToken,
    ) -> Result<(OwnedMutexGuard<Option<SharedSession>>, InUse), ToolError> {
        let using = held.enter();
        let lock = Arc::clone(&held.session).lock_owned();
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ToolError::Cancelled),
            () = held.gone.cancelled() => Err(ToolError::Session(SessionFault::Unknown)),
            guard = lock => Ok((guard, using)),
        }
    }

    /// Ends a session: it is no longer there at once, what is under way on it stops, and its tab is
    /// closed. `None`: somebody else has ended it already.
    pub(super) async fn end(&self, id: &str, held: &Held) -> Option<CloseOutcome> {
        {
            let mut entries = self.entries();
            match entries.get(id) {
                Some(Entry::Open(_)) => entries.remove(id),
                Some(Entry::Opening(_)) | None => return None,
            };
        }
        held.gone.cancel();
        let mut early = None;
        let mut guard = match tokio::time::timeout(NOTICE, held.session.lock()).await {
            Ok(guard) => guard,
            Err(_) => {
                // It does not notice: the tab is closed under it, and then it must.
                let outcome = held.closer.close(CLOSE_GRACE).await.outcome;
                match tokio::time::timeout(NOTICE, held.session.lock()).await {
                    Ok(guard) => {
                        early = Some(outcome);
                        guard
                    }
                    // Not even then: it is left to itself, and lets go of the tab when it ends.
                    Err(_) => return Some(CloseOutcome::Unanswered),
                }
            }
        };
        let session = guard.take()?;
        let report = session.close(CLOSE_GRACE).await;
        Some(early.unwrap_or(report.outcome))
    }

    /// Ends the sessions of a client that has gone.
    pub(super) async fn client_gone(self: &Arc<Self>, context: &RunContext) {
        let gone = Owner::Client(context.clone());
        self.end_all(|owner| *owner == gone).await;
    }

    /// Ends all of them.
    pub(super) async fn close_all(self: &Arc<Self>) {
        self.end_all(|_| true).await;
    }

    async fn end_all(self: &Arc<Self>, whose: impl Fn(&Owner) -> bool) {
        // Side by side: each has its own bound.
        let mut ending = tokio::task::JoinSet::new();
        for (id, entry) in self.entries().iter() {
            // One that is on its way had its call cancelled with the client, and closes itself.
            if let Entry::Open(held) = entry
                && whose(&held.owner)
            {
                let (sessions, id, held) = (Arc::clone(self), id.clone(), Arc::clone(held));
                ending.spawn(async move { sessions.end(&id, &held).await });
            }
        }
        while ending.join_next().await.is_some() {}
    }
}

/// Ends a session that has lain idle for too long.
async fn watch(sessions: Weak<Sessions>, id: String, held: Arc<Held>, idle: Duration) {
    loop {
        let until = held.due(idle).unwrap_or_else(|| Instant::now() + idle);
        tokio::select! {
            () = held.gone.cancelled() => return,
            () = tokio::time::sleep_until(until) => {}
        }
        if held.due(idle).is_some_and(|due| due <= Instant::now()) {
            if let Some(sessions) = sessions.upgrade() {
                sessions.end(&id, &held).await;
            }
            return;
        }
    }
}

/// A name that can't be guessed: 128 bits from the operating system.
fn name() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    let mut name = String::from("s-");
    for byte in bytes {
        write!(name, "{byte:02x}").ok()?;
    }
    Some(name)
}
