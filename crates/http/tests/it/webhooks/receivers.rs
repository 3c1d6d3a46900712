//! Receivers on loopback, scripted names, and parts of a sender.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use probity_backend::outbound::{HttpTarget, Names, NoNames, Unresolved, UrlGuard};
use probity_backend::webhooks::send::Message;
use probity_backend::webhooks::{SendLimits, Sender, WebhookConfig, event_id};
use probity_engine::clock::EngineClock;
use probity_engine::net::BoxFuture;
use probity_engine::net::egress::{EgressGuard, GuardConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Time limit that no test should reach.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Behavior of a receiver on each connection, after it has read the request.
#[derive(Clone)]
pub(crate) enum Manner {
    /// Sends these bytes and closes the connection.
    Say(String),
    /// Sends these bytes and keeps the connection open.
    Keep(String),
    /// Sends the head, then one byte every 10 ms, forever.
    Drip(String),
    /// Sends the head, then as much as possible, forever.
    Flood(String),
    /// Sends the head, then this number of bytes, and keeps the connection open.
    Pour(String, usize),
    /// Sends nothing, forever.
    Hang,
    /// Depends on the request.
    ByRequest(fn(&str) -> Manner),
}

impl Manner {
    /// Returns a response with only a status.
    pub(crate) fn status(status: u16) -> Self {
        Self::Say(format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n"))
    }
}

pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    hits: Arc<AtomicUsize>,
    at_once: Arc<AtomicUsize>,
    requests: mpsc::UnboundedReceiver<String>,
}

/// Returns a connection with a second handle to inspect it.
fn twice(stream: TcpStream) -> (TcpStream, Arc<std::net::TcpStream>) {
    let stream = stream.into_std().unwrap();
    let look = Arc::new(stream.try_clone().unwrap());
    (TcpStream::from_std(stream).unwrap(), look)
}

/// Returns whether neither side has closed a connection. The kernel has this information at once, even with unread data. On a
/// busy machine, the serving task may not have noticed yet.
#[cfg(target_os = "linux")]
fn is_open(look: &Weak<std::net::TcpStream>) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    look.upgrade().is_some_and(|look| poll(&mut [PollFd::new(&*look, PollFlags::RDHUP)], Some(&at_once)) == Ok(0))
}

#[cfg(not(target_os = "linux"))]
fn is_open(look: &Weak<std::net::TcpStream>) -> bool {
    look.upgrade()
        .is_some_and(|look| look.peek(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock))
}

impl Receiver {
    pub(crate) async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (address, hits) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let (seen, requests) = mpsc::unbounded_channel();
        let (counted, at_once) = (hits.clone(), Arc::new(AtomicUsize::new(0)));
        let most = at_once.clone();
        tokio::spawn(async move {
            let (mut serving, mut open) = (JoinSet::new(), Vec::new());
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                let (stream, look) = twice(stream);
                open.push(Arc::downgrade(&look));
                let served = serve(stream, manner.clone(), seen.clone());
                serving.spawn(async move {
                    served.await;
                    drop(look);
                });
                while serving.try_join_next().is_some() {}
                open.retain(is_open);
                most.fetch_max(open.len(), Ordering::Relaxed);
            }
        });
        Self { address, hits, at_once, requests }
    }

    /// Returns the number of connections so far.
    pub(crate) fn hits(&self) -> usize {
        self.hits.load(Ordering::Relaxed)
    }

    /// Returns the maximum number of concurrent connections.
    pub(crate) fn at_once(&self) -> usize {
        self.at_once.load(Ordering::Relaxed)
    }

    /// Returns the next complete request.
    pub(crate) async fn request(&mut self) -> String {
        tokio::time::timeout(PATIENCE, self.requests.recv()).await.expect("a request comes").unwrap()
    }

    /// Returns the received requests that were not taken yet.
    pub(crate) fn so_far(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.requests.try_recv().ok()).collect()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook?x=1", self.address)
    }

    pub(crate) fn target(&self) -> HttpTarget {
        HttpTarget::parse(&self.url()).unwrap()
    }
}

async fn serve(mut stream: TcpStream, manner: Manner, seen: mpsc::UnboundedSender<String>) {
    let request = read_request(&mut stream).await;
    let manner = match manner {
        Manner::ByRequest(choose) => choose(&request),
        manner => manner,
    };
    let _ = seen.send(request);
    match manner {
        Manner::Say(bytes) => drop(stream.write_all(bytes.as_bytes()).await),
        Manner::Keep(bytes) => {
            let _ = stream.write_all(bytes.as_bytes()).await;
            until_closed(&mut stream).await;
        }
        Manner::Drip(head) => {
            let _ = stream.write_all(head.as_bytes()).await;
            while stream.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        Manner::Flood(head) => {
            let _ = stream.write_all(head.as_bytes()).await;
            while stream.write_all(&[b'x'; 8_192]).await.is_ok() {}
        }
        Manner::Pour(head, mut bytes) => {
            let _ = stream.write_all(head.as_bytes()).await;
            while bytes > 0 && stream.write_all(&[b'x'; 8_192]).await.is_ok() {
                bytes = bytes.saturating_sub(8_192);
            }
            until_closed(&mut stream).await;
        }
        Manner::Hang | Manner::ByRequest(_) => until_closed(&mut stream).await,
    }
}

async fn until_closed(stream: &mut TcpStream) {
    while stream.read(&mut [0; 1_024]).await.is_ok_and(|read| read > 0) {}
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            break;
        }
        // A TLS handshake (RFC 8446 §5.1), if a receiver without TLS gets an HTTPS request.
        if bytes[0] == 22 {
            break;
        }
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
        if body.len() >= length.parse().unwrap() {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Resolver that gives these answers in turn, and the last one forever.
pub(crate) struct Scripted {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl Scripted {
    pub(crate) fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parsed = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Self { answers: answers.iter().map(parsed).collect(), asked: AtomicUsize::new(0) })
    }
}

impl Names for Scripted {
    fn addresses<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Unresolved>> {
        let turn = self.asked.fetch_add(1, Ordering::Relaxed) % self.answers.len();
        let answer = self.answers[turn].clone();
        Box::pin(async move { if answer.is_empty() { Err(Unresolved::Name) } else { Ok(answer) } })
    }
}

/// Returns a guard that allows these networks and the public internet.
pub(crate) fn guard_allowing(networks: &[&str], names: Arc<dyn Names>) -> Arc<UrlGuard> {
    Arc::new(UrlGuard::new(egress_to(networks), names, false))
}

fn egress_to(networks: &[&str]) -> EgressGuard {
    let allow_networks = networks.iter().map(|network| network.parse().unwrap()).collect();
    EgressGuard::new(GuardConfig { allow_networks, ..GuardConfig::default() })
}

/// Returns the configuration of webhooks that can use loopback.
pub(crate) fn webhooks_to_loopback() -> WebhookConfig {
    WebhookConfig { egress: egress_to(&["127.0.0.0/8"]), ..WebhookConfig::default() }
}

/// Returns a guard as in production.
pub(crate) fn strict(names: Arc<dyn Names>) -> Arc<UrlGuard> {
    guard_allowing(&[], names)
}

/// Returns a guard that allows loopback.
pub(crate) fn open() -> Arc<UrlGuard> {
    guard_allowing(&["127.0.0.0/8"], Arc::new(NoNames))
}

/// Short limits for tests that wait for them. On a busy machine, even an honest receiver may exceed them.
pub(crate) const HASTY: SendLimits = SendLimits { connect_ms: 1_000, total_ms: 1_500, body_max: 16 * 1_024 };

/// Returns a sender with the limits of production.
pub(crate) fn sender(guard: Arc<UrlGuard>) -> Sender {
    Sender::new(guard, SendLimits::default(), EngineClock::system())
}

/// Returns a sender with short limits.
pub(crate) fn hasty(guard: Arc<UrlGuard>) -> Sender {
    Sender::new(guard, HASTY, EngineClock::system())
}

pub(crate) fn message() -> Message {
    Message {
        id: event_id("job.finished", "job_1"),
        timestamp_s: 1_700_000_000,
        signatures: "v1,abc=".into(),
        body: b"{\"id\":\"job_1\"}".to_vec(),
    }
}
