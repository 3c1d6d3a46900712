//! Changes of a connection.

use probity_account::connections::{
    Aggressiveness, ConnectionAction, DECAY_DAYS, DECAY_DAYS_MAX, DECAY_DAYS_MIN, TAG_CHARS_MAX, UNCONFIRMED_CONTACTS,
    UNCONFIRMED_CONTACTS_MAX, UNCONFIRMED_PERCENT,
};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Type};

use super::checks::{ChecksPatch, checks};
use super::credentials::EnteredCredentials;
use super::names::{action_or_null, aggressiveness, connection_name};
use crate::merge_patch::{Nested, PatchField, given};
use crate::published::whole::Whole;
use crate::schema;

/// Maximum number of chosen lists.
pub const LISTS_MAX: usize = 1_000;
/// Maximum length of a list's ID, in characters.
const LIST_ID_MAX: usize = 200;
/// Maximum length of a field's name, in characters.
const FIELD_CHARS_MAX: usize = 40;

/// Fields to change. Omitted fields stay.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionPatch {
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = connection_name, required = false)]
    pub name: Option<String>,
    /// New credentials, all of them. They are tried first, and reconnect a disconnected connection.
    #[serde(default, deserialize_with = "given")]
    #[schema(inline, nullable = false, required = false)]
    pub credentials: Option<EnteredCredentials>,
    /// Whether every action waits until a person confirms it.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, required = false)]
    pub manual_mode: Option<bool>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = unconfirmed_contacts, required = false)]
    pub unconfirmed_contacts: Option<Whole>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = unconfirmed_percent, required = false)]
    pub unconfirmed_percent: Option<Whole>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = aggressiveness, required = false)]
    pub aggressiveness: Option<Aggressiveness>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = checks, required = false)]
    pub checks: Option<Nested<ChecksPatch>>,
    /// Whether new contacts are verified every night.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, required = false)]
    pub autofloss: Option<bool>,
    /// Whether all contacts are verified again, a share every night.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, required = false)]
    pub decay_protection: Option<bool>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = decay_days, required = false)]
    pub decay_days: Option<Whole>,
    /// Whether new contacts are verified as they arrive.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, required = false)]
    pub instafloss: Option<bool>,
    #[serde(default)]
    #[schema(schema_with = action_or_null)]
    pub action: PatchField<ConnectionAction>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = tag_template, required = false)]
    pub tag: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = field_name, required = false)]
    pub field: Option<String>,
    /// Whether misspelled addresses are corrected at the platform.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, required = false)]
    pub fix_typos: Option<bool>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = list_ids, required = false)]
    pub lists: Option<Vec<String>>,
}

schema::schemas! {
    pub(super) tag_template = {
        let means = "Tag for `update_tags`. `{status}` and `{reason}` stand for those of the verdict; other braces are not \
            allowed.";
        schema::line(means, "probity-{status}").max_length(Some(TAG_CHARS_MAX)).build()
    };
    pub(super) field_name: ObjectBuilder = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(format!("^[A-Za-z][A-Za-z0-9_]{{0,{}}}$", FIELD_CHARS_MAX - 1)))
        .description(Some("Field for `update_custom_fields`: letters, digits and underscores, beginning with a letter. Some \
            platforms allow only upper-case or lower-case letters, or fewer characters. Fields of the platform itself, \
            such as the first name, cannot be chosen; one that the connection already has stays."))
        .examples(["PROBITY"]);
    pub(super) decay_days: ObjectBuilder = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(DECAY_DAYS_MIN))
        .maximum(Some(DECAY_DAYS_MAX))
        .description(Some("Days within which decay protection verifies every contact again. Other periods than 30 days need \
            the entitlement `decay_custom`."))
        .examples([DECAY_DAYS]);
    pub(super) unconfirmed_contacts: ObjectBuilder = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(0))
        .maximum(Some(UNCONFIRMED_CONTACTS_MAX))
        .description(Some("How many contacts runs that no person started may unsubscribe, delete or correct without \
            confirmation. They may change this many, or `unconfirmed_percent` if that is more."))
        .examples([UNCONFIRMED_CONTACTS]);
    pub(super) unconfirmed_percent: ObjectBuilder = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(0))
        .maximum(Some(100))
        .description(Some("Percentage of the contacts that such runs may change without confirmation."))
        .examples([UNCONFIRMED_PERCENT]);
    pub(super) list_ids: ArrayBuilder = {
        let id = ObjectBuilder::new()
            .schema_type(Type::String)
            .min_length(Some(1))
            .max_length(Some(LIST_ID_MAX))
            .pattern(Some(schema::WITHOUT_NUL));
        let means = "IDs of the lists whose contacts are verified; empty for all lists.";
        schema::array(id, means, json!(["57afe96172"])).max_items(Some(LISTS_MAX))
    };
}

/// Returns whether a text can be the ID of a list.
pub fn is_list_id(text: &str) -> bool {
    (1..=LIST_ID_MAX).contains(&text.chars().count())
}
