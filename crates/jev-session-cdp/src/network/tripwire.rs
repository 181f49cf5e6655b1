//! A proxy that never answers: where the browser is sent for everything it would fetch by itself.
//! Every connection is counted, its target is logged, and it is dropped. Each tab has its own, so
//! that what one page tries is held against no other.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use jev_core::access::{AccessList, CanonicalUrl};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::counters::{Counted, NetworkCounters};

/// How long a connection may take to say what it wants.
const PATIENCE: Duration = Duration::from_millis(200);
/// How much of what it says is read, in bytes.
const READ_MAX: usize = 512;

/// A listening port of ours on loopback. Closed when dropped.
#[derive(Debug)]
pub(crate) struct Tripwire {
    port: u16,
    task: JoinHandle<()>,
}

impl Tripwire {
    /// Takes a free port and counts what arrives there. `allowed` gives the origins that could have
    /// been fetched through us: asking for one of them directly is a refused kind of request, asking
    /// for another is a breach.
    pub(crate) async fn set(
        counters: Arc<NetworkCounters>,
        allowed: impl Fn() -> Option<AccessList> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let allowed = Arc::new(allowed);
        let task = tokio::spawn(async move {
            loop {
                // An error here is ours (no descriptor left), not the end of the tripwire.
                let Ok((stream, _)) = listener.accept().await else {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                };
                let counters = Arc::clone(&counters);
                let allowed = Arc::clone(&allowed);
                // Apart, so that a slow one delays no count. Ends by itself after `PATIENCE`.
                tokio::spawn(async move {
                    let wanted = Wanted::read(stream).await;
                    let harmless = match &wanted.target {
                        // A connection opened ahead of any request.
                        None => true,
                        Some(target) => allowed().is_some_and(|list| target.is_on(&list)),
                    };
                    if harmless {
                        counters.count(Counted::Kind);
                        tracing::debug!(%wanted, "the browser tried an allowed address by itself");
                    } else {
                        counters.count(Counted::Breach);
                        tracing::warn!(%wanted, "the browser tried to reach the network by itself");
                    }
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

/// What a connection asked for. Its path may hold secrets of a page and is left out.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    method: String,
    target: Option<Target>,
}

/// Host and port asked for.
#[derive(Debug, PartialEq, Eq)]
struct Target(String);

impl Target {
    /// A tunnel does not say what is spoken inside, so both are looked up.
    fn is_on(&self, list: &AccessList) -> bool {
        ["http", "https"].iter().any(|scheme| {
            CanonicalUrl::parse(&format!("{scheme}://{}/", self.0))
                .is_ok_and(|url| list.allows_origin_of(&url))
        })
    }
}

impl Wanted {
    async fn read(mut stream: TcpStream) -> Self {
        let mut start = [0; READ_MAX];
        let read = tokio::time::timeout(PATIENCE, stream.read(&mut start)).await;
        let count = read.ok().and_then(Result::ok).unwrap_or_default();
        Self::parse(&String::from_utf8_lossy(
            start.get(..count).unwrap_or_default(),
        ))
    }

    fn parse(text: &str) -> Self {
        let mut words = text.split_whitespace();
        let method = words.next().unwrap_or_default().to_owned();
        let target = words.next().map(|target| {
            let rest = target.split_once("://").map_or(target, |(_, rest)| rest);
            let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
            Target(host.to_owned())
        });
        Self { method, target }
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let host = self.target.as_ref().map_or("nothing", |target| &target.0);
        write!(f, "{} {host}", self.method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_allowed_origins_and_silence_are_harmless() {
        let list = AccessList::parse(["http://h:81/docs/*", "https://s/"]).unwrap();
        let cases = [
            ("CONNECT h:81 HTTP/1.1\r\n", Some(true)),
            ("GET http://h:81/other?x HTTP/1.1\r\n", Some(true)),
            ("CONNECT s:443 HTTP/1.1\r\n", Some(true)),
            ("CONNECT s:80 HTTP/1.1\r\n", Some(false)),
            ("GET http://h:82/ HTTP/1.1\r\n", Some(false)),
            ("GET http://h:81@evil/ HTTP/1.1\r\n", Some(false)),
            ("\u{16}\u{3}", None),
            ("GARBAGE \u{0}", Some(false)),
            ("", None),
        ];
        for (text, harmless) in cases {
            let target = Wanted::parse(text).target;
            assert_eq!(target.map(|target| target.is_on(&list)), harmless, "{text}");
        }
    }
}
