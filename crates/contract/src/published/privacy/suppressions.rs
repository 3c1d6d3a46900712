//! Request and response types of `/v1/organization/suppressions/{list}`.

use probity_account::suppression::SuppressionKind;
use probity_lists::submission::ADDRESS_MAX_BYTES;
use probity_mail::time::Millis;
use probity_store::privacy::suppressions::SuppressionListSize;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Type};

use crate::error::ApiError;
use crate::parameters::{describe_query, email, names};
use crate::published::verify::AddressQuery;
use crate::query::{FromQuery, Query};
use crate::schema;
use crate::timestamp::Timestamp;

/// Maximum number of addresses that one call removes.
pub const REMOVED_MAX: usize = 10_000;

/// Lookup on a suppression list. Without `Debug`, because it holds an address.
#[derive(Clone)]
pub struct SuppressionLookupQuery {
    /// Address to look up; `None` to only count the list.
    pub email: Option<String>,
}

impl FromQuery for SuppressionLookupQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self { email: AddressQuery::in_query(query)?.map(|asked| asked.email) })
    }
}

describe_query! { SuppressionLookupQuery:
    "email" = "Address to look up on the list, at most 1,024 bytes.", email(), "ann@example.org";
}

/// Query of a removal from a suppression list.
#[derive(Clone, Copy, Debug)]
pub struct SuppressionRemovalQuery {
    /// Whether to remove all addresses, without a body.
    pub all: bool,
}

impl FromQuery for SuppressionRemovalQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self { all: query.one_of("all", &["true", "false"])?.is_some_and(|all| all == "true") })
    }
}

describe_query! { SuppressionRemovalQuery:
    "all" = "Whether to remove all addresses; then send no body.",
        names(["true", "false"]).default(Some("false".into())), "false";
}

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
    /// Number of texts skipped because they are not addresses.
    #[schema(examples(0), minimum = 0)]
    invalid: i64,
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
    pub fn new(list: SuppressionKind, standing: Option<&SuppressionListSize>, lookup: Option<Lookup>) -> Self {
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
    /// Builds the outcome for `submitted` texts, of which `invalid` are not addresses.
    pub fn new(list: SuppressionKind, (submitted, invalid): (i64, i64), added: i64, count: i64) -> Self {
        Self { list: list.as_str(), submitted, added, present: submitted - invalid - added, invalid, count }
    }
}

impl RemovedFrom {
    /// Builds the outcome for texts of which `invalid` are not addresses.
    pub fn new(list: SuppressionKind, removed: i64, invalid: i64, count: i64) -> Self {
        Self { list: list.as_str(), removed, invalid, count }
    }
}

schema::schemas! {
    list = schema::one_of(SuppressionKind::ALL.map(SuppressionKind::as_str), "Name of the list, which is also the reason that it \
        gives.");
    emails: ArrayBuilder = {
        // The body parser rejects texts with U+0000 (`body::parse`).
        let email = ObjectBuilder::new()
            .schema_type(Type::String)
            .max_length(Some(ADDRESS_MAX_BYTES))
            .pattern(Some(schema::WITHOUT_NUL));
        let means = "Addresses, with or without names before them (`Ann Lee <ann@example.org>`). Unlisted addresses, and text \
            that is not an address, change nothing.";
        schema::array(email, means, json!(["ann@example.org"])).min_items(Some(1)).max_items(Some(REMOVED_MAX))
    };
}
