//! What the driver does when several things are ready at once.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use jev_core::contract::{ContractDraft, Goal, Mode};
use jev_core::ids::Scope;
use jev_core::permit::Permit;
use jev_core::ports::{CloseReport, OpenRequest};
use jev_core::receipt::{AppliedEffect, Receipt, UnknownCause};
use jev_core::record::Event;
use jev_core::snapshot::Snapshot;
use jev_core::status::Status;
use tokio::sync::Notify;

use super::*;
use crate::testing::World;

/// What happens in the moment in which a call of the session is answered.
#[derive(Clone)]
enum Moment {
    /// The caller cancels with the receipt.
    CancelWithReceipt(CancellationToken),
    /// The session opens, and whoever waits is told.
    Opens(Arc<Notify>),
    /// The session is lost while a dispatch is under way.
    LostInDispatch(Arc<Notify>),
}

struct Timed {
    inner: Arc<dyn SessionFactory>,
    moment: Moment,
}

struct TimedSession {
    inner: Arc<dyn Session>,
    moment: Moment,
}

#[async_trait]
impl SessionFactory for Timed {
    async fn open(
        &self,
        request: OpenRequest,
        deadline: Duration,
    ) -> Result<Arc<dyn Session>, SessionError> {
        let inner = self.inner.open(request, deadline).await?;
        if let Moment::Opens(opened) = &self.moment {
            opened.notify_one();
        }
        let moment = self.moment.clone();
        Ok(Arc::new(TimedSession { inner, moment }))
    }
}

#[async_trait]
impl Session for TimedSession {
    fn scope(&self) -> &Scope {
        self.inner.scope()
    }

    async fn observe(&self, deadline: Duration) -> Result<Snapshot, SessionError> {
        self.inner.observe(deadline).await
    }

    async fn dispatch(&self, permit: Permit, deadline: Duration) -> Result<Receipt, DispatchError> {
        let receipt = self.inner.dispatch(permit, deadline).await;
        match &self.moment {
            Moment::CancelWithReceipt(cancel) => cancel.cancel(),
            Moment::Opens(_) => {}
            Moment::LostInDispatch(lost) => {
                lost.notify_one();
                std::future::pending::<()>().await;
            }
        }
        receipt
    }

    async fn wait(&self, bound: Duration) -> Result<Change, SessionError> {
        self.inner.wait(bound).await
    }

    async fn lost(&self) -> SessionError {
        match &self.moment {
            Moment::LostInDispatch(lost) => lost.notified().await,
            Moment::CancelWithReceipt(_) | Moment::Opens(_) => std::future::pending().await,
        }
        SessionError::Crashed
    }

    async fn close(&self, grace: Duration) -> CloseReport {
        self.inner.close(grace).await
    }
}

fn parts(world: &World, moment: Moment) -> (Contract, Ports) {
    let source = world.source();
    let mut draft = ContractDraft::new(
        Goal::new(crate::testing::GOAL).unwrap(),
        Scope::new("user", "session", "tab").unwrap(),
        source.start,
        source.access,
    );
    draft.mode = Mode::Enforce;
    let ports = Ports {
        factory: Arc::new(Timed {
            inner: source.factory,
            moment,
        }),
        judge: world.judge(),
        verifier: source.verifier,
    };
    (draft.check().unwrap(), ports)
}

/// A pending intent becomes UNKNOWN unless its receipt had already arrived.
#[tokio::test(start_paused = true)]
async fn a_receipt_that_has_arrived_counts_before_a_cancel() {
    for _ in 0..64 {
        let world = World::default();
        let cancel = CancellationToken::new();
        let (contract, ports) = parts(&world, Moment::CancelWithReceipt(cancel.clone()));
        let report = run(RunId(1), contract, &ports, &mut Unobserved, &cancel).await;
        assert_eq!(report.status, Status::Cancelled);
        let receipts: Vec<_> = report.steps.iter().map(|step| step.receipt).collect();
        let applied = Receipt::Applied(AppliedEffect::Navigated);
        assert_eq!(receipts, [Some(applied)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_in_an_answer_that_nobody_heard_is_closed() {
    let world = World::default();
    let opened = Arc::new(Notify::new());
    let (contract, ports) = parts(&world, Moment::Opens(Arc::clone(&opened)));
    let (mut observer, cancel) = (Unobserved, CancellationToken::new());
    {
        let mut running = std::pin::pin!(run(RunId(1), contract, &ports, &mut observer, &cancel));
        tokio::select! {
            biased;
            () = opened.notified() => {}
            _ = &mut running => panic!("the run went on before it was given up"),
        }
    }
    let closing = world.closing.notified();
    tokio::time::timeout(Duration::from_secs(60), closing)
        .await
        .expect("the session was closed");
    assert_eq!(world.counts.open_now.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_lost_ends_the_run_at_once() {
    let world = World::default();
    let (contract, ports) = parts(&world, Moment::LostInDispatch(Arc::default()));
    let cancel = CancellationToken::new();
    let report = run(RunId(1), contract, &ports, &mut Unobserved, &cancel).await;
    assert_eq!(report.status, Status::Unknown);
    let unknown = Receipt::Unknown(UnknownCause::SessionLost);
    assert_eq!(report.steps[0].receipt, Some(unknown));
    assert!(report.elapsed < Duration::from_secs(1), "{report:?}");
    assert_eq!(world.counts.closed.load(Ordering::SeqCst), 1);
}

/// Opens nothing, ever.
struct NeverOpens(Arc<Notify>);

#[async_trait]
impl SessionFactory for NeverOpens {
    async fn open(&self, _: OpenRequest, _: Duration) -> Result<Arc<dyn Session>, SessionError> {
        self.0.notify_one();
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_does_not_wait_for_a_page_that_never_opens() {
    let (contract, ports) = parts(&World::default(), Moment::Opens(Arc::default()));
    let asked = Arc::new(Notify::new());
    let ports = Ports {
        factory: Arc::new(NeverOpens(Arc::clone(&asked))),
        ..ports
    };
    let cancel = CancellationToken::new();
    let cancelled = async {
        asked.notified().await;
        cancel.cancel();
    };
    let mut observer = Unobserved;
    let running = run(RunId(1), contract, &ports, &mut observer, &cancel);
    let (report, ()) = tokio::join!(running, cancelled);
    assert_eq!(report.status, Status::Cancelled);
    assert!(report.elapsed < Duration::from_millis(100), "{report:?}");
}

/// Breaks at the first intent, as one does that prints to a reader that went away.
struct Breaking {
    told: usize,
}

impl Observer for Breaking {
    fn record(&mut self, record: &Record) {
        self.told += 1;
        if matches!(record.event, Event::Intent(..)) {
            panic!("planted: an observer breaks");
        }
    }
}

#[derive(Default)]
struct Counting(usize);

impl Observer for Counting {
    fn record(&mut self, _: &Record) {
        self.0 += 1;
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_breaks_changes_nothing() {
    let world = World::default();
    let (contract, ports) = parts(&world, Moment::Opens(Arc::default()));
    let cancel = CancellationToken::new();
    let (mut breaking, mut whole) = (Breaking { told: 0 }, Counting::default());
    let mut observers = Observers::new()
        .with(Some(&mut breaking))
        .with(Some(&mut whole));
    let report = run(RunId(1), contract.clone(), &ports, &mut observers, &cancel).await;
    assert!(matches!(report.status, Status::Verified(_)), "{report:?}");
    assert_eq!(report.actions(), 1);
    // It was told nothing more; the other one was told everything.
    drop(observers);
    assert!(breaking.told < whole.0, "{} {}", breaking.told, whole.0);
    // Alone it changes nothing either.
    let mut breaking = Breaking { told: 0 };
    let (_, ports) = parts(&World::default(), Moment::Opens(Arc::default()));
    let report = run(RunId(2), contract, &ports, &mut breaking, &cancel).await;
    assert!(matches!(report.status, Status::Verified(_)), "{report:?}");
}
