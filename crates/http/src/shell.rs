//! The shell around every route: what each answer has in common, whatever gave it.
//!
//! A request gets its name and a span; the route runs under the request's deadline, its panics caught; the answer gets the
//! envelope if it is an error, the headers that all answers carry, and one line in the access log. Answers of the framework
//! itself (a rejected extractor, an unknown path) are put into the envelope too, so no route can forget it. The router stays a
//! table of contents: [`shell`] is laid around it once.
//!
//! A request that cannot be read gets here as one that has a mark ([`Unreadable`]), for its answer's sake alone. Connections whose
//! headers come too slowly are closed without a word (see [`crate::listen`]).

mod access;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderName, HeaderValue, StatusCode, Version, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use hyper::body::Body as _;
use probity_engine::clock::Clock;
use probity_service::error::{ApiError, Code};
use probity_service::ops::metrics::Observer;
use probity_service::request_id::{RequestId, RequestIds};
use tracing::Instrument as _;

use crate::body::{BodyRules, Reading};
use crate::error::{Marked, Refusal, write_into};
use crate::listen::{HEADERS_BYTES_MAX, Unreadable};
use crate::peer::Peer;

/// The most header fields of a request. HTTP/1 has the limit in its parser; this keeps it for HTTP/2.
const HEADERS_MAX: usize = 100;

/// Headers that the answer is to carry whatever becomes of its route, also where that panics or takes too long: an extension of
/// every request, filled at most once.
#[derive(Clone, Default)]
pub(crate) struct Assured(Arc<OnceLock<Vec<(HeaderName, HeaderValue)>>>);

impl Assured {
    /// Puts them on the answer.
    pub(crate) fn put(&self, headers: Vec<(HeaderName, HeaderValue)>) {
        let first = self.0.set(headers);
        debug_assert!(first.is_ok(), "filled once");
    }
}

static X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What the shell is told.
#[derive(Clone)]
pub struct ShellConfig {
    /// How long a request may take, the reading of its body left out.
    pub deadline: Duration,
    /// What bodies may take.
    pub body: BodyRules,
    /// Told of every answer, for metrics. It must not block.
    pub observer: Option<Observer>,
}

impl Default for ShellConfig {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(75), body: BodyRules::default(), observer: None }
    }
}

/// Lays the shell around the routes, and answers paths and methods that they do not know. Call it last: layers put around it
/// would see answers without their envelope, and a fallback of `routes` is replaced.
pub fn shell(routes: Router, config: ShellConfig, clock: Clock) -> Router {
    let edge = Arc::new(Edge { config, clock, ids: RequestIds::drawn() });
    routes
        .fallback(async || Refusal(ApiError::not_found()))
        .method_not_allowed_fallback(async || Refusal(ApiError::method_not_allowed()))
        .layer(from_fn_with_state(edge, pass))
}

struct Edge {
    config: ShellConfig,
    clock: Clock,
    ids: RequestIds,
}

async fn pass(State(edge): State<Arc<Edge>>, mut request: Request, next: Next) -> Response {
    let id = edge.ids.next();
    // The level makes sure that warnings keep their request's name when a filter hides everything below them.
    let span = tracing::error_span!("request", request_id = id.as_str());
    let mut line = access::Line::begin(id, &request, edge.clock, edge.config.observer.clone());
    request.extensions_mut().insert(id);
    let assured = Assured::default();
    request.extensions_mut().insert(assured.clone());
    let reading = (!request.body().is_end_stream()).then(|| Reading::new(edge.config.body, edge.clock));
    if let Some(reading) = &reading {
        request.extensions_mut().insert(reading.clone());
    }
    let answer = async {
        let mut response = match problem(&request) {
            Some(problem) => problem.into_response(),
            None => within(edge.config.deadline, reading, next.run(request)).await,
        };
        finish(&mut response, id, &assured);
        response
    };
    let response = answer.instrument(span).await;
    line.end(&response);
    response
}

/// What is wrong with a request, whatever its route.
fn problem(request: &Request) -> Option<Refusal> {
    if let Some(Unreadable(status)) = request.extensions().get() {
        return Some(unreadable(*status).into());
    }
    if request.headers().len() > HEADERS_MAX || head_bytes(request) > HEADERS_BYTES_MAX {
        return Some(ApiError::of(Code::RequestHeadTooLarge).into());
    }
    // In process there is no message that could lack a field.
    let came_in = request.extensions().get::<Peer>().is_some();
    let hostless = || ApiError::invalid_request("send exactly 1 Host header, with a host");
    (came_in && !names_host(request)).then(hostless).map(Refusal)
}

/// The envelope of a request of HTTP/1 that cannot be read.
fn unreadable(status: StatusCode) -> ApiError {
    match status {
        StatusCode::URI_TOO_LONG | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            ApiError::of(Code::RequestHeadTooLarge)
        }
        _ => ApiError::invalid_request("the request line or a header is not valid HTTP/1.1"),
    }
}

/// How long the header section would be in HTTP/1.
fn head_bytes(request: &Request) -> usize {
    let target = request.uri().path_and_query().map_or(1, |target| target.as_str().len());
    let fields = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    request.method().as_str().len() + target + fields.sum::<usize>()
}

/// RFC 9112 §3.2: a request of HTTP/1.1 has one Host field that can be read. Older ones may leave it out; in HTTP/2 it is part of
/// the target (RFC 9113 §8.3.1).
fn names_host(request: &Request) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => request.version() != Version::HTTP_11,
        // Nothing is in it where the target has no host.
        (Some(host), None) => host.is_empty() || is_host(host.as_bytes()),
        (Some(_), Some(_)) => false,
    }
}

/// `uri-host [ ":" port ]` (RFC 9110 §7.2).
fn is_host(text: &[u8]) -> bool {
    let Ok(authority) = Authority::try_from(text) else { return false };
    // Its host is all but the port; somebody's name before it belongs to no Host field.
    let rest = authority.as_str().strip_prefix(authority.host());
    rest.is_some_and(|rest| rest.strip_prefix(':').unwrap_or(rest).bytes().all(|byte| byte.is_ascii_digit()))
}

/// Runs the route until its deadline; the time that its body takes to arrive does not count, since that has rules of its own.
async fn within(deadline: Duration, reading: Option<Reading>, route: impl Future<Output = Response>) -> Response {
    let mut route = std::pin::pin!(AssertUnwindSafe(route).catch_unwind());
    let mut granted = Duration::ZERO;
    let mut patience = deadline;
    loop {
        match tokio::time::timeout(patience, &mut route).await {
            Ok(Ok(response)) => return response,
            Ok(Err(_panic)) => {
                return Refusal(ApiError::server_error("a handler panicked; the log has its location")).into_response();
            }
            Err(_) => {}
        }
        let spent = reading.as_ref().map_or(Duration::ZERO, Reading::spent);
        patience = spent.saturating_sub(granted);
        granted = spent;
        if patience.is_zero() {
            return Refusal(ApiError::deadline().because("the request's deadline has passed")).into_response();
        }
    }
}

/// Gives the answer its form.
fn finish(response: &mut Response, id: RequestId, assured: &Assured) {
    let marked = response.extensions_mut().remove::<Marked>();
    let error = marked.map(|Marked(error)| error).or_else(|| foreign(response).map(Arc::new));
    if let Some(error) = error {
        log(&error);
        write_into(&error, response, id);
    }
    let headers = response.headers_mut();
    headers.extend(assured.0.get().into_iter().flatten().cloned());
    headers.insert(&X_REQUEST_ID, id.header());
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    // A route may say otherwise: static files may be kept.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

/// An error that is not ours.
fn foreign(response: &Response) -> Option<ApiError> {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return None;
    }
    let error = ApiError::of(Code::of_status(status));
    Some(if status.is_server_error() { error.because("a layer returned an error without a code") } else { error })
}

/// Says once, within the request's span, what the client is not told.
fn log(error: &ApiError) {
    let code = error.code();
    let Some(detail) = error.log_text() else { return };
    if code.status().is_server_error() {
        tracing::error!(code = code.as_str(), detail, "request failed");
    } else {
        tracing::debug!(code = code.as_str(), detail, "request refused");
    }
}
