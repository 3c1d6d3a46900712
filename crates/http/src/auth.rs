//! Who calls, and whether they may: the guard in front of every route under a key.
//!
//! In this order: a key is there (401 `missing_api_key`), it opens something (401 `invalid_api_key`, the same answer after the
//! same look-ups for unknown, expired and revoked ones), neither its limit nor its organization's is used up (429), the
//! organization is not stopped and the key has the route's scope (403). The scope is the one that the handler's annotation
//! names, so the document and the guard cannot differ. Whatever is answered after the key was recognized carries the state of
//! its limits. People in the dashboard come through [`crate::person::guard`], with the same limits and scopes,
//! and the command line through [`crate::desk`].

mod caller;

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use probity_account::api_key::KeyKind;
use probity_account::scope::Scope;
use probity_mail::time::Millis;
use probity_service::app::App;
use probity_service::error::{ApiError, Code};
use probity_service::limits;
use probity_service::limits::{Bucket, Limit};
use probity_service::ops::metrics::{AuthFailure, LimitedBy};
use probity_service::query::Query;
use probity_store::keys::Known;

use crate::error::Refusal;
use crate::peer::{Peer, client_ip};
use crate::shell::Assured;

pub(crate) use caller::Caller;

/// When the query parameter for keys stops working (specification, section 5).
const SUNSET: &str = "Tue, 01 Jun 2027 00:00:00 GMT";

static DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
static SUNSET_NAME: HeaderName = HeaderName::from_static("sunset");
static LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
static REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
static RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// What a route asks of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A scope, of an organization that is not stopped.
    Scope(Scope),
    /// Any key that opens something.
    AnyKey,
}

/// Which limit of an organization holds its requests back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// The one that it has set for its keys, which is no higher than the operator's.
    AsWished,
    /// The operator's alone: for people, and for the route that changes the limit, which could otherwise never be raised again.
    AsAllowed,
}

/// The key that came with a request.
struct Presented {
    text: String,
    /// It came in the query, which is on its way out.
    deprecated: bool,
}

/// Lets a request through to its route, or answers in its place.
async fn guard(it: &Guard, mut request: Request, next: Next) -> Response {
    let (app, need) = (&*it.app, it.need(request.method()));
    let now = app.now();
    let presented = match presented(&request) {
        Ok(presented) => presented,
        Err(error) => {
            if error.code() == Code::MissingApiKey {
                app.metrics.accounts().auth_failed(AuthFailure::Missing);
            }
            return error.into_response();
        }
    };
    let mut headers = if presented.deprecated { deprecation().to_vec() } else { Vec::new() };
    let from = from(app, &request);
    let passed = match recognized(app, &presented.text, from, now).await {
        Ok(known) => {
            let caller = Caller::Key(known.clone());
            let (state, shown) = limited(app, &caller, it.pace, now).await;
            headers.extend(shown);
            admitted(app, &caller, need, &state, now).map(|()| (known, caller))
        }
        Err((error, limited)) => {
            headers.extend(limited.iter().flat_map(shown));
            Err(error.into())
        }
    };
    if let Some(assured) = request.extensions().get::<Assured>() {
        assured.put(headers);
    }
    match passed {
        Ok((known, caller)) => {
            app.keyring.note_use(&known, now);
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(error) => error.into_response(),
    }
}

/// A bearer token, or else the query parameter.
fn presented(request: &Request) -> Result<Presented, Refusal> {
    if let Some(text) = bearer(request.headers()) {
        return Ok(Presented { text, deprecated: false });
    }
    let query = Query::of(request.uri());
    // A text that cannot be decoded is no key.
    match query.text("api_key").map_err(|_| ApiError::invalid_api_key())? {
        Some(text) if !text.is_empty() => Ok(Presented { text: text.into_owned(), deprecated: true }),
        _ => Err(ApiError::missing_api_key().into()),
    }
}

/// RFC 6750 §2.1; RFC 9110 §11.1: the scheme's case does not matter.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<String> {
    // What is no ASCII is a key all the same, and no good one.
    let value = String::from_utf8_lossy(headers.get(header::AUTHORIZATION)?.as_bytes());
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| token.to_owned())
}

/// The key, or the refusal with the limit that made it.
pub(crate) async fn recognized(
    app: &App,
    text: &str,
    from: Option<IpAddr>,
    now: Millis,
) -> Result<Arc<Known>, (ApiError, Option<limits::State>)> {
    let hash = app.secrets.api_key(text);
    let why = match app.keyring.open(&app.store, text, &hash, now).await {
        Ok(Ok(known)) => return Ok(known),
        Ok(Err(why)) => why,
        Err(error) => return Err((error.into(), None)),
    };
    app.metrics.accounts().auth_failed(why);
    // A refused key counts against the address that it came from, which is told to wait. It is looked up all the same: others
    // may share the address, and keys are too long to be guessed.
    let state = from.map(|ip| app.limits.take_failure(ip, app.config.failures_per_minute, now));
    match state.and_then(|state| state.retry_after_s(now)) {
        Some(retry_after_s) => {
            app.metrics.accounts().limited(LimitedBy::Address);
            Err((ApiError::rate_limited(retry_after_s), state))
        }
        None => Err((ApiError::invalid_api_key(), None)),
    }
}

/// Counts a request against the limits of its caller and of the organization; says what the answer says of them.
pub(crate) async fn limited(
    app: &App,
    caller: &Caller,
    pace: Pace,
    now: Millis,
) -> (limits::State, [(HeaderName, HeaderValue); 3]) {
    let state = app.limits.take(&limits_of(app, caller, pace), now).await;
    let shown = shown(&state);
    (state, shown)
}

/// The limits that a caller's request counts against: its own, and that of its organization.
pub(crate) fn limits_of(app: &App, caller: &Caller, pace: Pace) -> [Limit; 2] {
    [own_limit(app, caller), org_limit(app, caller, pace)]
}

/// The network that a request came from; none in process.
pub(crate) fn from(app: &App, request: &Request) -> Option<IpAddr> {
    from_parts(app, request.extensions(), request.headers())
}

/// The same of a request's parts.
pub(crate) fn from_parts(app: &App, extensions: &Extensions, headers: &HeaderMap) -> Option<IpAddr> {
    let Peer(peer) = extensions.get()?;
    Some(whoever(client_ip(peer.ip(), headers, &app.config.trusted_proxies)))
}

/// Who an address stands for: of IPv6 a customer has a whole /64, and can change within it at will.
fn whoever(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64)),
    }
}

/// Whether a caller gets to a route, its limits having been counted.
pub(crate) fn admitted(
    app: &App,
    caller: &Caller,
    need: Need,
    state: &limits::State,
    now: Millis,
) -> Result<(), Refusal> {
    let counts = app.metrics.accounts();
    if let Some(retry_after_s) = state.retry_after_s(now) {
        counts.limited(state.bucket.limited_by());
        return Err(ApiError::rate_limited(retry_after_s).into());
    }
    let Need::Scope(scope) = need else { return Ok(()) };
    running(app, caller)?;
    if !caller.scopes().contains(scope) {
        counts.auth_failed(AuthFailure::Scope);
        return Err(ApiError::forbidden_scope(format!("{} lacks the scope `{}`", caller.noun(), scope.as_str())).into());
    }
    Ok(())
}

/// Refuses callers of an organization that is stopped.
pub(crate) fn running(app: &App, caller: &Caller) -> Result<(), Refusal> {
    if caller.org_status().is_stopped() {
        app.metrics.accounts().auth_failed(AuthFailure::Account);
        return Err(ApiError::forbidden_scope("the organization is suspended, paused or banned").into());
    }
    Ok(())
}

/// How many requests a minute a caller may make: a key what was set for it, everybody else what holds for all.
pub(crate) fn own_limit(app: &App, caller: &Caller) -> Limit {
    let (bucket, own) = match caller {
        Caller::Key(known) => (Bucket::Key(known.key.org, known.key.id), known.key.rate_limit_per_minute),
        Caller::Person(person) => (Bucket::Session(person.session.org, person.session.id), None),
        // Counts nothing of its own: its guard does not ask.
        Caller::Staff { org, .. } => (Bucket::Org(org.no), None),
    };
    let own = own.and_then(|limit| u32::try_from(limit).ok());
    let widget = caller.key().is_some_and(|key| key.kind == KeyKind::Pub);
    let usual = if widget { app.config.widget.key_per_minute } else { app.config.key_per_minute };
    Limit { bucket, per_minute: own.unwrap_or(usual).max(1) }
}

/// The lower of what the operator allows and, where that counts, what the organization has set for its keys.
fn org_limit(app: &App, caller: &Caller, pace: Pace) -> Limit {
    let (allowed, wished) = caller.org_rates();
    let allowed = operators_limit(app, allowed, caller.org_plan());
    let wished = wished.and_then(|limit| u32::try_from(limit).ok()).filter(|wished| *wished < allowed);
    let org = caller.org();
    match (wished, pace) {
        (None, _) => Limit { bucket: Bucket::Org(org), per_minute: allowed },
        (Some(wished), Pace::AsWished) => Limit { bucket: Bucket::Org(org), per_minute: wished.max(1) },
        // A bucket of its own: the other one may be empty, and has another size.
        (Some(_), Pace::AsAllowed) => Limit { bucket: Bucket::OperatorOnly(org), per_minute: allowed },
    }
}

/// How many requests a minute the operator allows an organization, which may have a value of its own.
pub(crate) fn operators_limit(app: &App, own: Option<i64>, plan: &str) -> u32 {
    let said = own.or(app.config.plans.of(plan).rate_limit_per_minute);
    said.and_then(|limit| u32::try_from(limit).ok()).unwrap_or(app.config.org_per_minute).max(1)
}

/// What the answer says of a limit.
pub(crate) fn shown(state: &limits::State) -> [(HeaderName, HeaderValue); 3] {
    [
        (LIMIT.clone(), HeaderValue::from(state.limit)),
        (REMAINING.clone(), HeaderValue::from(state.remaining)),
        (RESET.clone(), HeaderValue::from(state.reset_s())),
    ]
}

/// What the answer says of a key in the query.
fn deprecation() -> [(HeaderName, HeaderValue); 2] {
    [(DEPRECATION.clone(), HeaderValue::from_static("true")), (SUNSET_NAME.clone(), HeaderValue::from_static(SUNSET))]
}

/// What each method of a path needs.
#[derive(Clone)]
pub(crate) struct Guard {
    pub(crate) app: Arc<App>,
    pub(crate) needs: Arc<[(Method, Need)]>,
    /// For keys.
    pub(crate) pace: Pace,
}

impl Guard {
    pub(crate) fn need(&self, method: &Method) -> Need {
        // HEAD is answered by the route of GET.
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let found = self.needs.iter().find(|(known, _)| known == method);
        found.map(|(_, need)| *need).expect("the guard stands only before methods that the path has")
    }
}

/// The guard as a layer's function.
pub(crate) async fn layer(State(it): State<Guard>, request: Request, next: Next) -> Response {
    guard(&it, request, next).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_ipv6_stands_for_its_network() {
        let who = |text: &str| whoever(text.parse().unwrap()).to_string();
        assert_eq!(who("192.0.2.7"), "192.0.2.7");
        assert_eq!(who("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_ne!(who("2001:db8:1:2::1"), who("2001:db8:1:3::1"));
    }

    #[test]
    fn bearer_tokens_are_read_as_the_standard_says() {
        let read = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            bearer(&headers)
        };
        assert_eq!(read("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(read("bearer   abc ").as_deref(), Some("abc"));
        for none in ["Bearer", "Bearer ", "Basic abc", "abc", ""] {
            assert_eq!(read(none), None, "{none:?}");
        }
    }
}
