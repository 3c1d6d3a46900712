//! What `/v1/api-keys` shows and takes.
//!
//! The secret of a key is in one answer only, the one that made it: [`NewKey`]. Afterwards a key is known by its visible
//! prefix and its last four characters.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::timestamp::Timestamp;
use crate::openapi::schema;

/// What a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApiKeyKind {
    /// All scopes.
    Live,
    /// Chosen scopes.
    Rk,
    /// All scopes, on sandbox data; spends nothing.
    Test,
    /// The widget only, from chosen origins.
    Pub,
}

/// A key, without its secret.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ApiKey {
    /// The key's id.
    #[schema(schema_with = schema::key_id)]
    pub id: String,
    /// What its owner calls it.
    #[schema(examples("Sign-up form"))]
    pub name: String,
    /// What it is for.
    pub kind: ApiKeyKind,
    /// The visible beginning of the secret.
    #[schema(examples("probity_live_"))]
    pub prefix: String,
    /// The last four characters of the secret.
    #[schema(examples("x7Qa"))]
    pub last4: String,
    /// What it may do, sorted.
    #[schema(schema_with = schema::scopes)]
    pub scopes: Vec<String>,
    /// The origins from which a `pub` key may be used; empty for other kinds.
    #[schema(examples(json!(["https://www.example.com"])))]
    pub allowed_origins: Vec<String>,
    /// When it was made.
    #[schema(inline)]
    pub created_at: Timestamp,
    /// When it stops working; null where it does not.
    #[schema(required, inline)]
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to within a few minutes.
    #[schema(required, inline)]
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    #[schema(required, inline)]
    pub revoked_at: Option<Timestamp>,
}

/// A new key. Keep the secret: no other answer shows it.
#[derive(Clone, Serialize, ToSchema)]
pub struct NewKey {
    /// The key as the list shows it.
    #[serde(flatten)]
    pub key: ApiKey,
    /// The whole key, for the `Authorization` header. Shown this once.
    #[schema(examples("probity_live_4ZqKf0pX…"))]
    pub secret: String,
}

/// The key to make.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateKey {
    /// What to call it.
    #[schema(min_length = 1, max_length = 200, examples("Sign-up form"))]
    pub name: String,
    /// What it is for.
    pub kind: ApiKeyKind,
    /// What it may do: for `rk` at least one scope, for other kinds left out.
    #[serde(default)]
    #[schema(schema_with = schema::chosen_scopes)]
    pub scopes: Option<Vec<String>>,
    /// The origins from which it may be used; for `pub` only.
    #[serde(default)]
    #[schema(schema_with = schema::origins)]
    pub allowed_origins: Option<Vec<String>>,
    /// When it stops working; never where left out.
    #[serde(default)]
    #[schema(inline)]
    pub expires_at: Option<Timestamp>,
    /// How many requests a minute it may make, where that is fewer than the organization may.
    #[serde(default)]
    #[schema(minimum = 1, examples(600))]
    pub rate_limit_per_minute: Option<u32>,
}

/// A revoked key.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DeletedKey {
    /// The key's id.
    #[schema(schema_with = schema::key_id)]
    pub id: String,
    /// Always true.
    #[schema(schema_with = schema::always_true)]
    pub deleted: bool,
}
