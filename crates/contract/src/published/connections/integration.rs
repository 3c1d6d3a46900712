//! Platforms that can be connected, and an organization's connections to each.

use probity_account::connections::ConnectionAction;
use probity_account::id::ConnId;
use probity_store::connections::connection::StoredConnection;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Type};

use super::connection::{ConnectionShown, ConnectionStatus, disconnected};
use super::names::{action, platform_type};
use crate::schema;
use crate::timestamp::Timestamp;

/// A platform and its number of connections.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Integration {
    #[serde(rename = "type")]
    #[schema(schema_with = platform_type)]
    pub provider: String,
    /// Whether there is an active connection.
    pub connected: bool,
    /// Number of active connections.
    #[schema(examples(1), minimum = 0)]
    pub connection_count: i64,
    /// Oldest active connection; null if there is none.
    #[schema(required)]
    pub primary: Option<PrimaryConnection>,
    /// Number of disconnected connections.
    #[schema(examples(0), minimum = 0)]
    pub disconnected_count: i64,
    /// The platform and what it can do.
    pub platform: PlatformShown,
}

/// Oldest active connection to a platform.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PrimaryConnection {
    #[schema(schema_with = schema::connection_id)]
    pub id: ConnId,
    /// Display name.
    #[schema(examples("Newsletter"))]
    pub name: String,
}

/// A platform, and the connections to it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct IntegrationDetail {
    #[serde(rename = "type")]
    #[schema(schema_with = platform_type)]
    pub provider: String,
    /// Whether there is an active connection.
    pub connected: bool,
    /// Number of active connections.
    #[schema(examples(1), minimum = 0)]
    pub connection_count: i64,
    /// Active connections, newest first.
    pub connections: Vec<ConnectionShown>,
    /// Disconnected connections, newest first: at most 100.
    pub disconnected_connections: Vec<FormerConnection>,
    /// The platform and what it can do.
    pub platform: PlatformShown,
}

/// A disconnected connection. It can be reconnected with new credentials.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FormerConnection {
    #[schema(schema_with = schema::connection_id)]
    pub id: ConnId,
    /// Display name.
    #[schema(examples("Newsletter"))]
    pub name: String,
    #[schema(schema_with = disconnected)]
    pub status: ConnectionStatus,
    /// Creation time.
    #[schema(required)]
    pub created_at: Option<Timestamp>,
    /// Time since which it is disconnected.
    #[schema(required)]
    pub disconnected_at: Option<Timestamp>,
}

impl From<StoredConnection> for FormerConnection {
    fn from(stored: StoredConnection) -> Self {
        Self {
            id: stored.id,
            name: stored.name,
            status: ConnectionStatus::Disconnected,
            created_at: Some(stored.created_at.into()),
            disconnected_at: stored.disconnected.map(|(at, _)| at.into()),
        }
    }
}

/// A platform: how to connect it, and what it can do.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[expect(clippy::struct_excessive_bools, reason = "capabilities are independent")]
pub struct PlatformShown {
    /// Name for people.
    #[schema(examples("Mailchimp"))]
    pub name: String,
    /// Credentials to enter, in the order of the form.
    pub credentials: Vec<CredentialForm>,
    /// Actions that a connection can have, including `do_nothing`.
    pub actions: Vec<PlatformAction>,
    /// Whether the platform lists its contacts. One that does not can't be connected.
    pub contacts: bool,
    /// Whether the platform has lists to choose from.
    pub lists: bool,
    /// Whether misspelled addresses can be corrected.
    pub fix_typos: bool,
    /// Whether the platform reports new contacts at once.
    pub instafloss: bool,
    /// Whether the description of the platform is new or not fully established.
    pub beta: bool,
    /// The platform's own documentation.
    #[schema(examples("https://mailchimp.com/developer/marketing/api"))]
    pub docs: String,
    /// When the description was last compared, and with what.
    #[schema(examples("2026-11-22, API reference"))]
    pub checked: String,
}

/// A field of the form in which credentials are entered.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CredentialForm {
    /// Name in `credentials`.
    #[schema(examples("api_key"))]
    pub name: String,
    /// Label for people.
    #[schema(examples("API key"))]
    pub label: String,
    #[schema(schema_with = credential_kind)]
    pub kind: &'static str,
    /// Where to find it at the platform; null if that is not described.
    #[schema(required, examples("Account, Extras, API keys"))]
    pub help: Option<String>,
    #[schema(schema_with = choices)]
    pub choices: Vec<String>,
    /// Whether it can be omitted.
    #[schema(examples(false))]
    pub optional: bool,
}

/// An action that the platform has.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PlatformAction {
    #[schema(schema_with = action)]
    pub action: ConnectionAction,
    /// What is special about the action at this platform; null if nothing is.
    #[schema(required, examples("The contact is archived."))]
    pub note: Option<String>,
}

schema::schemas! {
    choices: ArrayBuilder = schema::array(ObjectBuilder::new().schema_type(Type::String),
        "Values to choose from, for the kind `choice`; otherwise empty.", json!([]));
    credential_kind = schema::one_of(["secret", "url", "text", "choice"], "Kind of value. `secret`: a key or a \
        password. `url`: address of an installation. `text`: a name or a number. `choice`: one of `choices`.");
}
