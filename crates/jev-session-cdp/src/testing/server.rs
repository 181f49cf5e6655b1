//! A tiny loopback server for tests: counts every connection, request and datagram, and can answer
//! in ways that a well-behaved library won't.

use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinHandle;

/// Largest head of a request, in bytes.
const HEAD_MAX: usize = 64 * 1024;

/// A request's first line and head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The whole head.
    pub head: String,
}

impl Asked {
    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// What to answer.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A whole answer.
    Whole {
        /// The status line's number.
        status: u16,
        /// Headers besides the length.
        headers: Vec<(String, String)>,
        /// The body.
        body: Vec<u8>,
    },
    /// A plain text after a while.
    Later(Duration, &'static str),
    /// A document in pieces, a pause before each.
    Pieces(Duration, &'static [&'static str]),
    /// These bytes, then the end.
    Raw(Vec<u8>),
    /// A head, then one byte at every beat, for ever.
    Dribble(Duration),
    /// Nothing, with the connection held open.
    Silence,
    /// A head, then bytes as fast as they are taken, for ever.
    Endless,
}

impl Reply {
    /// An answer with a content type.
    #[must_use]
    pub fn of(kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::Whole {
            status: 200,
            headers: vec![("content-type".into(), kind.into())],
            body: body.into(),
        }
    }

    /// A redirect.
    #[must_use]
    pub fn redirect(status: u16, to: &str) -> Self {
        Self::Whole {
            status,
            headers: vec![("location".into(), to.into())],
            body: Vec::new(),
        }
    }

    /// Only a status.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::Whole {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }
}

#[derive(Debug, Default)]
struct Seen {
    connections: AtomicU64,
    datagrams: AtomicU64,
    asked: Mutex<Vec<Asked>>,
}

/// A server on `127.0.0.1`, TCP and UDP on the same port. Stops when dropped.
#[derive(Debug)]
pub struct Server {
    port: u16,
    seen: Arc<Seen>,
    tasks: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts one on a free port.
    ///
    /// # Errors
    /// When there is no free port.
    pub async fn start(
        answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let seen = Arc::new(Seen::default());
        let answer = Arc::new(answer);
        let tcp_seen = Arc::clone(&seen);
        let tcp = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tcp_seen.connections.fetch_add(1, Ordering::SeqCst);
                let seen = Arc::clone(&tcp_seen);
                let answer = Arc::clone(&answer);
                // An error is the client's going away.
                tokio::spawn(async move { drop(serve(stream, &seen, answer.as_ref()).await) });
            }
        });
        let udp_seen = Arc::clone(&seen);
        let udp = tokio::spawn(async move {
            let mut datagram = [0; 2048];
            while udp.recv_from(&mut datagram).await.is_ok() {
                udp_seen.datagrams.fetch_add(1, Ordering::SeqCst);
            }
        });
        Ok(Self {
            port,
            seen,
            tasks: vec![tcp, udp],
        })
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its origin by address.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// TCP connections accepted so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// UDP datagrams received so far.
    #[must_use]
    pub fn datagrams(&self) -> u64 {
        self.seen.datagrams.load(Ordering::SeqCst)
    }

    /// Requests received so far.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        let asked = self.seen.asked.lock();
        asked.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn serve(
    mut stream: TcpStream,
    seen: &Seen,
    answer: &(impl Fn(&Asked) -> Reply + Send + Sync),
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut pending = Vec::new();
    while let Some(asked) = read_head(&mut stream, &mut pending).await? {
        let reply = answer(&asked);
        seen.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(asked);
        match reply {
            Reply::Whole {
                status,
                headers,
                body,
            } => {
                let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
                for (name, value) in headers {
                    head.push_str(&format!("{name}: {value}\r\n"));
                }
                head.push_str("\r\n");
                stream.write_all(head.as_bytes()).await?;
                stream.write_all(&body).await?;
            }
            Reply::Later(pause, text) => {
                tokio::time::sleep(pause).await;
                let head = format!("HTTP/1.1 200 X\r\ncontent-length: {}\r\n\r\n", text.len());
                stream.write_all(head.as_bytes()).await?;
                stream.write_all(text.as_bytes()).await?;
            }
            Reply::Pieces(pause, pieces) => {
                stream.write_all(OPEN_HEAD).await?;
                for piece in pieces {
                    tokio::time::sleep(pause).await;
                    stream.write_all(piece.as_bytes()).await?;
                }
                return stream.shutdown().await;
            }
            Reply::Raw(bytes) => {
                stream.write_all(&bytes).await?;
                return stream.shutdown().await;
            }
            Reply::Dribble(beat) => {
                stream.write_all(OPEN_HEAD).await?;
                loop {
                    stream.write_all(b".").await?;
                    tokio::time::sleep(beat).await;
                }
            }
            Reply::Silence => {
                // Until the client goes away.
                let mut rest = [0; 64];
                while stream.read(&mut rest).await? > 0 {}
                return Ok(());
            }
            Reply::Endless => {
                stream.write_all(OPEN_HEAD).await?;
                let block = [b'.'; 64 * 1024];
                loop {
                    stream.write_all(&block).await?;
                }
            }
        }
    }
    Ok(())
}

const OPEN_HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<title>open</title>";

/// Reads to the end of a request's head, keeping what follows for the next. Bodies are skipped only
/// when they come with their head; the clients of these tests send none that is longer.
async fn read_head(stream: &mut TcpStream, pending: &mut Vec<u8>) -> io::Result<Option<Asked>> {
    loop {
        if let Some(end) = pending.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = pending.drain(..end + 4).collect();
            pending.clear();
            let head = String::from_utf8_lossy(&head).into_owned();
            let mut words = head.split(' ');
            let mut word = || words.next().unwrap_or_default().to_owned();
            return Ok(Some(Asked {
                method: word(),
                target: word(),
                head,
            }));
        }
        let mut block = [0; 4096];
        let count = stream.read(&mut block).await?;
        if count == 0 || pending.len() > HEAD_MAX {
            return Ok(None);
        }
        pending.extend(block.iter().take(count));
    }
}
