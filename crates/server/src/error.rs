//! The one error of the HTTP side, and the envelope it becomes.
//!
//! Status and `type` follow from the [`Code`]; `message` is for the client, who must never branch on it; `detail` is for the
//! log and is never shown. A handler returns `Result<_, ApiError>` and is done: [`IntoResponse`] only marks the answer with the
//! error, and the shell ([`crate::shell`]), which knows the request's id, writes the envelope and logs the detail, once. So an
//! error has the same form wherever it arose: in a handler, in an extractor, in a layer, by a panic or a deadline.
//!
//! Nothing here may carry an address, a key or a query string: messages name the field and what it must be, not what it was.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use probity_store::StoreError;
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_id::RequestId;

/// What an error's cause may be: any error, boxed.
pub type Detail = Box<dyn Error + Send + Sync>;

/// The codes of errors: a frozen list, on which clients branch. A code never changes its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ErrorCode)]
pub enum Code {
    /// A parameter of the query or the body is missing or malformed.
    InvalidRequest,
    /// No key was given.
    MissingApiKey,
    /// The key is malformed, unknown, expired or revoked.
    InvalidApiKey,
    /// Not enough credits.
    InsufficientCredits,
    /// The key lacks the scope, or the account is suspended, paused or banned.
    ForbiddenScope,
    /// The widget's key is not for this origin.
    DomainNotAuthorized,
    /// No such resource for this organization, or no such path.
    NotFound,
    /// The path exists, the method does not.
    MethodNotAllowed,
    /// The request did not arrive in time.
    RequestTimeout,
    /// The state of the resource forbids it.
    Conflict,
    /// A request with the same Idempotency-Key is under way.
    IdempotencyInProgress,
    /// The body is larger than the route takes.
    PayloadTooLarge,
    /// The body is in a form that the route does not read.
    UnsupportedMediaType,
    /// The Idempotency-Key was used with another body.
    IdempotencyKeyReused,
    /// Too many requests.
    RateLimited,
    /// Our fault, or our time ran out.
    ServerError,
    /// For now we cannot.
    ServiceUnavailable,
}

impl Code {
    /// Every code.
    pub const ALL: [Self; 17] = [
        Self::InvalidRequest,
        Self::MissingApiKey,
        Self::InvalidApiKey,
        Self::InsufficientCredits,
        Self::ForbiddenScope,
        Self::DomainNotAuthorized,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::RequestTimeout,
        Self::Conflict,
        Self::IdempotencyInProgress,
        Self::PayloadTooLarge,
        Self::UnsupportedMediaType,
        Self::IdempotencyKeyReused,
        Self::RateLimited,
        Self::ServerError,
        Self::ServiceUnavailable,
    ];

    /// The code as clients see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::MissingApiKey => "missing_api_key",
            Self::InvalidApiKey => "invalid_api_key",
            Self::InsufficientCredits => "insufficient_credits",
            Self::ForbiddenScope => "forbidden_scope",
            Self::DomainNotAuthorized => "domain_not_authorized",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::RequestTimeout => "request_timeout",
            Self::Conflict => "conflict",
            Self::IdempotencyInProgress => "idempotency_in_progress",
            Self::PayloadTooLarge => "payload_too_large",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::IdempotencyKeyReused => "idempotency_key_reused",
            Self::RateLimited => "rate_limited",
            Self::ServerError => "server_error",
            Self::ServiceUnavailable => "service_unavailable",
        }
    }

    /// The status that an answer with this code has.
    pub fn status(self) -> StatusCode {
        match self {
            Self::InvalidRequest => StatusCode::BAD_REQUEST,
            Self::MissingApiKey | Self::InvalidApiKey => StatusCode::UNAUTHORIZED,
            Self::InsufficientCredits => StatusCode::PAYMENT_REQUIRED,
            Self::ForbiddenScope | Self::DomainNotAuthorized => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::Conflict | Self::IdempotencyInProgress => StatusCode::CONFLICT,
            Self::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::IdempotencyKeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::ServerError => StatusCode::INTERNAL_SERVER_ERROR,
            Self::ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The coarse category: a pure function of the status.
    pub fn kind(self) -> Kind {
        match self.status().as_u16() {
            401 | 403 => Kind::AuthenticationError,
            402 => Kind::BillingError,
            404 => Kind::NotFoundError,
            409 => Kind::ConflictError,
            429 => Kind::RateLimitError,
            400..=499 => Kind::InvalidRequestError,
            _ => Kind::ApiError,
        }
    }

    /// The code for an answer that somebody else (the framework) gave without one.
    pub fn of_status(status: StatusCode) -> Self {
        match status.as_u16() {
            404 => Self::NotFound,
            405 => Self::MethodNotAllowed,
            408 => Self::RequestTimeout,
            413 => Self::PayloadTooLarge,
            415 => Self::UnsupportedMediaType,
            400..=499 => Self::InvalidRequest,
            503 => Self::ServiceUnavailable,
            _ => Self::ServerError,
        }
    }
}

/// The coarse category of an error (`error.type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ErrorType)]
pub enum Kind {
    /// 401 and 403.
    AuthenticationError,
    /// 402.
    BillingError,
    /// Every other 4xx.
    InvalidRequestError,
    /// 429.
    RateLimitError,
    /// 404.
    NotFoundError,
    /// 409.
    ConflictError,
    /// 5xx.
    ApiError,
}

/// The body of every answer that is no success.
#[derive(Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorEnvelope {
    /// What went wrong.
    pub error: ErrorBody,
}

/// What went wrong. All four fields are always present.
#[derive(Serialize, ToSchema)]
pub struct ErrorBody {
    /// On this clients branch.
    pub code: Code,
    /// For people; it may change at any time.
    #[schema(value_type = String)]
    pub message: Cow<'static, str>,
    /// The coarse category, by status.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The `X-Request-Id` of the answer.
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
    header: Option<Box<(HeaderName, HeaderValue)>>,
}

impl ApiError {
    /// An error with a message for the client. Prefer the constructors below.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), detail: None, retry_after_s: None, header: None }
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
        Self::new(Code::MissingApiKey, "no API key given: send `Authorization: Bearer <key>`")
    }

    /// 401: one answer for malformed, unknown, expired and revoked keys.
    pub fn invalid_api_key() -> Self {
        Self::new(Code::InvalidApiKey, "the API key is not valid")
    }

    /// 402.
    pub fn insufficient_credits() -> Self {
        Self::new(Code::InsufficientCredits, "not enough credits for this request")
    }

    /// 403: the key lacks a scope or the account is restricted, as the message says.
    pub fn forbidden_scope(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::ForbiddenScope, message)
    }

    /// 403: a widget's key used on a page of another origin.
    pub fn domain_not_authorized() -> Self {
        Self::new(Code::DomainNotAuthorized, "this key may not be used on this origin")
    }

    /// 404: one answer for unknown, malformed and foreign ids and for unknown paths.
    pub fn not_found() -> Self {
        Self::new(Code::NotFound, "no such resource")
    }

    /// 405.
    pub fn method_not_allowed() -> Self {
        Self::new(Code::MethodNotAllowed, "this path does not take this method; see the Allow header")
    }

    /// 408: the body did not arrive in time.
    pub fn request_timeout() -> Self {
        Self::new(Code::RequestTimeout, "the request's body did not arrive in time")
    }

    /// 409: the state of the resource forbids it, as the message says.
    pub fn conflict(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Conflict, message)
    }

    /// 409: the twin of this request is under way.
    pub fn idempotency_in_progress() -> Self {
        Self::new(Code::IdempotencyInProgress, "a request with this Idempotency-Key is still under way")
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
        Self::new(Code::IdempotencyKeyReused, "this Idempotency-Key was used with a different request body")
    }

    /// 429, with the seconds after which a retry is let through.
    pub fn rate_limited(retry_after_s: u32) -> Self {
        Self::new(Code::RateLimited, "too many requests").retry_after(retry_after_s)
    }

    /// 500: our fault. The detail goes to the log.
    pub fn server_error(detail: impl Into<Detail>) -> Self {
        Self::new(Code::ServerError, "an unexpected error on our side").because(detail)
    }

    /// 500: the request's deadline is over.
    pub fn deadline() -> Self {
        Self::new(Code::ServerError, "timeout: the request took too long on our side")
    }

    /// 503: something that we need is not there. The detail goes to the log.
    pub fn unavailable(detail: impl Into<Detail>) -> Self {
        Self::new(Code::ServiceUnavailable, "temporarily unavailable; try again").because(detail)
    }

    /// Adds what the log should say.
    #[must_use]
    pub fn because(mut self, detail: impl Into<Detail>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds `Retry-After`, in whole seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// Adds a header to the answer; one at most.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some(Box::new((name, value)));
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

    /// What the log is told: the detail with its sources, each once.
    pub(crate) fn log_text(&self) -> Option<String> {
        let detail = self.detail.as_deref()?;
        let mut text = detail.to_string();
        let mut source = detail.source();
        while let Some(cause) = source {
            let _ = write!(text, ": {cause}");
            source = cause.source();
        }
        Some(text)
    }

    /// Writes the envelope into an answer that carries this error, and the headers that belong to it.
    pub(crate) fn write_into(&self, response: &mut Response, request_id: RequestId) {
        let error = ErrorBody {
            code: self.code,
            message: self.message.clone(),
            kind: self.code.kind(),
            request_id: Some(request_id),
        };
        let body = serde_json::to_vec(&ErrorEnvelope { error }).expect("texts and names always become JSON");
        *response.body_mut() = Body::from(body);
        *response.status_mut() = self.code.status();
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.code.status() == StatusCode::UNAUTHORIZED {
            // RFC 9110 §15.5.2: a 401 names a scheme that would do.
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(header) = &self.header {
            headers.insert(header.0.clone(), header.1.clone());
        }
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
            StoreError::Conflict => Self::conflict("it exists already"),
            StoreError::InsufficientCredits { .. } => Self::insufficient_credits(),
            // Only the lock of an Idempotency-Key is lost in a request.
            StoreError::LeaseLost => Self::idempotency_in_progress(),
            error @ StoreError::Unavailable { .. } => Self::unavailable(error),
            error @ StoreError::Corrupt(_) => Self::server_error(error),
        }
    }
}

/// The mark of an error on an answer, until the shell writes the envelope.
#[derive(Clone)]
pub(crate) struct Marked(pub(crate) Arc<ApiError>);

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.code.status().into_response();
        response.extensions_mut().insert(Marked(Arc::new(self)));
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_frozen_names_statuses_and_types() {
        let table = [
            ("invalid_request", 400, "invalid_request_error"),
            ("missing_api_key", 401, "authentication_error"),
            ("invalid_api_key", 401, "authentication_error"),
            ("insufficient_credits", 402, "billing_error"),
            ("forbidden_scope", 403, "authentication_error"),
            ("domain_not_authorized", 403, "authentication_error"),
            ("not_found", 404, "not_found_error"),
            ("method_not_allowed", 405, "invalid_request_error"),
            ("request_timeout", 408, "invalid_request_error"),
            ("conflict", 409, "conflict_error"),
            ("idempotency_in_progress", 409, "conflict_error"),
            ("payload_too_large", 413, "invalid_request_error"),
            ("unsupported_media_type", 415, "invalid_request_error"),
            ("idempotency_key_reused", 422, "invalid_request_error"),
            ("rate_limited", 429, "rate_limit_error"),
            ("server_error", 500, "api_error"),
            ("service_unavailable", 503, "api_error"),
        ];
        let seen = Code::ALL.map(|code| {
            let shown = serde_json::to_value((code, code.kind())).unwrap();
            assert_eq!(shown[0], code.as_str(), "serde and as_str agree");
            (code.as_str(), code.status().as_u16(), shown[1].as_str().unwrap().to_owned())
        });
        assert_eq!(seen.each_ref().map(|(code, status, kind)| (*code, *status, kind.as_str())), table);
    }

    #[test]
    fn foreign_statuses_keep_their_class() {
        for status in (400..600).filter_map(|number| StatusCode::from_u16(number).ok()) {
            let given = Code::of_status(status).status();
            assert_eq!(given.is_client_error(), status.is_client_error(), "{status}");
        }
    }

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
