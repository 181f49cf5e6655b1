//! Errors of the three ports: closed enums that keep the distinctions a run depends on. None of
//! them carries page text, the goal, or a credential.

use serde::{Deserialize, Serialize};

/// Why a fetch brought no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum FetchFault {
    /// Nothing listens there.
    #[error("connection refused")]
    Refused,
    /// The host's name could not be resolved.
    #[error("host name not found")]
    Dns,
    /// The certificate or the handshake failed.
    #[error("TLS failure")]
    Tls,
    /// No answer within the bound.
    #[error("no answer in time")]
    Timeout,
    /// The answer was larger than allowed.
    #[error("answer too large")]
    TooLarge,
    /// The connection broke or the answer was malformed.
    #[error("broken answer")]
    Broken,
    /// The boundary refused the address.
    #[error("refused by the network boundary")]
    Boundary,
}

/// Where a browser stopped answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// While starting.
    #[error("launch")]
    Launch,
    /// While opening the start page.
    #[error("open")]
    Open,
    /// While reading the page.
    #[error("observe")]
    Observe,
    /// While acting.
    #[error("dispatch")]
    Dispatch,
    /// While waiting for a change.
    #[error("wait")]
    Wait,
}

/// What went wrong with a browser session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SessionError {
    /// No browser was found.
    #[error(
        "no Chromium found; install one (Debian: apt-get install -y chromium-headless-shell) or name it with --chrome PATH"
    )]
    BrowserMissing,
    /// The browser did not start, or could not be attached to.
    #[error(
        "the browser did not start, or could not be attached to; `jev doctor` shows why one does not start"
    )]
    LaunchFailed,
    /// The start page could not be fetched.
    #[error("the start page can't be reached: {fault}")]
    StartUnreachable {
        /// Why.
        fault: FetchFault,
    },
    /// The start page answered with an error status.
    #[error("the start page answered HTTP {status}")]
    StartStatus {
        /// The status.
        status: u16,
    },
    /// The tab crashed.
    #[error("the tab crashed")]
    Crashed,
    /// The browser is gone.
    #[error("the browser is gone")]
    Disconnected,
    /// The page or the browser did not answer within its bound.
    #[error("the page stopped answering (stage: {stage})")]
    Hung {
        /// Where.
        stage: Stage,
    },
    /// The browser answered something that makes no sense.
    #[error("the browser's protocol was broken (stage: {stage})")]
    Protocol {
        /// Where.
        stage: Stage,
    },
    /// The browser tried to reach the network by itself.
    #[error("the browser tried to reach the network by itself; the run was stopped")]
    BoundaryBreach,
    /// The session was closed already.
    #[error("the session is closed")]
    Closed,
}

/// Whether something reached the page before an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sent {
    /// Surely not.
    SurelyNot,
    /// It can't be told.
    Maybe,
}

/// A dispatch that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[error("{error}")]
pub struct DispatchError {
    /// Whether the action may have reached the page.
    pub sent: Sent,
    /// What went wrong.
    pub error: SessionError,
}

/// Which part of a judge's answer broke which rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum AnswerFault {
    /// Not JSON, or not of the reply's shape.
    #[error("not the shape of a reply")]
    Shape,
    /// Longer than a reply may be.
    #[error("longer than a reply may be")]
    Length,
    /// A JSON key twice in one object.
    #[error("a key stands twice")]
    DuplicateKey,
    /// A question without an answer.
    #[error("no answer")]
    Missing,
    /// An answer of another type than asked.
    #[error("an answer of another type")]
    Type,
    /// An option that was asked for and is not in the answer.
    #[error("an option is missing")]
    OptionMissing,
    /// An option that was never offered.
    #[error("an option that was not offered")]
    OptionUnknown,
    /// A probability that is not a finite number from 0 to 1.
    #[error("a number out of range")]
    Range,
    /// Probabilities that do not sum to one within the tolerance.
    #[error("the probabilities do not sum to one")]
    Sum,
    /// No probability at all.
    #[error("no probability mass")]
    Mass,
    /// A choice that is not the most probable option.
    #[error("the choice is not the most probable option")]
    Choice,
    /// A score that is not its distribution's expectation.
    #[error("the score does not fit its distribution")]
    Score,
    /// Usage missing or not counted in whole numbers.
    #[error("usage is missing or not whole numbers")]
    Usage,
    /// Another model answered than the one pinned.
    #[error("another model answered")]
    Model,
}

/// How far a request came before the transport failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum TransportFault {
    /// The host's name could not be resolved: the provider was not reached at all.
    #[error("host name not found, the provider was not reached at all")]
    Dns,
    /// No connection.
    #[error("no connection")]
    Connect,
    /// TLS failed.
    #[error("TLS failure")]
    Tls,
    /// The connection broke in the middle.
    #[error("the connection broke")]
    Broken,
}

/// Why a decision could not be had. No variant carries state, goal, key or echoed input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JudgeError {
    /// The judge is configured wrongly.
    #[error("judge configuration: {what}")]
    Config {
        /// Which setting, and how to put it right.
        what: String,
    },
    /// The server refused the request as malformed.
    #[error("the judge refused the request (HTTP {status})")]
    InvalidRequest {
        /// The status.
        status: u16,
    },
    /// The key is missing or wrong.
    #[error("the judge refused the credentials (HTTP {status}); check the key")]
    Auth {
        /// The status.
        status: u16,
    },
    /// No such path or model.
    #[error(
        "the judge's address or model was not found (HTTP {status}); check the URL and the model"
    )]
    NotFound {
        /// The status.
        status: u16,
    },
    /// The account can't pay.
    #[error("the judge asks for payment (HTTP 402)")]
    PaymentRequired,
    /// The request is larger than the judge takes.
    #[error("the request is larger than the judge takes")]
    TooLarge,
    /// Too many requests.
    #[error("the judge's rate limit was reached")]
    RateLimited,
    /// The provider is overloaded.
    #[error("the judge is overloaded (HTTP {status})")]
    Overloaded {
        /// The status.
        status: u16,
    },
    /// The provider failed.
    #[error("the judge failed (HTTP {status})")]
    Server {
        /// The status.
        status: u16,
    },
    /// No answer in time.
    #[error("the judge did not answer in time")]
    Timeout,
    /// The network failed.
    #[error("the judge was not reached: {fault}")]
    Transport {
        /// How far it came.
        fault: TransportFault,
    },
    /// The server answered with a redirect, which is never followed.
    #[error("the judge answered with a redirect (HTTP {status}), which is never followed")]
    Redirect {
        /// The status.
        status: u16,
    },
    /// The answer broke a rule. All of it is void.
    #[error("the judge's answer is void: {fault}{}", question.as_ref().map(|id| format!(" (question `{id}`)")).unwrap_or_default())]
    Protocol {
        /// The question's id, when one is at fault.
        question: Option<String>,
        /// The rule.
        fault: AnswerFault,
    },
    /// The judge can't answer this kind or size of question.
    #[error("the judge can't answer this: {what}")]
    Capability {
        /// What it lacks.
        what: String,
    },
    /// The request's body holds the key; it was not sent.
    #[error("the request would have carried the key in its body; it was not sent")]
    KeyLeak,
    /// A scripted judge has no line left.
    #[error("the scripted judge has no decision left (line {line})")]
    ScriptExhausted {
        /// The line that would have been read.
        line: usize,
    },
    /// A recording does not hold this request.
    #[error("the recording does not hold this request; first difference: {what}")]
    NotRecorded {
        /// The first difference, as a field path.
        what: String,
    },
}

/// Why a verifier gave no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum VerifyError {
    /// It took too long.
    #[error("the verifier did not answer in time")]
    Timeout,
    /// It failed.
    #[error("the verifier failed")]
    Failed,
}
