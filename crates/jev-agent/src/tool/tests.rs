//! What `read_browser` does and refuses, with in-memory doubles.

use std::sync::atomic::Ordering;

use jev_core::contract::Mode;
use jev_core::telemetry::Price;
use serde_json::json;

use super::*;
use crate::driver::Unobserved;
use crate::source::{Bound, NoSource, Shared};
use crate::testing::{GOAL as QUESTION, POLICY, POLICY_TEXT, World};

fn settings(mode: Mode) -> ReadSettings {
    ReadSettings {
        mode,
        threshold: Some(0.8),
        ..ReadSettings::default()
    }
}

fn tool(world: &World, mode: Mode) -> ReadBrowser {
    with_sources(world, mode, Arc::new(Shared(world.source())))
}

fn with_sources(world: &World, mode: Mode, sources: Arc<dyn SourceProvider>) -> ReadBrowser {
    ReadBrowser::new(
        ToolDefinition::read_browser(Naming::Single, None, Effects::ReadsOnly),
        sources,
        world.judge(),
        settings(mode),
    )
}

async fn call(
    tool: &ReadBrowser,
    context: Option<&RunContext>,
    arguments: Value,
    gate: &dyn PermissionGate,
) -> Result<ToolReply, ToolError> {
    tool.call(ToolCall {
        context,
        connection: Connection::Lasting,
        arguments: &arguments,
        gate,
        turns: &AtOnce,
        observer: &mut Unobserved,
        cancel: &CancellationToken::new(),
    })
    .await
}

fn ada() -> RunContext {
    RunContext::new("ada", "s1")
}

#[tokio::test]
async fn a_goal_is_answered_with_evidence_and_the_session_closed() {
    let world = World::default();
    let tool = tool(&world, Mode::Enforce);
    let reply = call(
        &tool,
        Some(&ada()),
        json!({"goal": QUESTION}),
        &Ruling::Allow,
    )
    .await
    .unwrap();
    assert!(reply.note.starts_with("VERIFIED: "), "{}", reply.note);
    let result = &reply.structured;
    assert_eq!(result["status"], "VERIFIED");
    assert_eq!(result["url"], POLICY);
    assert_eq!(result["evidence"][0]["quote"], "24 months");
    assert_eq!(result["visibleText"], format!("{UNTRUSTED}\n{POLICY_TEXT}"));
    let keys: Vec<&String> = result.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["status", "url", "version", "visibleText", "evidence"]
    );
    assert_eq!(world.counts.opened.load(Ordering::SeqCst), 1);
    assert_eq!(world.counts.closed.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn off_and_shadow_tell_the_agent_the_same() {
    let mut replies = Vec::new();
    for (mode, judged) in [(Mode::Off, 0), (Mode::Shadow, 1)] {
        let world = World::default();
        let tool = tool(&world, mode);
        replies.push(
            call(
                &tool,
                Some(&ada()),
                json!({"goal": QUESTION}),
                &Ruling::Allow,
            )
            .await,
        );
        assert_eq!(world.counts.judged.load(Ordering::SeqCst), judged);
        assert_eq!(world.counts.clicks.load(Ordering::SeqCst), 0);
    }
    assert_eq!(replies[0], replies[1]);
    assert_eq!(
        replies[0].as_ref().unwrap().structured["status"],
        "OBSERVED"
    );
}

/// A gate that asks, and is answered so.
struct Asks(Consent);

#[async_trait]
impl PermissionGate for Asks {
    async fn rule(&self, _request: &PermissionRequest<'_>) -> Ruling {
        Ruling::Ask
    }

    async fn ask(&self, request: &PermissionRequest<'_>) -> Consent {
        assert_eq!(request.goal, Some(QUESTION));
        self.0.clone()
    }
}

type Case<'a> = (
    &'a ReadBrowser,
    &'a Option<RunContext>,
    Value,
    &'a dyn PermissionGate,
    &'a str,
);

#[tokio::test]
async fn whatever_is_missing_is_typed_and_touches_nothing() {
    let world = World::default();
    let tool = tool(&world, Mode::Enforce);
    let goal = json!({"goal": QUESTION});
    let deny = Ruling::Deny {
        reason: "closed on Sundays".to_owned(),
    };
    let none = with_sources(&world, Mode::Enforce, Arc::new(NoSource));
    let bound = with_sources(
        &world,
        Mode::Enforce,
        Arc::new(Bound {
            context: RunContext::new("bob", "s1"),
            source: world.source(),
        }),
    );
    let context = Some(ada());
    let blank = Some(RunContext::new("ada", " "));
    let allow = Ruling::Allow;
    let (no, nobody) = (Asks(Consent::Refused), Asks(Consent::Unavailable));
    let cases: [Case<'_>; 16] = [
        (
            &none,
            &context,
            goal.clone(),
            &allow,
            "BROWSER_SOURCE_REQUIRED",
        ),
        (
            &bound,
            &context,
            goal.clone(),
            &allow,
            "BROWSER_SOURCE_REQUIRED",
        ),
        (
            &tool,
            &None,
            goal.clone(),
            &allow,
            "BROWSER_SCOPE_AND_GOAL_REQUIRED",
        ),
        (
            &tool,
            &blank,
            goal.clone(),
            &allow,
            "BROWSER_SCOPE_AND_GOAL_REQUIRED",
        ),
        (
            &tool,
            &context,
            json!({}),
            &allow,
            "BROWSER_SCOPE_AND_GOAL_REQUIRED",
        ),
        (
            &tool,
            &context,
            json!({"goal": 7}),
            &allow,
            "BROWSER_SCOPE_AND_GOAL_REQUIRED",
        ),
        (
            &tool,
            &context,
            json!({"goal": " \n"}),
            &allow,
            "BROWSER_SCOPE_AND_GOAL_REQUIRED",
        ),
        (
            &tool,
            &context,
            json!({"goal": "a".repeat(8_001)}),
            &allow,
            "BROWSER_SCOPE_AND_GOAL_REQUIRED",
        ),
        (
            &tool,
            &context,
            json!({"goal": QUESTION, "url": "http://evil/"}),
            &allow,
            "BROWSER_ARGUMENTS_INVALID",
        ),
        (
            &tool,
            &context,
            json!([QUESTION]),
            &allow,
            "BROWSER_ARGUMENTS_INVALID",
        ),
        (
            &tool,
            &context,
            Value::Null,
            &allow,
            "BROWSER_ARGUMENTS_INVALID",
        ),
        (
            &tool,
            &context,
            goal.clone(),
            &deny,
            "BROWSER_PERMISSION_DENIED",
        ),
        (
            &none,
            &None,
            json!({"x": 1}),
            &deny,
            "BROWSER_PERMISSION_DENIED",
        ),
        (
            &tool,
            &context,
            goal.clone(),
            &no,
            "BROWSER_PERMISSION_NOT_GIVEN",
        ),
        (
            &tool,
            &context,
            goal.clone(),
            &nobody,
            "BROWSER_PERMISSION_NOT_GIVEN",
        ),
        (
            &tool,
            &context,
            goal.clone(),
            &Ruling::Ask,
            "BROWSER_PERMISSION_NOT_GIVEN",
        ),
    ];
    for (tool, context, arguments, gate, code) in cases {
        let error = call(tool, context.as_ref(), arguments.clone(), gate).await;
        let error = error.unwrap_err();
        assert_eq!(error.code(), code, "{arguments}: {error}");
        assert!(error.line().starts_with(&format!("{code}: ")));
        assert!(ToolError::CODES.contains(&code));
    }
    assert_eq!(world.counts.opened.load(Ordering::SeqCst), 0);
    assert_eq!(world.counts.judged.load(Ordering::SeqCst), 0);
    let yes = Asks(Consent::Given);
    assert!(call(&tool, context.as_ref(), goal, &yes).await.is_ok());
}

/// A gate that asks, and is never answered.
struct NoAnswer(tokio::sync::Notify);

#[async_trait]
impl PermissionGate for NoAnswer {
    async fn rule(&self, _request: &PermissionRequest<'_>) -> Ruling {
        Ruling::Ask
    }

    async fn ask(&self, _request: &PermissionRequest<'_>) -> Consent {
        self.0.notify_one();
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_call_that_waits_for_consent_can_be_cancelled() {
    let world = World::default();
    let tool = tool(&world, Mode::Enforce);
    let (gate, cancel) = (
        NoAnswer(tokio::sync::Notify::new()),
        CancellationToken::new(),
    );
    let (context, arguments) = (ada(), json!({"goal": QUESTION}));
    let mut nobody = Unobserved;
    let calling = tool.call(ToolCall {
        context: Some(&context),
        connection: Connection::Lasting,
        arguments: &arguments,
        gate: &gate,
        turns: &AtOnce,
        observer: &mut nobody,
        cancel: &cancel,
    });
    let cancelling = async {
        gate.0.notified().await;
        cancel.cancel();
    };
    let (reply, ()) = tokio::join!(calling, cancelling);
    assert_eq!(reply, Err(ToolError::Cancelled));
    assert_eq!(world.counts.opened.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn overrides_make_a_call_stricter_and_never_wider() {
    let world = World::default();
    let overridden = |text: Value| tool(&world, Mode::Enforce).narrowed(&Overrides::parse(&text)?);
    let off = overridden(json!({"mode": "off", "text_chars": 200, "reach": "viewport"})).unwrap();
    let goal = json!({"goal": QUESTION});
    let reply = call(&off, Some(&ada()), goal, &Ruling::Allow)
        .await
        .unwrap();
    assert_eq!(reply.structured["status"], "OBSERVED");
    assert_eq!(world.counts.judged.load(Ordering::SeqCst), 0);
    let fault = |text: Value| overridden(text).err().unwrap().to_string();
    assert!(fault(json!({"budget": "29s"})).contains("budget"));
    assert!(fault(json!({"start": "http://other/"})).contains("start"));
    let narrow = tool(&world, Mode::Enforce)
        .narrowed(&Overrides::parse(&json!({"reach": "viewport"})).unwrap())
        .unwrap();
    let wider = narrow.narrowed(&Overrides::parse(&json!({"reach": "document"})).unwrap());
    assert!(matches!(wider.err(), Some(ConfigError::Wider { key }) if key == "reach"));
}

#[tokio::test]
async fn what_the_tokens_cost_is_told_to_the_host_where_a_price_is_set() {
    let world = World::default();
    let context = ada();
    let arguments = json!({"goal": QUESTION});
    for price in [None, Some(Price::per_million(2.0, 3.0).unwrap())] {
        let tool = tool(&world, Mode::Enforce);
        let tool = match price {
            Some(price) => tool.priced(price),
            None => tool,
        };
        let outcome = tool
            .read(ToolCall {
                context: Some(&context),
                connection: Connection::Lasting,
                arguments: &arguments,
                gate: &Ruling::Allow,
                turns: &AtOnce,
                observer: &mut Unobserved,
                cancel: &CancellationToken::new(),
            })
            .await
            .unwrap();
        let expected = price.map(|price| price.of(outcome.report.spent.usage));
        assert_eq!(outcome.cost, expected);
    }
}

#[tokio::test]
async fn a_traced_call_leaves_a_trajectory_and_a_folder_that_fails_changes_nothing() {
    let world = World::default();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for (place, written) in [(folder.path().to_owned(), true), (file, false)] {
        let tool = tool(&world, Mode::Enforce).traced(Tracing {
            options: TraceOptions::new(place),
            redactor: Redactor::default(),
        });
        let reply = call(
            &tool,
            Some(&ada()),
            json!({"goal": QUESTION}),
            &Ruling::Allow,
        )
        .await
        .unwrap();
        assert_eq!(reply.structured["status"], "VERIFIED");
        assert_eq!(reply.trace.is_some(), written);
        if let Some(trace) = reply.trace {
            let summary = crate::trajectory::summary(&trace).unwrap();
            let result = summary.result.as_ref().map(|name| name.as_str());
            assert_eq!(result, Some("VERIFIED"), "{summary:?}");
        }
    }
}

#[tokio::test]
async fn a_cancelled_call_closes_what_it_opened() {
    let world = World {
        hold: Some(Arc::default()),
        ..World::default()
    };
    let tool = tool(&world, Mode::Enforce);
    let cancel = CancellationToken::new();
    let (context, arguments) = (ada(), json!({"goal": QUESTION}));
    let mut observer = Unobserved;
    let call = tool.read(ToolCall {
        context: Some(&context),
        connection: Connection::Lasting,
        arguments: &arguments,
        gate: &Ruling::Allow,
        turns: &AtOnce,
        observer: &mut observer,
        cancel: &cancel,
    });
    let stop = async {
        world.observing.notified().await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(call, stop);
    let outcome = outcome.unwrap();
    assert_eq!(outcome.output.status.name(), "CANCELLED");
    assert_eq!(world.counts.closed.load(Ordering::SeqCst), 1);
}

#[test]
fn text_says_where_it_was_cut() {
    assert_eq!(marked("abc", 0, 10), format!("{UNTRUSTED}\nabc"));
    assert_eq!(
        marked("äbc", 7, 2),
        format!("{UNTRUSTED}\näb\n[Cut here: 2 of 10 characters are shown.]")
    );
    assert_eq!(
        marked("abc", 7, 10),
        format!("{UNTRUSTED}\nabc\n[Cut here: 3 of 10 characters are shown.]")
    );
}

#[test]
fn the_definition_and_its_forms_are_pinned() {
    let definition = ToolDefinition::read_browser(Naming::Single, None, Effects::ReadsOnly);
    insta::assert_json_snapshot!("definition", definition);
    insta::assert_json_snapshot!("function", definition.as_function());
    insta::assert_json_snapshot!("message_tool", definition.as_message_tool());
    let named = ToolDefinition::read_browser(
        Naming::OfSource("manual"),
        Some("The manual of the kettle."),
        Effects::MayAct,
    );
    assert_eq!(named.name, "read_browser_manual");
    assert!(
        named
            .description
            .contains("This source: The manual of the kettle.")
    );
}

#[test]
fn the_document_shows_the_definition() {
    let document = include_str!("../../../../docs/mcp.md");
    let section =
        ToolDefinition::read_browser(Naming::Single, None, Effects::ReadsOnly).as_markdown();
    assert!(
        document.contains(&section),
        "docs/mcp.md must hold this section as it is:\n\n{section}"
    );
    for code in ToolError::CODES {
        assert!(
            document.contains(code),
            "docs/mcp.md does not explain {code}"
        );
    }
}
