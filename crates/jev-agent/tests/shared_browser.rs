//! A session shared between judge and host in a real Chromium: the judge opens a panel, the host fills
//! a field and presses a reserved button, the judge goes on. What was typed stays with the host.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails its test by a panic"
)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jev_agent::shared_session::{SharedParts, SharedSession, SharedTask, Until, Waited};
use jev_agent::trajectory::{KeepPictures, TraceOptions, Trajectory};
use jev_agent::{CancellationToken, Unobserved};
use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::contract::{Goal, Reach};
use jev_core::digest::sha256;
use jev_core::error::JudgeError;
use jev_core::host::{AccessibleName, Control, Field, FieldRole, HostReceipt, TypedText};
use jev_core::ids::Scope;
use jev_core::policy::{ActionPolicy, Discovery, NameRule};
use jev_core::ports::{CloseOutcome, Judge, JudgeIdentity, OpenRequest};
use jev_core::question::{Decision, Questionnaire};
use jev_core::receipt::AppliedEffect;
use jev_core::redact::Redactor;
use jev_core::snapshot::Role;
use jev_judge::scripted::ScriptedJudge;
use jev_session_cdp::testing::server::{Reply, Server};
use jev_session_cdp::{CdpSessionFactory, SessionOptions};
use jev_verify::VerifierSpec;
use tempfile::TempDir;

const TYPED: &str = "NK 9000 \u{dc}ber & more";
const BOUND: Duration = Duration::from_secs(20);

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/panel-app")
}

async fn serve() -> Server {
    Server::start(|asked| {
        let path = asked.target.split('?').next().unwrap_or("/");
        let name = path.trim_start_matches('/');
        let kind = if name.ends_with(".js") {
            "text/javascript"
        } else {
            "text/html; charset=utf-8"
        };
        match std::fs::read(fixture().join(name)) {
            Ok(body) => Reply::of(kind, body),
            Err(_) => Reply::status(404),
        }
    })
    .await
    .unwrap()
}

/// Keeps every question it is asked.
struct Listening(ScriptedJudge, Mutex<String>);

#[async_trait]
impl Judge for Listening {
    fn identity(&self) -> JudgeIdentity {
        self.0.identity()
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        let asked = format!("{questionnaire:?} {}\n", questionnaire.state);
        self.1.lock().unwrap().push_str(&asked);
        self.0.decide(questionnaire, deadline).await
    }
}

fn task(goal: &str, expect: &str) -> SharedTask {
    SharedTask {
        budget: Duration::from_secs(60),
        ..SharedTask::new(
            Goal::new(goal).unwrap(),
            VerifierSpec::new().expect(expect).build().unwrap(),
        )
    }
}

fn leaks(text: &str) -> bool {
    let text = text.to_lowercase();
    [
        "nk 9000",
        "nk+9000",
        "nk%209000",
        "\u{fc}ber",
        "%c3%9cber",
        "%c3%bcber",
    ]
    .iter()
    .any(|piece| text.contains(piece))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_judge_clicks_the_host_types_and_nobody_else_hears_it() {
    let server = serve().await;
    let origin = server.origin();
    let dir = TempDir::new().unwrap();
    let judge = Arc::new(Listening(
        ScriptedJudge::parse(
            "{\"operation\":\"CLICK\",\"target\":\"Find a kettle\"}\n{\"operation\":\"CLICK\",\"target\":\"Data sheet of [typed]\"}",
        )
        .unwrap(),
        Mutex::default(),
    ));
    let parts = SharedParts {
        factory: Arc::new(CdpSessionFactory::new(SessionOptions::default())),
        judge: Arc::clone(&judge) as Arc<dyn Judge>,
        request: OpenRequest {
            scope: Scope::new("ada", "session", "tab").unwrap(),
            start: CanonicalUrl::parse(&format!("{origin}/index.html")).unwrap(),
            access: AccessList::parse([origin.as_str()]).unwrap(),
            actions: ActionPolicy {
                discover: Discovery::LowRisk,
                reserve: vec![NameRule::Exact("Search".to_owned())],
                ..ActionPolicy::read_only()
            },
            reach: Reach::Document,
        },
        deadline: BOUND,
        price: None,
        redactor: Redactor::new(),
        trajectory: Some(
            Trajectory::create(
                &TraceOptions {
                    pictures: KeepPictures::Yes,
                    ..TraceOptions::new(dir.path())
                },
                Redactor::new(),
            )
            .unwrap(),
        ),
    };
    let mut session = SharedSession::open(parts).await.unwrap();
    let cancel = CancellationToken::new();

    let opened = session
        .run(
            task("Open the search panel", "Search panel"),
            &mut Unobserved,
            &cancel,
        )
        .await
        .unwrap();
    assert_eq!(opened.report.status.name(), "VERIFIED");

    let kept = pictures(dir.path());
    assert!(kept.len() >= 2, "{kept:?}");
    let field = Field {
        role: FieldRole::TextBox,
        name: AccessibleName::new("Model").unwrap(),
    };
    let filled = session
        .fill(&field, &TypedText::new(TYPED).unwrap(), BOUND)
        .await
        .unwrap();
    assert_eq!(filled, HostReceipt::Applied(AppliedEffect::Changed));
    let seen = session.observe(BOUND).await.unwrap().unwrap();
    assert!(
        seen.text.contains(TYPED),
        "the page shows it: {}",
        seen.text
    );
    let button = Control {
        role: Role::Button,
        name: AccessibleName::new("Search").unwrap(),
    };
    let pressed = session.press(&button, BOUND).await.unwrap();
    assert_eq!(pressed, HostReceipt::Applied(AppliedEffect::Navigated));
    let waited = session
        .wait_for(&Until::TextAppears("One kettle found".to_owned()), BOUND)
        .await
        .unwrap();
    assert!(matches!(waited, Waited::Met(_)), "{waited:?}");

    let found = session
        .run(
            task("How large is it?", r"[\d.]+ litres"),
            &mut Unobserved,
            &cancel,
        )
        .await
        .unwrap();
    assert_eq!(found.report.status.name(), "VERIFIED", "{:?}", found.report);
    assert_eq!(found.report.evidence()[0].quote, "1.7 litres");
    let history: Vec<String> = found
        .history
        .iter()
        .map(|entry| serde_json::to_value(entry).unwrap()["operation"].to_string())
        .collect();
    assert_eq!(
        history,
        ["\"CLICK\"", "\"HOST_FILL\"", "\"HOST_PRESS\"", "\"CLICK\""]
    );
    let closed = session.close(Duration::from_secs(3)).await;
    assert_eq!(closed.outcome, CloseOutcome::Clean);
    assert_eq!(closed.network.breaches, 0);

    // The server heard it, for the host sent it there. Nobody else did.
    let sent = server
        .asked()
        .iter()
        .any(|asked| asked.target.contains("model=NK+9000"));
    assert!(sent, "{:?}", server.asked());
    let asked = judge.1.lock().unwrap();
    assert!(asked.contains("[typed]") && !leaks(&asked), "{asked}");
    // Once something was typed no more pictures were taken: they can't be redacted.
    assert_eq!(pictures(dir.path()), kept);
    let files = files(dir.path());
    let mut events = String::new();
    for path in &files {
        let bytes = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!leaks(&text), "{}: {text}", path.display());
        if path.extension().is_some_and(|kind| kind == "jsonl") {
            events.push_str(&text);
        }
    }
    assert_eq!(files.len(), kept.len() + 1, "{files:?}");
    for path in kept {
        let digest = path.file_stem().unwrap().to_str().unwrap();
        assert_eq!(sha256(&std::fs::read(&path).unwrap()), digest);
        assert!(
            events.contains(&format!("\"screenshot\":\"{digest}\"")),
            "{events}"
        );
    }
}

/// Every file under a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn pictures(folder: &Path) -> Vec<PathBuf> {
    let mut found = files(folder);
    found.retain(|path| path.extension().is_some_and(|kind| kind == "png"));
    found
}
