//! Shell around every route: request ID, deadline, envelope and access log of every response.
//!
//! - A request gets an ID and a span. Its route runs under a deadline, and panics are caught.
//! - An error response gets the envelope, also one of the framework itself (a failed extractor, an unknown path). No route can
//!   forget it.
//! - Every response gets the common headers and a line in the access log.
//!
//! The router calls [`shell`] once, around all routes. Requests that hyper cannot read do not arrive here
//! ([`crate::edge::listen`]).

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{Extensions, HeaderName, HeaderValue, StatusCode, Version, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use futures_util::{FutureExt as _, stream};
use hyper::body::Body as _;
use probity_access::requests::RequestLog;
use probity_contract::error::{ApiError, Code};
use probity_contract::request_id::{RequestId, RequestIds};
use probity_engine::clock::EngineClock;
use probity_telemetry::metrics::Observer;
use tracing::Instrument as _;

use crate::edge::listen::{HEADERS_BYTES_MAX, HEADERS_MAX};
use crate::edge::peer::Peer;
use crate::error::{ErrorPage, MarkedError, Refusal, write_into};
use crate::request::body::{BodyReading, BodyRules};

/// Headers that the response gets even if its route panics or exceeds the deadline. An extension of every request, set at most
/// once.
#[derive(Clone, Default)]
struct Assured(Arc<OnceLock<Vec<(HeaderName, HeaderValue)>>>);

/// Sets the headers that the response to a request gets in any case.
pub(crate) fn assure(request: &Extensions, headers: Vec<(HeaderName, HeaderValue)>) {
    if let Some(Assured(assured)) = request.get() {
        let first = assured.set(headers);
        debug_assert!(first.is_ok(), "filled once");
    }
}

static X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Configuration of the shell.
#[derive(Clone)]
pub struct ShellConfig {
    /// Maximum duration of a request, without reading its body.
    pub deadline: Duration,
    /// Limits of request bodies.
    pub body: BodyRules,
    /// Callback for every response, for metrics. It must not block.
    pub observer: Option<Observer>,
    /// Log of requests with API keys.
    pub log: Option<RequestLog>,
}

impl Default for ShellConfig {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(75), body: BodyRules::default(), observer: None, log: None }
    }
}

/// Wraps the routes in the shell, and adds errors for unknown paths and methods. Call it last: layers around it would see
/// responses without their envelope, and it replaces a fallback of `routes`.
pub fn shell(routes: Router, config: ShellConfig, clock: EngineClock) -> Router {
    let edge = Arc::new(Edge { config, clock, ids: RequestIds::drawn() });
    routes
        .fallback(async || Refusal(ApiError::not_found()))
        .method_not_allowed_fallback(async || Refusal(ApiError::of(Code::MethodNotAllowed)))
        .layer(from_fn_with_state(edge, pass))
}

struct Edge {
    config: ShellConfig,
    clock: EngineClock,
    ids: RequestIds,
}

async fn pass(State(edge): State<Arc<Edge>>, mut request: Request, next: Next) -> Response {
    let id = edge.ids.next();
    // At this level, warnings keep their request ID even if a filter hides everything below them.
    let span = tracing::error_span!("request", request_id = id.as_str());
    let mut line = crate::edge::access::AccessLine::begin(id, &request, edge.clock, &edge.config);
    request.extensions_mut().insert(id);
    request.extensions_mut().insert(line.caller());
    let assured = Assured::default();
    request.extensions_mut().insert(assured.clone());
    let reading = (!request.body().is_end_stream()).then(|| BodyReading::new(edge.config.body, edge.clock));
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

/// Checks a request before its route, and returns the error if there is one.
fn problem(request: &Request) -> Option<Refusal> {
    if request.headers().len() > HEADERS_MAX || head_bytes(request) > HEADERS_BYTES_MAX {
        return Some(ApiError::of(Code::RequestHeadTooLarge).into());
    }
    // In-process requests have no peer and need no Host field.
    let came_in = request.extensions().get::<Peer>().is_some();
    let hostless = || ApiError::invalid_request("send exactly 1 Host header, with a host");
    (came_in && !names_host(request)).then(hostless).map(Refusal)
}

/// Returns the length of the header section.
fn head_bytes(request: &Request) -> usize {
    let target = request.uri().path_and_query().map_or(1, |target| target.as_str().len());
    let fields = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    request.method().as_str().len() + target + fields.sum::<usize>()
}

/// Checks the Host field. An HTTP/1.1 request has exactly one valid field (RFC 9112 §3.2). HTTP/1.0 may omit it.
fn names_host(request: &Request) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => request.version() != Version::HTTP_11,
        // The field is empty if the target has no host.
        (Some(host), None) => host.is_empty() || is_host(host.as_bytes()),
        (Some(_), Some(_)) => false,
    }
}

/// `uri-host [ ":" port ]` (RFC 9110 §7.2).
fn is_host(text: &[u8]) -> bool {
    let Ok(authority) = Authority::try_from(text) else { return false };
    // The host is everything before the port. User information before it is not allowed in a Host field.
    let rest = authority.as_str().strip_prefix(authority.host());
    rest.is_some_and(|rest| rest.strip_prefix(':').unwrap_or(rest).bytes().all(|byte| byte.is_ascii_digit()))
}

/// Runs the route until its deadline. Reading the body does not count, because it has its own limits.
async fn within(deadline: Duration, reading: Option<BodyReading>, route: impl Future<Output = Response>) -> Response {
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
        let spent = reading.as_ref().map_or(Duration::ZERO, BodyReading::spent);
        patience = spent.saturating_sub(granted);
        granted = spent;
        if patience.is_zero() {
            return Refusal(ApiError::deadline().because("the request's deadline has passed")).into_response();
        }
    }
}

/// Adds the envelope and the common headers to a response.
fn finish(response: &mut Response, id: RequestId, assured: &Assured) {
    let marked = response.extensions_mut().remove::<MarkedError>();
    let is_page = response.extensions_mut().remove::<ErrorPage>().is_some();
    let foreign = || if is_page { None } else { foreign(response).map(Arc::new) };
    let error = marked.map(|MarkedError(error)| error).or_else(foreign);
    if let Some(error) = error {
        log(&error);
        write_into(&error, response, id);
    }
    if response.status() == StatusCode::NOT_MODIFIED {
        *response.body_mut() = unsent_body();
    }
    let headers = response.headers_mut();
    headers.extend(assured.0.get().into_iter().flatten().cloned());
    headers.insert(&X_REQUEST_ID, id.header());
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    // A route can set its own value: static files may be cached.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

/// Returns an empty body without a length, for responses to HEAD and 304: `Content-Length` would be that of the omitted body (RFC
/// 9110 §8.6), which is unknown. The framework adds a length of 0 to a body that is known to be empty.
pub(crate) fn unsent_body() -> Body {
    Body::from_stream(stream::empty::<Result<Bytes, Infallible>>())
}

/// Returns the error for an error response without our mark, such as one of the framework.
fn foreign(response: &Response) -> Option<ApiError> {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return None;
    }
    let error = ApiError::of(Code::of_status(status));
    Some(if status.is_server_error() { error.because("a layer returned an error without a code") } else { error })
}

/// Logs an error's detail, which the client does not see, once and within the request's span.
fn log(error: &ApiError) {
    let code = error.code();
    let Some(detail) = error.log_text() else { return };
    if code.status().is_server_error() {
        tracing::error!(code = code.as_str(), detail, "request failed");
    } else {
        tracing::debug!(code = code.as_str(), detail, "request refused");
    }
}
