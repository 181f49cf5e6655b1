//! The stdio transport: one JSON message a line. A line that is too long, is not JSON or is no
//! request gets a typed answer, and the next line is read as if nothing had happened.

use std::io;

use rmcp::model::{ClientJsonRpcMessage, ErrorData, JsonRpcError, RequestId, ServerJsonRpcMessage};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Largest message that is read, in bytes. A goal of the longest kind, in any script and escaped
/// in the longest way, takes less than a tenth of it.
pub const MESSAGE_MAX_BYTES: usize = 1024 * 1024;

/// Most answers that wait for a client that does not read.
const UNREAD_MAX: usize = 64;

/// Reads messages from a stream of lines and writes messages to another.
pub(super) struct Lines<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// The rest of a line that was too long is being skipped.
    skipping: bool,
    /// A request has been read: before the first one nothing else makes sense.
    begun: bool,
    /// An answer in the transport's own name that is not on its way yet.
    pending: Option<Vec<u8>>,
    write: Option<mpsc::Sender<Vec<u8>>>,
    writer: Option<JoinHandle<()>>,
    gone: CancellationToken,
}

impl<R: AsyncRead + Send + Unpin> Lines<R> {
    /// A transport over two streams. `gone` is cancelled when either of them ends.
    pub(super) fn new<W>(read: R, write: W, gone: CancellationToken) -> Self
    where
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (sender, receiver) = mpsc::channel(UNREAD_MAX);
        let writer = tokio::spawn(write_all(write, receiver, gone.clone()));
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            skipping: false,
            begun: false,
            pending: None,
            write: Some(sender),
            writer: Some(writer),
            gone,
        }
    }

    /// The next line, its newline included. Nothing is lost when the future is dropped.
    async fn line(&mut self) -> io::Result<Line> {
        loop {
            let available = self.read.fill_buf().await?;
            if available.is_empty() {
                return Ok(Line::End);
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let taken = newline.map_or(available.len(), |at| at + 1);
            let too_long = self.line.len() + taken > MESSAGE_MAX_BYTES;
            if !self.skipping && !too_long {
                self.line
                    .extend_from_slice(available.get(..taken).unwrap_or_default());
            }
            self.read.consume(taken);
            match (self.skipping, too_long, newline.is_some()) {
                (true, _, false) | (false, false, false) => {}
                (true, _, true) => self.skipping = false,
                (false, true, ended) => {
                    self.line.clear();
                    self.skipping = !ended;
                    return Ok(Line::TooLong);
                }
                (false, false, true) => return Ok(Line::Whole),
            }
        }
    }
}

/// What reading a line brought.
enum Line {
    Whole,
    TooLong,
    End,
}

async fn write_all<W: AsyncWrite + Send + Unpin>(
    mut write: W,
    mut messages: mpsc::Receiver<Vec<u8>>,
    gone: CancellationToken,
) {
    while let Some(message) = messages.recv().await {
        let written = async {
            write.write_all(&message).await?;
            write.flush().await
        };
        if written.await.is_err() {
            gone.cancel();
            return;
        }
    }
}

fn encode<T: serde::Serialize>(message: &T) -> Option<Vec<u8>> {
    let mut bytes = serde_json::to_vec(message).ok()?;
    bytes.push(b'\n');
    Some(bytes)
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let sender = self.write.clone();
        async move {
            let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
            let bytes = encode(&item).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
            let sender = sender.ok_or_else(closed)?;
            sender.send(bytes).await.map_err(|_| closed())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        // Dropped at any await and called again, this goes on where it was: the line and the
        // pending answer are kept in `self`, and nothing is taken from them before it is sent.
        loop {
            if self.pending.is_some() {
                let permit = self.write.as_ref()?.reserve().await.ok()?;
                if let Some(answer) = self.pending.take() {
                    permit.send(answer);
                }
            }
            match self.line().await {
                Ok(Line::Whole) => {
                    let read = parse(&self.line);
                    self.line.clear();
                    match read {
                        Ok(message) => {
                            self.begun |= matches!(message, ClientJsonRpcMessage::Request(_));
                            if self.begun {
                                return Some(message);
                            }
                        }
                        Err(fault) => self.pending = fault.as_deref().and_then(encode),
                    }
                }
                Ok(Line::TooLong) => self.pending = encode(&too_long()),
                Ok(Line::End) | Err(_) => {
                    self.gone.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        drop(self.write.take());
        if let Some(writer) = self.writer.take() {
            // What is written already is flushed; a client that does not read is not waited for.
            let patience = std::time::Duration::from_millis(500);
            let _ = tokio::time::timeout(patience, writer).await;
        }
        Ok(())
    }
}

fn too_long() -> JsonRpcError {
    let text = format!("message too long: at most {MESSAGE_MAX_BYTES} bytes are read");
    JsonRpcError::new(None, ErrorData::invalid_request(text, None))
}

/// A message, or the answer that a faulty one gets; `None` for one that asks for no answer.
pub(super) fn parse(line: &[u8]) -> Result<ClientJsonRpcMessage, Option<Box<JsonRpcError>>> {
    let line = line
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(line)
        .trim_ascii();
    if line.is_empty() {
        return Err(None);
    }
    let fault = match serde_json::from_slice(line) {
        Ok(message) => return Ok(message),
        Err(fault) => fault,
    };
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        let text = if fault.is_eof() {
            "not JSON: it ends too early"
        } else {
            "not JSON"
        };
        let error = JsonRpcError::new(None, ErrorData::parse_error(text, None));
        return Err(Some(Box::new(error)));
    };
    let id = value
        .get("id")
        .and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    let error = match &value {
        Value::Array(_) => ErrorData::invalid_request("batches are not read", None),
        Value::Object(fields) if id.is_some() && fields.contains_key("method") => {
            ErrorData::invalid_request("not a request of this protocol", None)
        }
        // An answer to something that was never asked, or a notification of another kind.
        Value::Object(fields) if fields.contains_key("method") || id.is_some() => {
            return Err(None);
        }
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            ErrorData::invalid_request("not a JSON-RPC message", None)
        }
    };
    Err(Some(Box::new(JsonRpcError::new(id, error))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faulty_messages_get_the_answer_of_their_fault() {
        let code = |line: &str| {
            parse(line.as_bytes()).unwrap_err().map(|error| {
                let id = error.id.map(RequestId::into_json_value);
                (error.error.code.0, id)
            })
        };
        for (line, expected) in [
            ("{", Some((-32700, None))),
            ("hello", Some((-32700, None))),
            ("\u{0}", Some((-32700, None))),
            ("[]", Some((-32600, None))),
            (
                r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
                Some((-32600, None)),
            ),
            ("7", Some((-32600, None))),
            ("{}", Some((-32600, None))),
            (
                r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#,
                Some((-32600, Some(Value::from(5)))),
            ),
            (r#"{"id":9}"#, None),
            ("", None),
            ("  ", None),
        ] {
            assert_eq!(code(line), expected, "{line}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(code(&deep), Some((-32700, None)));
        assert!(parse(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).is_ok());
    }
}
