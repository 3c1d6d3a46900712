//! Guard of all requests from dashboard pages.
//!
//! Checked in this order: a changing request comes from our own page (403), there is a session (401), a changing request has the
//! page token (403), the limits of session and organization are not used up (429), and the member has the permission (403). The
//! first check comes before the second, so that other sites cannot learn whether a user is signed in. A verification is a
//! changing request too, because it costs credits: it uses GET, which a link on another site makes a browser send with its
//! cookies.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use probity_access::people::attempts::Network;
use probity_account::scope::Scope;
use probity_contract::error::{ApiError, Code};
use probity_contract::query::Query;
use probity_service::accounts::people::sessions::OpenSession;
use probity_service::accounts::people::{Visitor, sessions};
use probity_service::app::App;
use probity_service::callers::admission;
use probity_service::callers::admission::{LimitChoice, Need};
use probity_service::callers::caller::Caller;
use subtle::ConstantTimeEq as _;

use crate::callers::auth;
use crate::callers::auth::RouteGuard;
use crate::edge::shell::assure;
use crate::error::Refusal;
use crate::person::cookie;
use crate::person::cookie::PageTransport;
use crate::person::{client, origin};

static PAGE_TOKEN: HeaderName = HeaderName::from_static("x-csrf-token");

/// Requirement of a dashboard route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageAccess {
    /// No session, as for sign-in.
    Anybody,
    /// A session of any organization.
    Session,
    /// A session of an organization without a restriction.
    Running,
    /// The same, with a role that has the scope.
    May(Scope),
    /// The same, of an administrator.
    Administrator,
}

/// Origin of a member's request. An extractor behind the guard.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) transport: PageTransport,
    pub(crate) visitor: Visitor,
}

/// Session of a request. An extractor behind the guard.
#[derive(Clone, Debug)]
pub(crate) struct Person(pub(crate) OpenSession);

impl Deref for Person {
    type Target = OpenSession;

    fn deref(&self) -> &OpenSession {
        &self.0
    }
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
extension_of_guard!(Arrival);
extension_of_guard!(Person);

/// Guard of a route under `/app`.
#[derive(Clone)]
pub(crate) struct PageGuard {
    pub(crate) app: Arc<App>,
    pub(crate) access: PageAccess,
    /// Whether the data belongs to one mode.
    pub(crate) has_modes: bool,
}

/// Applies [`PageGuard`]; function of a layer.
pub(crate) async fn page(State(it): State<PageGuard>, mut request: Request, next: Next) -> Response {
    match enter(&it, &mut request).await {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

/// Guards a route of the API under `/app/v1`; function of a layer.
pub(crate) async fn api(State(it): State<RouteGuard>, mut request: Request, next: Next) -> Response {
    let need = it.need(request.method());
    match open(&it.app, &mut request, need, it.has_modes).await {
        Ok(_) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

async fn enter(guard: &PageGuard, request: &mut Request) -> Result<(), Refusal> {
    let (app, access) = (&*guard.app, guard.access);
    if access == PageAccess::Anybody {
        return visit(app, request).map(drop);
    }
    let need = if let PageAccess::May(scope) = access { Need::Scope(scope) } else { Need::AnyKey };
    let caller = open(app, request, need, guard.has_modes).await?;
    match access {
        PageAccess::Anybody | PageAccess::Session | PageAccess::May(_) => Ok(()),
        PageAccess::Running => Ok(admission::running(app, &caller)?),
        PageAccess::Administrator => {
            admission::running(app, &caller)?;
            Ok(admission::require_administrator(&caller)?)
        }
    }
}

/// Checks a request as far as no session is needed.
fn visit(app: &App, request: &mut Request) -> Result<PageTransport, Refusal> {
    let public_url = app.config.public_url.as_deref();
    if !origin::is_safe(request.method()) {
        origin::check(request, public_url)?;
    }
    let host = origin::host(request.uri(), request.headers());
    let transport = PageTransport::of(public_url, host).check(request.headers(), public_url)?;
    let visitor = Visitor {
        network: Network::of(auth::from(app, request)),
        client: client::describe(request.headers()),
        secure: transport == PageTransport::Secure,
    };
    request.extensions_mut().insert(Arrival { transport, visitor });
    Ok(transport)
}

/// Checks a member's request; returns the reason for a refusal.
async fn open(app: &App, request: &mut Request, need: Need, has_modes: bool) -> Result<Caller, Refusal> {
    let now = app.now();
    let transport = visit(app, request)?;
    let token = cookie::session(transport, request.headers()).ok_or_else(sessions::not_signed_in)?;
    let session = sessions::open_session(app, token).await?;
    let changes = !origin::is_safe(request.method()) || need == Need::Scope(Scope::Verify);
    if changes && !has_page_token(request.headers(), &session.page_token(app)) {
        return Err(ApiError::new(
            Code::CrossSiteRequest,
            "X-CSRF-Token: must be the session's token; reload the page",
        )
        .into());
    }
    let caller = session.caller(is_test(request, has_modes)?);
    let state = admission::count_request(app, &caller, LimitChoice::AsAllowed, now).await;
    assure(request.extensions(), auth::shown(&state).to_vec());
    admission::admit(app, &caller, need, &state, now)?;
    sessions::note_use(app, &session, now).await;
    request.extensions_mut().insert(caller.clone());
    request.extensions_mut().insert(Person(session));
    Ok(caller)
}

/// Returns whether a page shows test data: its requests then have `mode=test`. A header would not work, because links to
/// downloads and event streams have none of their own. Routes without test data refuse the parameter, because they would show and
/// change live data.
fn is_test(request: &Request, has_modes: bool) -> Result<bool, Refusal> {
    let is_test = Query::of(request.uri()).one_of("mode", &["live", "test"])?.as_deref() == Some("test");
    if is_test && !has_modes {
        return Err(ApiError::invalid("mode", "must be live: there is no test data here").into());
    }
    Ok(is_test)
}

fn has_page_token(headers: &HeaderMap, expected: &str) -> bool {
    let given = headers.get(&PAGE_TOKEN).map(HeaderValue::as_bytes).unwrap_or_default();
    given.ct_eq(expected.as_bytes()).into()
}
