//! Uses a browser that somebody else started: contexts of our own beside its user's, nothing of
//! the user's touched. The boundary is weaker here, and says so.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout};
use url::Url;

use crate::connection::Connection;
use crate::error::LaunchError;
use crate::flags::Walls;
use crate::launch::{Browser, raise};
use crate::network::boundary::Boundary;
use crate::network::counters::NetworkCounters;
use crate::websocket;

/// How strong a browser's boundary is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundaryKind {
    /// Ours from its start: every request of the whole browser is held, it has no way out by itself.
    Whole,
    /// Attached to: requests of our tabs are held tab by tab, and what is not held ends at our
    /// proxy. A page is kept from sending datagrams by a script only, and there is no second wall.
    Attached,
}

/// Where a browser of this machine listens: `ws://127.0.0.1:PORT/devtools/browser/ID`, or
/// `http://127.0.0.1:PORT`, which is asked for the former.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserAddress(Url);

impl FromStr for BrowserAddress {
    type Err = LaunchError;

    fn from_str(text: &str) -> Result<Self, LaunchError> {
        let address = Url::parse(text).map_err(|_| LaunchError::Address)?;
        let named = matches!(address.scheme(), "ws" | "http")
            && websocket::loopback(&address).is_some()
            && address.username().is_empty()
            && address.password().is_none();
        named.then_some(Self(address)).ok_or(LaunchError::Address)
    }
}

impl fmt::Display for BrowserAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Browser {
    /// Attaches to a running browser of this machine. Closing it ends our contexts and leaves the browser running.
    ///
    /// # Errors
    /// [`LaunchError`].
    pub async fn attach(address: &BrowserAddress, deadline: Duration) -> Result<Self, LaunchError> {
        let end = Instant::now() + deadline;
        let left = || end.saturating_duration_since(Instant::now());
        let BrowserAddress(address) = address;
        let address = match address.scheme() {
            "http" => timeout(left(), ask(address))
                .await
                .map_err(|_| LaunchError::Attach(std::io::ErrorKind::TimedOut.into()))??,
            _ => address.clone(),
        };
        let (source, sink) = timeout(left(), websocket::open(&address))
            .await
            .map_err(|_| LaunchError::Attach(std::io::ErrorKind::TimedOut.into()))?
            .map_err(LaunchError::Attach)?;
        let connection = Connection::start(source, sink);
        let walls = Walls::Attached;
        let boundary = Boundary::new(
            connection.clone(),
            Arc::new(NetworkCounters::default()),
            walls,
        );
        let events = connection.subscribe_root();
        match raise(&connection, walls, left()).await {
            Ok(version) => {
                tokio::spawn(Arc::clone(&boundary).run(events));
                Ok(Self::attached(connection, boundary, version))
            }
            Err(error) => {
                connection.shut();
                Err(LaunchError::Attach(std::io::Error::other(error)))
            }
        }
    }
}

/// Asks a browser's port for the address of its websocket.
async fn ask(address: &Url) -> Result<Url, LaunchError> {
    let other = |error: reqwest::Error| LaunchError::Attach(std::io::Error::other(error));
    let question = address
        .join("/json/version")
        .map_err(|_| LaunchError::Address)?;
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(other)?;
    let answer = client.get(question).send().await.map_err(other)?;
    let text = answer.text().await.map_err(other)?;
    let answer: Value = serde_json::from_str(&text).map_err(|_| LaunchError::Address)?;
    answer
        .get("webSocketDebuggerUrl")
        .and_then(Value::as_str)
        .and_then(|found| Url::parse(found).ok())
        .filter(|found| found.scheme() == "ws" && websocket::loopback(found).is_some())
        .ok_or(LaunchError::Address)
}
