//! A System One server over any judge of this crate: `POST /v1/systemone` and `GET /v1/models`, on
//! loopback, so that other tools can use a judge that needs no key.
//!
//! `reading` checks requests, `writing` says what is answered; both are pure.

mod reading;
mod writing;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use jev_core::error::JudgeError;
use jev_core::ports::Judge;
use jev_core::question::{Answer, Decision, Questionnaire};

use self::reading::{Asked, Invalid};
use crate::credential::Secret;

/// Largest request body, in bytes.
pub const BODY_MAX_BYTES: usize = 2 * 1024 * 1024;

/// How many requests wait for the judge beside those that it works on; one more is told to come
/// back.
const WAITING_MAX: usize = 64;
/// How long a request may take to arrive whole.
const ARRIVAL: Duration = Duration::from_secs(30);

/// How a server answers.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The key that requests must bring; none asks for none.
    pub key: Option<Secret>,
    /// The longest a request may take, from its arrival to its answer: its turn and all its
    /// questions.
    pub deadline: Duration,
    /// How many requests the judge works on at a time.
    pub at_once: NonZeroUsize,
}

impl Default for ServerConfig {
    /// No key, a minute, and one request more than there are processors.
    fn default() -> Self {
        let processors = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self {
            key: None,
            deadline: Duration::from_secs(60),
            at_once: processors.saturating_add(1),
        }
    }
}

struct Shared {
    judge: Arc<dyn Judge>,
    config: ServerConfig,
    /// One permit a request that may be read and answered.
    places: Semaphore,
    /// One permit a request that the judge works on.
    working: Semaphore,
}

/// The routes, for a host that serves them itself.
pub fn router(judge: Arc<dyn Judge>, config: ServerConfig) -> Router {
    let at_once = config.at_once.get();
    let shared = Arc::new(Shared {
        judge,
        places: Semaphore::new(
            at_once
                .saturating_add(WAITING_MAX)
                .min(Semaphore::MAX_PERMITS),
        ),
        working: Semaphore::new(at_once.min(Semaphore::MAX_PERMITS)),
        config,
    });
    Router::new()
        .route("/v1/systemone", post(decide))
        .route("/v1/models", get(models))
        .fallback(async || Failure::not_found().response())
        .method_not_allowed_fallback(async || {
            let mut failure = Failure::not_found();
            failure.status = StatusCode::METHOD_NOT_ALLOWED;
            failure.response()
        })
        .with_state(shared)
}

/// Serves until `stop` is done.
///
/// # Errors
/// [`JudgeError::Config`] when the listener is not on loopback, and when it breaks.
pub async fn serve(
    listener: TcpListener,
    judge: Arc<dyn Judge>,
    config: ServerConfig,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), JudgeError> {
    let broken = |error: std::io::Error| JudgeError::Config {
        what: format!("the server's socket failed ({})", error.kind()),
    };
    if !listener.local_addr().map_err(broken)?.ip().is_loopback() {
        return Err(JudgeError::Config {
            what: "the judge serves on loopback only; listen on 127.0.0.1".to_owned(),
        });
    }
    axum::serve(listener, router(judge, config))
        .with_graceful_shutdown(stop)
        .await
        .map_err(broken)
}

/// An answer that is none.
struct Failure {
    status: StatusCode,
    detail: Value,
}

impl Failure {
    fn named(status: StatusCode, error_type: &str, message: &str) -> Self {
        Self {
            status,
            detail: json!({"error_type": error_type, "message": message}),
        }
    }

    fn not_found() -> Self {
        Self::named(
            StatusCode::NOT_FOUND,
            "not_found",
            "There is no such route.",
        )
    }

    fn late() -> Self {
        Self::named(
            StatusCode::REQUEST_TIMEOUT,
            "api_usage_error",
            "The request did not arrive in time.",
        )
    }

    fn invalid(faults: &[Invalid]) -> Self {
        Self {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            detail: faults.iter().map(Invalid::json).collect(),
        }
    }

    fn judge(error: &JudgeError) -> Self {
        let (status, error_type) = match error {
            JudgeError::Capability { .. } | JudgeError::InvalidRequest { .. } => {
                (StatusCode::BAD_REQUEST, "api_usage_error")
            }
            JudgeError::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "max_tokens_exceeded"),
            JudgeError::RateLimited => (StatusCode::TOO_MANY_REQUESTS, "rate_limit_error"),
            JudgeError::Timeout | JudgeError::Overloaded { .. } => {
                (StatusCode::SERVICE_UNAVAILABLE, "overloaded_error")
            }
            JudgeError::Config { .. }
            | JudgeError::Auth { .. }
            | JudgeError::NotFound { .. }
            | JudgeError::PaymentRequired
            | JudgeError::Server { .. }
            | JudgeError::Transport { .. }
            | JudgeError::Redirect { .. }
            | JudgeError::Protocol { .. }
            | JudgeError::KeyLeak
            | JudgeError::ScriptExhausted { .. }
            | JudgeError::NotRecorded { .. } => {
                (StatusCode::INTERNAL_SERVER_ERROR, "internal_error")
            }
        };
        // A judge's own configuration is not the caller's business.
        Self::named(
            status,
            error_type,
            "The judge could not answer this request.",
        )
    }

    fn response(&self) -> Response {
        respond(self.status, &json!({"detail": self.detail}))
    }
}

fn respond(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A missing key and a wrong one, told apart as the hosted server does.
fn authorised(config: &ServerConfig, headers: &HeaderMap) -> Result<(), Failure> {
    let Some(key) = &config.key else {
        return Ok(());
    };
    let refused = |status, message| Failure::named(status, "authentication_error", message);
    let given = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "));
    match given {
        None => Err(refused(StatusCode::FORBIDDEN, "A bearer key is needed.")),
        // Digests are compared, so that the time taken tells nothing of the key.
        Some(given) if Sha256::digest(given) == Sha256::digest(key.expose()) => Ok(()),
        Some(_) => Err(refused(StatusCode::UNAUTHORIZED, "The key is wrong.")),
    }
}

async fn models(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    if let Err(failure) = authorised(&shared.config, &headers) {
        return failure.response();
    }
    respond(StatusCode::OK, &writing::models(&shared.judge.identity()))
}

async fn decide(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    match answer(&shared, request).await {
        Ok(body) => respond(StatusCode::OK, &body),
        Err(failure) => failure.response(),
    }
}

async fn answer(shared: &Shared, request: Request) -> Result<Value, Failure> {
    authorised(&shared.config, request.headers())?;
    let busy = || Failure::judge(&JudgeError::Overloaded { status: 503 });
    let _place = shared.places.try_acquire().map_err(|_| busy())?;
    let body = tokio::time::timeout(ARRIVAL, to_bytes(request.into_body(), BODY_MAX_BYTES))
        .await
        .map_err(|_| Failure::late())?
        .map_err(|_| Failure::judge(&JudgeError::TooLarge))?;
    let asked = reading::read(&body).map_err(|faults| Failure::invalid(&faults))?;
    let identity = shared.judge.identity();
    if !writing::serves(&identity, &asked.model) {
        return Err(Failure::named(
            StatusCode::BAD_REQUEST,
            "api_usage_error",
            "The model is not served here; GET /v1/models lists what is.",
        ));
    }
    // However many questions it holds, and however many others stand before it.
    let turn = async {
        let _turn = shared.working.acquire().await.map_err(|_| busy())?;
        ask(shared, &asked)
            .await
            .map_err(|error| Failure::judge(&error))
    };
    let decision = tokio::time::timeout(shared.config.deadline, turn)
        .await
        .map_err(|_| Failure::judge(&JudgeError::Timeout))??;
    writing::reply(&identity, &asked, &decision)
        .ok_or_else(|| Failure::judge(&JudgeError::TooLarge))
}

/// Asks the judge. Questions that have nothing to do with each other are asked apart, so that no
/// answer can hang on another question.
async fn ask(shared: &Shared, asked: &Asked) -> Result<Decision, JudgeError> {
    let deadline = shared.config.deadline;
    if asked.together {
        return shared.judge.decide(&asked.questionnaire, deadline).await;
    }
    let mut all = Decision::default();
    for question in &asked.questionnaire.questions {
        if let Some(certain) = reading::certain(question) {
            all.answers.push(certain);
            continue;
        }
        let alone = Questionnaire {
            questions: vec![question.clone()],
            ..asked.questionnaire.clone()
        };
        let decision = shared.judge.decide(&alone, deadline).await?;
        all.usage.add(decision.usage);
        all.answers.extend(decision.answers);
    }
    Ok(all)
}

/// The probabilities of an answer, in its question's order.
fn distribution(answer: &Answer) -> &[f64] {
    match answer {
        Answer::Choice(choice) => &choice.probabilities,
        Answer::Score { probabilities } => probabilities,
        Answer::Noul { .. } => &[],
    }
}
