//! What `/v1/batch-verify` takes, as the document describes it. The service reads it piece by piece (`submission`), so no
//! type of it is ever made.

use serde_json::json;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::submission::{ADDRESS_MAX_BYTES, ROWS_MAX, WEBHOOK_URL_MAX_BYTES};

/// The body with which a job is submitted.
#[derive(Debug)]
pub struct BatchSubmission;

impl PartialSchema for BatchSubmission {
    fn schema() -> RefOr<Schema> {
        let email = ObjectBuilder::new().schema_type(Type::String).max_length(Some(ADDRESS_MAX_BYTES));
        let emails = ArrayBuilder::new()
            .items(email)
            .min_items(Some(1))
            .max_items(Some(ROWS_MAX))
            .description(Some("The addresses. Text that is no address gets the verdict `invalid`."))
            .examples([json!(["valid@sandbox.test", "nobody@sandbox.test"])]);
        let url = ObjectBuilder::new()
            .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
            .min_length(Some(1))
            .max_length(Some(WEBHOOK_URL_MAX_BYTES))
            .description(Some("Where the finished job is POSTed to. Without it, or with null, the job is asked about."))
            .examples(["https://www.example.com/finished"]);
        ObjectBuilder::new()
            .description(Some("The addresses to verify."))
            .property("emails", emails)
            .required("emails")
            .property("webhook_url", url)
            .into()
    }
}

impl ToSchema for BatchSubmission {}
