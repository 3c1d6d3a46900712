//! Sends one POST to one endpoint, within limits that the endpoint cannot change.
//!
//! The sender dials an address that the [guard](UrlGuard) has returned for this attempt. It resolves no name, keeps no connection,
//! follows no redirect, reads no proxy from the environment, and decompresses nothing. [`SendLimits`] bounds the times and the
//! body; the head of a response has at most [`HEAD_MAX`] bytes and [`HEADERS_MAX`] fields. The status decides: once it is received,
//! a body that drips, breaks off or never ends changes nothing.
//!
//! This is hyper's HTTP/1.1 client on our own socket, because reqwest has no limit for the head of a response. Its other
//! features (redirects, proxies, cookies, pools, resolver) would have to be disabled.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use probity_account::id::EventId;
use probity_connectors::retry_after_ms;
use probity_contract::published::webhooks::{DeliveryFailure, URL_MAX, USER_AGENT};
use probity_engine::clock::EngineClock;
use probity_engine::net::Stream;
use tokio::time::{Instant, timeout, timeout_at};

use crate::outbound::{Authorities, DialFailure, Dialer, HttpTarget, UrlGuard};

/// Maximum size of the head of a response, in bytes.
pub const HEAD_MAX: usize = 16 * 1_024;
/// Maximum number of fields in it.
pub const HEADERS_MAX: usize = 100;
/// Maximum wait for a body after the status was received.
const BODY_TIME: Duration = Duration::from_secs(2);

static WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
static WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
static WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// Limits of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendLimits {
    /// Maximum time for the connection, over all addresses that are tried, in milliseconds.
    pub connect_ms: u64,
    /// Maximum time from the lookup to the end of the response, in milliseconds.
    pub total_ms: i64,
    /// Maximum number of body bytes that are read.
    pub body_max: usize,
}

impl Default for SendLimits {
    fn default() -> Self {
        Self { connect_ms: 5_000, total_ms: 10_000, body_max: 16 * 1_024 }
    }
}

/// Signed request.
#[derive(Clone, Debug)]
pub struct Message {
    pub id: EventId,
    /// Time of sending, in seconds since 1970.
    pub timestamp_s: i64,
    /// Result of [`super::sign::signatures`].
    pub signatures: String,
    pub body: Vec<u8>,
}

/// Response of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverResponse {
    pub status: u16,
    /// Beginning of the body, at most [`SendLimits::body_max`] bytes. Before that of a redirect, its target.
    pub body: Vec<u8>,
    /// Pause that the endpoint asks for with `Retry-After`, in milliseconds.
    pub retry_after_ms: Option<i64>,
}

/// Sends requests. Cheap to clone.
#[derive(Clone)]
pub struct Sender {
    guard: Arc<UrlGuard>,
    dialer: Dialer,
    limits: SendLimits,
    clock: EngineClock,
}

impl Sender {
    /// Creates a sender that trusts the public certificate authorities.
    pub fn new(guard: Arc<UrlGuard>, limits: SendLimits, clock: EngineClock) -> Self {
        Self::trusting(&Authorities::default(), guard, limits, clock)
    }

    /// Creates a sender that also trusts the operator's.
    pub fn trusting(own: &Authorities, guard: Arc<UrlGuard>, limits: SendLimits, clock: EngineClock) -> Self {
        Self { guard, dialer: Dialer::trusting(own), limits, clock }
    }

    /// Returns the time after which every attempt has ended, in milliseconds.
    pub(super) fn total_ms(&self) -> i64 {
        self.limits.total_ms
    }

    /// Makes one attempt.
    pub async fn post(&self, target: &HttpTarget, message: Message) -> Result<ReceiverResponse, DeliveryFailure> {
        let request = request(target, message).ok_or(DeliveryFailure::Broken)?;
        let end = self.clock.instant(self.clock.now() + self.limits.total_ms);
        let connect = Duration::from_millis(self.limits.connect_ms);
        let opening = timeout_at(end, self.dialer.open(&self.guard, target, connect)).await;
        let stream = opening.unwrap_or(Err(DialFailure::Timeout)).map_err(failure)?;
        let answer = exchange(stream, request, end, self.limits.body_max).await;
        answer.map(|(status, headers, body)| self.response(status, &headers, body))
    }

    fn response(&self, status: StatusCode, headers: &HeaderMap, body: Vec<u8>) -> ReceiverResponse {
        let field = |name| headers.get(name).map(HeaderValue::as_bytes);
        let target = field(header::LOCATION).filter(|_| status.is_redirection());
        let body = target.map_or_else(Vec::new, location).into_iter().chain(body).take(self.limits.body_max).collect();
        let asked = field(header::RETRY_AFTER).and_then(|text| std::str::from_utf8(text).ok());
        let retry_after_ms = asked.and_then(|text| retry_after_ms(text, self.clock.now()));
        ReceiverResponse { status: status.as_u16(), body, retry_after_ms }
    }
}

/// Returns the target of a redirect as a customer sees it.
fn location(target: &[u8]) -> Vec<u8> {
    [b"Location: ", &target[..target.len().min(URL_MAX)], b"\n\n"].concat()
}

/// Builds the request. Its header fields have our own values only: names, IDs, numbers, base64, and the parsed host.
fn request(target: &HttpTarget, message: Message) -> Option<Request<Full<Bytes>>> {
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

/// Sends the request and reads the response. The connection is closed when this ends, in any way.
async fn exchange(
    stream: Box<dyn Stream>,
    request: Request<Full<Bytes>>,
    end: Instant,
    body_max: usize,
) -> Result<(StatusCode, HeaderMap, Vec<u8>), DeliveryFailure> {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(HEAD_MAX).max_header_size(HEAD_MAX).max_headers(HEADERS_MAX);
    let (mut to, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(|_| DeliveryFailure::Broken)?;
    let talk = async {
        let head = timeout_at(end, to.send_request(request)).await.map_err(|_| DeliveryFailure::Unanswered)?;
        let head = head.map_err(|_| DeliveryFailure::Broken)?;
        let (head, body) = head.into_parts();
        Ok((head.status, head.headers, beginning(body, end, body_max).await))
    };
    tokio::pin!(talk, connection);
    tokio::select! {
        biased;
        answered = &mut talk => answered,
        // The receiver has closed the connection, but its earlier data must still be read.
        _ = &mut connection => talk.await,
    }
}

/// Reads as much of the body as arrives in time, at most `body_max` bytes.
async fn beginning(mut body: Incoming, end: Instant, body_max: usize) -> Vec<u8> {
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

/// Returns a failure as a delivery records it.
fn failure(why: DialFailure) -> DeliveryFailure {
    match why {
        DialFailure::Blocked => DeliveryFailure::Blocked,
        DialFailure::Unresolved => DeliveryFailure::Unresolved,
        DialFailure::Refused => DeliveryFailure::Refused,
        DialFailure::Timeout => DeliveryFailure::Timeout,
        DialFailure::Tls => DeliveryFailure::Tls,
        DialFailure::Local => DeliveryFailure::Local,
    }
}
