//! Error codes, each with its status, meaning and default message.
//!
//! The API's codes are a frozen list. The dashboard's routes have a few codes of their own, which API keys never see.

use http::StatusCode;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use crate::schema::{describe, one_of};

/// Defines [`Code`] from the list of codes, so that name, status, meaning and default message of a code are written once.
macro_rules! codes {
    (
        api { $($(#[doc = $meaning:literal])+ $code:ident = $name:literal, $status:ident, $message:literal;)+ }
        dashboard { $($(#[doc = $own_meaning:literal])+ $own:ident = $own_name:literal, $own_status:ident, $own_message:literal;)+ }
    ) => {
        /// Error code: a frozen list on which clients branch. A code never changes its status.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[doc = $meaning])+ $code,)+
            $($(#[doc = $own_meaning])+ $own,)+
        }

        impl Code {
            /// All codes of the API, by status.
            pub const ALL: &[Self] = &[$(Self::$code),+];
            /// Codes that only the dashboard's routes use.
            pub const DASHBOARD: &[Self] = &[$(Self::$own),+];

            /// Returns the code's name in responses.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$code => $name,)+ $(Self::$own => $own_name),+ }
            }

            /// Returns the status of a response with this code.
            pub fn status(self) -> StatusCode {
                match self { $(Self::$code => StatusCode::$status,)+ $(Self::$own => StatusCode::$own_status),+ }
            }

            /// Returns the condition that leads to this code, for people.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$code => concat!($($meaning),+).trim_ascii(),)+
                    $(Self::$own => concat!($($own_meaning),+).trim_ascii()),+
                }
            }

            /// Returns the default message.
            pub(super) fn message(self) -> &'static str {
                match self { $(Self::$code => $message,)+ $(Self::$own => $own_message),+ }
            }
        }
    };
}

codes! {
    api {
        /// A parameter of the query, a header or the body is missing or malformed.
        InvalidRequest = "invalid_request", BAD_REQUEST, "the request is malformed; compare it with the reference at /docs";
        /// No key was sent.
        MissingApiKey = "missing_api_key", UNAUTHORIZED, "no API key given: send `Authorization: Bearer <key>`";
        /// The key is malformed, unknown, expired or revoked.
        InvalidApiKey = "invalid_api_key", UNAUTHORIZED, "the API key is malformed, unknown, expired or revoked; send another key";
        /// Not enough credits for this request.
        InsufficientCredits = "insufficient_credits", PAYMENT_REQUIRED, "not enough credits for this request; get more credits";
        /// The key lacks the scope, or the organization is suspended, paused or banned.
        ForbiddenScope = "forbidden_scope", FORBIDDEN, "the key lacks the scope for this request; use a key that has it";
        /// The widget was used from an origin that its key does not allow, or without an origin.
        DomainNotAuthorized = "domain_not_authorized", FORBIDDEN,
            "the key does not allow the page's origin, or none was sent; add the origin to the key, and call from that page";
        /// The resource or path does not exist, or the resource belongs to another organization.
        NotFound = "not_found", NOT_FOUND, "not found; check the path and the ID";
        /// The path exists, the method does not.
        MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED,
            "this path does not support this method; see the Allow header";
        /// The request did not arrive in time.
        RequestTimeout = "request_timeout", REQUEST_TIMEOUT, "the request's body did not arrive in time; send it faster";
        /// The resource's state does not allow the request.
        Conflict = "conflict", CONFLICT, "the resource's state does not allow this request";
        /// A request with the same `Idempotency-Key` is still in progress.
        IdempotencyInProgress = "idempotency_in_progress", CONFLICT,
            "a request with this Idempotency-Key is still in progress; wait for its response";
        /// The body is too large.
        PayloadTooLarge = "payload_too_large", PAYLOAD_TOO_LARGE, "the body is too large; send less at a time";
        /// The body is compressed or not declared as JSON.
        UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE,
            "a body needs `Content-Type: application/json`";
        /// The `Idempotency-Key` was already used with another body.
        IdempotencyKeyReused = "idempotency_key_reused", UNPROCESSABLE_ENTITY,
            "this Idempotency-Key was already used with a different request body; use a new key";
        /// Too many requests. Wait `Retry-After` seconds.
        RateLimited = "rate_limited", TOO_MANY_REQUESTS, "too many requests; retry after the seconds in Retry-After";
        /// The request line and headers exceed 64 KiB or 100 fields.
        RequestHeadTooLarge = "request_head_too_large", REQUEST_HEADER_FIELDS_TOO_LARGE,
            "the request line and headers may have at most 64 KiB and 100 fields; shorten them";
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
        /// The password is correct, but the organization requires single sign-on.
        SsoRequired = "sso_required", FORBIDDEN, "your organization requires single sign-on; sign in with it";
        /// The request comes from another site, or lacks the session's CSRF token.
        CrossSiteRequest = "cross_site_request", FORBIDDEN, "the request did not come from the dashboard; reload the page";
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

describe!(Code as "ErrorCode" =
    one_of(Self::ALL.iter().map(|code| code.as_str()), "Error code to branch on, from a frozen list."));

impl Code {
    /// Returns the error category, which depends only on the status.
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

    /// Returns the code for an error response of the framework, which has none.
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
            ("sso_required", 403, "authentication_error"),
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
