//! Request schemas of `/v1/batch-verify` and of suppression lists. The service parses these bodies in pieces
//! (`probity_lists::submission`), so values of these types are never created.

use probity_account::name::NAME_MAX;
use probity_contract::schema;
use probity_lists::submission::{ADDRESS_MAX_BYTES, ROWS_MAX, WEBHOOK_URL_MAX_BYTES};
use serde_json::json;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// Request body that submits a job.
#[derive(Debug)]
pub struct BatchSubmission;

impl PartialSchema for BatchSubmission {
    fn schema() -> RefOr<Schema> {
        let emails = addresses(
            "Addresses, with or without names before them (`Ann Lee <ann@example.org>`); results repeat the entries. Text \
             that is not an address gets the verdict `invalid`.",
            &["valid@sandbox.test", "nobody@sandbox.test"],
        );
        let means = "Callback URL that receives the finished job as a POST. Omit it, or send null, to poll instead.";
        let name_means =
            "Name of the list. Fields that are not known are ignored, and named in the header `X-Ignored-Fields`.";
        let url = schema::text(1..=WEBHOOK_URL_MAX_BYTES, means, "https://www.example.com/finished");
        ObjectBuilder::new()
            .description(Some("Addresses to verify."))
            .property("emails", emails)
            .required("emails")
            .property("webhook_url", schema::or_null(url.build()))
            .property("name", schema::or_null(schema::text(1..=NAME_MAX, name_means, "Newsletter, spring").build()))
            .into()
    }
}

impl ToSchema for BatchSubmission {}

/// Request body that adds addresses to a suppression list.
#[derive(Debug)]
pub struct Suppressions;

impl PartialSchema for Suppressions {
    fn schema() -> RefOr<Schema> {
        let emails = addresses(
            "Addresses, with or without names before them (`Ann Lee <ann@example.org>`). Text that is not an address is skipped.",
            &["ann@example.org", "bob@example.org"],
        );
        ObjectBuilder::new()
            .description(Some("Addresses to add to the list."))
            .property("emails", emails)
            .required("emails")
            .into()
    }
}

impl ToSchema for Suppressions {}

/// Returns the schema of a list of addresses.
fn addresses(description: &str, examples: &[&str; 2]) -> ArrayBuilder {
    let address = ObjectBuilder::new().schema_type(Type::String).max_length(Some(ADDRESS_MAX_BYTES));
    schema::array(address, description, json!(examples)).min_items(Some(1)).max_items(Some(ROWS_MAX))
}
