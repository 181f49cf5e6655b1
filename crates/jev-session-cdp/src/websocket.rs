//! The websocket of a browser that somebody else started, as a transport.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use url::{Host, Url};

use crate::transport::{MAX_MESSAGE_BYTES, Sink, Source};

type Socket = WebSocketStream<TcpStream>;

/// Opens the websocket. The address must name this machine; the connection goes to its loopback,
/// whatever a name would resolve to.
pub(crate) async fn open(address: &Url) -> io::Result<(SocketSource, SocketSink)> {
    let port = address.port_or_known_default().unwrap_or_default();
    let target: SocketAddr = match loopback(address) {
        Some(Loopback::V4) => (Ipv4Addr::LOCALHOST, port).into(),
        Some(Loopback::V6) => (Ipv6Addr::LOCALHOST, port).into(),
        None => return Err(io::ErrorKind::AddrNotAvailable.into()),
    };
    let stream = TcpStream::connect(target).await?;
    stream.set_nodelay(true)?;
    let most = usize::try_from(MAX_MESSAGE_BYTES).unwrap_or(usize::MAX);
    let config = WebSocketConfig::default()
        .max_message_size(Some(most))
        .max_frame_size(Some(most));
    let (socket, _) = client_async_with_config(address.as_str(), stream, Some(config))
        .await
        .map_err(io::Error::other)?;
    let (sink, source) = socket.split();
    Ok((
        SocketSource(source),
        SocketSink {
            sink,
            batch: Vec::new(),
        },
    ))
}

/// Which loopback an address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loopback {
    V4,
    V6,
}

/// Whether an address names this machine.
pub(crate) fn loopback(address: &Url) -> Option<Loopback> {
    match address.host()? {
        Host::Domain("localhost") => Some(Loopback::V4),
        Host::Ipv4(Ipv4Addr::LOCALHOST) => Some(Loopback::V4),
        Host::Ipv6(Ipv6Addr::LOCALHOST) => Some(Loopback::V6),
        Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_) => None,
    }
}

/// The reading half.
pub(crate) struct SocketSource(SplitStream<Socket>);

impl Source for SocketSource {
    async fn next(&mut self, buffer: &mut Vec<u8>) -> bool {
        buffer.clear();
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => {
                    buffer.extend_from_slice(text.as_bytes());
                    return true;
                }
                Some(Ok(
                    Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_),
                )) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return false,
            }
        }
    }
}

/// The writing half.
pub(crate) struct SocketSink {
    sink: SplitSink<Socket, Message>,
    batch: Vec<Message>,
}

impl Sink for SocketSink {
    fn push(&mut self, message: &str) {
        self.batch.push(Message::text(message));
    }

    async fn flush(&mut self) -> io::Result<()> {
        for message in self.batch.drain(..) {
            self.sink.feed(message).await.map_err(io::Error::other)?;
        }
        self.sink.flush().await.map_err(io::Error::other)
    }
}
