//! What `/v1/organization/suppressions/{list}` shows and takes.

use probity_account::suppression::List;
use probity_lists::submission::ADDRESS_MAX_BYTES;
use probity_mail::time::Millis;
use probity_store::suppressions::Standing;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::schema::{Array, ArrayBuilder, Object, ObjectBuilder, Type};

use crate::schema::one_of;
use crate::suppressions::Taken;
use crate::timestamp::Timestamp;

/// The most addresses that are removed by one call.
pub const REMOVED_MAX: usize = 10_000;

/// A suppression list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SuppressionList {
    #[schema(schema_with = list)]
    list: &'static str,
    /// Number of addresses on the list.
    #[schema(examples(120), minimum = 0)]
    count: i64,
    /// Time of the last change; null while the list is empty.
    #[schema(required)]
    changed_at: Option<Timestamp>,
    /// Lookup of the address in `email`; null if none was given.
    #[schema(required)]
    lookup: Option<Lookup>,
}

/// Whether an address is on a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = SuppressionLookup)]
pub struct Lookup {
    /// Address as sent.
    #[schema(examples("ann@example.org"))]
    email: String,
    /// Whether the address is on the list, in any spelling.
    listed: bool,
    /// Time at which the address was added; null if it is not on the list.
    #[schema(required)]
    since: Option<Timestamp>,
}

/// Outcome of an addition.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = SuppressionsAdded)]
pub struct AddedTo {
    #[schema(schema_with = list)]
    list: &'static str,
    /// Number of submitted texts.
    #[schema(examples(3), minimum = 1)]
    submitted: i64,
    /// Number of addresses added.
    #[schema(examples(1), minimum = 0)]
    added: i64,
    /// Number of addresses already on the list or repeated in the request.
    #[schema(examples(1), minimum = 0)]
    present: i64,
    /// Number of texts skipped because they are not addresses.
    #[schema(examples(1), minimum = 0)]
    invalid: i64,
    /// Number of addresses on the list now.
    #[schema(examples(121), minimum = 0)]
    count: i64,
}

/// Outcome of a removal.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = SuppressionsRemoved)]
pub struct RemovedFrom {
    #[schema(schema_with = list)]
    list: &'static str,
    /// Number of addresses removed.
    #[schema(examples(1), minimum = 0)]
    removed: i64,
    /// Number of addresses on the list now.
    #[schema(examples(120), minimum = 0)]
    count: i64,
}

/// Addresses to remove from a list.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RemoveSuppressions)]
pub struct Removal {
    #[schema(schema_with = emails)]
    pub emails: Vec<String>,
}

impl SuppressionList {
    pub fn new(list: List, standing: Option<&Standing>, lookup: Option<Lookup>) -> Self {
        Self {
            list: list.as_str(),
            count: standing.map_or(0, |one| one.listed),
            changed_at: standing.map(|one| one.changed_at.into()),
            lookup,
        }
    }
}

impl Lookup {
    pub fn new(email: String, since: Option<Millis>) -> Self {
        Self { email, listed: since.is_some(), since: since.map(Into::into) }
    }
}

impl AddedTo {
    pub fn new(list: List, taken: &Taken, added: i64, count: i64) -> Self {
        let Taken { submitted, invalid, .. } = *taken;
        Self { list: list.as_str(), submitted, added, present: submitted - invalid - added, invalid, count }
    }
}

impl RemovedFrom {
    pub fn new(list: List, removed: i64, count: i64) -> Self {
        Self { list: list.as_str(), removed, count }
    }
}

fn list() -> Object {
    one_of(List::ALL.map(List::as_str), "Name of the list, which is also the reason that it gives.")
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
        .description(Some("Addresses. Unlisted addresses, and text that is not an address, change nothing."))
        .examples([json!(["ann@example.org"])])
        .build()
}
