//! The lexical judge as a System One server on loopback, until Ctrl-C:
//! `cargo run -p jev-judge --features server --example judge_server -- 8700`.

use std::sync::Arc;

use jev_judge::lexical::LexicalJudge;
use jev_judge::server::{ServerConfig, serve};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port: u16 = match std::env::args().nth(1) {
        Some(port) => port.parse()?,
        None => 0,
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}", listener.local_addr()?);
    let stop = async {
        // Without a signal handler the process simply ends at Ctrl-C.
        let _ = tokio::signal::ctrl_c().await;
    };
    serve(
        listener,
        Arc::new(LexicalJudge::new()),
        ServerConfig::default(),
        stop,
    )
    .await?;
    Ok(())
}
