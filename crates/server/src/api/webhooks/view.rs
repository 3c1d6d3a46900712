//! What `/v1/webhooks` shows and takes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use probity_core::id::{DeliveryId, EventId, JobId, WebhookId};
use probity_core::webhook::Topic;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, Object, ObjectBuilder, Schema, Type};

use crate::api::merge_patch::given;
use crate::api::timestamp::Timestamp;
use crate::openapi::schema;
use crate::webhooks::target::URL_MAX;

/// A server that is told of what it has subscribed to.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Webhook)]
pub(crate) struct WebhookShown {
    /// The webhook's id.
    #[schema(schema_with = webhook_id)]
    pub(crate) id: WebhookId,
    /// What its owner calls it.
    #[schema(examples("Our CRM"))]
    pub(crate) name: String,
    /// Where messages go, each by a POST.
    #[schema(examples("https://www.example.com/probity"))]
    pub(crate) url: String,
    /// What it is told of.
    #[schema(schema_with = topics)]
    pub(crate) events: Vec<TopicName>,
    /// Whether it is told anything.
    pub(crate) status: WebhookStatus,
    /// When it was made.
    pub(crate) created_at: Timestamp,
    /// When it last took a message; null where it never has.
    #[schema(required)]
    pub(crate) last_delivery_at: Option<Timestamp>,
}

/// A new webhook. Keep the secret: no other answer shows it.
#[derive(Clone, Serialize, ToSchema)]
pub(crate) struct NewWebhook {
    /// The webhook as the list shows it.
    #[serde(flatten)]
    pub(crate) webhook: WebhookShown,
    /// What its messages are signed with, as Standard Webhooks has it. Shown this once.
    #[schema(examples("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))]
    pub(crate) secret: String,
}

/// Whether a webhook is told anything. `disabled` is also one that has taken nothing for five days, or has answered 410.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WebhookStatus {
    /// It is.
    Active,
    /// It is not.
    Disabled,
}

/// The webhook to make.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateWebhook {
    #[schema(schema_with = name)]
    pub(super) name: String,
    #[schema(schema_with = url)]
    pub(super) url: String,
    #[schema(schema_with = chosen_topics)]
    pub(super) events: Vec<TopicName>,
}

/// What to change. Fields that are left out stay as they are.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebhookPatch {
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = name, required = false)]
    pub(super) name: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = url, required = false)]
    pub(super) url: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = chosen_topics, required = false)]
    pub(super) events: Option<Vec<TopicName>>,
    /// Whether it is told anything.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, required = false)]
    pub(super) status: Option<WebhookStatus>,
}

/// The name of something that a webhook can be told of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TopicName(pub(crate) Topic);

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

/// The new secret of a webhook. Keep it: no other answer shows it.
#[derive(Clone, Serialize, ToSchema)]
pub(crate) struct WebhookSecret {
    /// The webhook's id.
    #[schema(schema_with = webhook_id)]
    pub(crate) id: WebhookId,
    /// The secret: `whsec_` and the base64 of its bytes.
    #[schema(examples("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))]
    pub(crate) secret: String,
    /// Until when messages are signed with the secret before this one too.
    pub(crate) previous_until: Timestamp,
}

/// A deleted webhook.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct DeletedWebhook {
    /// The webhook's id.
    #[schema(schema_with = webhook_id)]
    pub(crate) id: WebhookId,
    /// Always true.
    #[schema(schema_with = schema::always_true)]
    pub(crate) deleted: bool,
}

/// A message to a webhook.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct WebhookDelivery {
    /// The message's id.
    #[schema(schema_with = delivery_id)]
    pub(crate) id: DeliveryId,
    /// What it tells of: the `type` in its body.
    #[serde(rename = "type")]
    #[schema(examples("status.passed"))]
    pub(crate) kind: String,
    /// Where it stands.
    #[schema(schema_with = states)]
    pub(crate) status: &'static str,
    /// Attempts that have come to an end, since it was last asked for.
    #[schema(examples(1), minimum = 0)]
    pub(crate) attempts: i64,
    /// When it was made.
    pub(crate) created_at: Timestamp,
    /// When it is tried next; null where it is not.
    #[schema(required)]
    pub(crate) next_attempt_at: Option<Timestamp>,
    /// What is sent.
    pub(crate) request: DeliveryRequest,
    /// The last attempt; null where there was none.
    #[schema(required)]
    pub(crate) last_attempt: Option<DeliveryAttempt>,
    /// The attempts before that one, newest first, those before it was last asked for too: at most 19, with at most 512 bytes of
    /// each answer.
    pub(crate) earlier_attempts: Vec<DeliveryAttempt>,
}

/// What is sent. Its body is made when it is sent; time and signature are new with each attempt.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct DeliveryRequest {
    /// Where it goes, or went at the last attempt.
    #[schema(examples("https://www.example.com/probity"))]
    pub(crate) url: String,
    /// The headers that are the same with each attempt.
    #[schema(schema_with = headers)]
    pub(crate) headers: BTreeMap<&'static str, String>,
    /// The job that it is about; null for a test.
    #[schema(required, schema_with = job_id_or_null)]
    pub(crate) job_id: Option<JobId>,
    /// The indexes of the job's rows that it is about; null where it is not about rows.
    #[schema(required, schema_with = row_indexes)]
    pub(crate) rows: Option<Vec<i64>>,
}

/// What an attempt came to.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct DeliveryAttempt {
    /// When it began.
    pub(crate) at: Timestamp,
    /// Where it went.
    #[schema(examples("https://www.example.com/probity"))]
    pub(crate) url: String,
    /// The HTTP status; null where there was no answer.
    #[schema(required, examples(204), minimum = 100, maximum = 999)]
    pub(crate) status: Option<i64>,
    /// How long it took, in milliseconds; null where there was no answer.
    #[schema(required, examples(87), minimum = 0)]
    pub(crate) took_ms: Option<i64>,
    /// Why there was no answer; null where there was one.
    #[schema(required, examples(json!(null)))]
    pub(crate) error: Option<&'static str>,
    /// The beginning of the answer's body, at most 4,096 bytes. Control characters are escaped.
    #[schema(examples(""))]
    pub(crate) answer: String,
}

/// The headers of a request that do not change.
pub(crate) fn fixed_headers(event: EventId) -> BTreeMap<&'static str, String> {
    let agent = crate::webhooks::send::USER_AGENT.to_owned();
    BTreeMap::from([
        ("content-type", "application/json".to_owned()),
        ("user-agent", agent),
        ("webhook-id", event.to_string()),
    ])
}

fn webhook_id() -> Object {
    schema::id("whk", "The webhook's id.")
}

fn delivery_id() -> Object {
    schema::id("dlv", "The message's id.")
}

fn job_id_or_null() -> Object {
    let mut id = schema::job_id();
    id.schema_type = [Type::String, Type::Null].into_iter().collect();
    id
}

fn row_indexes() -> RefOr<Schema> {
    let index = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0));
    ArrayBuilder::new()
        .schema_type([Type::Array, Type::Null].into_iter().collect::<utoipa::openapi::schema::SchemaType>())
        .items(index)
        .description(Some("The indexes of the job's rows that it is about; null where it is not about rows."))
        .examples([json!([0, 1])])
        .into()
}

fn headers() -> Object {
    let value = || ObjectBuilder::new().schema_type(Type::String);
    ["content-type", "user-agent", "webhook-id"]
        .into_iter()
        .fold(ObjectBuilder::new(), |object, name| object.property(name, value()).required(name))
        .description(Some("The headers that are the same with each attempt. `webhook-id` names the event."))
        .build()
}

fn states() -> Object {
    let means = "`waiting`: to be sent, now or later. `delivered`: the receiver took it. `exhausted`: it was tried as often \
        as it is tried. `cancelled`: the webhook was disabled, or what it is about is gone.";
    schema::one_of(probity_store::outbox::State::ALL.map(probity_store::outbox::State::as_str), means)
}

fn name() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(200))
        .pattern(Some(schema::name_pattern()))
        .description(Some("What to call it."))
        .examples(["Our CRM"])
        .build()
}

fn url() -> Object {
    let means = "Where messages go: http or https, without credentials, and not leading to a private, loopback, \
        link-local or otherwise special address.";
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(URL_MAX))
        .description(Some(means))
        .examples(["https://www.example.com/probity"])
        .build()
}

fn topic() -> Object {
    let names: Vec<String> = Topic::all().map(|topic| topic.to_string()).collect();
    schema::one_of(names.iter().map(String::as_str), "What a webhook can be told of.")
}

fn topics() -> RefOr<Schema> {
    list_of_topics("What it is told of, in the order of this list.").unique_items(true).into()
}

fn chosen_topics() -> RefOr<Schema> {
    list_of_topics("What it is told of. An event that is named twice counts once.").min_items(Some(1)).into()
}

fn list_of_topics(description: &str) -> ArrayBuilder {
    ArrayBuilder::new()
        .items(topic())
        .description(Some(description))
        .examples([json!(["status.undeliverable", "job.finished"])])
}
