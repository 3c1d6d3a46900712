//! Query and response types of `GET /v1/check-key`.

use serde::Serialize;
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::parameters::{describe_query, text};
use crate::query::{FromQuery, Query};

/// Key to look up. Without `Debug`, because it holds a secret.
#[derive(Clone)]
pub struct CheckKeyQuery {
    /// Key to look up; `None` for the caller's own key.
    pub key: Option<String>,
}

impl FromQuery for CheckKeyQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let public = query.filled("public_key")?;
        Ok(Self { key: if public.is_some() { public } else { query.filled("api_key")? } })
    }
}

describe_query! { CheckKeyQuery:
    "api_key" = "Another key of the same organization to look up. Without a bearer token, the key that authenticates the call.",
        text(), "probity_live_4ZqKf0pX";
    "public_key" = "Another key of the same organization to look up, such as a `pub` key.", text(), "probity_pub_4ZqKf0pX";
    "check_plan" = "Accepted for compatibility; the plan is always shown.", text(), "true";
    "check_credits" = "Accepted for compatibility; the credits are always shown.", text(), "true";
    "get_token" = "Accepted for compatibility; no token is returned.", text(), "false";
}

/// Plan and credits of a key.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckedKey {
    /// Key name.
    #[schema(examples("Sign-up form"))]
    pub name: String,
    /// Name of the organization that owns the key.
    #[schema(examples("Example Ltd"))]
    pub organization: String,
    /// Plan of the organization.
    #[schema(examples("unlimited"))]
    pub plan_type: String,
    /// Available subscription credits of this period.
    #[schema(examples(9_500))]
    pub free_matches: i64,
    /// Available prepaid credits.
    #[schema(examples(25_000))]
    pub extra_credits: i64,
}
