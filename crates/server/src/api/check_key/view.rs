//! The answer of `GET /v1/check-key`.

use serde::Serialize;
use utoipa::ToSchema;

/// What a key is good for.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckedKey {
    /// The key's name.
    #[schema(examples("Sign-up form"))]
    pub name: String,
    /// The name of the organization that the key belongs to.
    #[schema(examples("Example Ltd"))]
    pub organization: String,
    /// The organization's plan.
    #[schema(examples("unlimited"))]
    pub plan_type: String,
    /// How many credits of the subscription are left in this period.
    #[schema(examples(9_500))]
    pub free_matches: i64,
    /// How many prepaid credits are left.
    #[schema(examples(25_000))]
    pub extra_credits: i64,
}
