//! Changes of a connection.

use probity_account::connections::{
    Aggressiveness, ConnectionAction, DECAY_DAYS, DECAY_DAYS_MAX, DECAY_DAYS_MIN, TAG_CHARS_MAX,
};
use probity_account::overrides::IgnorableReason;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, Object, ObjectBuilder, Schema, Type};

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
    #[schema(schema_with = aggressiveness, required = false)]
    pub aggressiveness: Option<Aggressiveness>,
    /// Checks to change, after the preset is applied. Checks that then differ from the preset make it `custom`.
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = checks, required = false)]
    pub checks: Option<Nested<ChecksPatch>>,
    /// Whether contacts are verified daily.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, required = false)]
    pub autofloss: Option<bool>,
    /// Whether contacts are verified again periodically.
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

/// Checks to change.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChecksPatch {
    #[serde(deserialize_with = "given")]
    disposable: Option<bool>,
    #[serde(deserialize_with = "given")]
    nonexistent: Option<bool>,
    #[serde(deserialize_with = "given")]
    deactivated: Option<bool>,
    #[serde(deserialize_with = "given")]
    inbox_full: Option<bool>,
    #[serde(deserialize_with = "given")]
    bounced: Option<bool>,
    #[serde(deserialize_with = "given")]
    banned_words: Option<bool>,
    #[serde(deserialize_with = "given")]
    role_based: Option<bool>,
    #[serde(deserialize_with = "given")]
    complainers: Option<bool>,
    #[serde(deserialize_with = "given")]
    spam: Option<bool>,
    #[serde(deserialize_with = "given")]
    failed_exchange: Option<bool>,
    #[serde(deserialize_with = "given")]
    unverified: Option<bool>,
    #[serde(deserialize_with = "given")]
    accept_all: Option<bool>,
}

/// Names of the checks, in the contract's order.
const CHECKS: [&str; 12] = [
    "disposable",
    "nonexistent",
    "deactivated",
    "inbox_full",
    "bounced",
    "banned_words",
    "role_based",
    "complainers",
    "spam",
    "failed_exchange",
    "unverified",
    "accept_all",
];

impl ChecksPatch {
    /// Returns the checks that change, with their new values.
    pub fn changes(self) -> impl Iterator<Item = (IgnorableReason, bool)> {
        let values = [
            self.disposable,
            self.nonexistent,
            self.deactivated,
            self.inbox_full,
            self.bounced,
            self.banned_words,
            self.role_based,
            self.complainers,
            self.spam,
            self.failed_exchange,
            self.unverified,
            self.accept_all,
        ];
        CHECKS.into_iter().zip(values).filter_map(|(name, value)| Some((IgnorableReason::from_name(name)?, value?)))
    }
}

fn checks() -> Object {
    let flag = || ObjectBuilder::new().schema_type(Type::Boolean);
    CHECKS
        .into_iter()
        .fold(ObjectBuilder::new(), |object, name| object.property(name, flag()))
        .additional_properties(Some(utoipa::openapi::schema::AdditionalProperties::FreeForm(false)))
        .description(Some(
            "Checks to change, after the preset is applied. Checks that then differ from their preset are `custom`.",
        ))
        .examples([json!({"disposable": true})])
        .build()
}

pub(super) fn tag_template() -> Object {
    let means = "Tag for `update_tags`. `{status}` and `{reason}` stand for those of the verdict; other braces are not \
        allowed.";
    let mut tag = schema::line(means, "probity-{status}").build();
    tag.max_length = Some(TAG_CHARS_MAX);
    tag
}

pub(super) fn field_name() -> Object {
    let means = "Field for `update_custom_fields`: letters, digits and underscores, beginning with a letter. Some platforms \
        allow only upper-case or lower-case letters, or fewer characters. Fields of the platform itself, such as the first \
        name, are not allowed.";
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(format!("^[A-Za-z][A-Za-z0-9_]{{0,{}}}$", FIELD_CHARS_MAX - 1)))
        .description(Some(means))
        .examples(["PROBITY"])
        .build()
}

pub(super) fn decay_days() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(DECAY_DAYS_MIN))
        .maximum(Some(DECAY_DAYS_MAX))
        .description(Some(
            "Days within which decay protection verifies every contact again. Other periods than 30 days need the \
            entitlement `decay_custom`.",
        ))
        .examples([DECAY_DAYS])
        .build()
}

pub(super) fn list_ids() -> RefOr<Schema> {
    let id = ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(LIST_ID_MAX))
        .pattern(Some(r"^[^\u0000]*$"));
    ArrayBuilder::new()
        .items(id)
        .max_items(Some(LISTS_MAX))
        .description(Some("IDs of the lists whose contacts are verified; empty for all lists."))
        .examples([json!(["57afe96172"])])
        .into()
}

/// Whether a text can be the ID of a list.
pub fn is_list_id(text: &str) -> bool {
    (1..=LIST_ID_MAX).contains(&text.chars().count())
}

#[cfg(test)]
mod tests {
    use probity_account::connections::GateSet;

    use super::*;

    #[test]
    fn every_check_has_its_gate() {
        let all: serde_json::Map<_, _> = CHECKS.iter().map(|name| ((*name).to_owned(), json!(true))).collect();
        let patch: ChecksPatch = serde_json::from_value(all.into()).unwrap();
        let changed = patch.changes().fold(GateSet::NONE, |gates, (gate, is_open)| gates.with(gate, is_open));
        assert_eq!(changed, IgnorableReason::ALL.into_iter().collect());
        assert_eq!(ChecksPatch::default().changes().count(), 0);
        assert!(serde_json::from_value::<ChecksPatch>(json!({"invalid": true})).is_err());
        assert!(serde_json::from_value::<ChecksPatch>(json!({"spam": null})).is_err());
    }
}
