//! Errors as responses.
//!
//! A handler returns `Result<_, Refusal>`. [`IntoResponse`] only marks the response with the error. The shell
//! ([`crate::edge::shell`]), which has the request's ID, writes the envelope and logs the detail once. Errors therefore have the
//! same form, whether they come from a handler, an extractor, a layer, a panic or a deadline.

use std::ops::Deref;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use probity_contract::error::{ApiError, Code, ErrorBody, ErrorEnvelope};
use probity_contract::request_id::RequestId;

/// Default `Retry-After` of a 503, in seconds.
const RETRY_S: u32 = 1;

/// Error response of a handler.
#[derive(Debug)]
pub struct Refusal(pub ApiError);

impl<E: Into<ApiError>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl Deref for Refusal {
    type Target = ApiError;

    fn deref(&self) -> &ApiError {
        &self.0
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = self.0.code().status().into_response();
        response.extensions_mut().insert(MarkedError(Arc::new(self.0)));
        response
    }
}

/// Marks an error response that is an HTML page, and gets no envelope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorPage;

/// Marks a response with its error until the shell writes the envelope.
#[derive(Clone)]
pub(crate) struct MarkedError(pub(crate) Arc<ApiError>);

/// Writes the error's envelope and headers into a response.
pub(crate) fn write_into(error: &ApiError, response: &mut Response, request_id: RequestId) {
    let code = error.code();
    let body =
        ErrorBody { code, message: error.message().to_owned().into(), kind: code.kind(), request_id: Some(request_id) };
    let body = serde_json::to_vec(&ErrorEnvelope { error: body }).expect("texts and names always become JSON");
    *response.body_mut() = Body::from(body);
    *response.status_mut() = code.status();
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if code.status() == StatusCode::UNAUTHORIZED {
        // A 401 names an accepted scheme (RFC 9110 §15.5.2).
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    let soon = (code == Code::ServiceUnavailable).then_some(RETRY_S);
    if let Some(seconds) = error.retry_after_s().or(soon) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    headers.extend(error.headers().iter().cloned());
}
