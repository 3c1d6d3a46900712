//! The codes of errors, each with its status, its meaning and its usual message.
//!
//! Those of the API are a frozen list. The dashboard's pages have a few of their own beside them, which no key ever sees.

use std::borrow::Cow;

use http::StatusCode;
use serde::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use crate::schema::one_of;

/// Makes [`Code`] from the list of codes, so that a code's name, status, meaning and usual message stand together, once.
macro_rules! codes {
    (
        api { $($(#[doc = $meaning:literal])+ $code:ident = $name:literal, $status:ident, $message:literal;)+ }
        dashboard { $($(#[doc = $own_meaning:literal])+ $own:ident = $own_name:literal, $own_status:ident, $own_message:literal;)+ }
    ) => {
        /// The codes of errors: a frozen list, on which clients branch. A code never changes its status.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[doc = $meaning])+ $code,)+
            $($(#[doc = $own_meaning])+ $own,)+
        }

        impl Code {
            /// Every code of the API, by status.
            pub const ALL: &[Self] = &[$(Self::$code),+];
            /// The codes that only the dashboard's routes have.
            pub const DASHBOARD: &[Self] = &[$(Self::$own),+];

            /// The code as clients see it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$code => $name,)+ $(Self::$own => $own_name),+ }
            }

            /// The status that an answer with this code has.
            pub fn status(self) -> StatusCode {
                match self { $(Self::$code => StatusCode::$status,)+ $(Self::$own => StatusCode::$own_status),+ }
            }

            /// When the code is answered, for people.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$code => concat!($($meaning),+).trim_ascii(),)+
                    $(Self::$own => concat!($($own_meaning),+).trim_ascii()),+
                }
            }

            /// What the client is told where nobody knows better.
            pub(super) fn message(self) -> &'static str {
                match self { $(Self::$code => $message,)+ $(Self::$own => $own_message),+ }
            }
        }
    };
}

codes! {
    api {
        /// A parameter of the query, a header or the body is missing or malformed.
        InvalidRequest = "invalid_request", BAD_REQUEST, "the request is malformed";
        /// No key was sent.
        MissingApiKey = "missing_api_key", UNAUTHORIZED, "no API key given: send `Authorization: Bearer <key>`";
        /// The key is malformed, unknown, expired or revoked.
        InvalidApiKey = "invalid_api_key", UNAUTHORIZED, "the API key is not valid";
        /// Not enough credits for this request.
        InsufficientCredits = "insufficient_credits", PAYMENT_REQUIRED, "not enough credits for this request";
        /// The key lacks the scope, or the organization is suspended, paused or banned.
        ForbiddenScope = "forbidden_scope", FORBIDDEN, "the key lacks the scope for this request";
        /// The widget was used from an origin that its key does not allow.
        DomainNotAuthorized = "domain_not_authorized", FORBIDDEN, "this key is not allowed on this origin";
        /// The resource or path does not exist, or the resource belongs to another organization.
        NotFound = "not_found", NOT_FOUND, "no such resource";
        /// The path exists, the method does not.
        MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED,
            "this path does not support this method; see the Allow header";
        /// The request did not arrive in time.
        RequestTimeout = "request_timeout", REQUEST_TIMEOUT, "the request's body did not arrive in time";
        /// The resource's state does not allow the request.
        Conflict = "conflict", CONFLICT, "the resource's state does not allow this request";
        /// A request with the same `Idempotency-Key` is still in progress.
        IdempotencyInProgress = "idempotency_in_progress", CONFLICT,
            "a request with this Idempotency-Key is still in progress";
        /// The body is too large.
        PayloadTooLarge = "payload_too_large", PAYLOAD_TOO_LARGE, "the body is too large";
        /// The body is compressed or not declared as JSON.
        UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE,
            "a body needs `Content-Type: application/json`";
        /// The `Idempotency-Key` was already used with another body.
        IdempotencyKeyReused = "idempotency_key_reused", UNPROCESSABLE_ENTITY,
            "this Idempotency-Key was already used with a different request body; use a new key";
        /// Too many requests. Wait `Retry-After` seconds.
        RateLimited = "rate_limited", TOO_MANY_REQUESTS, "too many requests";
        /// The request line and headers exceed 64 KiB or 100 fields.
        RequestHeadTooLarge = "request_head_too_large", REQUEST_HEADER_FIELDS_TOO_LARGE,
            "the request line and headers must have at most 64 KiB and 100 fields";
        /// An internal error.
        ServerError = "server_error", INTERNAL_SERVER_ERROR, "internal error; report the request ID";
        /// Temporarily unavailable: a dependency is unreachable, or time ran out. Wait `Retry-After` seconds.
        ServiceUnavailable = "service_unavailable", SERVICE_UNAVAILABLE, "temporarily unavailable; try again";
    }
    dashboard {
        /// There is no session, or it has ended.
        NotSignedIn = "not_signed_in", UNAUTHORIZED, "sign in first";
        /// The email address, the password or the code is wrong; the response does not say which.
        SignInFailed = "sign_in_failed", UNAUTHORIZED, "wrong email address, password or code";
        /// The password is correct, but a two-factor code is missing.
        SecondFactorRequired = "second_factor_required", UNAUTHORIZED, "two-factor code required";
        /// The request comes from another site, or lacks the session's CSRF token.
        CrossSiteRequest = "cross_site_request", FORBIDDEN, "the request did not come from the dashboard";
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl PartialSchema for Code {
    fn schema() -> RefOr<Schema> {
        one_of(Self::ALL.iter().map(|code| code.as_str()), "Error code to branch on, from a frozen list.").into()
    }
}

impl ToSchema for Code {
    fn name() -> Cow<'static, str> {
        "ErrorCode".into()
    }
}

impl Code {
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
            431 => Self::RequestHeadTooLarge,
            400..=499 => Self::InvalidRequest,
            503 => Self::ServiceUnavailable,
            _ => Self::ServerError,
        }
    }
}

/// Error category (`error.type`).
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
            ("request_head_too_large", 431, "invalid_request_error"),
            ("server_error", 500, "api_error"),
            ("service_unavailable", 503, "api_error"),
        ];
        assert_eq!(Code::ALL.len(), table.len());
        let dashboard = [
            ("not_signed_in", 401, "authentication_error"),
            ("sign_in_failed", 401, "authentication_error"),
            ("second_factor_required", 401, "authentication_error"),
            ("cross_site_request", 403, "authentication_error"),
        ];
        assert_eq!(Code::DASHBOARD.len(), dashboard.len());
        let all = Code::ALL.iter().zip(table).chain(Code::DASHBOARD.iter().zip(dashboard));
        for (code, (name, status, kind)) in all {
            assert_eq!(serde_json::to_value((code, code.kind())).unwrap(), serde_json::json!([name, kind]));
            assert_eq!(code.status().as_u16(), status, "{name}");
        }
        assert!(Code::ALL.is_sorted_by_key(|code| code.status()), "the answers of an operation are grouped by status");
    }

    #[test]
    fn foreign_statuses_keep_their_class() {
        for status in (400..600).filter_map(|number| StatusCode::from_u16(number).ok()) {
            let given = Code::of_status(status).status();
            assert_eq!(given.is_client_error(), status.is_client_error(), "{status}");
        }
    }
}
