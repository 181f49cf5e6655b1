//! `jev mcp` over stdio, spoken by hand: lines in, lines out, everything kept.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long an answer may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// One server and the connection to it.
pub(crate) struct RawServer {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    stderr: JoinHandle<String>,
    log: watch::Receiver<String>,
    next: u64,
    /// Everything it has written to standard output.
    pub(crate) stdout: String,
}

impl RawServer {
    /// Starts a server and begins.
    pub(crate) async fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let (logged, log) = watch::channel(String::new());
        let stderr = tokio::spawn(async move {
            let mut line = Vec::new();
            while errors
                .read_until(b'\n', &mut line)
                .await
                .is_ok_and(|read| read > 0)
            {
                let text = String::from_utf8_lossy(&line).into_owned();
                logged.send_modify(|all| all.push_str(&text));
                line.clear();
            }
            logged.borrow().clone()
        });
        let mut server = Self {
            child,
            input,
            lines,
            stderr,
            log,
            next: 0,
            stdout: String::new(),
        };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"}
        });
        server.ask("initialize", hello).await;
        server
            .write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string())
            .await;
        server
    }

    /// Writes one line.
    pub(crate) async fn write(&mut self, line: &str) {
        self.input.write_all(line.as_bytes()).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
    }

    /// Sends a request without waiting; returns its id.
    pub(crate) async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&request.to_string()).await;
        id
    }

    /// Waits until the log holds these words so many times.
    pub(crate) async fn logs(&mut self, words: &str, times: usize) {
        let enough = |log: &String| log.matches(words).count() >= times;
        tokio::time::timeout(PATIENCE, self.log.wait_for(enough))
            .await
            .unwrap_or_else(|_| panic!("`{words}` was not logged {times} times"))
            .unwrap();
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line())
            .await
            .expect("an answer comes")
            .unwrap()
            .expect("the server lives");
        self.stdout.push_str(&line);
        self.stdout.push('\n');
        serde_json::from_str(&line).unwrap()
    }

    /// A request and its answer.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        loop {
            let message = self.next().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// A call of a tool: its structured result.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": 1}});
        let answer = self.ask("tools/call", params).await;
        let result = &answer["result"];
        assert!(
            result.get("structuredContent").is_some(),
            "{tool}: {answer}"
        );
        result["structuredContent"].clone()
    }

    /// Goes away; what the server wrote to standard output and standard error in all.
    pub(crate) async fn leave(mut self) -> (String, String) {
        drop(self.input);
        while let Ok(Some(line)) = self.lines.next_line().await {
            self.stdout.push_str(&line);
        }
        let ended = tokio::time::timeout(PATIENCE, self.child.wait())
            .await
            .expect("it ends")
            .unwrap();
        assert_eq!(ended.code(), Some(0));
        (self.stdout, self.stderr.await.unwrap())
    }
}
