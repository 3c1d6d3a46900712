//! The answer of `GET /v1/check-key`.

use serde::Serialize;
use utoipa::ToSchema;

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
