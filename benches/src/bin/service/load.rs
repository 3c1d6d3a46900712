//! The client: connections that stay open, each with one request at a time.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Larger than any answer.
const ANSWER_MAX: usize = 16 * 1_024;

/// A load that runs.
pub(crate) struct Load {
    shared: Arc<Shared>,
    connections: JoinSet<anyhow::Result<()>>,
}

#[derive(Default)]
struct Shared {
    /// What answers took since somebody looked, in microseconds.
    took: Mutex<Vec<u32>>,
    answers: AtomicU64,
    ending: AtomicBool,
}

impl Load {
    /// Opens the connections and begins.
    pub(crate) async fn start(to: SocketAddr, key: &str, email: &str, connections: usize) -> anyhow::Result<Self> {
        let request: Arc<[u8]> = get(&format!("/v1/verify?email={email}"), Some(key)).into();
        let shared = Arc::new(Shared::default());
        let mut running = JoinSet::new();
        for _ in 0..connections {
            let connection = Connection::open(to).await?;
            running.spawn(call(connection, request.clone(), shared.clone()));
        }
        Ok(Self { shared, connections: running })
    }

    /// What answers took since the last look, in microseconds.
    pub(crate) fn taken(&self) -> Vec<u32> {
        std::mem::take(&mut *self.shared.took.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets every connection finish its request; says how many were answered in all.
    pub(crate) async fn stop(mut self) -> anyhow::Result<u64> {
        self.shared.ending.store(true, Ordering::Relaxed);
        while let Some(ended) = self.connections.join_next().await {
            ended??;
        }
        Ok(self.shared.answers.load(Ordering::Relaxed))
    }
}

#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
async fn call(mut connection: Connection, request: Arc<[u8]>, shared: Arc<Shared>) -> anyhow::Result<()> {
    while !shared.ending.load(Ordering::Relaxed) {
        let began = Instant::now();
        let (status, _) = connection.ask(&request).await?;
        ensure!(status == 200, "an answer had the status {status}");
        let took = u32::try_from(began.elapsed().as_micros())?;
        shared.took.lock().unwrap_or_else(PoisonError::into_inner).push(took);
        shared.answers.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// Whether the service says that it is ready.
pub(crate) async fn is_ready(at: SocketAddr) -> bool {
    let asked = async { Connection::open(at).await?.ask(&get("/readyz", None)).await.map(|(status, _)| status) };
    asked.await.is_ok_and(|status| status == 200)
}

/// The credits that the key's organization has left.
pub(crate) async fn credits(at: SocketAddr, key: &str) -> anyhow::Result<i64> {
    let mut connection = Connection::open(at).await?;
    let (status, body) = connection.ask(&get("/v1/organization", Some(key))).await?;
    ensure!(status == 200, "the organization was answered with {status}");
    let body: serde_json::Value = serde_json::from_slice(body)?;
    body.pointer("/credits/total").and_then(serde_json::Value::as_i64).with_context(|| format!("no credits in {body}"))
}

fn get(target: &str, key: Option<&str>) -> Vec<u8> {
    let key = key.map_or_else(String::new, |key| format!("Authorization: Bearer {key}\r\n"));
    format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{key}\r\n").into_bytes()
}

struct Connection {
    stream: TcpStream,
    buffer: Box<[u8]>,
}

impl Connection {
    #[expect(clippy::disallowed_methods, reason = "a client that measures dials what it measures")]
    async fn open(to: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; ANSWER_MAX].into() })
    }

    /// Sends a request; its answer's status and body.
    async fn ask(&mut self, request: &[u8]) -> anyhow::Result<(u16, &[u8])> {
        self.stream.write_all(request).await?;
        let mut filled = 0;
        loop {
            let read = self.stream.read(&mut self.buffer[filled..]).await?;
            if read == 0 {
                bail!("the service closed a connection, or an answer is too long");
            }
            filled += read;
            if let Some((status, body)) = complete(&self.buffer[..filled])? {
                return Ok((status, &self.buffer[body..filled]));
            }
        }
    }
}

/// The status of an answer and where its body begins, once all of it is there.
fn complete(answer: &[u8]) -> anyhow::Result<Option<(u16, usize)>> {
    let Some(head) = answer.windows(4).position(|end| end == b"\r\n\r\n") else { return Ok(None) };
    let (text, body) = (str::from_utf8(&answer[..head])?, head + 4);
    let status = text.get(9..12).context("a status")?.parse()?;
    let length = text.split("\r\n").filter_map(|line| line.split_once(": "));
    let length = length.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length: usize = length.context("an answer with a length")?.1.parse()?;
    Ok((answer.len() >= body + length).then_some((status, body)))
}
