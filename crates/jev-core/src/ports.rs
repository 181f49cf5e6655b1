//! The three ports: what a session, a judge and a verifier must do. Adapters implement these; the
//! driver in `jev-agent` calls them. Every method may be dropped in the middle (cancelled): that
//! must harm nobody, and a later call must still work or fail with a typed error.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::access::{AccessList, CanonicalUrl};
use crate::contract::{Goal, Reach};
use crate::error::{DispatchError, JudgeError, SessionError, VerifyError};
use crate::host::HostActs;
use crate::ids::{GoalDigest, Scope};
use crate::permit::Permit;
use crate::policy::ActionPolicy;
use crate::question::{Decision, Questionnaire};
use crate::receipt::Receipt;
use crate::snapshot::Snapshot;
use crate::verification::Verification;

/// What a session needs to open.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenRequest {
    /// Who it will belong to; every snapshot carries it.
    pub scope: Scope,
    /// The page to open.
    pub start: CanonicalUrl,
    /// The documents it may stand on. Sub-resources: GET from the same origins.
    pub access: AccessList,
    /// What may be listed as a candidate.
    pub actions: ActionPolicy,
    /// Viewport or whole document.
    pub reach: Reach,
}

/// Opens exclusive sessions. Opening must not block the thread.
#[async_trait]
pub trait SessionFactory: Send + Sync {
    /// Opens one session on its start page.
    ///
    /// Dropping the future must leave nothing behind that outlives the factory.
    async fn open(
        &self,
        request: OpenRequest,
        deadline: Duration,
    ) -> Result<Arc<dyn Session>, SessionError>;
}

/// One exclusive browser tab.
#[async_trait]
pub trait Session: Send + Sync {
    /// Who it belongs to.
    fn scope(&self) -> &Scope;

    /// The host's own acts, when this session has them. A judge has no path to them.
    fn host_acts(&self) -> Option<&dyn HostActs> {
        None
    }

    /// A picture of the window (PNG) as it is now, for the host's records; none when this session
    /// takes none, or when another document than `page`'s stands there. What it shows can't be
    /// redacted.
    async fn picture(&self, _page: &Snapshot, _bound: Duration) -> Option<Vec<u8>> {
        None
    }

    /// Lets the page come to rest (by events, bounded) and reads it. After a dispatch this waits
    /// for the document that the dispatch's own navigation brings.
    async fn observe(&self, deadline: Duration) -> Result<Snapshot, SessionError>;

    /// Carries out a permit, once, if what it was judged on still holds. Returns as soon as the
    /// outcome is known; coming to rest is left to the next [`Session::observe`].
    async fn dispatch(&self, permit: Permit, deadline: Duration) -> Result<Receipt, DispatchError>;

    /// Waits until the page changes or the bound passes.
    async fn wait(&self, bound: Duration) -> Result<Change, SessionError>;

    /// Comes back when the session is gone (crashed, its browser ended) and nothing can be read or
    /// done there any more, with why; never, for a session that can't tell. It is asked beside the
    /// other calls, and dropped and asked again at any time.
    async fn lost(&self) -> SessionError {
        std::future::pending().await
    }

    /// Forbids any further dispatch at once, then closes within the grace. May be called more than
    /// once and while other calls are pending; they then fail with a typed error.
    async fn close(&self, grace: Duration) -> CloseReport;
}

/// What a wait saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The page changed.
    Seen,
    /// The bound passed first.
    None,
}

/// How a close went. Reported apart; never changes a run's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseOutcome {
    /// Closed in order.
    Clean,
    /// The grace passed; the browser was killed from outside and reaped.
    Killed,
    /// It was closed already.
    AlreadyClosed,
    /// The session did not answer; whether all is gone is not known.
    Unanswered,
}

/// What a session says when it is closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseReport {
    /// How it went.
    pub outcome: CloseOutcome,
    /// What the network boundary did during the session.
    pub network: NetworkCounts,
}

impl From<CloseOutcome> for CloseReport {
    /// The report of a close that counted no requests.
    fn from(outcome: CloseOutcome) -> Self {
        Self {
            outcome,
            network: NetworkCounts::default(),
        }
    }
}

/// What the network boundary let through and refused, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkCounts {
    /// Requests answered.
    pub allowed: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// Documents refused because their address is not on the list.
    pub refused_documents: u64,
    /// Sub-resources refused because of their origin.
    pub refused_resources: u64,
    /// Requests refused because of their method.
    pub refused_methods: u64,
    /// Requests refused because of their kind or scheme (web sockets, workers, data, media, ...).
    pub refused_kinds: u64,
    /// New windows closed.
    pub refused_windows: u64,
    /// Downloads denied.
    pub refused_downloads: u64,
    /// Dialogs dismissed.
    pub dismissed_dialogs: u64,
    /// Connections that the browser itself tried to make. Anything but 0 fails the run.
    pub breaches: u64,
}

/// What kind of answers a judge gives: it decides the default gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeKind {
    /// Its probabilities mean something by themselves.
    Decides,
    /// Only the order and the ratio of its probabilities mean something.
    Ranks,
}

/// Who judges. Shown in every output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeIdentity {
    /// The judge's name, such as `lexical`.
    pub name: String,
    /// The model asked for, when there is one.
    pub model: Option<String>,
    /// What its answers mean.
    pub kind: JudgeKind,
}

/// Answers multiple-choice questions about what a page shows.
#[async_trait]
pub trait Judge: Send + Sync {
    /// Who it is.
    fn identity(&self) -> JudgeIdentity;

    /// Answers every question, or none: any fault voids the whole answer.
    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError>;
}

/// What a verifier is given.
#[derive(Clone, Debug)]
pub struct VerifyRequest {
    /// What was asked for.
    pub goal: Goal,
    /// The goal's digest, to be put into the verification.
    pub goal_digest: GoalDigest,
    /// The page to look at.
    pub snapshot: Arc<Snapshot>,
}

/// Independent code that says whether a page holds what the goal asks for.
#[async_trait]
pub trait Verifier: Send + Sync {
    /// Looks at one snapshot.
    async fn verify(
        &self,
        request: VerifyRequest,
        deadline: Duration,
    ) -> Result<Verification, VerifyError>;
}
