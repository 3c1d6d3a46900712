//! One POST to one receiver, within limits that the receiver cannot move.
//!
//! The sender dials an address that the [guard](super::guard) has given it for this attempt and asks again immediately before;
//! nothing here resolves a name, keeps a connection, follows a redirect, reads a proxy from the environment or decompresses.
//! Time: [`SendLimits::connect_ms`] for a connection, [`SendLimits::total_ms`] for everything. Size: the head of an answer at
//! most [`HEAD_MAX`] bytes and [`HEADERS_MAX`] fields, of its body [`SendLimits::body_max`] bytes, then the connection is
//! closed. What decides is the status: once it is there, a body that drips, breaks off or never ends changes nothing.
//!
//! This is hyper's HTTP/1.1 client on a socket of ours and not reqwest: reqwest has no bound for the head of an answer, and
//! everything else of it (redirects, proxies, cookies, pools, its resolver) would have to be switched off.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use probity_account::id::EventId;
use probity_engine::clock::Clock;
use probity_engine::net::Stream;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpSocket;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use crate::webhooks::guard::{NotDialled, UrlGuard};
use crate::webhooks::target::Target;

/// The most bytes of the head of an answer.
pub const HEAD_MAX: usize = 16 * 1_024;
/// The most fields in it.
pub const HEADERS_MAX: usize = 100;
/// The most addresses of a receiver that one attempt tries.
const ADDRESSES_MAX: usize = 4;
/// How long a body may be waited for once the status is there.
const BODY_TIME: Duration = Duration::from_secs(2);
/// What we call ourselves.
pub(crate) const USER_AGENT: &str = concat!("Probity-Webhooks/", env!("CARGO_PKG_VERSION"));

static WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
static WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
static WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// The limits of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendLimits {
    /// For the connection, over all addresses that are tried, in milliseconds.
    pub connect_ms: u64,
    /// For everything from the look-up to the end of the answer, in milliseconds.
    pub total_ms: i64,
    /// How many bytes of the body are read.
    pub body_max: usize,
}

impl Default for SendLimits {
    fn default() -> Self {
        Self { connect_ms: 5_000, total_ms: 10_000, body_max: 16 * 1_024 }
    }
}

/// A message that is signed.
#[derive(Clone, Debug)]
pub struct Message {
    /// The event's id.
    pub id: EventId,
    /// When it is sent, in seconds since 1970.
    pub timestamp_s: i64,
    /// What [`super::sign::signatures`] made.
    pub signatures: String,
    /// What is sent.
    pub body: Vec<u8>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The HTTP status.
    pub status: u16,
    /// The beginning of the body, at most [`SendLimits::body_max`] bytes.
    pub body: Vec<u8>,
}

/// Why there was no answer. For the operator; to a customer all that are about the receiver are [`Failure::PUBLIC`], because the
/// differences
/// would tell what is in the operator's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The guard refused: nothing was dialled.
    Blocked,
    /// The name has no addresses.
    Unresolved,
    /// Nobody listens there, or there is no route.
    Refused,
    /// No connection in time.
    Timeout,
    /// It was told, and has not answered in time.
    Unanswered,
    /// The TLS handshake failed, or the certificate is not the host's.
    Tls,
    /// The connection broke, or what came is not HTTP or over the limits.
    Broken,
    /// This machine is at its limits, or the database is away; nothing about the receiver. It does not count as an attempt.
    Local,
    /// The message could not be put together or signed: what is kept of it cannot be read here.
    Unmade,
}

impl Failure {
    /// What a customer is told.
    pub const PUBLIC: &'static str = "the endpoint could not be reached";
    /// What a customer is told of [`Failure::Unmade`], which says nothing of anybody's network.
    pub const PUBLIC_UNMADE: &'static str = "the message could not be created";

    /// Its name in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Unresolved => "unresolved",
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::Unanswered => "unanswered",
            Self::Tls => "tls",
            Self::Broken => "broken",
            Self::Local => "local",
            Self::Unmade => "unmade",
        }
    }

    /// What a customer is told of a failure with this name.
    pub fn public(name: &str) -> &'static str {
        if name == Self::Unmade.as_str() { Self::PUBLIC_UNMADE } else { Self::PUBLIC }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Sends messages. Cheap to clone.
#[derive(Clone)]
pub struct Sender {
    guard: Arc<UrlGuard>,
    tls: TlsConnector,
    limits: SendLimits,
    clock: Clock,
}

impl Sender {
    /// A sender that believes the public certificate authorities.
    pub fn new(guard: Arc<UrlGuard>, limits: SendLimits, clock: Clock) -> Self {
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        Self::believing(roots, guard, limits, clock)
    }

    /// A sender that believes these.
    pub fn believing(roots: RootCertStore, guard: Arc<UrlGuard>, limits: SendLimits, clock: Clock) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has suites for both versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self { guard, tls: TlsConnector::from(Arc::new(config)), limits, clock }
    }

    /// The time after which every attempt has ended, in milliseconds.
    pub(super) fn total_ms(&self) -> i64 {
        self.limits.total_ms
    }

    /// Makes one attempt.
    pub async fn post(&self, target: &Target, message: Message) -> Result<Answered, Failure> {
        let request = request(target, message).ok_or(Failure::Broken)?;
        let end = self.clock.instant(self.clock.now() + self.limits.total_ms);
        let (stream, request) = timeout_at(end, async { Ok((self.open(target).await?, request)) })
            .await
            .unwrap_or(Err(Failure::Timeout))?;
        exchange(stream, request, end, self.limits.body_max).await
    }

    async fn open(&self, target: &Target) -> Result<Box<dyn Stream>, Failure> {
        let addresses = self.guard.addresses(target).await.map_err(|why| match why {
            NotDialled::Refused => Failure::Blocked,
            NotDialled::Unresolved => Failure::Unresolved,
            NotDialled::Busy => Failure::Local,
        })?;
        let tried = &addresses[..addresses.len().min(ADDRESSES_MAX)];
        let share = Duration::from_millis(self.limits.connect_ms) / u32::try_from(tried.len().max(1)).unwrap_or(1);
        let mut failure = Failure::Unresolved;
        for address in tried {
            let dialled = timeout(share, self.dial(*address)).await.unwrap_or(Err(Failure::Timeout));
            match dialled {
                Ok(stream) if target.is_https() => return self.encrypt(target, stream).await,
                Ok(stream) => return Ok(Box::new(stream)),
                Err(why) => failure = why,
            }
        }
        Err(failure)
    }

    async fn dial(&self, address: SocketAddr) -> Result<tokio::net::TcpStream, Failure> {
        if !self.guard.allows(address) {
            return Err(Failure::Blocked);
        }
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
        let socket = socket.map_err(|_| Failure::Local)?;
        let stream = socket.connect(address).await.map_err(|error| unreached(&error))?;
        // What was judged must be what was reached. Differs only if something between us and the kernel redirects.
        match stream.peer_addr() {
            Ok(peer) if peer == address => Ok(stream),
            Ok(_) => Err(Failure::Blocked),
            Err(_) => Err(Failure::Refused),
        }
    }

    async fn encrypt(&self, target: &Target, stream: tokio::net::TcpStream) -> Result<Box<dyn Stream>, Failure> {
        let name = ServerName::try_from(target.certified().to_owned()).map_err(|_| Failure::Tls)?;
        let encrypted = self.tls.connect(name, stream).await.map_err(|_| Failure::Tls)?;
        Ok(Box::new(encrypted))
    }
}

/// The request. Fields have values of ours only: names, ids, numbers, base64, and the host as it was parsed.
fn request(target: &Target, message: Message) -> Option<Request<Full<Bytes>>> {
    let mut request = Request::new(Full::new(Bytes::from(message.body)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::try_from(target.path()).ok()?;
    let fields = [
        (header::HOST, HeaderValue::from_str(target.authority()).ok()?),
        (header::USER_AGENT, HeaderValue::from_static(USER_AGENT)),
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CONNECTION, HeaderValue::from_static("close")),
        (WEBHOOK_ID.clone(), HeaderValue::from_str(&message.id.to_string()).ok()?),
        (WEBHOOK_TIMESTAMP.clone(), HeaderValue::from(message.timestamp_s)),
        (WEBHOOK_SIGNATURE.clone(), HeaderValue::from_str(&message.signatures).ok()?),
    ];
    *request.headers_mut() = HeaderMap::from_iter(fields);
    Some(request)
}

/// Sends the request and reads the answer. The connection is closed when this ends, whichever way.
async fn exchange(
    stream: Box<dyn Stream>,
    request: Request<Full<Bytes>>,
    end: Instant,
    body_max: usize,
) -> Result<Answered, Failure> {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(HEAD_MAX).max_header_size(HEAD_MAX).max_headers(HEADERS_MAX);
    let (mut to, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(|_| Failure::Broken)?;
    let talk = async {
        let head = timeout_at(end, to.send_request(request)).await.map_err(|_| Failure::Unanswered)?;
        let head = head.map_err(|_| Failure::Broken)?;
        let status = head.status().as_u16();
        Ok(Answered { status, body: beginning(head, end, body_max).await })
    };
    tokio::pin!(talk, connection);
    tokio::select! {
        biased;
        answered = &mut talk => answered,
        // The receiver has closed: what it said before that is still to be read.
        _ = &mut connection => talk.await,
    }
}

/// As much of the body as comes in time, and no more than is wanted.
async fn beginning(answer: Response<Incoming>, end: Instant, body_max: usize) -> Vec<u8> {
    let mut body = answer.into_body();
    let mut read = Vec::new();
    let reading = async {
        while read.len() < body_max {
            let Some(Ok(frame)) = body.frame().await else { return };
            let Ok(data) = frame.into_data() else { return };
            read.extend_from_slice(&data[..data.len().min(body_max - read.len())]);
        }
    };
    let _ = timeout_at(end, timeout(BODY_TIME, reading)).await;
    read
}

fn unreached(error: &io::Error) -> Failure {
    /// ENFILE and EMFILE: the same numbers on every Unix.
    const OUT_OF_DESCRIPTORS: [i32; 2] = [23, 24];
    match error.kind() {
        io::ErrorKind::TimedOut => Failure::Timeout,
        io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable | io::ErrorKind::OutOfMemory => Failure::Local,
        _ if error.raw_os_error().is_some_and(|code| OUT_OF_DESCRIPTORS.contains(&code)) => Failure::Local,
        _ => Failure::Refused,
    }
}
