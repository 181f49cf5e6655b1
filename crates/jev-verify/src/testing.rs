//! Pages and a one-shot executor for this crate's own tests.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use jev_core::contract::{Goal, Reach};
use jev_core::error::VerifyError;
use jev_core::ids::{DocumentId, Scope};
use jev_core::ports::{Verifier, VerifyRequest};
use jev_core::snapshot::{Omitted, ScrollState, Settled, Snapshot, SnapshotParts};
use jev_core::verification::{Evidence, Verdict, Verification};

pub(crate) const GOAL: &str = "how long does the warranty last?";

pub(crate) fn page(url: &str, title: &str, text: &str) -> Arc<Snapshot> {
    Arc::new(Snapshot::new(SnapshotParts {
        scope: Scope::new("u", "s", "t").unwrap(),
        document: DocumentId::new("d1"),
        url: url.to_owned(),
        title: title.to_owned(),
        text: text.to_owned(),
        candidates: Vec::new(),
        scroll: ScrollState::default(),
        omitted: Omitted::default(),
        settled: Settled::Yes,
        reach: Reach::Document,
        http_status: Some(200),
    }))
}

/// Every verifier here answers without waiting, so one poll must do.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a verifier of this crate waited"),
    }
}

fn run(verifier: &dyn Verifier, page: &Arc<Snapshot>) -> Result<Verification, VerifyError> {
    let goal = Goal::new(GOAL).unwrap();
    ready(verifier.verify(
        VerifyRequest {
            goal_digest: goal.digest(),
            goal,
            snapshot: Arc::clone(page),
        },
        Duration::from_secs(1),
    ))
}

pub(crate) fn verification_of(verifier: &dyn Verifier, page: &Arc<Snapshot>) -> Verification {
    run(verifier, page).unwrap()
}

pub(crate) fn result_of(
    verifier: &dyn Verifier,
    page: &Arc<Snapshot>,
) -> Result<Verdict, VerifyError> {
    run(verifier, page).map(|verification| verification.verdict)
}

pub(crate) fn verdict_of(verifier: &dyn Verifier, page: &Arc<Snapshot>) -> Verdict {
    verification_of(verifier, page).verdict
}

pub(crate) fn passed(verdict: Verdict) -> Vec<Evidence> {
    match verdict {
        Verdict::Passed(evidence) => evidence,
        Verdict::Refused(refusal) => panic!("refused: {refusal:?}"),
    }
}
