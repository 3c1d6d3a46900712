//! Request and response types of `/v1/webhooks`.

pub mod callback_secret;
mod deliveries;
mod deliveries_query;
mod failure;

use std::borrow::Cow;
use std::collections::BTreeMap;

use probity_account::id::{DeliveryId, EventId, JobId, WebhookId};
use probity_account::webhook::Topic;
use probity_store::webhooks::outbox::OutboxState;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ArrayBuilder, Object, ObjectBuilder, SchemaType, Type};

use crate::merge_patch::given;
use crate::schema;
use crate::timestamp::Timestamp;

pub use deliveries_query::DeliveriesQuery;
pub use failure::DeliveryFailure;

/// Maximum length of an endpoint's URL, in bytes.
pub const URL_MAX: usize = 2_048;
/// `User-Agent` of each attempt.
pub const USER_AGENT: &str = concat!("Probity-Webhooks/", env!("CARGO_PKG_VERSION"));

/// An endpoint and the events that it subscribes to.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Webhook)]
pub struct WebhookShown {
    #[schema(schema_with = webhook_id)]
    pub id: WebhookId,
    /// Display name.
    #[schema(examples("Our CRM"))]
    pub name: String,
    /// Endpoint URL, which receives each message as a POST.
    #[schema(examples("https://www.example.com/probity"))]
    pub url: String,
    #[schema(schema_with = topics)]
    pub events: Vec<TopicName>,
    /// Whether the webhook receives events.
    pub status: WebhookStatus,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last accepted message; null if there was none.
    #[schema(required)]
    pub last_delivery_at: Option<Timestamp>,
}

/// A new webhook. Save the secret: no other response shows it.
#[derive(Clone, Serialize, ToSchema)]
pub struct NewWebhook {
    /// The webhook, as listed.
    #[serde(flatten)]
    pub webhook: WebhookShown,
    /// Signing secret in the form of Standard Webhooks. Shown once.
    #[schema(examples("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))]
    pub secret: String,
}

/// Status of a webhook. The service also sets `disabled` after a 410, or after 5 days without a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookStatus {
    /// The endpoint receives events.
    Active,
    /// The endpoint receives no events.
    Disabled,
}

/// The webhook to create.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWebhook {
    #[schema(schema_with = name)]
    pub name: String,
    #[schema(schema_with = url)]
    pub url: String,
    #[schema(schema_with = chosen_topics)]
    pub events: Vec<TopicName>,
}

/// Fields to change. Omitted fields stay.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookPatch {
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = name, required = false)]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = url, required = false)]
    pub url: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = chosen_topics, required = false)]
    pub events: Option<Vec<TopicName>>,
    /// Whether the webhook receives events.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, required = false)]
    pub status: Option<WebhookStatus>,
}

/// Name of an event that a webhook can subscribe to.
#[derive(Clone, Copy, Debug)]
pub struct TopicName(pub Topic);

impl Serialize for TopicName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for TopicName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(from)?;
        name.parse().map(Self).map_err(|_| {
            let names: Vec<String> = Topic::all().map(|topic| topic.to_string()).collect();
            de::Error::custom(format_args!("must be one of {}", names.join(", ")))
        })
    }
}

/// New secret of a webhook. Save it: no other response shows it.
#[derive(Clone, Serialize, ToSchema)]
pub struct WebhookSecret {
    #[schema(schema_with = webhook_id)]
    pub id: WebhookId,
    /// The secret: `whsec_` and its bytes in base64.
    #[schema(examples("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))]
    pub secret: String,
    /// Time until which the previous secret also signs messages.
    pub previous_until: Timestamp,
}

/// A deleted webhook.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DeletedWebhook {
    #[schema(schema_with = webhook_id)]
    pub id: WebhookId,
    #[schema(schema_with = schema::always_true)]
    pub deleted: bool,
}

/// A delivery: one message to one webhook.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WebhookDelivery {
    #[schema(schema_with = delivery_id)]
    pub id: DeliveryId,
    /// Event: the `type` in the message body.
    #[serde(rename = "type")]
    #[schema(examples("status.passed"))]
    pub kind: String,
    #[schema(schema_with = states)]
    pub status: &'static str,
    /// Finished attempts since the message was created or last resent.
    #[schema(examples(1), minimum = 0)]
    pub attempts: i64,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the next attempt; null if there is none.
    #[schema(required)]
    pub next_attempt_at: Option<Timestamp>,
    /// The request that is sent.
    pub request: DeliveryRequest,
    /// Last attempt; null if there was none.
    #[schema(required)]
    pub last_attempt: Option<DeliveryAttempt>,
    /// Attempts before the last one, newest first, including those before a resend: at most 19, with at most 512 bytes of
    /// each response.
    pub earlier_attempts: Vec<DeliveryAttempt>,
}

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

/// Request of a delivery. The body is built when it is sent; timestamp and signature are new for each attempt.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DeliveryRequest {
    /// URL of the next attempt, or of the last one.
    #[schema(examples("https://www.example.com/probity"))]
    pub url: String,
    #[schema(schema_with = headers)]
    pub headers: BTreeMap<&'static str, String>,
    #[schema(required, schema_with = job_id_or_null)]
    pub job_id: Option<JobId>,
    #[schema(required, schema_with = row_indexes)]
    pub rows: Option<Vec<i64>>,
}

/// Outcome of an attempt.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DeliveryAttempt {
    /// Start time. In seconds since 1970, it is the attempt's `webhook-timestamp`.
    pub at: Timestamp,
    /// URL of the attempt.
    #[schema(examples("https://www.example.com/probity"))]
    pub url: String,
    /// HTTP status; null without a response.
    #[schema(required, examples(204), minimum = 100, maximum = 999)]
    pub status: Option<i64>,
    /// Duration in milliseconds; null without a response.
    #[schema(required, examples(87), minimum = 0)]
    pub took_ms: Option<i64>,
    /// Cause of the failure, if there was no response or a redirect; otherwise null.
    #[schema(required, examples(json!(null)))]
    pub error: Option<&'static str>,
    /// Beginning of the response body, at most 4,096 bytes, with control characters escaped. The target of a redirect comes first.
    #[schema(examples(""))]
    pub answer: String,
}

/// Returns the headers that are the same for each attempt of a delivery.
pub fn fixed_headers(event: EventId) -> BTreeMap<&'static str, String> {
    let agent = USER_AGENT.to_owned();
    BTreeMap::from([
        ("content-type", "application/json".to_owned()),
        ("user-agent", agent),
        ("webhook-id", event.to_string()),
    ])
}

schema::schemas! {
    webhook_id = schema::id("whk", "Webhook ID.");
    delivery_id = schema::id("dlv", "Delivery ID.");
    job_id_or_null = schema::or_null(schema::job_id());
    states = schema::one_of(OutboxState::ALL.map(OutboxState::as_str), "Delivery status. `waiting`: pending. \
        `delivered`: accepted by the endpoint. `exhausted`: all attempts failed. `cancelled`: the webhook was \
        disabled, or the subject of the message is gone.");
    row_indexes: ArrayBuilder = schema::array(ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)),
        "Indexes of the job's rows in the message; null if the message is not about rows.", json!([0, 1]))
        .schema_type(SchemaType::from_iter([Type::Array, Type::Null]));
    missing_body = schema::with_example(schema::or_null(schema::one_of(["rows_gone", "scope_missing"], "Cause of a missing \
        body. `rows_gone`: the rows were deleted, or no longer match the event. `scope_missing`: the key lacks the scope that \
        reads the subject of the event, `read:jobs` or `read:integrations`. Null if there is a body.")), json!(null));
    name: ObjectBuilder = schema::line("Display name.", "Our CRM");
    url: ObjectBuilder = schema::text(1..=URL_MAX, "Endpoint URL: HTTP or HTTPS, without credentials. It must not lead to a \
        private, loopback, link-local or other special-purpose address.", "https://www.example.com/probity");
    topics: ArrayBuilder =
        list_of_topics("Events that the endpoint receives, in the order of this list.").unique_items(true);
    chosen_topics: ArrayBuilder =
        list_of_topics("Events to subscribe to. Duplicates count once.").min_items(Some(1));
}

fn headers() -> Object {
    let value = || ObjectBuilder::new().schema_type(Type::String);
    ["content-type", "user-agent", "webhook-id"]
        .into_iter()
        .fold(ObjectBuilder::new(), |object, name| object.property(name, value()).required(name))
        .description(Some("Headers that are the same for each attempt. `webhook-id` identifies the event."))
        .build()
}

fn list_of_topics(description: &str) -> ArrayBuilder {
    let names: Vec<String> = Topic::all().map(|topic| topic.to_string()).collect();
    let topic = schema::one_of(names.iter().map(String::as_str), "Event that a webhook can subscribe to.");
    schema::array(topic, description, json!(["status.undeliverable", "job.finished"]))
}

impl From<probity_store::webhooks::WebhookEndpoint> for WebhookShown {
    fn from(webhook: probity_store::webhooks::WebhookEndpoint) -> Self {
        Self {
            id: webhook.id,
            name: webhook.name,
            url: webhook.url,
            events: webhook.events.into_iter().map(TopicName).collect(),
            status: if webhook.active { WebhookStatus::Active } else { WebhookStatus::Disabled },
            created_at: webhook.created_at.into(),
            last_delivery_at: webhook.last_delivery_at.map(Into::into),
        }
    }
}
