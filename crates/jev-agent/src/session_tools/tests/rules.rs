//! Who may do what, how much of it, and how sessions end.

use jev_core::limits::CLOSE_GRACE;

use super::*;
use crate::permission::{Consent, PermissionRequest};

fn code(result: Result<ToolReply, ToolError>) -> &'static str {
    result.err().map_or("none", |error| error.code())
}

#[test]
fn tools_are_offered_by_the_hosts_word_alone() {
    let names = |settings| -> Vec<String> {
        session_tools(parts(&site(), &Listening::new(STORY), settings))
            .iter()
            .map(|tool| tool.definition().name.clone())
            .collect()
    };
    assert!(names(SessionSettings::default()).is_empty());
    let least = SessionSettings {
        tools: Permission::Allowed,
        ..SessionSettings::default()
    };
    assert_eq!(
        names(least),
        [
            "session_open",
            "session_run",
            "session_read",
            "session_wait",
            "session_status",
            "session_close"
        ]
    );
    assert_eq!(names(settings()).len(), 9);
}

#[tokio::test]
async fn a_session_is_its_clients_alone() {
    let bench = bench(settings(), None);
    let as_client = |name: &'static str, connection, tool: &'static str, arguments: Value| {
        let bench = &bench;
        async move {
            bench
                .call_as(
                    &client(name),
                    connection,
                    &Ruling::Allow,
                    &CancellationToken::new(),
                    (tool, arguments),
                )
                .await
        }
    };
    let own = json!({"session": bench.open().await});
    for tool in ["session_read", "session_status", "session_close"] {
        for connection in [Connection::Lasting, Connection::Single] {
            let other = as_client("two", connection, tool, own.clone()).await;
            assert_eq!(code(other), "BROWSER_SESSION_UNKNOWN", "{tool}");
        }
    }
    assert_eq!(bench.open_now(), 1);
    bench.call("session_close", own.clone()).await.unwrap();
    assert_eq!(
        code(bench.call("session_read", own).await),
        "BROWSER_SESSION_UNKNOWN"
    );

    // Requests that stand alone: whoever knows the name, which can't be guessed.
    let opened = as_client("three", Connection::Single, "session_open", json!({})).await;
    let single = json!({"session": opened.unwrap().structured["session"]});
    let again = as_client("four", Connection::Single, "session_read", single.clone()).await;
    assert!(again.is_ok());
    let lasting = as_client("three", Connection::Lasting, "session_read", single).await;
    assert_eq!(code(lasting), "BROWSER_SESSION_UNKNOWN");
}

#[tokio::test]
async fn places_are_bounded_and_given_back() {
    let bench = bench(
        SessionSettings {
            open: 2,
            total: 3,
            ..settings()
        },
        None,
    );
    let first = bench.open().await;
    bench.open().await;
    let third = bench.call("session_open", json!({})).await;
    assert_eq!(
        third.unwrap_err(),
        ToolError::Session(crate::tool::SessionFault::Limit {
            most: 2,
            of: "one client"
        })
    );
    let (other, cancel) = (client("two"), CancellationToken::new());
    let open_other = || {
        bench.call_as(
            &other,
            Connection::Lasting,
            &Ruling::Allow,
            &cancel,
            ("session_open", json!({})),
        )
    };
    open_other().await.unwrap();
    let too_many = open_other().await.unwrap_err();
    assert!(
        too_many.line().contains("3 sessions of all clients"),
        "{too_many}"
    );
    bench
        .call("session_close", json!({"session": first}))
        .await
        .unwrap();
    bench.open().await;
    assert_eq!(bench.open_now(), 3);
    // An open that is given up keeps no place.
    bench.tools["session_open"]
        .client_gone(&client("one"))
        .await;
    let gone = CancellationToken::new();
    gone.cancel();
    for _ in 0..4 {
        let given_up = bench
            .call_as(
                &client("one"),
                Connection::Lasting,
                &Ruling::Allow,
                &gone,
                ("session_open", json!({})),
            )
            .await;
        assert_eq!(code(given_up), "BROWSER_CANCELLED");
    }
    bench.open().await;
    assert_eq!(bench.open_now(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_lies_idle_is_closed_and_what_is_used_is_not() {
    let idle = Duration::from_secs(60);
    let bench = bench(SessionSettings { idle, ..settings() }, None);
    let id = json!({"session": bench.open().await});
    for _ in 0..4 {
        tokio::time::advance(idle / 2).await;
        bench.call("session_read", id.clone()).await.unwrap();
    }
    assert_eq!(bench.open_now(), 1);
    tokio::time::sleep(idle * 2).await;
    assert_eq!(bench.open_now(), 0);
    assert_eq!(
        code(bench.call("session_read", id).await),
        "BROWSER_SESSION_UNKNOWN"
    );
}

#[tokio::test]
async fn a_client_that_goes_takes_its_sessions_with_it_in_the_middle_of_a_run() {
    let bench = bench(settings(), None);
    let id = bench.open().await;
    bench.open().await;
    let kept = bench
        .call_as(
            &client("two"),
            Connection::Lasting,
            &Ruling::Allow,
            &CancellationToken::new(),
            ("session_open", json!({})),
        )
        .await
        .unwrap();
    // The third question is never answered.
    bench
        .call(
            "session_run",
            json!({"session": id, "goal": "Open the panel", "until": "Search panel"}),
        )
        .await
        .unwrap();
    let to_results = json!({"session": id, "url": "http://shop.test/results"});
    bench.call("session_navigate", to_results).await.unwrap();
    bench
        .call("session_run", json!({"session": id, "goal": "How long?"}))
        .await
        .unwrap();
    let endless = bench.call(
        "session_run",
        json!({"session": id, "goal": "What else?", "until": "never there"}),
    );
    let waiting = bench.call("session_read", json!({"session": id}));
    let leave = async {
        bench.until_asked(3).await;
        let began = std::time::Instant::now();
        bench.tools["session_open"]
            .client_gone(&client("one"))
            .await;
        began.elapsed()
    };
    let (endless, waiting, took) = tokio::join!(endless, waiting, leave);
    assert!(took < CLOSE_GRACE, "{took:?}");
    assert_eq!(endless.unwrap().structured["status"], "CANCELLED");
    assert_eq!(code(waiting), "BROWSER_SESSION_UNKNOWN");
    assert_eq!(bench.open_now(), 1);
    let kept = json!({"session": kept.structured["session"]});
    let other = bench
        .call_as(
            &client("two"),
            Connection::Lasting,
            &Ruling::Allow,
            &CancellationToken::new(),
            ("session_read", kept),
        )
        .await;
    assert!(other.is_ok());
    bench.tools["session_open"].server_gone().await;
    assert_eq!(bench.open_now(), 0);
}

#[tokio::test]
async fn bad_arguments_are_typed_and_nothing_is_opened_or_asked() {
    let bench = bench(settings(), None);
    let long = "x".repeat(8_001);
    let long_text = "x".repeat(10_001);
    let arguments = "BROWSER_ARGUMENTS_INVALID";
    let table = [
        ("session_open", json!([]), arguments),
        (
            "session_open",
            json!({"url": "http://shop.test/"}),
            arguments,
        ),
        ("session_open", json!({"source": "shop"}), arguments),
        ("session_run", json!({"goal": "x"}), arguments),
        ("session_run", json!({"session": 5, "goal": "x"}), arguments),
        (
            "session_run",
            json!({"session": "s"}),
            "BROWSER_SCOPE_AND_GOAL_REQUIRED",
        ),
        (
            "session_run",
            json!({"session": "s", "goal": long}),
            "BROWSER_SCOPE_AND_GOAL_REQUIRED",
        ),
        (
            "session_run",
            json!({"session": "s", "goal": "x", "until": " "}),
            arguments,
        ),
        (
            "session_run",
            json!({"session": "s", "goal": "x", "verifier": "x"}),
            arguments,
        ),
        (
            "session_run",
            json!({"session": "s", "goal": "x"}),
            "BROWSER_SESSION_UNKNOWN",
        ),
        ("session_wait", json!({"session": "s"}), arguments),
        (
            "session_wait",
            json!({"session": "s", "textAppears": "a", "textGone": "b"}),
            arguments,
        ),
        (
            "session_wait",
            json!({"session": "s", "textAppears": "a", "seconds": 61}),
            arguments,
        ),
        (
            "session_wait",
            json!({"session": "s", "textAppears": "a", "seconds": 0}),
            arguments,
        ),
        (
            "session_wait",
            json!({"session": "s", "url": "file:///etc/passwd"}),
            arguments,
        ),
        (
            "session_navigate",
            json!({"session": "s", "url": "javascript:alert(1)"}),
            arguments,
        ),
        (
            "session_fill",
            json!({"session": "s", "name": "Find"}),
            arguments,
        ),
        (
            "session_fill",
            json!({"session": "s", "name": "Find", "text": long_text}),
            arguments,
        ),
        (
            "session_fill",
            json!({"session": "s", "role": "button", "name": "Find", "text": "x"}),
            arguments,
        ),
        (
            "session_press",
            json!({"session": "s", "name": " "}),
            arguments,
        ),
        (
            "session_close",
            json!({"session": "x".repeat(2_001)}),
            arguments,
        ),
    ];
    for (tool, given, expected) in table {
        let shown = given.to_string().chars().take(80).collect::<String>();
        let result = bench.call(tool, given).await;
        assert_eq!(code(result), expected, "{tool} {shown}");
    }
    assert_eq!(bench.site.counts().opened(), 0);
    assert!(bench.judge.heard().is_empty());
}

#[tokio::test]
async fn own_acts_stay_within_the_hosts_lists() {
    let bench = bench(settings(), None);
    let id = bench.open().await;
    let run = json!({"session": id, "goal": "Open the panel", "until": "Search panel"});
    bench.call("session_run", run).await.unwrap();
    let act = |tool: &'static str, mut arguments: Value| {
        arguments["session"] = json!(id);
        let bench = &bench;
        async move { bench.call(tool, arguments).await.unwrap().structured }
    };
    for (tool, arguments, detail) in [
        (
            "session_fill",
            json!({"name": "Card number", "text": "1"}),
            "denied",
        ),
        (
            "session_press",
            json!({"name": "Search", "role": "tab"}),
            "denied",
        ),
        // The source's own deny list wins over the session's.
        ("session_press", json!({"name": "Delete"}), "denied"),
        (
            "session_navigate",
            json!({"url": "http://elsewhere.test/"}),
            "off_list",
        ),
        (
            "session_fill",
            json!({"name": "Find", "text": "1"}),
            "not_found",
        ),
    ] {
        let done = act(tool, arguments).await;
        assert_eq!(done["receipt"], "REFUSED", "{tool}: {done}");
        assert_eq!(done["detail"], detail, "{tool}: {done}");
        assert_eq!(done["url"], "http://shop.test/panel");
    }
    let told = act("session_status", json!({})).await;
    assert_eq!(told["history"].as_array().unwrap().len(), 1, "{told}");
}

/// Notes what it is asked, and refuses from a certain question on.
struct Asked(Mutex<Vec<String>>, usize);

#[async_trait]
impl PermissionGate for Asked {
    async fn rule(&self, _request: &PermissionRequest<'_>) -> Ruling {
        Ruling::Ask
    }

    async fn ask(&self, request: &PermissionRequest<'_>) -> Consent {
        let mut asked = self.0.lock().unwrap();
        asked.push(format!(
            "{} {:?} {:?}",
            request.tool, request.goal, request.act
        ));
        if asked.len() > self.1 {
            Consent::Refused
        } else {
            Consent::Given
        }
    }
}

#[tokio::test]
async fn the_gate_stands_before_everything_and_is_not_told_what_is_typed() {
    let bench = bench(settings(), None);
    let deny = Ruling::Deny {
        reason: "not today".to_owned(),
    };
    let cancel = CancellationToken::new();
    let with = |gate: &'static str| format!("BROWSER_PERMISSION_{gate}");
    for tool in bench.tools.keys() {
        let denied = bench
            .call_as(
                &client("one"),
                Connection::Lasting,
                &deny,
                &cancel,
                (tool, json!({})),
            )
            .await;
        assert_eq!(code(denied), with("DENIED"), "{tool}");
    }
    let gate = Asked(Mutex::default(), 3);
    let context = client("one");
    let call = |tool: &'static str, arguments: Value| {
        bench.call_as(
            &context,
            Connection::Lasting,
            &gate,
            &cancel,
            (tool, arguments),
        )
    };
    let opened = call("session_open", json!({})).await.unwrap();
    let id = &opened.structured["session"];
    call("session_read", json!({"session": id})).await.unwrap();
    let run = json!({"session": id, "goal": "Open it", "until": "Search panel"});
    call("session_run", run).await.unwrap();
    let fill = json!({"session": id, "role": "search_box", "name": "Find", "text": TYPED});
    call("session_fill", fill.clone()).await.unwrap();
    assert_eq!(code(call("session_fill", fill).await), with("NOT_GIVEN"));
    call("session_close", json!({"session": id})).await.unwrap();
    assert_eq!(
        *gate.0.lock().unwrap(),
        [
            "session_open None Some(\"keep a tab open on `shop`\")",
            "session_run Some(\"Open it\") None",
            "session_fill None Some(\"fill the search field `Find`\")",
            "session_fill None Some(\"fill the search field `Find`\")",
        ]
    );
    assert_eq!(bench.open_now(), 0);
}

#[test]
fn the_document_names_every_tool_argument_and_part_of_a_result() {
    let document = include_str!("../../../../../docs/mcp.md");
    let section = document
        .split("## Sessions that outlive a call")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .unwrap();
    let two = || {
        let mut parts = parts(&site(), &Listening::new(STORY), settings());
        let second = NamedSource {
            name: "other".to_owned(),
            ..parts.sources[0].clone()
        };
        parts.sources.push(second);
        parts
    };
    for tool in session_tools(two()) {
        let definition = tool.definition();
        let row = section
            .lines()
            .find(|line| line.starts_with(&format!("| `{}` |", definition.name)))
            .unwrap_or_else(|| panic!("{} has no row", definition.name));
        let keys = |schema: &Value| -> Vec<String> {
            schema["properties"]
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect()
        };
        let page = ["session", "url", "version", "visibleText"];
        for argument in keys(&definition.input) {
            assert!(row.contains(&format!("`{argument}`")), "{argument}: {row}");
        }
        for part in keys(&definition.output) {
            let told = row.contains(&format!("`{part}`"))
                || (page.contains(&part.as_str()) && row.contains("the page"));
            assert!(told || part == "session", "{part}: {row}");
        }
    }
}
