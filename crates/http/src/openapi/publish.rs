//! Serves the document, and the page that is made from it.
//!
//! Both are made once, at the start, and answered from memory. Nobody needs a key for them. The page is plain HTML: it runs
//! no script and asks no other host for anything, and its policy lets the browser refuse both even if some text of the
//! document could smuggle them in.

use axum::Router;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::routing::get;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use ring::digest;
use utoipa::openapi::OpenApi;

use crate::openapi::page;

const CACHED: HeaderValue = HeaderValue::from_static("public, max-age=300");
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);
const STYLE: &str = include_str!("page/style.css");

/// The document and its page, ready to be sent.
#[derive(Clone, Debug)]
pub struct Published {
    document: Answer,
    page: Answer,
    style: Answer,
}

impl Published {
    /// Makes the document's text and its page.
    ///
    /// # Panics
    /// Never: a document that the library made can be written as JSON.
    pub fn new(document: &OpenApi) -> Self {
        let json = serde_json::to_value(document).expect("a document is plain JSON");
        Self {
            document: Answer::new("application/json", json.to_string()),
            page: Answer::new("text/html; charset=utf-8", page::render(&json).into_string()),
            style: Answer::new("text/css; charset=utf-8", STYLE.to_owned()),
        }
    }

    /// The paths `/v1/openapi.json`, `/docs` and `/docs/style.css`, to be merged into the service's router.
    pub fn router<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        let route = |answer: &Answer| {
            let answer = answer.clone();
            get(async move |asked: HeaderMap| answer.to(&asked))
        };
        Router::new()
            .route("/v1/openapi.json", route(&self.document))
            .route("/docs", route(&self.page))
            .route("/docs/style.css", route(&self.style))
    }
}

/// One thing to send, and the tag by which a client tells that it has it already.
#[derive(Clone, Debug)]
struct Answer {
    kind: HeaderValue,
    tag: HeaderValue,
    body: Bytes,
}

impl Answer {
    fn new(kind: &'static str, body: String) -> Self {
        let digest = digest::digest(&digest::SHA256, body.as_bytes());
        let tag = format!("\"{}\"", BASE64_URL_SAFE_NO_PAD.encode(&digest.as_ref()[..16]));
        let tag = HeaderValue::try_from(tag).expect("base64 is plain text");
        Self { kind: HeaderValue::from_static(kind), tag, body: body.into() }
    }

    fn to(&self, asked: &HeaderMap) -> Response<Body> {
        let known = is_known(asked, self.tag.as_bytes());
        let mut response = Response::new(if known { Body::empty() } else { self.body.clone().into() });
        let headers = response.headers_mut();
        headers.insert(ETAG, self.tag.clone());
        headers.insert(CACHE_CONTROL, CACHED);
        headers.insert(CONTENT_SECURITY_POLICY, POLICY);
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            response.headers_mut().insert(CONTENT_TYPE, self.kind.clone());
        }
        response
    }
}

/// Whether the client has the body of this tag. The comparison is the weak one (RFC 9110 §13.1.2).
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
