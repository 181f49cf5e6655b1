//! Port conformance suites: what every session, judge and verifier must do, as functions that any
//! implementation can run. This workspace's own all do; so can yours.
//!
//! The suites know no runtime. They take a [`Clock`], which waits in the runtime of whoever tests,
//! so that an adapter that hangs fails its suite instead of hanging it:
//!
//! ```
//! use std::time::Duration;
//!
//! use jev_core::error::VerifyError;
//! use jev_core::ports::{Verifier, VerifyRequest};
//! use jev_core::testing::{self, Broken, Clock, VerifierCase};
//! use jev_core::verification::{Evidence, EvidencePlace, Refusal, Verdict, Verification};
//!
//! /// A verifier of our own: the page's title is the answer.
//! struct Titled(&'static str);
//!
//! #[async_trait::async_trait]
//! impl Verifier for Titled {
//!     async fn verify(
//!         &self,
//!         request: VerifyRequest,
//!         _deadline: Duration,
//!     ) -> Result<Verification, VerifyError> {
//!         let verdict = if request.snapshot.title == self.0 {
//!             Verdict::Passed(vec![Evidence {
//!                 quote: self.0.to_owned(),
//!                 context: String::new(),
//!                 place: EvidencePlace::Title,
//!             }])
//!         } else {
//!             Verdict::Refused(Refusal::NotFound)
//!         };
//!         Ok(Verification {
//!             goal: request.goal_digest,
//!             version: request.snapshot.version().clone(),
//!             verdict,
//!         })
//!     }
//! }
//!
//! async fn conforms(clock: &Clock) -> Result<(), Broken> {
//!     let case = VerifierCase {
//!         goal: "Which page is the manual?".to_owned(),
//!         holds: testing::page("http://h/manual", "Manual", "All about it."),
//!         lacks: testing::page("http://h/", "Start", "See the manual."),
//!     };
//!     testing::verifier(&Titled("Manual"), &case, clock).await
//! }
//!
//! // With tokio: `Clock::new(tokio::time::sleep)`.
//! let clock = Clock::new(|_| std::future::pending());
//! # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
//! # let outcome = std::pin::pin!(conforms(&clock)).poll(&mut context);
//! # assert_eq!(outcome, std::task::Poll::Ready(Ok(())));
//! ```

mod judge;
mod session;
mod verifier;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::contract::{Goal, Reach};
use crate::ids::{BlankScope, DocumentId, Scope};
use crate::snapshot::{Omitted, ScrollState, Settled, Snapshot, SnapshotParts};

pub use judge::{Answered, judge};
pub use session::{SessionCase, session};
pub use verifier::{VerifierCase, verifier};

/// A rule that an adapter broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}: {what}")]
pub struct Broken {
    /// What must hold.
    pub rule: &'static str,
    /// What was seen instead.
    pub what: String,
}

impl Broken {
    fn new(rule: &'static str, what: impl Into<String>) -> Self {
        Self {
            rule,
            what: what.into(),
        }
    }
}

#[expect(
    clippy::fn_params_excessive_bools,
    reason = "an assertion takes what it asserts"
)]
fn hold(holds: bool, rule: &'static str, what: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds {
        Ok(())
    } else {
        Err(Broken::new(rule, what()))
    }
}

type Nap = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How to wait, in the runtime of whoever tests.
pub struct Clock {
    sleep: Box<dyn Fn(Duration) -> Nap + Send + Sync>,
    patience: Duration,
}

/// How much longer than its deadline an adapter may take, by default: test machines are busy.
const PATIENCE: Duration = Duration::from_secs(20);
/// The deadline that adapters are given.
const DEADLINE: Duration = Duration::from_secs(20);

impl Clock {
    /// A clock that waits by this function: `Clock::new(tokio::time::sleep)`.
    pub fn new<F>(sleep: impl Fn(Duration) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self {
            sleep: Box::new(move |time| Box::pin(sleep(time))),
            patience: PATIENCE,
        }
    }

    /// Waits so much longer than its deadline for each answer before it counts as hanging.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// What a future brings, within its deadline and some patience.
    async fn bounded<T>(
        &self,
        deadline: Duration,
        future: impl Future<Output = T>,
    ) -> Result<T, Broken> {
        let mut future = pin!(future);
        let mut nap = (self.sleep)(deadline.saturating_add(self.patience));
        poll_fn(|context| {
            if let Poll::Ready(value) = future.as_mut().poll(context) {
                return Poll::Ready(Ok(value));
            }
            nap.as_mut().poll(context).map(|()| {
                Err(Broken::new(
                    "a call ends by its deadline",
                    format!("no answer long after {deadline:?}"),
                ))
            })
        })
        .await
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clock")
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

/// Polls a call once and drops it, as a run does that is cancelled or out of time.
async fn abandon<T>(future: impl Future<Output = T>) {
    let mut future = pin!(future);
    poll_fn(|context| {
        let _ = future.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}

/// Two calls at the same time.
async fn both<A, B>(one: impl Future<Output = A>, other: impl Future<Output = B>) -> (A, B) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    let (mut first, mut second) = (None, None);
    poll_fn(|context| {
        if first.is_none()
            && let Poll::Ready(value) = one.as_mut().poll(context)
        {
            first = Some(value);
        }
        if second.is_none()
            && let Poll::Ready(value) = other.as_mut().poll(context)
        {
            second = Some(value);
        }
        match (first.take(), second.take()) {
            (Some(one), Some(other)) => Poll::Ready((one, other)),
            (one, other) => {
                (first, second) = (one, other);
                Poll::Pending
            }
        }
    })
    .await
}

/// A page of this address, title and visible text, without anything to click.
#[must_use]
pub fn page(url: &str, title: &str, text: &str) -> Arc<Snapshot> {
    Arc::new(Snapshot::new(SnapshotParts {
        scope: scope(),
        document: DocumentId::new(url),
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

fn scope() -> Scope {
    let named: Result<Scope, BlankScope> = Scope::new("tester", "conformance", "tab");
    match named {
        Ok(scope) => scope,
        Err(_) => unreachable!("no part is blank"),
    }
}

fn goal(text: &str) -> Result<Goal, Broken> {
    Goal::new(text).map_err(|error| Broken::new("the case can be run", error.to_string()))
}
