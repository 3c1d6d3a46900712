//! Request and response types of `/v1/api-keys`.
//!
//! Only the response that creates a key ([`NewKey`]) contains its secret. All others show the key's visible prefix and last 4
//! characters, and the whole of a public key.

use probity_account::api_key::KeyKind;
use probity_account::id::KeyId;
use probity_account::scope::Scopes;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::schema::{
    AdditionalProperties, KnownFormat, Object, ObjectBuilder, OneOfBuilder, SchemaFormat, Type,
};

use crate::merge_patch::given;
use crate::published::whole::Whole;
use crate::schema;
use crate::timestamp::Timestamp;

/// An API key, without its secret.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ApiKey {
    #[schema(schema_with = schema::key_id)]
    pub id: KeyId,
    /// Display name.
    #[schema(examples("Sign-up form"))]
    pub name: String,
    #[schema(schema_with = kind)]
    pub kind: KeyKind,
    /// Visible beginning of the secret.
    #[schema(examples("probity_live_"))]
    pub prefix: String,
    /// Last 4 characters of the secret.
    #[schema(examples("x7Qa"))]
    pub last4: String,
    /// The whole key of a `pub` key, which appears in public pages; null for other kinds, and for keys created before it was
    /// stored.
    #[schema(required, examples(json!(null)))]
    pub public_key: Option<String>,
    #[schema(schema_with = schema::scopes)]
    pub scopes: Scopes,
    #[schema(schema_with = schema::origins)]
    pub allowed_origins: Vec<String>,
    /// Credits that a `pub` key can spend per day (UTC); null for other kinds, and if the operator's value applies.
    #[schema(required, minimum = 1, examples(json!(null)))]
    pub daily_cap: Option<i64>,
    /// Requests per minute; null if the default applies. The limit is never higher than that of the key that created this
    /// one.
    #[schema(required, minimum = 1, examples(json!(null)))]
    pub rate_limit_per_minute: Option<i64>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Expiry time; null if the key does not expire.
    #[schema(required)]
    pub expires_at: Option<Timestamp>,
    /// Time of last use, accurate to a few minutes; null if never used.
    #[schema(required)]
    pub last_used_at: Option<Timestamp>,
    /// Revocation time; null if not revoked.
    #[schema(required)]
    pub revoked_at: Option<Timestamp>,
    #[schema(required, schema_with = replaced_by)]
    pub replaced_by: Option<KeyId>,
}

/// A new key. Save the secret: no other response shows it.
#[derive(Clone, Serialize, ToSchema)]
pub struct NewKey {
    /// The key, as listed.
    #[serde(flatten)]
    pub key: ApiKey,
    /// The whole key, for the `Authorization` header. Shown once.
    #[schema(examples("probity_live_4ZqKf0pX…"))]
    pub secret: String,
}

/// Key to create. The allowed fields depend on the kind, as the schema describes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateKey {
    /// Display name ([`mod@probity_account::name`]).
    pub name: String,
    /// Kind of key.
    pub kind: KeyKind,
    /// Scopes of an `rk` key, at least 1; omitted for other kinds.
    #[serde(default, deserialize_with = "given")]
    pub scopes: Option<Scopes>,
    /// Origins from which a `pub` key can be used, at least 1; omitted for other kinds.
    #[serde(default, deserialize_with = "given")]
    pub allowed_origins: Option<Vec<String>>,
    /// Credits that a `pub` key can spend per day (UTC).
    #[serde(default, deserialize_with = "given")]
    pub daily_cap: Option<Whole>,
    /// Expiry time; if omitted, the key does not expire.
    #[serde(default, deserialize_with = "given")]
    pub expires_at: Option<Timestamp>,
    /// Requests per minute, if lower than the organization's limit.
    #[serde(default, deserialize_with = "given")]
    pub rate_limit_per_minute: Option<Whole>,
}

impl CreateKey {
    /// Returns the schema of the fields that every kind has. Generated clients name the type by its title.
    fn common(title: &str, kinds: &[KeyKind]) -> ObjectBuilder {
        let name = schema::line("Display name.", "Sign-up form");
        let rate = schema::count(Some(u32::MAX), "Requests per minute, if lower than the organization's limit.", 600);
        let expires_at = ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .description(Some("Expiry time, in the future. If omitted, the key does not expire."))
            .examples(["2099-12-31T23:59:59Z"]);
        ObjectBuilder::new()
            .title(Some(title))
            .property("name", name)
            .required("name")
            .property("kind", schema::one_of(kinds.iter().map(|kind| kind.as_str()), "Kind of key."))
            .required("kind")
            .property("expires_at", expires_at)
            .property("rate_limit_per_minute", rate)
            .additional_properties(Some(AdditionalProperties::FreeForm(false)))
    }
}

schema::describe!(
    CreateKey = {
        let restricted = Self::common("CreateRestrictedKey", &[KeyKind::Rk])
            .property("scopes", schema::chosen_scopes())
            .required("scopes");
        let cap_means = "Credits that the key can spend per day (UTC); if omitted, the operator's value applies.";
        let public = Self::common("CreateWidgetKey", &[KeyKind::Pub])
            .property("allowed_origins", schema::chosen_origins())
            .required("allowed_origins")
            .property("daily_cap", schema::count(Some(u32::MAX), cap_means, 500));
        OneOfBuilder::new()
            .description(Some("The key to create."))
            .item(Self::common("CreateFullKey", &[KeyKind::Live, KeyKind::Test]))
            .item(restricted)
            .item(public)
    }
);

/// A revoked key.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DeletedKey {
    #[schema(schema_with = schema::key_id)]
    pub id: KeyId,
    #[schema(schema_with = schema::always_true)]
    pub deleted: bool,
}

schema::schemas! {
    kind = schema::one_of(KeyKind::ALL.map(KeyKind::as_str), "Kind of key. `live`: all scopes. `rk`: chosen scopes. `test`: \
        all scopes, on the sandbox; spends nothing. `pub`: the widget only, from listed origins.");
}

fn replaced_by() -> Object {
    let means = "ID of the key that replaced this one; null if it was not rotated, or before this was recorded.";
    let mut id = schema::or_null(schema::key_id());
    id.description = Some(means.to_owned());
    id
}

impl From<probity_store::accounts::keys::StoredKey> for ApiKey {
    fn from(key: probity_store::accounts::keys::StoredKey) -> Self {
        Self {
            id: key.id,
            name: key.name,
            kind: key.kind,
            prefix: key.prefix,
            last4: key.last4,
            public_key: key.public_key,
            scopes: key.scopes,
            allowed_origins: key.origins,
            daily_cap: key.daily_cap,
            rate_limit_per_minute: key.rate_limit_per_minute,
            created_at: key.created_at.into(),
            expires_at: key.expires_at.map(Into::into),
            last_used_at: key.last_used_at.map(Into::into),
            revoked_at: key.revoked_at.map(Into::into),
            replaced_by: key.replaced_by,
        }
    }
}
