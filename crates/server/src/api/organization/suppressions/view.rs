//! What `/v1/organization/suppressions/{list}` shows and takes.

use probity_core::suppression::List;
use probity_core::time::Millis;
use probity_store::suppressions::Standing;
use probity_submission::ADDRESS_MAX_BYTES;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::schema::{Array, ArrayBuilder, Object, ObjectBuilder, Type};

use crate::api::timestamp::Timestamp;
use crate::openapi::schema::one_of;
use crate::suppressions::Taken;

/// The most addresses that are removed by one call.
pub const REMOVED_MAX: usize = 10_000;

/// A suppression list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SuppressionList {
    #[schema(schema_with = list)]
    list: &'static str,
    /// How many addresses are on it.
    #[schema(examples(120), minimum = 0)]
    count: i64,
    /// When it was changed last; null while it is empty.
    #[schema(required)]
    changed_at: Option<Timestamp>,
    /// Whether the address that was asked about is on it; null where none was.
    #[schema(required)]
    lookup: Option<Lookup>,
}

/// Whether an address is on a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = SuppressionLookup)]
pub struct Lookup {
    /// The address as it was sent.
    #[schema(examples("ann@example.org"))]
    email: String,
    /// Whether it is on the list, however it is spelled there.
    listed: bool,
    /// Since when; null where it is not.
    #[schema(required)]
    since: Option<Timestamp>,
}

/// What was added to a list.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = SuppressionsAdded)]
pub struct AddedTo {
    #[schema(schema_with = list)]
    list: &'static str,
    /// How many texts were sent.
    #[schema(examples(3), minimum = 1)]
    submitted: i64,
    /// How many addresses are new on the list.
    #[schema(examples(1), minimum = 0)]
    added: i64,
    /// How many were there already, or were sent twice.
    #[schema(examples(1), minimum = 0)]
    present: i64,
    /// How many were no addresses and were left out.
    #[schema(examples(1), minimum = 0)]
    invalid: i64,
    /// How many addresses are on the list now.
    #[schema(examples(121), minimum = 0)]
    count: i64,
}

/// What was removed from a list.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = SuppressionsRemoved)]
pub struct RemovedFrom {
    #[schema(schema_with = list)]
    list: &'static str,
    /// How many addresses were on the list and are not any more.
    #[schema(examples(1), minimum = 0)]
    removed: i64,
    /// How many addresses are on the list now.
    #[schema(examples(120), minimum = 0)]
    count: i64,
}

/// What is to be removed from a list.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RemoveSuppressions)]
pub struct Removal {
    #[schema(schema_with = emails)]
    pub(super) emails: Vec<String>,
}

impl SuppressionList {
    pub(super) fn new(list: List, standing: Option<&Standing>, lookup: Option<Lookup>) -> Self {
        Self {
            list: list.as_str(),
            count: standing.map_or(0, |one| one.listed),
            changed_at: standing.map(|one| one.changed_at.into()),
            lookup,
        }
    }
}

impl Lookup {
    pub(super) fn new(email: String, since: Option<Millis>) -> Self {
        Self { email, listed: since.is_some(), since: since.map(Into::into) }
    }
}

impl AddedTo {
    pub(super) fn new(list: List, taken: &Taken, added: i64, count: i64) -> Self {
        let Taken { submitted, invalid, .. } = *taken;
        Self { list: list.as_str(), submitted, added, present: submitted - invalid - added, invalid, count }
    }
}

impl RemovedFrom {
    pub(super) fn new(list: List, removed: i64, count: i64) -> Self {
        Self { list: list.as_str(), removed, count }
    }
}

fn list() -> Object {
    one_of(List::ALL.map(List::as_str), "The list, which has the name of the reason that it gives.")
}

fn emails() -> Array {
    // No body has a text with U+0000 (`body::parse`).
    let email = ObjectBuilder::new()
        .schema_type(Type::String)
        .max_length(Some(ADDRESS_MAX_BYTES))
        .pattern(Some(r"^[^\u0000]*$"));
    ArrayBuilder::new()
        .items(email)
        .min_items(Some(1))
        .max_items(Some(REMOVED_MAX))
        .description(Some(
            "The addresses. Those that are not on the list, and text that is no address, change nothing.",
        ))
        .examples([json!(["ann@example.org"])])
        .build()
}
