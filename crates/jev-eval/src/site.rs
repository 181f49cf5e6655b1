//! A site on loopback: one folder served by our own static server, with a log of every request.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode};
use jev_core::access::CanonicalUrl;
use percent_encoding::percent_decode_str;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::content_type::content_type;

/// Where distributions keep what their packages share. Links out of a site's folder are followed
/// into it, and nowhere else: Debian replaces scripts and style sheets of a manual with such links.
pub const SHARED: &str = "/usr/share";

/// Largest file that is served, in bytes.
const FILE_MAX_BYTES: u64 = 32 << 20;

/// Most requests that the log keeps. More are still served and counted.
const LOG_MAX: usize = 100_000;

/// How long open connections may take to end when the site is stopped.
const STOP_GRACE: Duration = Duration::from_secs(2);

const INDEX_FILES: [&str; 2] = ["index.html", "index.htm"];

/// Why a site can't be served.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The folder is missing or can't be read.
    #[error("the site's folder {path} can't be read: {error}")]
    Root {
        /// The folder.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// No port on loopback.
    #[error("no port on 127.0.0.1: {0}")]
    Bind(#[source] io::Error),
}

/// One request as the server saw it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Hit {
    /// When, since the site began to serve.
    pub at: Duration,
    /// The method.
    pub method: String,
    /// Path and query as asked for.
    pub target: String,
    /// The status that was answered.
    pub status: u16,
    /// Bytes of the body that was answered.
    pub bytes: u64,
}

#[derive(Debug, Default)]
struct Log {
    hits: Vec<Hit>,
    total: u64,
}

#[derive(Debug)]
struct Folder {
    root: PathBuf,
    /// Canonical folders that a file may lie in once links are followed.
    jail: Vec<PathBuf>,
    began: Instant,
    log: Mutex<Log>,
}

/// A folder served on 127.0.0.1 until it is stopped or dropped.
#[derive(Debug)]
pub struct Site {
    base: CanonicalUrl,
    folder: Arc<Folder>,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<io::Result<()>>,
}

impl Site {
    /// Serves `root` on a free port. Links are followed inside the folder and into [`SHARED`].
    ///
    /// # Errors
    /// [`SiteError`].
    pub async fn serve(root: &Path) -> Result<Self, SiteError> {
        Self::serve_with(root, Path::new(SHARED)).await
    }

    /// As [`Site::serve`], with another folder that links may lead into.
    ///
    /// # Errors
    /// [`SiteError`].
    pub async fn serve_with(root: &Path, shared: &Path) -> Result<Self, SiteError> {
        let unreadable = |error| SiteError::Root {
            path: root.display().to_string(),
            error,
        };
        let root = fs::canonicalize(root).map_err(unreadable)?;
        if !root.is_dir() {
            return Err(unreadable(io::ErrorKind::NotADirectory.into()));
        }
        let mut jail = vec![root.clone()];
        jail.extend(fs::canonicalize(shared));
        let folder = Arc::new(Folder {
            root,
            jail,
            began: Instant::now(),
            log: Mutex::default(),
        });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(SiteError::Bind)?;
        let port = listener.local_addr().map_err(SiteError::Bind)?.port();
        let base = CanonicalUrl::parse(&format!("http://127.0.0.1:{port}/"))
            .map_err(|_| SiteError::Bind(io::ErrorKind::AddrNotAvailable.into()))?;
        let app = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&folder));
        let (stop, stopped) = oneshot::channel::<()>();
        let server = tokio::spawn(async move {
            axum::serve(listener, app)
                .with_graceful_shutdown(async move {
                    // A dropped sender means the same as a message: stop.
                    let _ = stopped.await;
                })
                .await
        });
        Ok(Self {
            base,
            folder,
            stop: Some(stop),
            server,
        })
    }

    /// The address of the folder itself; ends in `/`.
    #[must_use]
    pub fn base(&self) -> &CanonicalUrl {
        &self.base
    }

    /// The address of a page of the site.
    ///
    /// # Errors
    /// A path that makes no address.
    pub fn url(&self, page: &str) -> Result<CanonicalUrl, jev_core::access::AccessError> {
        CanonicalUrl::parse(&format!("{}{page}", self.base))
    }

    /// Every request so far, in order of arrival (the first 100,000).
    #[must_use]
    pub fn hits(&self) -> Vec<Hit> {
        self.folder.log().hits.clone()
    }

    /// How many requests came so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.folder.log().total
    }

    /// Stops listening, lets open answers end within two seconds, then drops what is left.
    pub async fn stop(mut self) {
        if let Some(stop) = self.stop.take() {
            // A server that has ended by itself no longer listens for this.
            let _ = stop.send(());
        }
        if tokio::time::timeout(STOP_GRACE, &mut self.server)
            .await
            .is_err()
        {
            self.server.abort();
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Folder {
    fn log(&self) -> MutexGuard<'_, Log> {
        // The log is only appended to, so a panic elsewhere leaves it sound.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, method: &Method, target: &str, status: StatusCode, bytes: u64) {
        let hit = Hit {
            at: self.began.elapsed(),
            method: method.to_string(),
            target: target.chars().take(2_000).collect(),
            status: status.as_u16(),
            bytes,
        };
        let mut log = self.log();
        log.total += 1;
        if log.hits.len() < LOG_MAX {
            log.hits.push(hit);
        }
    }

    /// The file behind a request path: decoded once, no climbing, links followed inside the jail.
    fn find(&self, path: &str) -> Found {
        let Ok(decoded) = percent_decode_str(path).decode_utf8() else {
            return Found::Nothing;
        };
        if decoded.contains('\0') {
            return Found::Nothing;
        }
        let relative = Path::new(decoded.trim_start_matches('/'));
        let plain = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !plain {
            return Found::Nothing;
        }
        let Some(place) = self.inside(&self.root.join(relative)) else {
            return Found::Nothing;
        };
        if !place.is_dir() {
            // `page.html/` is not `page.html`.
            return match decoded.ends_with('/') {
                true => Found::Nothing,
                false => Found::File(place),
            };
        }
        if !decoded.ends_with('/') && !relative.as_os_str().is_empty() {
            return Found::Folder;
        }
        INDEX_FILES
            .iter()
            .filter_map(|name| self.inside(&place.join(name)))
            .find(|index| index.is_file())
            .map_or(Found::Nothing, Found::File)
    }

    fn inside(&self, path: &Path) -> Option<PathBuf> {
        let real = fs::canonicalize(path).ok()?;
        self.jail
            .iter()
            .any(|folder| real.starts_with(folder))
            .then_some(real)
    }
}

enum Found {
    File(PathBuf),
    /// A folder that was asked for without its last slash.
    Folder,
    Nothing,
}

async fn answer(State(folder): State<Arc<Folder>>, request: Request<Body>) -> Response<Body> {
    let method = request.method().clone();
    let target = request
        .uri()
        .path_and_query()
        .map_or("/", |target| target.as_str())
        .to_owned();
    let path = request.uri().path().to_owned();
    let (response, bytes) = if method == Method::GET || method == Method::HEAD {
        let source = Arc::clone(&folder);
        let work = tokio::task::spawn_blocking(move || read(&source, &path));
        work.await
            .unwrap_or_else(|_| plain(StatusCode::INTERNAL_SERVER_ERROR))
    } else {
        let (mut response, bytes) = plain(StatusCode::METHOD_NOT_ALLOWED);
        response
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        (response, bytes)
    };
    folder.note(&method, &target, response.status(), bytes);
    response
}

fn read(folder: &Folder, path: &str) -> (Response<Body>, u64) {
    match folder.find(path) {
        Found::Nothing => plain(StatusCode::NOT_FOUND),
        Found::Folder => {
            let (mut response, bytes) = plain(StatusCode::MOVED_PERMANENTLY);
            match HeaderValue::from_str(&format!("{path}/")) {
                Ok(target) => {
                    response.headers_mut().insert(LOCATION, target);
                    (response, bytes)
                }
                Err(_) => plain(StatusCode::NOT_FOUND),
            }
        }
        Found::File(file) => match fs::metadata(&file) {
            Ok(meta) if meta.is_file() && meta.len() <= FILE_MAX_BYTES => match fs::read(&file) {
                Ok(body) => {
                    let bytes = body.len() as u64;
                    let kind = content_type(&file, &body);
                    let mut response = Response::new(Body::from(body));
                    let headers = response.headers_mut();
                    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
                    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
                    (response, bytes)
                }
                Err(_) => plain(StatusCode::FORBIDDEN),
            },
            Ok(_) | Err(_) => plain(StatusCode::FORBIDDEN),
        },
    }
}

/// A small page that says the status and nothing of the request.
fn plain(status: StatusCode) -> (Response<Body>, u64) {
    let reason = status.canonical_reason().unwrap_or("Error");
    let code = status.as_u16();
    let body = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>{code} {reason}</title><h1>{code} {reason}</h1>"
    );
    let bytes = body.len() as u64;
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    (response, bytes)
}
