//! Request and response types of `/v1/outcome-sources`.

use probity_account::id::OutcomeSourceId;
use probity_account::outcome::OutcomeSource;
use probity_mail::named;
use probity_store::outcomes::sources::OutcomeSourceRecord;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::schema::{WITHOUT_NUL, id, line, one_of, or_null, schemas, text};
use crate::timestamp::Timestamp;

/// Maximum length of a signing key, in bytes.
pub const SIGNING_KEY_MAX_BYTES: usize = 500;

/// Source of outcomes to create.
// Without `Debug`, because it holds a key.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateOutcomeSource {
    #[schema(schema_with = name)]
    pub name: String,
    #[serde(deserialize_with = "service_of")]
    #[schema(schema_with = service)]
    pub service: OutcomeSource,
    #[serde(default)]
    #[schema(schema_with = signing_key, required = false)]
    pub signing_key: Option<String>,
}

/// A sending service that posts events.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = OutcomeSource)]
pub struct OutcomeSourceShown {
    #[schema(schema_with = source_id)]
    id: OutcomeSourceId,
    #[schema(schema_with = name)]
    name: String,
    #[schema(schema_with = service)]
    service: &'static str,
    /// Creation time.
    created_at: Timestamp,
    /// Time of the last request with a valid proof; null if there was none.
    #[schema(required)]
    last_event_at: Option<Timestamp>,
}

/// A new source, with its URL.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NewOutcomeSource {
    #[serde(flatten)]
    pub source: OutcomeSourceShown,
    /// URL to enter in the service's webhook settings. It contains a secret and is shown only here. Without a configured public
    /// URL, it is a path.
    #[schema(examples("https://verify.example.com/hooks/outcomes/osr_01h455vb4pex5vsknk084sn02q/5f0c"))]
    pub url: String,
}

/// A deleted source.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct DeletedOutcomeSource {
    #[schema(schema_with = source_id)]
    pub id: OutcomeSourceId,
    /// Always true.
    pub deleted: bool,
}

impl OutcomeSourceShown {
    /// Returns the ID.
    pub fn id(&self) -> OutcomeSourceId {
        self.id
    }
}

impl From<OutcomeSourceRecord> for OutcomeSourceShown {
    fn from(source: OutcomeSourceRecord) -> Self {
        Self {
            id: source.id,
            name: source.name,
            service: source.service.as_str(),
            created_at: source.created_at.into(),
            last_event_at: source.last_event_at.map(Into::into),
        }
    }
}

fn service_of<'de, D: Deserializer<'de>>(from: D) -> Result<OutcomeSource, D::Error> {
    named::read(from, OutcomeSource::SERVICES, OutcomeSource::as_str)
}

schemas! {
    source_id = id("osr", "Source ID.");
    name = line("Name of the source.", "Newsletter").build();
    service = one_of(OutcomeSource::SERVICES.map(OutcomeSource::as_str), "Sending service.");
    signing_key = or_null(text(1..=SIGNING_KEY_MAX_BYTES, "Key with which the service signs: the verification key of SendGrid's \
        signed event webhook, or Mailgun's HTTP webhook signing key. For Amazon SES, the ARN of the SNS topic. Omit it for the \
        other services, which sign nothing.", "key-3ax6xnjp29jd6fds4gc373sgvjxteol0").pattern(Some(WITHOUT_NUL)).build());
}
