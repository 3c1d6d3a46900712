//! Request and response types of `/v1/organization/settings`.

use std::borrow::Cow;

use probity_account::overrides::{IGNORABLE, IgnorableReason};
use probity_mail::named;
use probity_mail::verdict::Status;
use probity_store::accounts::settings::OrgSettings;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Array, Object, SchemaType, Type};

use crate::merge_patch::PatchField;
use crate::published::whole::Whole;
use crate::schema;
use crate::schema::{array, count, one_of, schemas, text};

/// Maximum number of words in a list.
pub const WORDS_MAX: usize = 1_000;
/// Maximum length of a word, in characters.
pub const WORD_CHARS_MAX: usize = 64;
/// Maximum retention of jobs that an organization can set, in days: 10 years.
pub const RETENTION_DAYS_MAX: u32 = 3_650;

/// Maximum length of a time zone's name.
const ZONE_CHARS_MAX: usize = 64;

/// Pattern of a word: not only white space, and without U+0000, which not every database can store.
const WORD: &str = r"^[^\x00]*[^\s\x00][^\x00]*$";

const REASONS_MEAN: &str = "Reasons to ignore in lists, by name (`complainers` for `complained`). The verdict uses \
    the next finding about the address, or `valid` if there is none.";
const STATUSES_MEAN: &str = "Statuses to ignore in lists, with every reason that has that status.";
const BANNED_MEAN: &str = "Words that give an address `banned_words` in lists. Words of 5 characters or more match \
    anywhere in the local part, shorter ones only as separate words. Case-insensitive.";
const ROLES_MEAN: &str = "Local parts that give an address `role_based` in lists, in addition to the built-in ones. \
    They match up to a `+`, and with or without a number of 1 or 2 digits.";
const RETENTION_MEANS: &str = "Days to keep closed jobs; null for the installation's value.";
const DELIVERY_RETENTION_MEANS: &str = "Days to keep a message in the delivery log, from its creation. Null for the \
    installation's value, which is also the maximum.";
const RATE_MEANS: &str = "Requests per minute for all keys together, no higher than the operator's limit; null for \
    that limit.";
const ZONE_MEANS: &str = "Time zone in whose nights automatic runs of connections start, by its name in the IANA database; null \
    for UTC.";

/// Settings of an organization.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = OrganizationSettings)]
pub struct SettingsShown {
    #[schema(schema_with = ignored_reasons)]
    ignored_reasons: Vec<&'static str>,
    #[schema(schema_with = ignored_statuses)]
    ignored_statuses: Vec<&'static str>,
    #[schema(schema_with = banned_words)]
    banned_words: Vec<String>,
    #[schema(schema_with = role_words)]
    role_words: Vec<String>,
    #[schema(required, schema_with = retention_days)]
    retention_days: Option<i64>,
    #[schema(required, schema_with = delivery_retention_days)]
    delivery_retention_days: Option<i64>,
    #[schema(required, schema_with = rate_limit)]
    rate_limit_per_minute: Option<i64>,
    #[schema(required, schema_with = time_zone)]
    time_zone: Option<String>,
}

impl From<OrgSettings> for SettingsShown {
    fn from(settings: OrgSettings) -> Self {
        let wishes = settings.overrides;
        Self {
            ignored_reasons: wishes.ignored_reasons.into_iter().map(IgnorableReason::as_str).collect(),
            ignored_statuses: wishes.ignored_statuses.into_iter().map(Status::as_str).collect(),
            banned_words: wishes.banned_words,
            role_words: wishes.role_words,
            retention_days: settings.retention_days,
            delivery_retention_days: settings.delivery_retention_days,
            rate_limit_per_minute: settings.rate_limit_per_minute,
            time_zone: settings.time_zone,
        }
    }
}

/// Settings to change. Omitted fields stay, null clears a field, and a list replaces the whole list.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = OrganizationSettingsPatch)]
#[serde(deny_unknown_fields)]
pub struct SettingsPatch {
    #[serde(default)]
    #[schema(schema_with = ignored_reasons_or_null)]
    pub ignored_reasons: PatchField<Vec<GateName>>,
    #[serde(default)]
    #[schema(schema_with = ignored_statuses_or_null)]
    pub ignored_statuses: PatchField<Vec<IgnorableStatus>>,
    #[serde(default)]
    #[schema(schema_with = banned_words_or_null)]
    pub banned_words: PatchField<Vec<Word>>,
    #[serde(default)]
    #[schema(schema_with = role_words_or_null)]
    pub role_words: PatchField<Vec<Word>>,
    #[serde(default)]
    #[schema(schema_with = retention_days)]
    pub retention_days: PatchField<Whole>,
    #[serde(default)]
    #[schema(schema_with = delivery_retention_days)]
    pub delivery_retention_days: PatchField<Whole>,
    #[serde(default)]
    #[schema(schema_with = rate_limit)]
    pub rate_limit_per_minute: PatchField<Whole>,
    #[serde(default)]
    #[schema(schema_with = time_zone)]
    pub time_zone: PatchField<String>,
}

/// Name of a reason that can be ignored.
#[derive(Debug)]
pub struct GateName(pub IgnorableReason);

impl<'de> Deserialize<'de> for GateName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        named::read(from, IgnorableReason::ALL, IgnorableReason::as_str).map(Self)
    }
}

/// Name of a status that can be ignored.
#[derive(Debug)]
pub struct IgnorableStatus(pub Status);

impl<'de> Deserialize<'de> for IgnorableStatus {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        named::read(from, IGNORABLE, Status::as_str).map(Self)
    }
}

/// Word as stored, without surrounding white space.
#[derive(Debug)]
pub struct Word(pub String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        let word = text.trim();
        if word.is_empty() || text.chars().count() > WORD_CHARS_MAX {
            return Err(de::Error::custom(format_args!(
                "must have 1 to {WORD_CHARS_MAX} characters and not only white space"
            )));
        }
        Ok(Self(word.to_owned()))
    }
}

schemas! {
    ignored_reasons: Array = array(one_of(IgnorableReason::ALL.map(IgnorableReason::as_str), "Name of a reason."),
        REASONS_MEAN, json!(["accept_all", "role_based"])).build();
    ignored_statuses: Array = array(one_of(IGNORABLE.map(Status::as_str), "Name of a status."), STATUSES_MEAN,
        json!(["unknown"])).build();
    banned_words: Array = words(BANNED_MEAN, json!(["casino", "spam"]));
    role_words: Array = words(ROLES_MEAN, json!(["frontdesk"]));
    ignored_reasons_or_null: Array = or_null(ignored_reasons());
    ignored_statuses_or_null: Array = or_null(ignored_statuses());
    banned_words_or_null: Array = or_null(banned_words());
    role_words_or_null: Array = or_null(role_words());
    retention_days = number_or_null(RETENTION_MEANS, Some(RETENTION_DAYS_MAX), 90);
    delivery_retention_days = number_or_null(DELIVERY_RETENTION_MEANS, None, 7);
    rate_limit = number_or_null(RATE_MEANS, None, 6_000);
    time_zone = schema::or_null(text(0..=ZONE_CHARS_MAX, ZONE_MEANS, "Europe/Berlin").build());
}

fn words(means: &str, example: Value) -> Array {
    let word = text(1..=WORD_CHARS_MAX, "A word; surrounding white space is removed.", "casino").pattern(Some(WORD));
    array(word, means, example).max_items(Some(WORDS_MAX)).build()
}

fn or_null(mut list: Array) -> Array {
    list.schema_type = SchemaType::from_iter([Type::Array, Type::Null]);
    list
}

fn number_or_null(means: &str, most: Option<u32>, example: u32) -> Object {
    count(most, means, example).schema_type(SchemaType::from_iter([Type::Integer, Type::Null])).build()
}
