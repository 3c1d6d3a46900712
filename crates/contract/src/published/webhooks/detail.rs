//! Delivery with its body.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::WebhookDelivery;
use crate::schema;

/// A delivery with its body.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WebhookDeliveryDetail {
    /// The delivery, as listed.
    #[serde(flatten)]
    pub delivery: WebhookDelivery,
    /// Body of the request; null if it is missing. A body about rows is built when it is sent: this is the body as it would be
    /// sent now, without rows that no longer match the event.
    #[schema(required, examples(r#"{"type":"test","timestamp":"2026-11-21T10:04:17.765Z","data":{}}"#))]
    pub body: Option<String>,
    /// Cause of a missing body; null if there is a body.
    #[schema(required, schema_with = missing_body)]
    pub missing_body: Option<MissingBody>,
}

/// Cause of a missing body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingBody {
    /// The rows were deleted, or no longer match the event.
    RowsGone,
    /// The caller lacks the scope that reads the subject of the event.
    ScopeMissing,
}

schema::schemas! {
    missing_body = schema::with_example(schema::or_null(schema::one_of(["rows_gone", "scope_missing"], "Cause of a missing \
        body. `rows_gone`: the rows were deleted, or no longer match the event. `scope_missing`: the key lacks the scope that \
        reads the subject of the event, `read:jobs` or `read:integrations`. Null if there is a body.")), Value::Null);
}
