//! Serves the dashboard's files.
//!
//! The files of `web/` are compiled into the program; a debug build reads them from disk at each load of the page. All files of
//! a build have a path with their common hash: browsers may cache them forever and never mix two builds. Only the page itself
//! is revalidated each time; it lists the modules that it needs, so that browsers fetch them in parallel. `/widget.js` is the
//! only file for pages of other origins. The files of the API reference are few, and revalidated too.
//!
//! The page's policy allows only these files and forbids turning text into markup. An address such as
//! `"<img src=x onerror=...>"@example.com` is legal and must stay text.

mod assets;
mod preload;

use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use assets::Packable;
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
use probity_contract::error::ApiError;

use crate::error::Refusal;
use crate::openapi::is_known;

const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
);
const ASKED_EACH_TIME: HeaderValue = HeaderValue::from_static("no-cache");
/// The widget's URL on customers' websites never changes, so browsers revalidate it after an hour.
const KEPT_FOR_AN_HOUR: HeaderValue = HeaderValue::from_static("public, max-age=3600");
const KEPT_FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

static OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
static RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Builds the routes `/`, `/widget.js`, `/docs/...` and `/assets/...`, to be merged into the service's router.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let held = Arc::new(Held::default());
    let page = {
        let held = held.clone();
        get(async move |asked: HeaderMap| answer(held.current().page(), &asked, ASKED_EACH_TIME))
    };
    let (widget, reference) = (widget(&held), reference(&held));
    let file = get(async move |Path((build, path)): Path<(String, String)>, asked: HeaderMap| {
        let assets = held.of_build(&build);
        // A page of another build must not continue with files of this one. After the 404, it asks its user to reload.
        match assets.file(&path).filter(|_| build == assets.build()) {
            Some(asset) => answer(asset, &asked, KEPT_FOR_EVER),
            None => Refusal(ApiError::not_found()).into_response(),
        }
    });
    let routes = Router::new().route("/", page).route("/widget.js", widget).route("/docs/{file}", reference);
    routes.route("/assets/{build}/{*path}", file)
}

/// Builds the route of what the API reference loads: its own files, and those that it has in common with the dashboard.
fn reference<S: Clone + Send + Sync + 'static>(held: &Arc<Held>) -> MethodRouter<S> {
    let held = held.clone();
    get(async move |Path(file): Path<String>, asked: HeaderMap| {
        let path = match file.as_str() {
            "tokens.css" => "style/tokens.css".to_owned(),
            "icon.svg" => "icon.svg".to_owned(),
            own => format!("docs/{own}"),
        };
        match held.current().file(&path) {
            Some(asset) => answer(asset, &asked, ASKED_EACH_TIME),
            None => Refusal(ApiError::not_found()).into_response(),
        }
    })
}

/// Builds the route of the only file that pages of other origins may load.
fn widget<S: Clone + Send + Sync + 'static>(held: &Arc<Held>) -> MethodRouter<S> {
    let held = held.clone();
    get(async move |asked: HeaderMap| {
        let mut response = answer(held.current().widget(), &asked, KEPT_FOR_AN_HOUR);
        let headers = response.headers_mut();
        headers.insert(&RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
        // Needed by pages that load the widget as a module or with a checksum.
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        response
    })
}

/// The files, which the first request loads.
#[derive(Default)]
struct Held(Mutex<Option<Arc<Assets>>>);

impl Held {
    /// Returns the files for a page of this build: the held ones if they are of this build. Changes on disk are checked for the
    /// page, not for each of its files.
    fn of_build(&self, build: &str) -> Arc<Assets> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        held.filter(|assets| assets.build() == build).unwrap_or_else(|| self.current())
    }

    fn current(&self) -> Arc<Assets> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let assets = held.get_or_insert_with(|| Arc::new(Assets::load()));
        if cfg!(debug_assertions)
            && let Some(changed) = assets.changed()
        {
            *assets = Arc::new(changed);
        }
        assets.clone()
    }
}

fn answer(asset: &Asset, asked: &HeaderMap, caching: HeaderValue) -> Response<Body> {
    let known = is_known(asked, asset.tag.as_bytes());
    let (body, is_packed) = asset.body.for_client(!known && takes_gzip(asked));
    let mut response = Response::new(if known { Body::empty() } else { body.into() });
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
    if is_packed {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Returns whether to send gzip to a client (RFC 9110 §12.5.3): if it accepts gzip, and does not prefer the plain form. `*` stands
/// for what is not named.
pub(crate) fn takes_gzip(asked: &HeaderMap) -> bool {
    let lists = asked.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    let codings: Vec<(&str, u16)> = lists.flat_map(|list| list.split(',')).map(weighted).collect();
    let weight = |names: &[&str]| {
        let is_named = |name: &str| names.iter().any(|known| name.eq_ignore_ascii_case(known));
        codings.iter().find(|(name, _)| is_named(name)).map(|(_, weight)| *weight)
    };
    // RFC 9110 §8.4.1.3 has two names for it.
    let gzip = weight(&["gzip", "x-gzip"]).or_else(|| weight(&["*"])).unwrap_or(0);
    gzip > 0 && weight(&["identity"]).is_none_or(|plain| plain <= gzip)
}

/// Splits a coding from its weight in thousandths; without one, it has the greatest. A malformed weight counts as 0: the plain form
/// is right for everybody.
fn weighted(coding: &str) -> (&str, u16) {
    let (name, weight) = coding.split_once(';').map_or((coding, None), |(name, weight)| (name, Some(weight)));
    (name.trim(), weight.map_or(1_000, |weight| thousandths(weight.trim()).unwrap_or(0)))
}

/// `q=0.123`: 1 with up to 3 zeros, or 0 with up to 3 digits (RFC 9110 §12.4.2).
fn thousandths(weight: &str) -> Option<u16> {
    let value = weight.strip_prefix("q=").or_else(|| weight.strip_prefix("Q="))?;
    let (whole, part) = value.split_once('.').unwrap_or((value, ""));
    if part.len() > 3 || !part.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let part = format!("{part:0<3}").parse().ok()?;
    match whole {
        "0" => Some(part),
        "1" if part == 0 => Some(1_000),
        _ => None,
    }
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
            // What is named does not fall under the star.
            ("gzip;q=0, *", false),
            ("*, gzip;q=0", false),
            ("*;q=0, gzip;q=0.001", true),
            ("*;q=0", false),
            ("x-gzip", true),
            ("gzip;Q=1.000", true),
            ("gzip ; q=0.5, identity;q=0.5", true),
            ("gzip;q=0.5, identity", false),
            ("gzip, identity;q=0", true),
            // Malformed weights.
            ("gzip;q=", false),
            ("gzip;q=2", false),
            ("gzip;q=0.0001", false),
            ("gzip;q=inf", false),
            ("gzip;level=9", false),
        ];
        for (sent, takes) in cases {
            let asked = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(sent))]);
            assert_eq!(takes_gzip(&asked), takes, "{sent:?}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
