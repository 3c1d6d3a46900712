//! A cheap client: one persistent connection, one request at a time, responses with a length.

use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Initial size of the read buffer.
const BUFFER: usize = 16 * 1_024;
/// Maximum size of a response.
const ANSWER_MAX: usize = 8 * 1_024 * 1_024;

pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects to the service.
    #[expect(clippy::disallowed_methods, reason = "a client that measures dials what it measures")]
    pub async fn open(to: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; BUFFER] })
    }

    /// Sends a request; returns the response's status and body.
    ///
    /// # Errors
    /// If the connection is closed or the response has no length.
    pub async fn ask(&mut self, request: &[u8]) -> anyhow::Result<(u16, &[u8])> {
        self.stream.write_all(request).await?;
        let mut filled = 0;
        let mut whole = None;
        loop {
            if filled == self.buffer.len() {
                ensure!(filled < ANSWER_MAX, "an answer is too long");
                self.buffer.resize(filled * 2, 0);
            }
            let read = self.stream.read(&mut self.buffer[filled..]).await?;
            if read == 0 {
                bail!("the service closed a connection");
            }
            filled += read;
            if whole.is_none() {
                whole = head(&self.buffer[..filled])?;
            }
            if let Some(Head { status, body, end }) = whole.filter(|head| head.end <= filled) {
                return Ok((status, &self.buffer[body..end]));
            }
        }
    }

    /// Sends a request and parses the JSON response.
    ///
    /// # Errors
    /// Those of [`Connection::ask`], and if the status is not 200 or the body is not JSON.
    pub async fn json(&mut self, request: &[u8]) -> anyhow::Result<Value> {
        let (status, body) = self.ask(request).await?;
        ensure!(status == 200, "an answer had the status {status}: {}", String::from_utf8_lossy(body));
        Ok(serde_json::from_slice(body)?)
    }
}

/// Status of a response, and the range of its body.
#[derive(Clone, Copy)]
struct Head {
    status: u16,
    body: usize,
    end: usize,
}

/// Parses the head of a response; `None` if it is incomplete.
fn head(answer: &[u8]) -> anyhow::Result<Option<Head>> {
    let Some(head) = answer.windows(4).position(|end| end == b"\r\n\r\n") else { return Ok(None) };
    let (text, body) = (str::from_utf8(&answer[..head])?, head + 4);
    let status = text.get(9..12).context("a status")?.parse()?;
    let length = text.split("\r\n").filter_map(|line| line.split_once(": "));
    let length = length.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length: usize = length.context("an answer with a length")?.1.parse()?;
    Ok(Some(Head { status, body, end: body + length }))
}

pub fn get(target: &str, key: Option<&str>) -> Vec<u8> {
    let key = key.map_or_else(String::new, |key| format!("Authorization: Bearer {key}\r\n"));
    format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{key}\r\n").into_bytes()
}

pub fn post(target: &str, key: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

pub async fn is_ready(at: SocketAddr) -> bool {
    let asked = async { Connection::open(at).await?.ask(&get("/readyz", None)).await.map(|(status, _)| status) };
    asked.await.is_ok_and(|status| status == 200)
}

/// Returns the remaining credits of the key's organization.
pub async fn credits(at: SocketAddr, key: &str) -> anyhow::Result<i64> {
    let body = Connection::open(at).await?.json(&get("/v1/organization", Some(key))).await?;
    body.pointer("/credits/total").and_then(Value::as_i64).with_context(|| format!("no credits in {body}"))
}
