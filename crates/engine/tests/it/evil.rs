//! A network that does to a simulated one what hostile and broken networks do: connections that break off, a DNS that dies,
//! servers by script. It counts what matters to limits.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use probity_engine::net::{BoxFuture, ConnectFailure, DialRequest, Net, Stream};
use probity_engine::{Engine, EngineConfig};
use probity_mail::dns::{DnsAnswer, DnsFailure, DnsLookup, QueryKind};
use probity_mailworld::{MemoryNet, World};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, ReadBuf};

use crate::world::{Lab, config};

/// How connections break off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// After so many bytes from the server.
    pub after: usize,
    /// The first so many connections only.
    pub connections: u64,
    /// With an error in place of an end.
    pub reset: bool,
}

/// A server by script: what it says to the lines that have come at once. Nothing more to say closes the connection.
pub(crate) type Script = Arc<dyn Fn(&[String]) -> Vec<Say> + Send + Sync>;

/// One thing that a scripted server does.
#[derive(Clone, Debug)]
pub(crate) enum Say {
    /// Sends this.
    Text(String),
    /// Waits, in milliseconds.
    Wait(u64),
    /// Closes the connection.
    Close,
}

/// What a network does wrong.
#[derive(Clone, Default)]
pub(crate) struct Wrong {
    pub cut: Option<Cut>,
    /// After so many questions the DNS does not answer any more.
    pub dns_dies_after: Option<u64>,
    /// From then on it denies every name instead, as a resolver that was cut off from the internet may.
    pub dns_denies: bool,
    /// So many connections fail for want of something on this machine.
    pub local_failures: u64,
    /// Answers for every exchanger.
    pub script: Option<Script>,
}

/// What the engine has done to the network.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    open: AtomicUsize,
    /// The most connections at a time, those being opened included.
    pub most_open: AtomicUsize,
    /// Bytes that were read.
    pub read: AtomicU64,
    /// Bytes that were written.
    pub written: Mutex<Vec<u8>>,
    pub dials: AtomicU64,
    pub dialled: Mutex<BTreeSet<IpAddr>>,
    pub lookups: AtomicU64,
    looking: AtomicUsize,
    /// The most questions at a time.
    pub most_looking: AtomicUsize,
}

impl Seen {
    pub(crate) fn dials(&self) -> u64 {
        self.dials.load(Ordering::SeqCst)
    }

    pub(crate) fn lookups(&self) -> u64 {
        self.lookups.load(Ordering::SeqCst)
    }
}

/// Counts itself in as long as it lives.
struct Within(Arc<Seen>, fn(&Seen) -> &AtomicUsize);

impl Within {
    fn enter(seen: &Arc<Seen>, now: fn(&Seen) -> &AtomicUsize, most: fn(&Seen) -> &AtomicUsize) -> Self {
        let count = now(seen).fetch_add(1, Ordering::SeqCst) + 1;
        most(seen).fetch_max(count, Ordering::SeqCst);
        Self(seen.clone(), now)
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        self.1(&self.0).fetch_sub(1, Ordering::SeqCst);
    }
}

/// The network.
pub(crate) struct Evil {
    net: Arc<MemoryNet>,
    wrong: Wrong,
    seen: Arc<Seen>,
}

/// A lab over such a network.
pub(crate) fn lab(world: &Arc<World>, wrong: Wrong, change: impl FnOnce(&mut EngineConfig)) -> (Lab, Arc<Seen>) {
    let net = world.net(1);
    let seen = Arc::new(Seen::default());
    let mut config = config(1);
    change(&mut config);
    let evil = Evil { net: net.clone(), wrong, seen: seen.clone() };
    let engine = Engine::new(config, Arc::new(evil)).expect("a sound configuration");
    (Lab { engine, net }, seen)
}

impl Net for Evil {
    fn lookup<'a>(&'a self, name: &'a str, kind: QueryKind) -> BoxFuture<'a, DnsLookup> {
        Box::pin(async move {
            let nth = self.seen.lookups.fetch_add(1, Ordering::SeqCst);
            let _within = Within::enter(&self.seen, |seen| &seen.looking, |seen| &seen.most_looking);
            if self.wrong.dns_dies_after.is_some_and(|after| nth >= after) {
                if self.wrong.dns_denies {
                    return DnsLookup { answer: DnsAnswer::NoName, ttl_ms: 86_400_000 };
                }
                tokio::time::sleep(Duration::from_secs(10)).await;
                return DnsLookup { answer: DnsAnswer::Failed(DnsFailure::TimedOut), ttl_ms: 0 };
            }
            self.net.lookup(name, kind).await
        })
    }

    fn connect(&self, dial: DialRequest) -> BoxFuture<'_, Result<Box<dyn Stream>, ConnectFailure>> {
        Box::pin(async move {
            let nth = self.seen.dials.fetch_add(1, Ordering::SeqCst);
            self.seen.dialled.lock().unwrap().insert(dial.address);
            if nth < self.wrong.local_failures {
                return Err(ConnectFailure::Local);
            }
            let within = Within::enter(&self.seen, |seen| &seen.open, |seen| &seen.most_open);
            let inner: Box<dyn Stream> = match &self.wrong.script {
                Some(script) => {
                    let (ours, theirs) = tokio::io::duplex(64 * 1024);
                    tokio::spawn(play(theirs, script.clone()));
                    Box::new(ours)
                }
                None => self.net.connect(dial).await?,
            };
            let cut = self.wrong.cut.filter(|cut| nth < cut.connections);
            Ok(Box::new(Wire { inner, cut, seen: self.seen.clone(), _within: within }) as Box<dyn Stream>)
        })
    }
}

/// Serves one connection by script.
async fn play(stream: DuplexStream, script: Script) {
    let mut stream = BufReader::new(stream);
    let mut lines: Vec<String> = vec![String::new()];
    loop {
        for say in script(&lines) {
            match say {
                Say::Text(text) => {
                    if stream.get_mut().write_all(text.as_bytes()).await.is_err() {
                        return;
                    }
                }
                Say::Wait(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                Say::Close => return,
            }
        }
        lines.clear();
        loop {
            let mut line = String::new();
            match stream.read_line(&mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => lines.push(line.trim_end().to_owned()),
            }
            if stream.buffer().is_empty() {
                break;
            }
        }
    }
}

/// The client's side of a connection.
struct Wire {
    inner: Box<dyn Stream>,
    cut: Option<Cut>,
    seen: Arc<Seen>,
    _within: Within,
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let room = match self.cut {
            Some(Cut { after: 0, reset: true, .. }) => {
                return Poll::Ready(Err(std::io::ErrorKind::ConnectionReset.into()));
            }
            Some(Cut { after: 0, .. }) => return Poll::Ready(Ok(())),
            Some(Cut { after, .. }) => after.min(buf.remaining()),
            None => buf.remaining(),
        };
        let mut bytes = vec![0; room];
        let mut part = ReadBuf::new(&mut bytes);
        let polled = Pin::new(&mut self.inner).poll_read(cx, &mut part);
        buf.put_slice(part.filled());
        let count = part.filled().len();
        self.seen.read.fetch_add(count as u64, Ordering::SeqCst);
        if let Some(cut) = &mut self.cut {
            cut.after -= count;
        }
        polled
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = polled {
            self.seen.written.lock().unwrap().extend_from_slice(&bytes[..count]);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
