//! The guard of everything that a page of the dashboard asks for.
//!
//! In this order: what changes something comes from a page of ours (403), there is a session (401), what changes something
//! says its page token (403), the limits of the session and of the organization are not used up (429), and the person may do it
//! (403). The order of the first two keeps pages elsewhere from learning whether somebody is signed in. A verdict changes
//! something too, as it costs credits: it is asked for by GET, which a link elsewhere makes a browser send with its cookies.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use probity_account::scope::Scope;
use probity_mail::time::Millis;
use probity_service::app::App;
use probity_service::error::{ApiError, Code};
use probity_service::people::attempts::From;
use probity_service::secrets::Secrets;
use probity_store::sessions::{self, SignedIn};
use probity_store::{ScopedFutureExt as _, StoreError};
use subtle::ConstantTimeEq as _;

use crate::auth;
use crate::auth::{Caller, Guard, Need, Pace};
use crate::error::Refusal;
use crate::person::cookie;
use crate::person::cookie::Transport;
use crate::person::{client, origin};
use crate::shell::Assured;

/// How exactly it is kept when a session was used last, in milliseconds.
const SEEN_STEP_MS: i64 = 60_000;

static PAGE_TOKEN: HeaderName = HeaderName::from_static("x-csrf-token");

/// What a route of the dashboard asks of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// No session: this is how one comes about.
    Anybody,
    /// A session, of whatever organization.
    Session,
    /// A session of an organization that is not stopped.
    Running,
    /// The same, of somebody whose role has the scope.
    May(Scope),
    /// The same, of an administrator.
    Administrator,
}

/// The other end of a request: how it came, and what it is.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    pub(crate) transport: Transport,
    pub(crate) from: From,
    /// Which browser on which system.
    pub(crate) client: String,
}

/// The session that a request belongs to. An extractor behind the guard.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) signed_in: Arc<SignedIn>,
    /// The session's token.
    pub(crate) token: [u8; 32],
}

macro_rules! extension_of_guard {
    ($type:ty) => {
        impl<S: Sync> FromRequestParts<S> for $type {
            type Rejection = Refusal;

            async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
                let found = parts.extensions.get::<Self>().cloned();
                Ok(found.ok_or_else(|| ApiError::server_error("a dashboard route has no guard"))?)
            }
        }
    };
}
extension_of_guard!(Visitor);
extension_of_guard!(Person);

/// The guard of a route under `/app`.
#[derive(Clone)]
pub(crate) struct PageGuard {
    pub(crate) app: Arc<App>,
    pub(crate) access: Access,
}

/// [`PageGuard`] as a layer's function.
pub(crate) async fn page(State(it): State<PageGuard>, mut request: Request, next: Next) -> Response {
    match enter(&it.app, &mut request, it.access).await {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

/// The guard of a route of the API under `/app/v1`, as a layer's function.
pub(crate) async fn api(State(it): State<Guard>, mut request: Request, next: Next) -> Response {
    let need = it.need(request.method());
    match open(&it.app, &mut request, need).await {
        Ok(_) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

async fn enter(app: &App, request: &mut Request, access: Access) -> Result<(), Refusal> {
    if access == Access::Anybody {
        return visit(app, request).map(drop);
    }
    let need = if let Access::May(scope) = access { Need::Scope(scope) } else { Need::AnyKey };
    let caller = open(app, request, need).await?;
    match access {
        Access::Anybody | Access::Session | Access::May(_) => Ok(()),
        Access::Running => auth::running(app, &caller),
        Access::Administrator => {
            auth::running(app, &caller)?;
            if caller.is_administrator() {
                Ok(())
            } else {
                Err(ApiError::forbidden_scope("only administrators can do this").into())
            }
        }
    }
}

/// Whether a session that has come in goes on: it is not over, and its person may still do this. Where nobody can say it does: the
/// next look can.
pub(crate) async fn goes_on(app: &App, person: &Person, scope: Scope) -> bool {
    match session(app, &person.token, app.now()).await {
        Ok(now) => !now.org_status.is_stopped() && now.role.scopes().contains(scope),
        Err(error) => error.code() != Code::NotSignedIn,
    }
}

/// Lets a request through as far as it needs no session.
fn visit(app: &App, request: &mut Request) -> Result<Transport, Refusal> {
    let public_url = app.config.public_url.as_deref();
    if !origin::is_safe(request.method()) {
        origin::check(request, public_url)?;
    }
    let transport = Transport::of(public_url, origin::host(request)).check()?;
    let visitor =
        Visitor { transport, from: From::of(auth::from(app, request)), client: client::describe(request.headers()) };
    request.extensions_mut().insert(visitor);
    Ok(transport)
}

/// Lets the request of a person through, or says why not.
async fn open(app: &App, request: &mut Request, need: Need) -> Result<Caller, Refusal> {
    let now = app.now();
    let transport = visit(app, request)?;
    let token = cookie::session(transport, request.headers()).ok_or_else(not_signed_in)?;
    let signed_in = Arc::new(session(app, &token, now).await?);
    let changes = !origin::is_safe(request.method()) || need == Need::Scope(Scope::Verify);
    if changes && !says(request.headers(), &app.secrets, &token) {
        return Err(ApiError::new(Code::CrossSiteRequest, "X-CSRF-Token: must be the session's token").into());
    }
    let caller = Caller::Person(signed_in.clone());
    let (state, shown) = auth::limited(app, &caller, Pace::AsAllowed, now).await;
    if let Some(assured) = request.extensions().get::<Assured>() {
        assured.put(shown.to_vec());
    }
    auth::admitted(app, &caller, need, &state, now)?;
    touch(app, &signed_in, now).await;
    request.extensions_mut().insert(caller.clone());
    request.extensions_mut().insert(Person { signed_in, token });
    Ok(caller)
}

fn not_signed_in() -> ApiError {
    ApiError::of(Code::NotSignedIn)
}

/// The session with a token, if it goes on.
async fn session(app: &App, token: &[u8; 32], now: Millis) -> Result<SignedIn, Refusal> {
    let hash = app.secrets.session(token);
    let found = sessions::by_token(&mut app.store.read().await?, &hash).await?;
    let lifetimes = app.people.config.lifetimes;
    Ok(found.filter(|found| !found.session.is_over(lifetimes, now)).ok_or_else(not_signed_in)?)
}

/// The page token of a session, as pages say it.
pub(crate) fn page_token(secrets: &Secrets, token: &[u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(secrets.page_token(token))
}

fn says(headers: &HeaderMap, secrets: &Secrets, token: &[u8; 32]) -> bool {
    let said = headers.get(&PAGE_TOKEN).map(axum::http::HeaderValue::as_bytes).unwrap_or_default();
    said.ct_eq(page_token(secrets, token).as_bytes()).into()
}

/// Notes that a session was used. Where that fails it ends sooner, which is no reason to refuse anything.
async fn touch(app: &App, signed_in: &SignedIn, now: Millis) {
    let session = &signed_in.session;
    if now.since(session.seen_at) < SEEN_STEP_MS {
        return;
    }
    let noted: Result<(), StoreError> =
        app.store.write(|tx| sessions::touch(tx, session.org, session.id, now).scope_boxed()).await;
    if let Err(error) = noted {
        tracing::warn!(%error, "cannot record the use of a session");
    }
}
