//! Reads request bodies completely, within a size limit and at a minimum rate, and parses them.
//!
//! Reading and parsing are separate, because the idempotency layer needs the raw bytes before it locks a key. The layer calls
//! [`gather`]; the handler's [`JsonBody`] then finds the bytes in the request. Without such a layer, the extractor reads the
//! body. A route with another limit has an `Extension(BodyLimit(bytes))`.
//!
//! Errors: 413 above the limit, by declared or actual length. 415 for a content type other than JSON, and for any content
//! coding, because a small gzip body may expand to gigabytes. 408 for a body that stalls or is too slow. 400 for invalid
//! content.

mod json;
mod read;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, OptionalFromRequest, Request};
use axum::http::{HeaderMap, HeaderValue, header, request::Parts};
use hyper::body::Body as _;
use probity_contract::error::ApiError;
use serde::de::DeserializeOwned;

use crate::error::Refusal;

pub use json::parse;
pub use read::BodyRules;
pub(crate) use read::{BodyChunks, BodyReading};

/// Maximum body size of a route, instead of [`BodyRules::limit_bytes`]. Add it to the route as an `Extension` layer.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimit(pub usize);

/// Bytes of a body as received.
#[derive(Clone, Debug)]
pub struct RawBody(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for RawBody {
    type Rejection = Refusal;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Refusal> {
        let (parts, body) = request.into_parts();
        bytes_of(&parts, body).await.map(Self)
    }
}

/// Reads the body of a request once. Returns its bytes, and the request with the bytes in it for inner extractors.
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
        parts.extensions.get::<BodyReading>().ok_or_else(|| ApiError::server_error("read outside of the shell"))?;
    let limit = parts.extensions.get::<BodyLimit>().map_or(reading.rules().limit_bytes, |limit| limit.0);
    reading.whole(body, limit).await
}

/// Returns the body of a request in pieces, under the shell's rules and this limit.
pub(crate) fn pieces(request: Request, limit: usize) -> Result<BodyChunks, Refusal> {
    check_coding(request.headers())?;
    let (parts, body) = request.into_parts();
    let reading = parts.extensions.get::<BodyReading>().cloned();
    // An empty body has no reading. It is still read to its end.
    let reading = reading.unwrap_or_else(BodyReading::of_nothing);
    reading.pieces(body, limit)
}

/// JSON body of type `T`. As `Option<JsonBody<T>>`, the body may be empty or `null`, as the OpenAPI document describes.
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

/// Parses an object, which every body of the API is. Serde would also read a struct from an array of its values.
fn object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    let value = parse(bytes)?;
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(ApiError::invalid_request("the body must be an object").into());
    }
    Ok(value)
}

/// Returns the bytes of a body declared as JSON. An empty body needs no content type. Without a declared length, only reading
/// shows whether the body is empty, so the content type is checked afterwards.
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

/// Checks for `application/json`, with any parameters. RFC 8259 §11 defines none, and the body must be UTF-8 in any case.
fn check_label(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let only = values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok());
    let essence = only.and_then(|value| value.split(';').next()).map(str::trim);
    if essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json")) {
        return Ok(());
    }
    Err(ApiError::unsupported_media_type("a body needs `Content-Type: application/json`").into())
}

/// Rejects content codings. A 415 because of the coding names the accepted ones in Accept-Encoding (RFC 9110 §15.5.16).
fn check_coding(headers: &HeaderMap) -> Result<(), Refusal> {
    let plain = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    if headers.get_all(header::CONTENT_ENCODING).iter().all(plain) {
        return Ok(());
    }
    let error = ApiError::unsupported_media_type("compressed bodies are not supported; remove Content-Encoding");
    Err(error.with_header(header::ACCEPT_ENCODING, HeaderValue::from_static("identity")).into())
}
