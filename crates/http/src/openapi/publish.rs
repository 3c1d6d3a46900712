//! Serves the OpenAPI document and its HTML page.
//!
//! Both are built at the first request, and served from memory, compressed for clients that accept it. Neither needs a key. The
//! page loads only the files of `web/docs`, which [`crate::web`] serves. Its policy makes browsers enforce that, even if a text
//! of the document could inject a script.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use axum::http::{HeaderMap, HeaderValue};
use axum::routing::get;
use utoipa::openapi::OpenApi;

use crate::openapi::page;
use crate::web::TaggedBody;

const CACHED: HeaderValue = HeaderValue::from_static("public, max-age=300");
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
);

/// Builds the routes `/v1/openapi.json` and `/docs` of a document, to be merged into the service's router.
pub fn routes<S: Clone + Send + Sync + 'static>(
    document: impl Fn() -> OpenApi + Clone + Send + Sync + 'static,
) -> Router<S> {
    let published = Arc::new(OnceLock::new());
    let route = |pick: fn(&Published) -> &TaggedBody| {
        let (published, document) = (published.clone(), document.clone());
        let headers = [(CACHE_CONTROL, CACHED), (CONTENT_SECURITY_POLICY, POLICY)];
        get(async move |asked: HeaderMap| {
            pick(published.get_or_init(|| Published::of(&document()))).answer(&asked, headers.clone())
        })
    };
    Router::new()
        .route("/v1/openapi.json", route(|published| &published.document))
        .route("/docs", route(|published| &published.page))
}

/// The document and its page, ready to send.
struct Published {
    document: TaggedBody,
    page: TaggedBody,
}

impl Published {
    /// Builds the document's text and its page.
    ///
    /// # Panics
    /// Never: a generated document can always be serialized as JSON.
    fn of(document: &OpenApi) -> Self {
        let json = serde_json::to_value(document).expect("a document is plain JSON");
        Self {
            document: TaggedBody::new("application/json", json.to_string()),
            page: TaggedBody::new("text/html; charset=utf-8", page::render(&json).into_string()),
        }
    }
}
