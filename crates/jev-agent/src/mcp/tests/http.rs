//! Over loopback HTTP: who may connect, what is refused, and that leaving closes browsers.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;

use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::testing::GOAL;

pub(super) struct Running {
    pub(super) address: SocketAddr,
    stop: CancellationToken,
    served: JoinHandle<std::io::Result<()>>,
}

pub(super) async fn listen(server: &Arc<Server>, options: HttpOptions) -> Running {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let served = tokio::spawn({
        let (server, stop) = (Arc::clone(server), stop.clone());
        async move { server.serve_http(listener, options, stop).await }
    });
    Running {
        address,
        stop,
        served,
    }
}

pub(super) struct Answer {
    pub(super) status: u16,
    headers: String,
    pub(super) body: String,
}

impl Answer {
    /// The JSON-RPC message in the body, or in the body's last event.
    pub(super) fn message(&self) -> Value {
        let json = self
            .body
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("data: ").filter(|data| !data.is_empty()));
        serde_json::from_str(json.unwrap_or(&self.body))
            .unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

pub(super) async fn send(
    address: SocketAddr,
    method: &str,
    headers: &str,
    body: &[u8],
) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "{method} /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n\
         Content-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // A server that refuses early may close before it has read all.
    let _ = stream.write_all(body).await;
    stream
}

pub(super) async fn post(address: SocketAddr, headers: &str, body: &[u8]) -> Answer {
    let mut stream = send(address, "POST", headers, body).await;
    let mut bytes = Vec::new();
    let _ = soon("an answer", stream.read_to_end(&mut bytes)).await;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (headers, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    Answer {
        status: headers
            .split(' ')
            .nth(1)
            .and_then(|s| s.parse().ok())
            .unwrap_or(0),
        headers: headers.to_owned(),
        body: unchunked(headers, body),
    }
}

fn unchunked(headers: &str, body: &str) -> String {
    if !headers
        .to_lowercase()
        .contains("transfer-encoding: chunked")
    {
        return body.to_owned();
    }
    let mut out = String::new();
    let mut rest = body;
    while let Some((size, tail)) = rest.split_once("\r\n") {
        let Ok(size @ 1..) = usize::from_str_radix(size.trim(), 16) else {
            break;
        };
        out.push_str(&tail[..size.min(tail.len())]);
        rest = tail.get(size + 2..).unwrap_or_default();
    }
    out
}

pub(super) fn initialize() -> Vec<u8> {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": LEGACY, "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"}
    }})
    .to_string()
    .into_bytes()
}

fn call(id: u64) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
           "params": {"name": "read_browser", "arguments": {"goal": GOAL}}})
    .to_string()
    .into_bytes()
}

pub(super) async fn begun(address: SocketAddr) -> String {
    let answer = post(address, "", &initialize()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let session = answer.header("mcp-session-id").unwrap();
    format!("Mcp-Session-Id: {session}\r\nMcp-Protocol-Version: {LEGACY}\r\n")
}

#[tokio::test]
async fn a_call_is_answered_and_the_server_stops_when_told() {
    let world = World::default();
    let server = server(&world, &McpSettings::default(), Ruling::Allow);
    let running = listen(&server, HttpOptions::default()).await;
    let session = begun(running.address).await;
    let answer = post(running.address, &session, &call(1)).await;
    let message = answer.message();
    assert_eq!(
        message["result"]["structuredContent"]["status"], "VERIFIED",
        "{message}"
    );
    running.stop.cancel();
    soon("the end", running.served).await.unwrap().unwrap();
}

#[tokio::test]
async fn what_may_not_connect_is_refused() {
    let world = World::default();
    let server = server(&world, &McpSettings::default(), Ruling::Allow);
    let options = HttpOptions {
        bearer: Some(Bearer::new("a-token-of-thirty-characters-xx").unwrap()),
        hosts: Vec::new(),
    };
    let running = listen(&server, options).await;
    let right = "Authorization: Bearer a-token-of-thirty-characters-xx\r\n";
    for (headers, status) in [
        ("", 401),
        (
            "Authorization: Bearer a-token-of-thirty-characters-xy\r\n",
            401,
        ),
        (
            "Authorization: Basic a-token-of-thirty-characters-xx\r\n",
            401,
        ),
        (right, 200),
        (&format!("{right}Origin: http://evil.example\r\n"), 403),
        (&format!("{right}Origin: null\r\n"), 403),
    ] {
        let answer = post(running.address, headers, &initialize()).await;
        assert_eq!(answer.status, status, "{headers}: {}", answer.body);
    }
    assert!(Bearer::new("short").is_err());
    assert!(Bearer::new("with blanks in the middle of it").is_err());
    let shown = format!("{:?}", Bearer::new("a-token-of-thirty-characters-xx"));
    assert!(!shown.contains("thirty"), "{shown}");
}

#[tokio::test]
async fn a_foreign_host_name_is_refused() {
    let world = World::default();
    let server = server(&world, &McpSettings::default(), Ruling::Allow);
    let running = listen(&server, HttpOptions::default()).await;
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let body = initialize();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: rebound.example\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body).await.unwrap();
    let mut text = String::new();
    soon("an answer", stream.read_to_string(&mut text))
        .await
        .unwrap();
    assert!(text.starts_with("HTTP/1.1 403"), "{text}");
}

#[tokio::test]
async fn bad_bodies_are_answered_and_the_server_lives_on() {
    let world = World::default();
    let server = server(&world, &McpSettings::default(), Ruling::Allow);
    let running = listen(&server, HttpOptions::default()).await;
    let long = vec![b'x'; 10 * 1024 * 1024];
    for (body, status, code) in [
        (b"{".as_slice(), 400, -32700),
        (b"[]", 400, -32600),
        (br#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#, 400, -32600),
        (b"", 400, -32600),
    ] {
        let answer = post(running.address, "", body).await;
        assert_eq!(answer.status, status, "{}", answer.body);
        assert_eq!(answer.message()["error"]["code"], code);
    }
    let answer = post(running.address, "", &long).await;
    assert_eq!(answer.status, 413, "{}", answer.body);
    assert_eq!(answer.message()["error"]["code"], -32600);
    begun(running.address).await;
    let unknown = "Mcp-Session-Id: no-such-session\r\n";
    assert_eq!(post(running.address, unknown, &call(1)).await.status, 404);
}

#[tokio::test]
async fn leaving_in_the_middle_closes_the_browser() {
    for way in ["drops the request", "deletes its session", "cancels"] {
        let world = held();
        let server = server(&world, &McpSettings::default(), Ruling::Allow);
        let running = listen(&server, HttpOptions::default()).await;
        let session = begun(running.address).await;
        let stream = send(running.address, "POST", &session, &call(1)).await;
        soon("observing", world.observing.notified()).await;
        let began = std::time::Instant::now();
        match way {
            "drops the request" => drop(stream),
            "deletes its session" => drop(send(running.address, "DELETE", &session, b"").await),
            _ => {
                let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                                    "params": {"requestId": 1}});
                let answer = post(running.address, &session, cancel.to_string().as_bytes()).await;
                assert_eq!(answer.status, 202);
            }
        }
        soon(way, world.closing.notified()).await;
        assert!(began.elapsed() < Duration::from_secs(2), "{way}");
        assert_eq!(world.counts.open_now.load(Ordering::SeqCst), 0, "{way}");
        begun(running.address).await;
    }
}

#[tokio::test]
async fn a_modern_request_that_is_given_up_closes_the_browser() {
    let world = held();
    let server = server(&world, &McpSettings::default(), Ruling::Allow);
    let running = listen(&server, HttpOptions::default()).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "read_browser", "arguments": {"goal": GOAL}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}
        }
    }});
    let headers = format!(
        "Mcp-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: read_browser\r\n"
    );
    let stream = send(
        running.address,
        "POST",
        &headers,
        body.to_string().as_bytes(),
    )
    .await;
    soon("observing", world.observing.notified()).await;
    drop(stream);
    soon("closing", world.closing.notified()).await;
    assert_eq!(world.counts.open_now.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn ten_clients_at_once_are_all_served() {
    let world = World::default();
    let server = server(&world, &McpSettings::default(), Ruling::Allow);
    let running = listen(&server, HttpOptions::default()).await;
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let address = running.address;
        clients.spawn(async move {
            let session = begun(address).await;
            post(address, &session, &call(1)).await.message()
        });
    }
    for message in soon("ten answers", clients.join_all()).await {
        assert_eq!(message["result"]["structuredContent"]["status"], "VERIFIED");
    }
    assert_eq!(world.counts.closed.load(Ordering::SeqCst), 10);
}
