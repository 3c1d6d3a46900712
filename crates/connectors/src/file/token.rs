//! Access token that a platform gives for the credentials, as OAuth 2.0 refreshes do (RFC 6749 §6) and logins.

use serde::Deserialize;

use super::http::{ErrorRule, RequestRule, span};
use crate::source::Source;

/// Credential that the platform replaces with each token, such as a rotated refresh token.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplacedCredential {
    pub credential: String,
    /// Place of the new value. The earlier value stays in use if it is missing.
    pub at: Source,
}

/// Call that gives an access token, which is `{token}` in all other requests.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRule {
    pub request: RequestRule,
    /// Place of the token.
    pub access: Source,
    /// Lifetime of a token if the response does not state it, in milliseconds.
    #[serde(deserialize_with = "span")]
    pub lifetime: i64,
    /// Place of the lifetime, in seconds.
    #[serde(default)]
    pub expires_in: Option<Source>,
    #[serde(default)]
    pub replaces: Option<ReplacedCredential>,
    /// Error rules that precede those of the file.
    #[serde(default)]
    pub errors: Vec<ErrorRule>,
}
