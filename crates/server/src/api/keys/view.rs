//! What `/v1/api-keys` shows and takes.
//!
//! The secret of a key is in one answer only, the one that made it: [`NewKey`]. Afterwards a key is known by its visible
//! prefix and its last four characters.

use std::borrow::Cow;

use probity_core::api_key::KeyKind;
use probity_core::id::KeyId;
use probity_core::scope::Scopes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AdditionalProperties, KnownFormat, Object, ObjectBuilder, OneOfBuilder, Schema, SchemaFormat, Type,
};
use utoipa::{PartialSchema, ToSchema};

use crate::api::merge_patch::given;
use crate::api::timestamp::Timestamp;
use crate::api::whole::Whole;
use crate::openapi::schema;

/// A key, without its secret.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ApiKey {
    /// The key's id.
    #[schema(schema_with = schema::key_id)]
    pub id: KeyId,
    /// What its owner calls it.
    #[schema(examples("Sign-up form"))]
    pub name: String,
    /// What it is for.
    #[serde(serialize_with = "kind_name")]
    #[schema(schema_with = kind)]
    pub kind: KeyKind,
    /// The visible beginning of the secret.
    #[schema(examples("probity_live_"))]
    pub prefix: String,
    /// The last four characters of the secret.
    #[schema(examples("x7Qa"))]
    pub last4: String,
    /// What it may do.
    #[schema(schema_with = schema::scopes)]
    pub scopes: Scopes,
    /// The origins from which a `pub` key may be used; empty for other kinds.
    #[schema(schema_with = schema::origins)]
    pub allowed_origins: Vec<String>,
    /// Credits that a `pub` key may spend a day; null for other kinds, and where the service's own value counts.
    #[schema(required, minimum = 1, examples(json!(null)))]
    pub daily_cap: Option<i64>,
    /// How many requests a minute it may make; null where the service's own value counts. It may be fewer than were asked for:
    /// a key makes none that is faster than itself.
    #[schema(required, minimum = 1, examples(json!(null)))]
    pub rate_limit_per_minute: Option<i64>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stops working; null where it does not.
    #[schema(required)]
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to within a few minutes.
    #[schema(required)]
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    #[schema(required)]
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

/// The key to make. What the fields may hold depends on the kind; the schema says so ([`CreateKey::schema`]).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateKey {
    /// What to call it: a name ([`mod@probity_core::name`]).
    pub name: String,
    /// What it is for.
    #[serde(deserialize_with = "kind_of")]
    pub kind: KeyKind,
    /// What it may do: for `rk` at least one scope; other kinds leave it out.
    #[serde(default, deserialize_with = "given")]
    pub scopes: Option<Scopes>,
    /// The origins from which it may be used; for `pub` only.
    #[serde(default, deserialize_with = "given")]
    pub allowed_origins: Option<Vec<String>>,
    /// How many credits it may spend a day (UTC); for `pub` only.
    #[serde(default, deserialize_with = "given")]
    pub daily_cap: Option<Whole>,
    /// When it stops working; never where left out.
    #[serde(default, deserialize_with = "given")]
    pub expires_at: Option<Timestamp>,
    /// How many requests a minute it may make, where that is fewer than the organization may.
    #[serde(default, deserialize_with = "given")]
    pub rate_limit_per_minute: Option<Whole>,
}

impl CreateKey {
    /// The fields that every kind has. The title names the form in generated clients.
    fn common(title: &str, kinds: &[KeyKind]) -> ObjectBuilder {
        let name = schema::line("What to call it.", "Sign-up form");
        let rate = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(u32::MAX))
            .description(Some("How many requests a minute it may make, where that is fewer than the organization may."))
            .examples([600]);
        let expires_at = ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .description(Some("When it stops working: a time that is yet to come. Never where left out."))
            .examples(["2099-12-31T23:59:59Z"]);
        ObjectBuilder::new()
            .title(Some(title))
            .property("name", name)
            .required("name")
            .property("kind", schema::one_of(kinds.iter().map(|kind| kind.as_str()), "What it is for."))
            .required("kind")
            .property("expires_at", expires_at)
            .property("rate_limit_per_minute", rate)
            .additional_properties(Some(AdditionalProperties::FreeForm(false)))
    }
}

impl PartialSchema for CreateKey {
    fn schema() -> RefOr<Schema> {
        let restricted = Self::common("CreateRestrictedKey", &[KeyKind::Rk])
            .property("scopes", schema::chosen_scopes())
            .required("scopes");
        let daily_cap = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(u32::MAX))
            .description(Some("How many credits it may spend a day (UTC); the service's own value where left out."))
            .examples([500]);
        let public = Self::common("CreateWidgetKey", &[KeyKind::Pub])
            .property("allowed_origins", schema::chosen_origins())
            .property("daily_cap", daily_cap);
        OneOfBuilder::new()
            .description(Some("The key to make."))
            .item(Self::common("CreateFullKey", &[KeyKind::Live, KeyKind::Test]))
            .item(restricted)
            .item(public)
            .into()
    }
}

impl ToSchema for CreateKey {}

/// A revoked key.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DeletedKey {
    /// The key's id.
    #[schema(schema_with = schema::key_id)]
    pub id: KeyId,
    /// Always true.
    #[schema(schema_with = schema::always_true)]
    pub deleted: bool,
}

fn kind() -> Object {
    let means = "What it is for. `live`: all scopes. `rk`: chosen scopes. `test`: all scopes, on sandbox data; spends \
        nothing. `pub`: the widget only, from chosen origins.";
    schema::one_of(KeyKind::ALL.map(KeyKind::as_str), means)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn kind_name<S: Serializer>(kind: &KeyKind, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(kind.as_str())
}

fn kind_of<'de, D: Deserializer<'de>>(from: D) -> Result<KeyKind, D::Error> {
    let name = Cow::<'de, str>::deserialize(from)?;
    KeyKind::from_name(&name).ok_or_else(|| de::Error::custom("kind must be live, rk, test or pub"))
}
