//! A run whose future is dropped with an action in flight: nothing more is sent on that tab.

use super::*;

/// The tab of a session whose dispatch never answers.
struct NeverAnswers(
    Arc<dyn SessionFactory>,
    Arc<tokio::sync::Notify>,
    Arc<AtomicUsize>,
);

struct Unanswering(Arc<dyn Session>, Arc<tokio::sync::Notify>, Arc<AtomicUsize>);

#[async_trait]
impl SessionFactory for NeverAnswers {
    async fn open(
        &self,
        request: OpenRequest,
        deadline: Duration,
    ) -> Result<Arc<dyn Session>, SessionError> {
        let inner = self.0.open(request, deadline).await?;
        Ok(Arc::new(Unanswering(
            inner,
            Arc::clone(&self.1),
            Arc::clone(&self.2),
        )))
    }
}

#[async_trait]
impl Session for Unanswering {
    fn scope(&self) -> &Scope {
        self.0.scope()
    }

    async fn observe(&self, deadline: Duration) -> Result<Snapshot, SessionError> {
        self.0.observe(deadline).await
    }

    async fn dispatch(&self, _: Permit, _: Duration) -> Result<Receipt, DispatchError> {
        self.2.fetch_add(1, Ordering::SeqCst);
        self.1.notify_one();
        std::future::pending().await
    }

    async fn wait(&self, bound: Duration) -> Result<Change, SessionError> {
        self.0.wait(bound).await
    }

    async fn lost(&self) -> SessionError {
        self.0.lost().await
    }

    async fn close(&self, grace: Duration) -> CloseReport {
        self.0.close(grace).await
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_run_that_was_dropped_nothing_more_is_sent() {
    let (sending, sent) = (
        Arc::new(tokio::sync::Notify::new()),
        Arc::<AtomicUsize>::default(),
    );
    let factory = NeverAnswers(Arc::new(site()), Arc::clone(&sending), Arc::clone(&sent));
    let script = r#"{"operation":"CLICK","target":"Search","p":0.97}"#;
    let judge = judge(&[script; 3].join("\n"));
    let mut session = open(Arc::new(factory), judge, None).await;
    {
        let cancel = CancellationToken::new();
        let mut observer = Unobserved;
        let running = session.run(task("open the panel", "nowhere"), &mut observer, &cancel);
        tokio::select! {
            biased;
            () = sending.notified() => {}
            _ = running => panic!("the dispatch never answers"),
        }
    }
    let again = session
        .run(
            task("open the panel", "nowhere"),
            &mut Unobserved,
            &CancellationToken::new(),
        )
        .await;
    assert_eq!(again.err(), Some(SharedError::CutShort));
    let pressed = session.press(&control("Search"), SECOND).await;
    assert_eq!(pressed, Err(SharedError::CutShort));
    assert_eq!(sent.load(Ordering::SeqCst), 1);
    // It can still be looked at, and closed.
    assert!(session.observe(SECOND).await.unwrap().is_some());
    assert_eq!(session.close(SECOND).await.outcome, CloseOutcome::Clean);
}
