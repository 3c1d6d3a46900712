//! An error as an answer.
//!
//! A handler returns `Result<_, Refusal>` and is done: [`IntoResponse`] only marks the answer with the error, and the shell
//! ([`crate::shell`]), which knows the request's id, writes the envelope and logs the detail, once. So an error has the same form
//! wherever it arose: in a handler, in an extractor, in a layer, by a panic or a deadline.

use std::ops::Deref;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use probity_service::error::{ApiError, Code, ErrorBody, ErrorEnvelope};
use probity_service::request_id::RequestId;

/// After how long a client may try again that was answered 503, where nobody knows better, in seconds.
const RETRY_S: u32 = 1;

/// An error that a handler answers with.
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
        response.extensions_mut().insert(Marked(Arc::new(self.0)));
        response
    }
}

/// The mark of an error on an answer, until the shell writes the envelope.
#[derive(Clone)]
pub(crate) struct Marked(pub(crate) Arc<ApiError>);

/// Writes the envelope into an answer that carries this error, and the headers that belong to it.
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
        // RFC 9110 §15.5.2: a 401 names a scheme that would do.
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    let soon = (code == Code::ServiceUnavailable).then_some(RETRY_S);
    if let Some(seconds) = error.retry_after_s().or(soon) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    headers.extend(error.headers().iter().cloned());
}
