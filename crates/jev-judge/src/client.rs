//! The one HTTP client: deadlines, bounded retries, no redirects, capped bodies, and a key that is
//! read at the moment of the request and never leaves in anything but its header.

use std::error::Error as _;
use std::time::{Duration, SystemTime};

use reqwest::Method;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::time::{Instant, timeout};

use jev_core::error::{AnswerFault, JudgeError, TransportFault};

use crate::credential::{Credential, Secret};
use crate::endpoint::{Endpoint, NameNotFound, SystemResolver};
use crate::retry::{RetryPolicy, retry_after};

/// Largest reply that is read, in bytes.
pub const REPLY_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Largest error body that is looked at, in bytes.
const ERROR_MAX_BYTES: usize = 64 * 1024;

/// The client's own bounds. The run's deadline stands above all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// To a connection.
    pub connect: Duration,
    /// One try, from its start to the reply's last byte.
    pub attempt: Duration,
    /// Retries.
    pub retry: RetryPolicy,
}

impl Default for Bounds {
    /// 3 s to connect and 10 s a try, as the official SDK allows an operation.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(3),
            attempt: Duration::from_secs(10),
            retry: RetryPolicy::default(),
        }
    }
}

/// What a provider makes of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The body is an answer to be decoded.
    Answer,
    /// It failed, and would fail again.
    Final(JudgeError),
    /// It failed, and may work after a while.
    Transient(JudgeError),
}

/// A response that holds an answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// The body.
    pub body: Vec<u8>,
    /// The server's id of the request.
    pub request_id: Option<String>,
    /// How many tries it took.
    pub attempts: u32,
}

/// Sends JSON to one address.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    endpoint: Endpoint,
    credential: Credential,
    headers: HeaderMap,
    bounds: Bounds,
}

/// One failed try.
struct Failed {
    error: JudgeError,
    again: Again,
    /// The server's id of the request, when it answered with one.
    request_id: Option<String>,
}

/// Whether another try makes sense.
enum Again {
    No,
    Yes { wish: Option<Duration> },
}

impl Client {
    /// A client for one address.
    ///
    /// # Errors
    /// [`JudgeError::Config`] when an extra header can't be sent or TLS can't be set up.
    pub(crate) fn new(
        endpoint: Endpoint,
        credential: Credential,
        headers: &[(String, String)],
        bounds: Bounds,
    ) -> Result<Self, JudgeError> {
        let config = |what: String| JudgeError::Config { what };
        let mut map = HeaderMap::new();
        map.insert(ACCEPT, HeaderValue::from_static("application/json"));
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in headers {
            let name: HeaderName = name
                .parse()
                .map_err(|_| config(format!("`{name}` is no header name")))?;
            let mut value: HeaderValue = value
                .parse()
                .map_err(|_| config(format!("the value of header `{name}` can't be sent")))?;
            // Whatever a host adds may be a credential.
            value.set_sensitive(true);
            map.insert(name, value);
        }
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("jev-judge/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(bounds.connect)
            .pool_idle_timeout(Duration::from_secs(30))
            .tcp_nodelay(true)
            // A body is capped as it arrives: nothing may unfold on the way.
            .no_gzip()
            .no_brotli()
            .no_deflate()
            .https_only(!endpoint.is_loopback())
            .dns_resolver(std::sync::Arc::new(SystemResolver));
        if endpoint.is_loopback() {
            builder = builder.no_proxy();
        }
        let http = builder
            .build()
            .map_err(|_| config("TLS can't be set up on this machine".to_owned()))?;
        Ok(Self {
            http,
            endpoint,
            credential,
            headers: map,
            bounds,
        })
    }

    /// Posts a body to the endpoint; see [`Client::send`].
    ///
    /// # Errors
    /// As [`Client::send`].
    pub(crate) async fn post(
        &self,
        body: Vec<u8>,
        deadline: Duration,
        judge: impl Fn(u16, &[u8]) -> Verdict,
    ) -> Result<Reply, JudgeError> {
        let to = self.endpoint.clone();
        self.send(Method::POST, &to, body, deadline, judge).await
    }

    /// Gets what stands beside the endpoint under another name; see [`Client::send`].
    ///
    /// # Errors
    /// As [`Client::send`].
    pub(crate) async fn get_sibling(
        &self,
        name: &str,
        deadline: Duration,
        judge: impl Fn(u16, &[u8]) -> Verdict,
    ) -> Result<Reply, JudgeError> {
        let to = self.endpoint.sibling(name);
        self.send(Method::GET, &to, Vec::new(), deadline, judge)
            .await
    }

    /// Sends a request until a verdict is final, retries are used up or the deadline comes.
    ///
    /// # Errors
    /// The last try's error; [`JudgeError::Timeout`] at the deadline; [`JudgeError::KeyLeak`] and
    /// [`JudgeError::Config`] before anything is sent.
    async fn send(
        &self,
        method: Method,
        to: &Endpoint,
        body: Vec<u8>,
        deadline: Duration,
        judge: impl Fn(u16, &[u8]) -> Verdict,
    ) -> Result<Reply, JudgeError> {
        let end = Instant::now() + deadline;
        for attempt in 1.. {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(JudgeError::Timeout);
            }
            let key = self.credential.read()?;
            if key.as_ref().is_some_and(|key| key.leaks_into(&body)) {
                return Err(JudgeError::KeyLeak);
            }
            let bound = left.min(self.bounds.attempt);
            let request = self.http.request(method.clone(), to.url().clone());
            let tried = timeout(bound, self.once(request.body(body.clone()), key, &judge)).await;
            let failed = match tried {
                Ok(Ok((body, request_id))) => {
                    let id = request_id.as_deref().unwrap_or_default();
                    tracing::debug!(
                        attempt,
                        bytes = body.len(),
                        request_id = id,
                        "judge answered"
                    );
                    return Ok(Reply {
                        body,
                        request_id,
                        attempts: attempt,
                    });
                }
                Ok(Err(failed)) => failed,
                Err(_) => Failed {
                    error: JudgeError::Timeout,
                    again: Again::Yes { wish: None },
                    request_id: None,
                },
            };
            let request_id = failed.request_id.as_deref().unwrap_or_default();
            tracing::debug!(attempt, error = %failed.error, request_id, "judge failed");
            let Again::Yes { wish } = failed.again else {
                return Err(failed.error);
            };
            let left = end.saturating_duration_since(Instant::now());
            match self.bounds.retry.wait(attempt, wish) {
                Some(wait) if wait < left => tokio::time::sleep(wait).await,
                // The server's error says more than a timeout that we would only sleep towards.
                Some(_) | None => return Err(failed.error),
            }
        }
        Err(JudgeError::Timeout)
    }

    async fn once(
        &self,
        request: reqwest::RequestBuilder,
        key: Option<Secret>,
        judge: &impl Fn(u16, &[u8]) -> Verdict,
    ) -> Result<(Vec<u8>, Option<String>), Failed> {
        let mut headers = self.headers.clone();
        if let Some(key) = &key {
            let mut bearer =
                HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_| Failed {
                    error: JudgeError::Config {
                        what: "the key can't stand in a header".to_owned(),
                    },
                    again: Again::No,
                    request_id: None,
                })?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        let response = request
            .headers(headers)
            .send()
            .await
            .map_err(|error| transport(&error))?;
        let status = response.status().as_u16();
        let leaked = |bytes: &[u8]| key.as_ref().is_some_and(|key| key.is_in(bytes));
        let request_id = request_id(response.headers()).filter(|id| !leaked(id.as_bytes()));
        let wish = retry_after(response.headers(), SystemTime::now());
        if (300..400).contains(&status) {
            return Err(Failed {
                error: JudgeError::Redirect { status },
                again: Again::No,
                request_id,
            });
        }
        let body = match read(response, status).await {
            Ok(body) => body,
            // What an error says is a courtesy; that it came counts.
            Err(_) if status >= 400 => Vec::new(),
            Err(failed) => return Err(failed),
        };
        match judge(status, &body) {
            // What the server says is kept in reports and recordings: an echoed key must not be.
            Verdict::Answer if leaked(&body) => Err(Failed {
                error: JudgeError::Protocol {
                    question: None,
                    fault: AnswerFault::Shape,
                },
                again: Again::No,
                request_id,
            }),
            Verdict::Answer => Ok((body, request_id)),
            Verdict::Final(error) => Err(Failed {
                error,
                again: Again::No,
                request_id,
            }),
            Verdict::Transient(error) => Err(Failed {
                error,
                again: Again::Yes { wish },
                request_id,
            }),
        }
    }
}

async fn read(mut response: reqwest::Response, status: u16) -> Result<Vec<u8>, Failed> {
    let most = if status >= 400 {
        ERROR_MAX_BYTES
    } else {
        REPLY_MAX_BYTES
    };
    let too_long = || Failed {
        error: JudgeError::Protocol {
            question: None,
            fault: AnswerFault::Length,
        },
        again: Again::No,
        request_id: None,
    };
    if response.content_length().is_some_and(|n| n > most as u64) {
        return Err(too_long());
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| transport(&error))? {
        if body.len() + chunk.len() > most {
            return Err(too_long());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// rustls reports a failed handshake as invalid data that carries its own error; hyper may wrap
/// that once more.
fn is_handshake(error: &std::io::Error) -> bool {
    let Some(inner) = error.get_ref() else {
        return false;
    };
    error.kind() == std::io::ErrorKind::InvalidData
        || inner
            .downcast_ref::<std::io::Error>()
            .is_some_and(is_handshake)
}

/// Sorts a failure of the transport by type, never by its text.
fn transport(error: &reqwest::Error) -> Failed {
    let mut dns = false;
    let mut tls = false;
    let mut source = error.source();
    while let Some(cause) = source {
        dns |= cause.is::<NameNotFound>();
        tls |= cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(is_handshake);
        source = cause.source();
    }
    let fault = |fault| JudgeError::Transport { fault };
    // A connection that takes too long is first of all none.
    let error = if dns {
        fault(TransportFault::Dns)
    } else if error.is_connect() && tls {
        fault(TransportFault::Tls)
    } else if error.is_connect() {
        fault(TransportFault::Connect)
    } else if error.is_timeout() {
        JudgeError::Timeout
    } else {
        fault(TransportFault::Broken)
    };
    let again = if tls {
        Again::No
    } else {
        Again::Yes { wish: None }
    };
    Failed {
        error,
        again,
        request_id: None,
    }
}

/// The server's id of a request, when it is short and plain enough for a log.
fn request_id(headers: &HeaderMap) -> Option<String> {
    ["x-typesafe-request-id", "x-request-id", "cf-ray"]
        .into_iter()
        .find_map(|name| headers.get(name)?.to_str().ok())
        .and_then(plain_id)
}

/// An id that may be kept: visible ASCII of at most 100 bytes.
pub(crate) fn plain_id(text: &str) -> Option<String> {
    let plain = (1..=100).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    plain.then(|| text.to_owned())
}
