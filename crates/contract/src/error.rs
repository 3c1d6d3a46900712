//! The error of a failed request, and the envelope that clients receive.
//!
//! The [`Code`] determines status and `type`. `message` is for people and can change at any time; `detail` is for the log and
//! is never shown to clients.
//!
//! No error may carry an address, a key or a query string. Messages name the field and its rule, not the value.

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

/// Cause of an error, for the log.
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

/// Response to a failed request. Prefer the specific constructors.
#[derive(Debug)]
pub struct ApiError {
    code: Code,
    message: Cow<'static, str>,
    /// Length of the field's name with which the message begins, in bytes; 0 if no single field is to blame.
    field_bytes: usize,
    detail: Option<Detail>,
    retry_after_s: Option<u32>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiError {
    /// Creates an error with a message for the client. Prefer the constructors below.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), field_bytes: 0, detail: None, retry_after_s: None, headers: Vec::new() }
    }

    /// Creates an error with its code's default message.
    pub fn of(code: Code) -> Self {
        Self::new(code, code.message())
    }

    /// Creates a 400 for `field`; `what` completes the sentence ("must be a number").
    pub fn invalid(field: &str, what: impl fmt::Display) -> Self {
        Self::about_field(Code::InvalidRequest, field, what)
    }

    /// Creates an error that blames `field`; `what` completes the sentence.
    pub fn about_field(code: Code, field: &str, what: impl fmt::Display) -> Self {
        Self { field_bytes: field.len(), ..Self::new(code, format!("{field}: {what}")) }
    }

    /// Creates a 400 if no single field is to blame.
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidRequest, message)
    }

    /// Creates a 401, the same for malformed, unknown, expired and revoked keys.
    pub fn invalid_api_key() -> Self {
        Self::of(Code::InvalidApiKey)
    }

    /// Creates a 402.
    pub fn insufficient_credits() -> Self {
        Self::of(Code::InsufficientCredits)
    }

    /// Creates a 403 for a key without the scope or a restricted organization; the message says which.
    pub fn forbidden_scope(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::ForbiddenScope, message)
    }

    /// Creates a 403 for a widget key used on a page of another origin.
    pub fn domain_not_authorized() -> Self {
        Self::of(Code::DomainNotAuthorized)
    }

    /// Creates a 404, the same for unknown, malformed and foreign IDs and for unknown paths.
    pub fn not_found() -> Self {
        Self::of(Code::NotFound)
    }

    /// Creates a 409: the state of the resource does not allow the request. The message says why.
    pub fn conflict(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Conflict, message)
    }

    /// Creates a 409: a request with the same Idempotency-Key is in progress.
    pub fn idempotency_in_progress() -> Self {
        Self::of(Code::IdempotencyInProgress)
    }

    /// Creates a 413.
    pub fn payload_too_large(limit_bytes: usize) -> Self {
        Self::new(Code::PayloadTooLarge, format!("the body may have at most {limit_bytes} bytes; send less at a time"))
    }

    /// Creates a 415; the message names the media types that the route accepts.
    pub fn unsupported_media_type(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::UnsupportedMediaType, message)
    }

    /// Creates a 422: the Idempotency-Key was already used with another body.
    pub fn idempotency_key_reused() -> Self {
        Self::of(Code::IdempotencyKeyReused)
    }

    /// Creates a 429 with the seconds after which a retry is admitted.
    pub fn rate_limited(retry_after_s: u32) -> Self {
        Self::of(Code::RateLimited).retry_after(retry_after_s)
    }

    /// Creates a 500: an internal error. The detail goes to the log.
    pub fn server_error(detail: impl Into<Detail>) -> Self {
        Self::of(Code::ServerError).because(detail)
    }

    /// Creates a 503: the request's deadline has passed.
    pub fn deadline() -> Self {
        Self::new(Code::ServiceUnavailable, "the request timed out on the server; try again")
    }

    /// Creates a 503: a dependency is unavailable. The detail goes to the log.
    pub fn unavailable(detail: impl Into<Detail>) -> Self {
        Self::of(Code::ServiceUnavailable).because(detail)
    }

    /// Adds a cause for the log.
    #[must_use]
    pub fn because(mut self, detail: impl Into<Detail>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds `Retry-After`, in whole seconds. A 503 has the header in any case.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// Adds a header to the response.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub fn code(&self) -> Code {
        self.code
    }

    /// Returns the message for the client.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the field that is to blame, if it is a single one, and the broken rule.
    pub fn field(&self) -> Option<(&str, &str)> {
        let (field, what) = self.message.split_at_checked(self.field_bytes).filter(|(field, _)| !field.is_empty())?;
        Some((field, what.strip_prefix(": ")?))
    }

    /// Returns the seconds after which a client may retry, if known.
    pub fn retry_after_s(&self) -> Option<u32> {
        self.retry_after_s
    }

    /// Returns the cause, to show the error to the operator at a command line.
    pub fn into_detail(self) -> Option<Detail> {
        self.detail
    }

    /// Returns the additional headers of the response.
    pub fn headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.headers
    }

    /// Returns the text for the log: the detail followed by its sources.
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

/// Converts a store error. Resources of other organizations look like missing ones.
impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound => Self::not_found(),
            StoreError::Conflict => Self::conflict("the resource already exists"),
            StoreError::InsufficientCredits { .. } => Self::insufficient_credits(),
            error @ StoreError::CreditsHeld => Self::conflict(
                "credits are on hold for running jobs; pause the organization, or try again when the jobs have ended",
            )
            .because(error),
            // In a request, the only lease that can be lost is the lock of its Idempotency-Key.
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
