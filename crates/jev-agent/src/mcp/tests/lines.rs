//! Over stdio: results, progress, cancelling, leaving, consent, bad input, many at once.

use std::sync::atomic::Ordering;

use jev_core::redact::Redactor;

use super::*;
use crate::testing::GOAL;
use crate::tool::{ToolCall, ToolError, ToolReply, Tracing};
use crate::trajectory::TraceOptions;

fn goal() -> Value {
    json!({ "goal": GOAL })
}

#[tokio::test]
async fn a_call_brings_progress_and_then_a_structured_result() {
    let world = World::default();
    let server = server(&world, &McpSettings::default(), Ruling::Allow);
    let mut client = RawClient::begun(&server, json!({})).await;
    client.call(1, goal()).await;
    let (answer, before) = client.answer(1).await;
    let result = &answer["result"];
    assert_eq!(
        result["structuredContent"]["status"], "VERIFIED",
        "{answer}"
    );
    assert_eq!(result["isError"], false);
    let schema = ToolDefinition::read_browser(Naming::Single, None, Effects::ReadsOnly).output;
    let checked = jsonschema::validator_for(&schema).unwrap();
    checked.validate(&result["structuredContent"]).unwrap();
    let text: Value = serde_json::from_str(result["content"][1]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
    let progress: Vec<f64> = before
        .iter()
        .map(|message| {
            assert_eq!(message["method"], "notifications/progress");
            assert_eq!(message["params"]["progressToken"], 1);
            message["params"]["progress"].as_f64().unwrap()
        })
        .collect();
    assert!(progress.len() >= 5, "{progress:?}");
    assert!(progress.is_sorted_by(|a, b| a < b), "{progress:?}");
    let told = Value::from(before).to_string();
    assert!(
        !told.contains("Warranty") && !told.contains("help"),
        "{told}"
    );
}

#[tokio::test]
async fn the_listing_says_what_is_true() {
    let world = World::default();
    let server = server(&world, &McpSettings::default(), Ruling::Allow);
    let mut client = RawClient::begun(&server, json!({})).await;
    client
        .send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
        .await;
    let (answer, _) = client.answer(1).await;
    insta::assert_json_snapshot!("listed", answer["result"]);
}

#[tokio::test]
async fn a_cancelled_call_is_not_answered_and_its_browser_is_closed() {
    let world = held();
    let server = server(&world, &McpSettings::default(), Ruling::Allow);
    let mut client = RawClient::begun(&server, json!({})).await;
    client.call(1, goal()).await;
    soon("observing", world.observing.notified()).await;
    client
        .send(
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                     "params": {"requestId": 1}}),
        )
        .await;
    soon("closing", world.closing.notified()).await;
    client
        .send(json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}))
        .await;
    let (_, before) = client.answer(2).await;
    assert!(
        before.iter().all(|message| message["id"] != 1),
        "a cancelled call was answered: {before:?}"
    );
    client.lists_tools().await;
}

#[tokio::test]
async fn a_client_that_leaves_closes_its_browsers() {
    for way in ["drops the connection", "is cut off by the server's end"] {
        let world = held();
        let server = server(&world, &McpSettings::default(), Ruling::Allow);
        let mut client = RawClient::begun(&server, json!({})).await;
        client.call(1, goal()).await;
        soon("observing", world.observing.notified()).await;
        let began = std::time::Instant::now();
        if way.starts_with("drops") {
            drop((client.read, client.write));
        } else {
            client.stop.cancel();
        }
        soon("closing", world.closing.notified()).await;
        assert!(began.elapsed() < Duration::from_secs(2), "{way}");
        assert_eq!(soon(way, client.served).await.unwrap(), Ended::Gone);
        assert_eq!(world.counts.open_now.load(Ordering::SeqCst), 0, "{way}");
    }
}

#[tokio::test]
async fn bad_input_is_answered_and_the_server_lives_on() {
    let world = World::default();
    let server = server(&world, &McpSettings::default(), Ruling::Allow);
    let mut client = RawClient::begun(&server, json!({})).await;
    let long = vec![b'x'; 10 * 1024 * 1024];
    let mut long_call = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_browser","arguments":{"goal":""#.to_vec();
    long_call.extend_from_slice(&long);
    long_call.extend_from_slice(br#""}}}"#);
    let cases: [(&[u8], i64, Value); 9] = [
        (b"{", -32700, Value::Null),
        (b"\xff\xfe{}", -32700, Value::Null),
        (b"[1, 2]", -32600, Value::Null),
        (
            br#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#,
            -32600,
            json!(3),
        ),
        (
            br#"{"jsonrpc":"2.0","id":4,"method":"no/such"}"#,
            -32601,
            json!(4),
        ),
        (
            br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"arguments":{}}}"#,
            -32602,
            json!(5),
        ),
        (
            br#"{"jsonrpc":"2.0","id":"six","method":"tools/call","params":{"name":"rm"}}"#,
            -32602,
            json!("six"),
        ),
        (&long, -32600, Value::Null),
        (&long_call, -32600, Value::Null),
    ];
    for (line, code, id) in cases {
        client.line(line).await;
        let answer = client.next().await;
        let shown = String::from_utf8_lossy(&line[..line.len().min(80)]);
        assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
        assert_eq!(answer["id"], id, "{shown}: {answer}");
        client.lists_tools().await;
    }
    for (arguments, code) in [
        (json!({}), "BROWSER_SCOPE_AND_GOAL_REQUIRED"),
        (
            json!({"goal": "a".repeat(8_001)}),
            "BROWSER_SCOPE_AND_GOAL_REQUIRED",
        ),
        (
            json!({"goal": GOAL, "url": "http://x/"}),
            "BROWSER_ARGUMENTS_INVALID",
        ),
    ] {
        client.call(7, arguments).await;
        let (answer, _) = client.answer(7).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert_eq!(answer["result"]["_meta"]["jev/code"], code, "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(code), "{text}");
    }
    assert_eq!(world.counts.opened.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn noise_before_the_beginning_does_not_end_the_server() {
    let world = World::default();
    let server = server(&world, &McpSettings::default(), Ruling::Allow);
    let mut client = RawClient::connect(&server);
    client.line(b"garbage").await;
    assert_eq!(client.next().await["error"]["code"], -32700);
    client
        .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    client
        .send(json!({"jsonrpc": "2.0", "id": 1, "result": {}}))
        .await;
    client
        .send(json!({"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": {}}))
        .await;
    let answer = client.next().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(2), &json!(-32602))
    );
    client
        .send(
            json!({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {
                "protocolVersion": "1999-01-01", "capabilities": {},
                "clientInfo": {"name": "raw", "version": "1"}
            }}),
        )
        .await;
    let (answer, _) = client.answer(3).await;
    assert!(answer["result"]["protocolVersion"].is_string(), "{answer}");
    client.lists_tools().await;
}

#[tokio::test]
async fn the_newest_protocol_needs_no_handshake() {
    let world = World::default();
    let server = server(&world, &McpSettings::default(), Ruling::Allow);
    let mut client = RawClient::connect(&server);
    client
        .send(
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "read_browser", "arguments": goal(), "_meta": modern(json!({}))
            }}),
        )
        .await;
    let (answer, before) = client.answer(1).await;
    assert_eq!(
        answer["result"]["structuredContent"]["status"], "VERIFIED",
        "{answer}"
    );
    assert!(
        before.is_empty(),
        "progress that nobody asked for: {before:?}"
    );
}

fn modern(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

#[tokio::test]
async fn consent_is_asked_for_where_the_client_can_be_asked() {
    let world = World::default();
    let server = server(&world, &McpSettings::default(), Ruling::Ask);
    let mut silent = RawClient::begun(&server, json!({})).await;
    silent.call(1, goal()).await;
    let (answer, _) = silent.answer(1).await;
    let code = &answer["result"]["_meta"]["jev/code"];
    assert_eq!(code, "BROWSER_PERMISSION_NOT_GIVEN", "{answer}");

    for (action, verified) in [("accept", true), ("decline", false), ("cancel", false)] {
        let mut client = RawClient::begun(&server, json!({"elicitation": {}})).await;
        client.call(1, goal()).await;
        let question = client.next().await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let message = question["params"]["message"].as_str().unwrap();
        assert!(message.contains(GOAL), "{message}");
        client
            .send(json!({"jsonrpc": "2.0", "id": question["id"],
                         "result": {"action": action, "content": {}}}))
            .await;
        let (answer, _) = client.answer(1).await;
        assert_eq!(answer["result"]["isError"], !verified, "{action}: {answer}");
    }

    let opened = world.counts.opened.load(Ordering::SeqCst);
    let mut client = RawClient::connect(&server);
    let meta = modern(json!({"elicitation": {"form": {}}}));
    let call = |id: u64, more: Value| {
        let mut params = json!({"name": "read_browser", "arguments": goal(), "_meta": meta});
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    client.send(call(1, json!({}))).await;
    let (answer, _) = client.answer(1).await;
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    let question = &answer["result"]["inputRequests"]["permission"];
    assert_eq!(question["method"], "elicitation/create", "{answer}");
    assert_eq!(world.counts.opened.load(Ordering::SeqCst), opened);
    client
        .send(call(
            2,
            json!({"inputResponses": {"permission": {"action": "decline"}}}),
        ))
        .await;
    let (answer, _) = client.answer(2).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    client
        .send(call(
            3,
            json!({"inputResponses": {"permission": {"action": "accept"}}}),
        ))
        .await;
    let (answer, _) = client.answer(3).await;
    assert_eq!(
        answer["result"]["structuredContent"]["status"], "VERIFIED",
        "{answer}"
    );
}

#[tokio::test]
async fn sixteen_calls_are_held_and_the_next_is_told_so() {
    let world = held();
    let hold = world.hold.clone().unwrap();
    let server = server(&world, &McpSettings::default(), Ruling::Allow);
    let mut client = RawClient::begun(&server, json!({})).await;
    for id in 1..=4 {
        client.call(id, goal()).await;
        soon("observing", world.observing.notified()).await;
    }
    for id in 5..=16 {
        client.call(id, goal()).await;
    }
    // Calls begin in tasks of their own: the seventeenth is sent again until all others stand in
    // the queue, which the first refusal says.
    let mut id = 17;
    let mut refused = false;
    while !refused {
        client.call(id, goal()).await;
        client
            .send(json!({"jsonrpc": "2.0", "id": id + 100, "method": "ping"}))
            .await;
        let (_, before) = client.answer(id + 100).await;
        refused = before
            .iter()
            .any(|message| message["result"]["_meta"]["jev/code"] == "BROWSER_BUSY");
        id += 1;
        assert!(id < 40, "never refused");
    }
    assert_eq!(world.counts.open_now.load(Ordering::SeqCst), 4);
    let mut answered = 0;
    let mut ids = std::collections::BTreeSet::new();
    while answered < 16 {
        // One look at a time is let go: the order of service is the order of arrival.
        hold.notify_one();
        let wait = tokio::time::timeout(Duration::from_millis(5), client.next()).await;
        if let Ok(message) = wait
            && message["result"]["structuredContent"]["status"] == "VERIFIED"
        {
            answered += 1;
            ids.insert(message["id"].as_u64().unwrap());
        }
    }
    assert_eq!(ids.len(), 16);
    assert_eq!(world.counts.most_open.load(Ordering::SeqCst), 4);
    assert_eq!(world.counts.opened.load(Ordering::SeqCst), 16);
}

#[tokio::test]
async fn a_tool_that_breaks_ends_its_call_alone() {
    let world = World {
        broken: true,
        ..World::default()
    };
    let server = server(&world, &McpSettings::default(), Ruling::Allow);
    let mut client = RawClient::begun(&server, json!({})).await;
    client.call(1, goal()).await;
    let (answer, _) = client.answer(1).await;
    assert_eq!(
        answer["result"]["structuredContent"]["status"], "SESSION_ERROR",
        "{answer}"
    );
    client.lists_tools().await;
}

#[tokio::test]
async fn a_client_reads_its_own_last_trajectory_and_no_other() {
    let world = World::default();
    let folder = tempfile::tempdir().unwrap();
    let tool = reading_tool(&world).traced(Tracing {
        options: TraceOptions::new(folder.path()),
        redactor: Redactor::default(),
    });
    let server = Server::new(
        vec![Arc::new(tool)],
        &McpSettings::default(),
        Arc::new(Ruling::Allow),
        Traces::Written,
    )
    .unwrap();
    let mut client = RawClient::begun(&server, json!({})).await;
    client.call(1, goal()).await;
    client.answer(1).await;
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/list"});
    client.send(list.clone()).await;
    let (answer, _) = client.answer(2).await;
    let uri = &answer["result"]["resources"][0]["uri"];
    client
        .send(
            json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read",
                     "params": {"uri": uri}}),
        )
        .await;
    let (answer, _) = client.answer(3).await;
    let text = answer["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains(r#""result":"VERIFIED""#), "{text}");

    let mut other = RawClient::begun(&server, json!({})).await;
    other.send(list).await;
    let (answer, _) = other.answer(2).await;
    assert_eq!(answer["result"]["resources"], json!([]));
}

/// A tool that keeps something for its client, as a shared session does.
struct Keeps {
    definition: ToolDefinition,
    ended: Arc<tokio::sync::Notify>,
}

#[async_trait::async_trait]
impl Tool for Keeps {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, call: ToolCall<'_>) -> Result<ToolReply, ToolError> {
        Ok(ToolReply {
            note: "kept".to_owned(),
            structured: json!({"session": call.context.unwrap().session}),
            trace: None,
        })
    }

    async fn client_gone(&self, _context: &RunContext) {
        self.ended.notify_one();
    }
}

#[tokio::test]
async fn another_tool_can_be_plugged_in_and_hears_when_its_client_goes() {
    let ended = Arc::new(tokio::sync::Notify::new());
    let tool = Keeps {
        definition: ToolDefinition {
            name: "session_open".to_owned(),
            output: json!({"type": "object"}),
            ..ToolDefinition::read_browser(Naming::Single, None, Effects::MayAct)
        },
        ended: Arc::clone(&ended),
    };
    let world = World::default();
    let server = Server::new(
        vec![Arc::new(reading_tool(&world)), Arc::new(tool)],
        &McpSettings::default(),
        Arc::new(Ruling::Allow),
        Traces::Not,
    )
    .unwrap();
    let mut seen = Vec::new();
    for _ in 0..2 {
        let mut client = RawClient::begun(&server, json!({})).await;
        client
            .send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                         "params": {"name": "session_open", "arguments": {}}}))
            .await;
        let (answer, _) = client.answer(1).await;
        seen.push(answer["result"]["structuredContent"]["session"].clone());
        drop((client.read, client.write));
        soon("the end of the client", client.served).await.unwrap();
        soon("being told", ended.notified()).await;
    }
    assert_ne!(seen[0], seen[1], "two clients share a context");
    let twice = Server::new(
        vec![
            Arc::new(reading_tool(&world)),
            Arc::new(reading_tool(&world)),
        ],
        &McpSettings::default(),
        Arc::new(Ruling::Allow),
        Traces::Not,
    );
    assert!(matches!(twice, Err(ServerError::DuplicateTool { .. })));
}
