//! Bodies of requests: read whole, with a bound and a minimum rate, and then understood.
//!
//! The two steps are separate because the idempotency layer needs the raw bytes before a key is locked: it calls [`gather`],
//! and the handler's [`JsonBody`] then finds the bytes in the request instead of reading again. Without such a layer the
//! extractor reads by itself. A route that takes more than the default puts `Extension(BodyLimit(bytes))` on itself.
//!
//! Failures: 413 before anything is read when the declared length is over the limit, and while reading whatever was declared;
//! 415 for a content type that is not JSON and for any content coding (a small gzip body may hide gigabytes); 408 for a body
//! that stalls or drips; 400 for what is no JSON or not the right one.

mod json;
mod read;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, OptionalFromRequest, Request};
use axum::http::{HeaderMap, HeaderValue, header, request::Parts};
use hyper::body::Body as _;
use probity_service::error::ApiError;
use serde::de::DeserializeOwned;

use crate::error::Refusal;

pub use json::parse;
pub use read::BodyRules;
pub(crate) use read::{Pieces, Reading};

/// The most bytes that a route takes, in place of [`BodyRules::limit_bytes`]. Layer it over the route as an `Extension`.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimit(pub usize);

/// The bytes of a body as they arrived.
#[derive(Clone, Debug)]
pub struct RawBody(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for RawBody {
    type Rejection = Refusal;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Refusal> {
        let (parts, body) = request.into_parts();
        bytes_of(&parts, body).await.map(Self)
    }
}

/// Reads the body of a request once: returns its bytes and the request with the bytes in it, for extractors further in.
pub async fn gather(request: Request) -> Result<(Request, Bytes), Refusal> {
    let (mut parts, body) = request.into_parts();
    let bytes = bytes_of(&parts, body).await?;
    parts.extensions.insert(RawBody(bytes.clone()));
    Ok((Request::from_parts(parts, Body::from(bytes.clone())), bytes))
}

async fn bytes_of(parts: &Parts, body: Body) -> Result<Bytes, Refusal> {
    if let Some(RawBody(bytes)) = parts.extensions.get() {
        return Ok(bytes.clone());
    }
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    check_coding(&parts.headers)?;
    let reading =
        parts.extensions.get::<Reading>().ok_or_else(|| ApiError::server_error("read outside of the shell"))?;
    let limit = parts.extensions.get::<BodyLimit>().map_or(reading.rules().limit_bytes, |limit| limit.0);
    reading.whole(body, limit).await
}

/// The body of a request piece by piece, under the shell's rules and this limit.
pub(crate) fn pieces(request: Request, limit: usize) -> Result<Pieces, Refusal> {
    check_coding(request.headers())?;
    let (parts, body) = request.into_parts();
    let reading = parts.extensions.get::<Reading>().cloned();
    // A body that is empty has no reading; it is read all the same, to its end.
    let reading = reading.unwrap_or_else(Reading::of_nothing);
    reading.pieces(body, limit)
}

/// A JSON body of the form `T`. As `Option<JsonBody<T>>` the body may be empty, or `null`, as the document describes it.
#[derive(Clone, Copy, Debug)]
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Refusal> {
        let bytes = json_bytes(request).await?;
        if bytes.is_empty() {
            return Err(ApiError::invalid_request("the body is empty; send JSON").into());
        }
        object(&bytes).map(Self)
    }
}

impl<T: DeserializeOwned, S: Send + Sync> OptionalFromRequest<S> for JsonBody<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _state: &S) -> Result<Option<Self>, Refusal> {
        let bytes = json_bytes(request).await?;
        match bytes.trim_ascii() {
            b"" | b"null" => Ok(None),
            _ => object(&bytes).map(|value| Some(Self(value))),
        }
    }
}

/// Every body of the API is an object; a type's fields would also be read from an array, in their order.
fn object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    let value = parse(bytes)?;
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(ApiError::invalid_request("the body must be an object").into());
    }
    Ok(value)
}

/// The bytes of a body that is JSON by its label. An empty body needs no label; whether a body without a declared length is
/// empty shows only when it was read, so its label is judged afterwards.
async fn json_bytes(request: Request) -> Result<Bytes, Refusal> {
    let (parts, body) = request.into_parts();
    let label = check_label(&parts.headers);
    if body.size_hint().lower() > 0 {
        label?;
        return bytes_of(&parts, body).await;
    }
    let bytes = bytes_of(&parts, body).await?;
    if !bytes.is_empty() {
        label?;
    }
    Ok(bytes)
}

/// `application/json`, with any parameters; RFC 8259 §11 defines none, and the body is UTF-8 whatever they say.
fn check_label(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let only = values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok());
    let essence = only.and_then(|value| value.split(';').next()).map(str::trim);
    if essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json")) {
        return Ok(());
    }
    Err(ApiError::unsupported_media_type("a body needs `Content-Type: application/json`").into())
}

/// RFC 9110 §15.5.16: a 415 because of the coding says in Accept-Encoding what would do.
fn check_coding(headers: &HeaderMap) -> Result<(), Refusal> {
    let plain = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    if headers.get_all(header::CONTENT_ENCODING).iter().all(plain) {
        return Ok(());
    }
    let error = ApiError::unsupported_media_type("compressed bodies are not supported; remove Content-Encoding");
    Err(error.with_header(header::ACCEPT_ENCODING, HeaderValue::from_static("identity")).into())
}
