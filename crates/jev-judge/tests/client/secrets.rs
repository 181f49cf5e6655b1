//! A planted key is looked for in everything that is written: errors, their debug forms and their
//! JSON, decisions, recordings, and every log line of this crate and of its libraries.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jev_core::error::JudgeError;
use jev_core::ports::Judge;
use jev_core::question::{Decision, Questionnaire};
use jev_judge::credential::{Credential, Secret};
use jev_judge::recorded::RecordingJudge;
use jev_judge::spec::{BuildOptions, JudgeSpec};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::common::{Reply, Stub, answered, asked, asked_with, bounds, judge_at};

const PLANTED: &str = "sk-planted-5f3c9a-do-not-show";

/// Where all log lines of a test go.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

/// Runs on this thread alone, so that a thread-local subscriber sees every line of every library.
fn logged(test: impl AsyncFnOnce()) -> String {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(test());
    });
    log.text()
}

fn shows_nothing(what: &str, text: &str) {
    // Neither the key nor a recognisable part of it.
    for part in [PLANTED, "planted", "5f3c9a"] {
        assert!(!text.contains(part), "{what} shows the key: {text}");
    }
}

fn check(what: &str, result: &Result<Decision, JudgeError>) {
    shows_nothing(what, &format!("{result:?} {result:#?}"));
    match result {
        Ok(decision) => shows_nothing(what, &serde_json::to_string(decision).unwrap()),
        Err(error) => {
            shows_nothing(what, &format!("{error}"));
            shows_nothing(what, &serde_json::to_string(error).unwrap());
        }
    }
}

fn planted() -> Credential {
    Credential::Given {
        secret: Secret::new(PLANTED).unwrap(),
    }
}

/// Servers that say the key back in every place there is.
fn echoing(place: usize) -> Reply {
    let mut reply = answered();
    let mut headers = vec![("content-type", "application/json".to_owned())];
    let mut status = 200;
    match place {
        0 => reply["model"] = json!(PLANTED),
        1 => reply["note"] = json!({"authorization": format!("Bearer {PLANTED}")}),
        2 => headers.push(("x-typesafe-request-id", PLANTED.to_owned())),
        3 => {
            status = 401;
            reply = json!({"detail": {"error_type": PLANTED, "message": PLANTED}});
        }
        4 => {
            status = 422;
            reply = json!({"detail": [{"loc": ["body"], "msg": "m", "input": PLANTED}]});
        }
        5 => {
            status = 302;
            headers.push(("location", format!("http://127.0.0.1:9/{PLANTED}")));
        }
        6 => {
            status = 500;
            reply = json!(PLANTED);
        }
        _ => reply["answers"]["q"]["choice"] = json!(PLANTED),
    }
    Reply::Http(status, headers, reply.to_string().into_bytes())
}

#[test]
fn no_log_error_or_recording_shows_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let written = logged(async || {
        for place in 0..8 {
            let stub = Stub::start(move |_, _| echoing(place)).await;
            let judge = Arc::new(judge_at(&stub.base, "jev-latest", Some(PLANTED)));
            shows_nothing("the judge itself", &format!("{judge:?} {judge:#?}"));
            let path = folder.path().join(format!("{place}.jsonl"));
            let recording = RecordingJudge::create(&path, judge, planted()).unwrap();
            shows_nothing("the recording judge", &format!("{recording:?}"));
            let result = recording.decide(&asked(), Duration::from_secs(30)).await;
            check(&format!("place {place}"), &result);
            shows_nothing("the cassette", &std::fs::read_to_string(path).unwrap());
            // It did reach the server, in its header and nowhere else.
            for request in stub.received() {
                let bearer = request.header("authorization").map(str::to_owned);
                assert_eq!(bearer, Some(format!("Bearer {PLANTED}")));
                assert_eq!(request.head.matches(PLANTED).count(), 1);
                shows_nothing("the body", &String::from_utf8_lossy(&request.body));
            }
            assert!(!stub.received().is_empty());
        }
    });
    // The libraries did log: the silence about the key is not for want of lines.
    assert!(written.contains("judge answered"), "{written}");
    shows_nothing("the log", &written);
}

async fn refused(judge: &dyn Judge, asked: &Questionnaire) {
    let result = judge.decide(asked, Duration::from_secs(30)).await;
    check("a leak", &result);
    assert_eq!(result, Err(JudgeError::KeyLeak));
}

#[test]
fn a_key_in_the_page_is_never_sent() {
    let written = logged(async || {
        let stub = Stub::start(|_, _| Reply::json(200, &answered())).await;
        let judge = judge_at(&stub.base, "jev-latest", Some(PLANTED));
        let in_text = json!({"text": format!("your key is {PLANTED}.")});
        refused(&judge, &asked_with(in_text, &["a", "b"])).await;
        refused(&judge, &asked_with(json!("text"), &["a", PLANTED])).await;
        assert!(stub.received().is_empty());
    });
    shows_nothing("the log", &written);
}

fn options(env_file: &Path) -> BuildOptions {
    BuildOptions {
        env_file: Some(env_file.to_owned()),
        key_variable: Some("PLANTED_KEY".to_owned()),
        bounds: bounds(),
        ..BuildOptions::default()
    }
}

#[test]
fn a_recording_of_a_chat_model_withholds_a_page_that_shows_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys.env");
    std::fs::write(&keys, format!("PLANTED_KEY={PLANTED}\n")).unwrap();
    let written = logged(async || {
        // The probe's own body is clean, and fails before the page is looked at.
        for (number, status) in [401_u16, 500, 302].into_iter().enumerate() {
            let stub = Stub::start(move |_, _| Reply::json(status, &json!({}))).await;
            let file = folder.path().join(format!("{number}.jsonl"));
            let spec = format!("record:{}=chat:{}#m", file.display(), stub.base);
            let judge = JudgeSpec::parse(&spec)
                .unwrap()
                .build(&options(&keys))
                .unwrap();
            let in_text = json!({"text": format!("your key is {PLANTED}.")});
            let asked = asked_with(in_text, &["a", "b"]);
            let result = judge.decide(&asked, Duration::from_secs(30)).await;
            check("a refusal", &result);
            assert!(result.is_err() && !stub.received().is_empty());
            shows_nothing("the cassette", &std::fs::read_to_string(&file).unwrap());
            let replay = JudgeSpec::parse(&format!("replay:{}", file.display())).unwrap();
            let replay = replay.build(&BuildOptions::default()).unwrap();
            assert_eq!(replay.decide(&asked, Duration::from_secs(30)).await, result);
        }
    });
    shows_nothing("the log", &written);
}

#[test]
fn a_key_that_is_spelled_in_escapes_is_not_kept() {
    let written = logged(async || {
        let stub = Stub::start(|_, _| {
            let body = answered().to_string();
            let spelled = PLANTED.replacen('s', "\\u0073", 1);
            let model = format!("\"model\":\"{spelled}\"");
            let body = body.replacen("\"model\":\"jev-1.13.0\"", &model, 1);
            assert!(body.contains("u0073"), "{body}");
            let headers = vec![("content-type", "application/json".to_owned())];
            Reply::Http(200, headers, body.into_bytes())
        })
        .await;
        let judge = judge_at(&stub.base, "jev-latest", Some(PLANTED));
        let result = judge.decide(&asked(), Duration::from_secs(30)).await;
        check("an echo in escapes", &result);
        assert!(
            matches!(result, Err(JudgeError::Protocol { .. })),
            "{result:?}"
        );
    });
    shows_nothing("the log", &written);
}

#[test]
fn a_key_from_a_file_is_read_at_the_moment_of_the_request() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.env");
    std::fs::write(&file, format!("PLANTED_KEY={PLANTED}\n")).unwrap();
    let written = logged(async || {
        let stub = Stub::start(|_, _| Reply::json(200, &answered())).await;
        let spec = JudgeSpec::parse(&format!("systemone:{}", stub.base)).unwrap();
        let options = options(&file);
        shows_nothing("the options", &format!("{options:?}"));
        let judge = spec.build(&options).unwrap();
        let deadline = Duration::from_secs(30);
        check("a decision", &judge.decide(&asked(), deadline).await);
        // The file changes, and the next request already carries the new key.
        std::fs::write(&file, "PLANTED_KEY=sk-another-key-0123\n").unwrap();
        judge.decide(&asked(), deadline).await.unwrap();
        let keys: Vec<String> = stub
            .received()
            .iter()
            .map(|request| request.header("authorization").unwrap().to_owned())
            .collect();
        let first = format!("Bearer {PLANTED}");
        assert_eq!(keys, [first.as_str(), "Bearer sk-another-key-0123"]);
        // Without the file there is no request.
        std::fs::remove_file(&file).unwrap();
        let gone = judge.decide(&asked(), deadline).await;
        assert!(matches!(gone, Err(JudgeError::Config { .. })), "{gone:?}");
        check("a missing file", &gone);
        assert_eq!(stub.received().len(), 2);
    });
    shows_nothing("the log", &written);
}

#[test]
fn extra_headers_count_as_secret_too() {
    let written = logged(async || {
        let stub = Stub::start(|_, _| Reply::json(200, &answered())).await;
        let spec = JudgeSpec::parse(&format!("systemone:{}", stub.base)).unwrap();
        let options = BuildOptions {
            headers: vec![("x-gateway-token".to_owned(), PLANTED.to_owned())],
            bounds: bounds(),
            ..BuildOptions::default()
        };
        let judge = spec.build(&options).unwrap();
        let result = judge.decide(&asked(), Duration::from_secs(30)).await;
        check("a decision", &result);
        let received = stub.received();
        assert_eq!(received[0].header("x-gateway-token"), Some(PLANTED));
    });
    shows_nothing("the log", &written);
}
