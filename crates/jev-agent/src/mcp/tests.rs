//! The server over in-memory streams and loopback HTTP, with doubles behind it.

mod http;
mod kept;
mod lines;

use std::sync::Arc;
use std::time::Duration;

use jev_core::contract::Mode;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::config::ReadSettings;
use crate::permission::Ruling;
use crate::source::Shared;
use crate::testing::World;
use crate::tool::{Effects, Naming, ReadBrowser, ToolDefinition};

/// How long anything may take before a test fails. Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(20);

const LEGACY: &str = "2025-06-18";
const MODERN: &str = "2026-07-28";

fn reading_tool(world: &World) -> ReadBrowser {
    ReadBrowser::new(
        ToolDefinition::read_browser(Naming::Single, None, Effects::ReadsOnly),
        Arc::new(Shared(world.source())),
        world.judge(),
        ReadSettings {
            mode: Mode::Enforce,
            threshold: Some(0.8),
            ..ReadSettings::default()
        },
    )
}

fn server(world: &World, settings: &McpSettings, permission: Ruling) -> Arc<Server> {
    let tool = reading_tool(world);
    Server::new(
        vec![Arc::new(tool)],
        settings,
        Arc::new(permission),
        Traces::Not,
    )
    .unwrap()
}

fn held() -> World {
    World {
        hold: Some(Arc::default()),
        ..World::default()
    }
}

/// Waits for something within the patience.
async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .unwrap_or_else(|_| panic!("{what}: nothing within {PATIENCE:?}"))
}

/// A client that writes what it likes.
struct RawClient {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
    served: JoinHandle<Ended>,
    stop: CancellationToken,
}

impl RawClient {
    fn connect(server: &Arc<Server>) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (read, write) = tokio::io::split(theirs);
        let stop = CancellationToken::new();
        let served = tokio::spawn({
            let (server, stop) = (Arc::clone(server), stop.clone());
            async move { server.serve_lines(read, write, &stop).await }
        });
        let (read, write) = tokio::io::split(ours);
        Self {
            read: BufReader::new(read),
            write,
            served,
            stop,
        }
    }

    async fn begun(server: &Arc<Server>, capabilities: Value) -> Self {
        let mut client = Self::connect(server);
        client
            .send(
                json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                    "protocolVersion": LEGACY, "capabilities": capabilities,
                    "clientInfo": {"name": "raw", "version": "1"}
                }}),
            )
            .await;
        let answer = client.next().await;
        assert_eq!(answer["result"]["protocolVersion"], LEGACY, "{answer}");
        client
            .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        client
    }

    async fn line(&mut self, line: &[u8]) {
        self.write.write_all(line).await.unwrap();
        self.write.write_all(b"\n").await.unwrap();
    }

    async fn send(&mut self, message: Value) {
        self.line(message.to_string().as_bytes()).await;
    }

    async fn call(&mut self, id: u64, arguments: Value) {
        self.send(
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                "name": "read_browser", "arguments": arguments, "_meta": {"progressToken": id}
            }}),
        )
        .await;
    }

    async fn next(&mut self) -> Value {
        let mut line = String::new();
        soon("a message", self.read.read_line(&mut line))
            .await
            .unwrap();
        assert!(!line.is_empty(), "the server closed the connection");
        serde_json::from_str(&line).unwrap()
    }

    /// The answer of a request, and what else came before it.
    async fn answer(&mut self, id: u64) -> (Value, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            let message = self.next().await;
            if message["id"] == id && message.get("method").is_none() {
                return (message, before);
            }
            before.push(message);
        }
    }

    async fn lists_tools(&mut self) {
        self.send(json!({"jsonrpc": "2.0", "id": 999, "method": "tools/list"}))
            .await;
        let (answer, _) = self.answer(999).await;
        assert_eq!(
            answer["result"]["tools"][0]["name"], "read_browser",
            "{answer}"
        );
    }
}
