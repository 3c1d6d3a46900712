//! The routes of an organization for whoever runs the installation, in process: what the command line asks, beside a running
//! service and on the same database.
//!
//! They are the handlers of the API and of the dashboard's pages behind another guard. So a command shows and does what a page
//! shows and does, by the same rules and in the same words, and what it does has the actor `staff`. There is neither a key nor a
//! session, and no limit of requests: whoever can read the database and its pepper may. No address is verified here, for mail
//! servers are asked by a service only; a job that is accepted is found by one that runs.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use http_body_util::BodyExt as _;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use probity_account::scope::Scope;
use probity_service::error::ApiError;
use probity_service::instance::Instance;
use probity_store::organization::Org;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::auth;
use crate::auth::{Caller, Guard, Need};
use crate::body::BodyRules;
use crate::service::{Parted, ServiceConfig, Verifiers};
use crate::shell::{ShellConfig, shell};
use crate::{person, router};

/// How long an answer may take: whoever sits at a terminal may wait for a long list to be counted.
const DEADLINE: Duration = Duration::from_mins(10);
/// How long the next piece of a file may take, which somebody may type.
const STALL: Duration = Duration::from_hours(1);
/// Bytes of a file that are handed on at a time.
const PIECE: usize = 64 << 10;

/// Why something was not answered.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// The answer is an error: what the API says of it.
    #[error("{message}")]
    Refused {
        /// The status of HTTP.
        status: u16,
        /// For people.
        message: String,
    },
    /// An answer broke off half-way, or is none that is understood.
    #[error("the response was interrupted")]
    Broken(#[source] axum::Error),
    /// What came could not be written.
    #[error("cannot write the response")]
    Write(#[source] io::Error),
}

/// What is asked: a path that begins with `/v1` or `/app`, and what stands behind its question mark.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The path.
    pub path: &'a str,
    /// Parameters by their names.
    pub query: &'a [(&'a str, &'a str)],
    /// The `Idempotency-Key`, where there is one.
    pub key: Option<&'a str>,
}

impl<'a> Ask<'a> {
    /// A path with parameters.
    pub fn with(path: &'a str, query: &'a [(&'a str, &'a str)]) -> Self {
        Self { path, query, key: None }
    }

    fn uri(&self) -> String {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let pairs: Vec<String> = self.query.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        if pairs.is_empty() { self.path.to_owned() } else { format!("{}?{}", self.path, pairs.join("&")) }
    }
}

impl<'a> From<&'a str> for Ask<'a> {
    fn from(path: &'a str) -> Self {
        Self { path, query: &[], key: None }
    }
}

/// The routes of one organization.
pub struct Desk {
    routes: Router,
    parted: Parted,
    ending: CancellationToken,
}

impl Desk {
    /// Opens the routes of an organization; where `test` says so, as its test keys see them. Call within a tokio runtime, and
    /// [`Desk::close`] before the instance is closed. The
    /// verifiers are asked how they would ask, and for no verdict.
    pub fn open(instance: &Instance, config: &ServiceConfig, verifiers: &Verifiers, org: &Org, test: bool) -> Self {
        let ending = CancellationToken::new();
        let parted = Parted::of(instance, config, verifiers, &ending);
        let (app, caller) = (&parted.app, Caller::Staff { org: Arc::new(org.clone()), test });
        let routes = router::api_of_desk(app, &caller).merge(person::routes::pages_of_desk(app, &caller));
        let body = BodyRules { stall: STALL, grace: STALL, ..config.shell.body };
        let config = ShellConfig { deadline: DEADLINE, body, observer: None };
        Self { routes: shell(routes, config, app.clock), parted, ending }
    }

    /// The body of a GET.
    pub async fn get(&self, ask: impl Into<Ask<'_>>) -> Result<String, DeskError> {
        self.whole(Method::GET, ask.into(), Body::empty()).await
    }

    /// The body of a request with JSON in it, or with none.
    pub async fn send(&self, method: &str, ask: impl Into<Ask<'_>>, body: Option<&Value>) -> Result<String, DeskError> {
        let method = Method::from_bytes(method.as_bytes()).expect("names of methods are tokens");
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        self.whole(method, ask.into(), body).await
    }

    /// The body of a POST that takes a file, which is read as it is wanted.
    pub async fn put_up(&self, ask: impl Into<Ask<'_>>, file: impl Read + Send + 'static) -> Result<String, DeskError> {
        // Reading may take as long as somebody types.
        let pieces = stream::try_unfold(file, async |mut file| {
            let read = move || {
                let mut piece = vec![0; PIECE];
                let read = file.read(&mut piece)?;
                piece.truncate(read);
                Ok::<_, io::Error>((read > 0).then(|| (Bytes::from(piece), file)))
            };
            tokio::task::spawn_blocking(read).await?
        });
        self.whole(Method::POST, ask.into(), Body::from_stream(pieces)).await
    }

    /// Writes the body of a GET as it comes, each piece before the next is made; says how many bytes there were.
    pub async fn download(&self, ask: impl Into<Ask<'_>>, to: &mut impl Write) -> Result<u64, DeskError> {
        let mut pieces = self.answer(Method::GET, ask.into(), Body::empty()).await?.into_body().into_data_stream();
        let mut written = 0;
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(DeskError::Broken)?;
            to.write_all(&piece).map_err(DeskError::Write)?;
            written += u64::try_from(piece.len()).unwrap_or(u64::MAX);
        }
        to.flush().map_err(DeskError::Write)?;
        Ok(written)
    }

    /// Ends what is behind the routes.
    pub async fn close(self) {
        self.ending.cancel();
        drop(self.routes);
        self.parted.end().await;
    }

    async fn whole(&self, method: Method, ask: Ask<'_>, body: Body) -> Result<String, DeskError> {
        let answer = self.answer(method, ask, body).await?;
        let body = answer.into_body().collect().await.map_err(DeskError::Broken)?.to_bytes();
        String::from_utf8(body.into()).map_err(|error| DeskError::Broken(axum::Error::new(error)))
    }

    /// The answer, where it is no error.
    async fn answer(&self, method: Method, ask: Ask<'_>, body: Body) -> Result<Response, DeskError> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = ask.uri().parse().map_err(|error| DeskError::Broken(axum::Error::new(error)))?;
        request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = ask.key {
            let text = HeaderValue::from_str(key).map_err(|error| DeskError::Broken(axum::Error::new(error)))?;
            request.headers_mut().insert("idempotency-key", text);
        }
        let Ok(answer) = self.routes.clone().oneshot(request).await;
        let status = answer.status();
        if status.is_success() { Ok(answer) } else { Err(refused(status, answer).await) }
    }
}

/// What the envelope of an error says.
async fn refused(status: StatusCode, answer: Response) -> DeskError {
    let body = match answer.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return DeskError::Broken(error),
    };
    let message = serde_json::from_slice::<Value>(&body).ok();
    let message = message.as_ref().and_then(|body| body["error"]["message"].as_str());
    DeskError::Refused { status: status.as_u16(), message: message.unwrap_or(status.as_str()).to_owned() }
}

/// The guard before one path, and in whose place it lets requests in.
#[derive(Clone)]
pub(crate) struct Clerk {
    pub(crate) guard: Guard,
    pub(crate) caller: Caller,
}

/// [`Clerk`] as a layer's function. What spends credits or stops jobs waits until an organization is served again; all else of one
/// that is stopped can be looked at and put right.
pub(crate) async fn guard(State(it): State<Clerk>, mut request: Request, next: Next) -> Response {
    let admitted = match it.guard.need(request.method()) {
        Need::Scope(Scope::Verify) => Err(ApiError::forbidden_scope("only the service can verify addresses").into()),
        Need::Scope(Scope::WriteJobs) => auth::running(&it.guard.app, &it.caller),
        Need::Scope(_) | Need::AnyKey => Ok(()),
    };
    if let Err(error) = admitted {
        return error.into_response();
    }
    request.extensions_mut().insert(it.caller);
    next.run(request).await
}
