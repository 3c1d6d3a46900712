//! Who calls, and whether they may: the guard in front of every route under a key.
//!
//! In this order: a key is there (401 `missing_api_key`), it opens something (401 `invalid_api_key`, the same answer after the
//! same look-ups for unknown, expired and revoked ones), neither its limit nor its organization's is used up (429), the
//! organization is not stopped and the key has the route's scope (403). The scope is the one that the handler's annotation
//! names, so the document and the guard cannot differ. Whatever is answered after the key was recognized carries the state of
//! its limits. People in the dashboard come through [`crate::person::guard`], with the same limits and scopes.
//! The command line calls acts without HTTP.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use probity_access::limits;
use probity_contract::error::{ApiError, Code};
use probity_contract::query::Query;
use probity_service::app::App;
use probity_service::callers::admission;
use probity_service::callers::admission::{LimitChoice, Need, recognize_key};
use probity_service::callers::caller::Caller;
use probity_telemetry::metrics::AuthFailure;

use crate::edge::access::LoggedCaller;
use crate::edge::peer::{Peer, client_ip};
use crate::edge::shell::assure;
use crate::error::Refusal;

/// When the query parameter for keys stops working (specification, section 5).
const SUNSET: &str = "Tue, 01 Jun 2027 00:00:00 GMT";

static DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
static SUNSET_NAME: HeaderName = HeaderName::from_static("sunset");
static LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
static REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
static RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// The key that came with a request.
struct Presented {
    text: String,
    /// It came in the query, which is on its way out.
    deprecated: bool,
}

/// Lets a request through to its route, or answers in its place: a layer's function.
pub(crate) async fn layer(State(it): State<RouteGuard>, mut request: Request, next: Next) -> Response {
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
    let passed = match recognize_key(app, &presented.text, from, now).await {
        Ok(known) => {
            let caller = Caller::Key(known.clone());
            if let Some(logged) = request.extensions().get::<LoggedCaller>() {
                logged.put(&caller);
            }
            let state = admission::count_request(app, &caller, it.pace, now).await;
            headers.extend(shown(&state));
            admission::admit(app, &caller, need, &state, now).map(|()| (known, caller))
        }
        Err((error, limited)) => {
            headers.extend(limited.iter().flat_map(shown));
            Err(error)
        }
    };
    assure(request.extensions(), headers);
    match passed {
        Ok((known, caller)) => {
            app.keyring.note_use(&known, now);
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(error) => Refusal(error).into_response(),
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
        _ => Err(ApiError::of(Code::MissingApiKey).into()),
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

/// The network that a request came from; none in process.
pub(crate) fn from(app: &App, request: &Request) -> Option<IpAddr> {
    from_parts(app, request.extensions(), request.headers())
}

/// The same of a request's parts.
pub(crate) fn from_parts(app: &App, extensions: &Extensions, headers: &HeaderMap) -> Option<IpAddr> {
    let Peer(peer) = extensions.get()?;
    Some(network(client_ip(peer.ip(), headers, &app.config.trusted_proxies)))
}

/// Returns the network that counts as one client: a customer with IPv6 has a whole /64 and can change addresses within it.
fn network(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64)),
    }
}

/// What the answer says of a limit.
pub(crate) fn shown(state: &limits::LimitState) -> [(HeaderName, HeaderValue); 3] {
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
pub(crate) struct RouteGuard {
    pub(crate) app: Arc<App>,
    pub(crate) needs: Arc<[(Method, Need)]>,
    /// For keys.
    pub(crate) pace: LimitChoice,
    /// Whether the data is of one mode. Keys are of one mode themselves; sessions choose.
    pub(crate) has_modes: bool,
}

impl RouteGuard {
    pub(crate) fn need(&self, method: &Method) -> Need {
        // HEAD is answered by the route of GET.
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let found = self.needs.iter().find(|(known, _)| known == method);
        found.map(|(_, need)| *need).expect("the guard stands only before methods that the path has")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_ipv6_stands_for_its_network() {
        let who = |text: &str| network(text.parse().unwrap()).to_string();
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
