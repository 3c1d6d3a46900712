//! Scripted server on raw TCP.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;

/// Server's action after a request.
#[derive(Clone)]
pub(super) enum ServerMove {
    /// Sends a response and waits for the next request.
    Answer(String),
    /// Sends a response after a delay.
    Slowly(Duration, String),
    /// Sends these bytes and closes the connection.
    Close(String),
    /// Sends the head, then one byte every 10 ms, forever.
    Drip(String),
    /// Sends the first text, then the second one repeatedly until the client stops reading.
    Pour(String, String),
    /// Sends nothing, and keeps the connection open.
    Hang,
}

impl ServerMove {
    pub(super) fn json(status: u16, body: &str) -> Self {
        Self::with_headers(status, "content-type: application/json\r\n", body)
    }

    /// Returns a response with these header lines.
    pub(super) fn with_headers(status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self::Answer(format!("HTTP/1.1 {status} x\r\n{headers}content-length: {length}\r\n\r\n{body}"))
    }
}

/// A port that refuses connections, and stays taken as long as the socket is kept.
pub(super) fn closed() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

/// Running server.
pub(super) struct Scripted {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    sent: Arc<AtomicU64>,
    requests: mpsc::UnboundedReceiver<String>,
}

impl Scripted {
    /// Starts a server that performs these actions in turn, and repeats the last one.
    pub(super) async fn start(script: Vec<ServerMove>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, requests) = mpsc::unbounded_channel();
        let (connections, sent) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU64::new(0)));
        let (counted, written) = (connections.clone(), sent.clone());
        let (script, turn) = (Arc::new(script), Arc::new(AtomicUsize::new(0)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let serving = Serving { script: script.clone(), turn: turn.clone(), sent: written.clone() };
                tokio::spawn(serving.serve(stream, seen.clone()));
            }
        });
        Self { address, connections, sent, requests }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Returns the number of bytes that clients have taken.
    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    /// Returns the requests so far.
    pub(super) fn requests(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.requests.try_recv().ok()).collect()
    }
}

struct Serving {
    script: Arc<Vec<ServerMove>>,
    turn: Arc<AtomicUsize>,
    sent: Arc<AtomicU64>,
}

impl Serving {
    async fn serve(self, mut stream: TcpStream, seen: mpsc::UnboundedSender<String>) {
        while let Some(request) = read_request(&mut stream).await {
            let turn = self.turn.fetch_add(1, Ordering::SeqCst).min(self.script.len() - 1);
            let _ = seen.send(request);
            match &self.script[turn] {
                ServerMove::Answer(bytes) => self.write(&mut stream, bytes).await,
                ServerMove::Slowly(time, bytes) => {
                    tokio::time::sleep(*time).await;
                    self.write(&mut stream, bytes).await
                }
                ServerMove::Close(bytes) => {
                    self.write(&mut stream, bytes).await;
                    return;
                }
                ServerMove::Drip(head) => {
                    self.write(&mut stream, head).await;
                    while self.write(&mut stream, "x").await {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                    false
                }
                ServerMove::Pour(head, piece) => {
                    self.write(&mut stream, head).await;
                    while self.write(&mut stream, piece).await {}
                    false
                }
                ServerMove::Hang => {
                    while stream.read(&mut [0; 1_024]).await.is_ok_and(|read| read > 0) {}
                    return;
                }
            };
        }
    }

    /// Returns whether the client has taken the bytes.
    async fn write(&self, stream: &mut TcpStream, text: &str) -> bool {
        let is_taken = stream.write_all(text.as_bytes()).await.is_ok();
        if is_taken {
            self.sent.fetch_add(text.len() as u64, Ordering::SeqCst);
        }
        is_taken
    }
}

/// Reads a request with its body; `None` at the end of the connection.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes);
        // A TLS handshake (RFC 8446 §5.1).
        if bytes[0] == 22 {
            return Some("tls".into());
        }
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
        if body.len() >= length.parse().unwrap() {
            return Some(text.into_owned());
        }
    }
}
