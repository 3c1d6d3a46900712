//! Refusals of what hyper cannot read as a request of HTTP/1: they get the envelope and the request id of every other error.
//!
//! Hyper answers such a request by itself, with a bare 400, 414 or 431, and has no hook for it. The [wire](super::wire) knows its
//! answers: it writes them while no request is in flight, and nothing of an earlier answer is left. The shell makes the answer
//! that is sent instead, so that it is logged and counted like any other. Where a client sends what cannot be read before it has
//! taken the answers to its earlier requests, hyper's own answer goes out behind them.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, StatusCode, Uri};
use futures_util::FutureExt as _;
use http_body_util::BodyExt as _;
use tower::Service as _;

/// What such an answer of hyper begins with.
const BEGINNING: &[u8] = b"HTTP/1.1 4";

/// Mark of a request that could not be read: the status that hyper would answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unreadable(pub(crate) StatusCode);

/// Our answer in the place of one of hyper's own.
pub(super) fn instead_of(theirs: &[u8], routes: &Router) -> Option<Vec<u8>> {
    let status = theirs.strip_prefix(BEGINNING).and(theirs.get(9..12))?;
    ours(StatusCode::from_bytes(status).ok()?, theirs, routes)
}

fn ours(status: StatusCode, theirs: &[u8], routes: &Router) -> Option<Vec<u8>> {
    let mut request = Request::new(Body::empty());
    *request.method_mut() = Method::from_bytes(b"UNREADABLE").expect("a token");
    *request.uri_mut() = Uri::from_static("*");
    request.extensions_mut().insert(Unreadable(status));
    // The shell refuses it without waiting for anything.
    let Ok(answer) = routes.clone().call(request).now_or_never()?;
    let (head, body) = answer.into_parts();
    let body = body.collect().now_or_never()?.ok()?.to_bytes();
    let mut bytes = format!("HTTP/1.1 {}\r\nconnection: close\r\n", head.status).into_bytes();
    for (name, value) in &head.headers {
        bytes.extend_from_slice(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    // Hyper knows what time it is.
    let date = theirs.split_inclusive(|byte| *byte == b'\n').find(|line| line.starts_with(b"date: "));
    bytes.extend_from_slice(date.unwrap_or_default());
    bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
    bytes.extend_from_slice(&body);
    Some(bytes)
}
