//! Identity and permissions of callers: the guard in front of every route that needs a key.
//!
//! Checked in this order: there is a key (401 `missing_api_key`), it is valid (401 `invalid_api_key`, with the same response
//! after the same look-ups for unknown, expired and revoked ones), its rate limit and the organization's are not used up (429),
//! the organization is not restricted and the key has the route's scope (403).
//!
//! The scope is the one in the handler's annotation, so the document and the guard cannot differ. Every response after the key
//! was recognized has the state of its limits. Dashboard users pass [`crate::person::guard`], with the same limits and scopes.
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

/// Time at which the query parameter for keys stops working (specification, section 5).
const SUNSET: &str = "Tue, 01 Jun 2027 00:00:00 GMT";

static DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
static SUNSET_NAME: HeaderName = HeaderName::from_static("sunset");
static LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
static REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
static RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Key of a request.
struct Presented {
    text: String,
    /// Whether the key is in the query, which is deprecated.
    deprecated: bool,
}

/// Passes a request to its route, or responds with an error; function of a layer.
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

/// Returns the bearer token, or else the query parameter.
fn presented(request: &Request) -> Result<Presented, Refusal> {
    if let Some(text) = bearer(request.headers()) {
        return Ok(Presented { text, deprecated: false });
    }
    let query = Query::of(request.uri());
    // A text that cannot be decoded is not a key.
    match query.text("api_key").map_err(|_| ApiError::invalid_api_key())? {
        Some(text) if !text.is_empty() => Ok(Presented { text: text.into_owned(), deprecated: true }),
        _ => Err(ApiError::of(Code::MissingApiKey).into()),
    }
}

/// Parses RFC 6750 §2.1. The scheme ignores case (RFC 9110 §11.1).
pub(crate) fn bearer(headers: &HeaderMap) -> Option<String> {
    // Text that is not ASCII counts as an invalid key.
    let value = String::from_utf8_lossy(headers.get(header::AUTHORIZATION)?.as_bytes());
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| token.to_owned())
}

/// Returns the network of a request's client; `None` in process.
pub(crate) fn from(app: &App, request: &Request) -> Option<IpAddr> {
    from_parts(app, request.extensions(), request.headers())
}

/// Returns the same from a request's parts.
pub(crate) fn from_parts(app: &App, extensions: &Extensions, headers: &HeaderMap) -> Option<IpAddr> {
    let Peer(peer) = extensions.get()?;
    Some(network(client_ip(peer.ip(), headers, &app.config.trusted_proxies)))
}

/// Returns the network that counts as one client: an IPv6 customer has a whole /64, and can change addresses within it.
fn network(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64)),
    }
}

/// Returns the response headers about a limit.
pub(crate) fn shown(state: &limits::LimitState) -> [(HeaderName, HeaderValue); 3] {
    [
        (LIMIT.clone(), HeaderValue::from(state.limit)),
        (REMAINING.clone(), HeaderValue::from(state.remaining)),
        (RESET.clone(), HeaderValue::from(state.reset_s())),
    ]
}

/// Returns the response headers for a key in the query.
fn deprecation() -> [(HeaderName, HeaderValue); 2] {
    [(DEPRECATION.clone(), HeaderValue::from_static("true")), (SUNSET_NAME.clone(), HeaderValue::from_static(SUNSET))]
}

/// Requirements of each method of a path.
#[derive(Clone)]
pub(crate) struct RouteGuard {
    pub(crate) app: Arc<App>,
    pub(crate) needs: Arc<[(Method, Need)]>,
    /// Rate limit that applies to keys.
    pub(crate) pace: LimitChoice,
    /// Whether the data belongs to one mode. Keys have a mode themselves; sessions choose one.
    pub(crate) has_modes: bool,
}

impl RouteGuard {
    pub(crate) fn need(&self, method: &Method) -> Need {
        // The route of GET also serves HEAD.
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
