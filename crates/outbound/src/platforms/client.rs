//! Sends one request of a machine to a platform, within limits that the platform cannot change.
//!
//! Calls use the same guard, dialer and HTTP client (hyper) as webhooks. A call follows no redirect, requests no compression,
//! and reads at most the body size that the connector's file allows. Its time is limited from the lookup to the end of the
//! body. If a kept connection turns out to be closed, a request that is safe to repeat is sent again.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method as HttpMethod, Request as HttpRequest, Response as HttpResponse, Uri};
use probity_connectors::{Method, Request, Response};
use probity_engine::clock::EngineClock;
use probity_mail::time::Millis;
use tokio::time::{Instant, timeout_at};

use super::fault::{CallCause, CallFault};
use super::pool::{Link, LinkKey, LinkPool};
use crate::{DialFailure, Dialer, HttpTarget, UrlGuard};

/// Maximum length of a URL, in bytes: a machine's maximum, and the overhead of encoding.
const URL_MAX: usize = 16 * 1_024;
/// Maximum time for a TCP connection, over all addresses.
const CONNECT: Duration = Duration::from_secs(10);
/// User agent, unless the connector's file sets another.
const USER_AGENT: &str = concat!("Probity/", env!("CARGO_PKG_VERSION"));

/// Sends requests to platforms.
pub(super) struct PlatformClient {
    guard: UrlGuard,
    dialer: Dialer,
    clock: EngineClock,
    pool: LinkPool,
}

/// Response that broke off or never came.
struct Lost {
    cause: CallCause,
    may_have_acted: bool,
    /// Whether no part of a response arrived, on a connection that may have been closed before.
    is_stale: bool,
}

impl PlatformClient {
    pub(super) fn new(guard: UrlGuard, dialer: Dialer, clock: EngineClock) -> Self {
        Self { guard, dialer, clock, pool: LinkPool::new(clock) }
    }

    /// Makes one call, at most until `end`.
    pub(super) async fn call(
        &self,
        credentials: [u8; 16],
        request: &Request,
        end: Millis,
    ) -> Result<Response, CallFault> {
        let now = self.clock.now();
        let end = self.clock.instant(end.min(now + request.timeout_ms));
        let unfit = || unsent(CallCause::Unfit);
        let target = HttpTarget::parse_within(&request.url, URL_MAX).map_err(|_| unfit())?;
        let message = message(&target, request).ok_or_else(unfit)?;
        let key = (credentials, origin(&target));
        let link = match self.pool.take(&key) {
            // Not checked against the guard again, because kept connections are only seconds old.
            Some(link) => link,
            None => self.open(&target, end).await?,
        };
        let was_used = link.is_used;
        match self.exchange(&key, link, message.clone(), request.body_max, end).await {
            Err(lost) if was_used && lost.is_stale && (!lost.may_have_acted || is_repeatable(request.method)) => {
                let link = self
                    .open(&target, end)
                    .await
                    .map_err(|fault| CallFault { may_have_acted: lost.may_have_acted, ..fault })?;
                let again = self.exchange(&key, link, message, request.body_max, end).await;
                again.map_err(|again| again.fault(lost.may_have_acted))
            }
            Err(lost) => Err(lost.fault(false)),
            Ok(response) => Ok(response),
        }
    }

    async fn open(&self, target: &HttpTarget, end: Instant) -> Result<Link, CallFault> {
        let opening = async {
            let stream = self.dialer.open(&self.guard, target, CONNECT).await?;
            Link::begin(stream, self.clock.now()).await.ok_or(DialFailure::Refused)
        };
        let opened = timeout_at(end, opening).await.unwrap_or(Err(DialFailure::Timeout));
        opened.map_err(|why| {
            unsent(match why {
                DialFailure::Blocked => CallCause::Blocked,
                DialFailure::Unresolved => CallCause::Unresolved,
                DialFailure::Refused => CallCause::Unreachable,
                DialFailure::Timeout => CallCause::Timeout,
                DialFailure::Tls => CallCause::Tls,
                DialFailure::Local => CallCause::Local,
            })
        })
    }

    /// Sends the request and reads the response. The connection is kept after a complete response, and closed otherwise.
    async fn exchange(
        &self,
        key: &LinkKey,
        mut link: Link,
        message: HttpRequest<Full<Bytes>>,
        body_max: u64,
        end: Instant,
    ) -> Result<Response, Lost> {
        let sending = timeout_at(end, link.to.try_send_request(message)).await;
        let answer = match sending {
            Err(_) => return Err(Lost { cause: CallCause::Timeout, may_have_acted: true, is_stale: false }),
            Ok(Err(mut error)) => {
                let may_have_acted = error.take_message().is_none();
                let is_stale = !error.error().is_parse();
                return Err(Lost { cause: CallCause::Broken, may_have_acted, is_stale });
            }
            Ok(Ok(answer)) => answer,
        };
        let status = answer.status().as_u16();
        let headers = pairs(answer.headers());
        let (body, is_cut) = body_of(answer, body_max, end).await?;
        if !is_cut {
            self.pool.keep(key.clone(), link).await;
        }
        Ok(Response { status, headers, body, is_cut, at: self.clock.now() })
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.pool.len()
    }
}

impl Lost {
    fn fault(self, acted_before: bool) -> CallFault {
        CallFault { cause: self.cause, may_have_acted: self.may_have_acted || acted_before, wait_ms: None }
    }
}

/// Returns the fault of a call that sent nothing.
fn unsent(cause: CallCause) -> CallFault {
    CallFault { cause, may_have_acted: false, wait_ms: None }
}

/// Returns whether RFC 9110 §9.2.2 lets a client repeat a request whose response was lost.
fn is_repeatable(method: Method) -> bool {
    matches!(method, Method::Get | Method::Put | Method::Delete)
}

fn origin(target: &HttpTarget) -> String {
    let scheme = if target.is_https() { "https" } else { "http" };
    format!("{scheme}://{}", target.lane())
}

/// Converts a request to HTTP; `None` if a value does not fit.
fn message(target: &HttpTarget, request: &Request) -> Option<HttpRequest<Full<Bytes>>> {
    let has_body = request.body.is_some();
    let mut message = HttpRequest::new(Full::new(Bytes::from(request.body.clone().unwrap_or_default())));
    *message.method_mut() = match request.method {
        Method::Get => HttpMethod::GET,
        Method::Post => HttpMethod::POST,
        Method::Put => HttpMethod::PUT,
        Method::Patch => HttpMethod::PATCH,
        Method::Delete => HttpMethod::DELETE,
    };
    *message.uri_mut() = Uri::try_from(target.path()).ok()?;
    let mut headers = HeaderMap::new();
    headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    for (name, value) in &request.headers {
        headers.insert(HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?);
    }
    // These headers describe this connection, so a file must not set them.
    headers.remove(header::CONNECTION);
    headers.remove(header::TRANSFER_ENCODING);
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::HOST, HeaderValue::from_str(target.authority()).ok()?);
    // RFC 9110 §8.6: a method that expects a body states its absence.
    if !has_body && matches!(request.method, Method::Post | Method::Put | Method::Patch) {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    *message.headers_mut() = headers;
    Some(message)
}

/// Returns the header fields. Bytes that are not UTF-8 are replaced.
fn pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    let pair = |(name, value): (&HeaderName, &HeaderValue)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    headers.iter().map(pair).collect()
}

/// Reads the body up to a maximum size. Returns whether there was more.
async fn body_of(answer: HttpResponse<Incoming>, max: u64, end: Instant) -> Result<(Vec<u8>, bool), Lost> {
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    let lost = |cause| Lost { cause, may_have_acted: true, is_stale: false };
    let mut body = answer.into_body();
    let mut read = Vec::new();
    loop {
        let frame = timeout_at(end, body.frame()).await.map_err(|_| lost(CallCause::Timeout))?;
        let Some(frame) = frame else { return Ok((read, false)) };
        let Ok(data) = frame.map_err(|_| lost(CallCause::Broken))?.into_data() else { continue };
        let room = max - read.len();
        read.extend_from_slice(&data[..data.len().min(room)]);
        if data.len() > room {
            return Ok((read, true));
        }
    }
}
