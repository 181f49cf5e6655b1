//! How protocol messages travel: whole JSON texts in, whole JSON texts out. The pipe is here; the
//! websocket of attached browsers implements the same two traits.

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;

/// Largest message read, in bytes. The largest legal one is a document body of the response cap in
/// base64 several times over; beyond this something is wrong and the connection is given up.
pub(crate) const MAX_MESSAGE_BYTES: u64 = 256 * 1024 * 1024;

/// Where messages come from.
pub(crate) trait Source: Send + 'static {
    /// The next message, put into `buffer` (cleared first). `false` when the other side is gone.
    fn next(&mut self, buffer: &mut Vec<u8>) -> impl Future<Output = bool> + Send;
}

/// Where messages go to.
pub(crate) trait Sink: Send + 'static {
    /// Adds one message to what is about to be sent.
    fn push(&mut self, message: &str);

    /// Sends all that was pushed.
    fn flush(&mut self) -> impl Future<Output = io::Result<()>> + Send;
}

/// The reading end of a NUL-separated pipe.
pub(crate) struct PipeSource(BufReader<pipe::Receiver>);

impl PipeSource {
    /// Takes over a pipe's reading end.
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        let receiver = pipe::Receiver::from_owned_fd(fd)?;
        Ok(Self(BufReader::with_capacity(256 * 1024, receiver)))
    }
}

impl Source for PipeSource {
    async fn next(&mut self, buffer: &mut Vec<u8>) -> bool {
        buffer.clear();
        let mut bounded = (&mut self.0).take(MAX_MESSAGE_BYTES);
        match bounded.read_until(0, buffer).await {
            Ok(_) if buffer.last() == Some(&0) => {
                buffer.pop();
                true
            }
            Ok(_) | Err(_) => false,
        }
    }
}

/// The writing end of a NUL-separated pipe.
pub(crate) struct PipeSink {
    pipe: pipe::Sender,
    buffer: Vec<u8>,
}

impl PipeSink {
    /// Takes over a pipe's writing end.
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            pipe: pipe::Sender::from_owned_fd(fd)?,
            buffer: Vec::new(),
        })
    }
}

impl Sink for PipeSink {
    fn push(&mut self, message: &str) {
        self.buffer.extend_from_slice(message.as_bytes());
        self.buffer.push(0);
    }

    async fn flush(&mut self) -> io::Result<()> {
        let result = self.pipe.write_all(&self.buffer).await;
        self.buffer.clear();
        // One large body must not keep its memory for the browser's life.
        self.buffer.shrink_to(1024 * 1024);
        result
    }
}
