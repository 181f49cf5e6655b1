//! The one deadline, wherever it comes: while observing, acting, verifying, closing.

use std::sync::atomic::AtomicU32;

use jev_core::error::{DispatchError, VerifyError};
use jev_core::permit::Permit;
use jev_core::ports::{Change, CloseOutcome, CloseReport, Session, VerifyRequest};
use jev_core::receipt::Receipt;
use jev_core::verification::Verification;

use super::*;

/// Where a session stops answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stall {
    /// At its second look.
    Observe,
    Dispatch,
    Close,
}

struct Stalls(PageSite, Stall);

#[async_trait]
impl SessionFactory for Stalls {
    async fn open(
        &self,
        request: OpenRequest,
        deadline: Duration,
    ) -> Result<Arc<dyn Session>, SessionError> {
        Ok(Arc::new(Stalling {
            inner: self.0.open(request, deadline).await?,
            stall: self.1,
            looks: AtomicU32::new(0),
        }))
    }
}

struct Stalling {
    inner: Arc<dyn Session>,
    stall: Stall,
    looks: AtomicU32,
}

#[async_trait]
impl Session for Stalling {
    fn scope(&self) -> &Scope {
        self.inner.scope()
    }

    async fn observe(&self, deadline: Duration) -> Result<Snapshot, SessionError> {
        let looks = self.looks.fetch_add(1, Ordering::SeqCst);
        if self.stall == Stall::Observe && looks > 0 {
            std::future::pending::<()>().await;
        }
        self.inner.observe(deadline).await
    }

    async fn dispatch(&self, permit: Permit, deadline: Duration) -> Result<Receipt, DispatchError> {
        if self.stall == Stall::Dispatch {
            std::future::pending::<()>().await;
        }
        self.inner.dispatch(permit, deadline).await
    }

    async fn wait(&self, bound: Duration) -> Result<Change, SessionError> {
        self.inner.wait(bound).await
    }

    async fn close(&self, grace: Duration) -> CloseReport {
        let report = self.inner.close(grace).await;
        if self.stall == Stall::Close {
            std::future::pending::<()>().await;
        }
        report
    }
}

/// Goes its way, and counts that it was told to stop.
struct Counting(ScriptedPolicy, AtomicUsize);

#[async_trait]
impl Policy for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    async fn propose(&self, view: &View, deadline: Duration) -> Result<Proposed, PolicyError> {
        self.0.propose(view, deadline).await
    }

    fn cancel(&self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_holds_while_observing_acting_and_closing() {
    for (stall, status) in [
        (Stall::Observe, "TIMEOUT"),
        (Stall::Dispatch, "UNKNOWN"),
        (Stall::Close, "VERIFIED"),
    ] {
        let dir = TempDir::new().unwrap();
        let site = site();
        let mut parts = parts(&site, Vec::new());
        parts.factory = Arc::new(Stalls(site.clone(), stall));
        let way = ScriptedPolicy::new([link("Docs"), link("Warranty")]);
        let policy = Arc::new(Counting(way, AtomicUsize::new(0)));
        parts.decider = Decider::Policy(Arc::clone(&policy) as Arc<dyn Policy>);
        let mut runtime = Runtime::new(parts);
        let mut trace =
            Trajectory::create(&TraceOptions::new(dir.path()), Redactor::new()).unwrap();
        let watchers = Watchers {
            trajectory: Some(&mut trace),
            observer: &mut Unobserved,
        };
        let result = runtime
            .run(&task(), watchers, &CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(result.reason.status().name(), status, "{stall:?}");
        assert!(result.elapsed < Duration::from_secs(14), "{stall:?}");
        let expired = stall != Stall::Close;
        assert_eq!(
            policy.1.load(Ordering::SeqCst),
            usize::from(expired),
            "{stall:?}"
        );
        assert_eq!(runtime.is_reusable(), !expired, "{stall:?}");
        let outcome = match stall {
            Stall::Close => CloseOutcome::Unanswered,
            Stall::Observe | Stall::Dispatch => CloseOutcome::Clean,
        };
        assert_eq!(result.close.unwrap().outcome, outcome, "{stall:?}");
        assert_eq!(site.counts().opened(), site.counts().closed(), "{stall:?}");
        let end = trajectory::summary(trace.folder()).unwrap().result.unwrap();
        let state = if expired { "BLOCKED" } else { "COMPLETED" };
        assert_eq!(end.as_str(), state, "{stall:?}");
    }
}

/// Gives no verdict.
struct NoVerdict;

#[async_trait]
impl Verifier for NoVerdict {
    async fn verify(&self, _: VerifyRequest, _: Duration) -> Result<Verification, VerifyError> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_holds_while_verifying() {
    let site = site();
    let task = task();
    let contract = ContractDraft {
        mode: Mode::Enforce,
        ..ContractDraft::new(
            task.goal.clone(),
            Scope::new("u", "s", "t").unwrap(),
            task.start.clone(),
            task.access.clone(),
        )
    };
    let ports = Ports {
        factory: Arc::new(site.clone()),
        judge: Arc::new(ScriptedJudge::parse("").unwrap()),
        verifier: Arc::new(NoVerdict),
    };
    let cancel = CancellationToken::new();
    let contract = contract.check().unwrap();
    let report = crate::run(RunId(1), contract, &ports, &mut Unobserved, &cancel).await;
    assert_eq!(report.status.name(), "TIMEOUT");
    assert_eq!(site.counts().opened(), site.counts().closed());
}
