//! Our own fetching of what the browser may have: GET, one hop, verified TLS, bounded in size and
//! time, decoded.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use jev_core::access::CanonicalUrl;
use jev_core::error::FetchFault;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response};
use serde_json::{Map, Value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::counters::NetworkCounters;
use super::policy::{Caps, PrivateNames};
use super::resolve::{PinnedResolver, ResolveFault, check_literal};

/// Fetches of one tab at the same time. With the size cap it bounds memory.
const AT_ONCE: usize = 16;

/// The same of the tab's own documents, besides: what a page asks for must not keep the tab on it. The
/// browser wants one at a time, and may not yet have given up the last.
const DOCUMENTS_AT_ONCE: usize = 2;

/// What a fetch waits behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Other documents of the tab itself.
    Document,
    /// Everything else.
    Rest,
}

/// Request headers that are not ours to copy: those of one connection, and the encodings, which
/// the client offers by what it can decode.
const DROPPED_FROM_REQUEST: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Answer headers that the browser does not get: what no longer holds for a decoded body, what
/// would make it fetch, report or remember something by itself, and what would ask for a login.
const DROPPED_FROM_ANSWER: &[&str] = &[
    "alt-svc",
    "connection",
    "content-encoding",
    "content-length",
    "content-security-policy-report-only",
    "critical-ch",
    "keep-alive",
    "link",
    "nel",
    "permissions-policy",
    "proxy-authenticate",
    "proxy-connection",
    "report-to",
    "reporting-endpoints",
    "service-worker-allowed",
    "sourcemap",
    "speculation-rules",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
    "x-sourcemap",
];

/// An answer, whole and decoded.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) status: u16,
    /// In order; a name may stand several times (`set-cookie`).
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Held until the browser has taken the answer in, so that what waits in memory is bounded too.
    pub(crate) slot: OwnedSemaphorePermit,
}

impl Fetched {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether the browser will follow it to another address.
    pub(crate) fn is_redirect(&self) -> bool {
        matches!(self.status, 301 | 302 | 303 | 307 | 308) && self.header("location").is_some()
    }
}

/// One tab's client. It keeps addresses and connections, no cookies, and dies with the tab.
#[derive(Clone, Debug)]
pub(crate) struct Fetcher {
    client: Client,
    slots: Arc<Semaphore>,
    documents: Arc<Semaphore>,
}

impl Fetcher {
    /// A client with nothing of this machine's proxy settings.
    pub(crate) fn new(private: PrivateNames) -> io::Result<Self> {
        let client = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .dns_resolver(PinnedResolver::new(private))
            .pool_idle_timeout(Duration::from_secs(30))
            .build()
            .map_err(io::Error::other)?;
        Ok(Self {
            client,
            slots: Arc::new(Semaphore::new(AT_ONCE)),
            documents: Arc::new(Semaphore::new(DOCUMENTS_AT_ONCE)),
        })
    }

    /// Fetches one address within the caps. Every byte counts when it arrives, whatever becomes of
    /// the answer.
    pub(crate) async fn fetch(
        &self,
        url: &CanonicalUrl,
        headers: &Map<String, Value>,
        caps: &Caps,
        counters: &NetworkCounters,
        lane: Lane,
    ) -> Result<Fetched, FetchFault> {
        check_literal(url.url().host())?;
        let whole = async {
            // Never closed, so an error can't happen; were it, the fetch would fail.
            let slots = match lane {
                Lane::Document => &self.documents,
                Lane::Rest => &self.slots,
            };
            let slot = Arc::clone(slots).acquire_owned().await;
            let slot = slot.map_err(|_| FetchFault::Broken)?;
            let request = self
                .client
                .get(url.url().clone())
                .headers(forwarded(headers))
                .send();
            let response = tokio::time::timeout(caps.silence, request)
                .await
                .map_err(|_| FetchFault::Timeout)?
                .map_err(|error| fault_of(&error))?;
            take_in(response, caps, counters, slot).await
        };
        tokio::time::timeout_at(Instant::now() + caps.request, whole)
            .await
            .map_err(|_| FetchFault::Timeout)?
    }
}

async fn take_in(
    mut response: Response,
    caps: &Caps,
    counters: &NetworkCounters,
    slot: OwnedSemaphorePermit,
) -> Result<Fetched, FetchFault> {
    // The client takes this header away when it decodes; what is left it can't decode.
    if response.headers().contains_key("content-encoding") {
        return Err(FetchFault::Broken);
    }
    let announced = response.content_length().unwrap_or_default();
    if announced > caps.body_bytes {
        return Err(FetchFault::TooLarge);
    }
    let status = response.status().as_u16();
    let headers = response
        .headers()
        .iter()
        .filter(|(name, _)| !DROPPED_FROM_ANSWER.contains(&name.as_str()))
        .map(|(name, value)| (name.as_str().to_owned(), text(value)))
        .collect();
    let mut body = Vec::new();
    loop {
        let chunk = tokio::time::timeout(caps.silence, response.chunk())
            .await
            .map_err(|_| FetchFault::Timeout)?
            .map_err(|error| fault_of(&error))?;
        let Some(chunk) = chunk else { break };
        let total = counters.receive(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
        let length = u64::try_from(body.len() + chunk.len()).unwrap_or(u64::MAX);
        if length > caps.body_bytes || total > caps.total_bytes {
            return Err(FetchFault::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Fetched {
        status,
        headers,
        body,
        slot,
    })
}

/// Header bytes as text: UTF-8 as most servers mean it, else one character a byte.
fn text(value: &HeaderValue) -> String {
    std::str::from_utf8(value.as_bytes()).map_or_else(
        |_| {
            value
                .as_bytes()
                .iter()
                .map(|byte| char::from(*byte))
                .collect()
        },
        str::to_owned,
    )
}

fn forwarded(headers: &Map<String, Value>) -> HeaderMap {
    headers
        .iter()
        .filter_map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            let kept = !DROPPED_FROM_REQUEST.contains(&name.as_str());
            let value = HeaderValue::from_str(value.as_str()?).ok()?;
            kept.then_some((name, value))
        })
        .collect()
}

fn fault_of(error: &reqwest::Error) -> FetchFault {
    if error.is_timeout() {
        return FetchFault::Timeout;
    }
    let connecting = error.is_connect();
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(current) = cause {
        if let Some(ResolveFault(fault)) = current.downcast_ref::<ResolveFault>() {
            return *fault;
        }
        if let Some(error) = current.downcast_ref::<io::Error>() {
            let kind = error.kind();
            if kind == io::ErrorKind::ConnectionRefused {
                return FetchFault::Refused;
            }
            if kind == io::ErrorKind::TimedOut {
                return FetchFault::Timeout;
            }
            // What the TLS library reports while connecting comes wrapped so.
            if kind == io::ErrorKind::InvalidData && connecting {
                return FetchFault::Tls;
            }
        }
        cause = inner(current);
    }
    FetchFault::Broken
}

/// What an error was caused by. An I/O error that wraps another hides it from its `source`.
fn inner<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let wrapped = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    match wrapped {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}
