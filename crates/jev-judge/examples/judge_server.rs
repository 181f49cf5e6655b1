//! A judge as a System One server on loopback, until Ctrl-C:
//! `cargo run -p jev-judge --features server --example judge_server -- 8700 lexical`.
//! With `JUDGE_SERVER_KEY` set, requests must bring that key.

use jev_judge::credential::Secret;
use jev_judge::server::{ServerConfig, serve};
use jev_judge::spec::{BuildOptions, JudgeSpec};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let port: u16 = match arguments.next() {
        Some(port) => port.parse()?,
        None => 0,
    };
    let spec = match arguments.next() {
        Some(name) => JudgeSpec::parse(&name)?,
        None => JudgeSpec::preferred(),
    };
    let judge = spec.build(&BuildOptions::default())?;
    let config = ServerConfig {
        key: std::env::var("JUDGE_SERVER_KEY")
            .ok()
            .and_then(|key| Secret::new(&key)),
        ..ServerConfig::default()
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("{spec} at http://{}", listener.local_addr()?);
    let stop = async {
        // Without a signal handler the process simply ends at Ctrl-C.
        let _ = tokio::signal::ctrl_c().await;
    };
    serve(listener, judge, config, stop).await?;
    Ok(())
}
