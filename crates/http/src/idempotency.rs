//! POSTs that can be repeated: a request with an `Idempotency-Key` has its effect once.
//!
//! The body is read whole, then the key is locked ([`probity_store::idempotency`]): a twin under way is 409, another body is
//! 422, an answer that is kept is replayed byte for byte with `Idempotent-Replayed: true`. The handler keeps its answer in
//! the transaction that does the work ([`Once::keep`]): either both stand or neither. An answer that is no success releases
//! the key, so that a retry runs. The run goes on when its client goes away, and a run whose process died loses the lock after
//! its lease. Answers are encrypted; only a request with the same Idempotency-Key opens them.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use http_body_util::BodyExt as _;
use probity_account::scope::Scopes;
use probity_service::app::App;
use probity_service::error::ApiError;
use probity_service::ops::metrics::Idempotent;
use probity_service::upkeep::ANSWERS_KEEP_MS;
use probity_store::idempotency::{self, Attempt, Begun};
use probity_store::{OrgNo, ScopedFutureExt as _, StoreError, Tx};
use serde::Serialize;
use tracing::Instrument as _;

use crate::auth::Caller;
use crate::body::gather;
use crate::error::Refusal;

/// The longest key, in characters (specification, section 8).
const KEY_MAX: usize = 255;
/// How soon a client may try again when too many keys are kept, in seconds.
const FULL_RETRY_S: u32 = 60;

static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
static REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// An answer that is ready to be sent: what was kept is what is sent.
pub(crate) struct Answer {
    status: StatusCode,
    body: Vec<u8>,
}

impl Answer {
    fn of<T: Serialize>(status: StatusCode, value: &T) -> Self {
        Self { status, body: serde_json::to_vec(value).expect("answers are plain JSON") }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        (self.status, json, self.body).into_response()
    }
}

/// The run of a request, on which its handler keeps its answer. An extractor of every POST.
#[derive(Clone)]
pub(crate) struct Once(Option<Arc<Run>>);

struct Run {
    app: Arc<App>,
    attempt: Attempt,
    key: String,
    /// Whether the handler has kept its answer; counts only where it answers with success, for then its work stands.
    kept: AtomicBool,
}

impl<S: Sync> FromRequestParts<S> for Once {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or(Self(None)))
    }
}

impl Once {
    /// For a request without a key.
    pub(crate) fn unkeyed() -> Self {
        Self(None)
    }

    /// Makes the answer, and keeps it in the transaction of the work where the request has a key.
    pub(crate) async fn keep<T: Serialize + Sync>(
        &self,
        tx: &mut Tx,
        status: StatusCode,
        value: &T,
    ) -> Result<Answer, StoreError> {
        let answer = Answer::of(status, value);
        if let Some(run) = &self.0 {
            let sealed = run.app.secrets.seal_answer(&run.key, &answer.body);
            let names = names_address(&answer.body);
            idempotency::keep_answer(tx, run.attempt.held(), status.as_u16(), &sealed, names).await?;
            run.kept.store(true, Ordering::Relaxed);
        }
        Ok(answer)
    }
}

/// Whether an answer may name an address, which nobody can look up in it once it is kept.
fn names_address(answer: &[u8]) -> bool {
    answer.contains(&b'@')
}

/// Runs a POST once for each key; other requests pass.
pub(crate) async fn layer(State(app): State<Arc<App>>, caller: Caller, request: Request, next: Next) -> Response {
    layered(app, Some(caller), request, next).await
}

/// The same for the operator, who is none of the callers of the API.
pub(crate) async fn layer_of_operator(app: Arc<App>, request: Request, next: Next) -> Response {
    layered(app, None, request, next).await
}

async fn layered(app: Arc<App>, caller: Option<Caller>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    match key(request.headers()) {
        Ok(None) => next.run(request).await,
        Ok(Some(key)) => once(app, caller, key, request, next).await.unwrap_or_else(IntoResponse::into_response),
        Err(error) => {
            app.metrics.accounts().idempotent(Idempotent::Malformed);
            error.into_response()
        }
    }
}

/// The key that came with a request.
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

async fn once(
    app: Arc<App>,
    caller: Option<Caller>,
    key: String,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let (mut request, body) = gather(request).await?;
    let body_hash = request_hash(&app, caller.as_ref(), &body);
    let call = Call { path: request.uri().path().to_owned(), key, body_hash };
    let work = move |once: Once| {
        request.extensions_mut().insert(once);
        next.run(request)
    };
    run_for(app, Holder::of(caller.as_ref()), call, work).await
}

/// What a repetition has to equal: the body, and what the caller may do, until when and how often. An answer may carry a secret
/// that grants as much as its first caller had (a new key's, an invitation's); whoever may do less and repeats the request must
/// not get it replayed, for the handler, which would have refused them, is not asked.
fn request_hash(app: &App, caller: Option<&Caller>, body: &[u8]) -> [u8; 32] {
    let mut hash = app.secrets.body_in_pieces();
    if let Some(caller) = caller {
        let (scopes, end) = (caller.scopes(), caller.expires_at());
        let own_rate = caller.key().and_then(|key| key.rate_limit_per_minute);
        if scopes != Scopes::all() || end.is_some() || own_rate.is_some() {
            hash.update(&scopes.bits().to_be_bytes());
            hash.update(&end.map_or(i64::MAX, |end| end.0).to_be_bytes());
            hash.update(&own_rate.unwrap_or(i64::MAX).to_be_bytes());
        }
    }
    hash.update(body);
    hash.finish()
}

/// A POST that came with a key.
pub(crate) struct Call {
    /// Its path.
    pub(crate) path: String,
    /// Its Idempotency-Key.
    pub(crate) key: String,
    /// The hash of its body.
    pub(crate) body_hash: [u8; 32],
}

/// Whose keys are told apart from everybody else's.
#[derive(Clone, Copy)]
struct Holder {
    org: OrgNo,
    method: &'static str,
}

impl Holder {
    /// Keys of live and test keys are apart, as everything else of theirs is; so are those of pages. None is the operator, who
    /// belongs to no organization: no id has this number.
    fn of(caller: Option<&Caller>) -> Self {
        let Some(caller) = caller else { return Self { org: OrgNo(0), method: "operator POST" } };
        let method = match caller {
            Caller::Key(_) if caller.is_test() => "test POST",
            Caller::Key(_) => "POST",
            Caller::Person(_) => "page POST",
            Caller::Staff { .. } => "desk POST",
        };
        Self { org: caller.org(), method }
    }
}

/// Does a work once for a key, or answers as it was answered. The work is handed what to keep its answer on.
///
/// All of it is a task of its own: a client that goes away leaves neither half of a work behind nor a key locked for nobody.
pub(crate) async fn run_once<F>(
    app: Arc<App>,
    caller: Caller,
    call: Call,
    work: impl FnOnce(Once) -> F + Send + 'static,
) -> Result<Response, Refusal>
where
    F: Future<Output = Response> + Send + 'static,
{
    run_for(app, Holder::of(Some(&caller)), call, work).await
}

async fn run_for<F>(
    app: Arc<App>,
    holder: Holder,
    call: Call,
    work: impl FnOnce(Once) -> F + Send + 'static,
) -> Result<Response, Refusal>
where
    F: Future<Output = Response> + Send + 'static,
{
    let run = async move {
        match begin(app, holder, call).await? {
            Start::Answered(response) => Ok(response),
            Start::Run(run) => Ok(run.clone().finish(work(Once(Some(run)))).await),
        }
    };
    tokio::spawn(run.in_current_span()).await.map_err(ApiError::server_error)?
}

/// What a call with a key begins with.
enum Start {
    /// It was answered before.
    Answered(Response),
    /// It runs, and holds its key.
    Run(Arc<Run>),
}

async fn begin(app: Arc<App>, holder: Holder, call: Call) -> Result<Start, Refusal> {
    let attempt = Attempt {
        org: holder.org,
        key_hash: app.secrets.idempotency_key(holder.method, &call.path, &call.key),
        body_hash: call.body_hash,
        run: probity_service::secrets::hex(&probity_service::random::bytes::<16>()),
        now: app.now(),
        lease_ms: app.config.idempotency_lease_ms,
        keep_ms: ANSWERS_KEEP_MS,
    };
    match app.store.write(|tx| idempotency::begin(tx, &attempt).scope_boxed()).await? {
        Begun::Run => Ok(Start::Run(Arc::new(Run { app, attempt, key: call.key, kept: AtomicBool::new(false) }))),
        Begun::Replay { status, answer } => {
            app.metrics.accounts().idempotent(Idempotent::Replayed);
            replay(&app, &call.key, status, &answer).map(Start::Answered)
        }
        Begun::InProgress => {
            app.metrics.accounts().idempotent(Idempotent::InProgress);
            Err(ApiError::idempotency_in_progress().into())
        }
        Begun::Reused => {
            app.metrics.accounts().idempotent(Idempotent::Reused);
            Err(ApiError::idempotency_key_reused().into())
        }
        Begun::Full => Err(ApiError::rate_limited(FULL_RETRY_S).into()),
    }
}

fn replay(app: &App, key: &str, status: u16, sealed: &[u8]) -> Result<Response, Refusal> {
    let body = app.secrets.open_answer(key, sealed).map_err(ApiError::server_error)?;
    let status = StatusCode::from_u16(status).map_err(ApiError::server_error)?;
    let mut response = Answer { status, body }.into_response();
    response.headers_mut().insert(&REPLAYED, HeaderValue::from_static("true"));
    Ok(response)
}

impl Run {
    /// Runs the work. Frees the key of an answer that is no success, and keeps one whose handler had no transaction to keep
    /// it in.
    async fn finish(&self, work: impl Future<Output = Response>) -> Response {
        let Ok(response) = AssertUnwindSafe(work).catch_unwind().await else {
            self.release().await;
            return Refusal(ApiError::server_error("a handler panicked; the log has its location")).into_response();
        };
        if !response.status().is_success() {
            self.release().await;
            return response;
        }
        self.app.metrics.accounts().idempotent(Idempotent::Kept);
        if self.kept.load(Ordering::Relaxed) {
            return response;
        }
        let (parts, body) = response.into_parts();
        let Ok(bytes) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
            self.release().await;
            return Refusal(ApiError::server_error("the response was interrupted")).into_response();
        };
        self.keep_late(parts.status, &bytes).await;
        Response::from_parts(parts, Body::from(bytes))
    }

    async fn keep_late(&self, status: StatusCode, body: &Bytes) {
        let (sealed, names) = (self.app.secrets.seal_answer(&self.key, body), names_address(body));
        let kept = self.app.store.write(|tx| {
            idempotency::keep_answer(tx, self.attempt.held(), status.as_u16(), &sealed, names).scope_boxed()
        });
        if let Err(error) = kept.await {
            tracing::error!(%error, "cannot store a response for retries");
        }
    }

    /// Where this fails the key is free after its lease.
    async fn release(&self) {
        self.app.metrics.accounts().idempotent(Idempotent::Freed);
        let released = self.app.store.write(|tx| idempotency::release(tx, self.attempt.held()).scope_boxed());
        if let Err(error) = released.await {
            tracing::warn!(%error, "cannot release an idempotency key; it stays locked until its lease ends");
        }
    }
}
