//! Cookies: the token of a session, the mark of a browser that has signed in before, and the state of a sign-in at a provider.
//!
//! Over HTTPS, all are `__Host-` cookies (RFC 6265bis §4.1.3): no other host can set them, and they are never sent unencrypted.
//! Without HTTPS, browsers refuse such names; plain names are then used on loopback and in private networks, and elsewhere
//! sign-in is impossible.

use axum::Json;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use probity_contract::error::ApiError;
use probity_service::accounts::people::sso::SSO_FLOW_MS;
use probity_service::accounts::people::{SessionToken, WithToken};
use probity_telemetry::metrics;
use serde::Serialize;
use url::Url;

use crate::error::Refusal;

/// Lifetime of a browser's mark, in seconds: the maximum of browsers (RFC 6265bis §5.5).
const DEVICE_KEPT_S: i64 = 400 * 24 * 3_600;

/// Transport of the dashboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageTransport {
    /// HTTPS, or an address that should use it.
    Secure,
    /// HTTP within a network where that is allowed.
    Plain,
    /// HTTP over a public network.
    Open,
}

impl PageTransport {
    /// Determines the transport from the operator's setting or, without one, from the client's request.
    pub(crate) fn of(public_url: Option<&str>, host: Option<&str>) -> Self {
        match public_url.and_then(|url| Url::parse(url).ok()) {
            Some(url) if url.scheme() == "https" => Self::Secure,
            Some(url) if url.host_str().is_some_and(is_near) => Self::Plain,
            Some(_) => Self::Open,
            // Without HTTPS, a browser drops the cookie of a distant host, so it cannot be intercepted.
            None if host.is_some_and(|host| is_near(without_port(host))) => Self::Plain,
            None => Self::Secure,
        }
    }

    /// Refuses passwords over a public network, and from pages whose browser would drop the cookie.
    pub(crate) fn check(self, headers: &HeaderMap, public_url: Option<&str>) -> Result<Self, Refusal> {
        match self {
            Self::Open => Err(ApiError::forbidden_scope("sign-in needs HTTPS; set server.public_url").into()),
            Self::Secure if drops_secure_cookies(headers) => {
                let address = public_url.unwrap_or("its https address");
                let what = format!("sign-in needs HTTPS, and this page was opened over http; open {address}");
                Err(ApiError::forbidden_scope(what).into())
            }
            passing => Ok(passing),
        }
    }

    fn name(self, of: &str) -> String {
        let prefix = if self == Self::Secure { "__Host-" } else { "" };
        format!("{prefix}{of}")
    }

    fn attributes(self) -> &'static str {
        if self == Self::Secure { "Path=/; Secure; HttpOnly; SameSite=Lax" } else { "Path=/; HttpOnly; SameSite=Lax" }
    }
}

/// Returns whether a page was opened over http, and its browser drops secure cookies. Those that keep them, as on loopback, also
/// send `Sec-Fetch-Site`.
fn drops_secure_cookies(headers: &HeaderMap) -> bool {
    let is_http = headers.get(header::ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"http://"));
    is_http && !headers.contains_key("sec-fetch-site")
}

/// Returns whether a host is this machine, or reachable from private networks only.
fn is_near(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse() {
        Ok(ip) => metrics::is_near(ip),
        Err(_) => bare == "localhost" || bare.ends_with(".localhost") || bare.ends_with(".internal"),
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// A cookie of ours.
pub(crate) struct PageCookie {
    name: &'static str,
    /// Lifetime in seconds; `None` until the browser closes.
    kept_s: Option<i64>,
}

/// Token of a session: ends with the browser, or earlier with the session.
pub(crate) const SESSION: PageCookie = PageCookie { name: "probity", kept_s: None };
/// Mark of a browser that has signed in before.
pub(crate) const DEVICE: PageCookie = PageCookie { name: "probity-device", kept_s: Some(DEVICE_KEPT_S) };
/// State of a sign-in at a provider, for its maximum duration.
pub(crate) const SSO: PageCookie = PageCookie { name: "probity-sso", kept_s: Some(SSO_FLOW_MS / 1_000) };

impl PageCookie {
    /// Returns the value in the request.
    pub(crate) fn get(&self, transport: PageTransport, headers: &HeaderMap) -> Option<Vec<u8>> {
        URL_SAFE_NO_PAD.decode(value(headers, &transport.name(self.name))?).ok()
    }

    /// Returns the header that sets the cookie.
    pub(crate) fn set(&self, transport: PageTransport, kept: &[u8]) -> HeaderValue {
        self.header(transport, &URL_SAFE_NO_PAD.encode(kept), self.kept_s)
    }

    /// Returns the header that removes the cookie.
    pub(crate) fn clear(&self, transport: PageTransport) -> HeaderValue {
        self.header(transport, "", Some(0))
    }

    fn header(&self, transport: PageTransport, value: &str, kept_s: Option<i64>) -> HeaderValue {
        let age = kept_s.map(|seconds| format!("Max-Age={seconds}; ")).unwrap_or_default();
        let text = format!("{}={value}; {age}{}", transport.name(self.name), transport.attributes());
        HeaderValue::try_from(text).expect("a cookie of ours is ASCII")
    }
}

/// Returns the token of the request's session.
pub(crate) fn session(transport: PageTransport, headers: &HeaderMap) -> Option<SessionToken> {
    SESSION.get(transport, headers)?.try_into().ok()
}

/// Responds with a session's token for the browser.
pub(crate) fn with_session<T: Serialize>(transport: PageTransport, answer: WithToken<T>) -> Response {
    let cookie = SESSION.set(transport, &answer.token);
    ([(header::SET_COOKIE, cookie)], Json(answer.shown)).into_response()
}

/// Returns the value of a cookie; `None` if it occurs twice, because then one was set by someone else.
fn value<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(known, _)| *known == name).map(|(_, value)| value);
    found.next().filter(|_| found.next().is_none())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn with(lines: &[&str]) -> HeaderMap {
        lines.iter().map(|line| (header::COOKIE, line.parse().unwrap())).collect()
    }

    #[test]
    fn the_way_decides_the_form() {
        let cases = [
            (Some("https://verify.example.com"), None, PageTransport::Secure),
            (Some("https://10.0.0.1"), Some("10.0.0.1"), PageTransport::Secure),
            (Some("http://127.0.0.1:8080"), None, PageTransport::Plain),
            (Some("http://[::1]:8080"), None, PageTransport::Plain),
            (Some("http://192.168.7.7"), None, PageTransport::Plain),
            (Some("http://localhost:8080"), None, PageTransport::Plain),
            (Some("http://verify.example.com"), None, PageTransport::Open),
            (Some("http://203.0.113.9"), None, PageTransport::Open),
            (None, Some("localhost:8080"), PageTransport::Plain),
            (None, Some("[fd00::1]:8080"), PageTransport::Plain),
            (None, Some("[::1]"), PageTransport::Plain),
            (None, Some("verify.example.com"), PageTransport::Secure),
            (None, Some("localhost.example.com"), PageTransport::Secure),
            (None, None, PageTransport::Secure),
        ];
        for (public_url, host, expected) in cases {
            assert_eq!(PageTransport::of(public_url, host), expected, "{public_url:?} {host:?}");
        }
        assert!(PageTransport::Open.check(&HeaderMap::new(), None).is_err());
    }

    #[test]
    fn a_page_whose_cookie_would_be_dropped_learns_the_address_to_open() {
        let said = |transport: PageTransport, pairs: &[(&'static str, &str)], public_url| {
            let headers = pairs.iter().map(|&(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
            let headers = headers.collect();
            transport.check(&headers, public_url).map_err(|refusal| refusal.message().to_owned())
        };
        let over_http = [("origin", "http://verify.example.com")];
        let refused = said(PageTransport::Secure, &over_http, Some("https://verify.example.com")).unwrap_err();
        assert!(refused.ends_with("open https://verify.example.com"), "{refused}");
        assert!(said(PageTransport::Secure, &over_http, None).is_err());
        let on_loopback = [("origin", "http://localhost:8080"), ("sec-fetch-site", "same-origin")];
        for passing in [&on_loopback[..], &[("origin", "https://verify.example.com")], &[]] {
            assert_eq!(said(PageTransport::Secure, passing, None), Ok(PageTransport::Secure), "{passing:?}");
        }
        let near = [("origin", "http://192.168.7.7")];
        assert_eq!(said(PageTransport::Plain, &near, None), Ok(PageTransport::Plain));
    }

    #[test]
    fn a_session_comes_back_from_its_cookie() {
        for (transport, beginning) in [(PageTransport::Secure, "__Host-probity="), (PageTransport::Plain, "probity=")] {
            let set = SESSION.set(transport, &[7; 32]);
            let set = set.to_str().unwrap();
            assert!(set.starts_with(beginning), "{set}");
            assert_eq!(set.contains("; Secure"), transport == PageTransport::Secure, "{set}");
            assert!(set.contains("Path=/") && set.contains("HttpOnly") && set.contains("SameSite=Lax"), "{set}");
            assert!(!set.contains("Domain"), "{set}");
            let pair = set.split(';').next().unwrap();
            assert_eq!(session(transport, &with(&["a=b", &format!("c=d; {pair}")])), Some([7; 32]));
            assert_eq!(session(transport, &with(&[pair, pair])), None, "twice");
        }
        for none in ["", "__Host-probity=", "__Host-probity=x", "probity=BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc"] {
            assert_eq!(session(PageTransport::Secure, &with(&[none])), None, "{none}");
        }
    }

    #[test]
    fn a_browsers_mark_comes_back_from_its_cookie() {
        let mark = [7; 48];
        let set = DEVICE.set(PageTransport::Secure, &mark);
        let pair = set.to_str().unwrap().split(';').next().unwrap();
        assert_eq!(DEVICE.get(PageTransport::Secure, &with(&[pair])).as_deref(), Some(mark.as_slice()));
        assert_eq!(DEVICE.get(PageTransport::Plain, &with(&[pair])), None);
        assert_eq!(DEVICE.get(PageTransport::Secure, &with(&[&format!("{pair}!")])), None);
    }
}
