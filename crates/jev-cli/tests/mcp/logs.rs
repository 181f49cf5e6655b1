//! Whatever `JEV_LOG` says, the protocol's library does not write messages into the log.

use std::process::Stdio;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::{PATIENCE, jev};

const MARKER: &str = "marker-goal-5510-quince";

/// One request of a client; the whole answer.
async fn post(address: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n\
         Content-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer))
        .await
        .expect("an answer comes")
        .unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn no_log_level_writes_messages_over_http() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("jev.toml");
    let text =
        "[judge]\nprovider = 'lexical'\n[[source]]\nname = 'x'\nstart = 'http://127.0.0.1:1/'\n";
    std::fs::write(&config, text).unwrap();
    for level in [
        "rmcp::transport=trace",
        "trace,rmcp=trace,rmcp::service=trace",
    ] {
        let mut server = jev()
            .args(["mcp", "--http", "127.0.0.1:0", "--config"])
            .arg(&config)
            .env("JEV_LOG", level)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(server.stderr.take().unwrap());
        let mut said = String::new();
        let address = loop {
            let mut line = String::new();
            let read = tokio::time::timeout(PATIENCE, log.read_line(&mut line)).await;
            assert!(read.expect("it listens").unwrap() > 0, "{said}");
            said.push_str(&line);
            if let Some((_, rest)) = line.split_once("listening on http://") {
                break rest.trim().trim_end_matches("/mcp").to_owned();
            }
        };
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": MARKER, "version": "1"}}});
        let answer = post(&address, "", &hello.to_string()).await;
        let session = answer
            .lines()
            .find_map(|line| line.strip_prefix("mcp-session-id: "))
            .unwrap_or_else(|| panic!("{answer}"));
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "read_browser", "arguments": {"goal": MARKER, "more": MARKER}}});
        let headers = format!("Mcp-Session-Id: {session}\r\n");
        let answer = post(&address, &headers, &call.to_string()).await;
        assert!(answer.contains("BROWSER_ARGUMENTS_INVALID"), "{answer}");
        server.kill().await.unwrap();
        log.read_to_string(&mut said).await.unwrap();
        assert!(!said.contains(MARKER), "{level}: {said}");
    }
}
