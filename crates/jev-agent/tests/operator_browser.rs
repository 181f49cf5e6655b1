//! What a host's policy lets a judge operate beside links, in a real Chromium: buttons, tabs, switches,
//! menu entries, parts that scroll, keys and reloading, each by the words of a `jev.toml` alone.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails its test by a panic"
)]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jev_agent::config::Config;
use jev_agent::permission::Ruling;
use jev_agent::source::RunContext;
use jev_agent::tool::{AtOnce, Connection, ReadOutcome, ToolCall};
use jev_agent::{CancellationToken, Unobserved};
use jev_core::error::JudgeError;
use jev_core::ports::{Judge, JudgeIdentity, SessionFactory};
use jev_core::question::{Decision, QuestionKind, Questionnaire, Subject};
use jev_core::receipt::{AppliedEffect, Receipt};
use jev_judge::scripted::ScriptedJudge;
use jev_session_cdp::testing::server::{Reply, Server};
use jev_session_cdp::{CdpSessionFactory, SessionOptions};
use serde_json::json;

async fn serve() -> Server {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/panel-app");
    Server::start(move |asked| {
        let name = asked.target.trim_start_matches('/');
        let kind = if name.ends_with(".js") {
            "text/javascript"
        } else {
            "text/html; charset=utf-8"
        };
        match std::fs::read(folder.join(name)) {
            Ok(body) => Reply::of(kind, body),
            Err(_) => Reply::status(404),
        }
    })
    .await
    .unwrap()
}

/// Keeps the names of everything that is offered, question by question.
struct Listening(ScriptedJudge, Mutex<Vec<Vec<String>>>);

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
        let mut offered = Vec::new();
        for question in &questionnaire.questions {
            if let QuestionKind::Choice { options, .. } = &question.kind {
                for option in options {
                    offered.push(match &option.subject {
                        Subject::Candidate { label, .. } => {
                            format!("{label}: {}", option.description)
                        }
                        Subject::Operation(_) | Subject::Opaque => option.name.clone(),
                    });
                }
            }
        }
        self.1.lock().unwrap().push(offered);
        self.0.decide(questionnaire, deadline).await
    }
}

/// Reads the workshop's page with a judge that goes by a script, under these actions and
/// expectations.
async fn operate(
    server: &Server,
    actions: &str,
    expect: &[&str],
    script: &[&str],
) -> (ReadOutcome, Vec<Vec<String>>) {
    let origin = server.origin();
    let expect: Vec<String> = expect.iter().map(|text| format!("'{text}'")).collect();
    let config = format!(
        r#"
        [[source]]
        name = "workshop"
        start = "{origin}/operator.html"
        allow = ["{origin}"]
        expect = [{}]
        [source.actions]
        {actions}
        [read]
        mode = "enforce"
        threshold = 0.8
        budget = "30s"
        limits.steps = 24
        "#,
        expect.join(", ")
    );
    let config = Config::parse(&config, Path::new(".")).unwrap();
    let lines: Vec<String> = script
        .iter()
        .map(|step| match step.split_once(' ') {
            Some((operation, target)) => {
                json!({"operation": operation, "target": target}).to_string()
            }
            None => json!({"operation": step}).to_string(),
        })
        .collect();
    let judge = Arc::new(Listening(
        ScriptedJudge::parse(&lines.join("\n")).unwrap(),
        Mutex::default(),
    ));
    let factory: Arc<dyn SessionFactory> =
        Arc::new(CdpSessionFactory::new(SessionOptions::default()));
    let asked = Arc::clone(&judge) as Arc<dyn Judge>;
    let tools = config.read_tools(&asked, &factory, None).unwrap();
    let outcome = tools[0]
        .read(ToolCall {
            context: Some(&RunContext::new("ada", "session")),
            connection: Connection::Lasting,
            arguments: &json!({"goal": "Operate the workshop"}),
            gate: &Ruling::Allow,
            turns: &AtOnce,
            observer: &mut Unobserved,
            cancel: &CancellationToken::new(),
        })
        .await
        .unwrap();
    let offered = judge.1.lock().unwrap().clone();
    (outcome, offered)
}

const POLICY: &str = r#"
        allow = ["*show*", "*details*", "Twin", "Dark mode"]
        discover = "low_risk"
        deny = ["*delete*"]
        reserve = ["Publish"]
        scroll_areas = ["Reviews", "Double"]
        scroll_pages = 5
        keys = ["Escape", "End"]
        reload = "allowed""#;

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_operates_what_the_host_names_and_nothing_else() {
    let server = serve().await;
    let (outcome, offered) = operate(
        &server,
        POLICY,
        &[
            "Loads: 2",
            "pressed: Show details",
            "the second tab is open",
            "dark mode is on",
            "the list is exported",
            "reviews read to the end",
            "key: Escape",
        ],
        &[
            "RELOAD",
            "CLICK Show details",
            "CLICK Second tab",
            "CLICK Dark mode",
            "CLICK Export list",
            "CLICK Reviews",
            "CLICK Reviews",
            "PRESS_ESCAPE",
        ],
    )
    .await;
    let report = &outcome.report;
    assert_eq!(report.status.name(), "VERIFIED", "{report:#?}");
    let scrolled = report
        .steps
        .iter()
        .filter(|step| step.receipt == Some(Receipt::Applied(AppliedEffect::Scrolled)))
        .count();
    assert!(scrolled >= 1, "{report:#?}");
    let text = &report.page.as_ref().unwrap().text;
    for never in [
        "Delete",
        "Publish",
        "Unnamed",
        "Twin",
        "greyed",
        "terms read",
    ] {
        assert!(!text.contains(&format!("pressed: {never}")), "{text}");
    }
    assert!(!text.contains("terms read"), "{text}");

    let names = |name: &str| -> Vec<String> {
        offered
            .iter()
            .flatten()
            .filter(|option| option.starts_with(name))
            .cloned()
            .collect()
    };
    for wanted in [
        "Show details: ",
        "Second tab: ",
        "Dark mode: ",
        "Export list: ",
        "Reviews: ",
        "press_escape",
        "press_end",
        "reload",
    ] {
        assert!(!names(wanted).is_empty(), "{wanted}: {offered:?}");
    }
    for never in [
        "Delete details",
        "Publish",
        "Unnamed by the host",
        "Twin",
        "Show greyed",
        "Terms",
        "Double",
        "press_enter",
    ] {
        assert!(names(never).is_empty(), "{never}: {:?}", names(never));
    }
    // At first there is one way to scroll; in between there are two.
    let ways = |question: &[String]| {
        let of = |way: &str| {
            question
                .iter()
                .filter(|option| option.starts_with("Reviews: ") && option.contains(way))
                .count()
        };
        (of("(down)"), of("(up)"))
    };
    assert_eq!(ways(&offered[0]), (1, 0), "{:?}", offered[0]);
    let later = ways(offered.last().unwrap());
    assert!(later.1 == 1, "{:?}", offered.last());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_hosts_word_only_links_and_scrolling_are_offered() {
    let server = serve().await;
    let (outcome, offered) = operate(&server, "", &["never there"], &["RELOAD", "BLOCKED"]).await;
    assert!(
        outcome
            .report
            .steps
            .iter()
            .all(|step| step.receipt.is_none())
    );
    for option in offered.iter().flatten() {
        let known = ["scroll_down", "wait", "done", "blocked", "none"];
        assert!(known.contains(&option.as_str()), "{offered:?}");
    }
}
