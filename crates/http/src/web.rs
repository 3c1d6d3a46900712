//! The dashboard's files: what a browser loads before it talks to the API.
//!
//! They stand in `web/` as the browser takes them and lie in the program; a debug build reads them from the disk whenever
//! the page is asked for, so that a change is seen by loading the page anew. All files of a build lie under one path that
//! carries the hash
//! of all of them: a browser may keep each for ever, and never mixes two builds. Only the page itself is asked for each time.
//! It names the modules that it will need, so that they are fetched at once and not one after the other.
//!
//! `/widget.js` alone is for pages of other origins.
//!
//! The page's policy lets it run and load nothing but these files, and refuses to make markup of text: an address such as
//! `"<img src=x onerror=...>"@example.com` is legal and must stay text.

mod assets;
mod preload;

use std::sync::{Arc, Mutex, PoisonError};

use assets::{Asset, Assets};
use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{
    ACCEPT_ENCODING, ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use probity_service::error::ApiError;

use crate::error::Refusal;
use crate::openapi::is_known;

const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
);
const ASKED_EACH_TIME: HeaderValue = HeaderValue::from_static("no-cache");
/// Websites name the widget by one address for ever, so it is asked for again within the hour.
const KEPT_FOR_AN_HOUR: HeaderValue = HeaderValue::from_static("public, max-age=3600");
const KEPT_FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

static OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
static RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The paths `/`, `/widget.js` and `/assets/...`, to be merged into the service's router.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let held = Arc::new(Mutex::new(Arc::new(Assets::load())));
    let page = {
        let held = held.clone();
        get(async move |asked: HeaderMap| answer(current(&held).page(), &asked, ASKED_EACH_TIME))
    };
    let widget = widget(&held);
    let file = get(async move |Path((build, path)): Path<(String, String)>, asked: HeaderMap| {
        let assets = of_build(&held, &build);
        // A page of another build must not go on with files of this one. It tells its reader to load it anew.
        match assets.file(&path).filter(|_| build == assets.build()) {
            Some(asset) => answer(asset, &asked, KEPT_FOR_EVER),
            None => Refusal(ApiError::not_found()).into_response(),
        }
    });
    Router::new().route("/", page).route("/widget.js", widget).route("/assets/{build}/{*path}", file)
}

/// The one file that pages of other origins may load.
fn widget<S: Clone + Send + Sync + 'static>(held: &Arc<Mutex<Arc<Assets>>>) -> MethodRouter<S> {
    let held = held.clone();
    get(async move |asked: HeaderMap| {
        let mut response = answer(current(&held).widget(), &asked, KEPT_FOR_AN_HOUR);
        let headers = response.headers_mut();
        headers.insert(&RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
        // Pages that load it as a module, or with a checksum, ask for this.
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        response
    })
}

/// The files for a page of this build: those that are held, where they are its own. Whether they have changed since is asked for
/// the
/// page, not for each of its files.
fn of_build(held: &Mutex<Arc<Assets>>, build: &str) -> Arc<Assets> {
    let assets = held.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if assets.build() == build { assets } else { current(held) }
}

fn current(held: &Mutex<Arc<Assets>>) -> Arc<Assets> {
    let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
    if cfg!(debug_assertions)
        && let Some(changed) = held.changed()
    {
        *held = Arc::new(changed);
    }
    held.clone()
}

fn answer(asset: &Asset, asked: &HeaderMap, caching: HeaderValue) -> Response<Body> {
    let known = is_known(asked, asset.tag.as_bytes());
    let packed = asset.packed.as_ref().filter(|_| takes_gzip(asked));
    let mut response = Response::new(match (known, packed) {
        (true, _) => Body::empty(),
        (false, Some(packed)) => packed.clone().into(),
        (false, None) => asset.plain.clone().into(),
    });
    let headers = response.headers_mut();
    headers.insert(ETAG, asset.tag.clone());
    headers.insert(CACHE_CONTROL, caching);
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(&OPENER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(&RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return response;
    }
    response.headers_mut().insert(CONTENT_TYPE, asset.kind.clone());
    if packed.is_some() {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Whether a client takes gzip (RFC 9110 §12.5.3); one that gives it the weight 0 does not.
fn takes_gzip(asked: &HeaderMap) -> bool {
    let lists = asked.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip") || name == "*");
        let weight = parts.find_map(|part| part.strip_prefix("q=")).and_then(|weight| weight.parse::<f32>().ok());
        named && weight.is_none_or(|weight| weight > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        let cases = [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("*", true),
            ("gzip;q=0", false),
            ("gzip; q=0.0", false),
            ("br", false),
            ("", false),
        ];
        for (sent, takes) in cases {
            let asked = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(sent))]);
            assert_eq!(takes_gzip(&asked), takes, "{sent:?}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
