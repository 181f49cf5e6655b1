//! What the server keeps for clients over HTTP, and for how long: their places, their last
//! trajectories; and gates of a host's own.

use tokio::io::AsyncReadExt;

use super::http::{begun, initialize, listen, post, send};
use super::*;
use crate::permission::{Consent, PermissionRequest};
use crate::testing::GOAL;
use crate::tool::{ToolCall, ToolError, ToolReply, Tracing};
use crate::trajectory::TraceOptions;

fn list() -> Vec<u8> {
    json!({"jsonrpc": "2.0", "id": 9, "method": "tools/list"})
        .to_string()
        .into_bytes()
}

/// Opens a client's stream of notices and waits until the server holds it.
async fn stream(address: std::net::SocketAddr, session: &str) -> tokio::net::TcpStream {
    let mut stream = send(address, "GET", session, b"").await;
    let mut head = [0; 12];
    soon("a stream", stream.read_exact(&mut head))
        .await
        .unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    stream
}

/// Counts how often it was told that a client has gone.
struct Counts {
    definition: ToolDefinition,
    gone: tokio::sync::watch::Sender<u32>,
}

#[async_trait::async_trait]
impl Tool for Counts {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, _: ToolCall<'_>) -> Result<ToolReply, ToolError> {
        Ok(ToolReply {
            note: "kept".to_owned(),
            structured: json!({}),
            trace: None,
        })
    }

    async fn client_gone(&self, _: &RunContext) {
        self.gone.send_modify(|times| *times += 1);
    }
}

#[tokio::test]
async fn a_client_whose_stream_broke_is_forgotten_and_one_that_asks_is_not() {
    let (gone, mut told) = tokio::sync::watch::channel(0);
    let tool = Counts {
        definition: ToolDefinition {
            name: "keep".to_owned(),
            output: json!({"type": "object"}),
            ..ToolDefinition::read_browser(Naming::Single, None, Effects::MayAct)
        },
        gone,
    };
    let server = Server::new(
        vec![Arc::new(tool)],
        &McpSettings::default(),
        Arc::new(Ruling::Allow),
        Traces::Not,
    )
    .unwrap();
    let running = listen(&server, HttpOptions::default()).await;
    let (left, stays) = (begun(running.address).await, begun(running.address).await);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                      "params": {"name": "keep", "arguments": {}}});
    for session in [&left, &stays] {
        let answer = post(running.address, session, call.to_string().as_bytes()).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    let held = stream(running.address, &stays).await;
    drop(stream(running.address, &left).await);
    // Once because the stream did not come back, once because the client itself is gone.
    soon("being told", told.wait_for(|times| *times == 2))
        .await
        .unwrap();
    assert_eq!(post(running.address, &left, &list()).await.status, 404);
    assert_eq!(post(running.address, &stays, &list()).await.status, 200);
    drop(held);
}

#[tokio::test]
async fn at_the_limit_the_longest_silent_client_makes_room_and_none_that_is_here() {
    let world = World::default();
    let server = server(&world, &McpSettings::default(), Ruling::Allow);
    let running = listen(&server, HttpOptions::default()).await;
    let mut sessions = Vec::new();
    for _ in 0..64 {
        sessions.push(begun(running.address).await);
    }
    // The first holds a stream, the second has just spoken: the third has been silent longest.
    let held = stream(running.address, &sessions[0]).await;
    assert_eq!(
        post(running.address, &sessions[1], &list()).await.status,
        200
    );
    sessions.push(begun(running.address).await);
    for (number, status) in [(0, 200), (1, 200), (2, 404), (3, 200), (64, 200)] {
        let answer = post(running.address, &sessions[number], &list()).await;
        assert_eq!(answer.status, status, "{number}");
    }
    drop(held);
}

#[tokio::test]
async fn when_all_are_here_one_more_is_refused() {
    let world = World::default();
    let server = server(&world, &McpSettings::default(), Ruling::Allow);
    let running = listen(&server, HttpOptions::default()).await;
    let mut held = Vec::new();
    for _ in 0..64 {
        let session = begun(running.address).await;
        held.push(stream(running.address, &session).await);
    }
    let answer = post(running.address, "", &initialize()).await;
    assert_eq!(answer.status, 503, "{}", answer.body);
}

/// A request of the version whose requests stand alone.
async fn modern(address: std::net::SocketAddr, method: &str, name: &str, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let named = match name {
        "" => String::new(),
        name => format!("Mcp-Name: {name}\r\n"),
    };
    let headers = format!("Mcp-Protocol-Version: {MODERN}\r\nMcp-Method: {method}\r\n{named}");
    post(address, &headers, body.to_string().as_bytes())
        .await
        .message()
}

#[tokio::test]
async fn requests_that_stand_alone_read_the_last_trajectory_and_its_pictures() {
    let world = World::default();
    let folder = tempfile::tempdir().unwrap();
    let mut options = TraceOptions::new(folder.path());
    options.pictures = crate::trajectory::KeepPictures::Yes;
    let tool = reading_tool(&world).traced(Tracing {
        options,
        redactor: jev_core::redact::Redactor::default(),
    });
    let server = Server::new(
        vec![Arc::new(tool)],
        &McpSettings::default(),
        Arc::new(Ruling::Allow),
        Traces::Written,
    )
    .unwrap();
    let running = listen(&server, HttpOptions::default()).await;
    let goal = json!({"name": "read_browser", "arguments": {"goal": GOAL}});
    let answer = modern(running.address, "tools/call", "read_browser", goal).await;
    assert_eq!(
        answer["result"]["structuredContent"]["status"], "VERIFIED",
        "{answer}"
    );
    let answer = modern(running.address, "resources/list", "", json!({})).await;
    let resources = answer["result"]["resources"].as_array().unwrap().clone();
    let of = |kind: &str| {
        let mut found = resources.iter().filter(|one| one["mimeType"] == kind);
        found.next().unwrap()["uri"].as_str().unwrap().to_owned()
    };
    let (events, picture) = (of("application/jsonl"), of("image/png"));
    for (uri, field, begins) in [
        (&events, "text", "{\"seq\":0,"),
        // base64 of the signature of every PNG.
        (&picture, "blob", "iVBORw0KGgo"),
    ] {
        let answer = modern(running.address, "resources/read", uri, json!({"uri": uri})).await;
        let contents = &answer["result"]["contents"][0];
        let content = contents[field]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"));
        assert!(content.starts_with(begins), "{content}");
    }
    // A client of a connection that lasts sees its own alone.
    let session = begun(running.address).await;
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/list"});
    let answer = post(running.address, &session, list.to_string().as_bytes()).await;
    assert_eq!(answer.message()["result"]["resources"], json!([]));
}

/// A gate of the host's own: it rules by goal, and answers when nobody else can.
struct OwnGate;

#[async_trait::async_trait]
impl PermissionGate for OwnGate {
    async fn rule(&self, request: &PermissionRequest<'_>) -> Ruling {
        match request.goal {
            Some("deny") => Ruling::Deny {
                reason: "not this".to_owned(),
            },
            Some("allow") => Ruling::Allow,
            Some(_) | None => Ruling::Ask,
        }
    }

    async fn ask(&self, request: &PermissionRequest<'_>) -> Consent {
        match request.goal {
            Some("ask and give") => Consent::Given,
            Some(_) | None => Consent::Refused,
        }
    }
}

#[tokio::test]
async fn a_host_rules_by_a_gate_of_its_own() {
    let world = World::default();
    let server = Server::new(
        vec![Arc::new(reading_tool(&world))],
        &McpSettings::default(),
        Arc::new(OwnGate),
        Traces::Not,
    )
    .unwrap();
    let mut client = RawClient::begun(&server, json!({})).await;
    for (id, goal, expected) in [
        (1, "deny", Err("BROWSER_PERMISSION_DENIED")),
        (2, "allow", Ok("VERIFIED")),
        (3, "ask and give", Ok("VERIFIED")),
        (4, "ask", Err("BROWSER_PERMISSION_NOT_GIVEN")),
    ] {
        client.call(id, json!({"goal": goal})).await;
        let (answer, _) = client.answer(id).await;
        let result = &answer["result"];
        match expected {
            Ok(status) => assert_eq!(result["structuredContent"]["status"], status, "{answer}"),
            Err(code) => {
                assert_eq!(result["_meta"]["jev/code"], code, "{answer}");
            }
        }
    }
}
