//! Streamable HTTP: the SDK's service behind checks of our own. A request without the right bearer
//! value, of another origin, too long or no JSON-RPC is answered here, typed.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use http_body::Body as _;
use jev_core::digest::digest;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcError};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::Server;
use super::handler::{Alive, Client, RequestGone, SESSION_HEADER};
use super::lines::{MESSAGE_MAX_BYTES, parse};
use super::streams::{Asked, Line, Open, Streams};

/// The path under which the server answers.
const PATH: &str = "/mcp";

/// The fewest characters of a bearer value.
pub const TOKEN_MIN_CHARS: usize = 24;

/// Most clients that are connected at once. One that would be more takes the place of one that has
/// left, or is refused.
const CLIENTS_MAX: usize = 64;

/// How much of a body that is too long is read, in bytes, before its sender is cut off.
const SKIPPED_MAX_BYTES: usize = 64 << 20;

/// How long a client over HTTP may say nothing before it is forgotten. It then has to begin anew,
/// which not every client does by itself, so this is long.
const IDLE_MAX: Duration = Duration::from_secs(60 * 60);

/// How long a request's body may take to arrive.
const BODY_PATIENCE: Duration = Duration::from_secs(10);

/// A bearer value that can't be used. The value itself is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a bearer token has at least {TOKEN_MIN_CHARS} visible ASCII characters and no blanks")]
pub struct BearerError;

/// A bearer value, kept as a digest alone.
#[derive(Clone)]
pub struct Bearer(String);

impl Bearer {
    /// Takes a value; white space around it is dropped.
    ///
    /// # Errors
    /// [`BearerError`].
    pub fn new(text: &str) -> Result<Self, BearerError> {
        let text = text.trim();
        if text.len() >= TOKEN_MIN_CHARS && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(digest(text)))
        } else {
            Err(BearerError)
        }
    }

    /// Digests are compared, so the time that takes says nothing of the value.
    fn fits(&self, headers: &HeaderMap) -> bool {
        headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .is_some_and(|(_, value)| digest(value.trim()) == self.0)
    }
}

impl std::fmt::Debug for Bearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bearer([redacted])")
    }
}

/// Who may connect.
#[derive(Clone, Debug, Default)]
pub struct HttpOptions {
    /// What every request must carry; none: nothing, which is for loopback alone.
    pub bearer: Option<Bearer>,
    /// Names under which clients may address the server, beside loopback's and the listener's own.
    pub hosts: Vec<String>,
}

#[derive(Clone)]
struct Door {
    server: Arc<Server>,
    streams: Streams,
    bearer: Option<Bearer>,
    sessions: Arc<LocalSessionManager>,
}

impl Server {
    /// Serves clients over HTTP at `/mcp` of a listener until `stop` is cancelled. Whether the
    /// listener's address may be listened on without a bearer value is for the caller to decide.
    ///
    /// A call whose connection is given up is cancelled: there is nobody left to give its result
    /// to, for results are not kept.
    ///
    /// # Errors
    /// What the listener says.
    pub async fn serve_http(
        self: &Arc<Self>,
        listener: TcpListener,
        options: HttpOptions,
        stop: CancellationToken,
    ) -> std::io::Result<()> {
        let address = listener.local_addr()?;
        let sessions = Arc::new(session_manager());
        let config = config(address, &options, &stop);
        let server = Arc::clone(self);
        let clients = stop.clone();
        let (alive, lasting) = Alive::new();
        let service = StreamableHttpService::new(
            move || {
                let gone = clients.child_token();
                Ok(Client::new(Arc::clone(&server), gone, alive.clone()))
            },
            Arc::clone(&sessions),
            config,
        );
        let door = Door {
            server: Arc::clone(self),
            streams: Streams::default(),
            bearer: options.bearer,
            sessions,
        };
        let app = Router::new()
            .route_service(PATH, service)
            .layer(from_fn_with_state(door, pass));
        let served = axum::serve(listener, app)
            .with_graceful_shutdown(stop.cancelled_owned())
            .await;
        // Their streams have ended; their browsers may still be closing.
        lasting.over().await;
        for tool in &self.tools {
            tool.server_gone().await;
        }
        served
    }
}

/// Streams are not resumed: without a priming event no client waits to take one up again.
fn session_manager() -> LocalSessionManager {
    let mut config = SessionConfig::default();
    config.sse_retry = None;
    config.keep_alive = Some(IDLE_MAX);
    let mut manager = LocalSessionManager::default();
    manager.session_config = config;
    manager
}

fn config(
    address: SocketAddr,
    options: &HttpOptions,
    stop: &CancellationToken,
) -> StreamableHttpServerConfig {
    let own = [
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ];
    let hosts = own
        .into_iter()
        .chain((!address.ip().is_unspecified()).then(|| address.ip().to_string()))
        .chain(options.hosts.iter().cloned());
    let mut config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts)
        // Programs send no Origin; a page in some browser does, and has no business here.
        .enforce_origin_validation()
        .with_max_request_body_bytes(MESSAGE_MAX_BYTES)
        .with_sse_retry(None)
        .with_cancellation_token(stop.clone());
    config.legacy_session_mode = true;
    config
}

/// The checks before the SDK sees a request, and the watch on its answer.
async fn pass(State(door): State<Door>, request: Request, next: Next) -> Response<Body> {
    if let Some(bearer) = &door.bearer
        && !bearer.fits(request.headers())
    {
        let mut response = refuse(
            StatusCode::UNAUTHORIZED,
            JsonRpcError::new(
                None,
                ErrorData::invalid_request("a bearer token is required", None),
            ),
        );
        response
            .headers_mut()
            .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return response;
    }
    let deletes = *request.method() == Method::DELETE;
    let line = line(&door, request.headers()).await;
    if *request.method() != Method::POST {
        let listens = *request.method() == Method::GET;
        let mut response = next.run(request).await;
        if let (true, true, Some(line)) = (listens, response.status().is_success(), line) {
            let open = Open::new(line, Arc::clone(&door.server), Arc::clone(&door.sessions));
            return response.map(|inner| {
                Body::new(Watched {
                    inner,
                    _guard: open,
                })
            });
        }
        // The end of a session is done, not accepted for later; some clients insist on the word.
        if deletes && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        return response;
    }
    let (mut parts, body) = request.into_parts();
    let Ok(Ok(bytes)) = tokio::time::timeout(BODY_PATIENCE, read(body)).await else {
        let text =
            format!("message too long, or it never ended: at most {MESSAGE_MAX_BYTES} bytes");
        let error = JsonRpcError::new(None, ErrorData::invalid_request(text, None));
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, error);
    };
    let message = match parse(&bytes) {
        Ok(message) => message,
        Err(fault) => {
            let fault = fault.unwrap_or_else(|| {
                let error = ErrorData::invalid_request("not a request", None);
                Box::new(JsonRpcError::new(None, error))
            });
            return refuse(StatusCode::BAD_REQUEST, *fault);
        }
    };
    let begins = begins(&message);
    if begins && !door.streams.make_room(&door.sessions, CLIENTS_MAX).await {
        let error = ErrorData::invalid_request("too many clients are connected", None);
        return refuse(
            StatusCode::SERVICE_UNAVAILABLE,
            JsonRpcError::new(None, error),
        );
    }
    let gone = CancellationToken::new();
    let guard = gone.clone().drop_guard();
    parts.extensions.insert(RequestGone(gone));
    let asked = line.clone().map(Asked::new);
    if let Some(line) = line {
        parts.extensions.insert(line);
    }
    let response = next
        .run(Request::from_parts(parts, Body::from(bytes)))
        .await;
    if begins
        && let Some(name) = response.headers().get(SESSION_HEADER)
        && let Ok(name) = name.to_str()
    {
        // Known from its first moment on.
        door.streams.line(name);
    }
    response.map(|inner| {
        Body::new(Watched {
            inner,
            _guard: (guard, asked),
        })
    })
}

/// The client of a connection that lasts, where the request names one that is there.
async fn line(door: &Door, headers: &HeaderMap) -> Option<Arc<Line>> {
    let name = headers.get(SESSION_HEADER)?.to_str().ok()?;
    let known = door.sessions.sessions.read().await;
    known
        .keys()
        .any(|id| id.as_ref() == name)
        .then(|| door.streams.line(name))
}

/// A body that is no message.
struct NoMessage;

/// Reads a body. One that is too long is read to its end all the same, within bounds, so that its
/// sender is there to hear the refusal; nothing of it is kept.
async fn read(mut body: Body) -> Result<Bytes, NoMessage> {
    let mut kept = Vec::new();
    let mut seen = 0;
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(data) = frame.map_err(|_| NoMessage)?.into_data() else {
            continue;
        };
        seen += data.len();
        if seen <= MESSAGE_MAX_BYTES {
            kept.extend_from_slice(&data);
        } else if seen <= SKIPPED_MAX_BYTES {
            kept = Vec::new();
        } else {
            return Err(NoMessage);
        }
    }
    if seen > MESSAGE_MAX_BYTES {
        return Err(NoMessage);
    }
    Ok(Bytes::from(kept))
}

/// Whether a message makes a connection that lasts.
fn begins(message: &ClientJsonRpcMessage) -> bool {
    matches!(
        message,
        ClientJsonRpcMessage::Request(request)
            if matches!(request.request, ClientRequest::InitializeRequest(_))
    )
}

fn refuse(status: StatusCode, error: JsonRpcError) -> Response<Body> {
    let body = serde_json::to_vec(&error).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A body that tells when it is dropped: read to its end, or given up.
struct Watched<G> {
    inner: Body,
    _guard: G,
}

impl<G: Unpin> http_body::Body for Watched<G> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.inner).poll_frame(context)
    }
}
