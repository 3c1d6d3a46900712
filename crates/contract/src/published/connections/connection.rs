//! A connection and its capabilities.

use probity_account::connections::{Aggressiveness, ConnectionAction, ConnectionSettings};
use probity_account::id::ConnId;
use probity_store::connections::connection::{Disconnection, StoredConnection};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::checks::ConnectionChecks;
use super::credentials::EnteredCredentials;
use super::names::{action_or_null, aggressiveness, connection_name, platform_type};
use super::patch::{decay_days, field_name, list_ids, tag_template, unconfirmed_contacts, unconfirmed_percent};
use crate::merge_patch::given;
use crate::schema;
use crate::timestamp::Timestamp;

/// Status of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionStatus {
    /// The platform accepts its credentials.
    Active,
    /// It has no credentials, or the platform refuses them.
    Disconnected,
}

/// Reason why a connection is disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DisconnectReason {
    /// A user or a key deleted it. Its credentials are erased.
    Deleted,
    /// The platform refuses its credentials.
    Credential,
}

/// A connection to a platform.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Connection)]
pub struct ConnectionShown {
    #[schema(schema_with = schema::connection_id)]
    pub id: ConnId,
    #[serde(rename = "type")]
    #[schema(schema_with = platform_type)]
    pub provider: String,
    /// Display name.
    #[schema(examples("Newsletter"))]
    pub name: String,
    /// Whether the connection works.
    pub status: ConnectionStatus,
    /// Creation time.
    #[schema(required)]
    pub created_at: Option<Timestamp>,
    /// Time of the last complete run; null if there was none.
    #[schema(required)]
    pub last_synced_at: Option<Timestamp>,
    /// Time since which it is disconnected; null for an active connection.
    #[schema(required)]
    pub disconnected_at: Option<Timestamp>,
    #[schema(required, schema_with = disconnect_reason)]
    pub disconnected_reason: Option<DisconnectReason>,
    /// Settings.
    pub settings: ConnectionSettingsShown,
}

/// Settings of a connection.
#[expect(clippy::struct_excessive_bools, reason = "flags of the contract, each by itself")]
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ConnectionSettings)]
pub struct ConnectionSettingsShown {
    #[schema(schema_with = aggressiveness)]
    pub aggressiveness: Aggressiveness,
    /// Whether every action waits until a person confirms it.
    pub manual_mode: bool,
    #[schema(schema_with = unconfirmed_contacts)]
    pub unconfirmed_contacts: i64,
    #[schema(schema_with = unconfirmed_percent)]
    pub unconfirmed_percent: i64,
    /// Whether new contacts are verified every night.
    pub autofloss: bool,
    /// Whether all contacts are verified again, a share every night.
    pub decay_protection: bool,
    #[schema(schema_with = decay_days)]
    pub decay_days: i64,
    /// Whether new contacts are verified as they arrive.
    pub instafloss: bool,
    #[schema(required, schema_with = action_or_null)]
    pub action: Option<ConnectionAction>,
    /// Reasons for which contacts are acted upon, besides `invalid` and `illegitimate`.
    pub checks: ConnectionChecks,
    #[schema(schema_with = tag_template)]
    pub tag: String,
    #[schema(schema_with = field_name)]
    pub field: String,
    /// Whether misspelled addresses are corrected at the platform.
    pub fix_typos: bool,
    #[schema(schema_with = list_ids)]
    pub lists: Vec<String>,
    /// Number of blacklist rules.
    #[schema(examples(0), minimum = 0)]
    pub blacklist_count: i64,
    /// Number of whitelist rules.
    #[schema(examples(0), minimum = 0)]
    pub whitelist_count: i64,
}

impl ConnectionSettingsShown {
    /// Builds the settings, with the numbers of rules on the blacklist and on the whitelist.
    pub fn of(settings: ConnectionSettings, (blacklist_count, whitelist_count): (i64, i64)) -> Self {
        Self {
            aggressiveness: settings.aggressiveness,
            manual_mode: settings.manual_mode,
            unconfirmed_contacts: settings.unconfirmed_contacts,
            unconfirmed_percent: settings.unconfirmed_percent,
            autofloss: settings.autofloss,
            decay_protection: settings.decay_protection,
            decay_days: settings.decay_days,
            instafloss: settings.instafloss,
            action: settings.action,
            checks: settings.checks.into(),
            tag: settings.tag,
            field: settings.field,
            fix_typos: settings.fix_typos,
            lists: settings.lists,
            blacklist_count,
            whitelist_count,
        }
    }
}

impl From<StoredConnection> for ConnectionShown {
    fn from(stored: StoredConnection) -> Self {
        let (disconnected_at, why) = stored.disconnected.unzip();
        Self {
            id: stored.id,
            provider: stored.provider,
            name: stored.name,
            status: if why.is_none() { ConnectionStatus::Active } else { ConnectionStatus::Disconnected },
            created_at: Some(stored.created_at.into()),
            last_synced_at: stored.last_synced_at.map(Into::into),
            disconnected_at: disconnected_at.map(Into::into),
            disconnected_reason: why.map(|why| match why {
                Disconnection::Deleted => DisconnectReason::Deleted,
                Disconnection::Credential => DisconnectReason::Credential,
            }),
            settings: ConnectionSettingsShown::of(stored.settings, (stored.blacklist_count, stored.whitelist_count)),
        }
    }
}

/// The connection to create.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateConnection {
    #[schema(inline)]
    pub credentials: EnteredCredentials,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = connection_name, required = false)]
    pub name: Option<String>,
}

/// A connection that was just disconnected.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DisconnectedConnection {
    #[schema(schema_with = schema::connection_id)]
    pub id: ConnId,
    #[serde(rename = "type")]
    #[schema(schema_with = platform_type)]
    pub provider: String,
    #[schema(schema_with = disconnected)]
    pub status: ConnectionStatus,
    /// Time since which it is disconnected.
    pub disconnected_at: Timestamp,
}

/// Outcome of a test of a connection's credentials.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ConnectionTest {
    #[schema(schema_with = schema::connection_id)]
    pub id: ConnId,
    #[serde(rename = "type")]
    #[schema(schema_with = platform_type)]
    pub provider: String,
    /// Whether the platform accepts the credentials.
    pub credential_valid: bool,
    /// Time of the test.
    pub tested_at: Timestamp,
    /// Why the credentials are not valid; omitted if they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("the platform refuses the credentials"))]
    pub reason: Option<String>,
}

/// A list of contacts at the platform.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PlatformList {
    /// The platform's ID of the list, for `lists` of the connection.
    #[schema(examples("57afe96172"))]
    pub id: String,
    /// The list's name at the platform.
    #[schema(examples("Customers"))]
    pub name: String,
    /// Number of contacts, as the platform says; null if it does not say.
    #[schema(required, examples(1_200), minimum = 0)]
    pub count: Option<u64>,
}

schema::schemas! {
    disconnect_reason = schema::with_example(schema::or_null(schema::one_of(["deleted", "credential"], "Why the connection is \
        disconnected: `deleted` by a user or a key, or because the platform refuses the `credential`. Null for an active \
        connection.")), json!(null));
    pub(super) disconnected = schema::one_of(["disconnected"], "Always `disconnected`.");
}
