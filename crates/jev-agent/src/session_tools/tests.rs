//! Rules of the session tools over pages in memory: one history, owners, limits, idling, permission,
//! bad arguments, and typed text that stays with the agent.

mod rules;
mod stuck;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::contract::Mode;
use jev_core::error::JudgeError;
use jev_core::host::FieldRole;
use jev_core::policy::{ActionPolicy, NameRule};
use jev_core::ports::JudgeIdentity;
use jev_core::question::{Decision, Questionnaire};
use jev_core::redact::Redactor;
use jev_core::snapshot::Role;
use jev_judge::scripted::ScriptedJudge;
use jev_verify::VerifierSpec;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::driver::Unobserved;
use crate::pages::{Page, PageSite};
use crate::permission::PermissionGate;
use crate::source::{Shared, Source};
use crate::tool::{AtOnce, Connection, Effects};
use crate::trajectory::TraceOptions;

/// How long a test waits for what another task does.
const PATIENCE: Duration = Duration::from_secs(60);

const TYPED: &str = "Kettle 9000 b\u{e4}ckerei";

fn site() -> PageSite {
    let page = |path: &str, title: &str, text: &str| {
        Page::new(&format!("http://shop.test/{path}"), title, text).unwrap()
    };
    PageSite::new([
        page("", "Shop", "Welcome.")
            .control(Role::Tab, "Search", "panel")
            .unwrap(),
        page("panel", "Shop", "Search panel. You typed: {Find}")
            .field(FieldRole::SearchBox, "Find")
            .unwrap()
            .field(FieldRole::TextBox, "Card number")
            .unwrap()
            .control(Role::Button, "Go", "results")
            .unwrap()
            .control(Role::Button, "Delete", "results")
            .unwrap(),
        page("results", "Results for {Find}", "One result for {Find}.")
            .link("Warranty of your kettle", "warranty")
            .unwrap(),
        page("warranty", "Warranty", "It lasts 24 months."),
    ])
}

const STORY: &str = "{\"operation\":\"CLICK\",\"target\":\"Search\"}\n{\"operation\":\"CLICK\",\"target\":\"Warranty of your kettle\"}";

/// Keeps every question it is asked, and never answers once its script is over.
struct Listening {
    script: ScriptedJudge,
    heard: Mutex<Vec<String>>,
    answers: usize,
}

impl Listening {
    fn new(script: &str) -> Arc<Self> {
        Arc::new(Self {
            script: ScriptedJudge::parse(script).unwrap(),
            heard: Mutex::default(),
            answers: script.lines().count(),
        })
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

#[async_trait]
impl Judge for Listening {
    fn identity(&self) -> JudgeIdentity {
        self.script.identity()
    }

    async fn decide(
        &self,
        questionnaire: &Questionnaire,
        deadline: Duration,
    ) -> Result<Decision, JudgeError> {
        let number = {
            let mut heard = self.heard.lock().unwrap();
            heard.push(format!("{questionnaire:?} {}", questionnaire.state));
            heard.len()
        };
        if number > self.answers {
            std::future::pending::<()>().await;
        }
        self.script.decide(questionnaire, deadline).await
    }
}

fn settings() -> SessionSettings {
    let exact = |name: &str| NameRule::Exact(name.to_owned());
    SessionSettings {
        tools: Permission::Allowed,
        until: Permission::Allowed,
        navigate: Permission::Allowed,
        fill: vec![exact("Find")],
        press: vec![exact("Go"), exact("Delete")],
        ..SessionSettings::default()
    }
}

/// The tools over a site, and what stands behind them.
struct Bench {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    site: PageSite,
    judge: Arc<Listening>,
}

fn parts(site: &PageSite, judge: &Arc<Listening>, settings: SessionSettings) -> SessionParts {
    let source = Source {
        factory: Arc::new(site.clone()),
        verifier: VerifierSpec::new().expect(r"\d+ months").build().unwrap(),
        start: CanonicalUrl::parse("http://shop.test/").unwrap(),
        access: AccessList::parse(["http://shop.test"]).unwrap(),
        actions: ActionPolicy {
            allow: vec![NameRule::Exact("Search".to_owned())],
            deny: vec![NameRule::Contains("delete".to_owned())],
            reserve: vec![NameRule::Exact("Go".to_owned())],
            ..ActionPolicy::read_only()
        },
    };
    SessionParts {
        price: Some(Price::per_million(1.0, 1.0).unwrap()),
        settings,
        read: ReadSettings {
            mode: Mode::Enforce,
            threshold: Some(0.8),
            ..ReadSettings::default()
        },
        judge: Arc::clone(judge) as Arc<dyn Judge>,
        sources: vec![NamedSource {
            name: "shop".to_owned(),
            effects: Effects::MayAct,
            provider: Arc::new(Shared(source)),
        }],
        tracing: None,
    }
}

fn bench(settings: SessionSettings, tracing: Option<Tracing>) -> Bench {
    let (site, judge) = (site(), Listening::new(STORY));
    let parts = SessionParts {
        tracing,
        ..parts(&site, &judge, settings)
    };
    let tools = session_tools(parts)
        .into_iter()
        .map(|tool| (tool.definition().name.clone(), tool))
        .collect();
    Bench { tools, site, judge }
}

fn client(name: &str) -> RunContext {
    RunContext::new("ada", name)
}

impl Bench {
    /// Returns when the judge has been asked so often.
    async fn until_asked(&self, times: usize) {
        let asked = async {
            while self.judge.heard().len() < times {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, asked)
            .await
            .expect("the judge is asked");
    }

    async fn call_as(
        &self,
        context: &RunContext,
        connection: Connection,
        gate: &dyn PermissionGate,
        cancel: &CancellationToken,
        (name, arguments): (&str, Value),
    ) -> Result<ToolReply, ToolError> {
        let tool = &self.tools[name];
        let reply = tool
            .call(ToolCall {
                context: Some(context),
                connection,
                arguments: &arguments,
                gate,
                turns: &AtOnce,
                observer: &mut Unobserved,
                cancel,
            })
            .await?;
        // Whatever is answered has the published shape.
        let validator = jsonschema::validator_for(&tool.definition().output).unwrap();
        let fault = validator.validate(&reply.structured).err();
        assert!(fault.is_none(), "{name}: {fault:?}: {}", reply.structured);
        Ok(reply)
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<ToolReply, ToolError> {
        self.call_as(
            &client("one"),
            Connection::Lasting,
            &Ruling::Allow,
            &CancellationToken::new(),
            (name, arguments),
        )
        .await
    }

    async fn open(&self) -> String {
        let reply = self.call("session_open", json!({})).await.unwrap();
        reply.structured["session"].as_str().unwrap().to_owned()
    }

    fn open_now(&self) -> usize {
        self.site.counts().opened() - self.site.counts().closed()
    }
}

/// Whatever a spelling of the typed text would leave behind.
fn leaks(text: &str) -> bool {
    let text = text.to_lowercase();
    ["9000", "b\u{e4}ckerei", "b%c3%a4ckerei"]
        .iter()
        .any(|piece| text.contains(piece))
}

#[tokio::test]
async fn a_task_in_two_parts_has_one_history_and_the_typed_text_stays_with_the_agent() {
    let folder = TempDir::new().unwrap();
    let bench = bench(
        settings(),
        Some(Tracing {
            options: TraceOptions::new(folder.path()),
            redactor: Redactor::new(),
        }),
    );
    let id = bench.open().await;
    let with = |mut arguments: Value| {
        arguments["session"] = json!(id);
        arguments
    };
    let opened = bench
        .call(
            "session_run",
            with(json!({"goal": "Open the search panel", "until": "Search panel"})),
        )
        .await
        .unwrap();
    assert_eq!(opened.structured["status"], "VERIFIED", "{opened:?}");
    assert_eq!(opened.structured["handoff"], "none");
    let filled = bench
        .call(
            "session_fill",
            with(json!({"role": "search_box", "name": "Find", "text": TYPED})),
        )
        .await
        .unwrap();
    assert_eq!(filled.structured["receipt"], "APPLIED", "{filled:?}");
    // The agent typed it, and sees its own page.
    assert!(leaks(filled.structured["visibleText"].as_str().unwrap()));
    let pressed = bench
        .call("session_press", with(json!({"name": "Go"})))
        .await
        .unwrap();
    assert_eq!(pressed.structured["receipt"], "APPLIED", "{pressed:?}");
    let waited = bench
        .call("session_wait", with(json!({"textAppears": "One result"})))
        .await
        .unwrap();
    assert_eq!(waited.structured["outcome"], "MET");
    let found = bench
        .call(
            "session_run",
            with(json!({"goal": "How long does it last?"})),
        )
        .await
        .unwrap();
    assert_eq!(found.structured["evidence"][0]["quote"], "24 months");
    let told = bench.call("session_status", with(json!({}))).await.unwrap();
    let operations: Vec<&str> = told.structured["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["operation"].as_str().unwrap())
        .collect();
    assert_eq!(operations, ["CLICK", "HOST_FILL", "HOST_PRESS", "CLICK"]);
    assert_eq!(found.structured["history"], told.structured["history"]);
    assert_eq!(told.structured["metrics"]["runs"], 2);
    assert_eq!(told.structured["metrics"]["cost"], 0.0);
    assert_eq!(told.structured["metrics"]["ownActs"], 2);
    assert_eq!(told.structured["metrics"]["handoffs"]["none"], 2);
    let closed = bench.call("session_close", with(json!({}))).await.unwrap();
    assert_eq!(closed.structured["closed"], "clean");
    assert_eq!(bench.open_now(), 0);

    let heard = bench.judge.heard();
    assert_eq!(heard.len(), 2);
    assert!(!leaks(&heard.concat()), "{heard:?}");
    let trace = found.trace.unwrap();
    let mut files = 0;
    for entry in std::fs::read_dir(&trace).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!leaks(&text), "{text}");
        files += 1;
    }
    assert_eq!(files, 1);
}

#[tokio::test]
async fn a_run_that_was_cancelled_is_taken_up_again_with_its_history() {
    let bench = bench(settings(), None);
    let id = bench.open().await;
    let run = |goal: &str, until: &str| json!({"session": id, "goal": goal, "until": until});
    let first = ("session_run", run("Open the search panel", "Search panel"));
    bench.call(first.0, first.1).await.unwrap();
    // Its judge never answers what comes between; the client gives up.
    let cancel = CancellationToken::new();
    let (context, second) = (client("one"), run("Something else", "never there"));
    let page = json!({"session": id, "url": "http://shop.test/results"});
    bench.call("session_navigate", page).await.unwrap();
    let given_up = bench.call_as(
        &context,
        Connection::Lasting,
        &Ruling::Allow,
        &cancel,
        ("session_run", second),
    );
    let stop = async {
        bench.until_asked(3).await;
        cancel.cancel();
    };
    let (back, ()) = tokio::join!(given_up, stop);
    let back = back.unwrap();
    assert_eq!(back.structured["status"], "CANCELLED", "{back:?}");
    assert_eq!(back.structured["handoff"], "cancelled");
    let history = &back.structured["history"];
    assert_eq!(history.as_array().unwrap().len(), 3, "{history}");
    let told = bench
        .call("session_status", json!({"session": id}))
        .await
        .unwrap();
    assert_eq!(told.structured["history"], *history);
    assert_eq!(told.structured["metrics"]["handoffs"]["cancelled"], 1);
}
