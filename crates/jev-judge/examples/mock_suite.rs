//! The client against the public conformance tool's mock, live, fault by fault:
//! `cargo run -p jev-judge --features conformance --example mock_suite -- JEVCOMPAT [RECORD_DIR]`,
//! where JEVCOMPAT is the tool's program. With a folder, each raw reply is written there too.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use jev_judge::conformance::{Asks, Case, MOCK_KEY, WantsKey, cases, provider, run};
use jev_judge::provider::Provider as _;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

type Failure = Box<dyn std::error::Error>;

/// Ends with the suite, whatever happens.
struct Mock(Child);

impl Drop for Mock {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let tool = arguments
        .next()
        .ok_or("usage: mock_suite JEVCOMPAT [RECORD_DIR]")?;
    let record = arguments.next();
    let mut failed = 0;
    let cases = cases();
    for case in &cases {
        let (mock, base) = start(&tool, case).await?;
        match run(case, &base).await {
            Ok(()) => println!("ok      {}", case.name),
            Err(found) => {
                failed += 1;
                println!(
                    "FAILED  {}: expected {:?}, found {found:?}",
                    case.name, case.expected
                );
            }
        }
        if let Some(folder) = &record {
            let fixture = exchange(case, &base).await?;
            let path = Path::new(folder).join(format!("{}.json", case.name));
            std::fs::write(path, serde_json::to_string_pretty(&fixture)? + "\n")?;
        }
        drop(mock);
    }
    println!(
        "{} of {} cases as expected",
        cases.len() - failed,
        cases.len()
    );
    if failed > 0 {
        Err("the suite failed".into())
    } else {
        Ok(())
    }
}

/// Starts a mock for a case and waits until it listens.
async fn start(tool: &str, case: &Case) -> Result<(Mock, String), Failure> {
    let port = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
    let mut command = Command::new(tool);
    command.args(["mock", "--host", "127.0.0.1", "--port", &port.to_string()]);
    if let Some(fault) = case.fault {
        command.args(["--fault", fault]);
    }
    if case.wants_key == WantsKey::Yes {
        command.args(["--key", MOCK_KEY]);
    }
    let mock = Mock(
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?,
    );
    let listens = async {
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), listens).await?;
    Ok((mock, format!("http://127.0.0.1:{port}")))
}

/// The same request sent plainly, and the reply as it came.
async fn exchange(case: &Case, base: &str) -> Result<Value, Failure> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let (mut request, path, body) = match &case.asks {
        Asks::Decision(asked) => {
            let path = "/v1/systemone";
            let body = provider(case)?.encode(asked)?;
            let sent: Value = serde_json::from_slice(&body)?;
            (client.post(format!("{base}{path}")).body(body), path, sent)
        }
        Asks::Models => {
            let path = "/v1/models";
            (client.get(format!("{base}{path}")), path, Value::Null)
        }
    };
    if let Some(key) = case.sends {
        request = request.bearer_auth(key);
    }
    let response = request.send().await?;
    let status = response.status().as_u16();
    let content_type = response.headers().get("content-type").cloned();
    let content_type = content_type.ok_or("no content type")?;
    let text = response.text().await?;
    Ok(json!({
        "path": path,
        "request": body,
        "status": status,
        "content_type": content_type.to_str()?,
        "reply": text,
    }))
}
