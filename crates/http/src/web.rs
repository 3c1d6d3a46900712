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
mod tagged;

use std::sync::{Arc, Mutex, PoisonError};

use assets::Assets;
use axum::Router;
use axum::extract::Path;
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use probity_contract::error::ApiError;

use crate::error::Refusal;

pub(crate) use tagged::TaggedBody;

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
        get(async move |asked: HeaderMap| held.current().page().answer(&asked, own_headers(ASKED_EACH_TIME)))
    };
    let (widget, reference) = (widget(&held), reference(&held));
    let file = get(async move |Path((build, path)): Path<(String, String)>, asked: HeaderMap| {
        let assets = held.of_build(&build);
        // A page of another build must not continue with files of this one. After the 404, it asks its user to reload.
        match assets.file(&path).filter(|_| build == assets.build()) {
            Some(asset) => asset.answer(&asked, own_headers(KEPT_FOR_EVER)),
            None => Refusal(ApiError::not_found()).into_response(),
        }
    });
    let routes = Router::new().route("/", page).route("/widget.js", widget).route("/docs/{file}", reference);
    routes.route("/assets/{build}/{*path}", file)
}

/// Builds the routes of the API reference's files: its own, and those shared with the dashboard.
fn reference<S: Clone + Send + Sync + 'static>(held: &Arc<Held>) -> MethodRouter<S> {
    let held = held.clone();
    get(async move |Path(file): Path<String>, asked: HeaderMap| {
        let path = match file.as_str() {
            "tokens.css" => "style/tokens.css".to_owned(),
            "icon.svg" => "icon.svg".to_owned(),
            own => format!("docs/{own}"),
        };
        match held.current().file(&path) {
            Some(asset) => asset.answer(&asked, own_headers(ASKED_EACH_TIME)),
            None => Refusal(ApiError::not_found()).into_response(),
        }
    })
}

/// Builds the route of the only file that pages of other origins may load.
fn widget<S: Clone + Send + Sync + 'static>(held: &Arc<Held>) -> MethodRouter<S> {
    let held = held.clone();
    get(async move |asked: HeaderMap| {
        let mut response = held.current().widget().answer(&asked, own_headers(KEPT_FOR_AN_HOUR));
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
    /// Returns the files for a page of this build: the cached ones if they are of this build. Changes on disk are checked for the
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

/// Returns the headers of all files except the policies, which differ.
fn own_headers(caching: HeaderValue) -> [(HeaderName, HeaderValue); 4] {
    [
        (CACHE_CONTROL, caching),
        (CONTENT_SECURITY_POLICY, POLICY),
        (OPENER_POLICY.clone(), HeaderValue::from_static("same-origin")),
        (RESOURCE_POLICY.clone(), HeaderValue::from_static("same-origin")),
    ]
}
