//! Idempotent POSTs: a request with an `Idempotency-Key` takes effect once.
//!
//! The body is read completely, then the key is locked ([`probity_service::callers::once`]). A repetition during the run gets
//! 409, and another body gets 422. A stored response is replayed byte for byte with `Idempotent-Replayed: true`. An error
//! releases the key, so that a retry runs. The run continues if its client disconnects; if its process dies, the lock ends with
//! its lease.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use http_body_util::BodyExt as _;
use probity_account::scope::Scopes;
use probity_contract::error::ApiError;
use probity_mail::time::Millis;
use probity_service::app::App;
use probity_service::callers::caller::Caller;
use probity_service::callers::once::{self, Beginning, KeyHolder, KeyedCall, KeyedRun, Once};
use probity_telemetry::metrics::Idempotent;
use tracing::Instrument as _;

use crate::handler::{AppState, Call, Refusal};
use crate::request::body::gather;

/// Maximum length of a key, in characters (specification, section 8).
const KEY_MAX: usize = 255;

static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
static REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Extractor of a request's run, for every POST.
pub(crate) struct RunOnce(pub(crate) Once);

impl<S: Sync> FromRequestParts<S> for RunOnce {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(parts.extensions.get::<Once>().cloned().unwrap_or_else(Once::unkeyed)))
    }
}

/// Runs a POST once per key. Other requests pass through.
pub(crate) async fn layer(Call(app, caller): Call, request: Request, next: Next) -> Response {
    let rights = Rights { scopes: caller.scopes(), ..Rights::full() };
    layered(app, Some(caller), rights, request, next).await
}

/// Does the same for handlers that also check the caller's expiry and rate limit.
pub(crate) async fn layer_of_grants(Call(app, caller): Call, request: Request, next: Next) -> Response {
    let own_rate = caller.key().and_then(|key| key.rate_limit_per_minute);
    let rights = Rights { scopes: caller.scopes(), expires_at: caller.expires_at(), own_rate };
    layered(app, Some(caller), rights, request, next).await
}

/// Does the same for the operator, who is not a caller of the API.
pub(crate) async fn layer_of_operator(State(app): AppState, request: Request, next: Next) -> Response {
    layered(app, None, Rights::full(), request, next).await
}

/// Permissions of a caller that a repetition must share, because the handler checks them.
///
/// A response may contain a secret with as many permissions as its first caller had (a new key, an invitation). It must not be
/// replayed to a caller with fewer, because the handler that would reject the caller does not run.
///
/// Most handlers check only scopes. For them, expiry and rate limit stay as in [`Rights::full`]: the rotation of a key gives it
/// an expiry, and clients that still use the key must be able to repeat earlier requests.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Rights {
    scopes: Scopes,
    expires_at: Option<Millis>,
    /// Requests per minute of the key itself.
    own_rate: Option<i64>,
}

impl Rights {
    fn full() -> Self {
        Self { scopes: Scopes::all(), expires_at: None, own_rate: None }
    }
}

async fn layered(app: Arc<App>, caller: Option<Caller>, rights: Rights, request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    match key(request.headers()) {
        Ok(None) => next.run(request).await,
        Ok(Some(key)) => {
            keyed(app, caller, rights, key, request, next).await.unwrap_or_else(IntoResponse::into_response)
        }
        Err(error) => {
            app.metrics.accounts().idempotent(Idempotent::Malformed);
            error.into_response()
        }
    }
}

/// Returns the request's key.
pub(crate) fn key(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let mut values = headers.get_all(&IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let printable = |byte: &u8| (0x20..0x7f).contains(byte);
    let bytes = value.as_bytes();
    let fits = (1..=KEY_MAX).contains(&bytes.len()) && bytes.iter().all(printable) && values.next().is_none();
    match value.to_str() {
        Ok(text) if fits => Ok(Some(text.to_owned())),
        _ => Err(ApiError::invalid("Idempotency-Key", "must be a single value of 1 to 255 printable ASCII characters")
            .into()),
    }
}

async fn keyed(
    app: Arc<App>,
    caller: Option<Caller>,
    rights: Rights,
    key: String,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let (mut request, body) = gather(request).await?;
    let body_hash = request_hash(&app, rights, &body);
    let call = KeyedCall { path: request.uri().path().to_owned(), key, body_hash };
    let work = move |once: Once| {
        request.extensions_mut().insert(once);
        next.run(request)
    };
    run_once(app, caller, call, work).await
}

/// Hashes everything that a repetition must have in common with the first request.
fn request_hash(app: &App, rights: Rights, body: &[u8]) -> [u8; 32] {
    let mut hash = app.secrets.body_in_pieces();
    if rights != Rights::full() {
        hash.update(&rights.scopes.bits().to_be_bytes());
        hash.update(&rights.expires_at.map_or(i64::MAX, |end| end.0).to_be_bytes());
        hash.update(&rights.own_rate.unwrap_or(i64::MAX).to_be_bytes());
    }
    hash.update(body);
    hash.finish()
}

/// Runs `work` once per key, or replays its stored response. The key belongs to the caller, or to the operator if there is none.
/// `work` gets the run with which it stores its response.
///
/// The run is a separate task: a disconnecting client leaves neither half-done work nor a locked key.
pub(crate) async fn run_once<F>(
    app: Arc<App>,
    caller: Option<Caller>,
    call: KeyedCall,
    work: impl FnOnce(Once) -> F + Send + 'static,
) -> Result<Response, Refusal>
where
    F: Future<Output = Response> + Send + 'static,
{
    let holder = KeyHolder::of(caller.as_ref());
    let run = async move {
        match once::begin(&app, holder, call).await? {
            Beginning::Replay(status, body) => replay(status, body),
            Beginning::Run(run) => Ok(finish(&app, &run, work(run.once())).await),
        }
    };
    tokio::spawn(run.in_current_span()).await.map_err(ApiError::server_error)?
}

fn replay(status: u16, body: Vec<u8>) -> Result<Response, Refusal> {
    let status = StatusCode::from_u16(status).map_err(ApiError::server_error)?;
    let json = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let replayed = (REPLAYED.clone(), HeaderValue::from_static("true"));
    Ok((status, [json, replayed], body).into_response())
}

/// Runs the work. Releases the key of an error response. Stores a response that the work did not store in its own transaction.
async fn finish(app: &App, run: &KeyedRun, work: impl Future<Output = Response>) -> Response {
    let counts = app.metrics.accounts();
    let Ok(response) = AssertUnwindSafe(work).catch_unwind().await else {
        counts.idempotent(Idempotent::Freed);
        run.release().await;
        return Refusal(ApiError::server_error("a handler panicked; the log has its location")).into_response();
    };
    if !response.status().is_success() {
        counts.idempotent(Idempotent::Freed);
        run.release().await;
        return response;
    }
    if run.has_kept() {
        counts.idempotent(Idempotent::Kept);
        return response;
    }
    let (parts, body) = response.into_parts();
    let Ok(bytes) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
        counts.idempotent(Idempotent::Freed);
        run.release().await;
        return Refusal(ApiError::server_error("the response was interrupted")).into_response();
    };
    counts.idempotent(Idempotent::Kept);
    run.keep_late(parts.status.as_u16(), &bytes).await;
    Response::from_parts(parts, Body::from(bytes))
}
