//! A proxy that never answers: where the browser is sent for everything it would fetch by itself.
//! Every connection is counted, its first line is logged, and it is dropped.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::counters::{Counted, NetworkCounters};

/// How long a connection may take to say what it wanted.
const PATIENCE: Duration = Duration::from_millis(200);

/// A listening port of ours on loopback. Closed when dropped.
#[derive(Debug)]
pub(crate) struct Tripwire {
    port: u16,
    task: JoinHandle<()>,
}

impl Tripwire {
    /// Takes a free port and counts what arrives there as breaches.
    pub(crate) async fn set(counters: Arc<NetworkCounters>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let task = tokio::spawn(async move {
            loop {
                // An error here is ours (no descriptor left), not the end of the tripwire.
                let Ok((stream, _)) = listener.accept().await else {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                };
                counters.count(Counted::Breach);
                // Apart, so that a slow one delays no count. Ends by itself after `PATIENCE`.
                tokio::spawn(async move {
                    let wanted = first_words(stream).await;
                    tracing::warn!(wanted, "the browser tried to reach the network by itself");
                });
            }
        });
        Ok(Self { port, task })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Tripwire {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Method and host of what was asked for; the path may hold secrets of a page and is left out.
async fn first_words(mut stream: TcpStream) -> String {
    let mut start = [0; 256];
    let read = tokio::time::timeout(PATIENCE, stream.read(&mut start)).await;
    let count = read.ok().and_then(Result::ok).unwrap_or_default();
    let text = String::from_utf8_lossy(start.get(..count).unwrap_or_default()).into_owned();
    let mut words = text.split_whitespace();
    let method = words.next().unwrap_or("nothing");
    let target = words.next().unwrap_or_default();
    let host = target.split_once("://").map_or(target, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default();
    format!("{method} {host}")
}
