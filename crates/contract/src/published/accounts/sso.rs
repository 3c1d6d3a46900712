//! Types of the dashboard's routes for single sign-on.

use probity_account::role::MemberRole;
use probity_store::accounts::sso::StoredSso;
use serde::{Deserialize, Serialize};

use crate::timestamp::Timestamp;

/// Body of `PUT /app/sso`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetSso {
    /// Current password of the owner.
    pub current: String,
    pub issuer: String,
    pub client_id: String,
    /// Secret of the client; if omitted, it stays.
    pub client_secret: Option<String>,
    pub domains: Vec<String>,
    pub required: bool,
    /// Role of new members; null if sign-in admits none.
    pub newcomer_role: Option<String>,
    /// Whether addresses are trusted without `email_verified`.
    pub trusts_email: bool,
}

/// Body of `POST /app/sso/domains`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProveDomain {
    pub domain: String,
}

/// Body of `POST /app/sso/sign-in`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BeginSso {
    pub email: String,
}

/// Response that sends the browser to the provider.
#[derive(Serialize)]
pub struct BegunSso {
    pub location: String,
}

/// Single sign-on of an organization.
#[derive(Serialize)]
pub struct SsoShown {
    /// Reason why it cannot be used: `plan`, `public_url`, or null.
    pub obstacle: Option<&'static str>,
    /// URI to enter at the provider; null without `server.public_url`.
    pub redirect_uri: Option<String>,
    pub provider: Option<SsoProviderShown>,
    pub domains: Vec<SsoDomainShown>,
}

/// An organization's provider, without its secret.
#[derive(Serialize)]
pub struct SsoProviderShown {
    issuer: String,
    client_id: String,
    required: bool,
    newcomer_role: Option<&'static str>,
    trusts_email: bool,
    changed_at: Timestamp,
}

impl From<StoredSso> for SsoProviderShown {
    fn from(sso: StoredSso) -> Self {
        Self {
            issuer: sso.issuer,
            client_id: sso.client_id,
            required: sso.required,
            newcomer_role: sso.newcomer_role.map(MemberRole::as_str),
            trusts_email: sso.believed,
            changed_at: sso.changed_at.into(),
        }
    }
}

/// Domain that an organization claims, and the TXT record that proves it.
#[derive(Serialize)]
pub struct SsoDomainShown {
    pub domain: String,
    pub proven_at: Option<Timestamp>,
    /// End of the proof if its record stays missing; null while the record is found.
    pub counts_until: Option<Timestamp>,
    pub record_name: String,
    pub record_value: String,
}

/// Result of a test of the provider.
#[derive(Serialize)]
pub struct SsoTested {
    pub works: bool,
    /// Code of the fault.
    pub fault: Option<&'static str>,
    /// Message for the fault.
    pub message: Option<String>,
    /// Issuer that the provider names, if it is another one.
    pub named: Option<String>,
}

/// Response to a deletion.
#[derive(Serialize)]
pub struct DeletedSso {
    pub deleted: bool,
}
