//! A verifier alone: does this page hold what was asked for, and where?
//!
//! `cargo run -p jev-verify --example verify`

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use jev_core::contract::{Goal, Reach};
use jev_core::ids::{DocumentId, Scope};
use jev_core::ports::VerifyRequest;
use jev_core::snapshot::{Omitted, ScrollState, Settled, Snapshot, SnapshotParts};
use jev_core::verification::Verdict;
use jev_verify::VerifierSpec;

type Failure = Box<dyn std::error::Error>;

fn page(text: &str) -> Result<Arc<Snapshot>, Failure> {
    Ok(Arc::new(Snapshot::new(SnapshotParts {
        scope: Scope::new("ada", "session-1", "tab-1")?,
        document: DocumentId::new("d1"),
        url: "http://help.test/warranty".to_owned(),
        title: "Warranty".to_owned(),
        text: text.to_owned(),
        candidates: Vec::new(),
        scroll: ScrollState::default(),
        omitted: Omitted::default(),
        settled: Settled::Yes,
        reach: Reach::Document,
        http_status: Some(200),
    })))
}

/// What the verifier says of a text.
pub(crate) fn verdict(text: &str) -> Result<Verdict, Failure> {
    let verifier = VerifierSpec::new()
        .expect(r"\d+ months")
        .expect_url("http://help.test/*")
        .build()?;
    let goal = Goal::new("How long does the warranty last?")?;
    let request = VerifyRequest {
        goal_digest: goal.digest(),
        goal,
        snapshot: page(text)?,
    };
    // These verifiers never wait, so one poll is enough; with a runtime it is an `.await`.
    let verifying = pin!(verifier.verify(request, Duration::from_secs(1)));
    match Future::poll(verifying, &mut Context::from_waker(Waker::noop())) {
        Poll::Ready(verification) => Ok(verification?.verdict),
        Poll::Pending => Err("a verifier that waits".into()),
    }
}

pub(crate) fn main() -> Result<(), Failure> {
    for text in ["The warranty lasts 24 months.", "The warranty lasts long."] {
        match verdict(text)? {
            Verdict::Passed(evidence) => {
                for piece in evidence {
                    println!("passed:  {} ({:?})", piece.quote, piece.place);
                }
            }
            Verdict::Refused(refusal) => println!("refused: {refusal:?}"),
        }
    }
    Ok(())
}
