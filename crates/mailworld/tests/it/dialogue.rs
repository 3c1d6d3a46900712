//! A client that says what it is told to say.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use probity_engine::net::{ConnectFailure, DialRequest, Net, ProbeSource, Stream};
use probity_mail::dns::{DnsAnswer, DnsRecord, QueryKind};
use probity_mailworld::MemoryNet;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// How long the client waits for a reply.
const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) struct Client {
    stream: Box<dyn Stream>,
    input: Vec<u8>,
}

/// The time of the runtime's clock, which most tests have paused.
#[expect(clippy::disallowed_methods, reason = "what a test measures is virtual time")]
pub(crate) fn now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// The address of a host, by its name.
pub(crate) async fn address(net: &dyn Net, host: &str) -> IpAddr {
    match net.lookup(host, QueryKind::A).await.answer {
        DnsAnswer::Records(records) => match records[0] {
            DnsRecord::Address(address) => address,
            ref other => panic!("{other:?}"),
        },
        other => panic!("{host}: {other:?}"),
    }
}

pub(crate) fn source(public: &str) -> Arc<ProbeSource> {
    Arc::new(ProbeSource { bind: None, public: public.parse().ok(), helo: "probe.test".into(), proxy: None })
}

pub(crate) async fn dial(net: &MemoryNet, host: &str, source: Arc<ProbeSource>) -> Result<Client, ConnectFailure> {
    let address = address(net, host).await;
    let stream = net.connect(DialRequest { address, port: 25, source, timeout_ms: 5_000 }).await?;
    Ok(Client::new(stream))
}

impl Client {
    pub(crate) fn new(stream: Box<dyn Stream>) -> Self {
        Self { stream, input: Vec::new() }
    }

    pub(crate) async fn open(net: &MemoryNet, host: &str) -> Self {
        dial(net, host, source("203.0.113.7")).await.expect("the host listens")
    }

    /// Reads the banner, says EHLO and MAIL; gives the EHLO reply.
    pub(crate) async fn greet(&mut self) -> String {
        self.reply().await;
        let hello = self.say("EHLO probe.test").await;
        self.say("MAIL FROM:<me@probe.test>").await;
        hello
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.expect("the connection is open");
        self.stream.flush().await.expect("the connection is open");
    }

    pub(crate) async fn say(&mut self, command: &str) -> String {
        self.send(&format!("{command}\r\n")).await;
        self.reply().await
    }

    pub(crate) async fn rcpt(&mut self, address: &str) -> String {
        self.say(&format!("RCPT TO:<{address}>")).await
    }

    /// One reply, lines joined by LF; `<closed>`, `<reset>` or `<silent>` when none comes.
    pub(crate) async fn reply(&mut self) -> String {
        let mut lines = Vec::new();
        loop {
            match self.read_line().await {
                Ok(line) => {
                    let last = line.as_bytes().get(3) != Some(&b'-');
                    lines.push(line);
                    if last {
                        return lines.join("\n");
                    }
                }
                Err(end) => return end.to_owned(),
            }
        }
    }

    async fn read_line(&mut self) -> Result<String, &'static str> {
        loop {
            if let Some(end) = self.input.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.input.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            self.input.reserve(16 * 1024);
            match timeout(PATIENCE, self.stream.read_buf(&mut self.input)).await {
                Ok(Ok(0)) => return Err("<closed>"),
                Ok(Ok(_)) => {}
                Ok(Err(_)) => return Err("<reset>"),
                Err(_) => return Err("<silent>"),
            }
        }
    }

    /// What came and was not read as a reply.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.input
    }

    /// The stream, for TLS; nothing unread may be left.
    pub(crate) fn into_stream(self) -> Box<dyn Stream> {
        assert!(self.input.is_empty(), "{:?}", self.input);
        self.stream
    }
}
