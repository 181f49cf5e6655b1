//! A raw HTTP server on loopback that does whatever a test wants, and questions to ask it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jev_core::question::{ChoiceOption, Question, QuestionKind, Questionnaire, Stage, Subject};
use jev_judge::client::Bounds;
use jev_judge::credential::{Credential, Secret};
use jev_judge::endpoint::Endpoint;
use jev_judge::provider::HttpJudge;
use jev_judge::provider::compatible::Compatible;
use jev_judge::retry::RetryPolicy;
use jev_judge::wire::Capabilities;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// Request line and headers.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// What the server does with a request.
pub(crate) enum Reply {
    /// A whole response.
    Http(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// These bytes, then the connection is closed.
    Bytes(Vec<u8>),
    /// These bytes, then silence with the connection open.
    Hang(Vec<u8>),
    /// These bytes, and then more of the same for ever.
    Endless(Vec<u8>),
}

impl Reply {
    pub(crate) fn json(status: u16, value: &Value) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self::Http(status, headers, value.to_string().into_bytes())
    }
}

/// A server on loopback; ends when dropped.
pub(crate) struct Stub {
    pub(crate) base: String,
    received: Arc<Mutex<Vec<Received>>>,
    task: JoinHandle<()>,
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Stub {
    /// Starts a server; `answer` gets the number of the request, from 0, and the request.
    pub(crate) async fn start(
        answer: impl Fn(usize, &Received) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let answer = Arc::new(answer);
        let log = Arc::clone(&received);
        let task = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    return;
                };
                tokio::spawn(serve(stream, Arc::clone(&answer), Arc::clone(&log)));
            }
        });
        Self {
            base,
            received,
            task,
        }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    answer: Arc<impl Fn(usize, &Received) -> Reply>,
    log: Arc<Mutex<Vec<Received>>>,
) {
    let Some(request) = read_request(&mut stream).await else {
        return;
    };
    let number = {
        let mut log = log.lock().unwrap();
        log.push(request.clone());
        log.len() - 1
    };
    // A client that gives up closes the connection: writing then fails, and that is all.
    match answer(number, &request) {
        Reply::Http(status, headers, body) => {
            let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
            let _ = stream.write_all(head.as_bytes()).await;
            let _ = stream.write_all(&body).await;
            let _ = stream.shutdown().await;
        }
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Reply::Hang(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
        Reply::Endless(bytes) => while stream.write_all(&bytes).await.is_ok() {},
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break at + 4;
        }
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).await.ok().filter(|n| *n > 0)?;
        bytes.extend_from_slice(&chunk[..read]);
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let mut request = Received {
        head,
        body: bytes[end..].to_vec(),
    };
    let length: usize = match request.header("content-length") {
        Some(length) => length.parse().ok()?,
        None => 0,
    };
    while request.body.len() < length {
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).await.ok().filter(|n| *n > 0)?;
        request.body.extend_from_slice(&chunk[..read]);
    }
    Some(request)
}

/// Two options, `a` and `b`.
pub(crate) fn asked() -> Questionnaire {
    asked_with(json!({"text": "page text"}), &["a", "b"])
}

pub(crate) fn asked_with(state: Value, names: &[&str]) -> Questionnaire {
    let options = names.iter().map(|name| ChoiceOption {
        name: (*name).to_owned(),
        description: format!("option {name}"),
        subject: Subject::Opaque,
    });
    Questionnaire {
        stage: Stage::Decide,
        goal: "goal".to_owned(),
        state,
        questions: vec![Question {
            id: "q".to_owned(),
            kind: QuestionKind::Choice {
                instructions: "Which?".to_owned(),
                options: options.collect(),
            },
        }],
    }
}

/// A faultless reply to [`asked`].
pub(crate) fn answered() -> Value {
    json!({
        "model": "jev-1.13.0",
        "answers": {"q": {
            "type": "choice", "choice": "a",
            "probabilities": {"b": 0.1, "a": 0.9}, "confidence": 0.8,
        }},
        "usage": {"input_tokens": 20, "output_tokens": 3},
    })
}

/// Short bounds, so that waiting for the end of a try does not take long.
pub(crate) fn bounds() -> Bounds {
    Bounds {
        connect: Duration::from_secs(5),
        attempt: Duration::from_secs(5),
        retry: RetryPolicy {
            base: Duration::from_millis(1),
            ..RetryPolicy::default()
        },
    }
}

pub(crate) fn judge_at(base: &str, model: &str, key: Option<&str>) -> HttpJudge<Compatible> {
    judge_within(base, model, key, bounds())
}

pub(crate) fn judge_within(
    base: &str,
    model: &str,
    key: Option<&str>,
    bounds: Bounds,
) -> HttpJudge<Compatible> {
    let credential = match key {
        Some(key) => Credential::Given {
            secret: Secret::new(key).expect("a key"),
        },
        None => Credential::None,
    };
    let endpoint = Endpoint::parse(base).unwrap().with_tail("systemone");
    let provider = Compatible::new(model, Capabilities::default()).unwrap();
    HttpJudge::new(provider, endpoint, credential, &[], bounds).unwrap()
}
