//! A tab that answers nothing any more, not even its own closing.

use std::sync::atomic::{AtomicU32, Ordering};

use jev_core::error::{DispatchError, SessionError};
use jev_core::ids::Scope;
use jev_core::permit::Permit;
use jev_core::ports::{Change, CloseReport, OpenRequest, Session, SessionFactory};
use jev_core::receipt::Receipt;
use jev_core::snapshot::Snapshot;

use super::*;

struct Stuck(Arc<dyn SessionFactory>);

/// Its first look is answered.
struct StuckTab(Arc<dyn Session>, AtomicU32);

#[async_trait]
impl SessionFactory for Stuck {
    async fn open(
        &self,
        request: OpenRequest,
        deadline: Duration,
    ) -> Result<Arc<dyn Session>, SessionError> {
        let inner = self.0.open(request, deadline).await?;
        Ok(Arc::new(StuckTab(inner, AtomicU32::new(0))))
    }
}

#[async_trait]
impl Session for StuckTab {
    fn scope(&self) -> &Scope {
        self.0.scope()
    }

    async fn observe(&self, deadline: Duration) -> Result<Snapshot, SessionError> {
        match self.1.fetch_add(1, Ordering::SeqCst) {
            0 => self.0.observe(deadline).await,
            _ => std::future::pending().await,
        }
    }

    async fn dispatch(&self, _: Permit, _: Duration) -> Result<Receipt, DispatchError> {
        std::future::pending().await
    }

    async fn wait(&self, _: Duration) -> Result<Change, SessionError> {
        std::future::pending().await
    }

    async fn close(&self, _: Duration) -> CloseReport {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_session_does_not_wait_for_a_tab_that_is_stuck() {
    let (site, judge) = (site(), Listening::new(STORY));
    let mut parts = parts(&site, &judge, settings());
    let source = parts.sources[0].provider.source(&client("one")).unwrap();
    parts.sources[0].provider = Arc::new(Shared(Source {
        factory: Arc::new(Stuck(Arc::clone(&source.factory))),
        ..source
    }));
    let tools = session_tools(parts)
        .into_iter()
        .map(|tool| (tool.definition().name.clone(), tool))
        .collect();
    let bench = Bench { tools, site, judge };
    let id = bench.open().await;
    let before = tokio::time::Instant::now();
    let session = || json!({"session": id});
    let closed = tokio::select! {
        biased;
        read = bench.call("session_read", session()) => panic!("{read:?}"),
        closed = bench.call("session_close", session()) => closed.unwrap(),
    };
    assert_eq!(closed.structured["closed"], "unanswered");
    assert!(before.elapsed() < Duration::from_secs(6));
    let again = bench.call("session_close", session()).await.unwrap_err();
    assert_eq!(again.code(), "BROWSER_SESSION_UNKNOWN");
}
