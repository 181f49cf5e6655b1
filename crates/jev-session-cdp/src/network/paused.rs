//! A request the browser holds for us, read tolerantly from its event.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::connection::SessionId;

/// What a request is for. The protocol's `ResourceType`; a type we don't know is
/// [`ResourceKind::Unknown`] and refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
pub enum ResourceKind {
    /// A document, in a tab or a frame.
    Document,
    /// A style sheet.
    Stylesheet,
    /// An image.
    Image,
    /// Audio or video.
    Media,
    /// A font.
    Font,
    /// A script, a worker's included.
    Script,
    /// A track of a media element.
    TextTrack,
    /// `XMLHttpRequest`.
    XHR,
    /// `fetch()`.
    Fetch,
    /// A speculative load.
    Prefetch,
    /// A stream of events.
    EventSource,
    /// A web socket.
    WebSocket,
    /// An application manifest.
    Manifest,
    /// A signed exchange.
    SignedExchange,
    /// A beacon or a link's ping.
    Ping,
    /// A report on a content security policy.
    CSPViolationReport,
    /// A CORS preflight.
    Preflight,
    /// Federated sign-in.
    FedCM,
    /// Icons and whatever else has no type of its own.
    Other,
    /// A type of a later protocol.
    #[default]
    #[serde(other)]
    Unknown,
}

/// One held request.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Paused {
    /// Names it in the answer.
    pub(crate) request_id: String,
    pub(crate) request: HeldRequest,
    #[serde(default)]
    pub(crate) frame_id: String,
    #[serde(default)]
    pub(crate) resource_type: ResourceKind,
    /// Of a document: its loader's id.
    #[serde(default)]
    pub(crate) network_id: Option<String>,
    /// The held request whose redirect led here.
    #[serde(default)]
    pub(crate) redirected_request_id: Option<String>,
    /// The session that holds it, and by which it is answered; none for the browser as a whole.
    #[serde(skip)]
    pub(crate) session: Option<SessionId>,
}

/// What is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeldRequest {
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) method: String,
    #[serde(default)]
    pub(crate) headers: Map<String, Value>,
}

impl Paused {
    /// Reads the event. On failure the id alone, when there is one: such a request is failed.
    pub(crate) fn read(
        params: &Value,
        session: Option<&SessionId>,
    ) -> Result<Self, Option<String>> {
        let read = Self::deserialize(params).map(|paused| Self {
            session: session.cloned(),
            ..paused
        });
        read.map_err(|_| {
            params
                .get("requestId")
                .and_then(Value::as_str)
                .map(str::to_owned)
        })
    }

    /// The value of a request header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.request.headers.iter();
        headers
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .and_then(|(_, value)| value.as_str())
    }

    /// Whether it asks for a stream of events, whatever type it is given.
    pub(crate) fn is_event_stream(&self) -> bool {
        self.resource_type == ResourceKind::EventSource
            || self.header("accept") == Some("text/event-stream")
    }

    /// Whether it is a guess about what will be needed.
    pub(crate) fn is_speculative(&self) -> bool {
        self.header("sec-purpose").is_some() || self.header("purpose").is_some()
    }

    /// The loader, for documents; the request's own id otherwise.
    pub(crate) fn loader(&self) -> &str {
        self.network_id.as_deref().unwrap_or(&self.request_id)
    }
}
