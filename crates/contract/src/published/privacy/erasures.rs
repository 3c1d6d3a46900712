//! Request and response types of `/v1/erasures`.

use std::collections::BTreeMap;

use probity_account::id::ErasureId;
use probity_lists::submission::{ADDRESS_MAX_BYTES, WEBHOOK_URL_MAX_BYTES};
use probity_store::privacy::erasures::ErasureRequest;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Type};

use crate::schema;
use crate::timestamp::Timestamp;

/// Maximum number of addresses in a request.
pub const ADDRESSES_MAX: usize = 1_000;

/// Addresses to erase.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateErasure {
    #[schema(schema_with = emails)]
    pub emails: Vec<String>,
    #[serde(default)]
    #[schema(schema_with = webhook_url, required = false)]
    pub webhook_url: Option<String>,
}

/// An accepted erasure request.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Requested {
    /// Always true.
    pub success: bool,
    #[schema(schema_with = erasure_id)]
    pub id: ErasureId,
}

/// Receipt of an erasure.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Receipt {
    #[schema(schema_with = erasure_id)]
    id: ErasureId,
    #[schema(schema_with = states)]
    status: &'static str,
    /// Time of the request. Rows submitted later are not erased.
    requested_at: Timestamp,
    /// Completion time; null until then.
    #[schema(required)]
    completed_at: Option<Timestamp>,
    /// Number of addresses, without duplicates.
    #[schema(examples(1), minimum = 1)]
    addresses: i64,
    /// Number of entries erased or emptied, by table.
    #[schema(examples(json!({"job_block": 2, "result_block": 2})))]
    removed: BTreeMap<String, u64>,
}

schema::schemas! {
    emails: ArrayBuilder = {
        // White space alone is not an address.
        let email = ObjectBuilder::new()
            .schema_type(Type::String)
            .min_length(Some(1))
            .max_length(Some(ADDRESS_MAX_BYTES))
            .pattern(Some(r"[^\t\n\x0C\r ]"));
        let means = "Addresses, in any spelling of their mailboxes, with or without names before them (`Ann Lee <ann@example.org>`).";
        schema::array(email, means, json!(["nobody@sandbox.test"])).min_items(Some(1)).max_items(Some(ADDRESSES_MAX))
    };
    webhook_url = schema::or_null(schema::text(1..=WEBHOOK_URL_MAX_BYTES, "URL that receives the receipt as a POST when the \
        erasure is complete.", "https://www.example.com/erased").build());
    erasure_id = schema::id("era", "Erasure ID.");
    states = schema::one_of(["queued", "completed"], "`queued`: stored and in progress. `completed`: everything is \
        erased.");
}

impl From<&ErasureRequest> for Receipt {
    fn from(erasure: &ErasureRequest) -> Self {
        Self {
            id: erasure.id,
            status: if erasure.completed_at.is_some() { "completed" } else { "queued" },
            requested_at: erasure.requested_at.into(),
            completed_at: erasure.completed_at.map(Into::into),
            addresses: erasure.addresses,
            removed: erasure.removed.clone(),
        }
    }
}
