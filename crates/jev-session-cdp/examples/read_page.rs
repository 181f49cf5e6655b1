//! A browser session alone: opens a page of this machine in a real Chromium, reads what a person
//! would see, and closes everything behind it.
//!
//! `cargo run -p jev-session-cdp --example read_page`

use std::net::Ipv4Addr;
use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use jev_core::contract::Reach;
use jev_core::ids::Scope;
use jev_core::policy::ActionPolicy;
use jev_core::ports::{CloseReport, OpenRequest, SessionFactory};
use jev_core::snapshot::Snapshot;
use jev_session_cdp::{CdpSessionFactory, SessionOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

type Failure = Box<dyn std::error::Error>;

const PAGE: &str = "<!doctype html><title>Help centre</title>
<h1>How can we help?</h1><p>Ask <a href=warranty>about the warranty</a>.
<p style=display:none>Nobody sees this.";

/// Answers every request with the page.
async fn serve(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await?;
        let length = PAGE.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(PAGE.as_bytes()).await?;
        stream.shutdown().await?;
    }
}

/// What the session sees, and how it closed.
pub(crate) async fn look() -> Result<(Snapshot, CloseReport), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let origin = format!("http://{}", listener.local_addr()?);
    let server = tokio::spawn(serve(listener));
    let factory = CdpSessionFactory::new(SessionOptions::default());
    let request = OpenRequest {
        scope: Scope::new("ada", "session-1", "tab-1")?,
        start: CanonicalUrl::parse(&origin)?,
        access: AccessList::parse([origin.as_str()])?,
        actions: ActionPolicy::read_only(),
        reach: Reach::Document,
    };
    let session = factory.open(request, Duration::from_secs(30)).await?;
    let snapshot = session.observe(Duration::from_secs(10)).await;
    let closed = session.close(Duration::from_secs(2)).await;
    server.abort();
    Ok((snapshot?, closed))
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn main() -> Result<(), Failure> {
    let (page, closed) = look().await?;
    println!("{} \u{2014} {}", page.title, page.url);
    println!("{}", page.text);
    for candidate in &page.candidates {
        println!("{}: {}", candidate.role.word(), candidate.label);
    }
    println!("closed: {:?}", closed.outcome);
    Ok(())
}
