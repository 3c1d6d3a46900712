//! Serves the OpenAPI document and its HTML page.
//!
//! Both are built when somebody first asks for one, and served from memory, compressed for clients that accept it. Neither needs a
//! key. The page loads only the files of `web/docs`, which [`crate::web`] serves. Its policy makes browsers enforce that, even if a
//! text of the document could inject a script.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::routing::get;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest;
use utoipa::openapi::OpenApi;

use crate::openapi::page;
use crate::web::{Packable, takes_gzip};

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
        get(async move |asked: HeaderMap| pick(published.get_or_init(|| Published::of(&document()))).to(&asked))
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

/// Response body with the tag that identifies it in a client's cache.
#[derive(Debug)]
struct TaggedBody {
    kind: HeaderValue,
    tag: HeaderValue,
    body: Packable,
}

impl TaggedBody {
    fn new(kind: &'static str, body: String) -> Self {
        let digest = digest::digest(&digest::SHA256, body.as_bytes());
        let tag = format!("\"{}\"", BASE64_URL_SAFE_NO_PAD.encode(&digest.as_ref()[..16]));
        let tag = HeaderValue::try_from(tag).expect("base64 is plain text");
        Self { kind: HeaderValue::from_static(kind), tag, body: Packable::new(body) }
    }

    fn to(&self, asked: &HeaderMap) -> Response<Body> {
        let known = is_known(asked, self.tag.as_bytes());
        let (body, is_packed) = self.body.for_client(!known && takes_gzip(asked));
        let mut response = Response::new(if known { Body::empty() } else { body.into() });
        let headers = response.headers_mut();
        headers.insert(ETAG, self.tag.clone());
        headers.insert(CACHE_CONTROL, CACHED);
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        headers.insert(CONTENT_SECURITY_POLICY, POLICY);
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, self.kind.clone());
            if is_packed {
                headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
        }
        response
    }
}

/// Returns whether the client has the body with this tag, by weak comparison (RFC 9110 §13.1.2).
pub(crate) fn is_known(asked: &HeaderMap, tag: &[u8]) -> bool {
    let lists = asked.get_all(IF_NONE_MATCH).iter();
    lists.flat_map(|list| list.as_bytes().split(|byte| *byte == b',')).any(|candidate| {
        let candidate = candidate.trim_ascii();
        candidate == b"*" || candidate.strip_prefix(b"W/").unwrap_or(candidate) == tag
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_known_in_every_form_that_the_standard_allows() {
        let cases =
            [("\"a\"", true), ("W/\"a\"", true), ("*", true), ("\"b\", W/\"a\"", true), ("\"b\"", false), ("a", false)];
        for (sent, known) in cases {
            let asked = HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_static(sent))]);
            assert_eq!(is_known(&asked, b"\"a\""), known, "{sent}");
        }
        assert!(!is_known(&HeaderMap::new(), b"\"a\""));
    }
}
