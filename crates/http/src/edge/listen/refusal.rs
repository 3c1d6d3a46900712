//! Gives hyper's own rejections of unreadable HTTP/1 requests the envelope and request ID of every other error.
//!
//! Hyper answers such a request with a bare 400, 414 or 431 and has no hook for it. The [wire](super::wire) recognizes these
//! responses: hyper writes them while no request is in flight and all earlier responses are flushed. The shell builds the
//! replacement, so it is logged and counted like any other response.
//!
//! If a client sends an unreadable request before it has read the earlier responses, hyper's bare response follows them.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, StatusCode, Uri};
use futures_util::FutureExt as _;
use http_body_util::BodyExt as _;
use tower::Service as _;

/// First bytes of a rejection by hyper.
const BEGINNING: &[u8] = b"HTTP/1.1 4";

/// Marks a request that could not be read, with the status that hyper would return.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnreadableRequest(pub(crate) StatusCode);

/// Returns the response that replaces hyper's own.
pub(super) fn instead_of(theirs: &[u8], routes: &Router) -> Option<Vec<u8>> {
    let status = theirs.strip_prefix(BEGINNING).and(theirs.get(9..12))?;
    ours(StatusCode::from_bytes(status).ok()?, theirs, routes)
}

fn ours(status: StatusCode, theirs: &[u8], routes: &Router) -> Option<Vec<u8>> {
    let mut request = Request::new(Body::empty());
    *request.method_mut() = Method::from_bytes(b"UNREADABLE").expect("a token");
    *request.uri_mut() = Uri::from_static("*");
    request.extensions_mut().insert(UnreadableRequest(status));
    // The shell rejects the request without waiting for anything.
    let Ok(answer) = routes.clone().call(request).now_or_never()?;
    let (head, body) = answer.into_parts();
    let body = body.collect().now_or_never()?.ok()?.to_bytes();
    let mut bytes = format!("HTTP/1.1 {}\r\nconnection: close\r\n", head.status).into_bytes();
    for (name, value) in &head.headers {
        bytes.extend_from_slice(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    // The date is taken from hyper's response.
    let date = theirs.split_inclusive(|byte| *byte == b'\n').find(|line| line.starts_with(b"date: "));
    bytes.extend_from_slice(date.unwrap_or_default());
    bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
    bytes.extend_from_slice(&body);
    Some(bytes)
}
