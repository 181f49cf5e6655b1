//! The simulated world as the three ports of a driver, with a count of all that happens there.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use jev_agent::Ports;
use jev_core::error::{DispatchError, JudgeError, SessionError, VerifyError};
use jev_core::ids::Scope;
use jev_core::input::Input;
use jev_core::permit::Permit;
use jev_core::ports::{
    Change, CloseReport, Judge, JudgeIdentity, JudgeKind, OpenRequest, Session, SessionFactory,
    Verifier, VerifyRequest,
};
use jev_core::question::{Decision, Questionnaire};
use jev_core::receipt::Receipt;
use jev_core::snapshot::Snapshot;
use jev_core::time::Timestamp;
use jev_core::verification::Verification;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use xtask::world::{Call, World};

/// What happened at the ports.
struct Seen {
    world: World,
    calls: u32,
    opened: u32,
    closes: u32,
    dropped_open: u32,
    dispatching: u32,
    broken: Vec<&'static str>,
}

/// The world, shared by its ports.
#[derive(Clone)]
pub(crate) struct Hub {
    seen: Arc<Mutex<Seen>>,
    started: Instant,
    cancel: CancellationToken,
    /// When the session is lost, and how.
    lost: Arc<watch::Sender<Option<(Instant, SessionError)>>>,
}

impl Hub {
    pub(crate) fn new(world: World, cancel: CancellationToken) -> Self {
        Self {
            seen: Arc::new(Mutex::new(Seen {
                world,
                calls: 0,
                opened: 0,
                closes: 0,
                dropped_open: 0,
                dispatching: 0,
                broken: Vec::new(),
            })),
            started: Instant::now(),
            cancel,
            lost: Arc::new(watch::Sender::new(None)),
        }
    }

    pub(crate) fn ports(&self) -> Ports {
        Ports {
            factory: Arc::new(self.clone()),
            judge: Arc::new(self.clone()),
            verifier: Arc::new(self.clone()),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    /// What was broken at the ports.
    pub(crate) fn broken(&self) -> Vec<&'static str> {
        let seen = self.seen();
        let mut broken = seen.broken.clone();
        let mut reached = seen.world.reached().to_vec();
        reached.sort_unstable();
        reached.dedup();
        if reached.len() != seen.world.reached().len() {
            broken.push("one intent reached the page twice");
        }
        broken
    }

    /// Once all has come to rest: sessions opened, closes, and sessions dropped without a close.
    pub(crate) async fn sessions(&self) -> (u32, u32, u32) {
        tokio::time::sleep(Duration::from_secs(30)).await;
        let seen = self.seen();
        (seen.opened, seen.closes, seen.dropped_open)
    }

    /// Asks the world, and waits as long as its answer takes; for ever, when that is lost.
    async fn call(&self, call: Call<'_>) -> Input {
        let replies = {
            let mut seen = self.seen();
            seen.calls += 1;
            let (number, now) = (seen.calls, self.started.elapsed());
            seen.world.call(number, call, Timestamp::since_start(now))
        };
        if let Some(at) = replies.cancel {
            let (cancel, at) = (self.cancel.clone(), self.started + at.elapsed());
            tokio::spawn(async move {
                tokio::time::sleep_until(at).await;
                cancel.cancel();
            });
        }
        if let Some((at, error)) = replies.lost {
            let at = self.started + at.elapsed();
            self.lost.send_modify(|lost| {
                lost.get_or_insert((at, error));
            });
        }
        match replies.answer {
            Some((at, input)) => {
                tokio::time::sleep_until(self.started + at.elapsed()).await;
                input
            }
            None => std::future::pending().await,
        }
    }
}

fn odd(input: &Input) -> ! {
    panic!("the world answered a call with {}", input.name())
}

#[async_trait]
impl SessionFactory for Hub {
    async fn open(
        &self,
        request: OpenRequest,
        _deadline: Duration,
    ) -> Result<Arc<dyn Session>, SessionError> {
        match self.call(Call::Open(request)).await {
            Input::Opened(_, scope) => {
                self.seen().opened += 1;
                Ok(Arc::new(Tab {
                    hub: self.clone(),
                    scope,
                    closed: Mutex::new(false),
                }))
            }
            Input::OpenFailed(_, error) => Err(error),
            other => odd(&other),
        }
    }
}

struct Tab {
    hub: Hub,
    scope: Scope,
    closed: Mutex<bool>,
}

impl Tab {
    fn is_used(&self) {
        if *self.closed.lock().unwrap() {
            self.hub.seen().broken.push("a closed session was used");
        }
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        if !*self.closed.lock().unwrap() {
            self.hub.seen().dropped_open += 1;
        }
    }
}

/// Counts a dispatch as under way until it is answered or given up.
struct Dispatching<'a>(&'a Hub);

impl<'a> Dispatching<'a> {
    fn begin(hub: &'a Hub) -> Self {
        let mut seen = hub.seen();
        seen.dispatching += 1;
        if seen.dispatching > 1 {
            seen.broken.push("two dispatches were under way");
        }
        drop(seen);
        Self(hub)
    }
}

impl Drop for Dispatching<'_> {
    fn drop(&mut self) {
        self.0.seen().dispatching -= 1;
    }
}

#[async_trait]
impl Session for Tab {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    async fn observe(&self, _deadline: Duration) -> Result<Snapshot, SessionError> {
        self.is_used();
        match self.hub.call(Call::Observe).await {
            Input::Observed(_, page) => Ok(Arc::unwrap_or_clone(page)),
            Input::ObserveFailed(_, error) => Err(error),
            other => odd(&other),
        }
    }

    async fn dispatch(
        &self,
        permit: Permit,
        _deadline: Duration,
    ) -> Result<Receipt, DispatchError> {
        self.is_used();
        let _under_way = Dispatching::begin(&self.hub);
        match self.hub.call(Call::Dispatch(permit)).await {
            Input::Receipt(_, receipt) => Ok(receipt),
            Input::DispatchFailed(_, error) => Err(error),
            other => odd(&other),
        }
    }

    async fn wait(&self, _bound: Duration) -> Result<Change, SessionError> {
        self.is_used();
        match self.hub.call(Call::Wait).await {
            Input::Waited(_, change) => Ok(change),
            Input::WaitFailed(_, error) => Err(error),
            other => odd(&other),
        }
    }

    async fn lost(&self) -> SessionError {
        let mut lost = self.hub.lost.subscribe();
        let known = lost.wait_for(Option::is_some).await.map(|lost| *lost);
        match known {
            Ok(Some((at, error))) => {
                tokio::time::sleep_until(at).await;
                error
            }
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }

    async fn close(&self, _grace: Duration) -> CloseReport {
        *self.closed.lock().unwrap() = true;
        self.hub.seen().closes += 1;
        match self.hub.call(Call::Close).await {
            Input::Closed(_, report) => report,
            other => odd(&other),
        }
    }
}

#[async_trait]
impl Judge for Hub {
    fn identity(&self) -> JudgeIdentity {
        JudgeIdentity {
            name: "simulated".to_owned(),
            model: None,
            kind: JudgeKind::Decides,
        }
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        _deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        match self.call(Call::Judge(questionnaire)).await {
            Input::Judged(_, decision) => Ok(decision),
            Input::JudgeFailed(_, error) => Err(error),
            other => odd(&other),
        }
    }
}

#[async_trait]
impl Verifier for Hub {
    async fn verify(
        &self,
        request: VerifyRequest,
        _deadline: Duration,
    ) -> Result<Verification, VerifyError> {
        match self.call(Call::Verify(request)).await {
            Input::Verified(_, verification) => Ok(verification),
            Input::VerifyFailed(_, error) => Err(error),
            other => odd(&other),
        }
    }
}
