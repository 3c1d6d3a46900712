//! Origin of a request: changing requests must come from our own pages.
//!
//! Browsers report it, and pages cannot forge it: `Sec-Fetch-Site` over secure connections, `Origin` on every request except
//! simple reads. A request with neither is refused; no current browser sends one. This check comes before the page token, so that
//! a page of another site can neither sign a user in nor use up a link.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, Uri, header};
use probity_access::minting;
use probity_contract::error::{ApiError, Code};

use crate::error::Refusal;

/// Returns whether a method changes nothing (RFC 9110 §9.2.1).
pub(crate) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Returns the host that the client requested.
pub(crate) fn host<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    let named = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    uri.authority().map(axum::http::uri::Authority::as_str).or(named)
}

/// Returns the origins of our own pages: the published one, and those of the host that the client requested.
pub(crate) fn own(host: Option<&str>, public_url: Option<&str>) -> Vec<String> {
    let by_host = ["https", "http"].iter().filter_map(|scheme| minting::origin(&format!("{scheme}://{}", host?)));
    public_url.and_then(minting::origin).into_iter().chain(by_host).collect()
}

/// Refuses requests that do not come from our own pages.
pub(crate) fn check(request: &Request, public_url: Option<&str>) -> Result<(), Refusal> {
    if is_own(request.headers(), host(request.uri(), request.headers()), public_url) {
        Ok(())
    } else {
        Err(ApiError::of(Code::CrossSiteRequest).into())
    }
}

fn is_own(headers: &HeaderMap, host: Option<&str>, public_url: Option<&str>) -> bool {
    let said = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    match (said("sec-fetch-site"), said("origin")) {
        (Some(site), _) => site == "same-origin",
        (None, Some(origin)) => own(host, public_url).iter().any(|own| own == origin),
        (None, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_ours_are_let_through() {
        // Sec-Fetch-Site, Origin, Host, public URL.
        let cases = [
            (Some("same-origin"), None, Some("a.example"), None, true),
            (Some("same-origin"), Some("https://a.example"), Some("a.example"), None, true),
            (Some("same-site"), Some("https://a.example"), Some("a.example"), None, false),
            (Some("cross-site"), None, Some("a.example"), None, false),
            (Some("none"), None, Some("a.example"), None, false),
            (Some("SAME-ORIGIN, cross-site"), None, Some("a.example"), None, false),
            (None, Some("https://a.example"), Some("a.example"), None, true),
            (None, Some("https://a.example"), Some("a.example:443"), None, true),
            (None, Some("http://a.example:8080"), Some("a.example:8080"), None, true),
            (None, Some("http://a.example:8081"), Some("a.example:8080"), None, false),
            (None, Some("https://a.example"), Some("proxy.internal"), Some("https://a.example/"), true),
            (None, Some("http://a.example"), Some("proxy.internal"), Some("https://a.example/"), false),
            (None, Some("https://b.example"), Some("a.example"), Some("https://a.example"), false),
            (None, Some("https://a.example.b.example"), Some("a.example"), None, false),
            (None, Some("null"), Some("a.example"), None, false),
            (None, Some("null"), Some("null"), None, false),
            (None, Some(""), Some(""), None, false),
            (None, Some("https://a.example"), None, None, false),
            (None, None, Some("a.example"), None, false),
        ];
        for (site, origin, host, public_url, expected) in cases {
            let mut headers = HeaderMap::new();
            site.map(|site| headers.insert("sec-fetch-site", site.parse().unwrap()));
            origin.map(|origin| headers.insert("origin", origin.parse().unwrap()));
            assert_eq!(is_own(&headers, host, public_url), expected, "{site:?} {origin:?} {host:?} {public_url:?}");
        }
    }
}
