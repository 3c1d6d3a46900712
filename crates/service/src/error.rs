//! The one error that customers see, and the envelope it becomes.
//!
//! Status and `type` follow from the [`Code`]; `message` is for the client, who must never branch on it; `detail` is for the
//! log and is never shown.
//!
//! Nothing here may carry an address, a key or a query string: messages name the field and what it must be, not what it was.

pub mod code;
mod list;

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Write as _};

use http::{HeaderName, HeaderValue};
use probity_store::StoreError;
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_id::RequestId;

pub use code::{Code, Kind};

/// What an error's cause may be: any error, boxed.
pub type Detail = Box<dyn Error + Send + Sync>;

/// Body of every error response.
#[derive(Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorEnvelope {
    /// The error.
    pub error: ErrorBody,
}

/// An error. All 4 fields are always present.
#[derive(Serialize, ToSchema)]
pub struct ErrorBody {
    /// Error code to branch on.
    pub code: Code,
    /// Message for people; it can change at any time.
    #[schema(value_type = String)]
    pub message: Cow<'static, str>,
    /// Error category, determined by the status.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// `X-Request-Id` of the response.
    #[schema(required)]
    pub request_id: Option<RequestId>,
}

/// An answer that is no success. Build it with the constructor that says what is meant.
#[derive(Debug)]
pub struct ApiError {
    code: Code,
    message: Cow<'static, str>,
    detail: Option<Detail>,
    retry_after_s: Option<u32>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiError {
    /// An error with a message for the client. Prefer the constructors below.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), detail: None, retry_after_s: None, headers: Vec::new() }
    }

    /// An error with its code's usual message.
    pub fn of(code: Code) -> Self {
        Self::new(code, code.message())
    }

    /// 400: `field` is not what it must be; `what` completes the sentence ("must be a number").
    pub fn invalid(field: &str, what: impl fmt::Display) -> Self {
        Self::new(Code::InvalidRequest, format!("{field}: {what}"))
    }

    /// 400 where no single field is to blame.
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidRequest, message)
    }

    /// 401: no key was given.
    pub fn missing_api_key() -> Self {
        Self::of(Code::MissingApiKey)
    }

    /// 401: one answer for malformed, unknown, expired and revoked keys.
    pub fn invalid_api_key() -> Self {
        Self::of(Code::InvalidApiKey)
    }

    /// 402.
    pub fn insufficient_credits() -> Self {
        Self::of(Code::InsufficientCredits)
    }

    /// 403: the key lacks a scope or the account is restricted, as the message says.
    pub fn forbidden_scope(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::ForbiddenScope, message)
    }

    /// 403: a widget's key used on a page of another origin.
    pub fn domain_not_authorized() -> Self {
        Self::of(Code::DomainNotAuthorized)
    }

    /// 404: one answer for unknown, malformed and foreign ids and for unknown paths.
    pub fn not_found() -> Self {
        Self::of(Code::NotFound)
    }

    /// 405.
    pub fn method_not_allowed() -> Self {
        Self::of(Code::MethodNotAllowed)
    }

    /// 408: the body did not arrive in time.
    pub fn request_timeout() -> Self {
        Self::of(Code::RequestTimeout)
    }

    /// 409: the state of the resource forbids it, as the message says.
    pub fn conflict(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Conflict, message)
    }

    /// 409: the twin of this request is under way.
    pub fn idempotency_in_progress() -> Self {
        Self::of(Code::IdempotencyInProgress)
    }

    /// 413.
    pub fn payload_too_large(limit_bytes: usize) -> Self {
        Self::new(Code::PayloadTooLarge, format!("the body may have at most {limit_bytes} bytes"))
    }

    /// 415: what the route reads instead.
    pub fn unsupported_media_type(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::UnsupportedMediaType, message)
    }

    /// 422: the key came before with another body.
    pub fn idempotency_key_reused() -> Self {
        Self::of(Code::IdempotencyKeyReused)
    }

    /// 429, with the seconds after which a retry is let through.
    pub fn rate_limited(retry_after_s: u32) -> Self {
        Self::of(Code::RateLimited).retry_after(retry_after_s)
    }

    /// 500: our fault. The detail goes to the log.
    pub fn server_error(detail: impl Into<Detail>) -> Self {
        Self::of(Code::ServerError).because(detail)
    }

    /// 503: the request's deadline is over.
    pub fn deadline() -> Self {
        Self::new(Code::ServiceUnavailable, "the request timed out on the server; try again")
    }

    /// 503: something that we need is not there. The detail goes to the log.
    pub fn unavailable(detail: impl Into<Detail>) -> Self {
        Self::of(Code::ServiceUnavailable).because(detail)
    }

    /// Adds what the log should say.
    #[must_use]
    pub fn because(mut self, detail: impl Into<Detail>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds `Retry-After`, in whole seconds. A 503 has one in any case.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// Adds a header to the answer.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What the client is told.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The seconds after which a client may try again, where somebody knows.
    pub fn retry_after_s(&self) -> Option<u32> {
        self.retry_after_s
    }

    /// Headers of the answer.
    pub fn headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.headers
    }

    /// What the log is told: the detail with its sources, each once.
    pub fn log_text(&self) -> Option<String> {
        let detail = self.detail.as_deref()?;
        let mut text = detail.to_string();
        let mut source = detail.source();
        while let Some(cause) = source {
            let _ = write!(text, ": {cause}");
            source = cause.source();
        }
        Some(text)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

impl Error for ApiError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.detail.as_deref().map(|detail| detail as &(dyn Error + 'static))
    }
}

/// What a failure of the store means to a client. Foreign resources and missing ones look alike.
impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound => Self::not_found(),
            StoreError::Conflict => Self::conflict("the resource already exists"),
            StoreError::InsufficientCredits { .. } => Self::insufficient_credits(),
            StoreError::CreditsHeld => Self::conflict(
                "credits are on hold for running jobs; pause the organization, or try again when the jobs have ended",
            ),
            // Only the lock of an Idempotency-Key is lost in a request.
            StoreError::LeaseLost => Self::idempotency_in_progress(),
            error @ StoreError::Unavailable { .. } => Self::unavailable(error),
            error @ StoreError::Corrupt(_) => Self::server_error(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_sees_every_cause_once() {
        let inner = std::io::Error::other(ApiError::unavailable("the disk is full"));
        let error = ApiError::server_error(inner);
        assert_eq!(
            error.log_text().unwrap(),
            "service_unavailable: temporarily unavailable; try again: the disk is full"
        );
        assert_eq!(ApiError::not_found().log_text(), None);
    }
}
