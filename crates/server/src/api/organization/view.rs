//! The answer of `GET /v1/organization`. Every field is always present; what is not known is `null`.

use probity_core::plans::Entitlement;
use probity_store::organization::OrgStatus;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;
use utoipa::openapi::schema::Object;

use crate::api::timestamp::Timestamp;
use crate::openapi::schema::one_of;

/// The organization that a key belongs to.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Organization {
    /// The organization's name.
    #[schema(required, examples("Example Ltd"))]
    pub name: Option<String>,
    /// The address at which the organization is reached.
    #[schema(required, examples("owner@example.com"))]
    pub email: Option<String>,
    /// The name of the plan.
    #[schema(examples("unlimited"))]
    pub plan: String,
    /// The plan's id where plans are kept elsewhere.
    #[schema(required, examples("plan_team"))]
    pub plan_id: Option<String>,
    /// What is left to spend.
    pub credits: Credits,
    /// What the current period has used.
    pub usage: Usage,
    /// The trial.
    pub trial: Trial,
    /// When the organization was made.
    pub created_at: Timestamp,
    /// Whether the organization may use the service.
    #[serde(serialize_with = "status_name")]
    #[schema(schema_with = status)]
    pub status: OrgStatus,
    /// What the plan includes.
    pub entitlements: Entitlements,
    /// The members that the plan has room for.
    pub seats: Seats,
}

/// What is left to spend, in credits. What jobs in progress hold is not counted.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Credits {
    /// Bought credits; they do not end with the period.
    #[schema(examples(25_000))]
    pub prepaid: i64,
    /// Credits of the current period; spent first.
    #[schema(examples(9_500))]
    pub subscription: i64,
    /// Both together.
    #[schema(examples(34_500))]
    pub total: i64,
}

/// What the current period has used.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Usage {
    /// When the period began.
    pub current_period_start: Timestamp,
    /// When the period ends.
    pub current_period_end: Timestamp,
    /// How many addresses were verified in it.
    #[schema(examples(500), minimum = 0)]
    pub current_period_total: i64,
}

/// The trial.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Trial {
    /// Whether a trial is running.
    pub active: bool,
    /// When it began; null where there was none.
    #[schema(required)]
    pub started_at: Option<Timestamp>,
    /// When it ends or ended.
    #[schema(required)]
    pub ends_at: Option<Timestamp>,
}

/// What the plan includes.
#[expect(clippy::struct_excessive_bools, reason = "the contract has nine independent entitlements")]
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Entitlements {
    /// Event notifications.
    pub webhooks: bool,
    /// Cleaning of new contacts as they arrive.
    pub instafloss: bool,
    /// Correction of misspelt addresses.
    pub typo_fixer: bool,
    /// Rules that exclude addresses.
    pub exclusions: bool,
    /// Tags written back to a connection.
    pub update_tags: bool,
    /// Single sign-on.
    pub sso: bool,
    /// Daily cleaning.
    pub autofloss: bool,
    /// Monthly re-verification.
    pub decay_basic: bool,
    /// Re-verification by a schedule of one's own.
    pub decay_custom: bool,
}

impl From<probity_core::plans::Entitlements> for Entitlements {
    fn from(set: probity_core::plans::Entitlements) -> Self {
        Self {
            webhooks: set.contains(Entitlement::Webhooks),
            instafloss: set.contains(Entitlement::Instafloss),
            typo_fixer: set.contains(Entitlement::TypoFixer),
            exclusions: set.contains(Entitlement::Exclusions),
            update_tags: set.contains(Entitlement::UpdateTags),
            sso: set.contains(Entitlement::Sso),
            autofloss: set.contains(Entitlement::Autofloss),
            decay_basic: set.contains(Entitlement::DecayBasic),
            decay_custom: set.contains(Entitlement::DecayCustom),
        }
    }
}

/// The members that the plan has room for.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Seats {
    /// How many are taken.
    #[schema(examples(3), minimum = 0)]
    pub used: i64,
    /// How many there are.
    #[schema(examples(10), minimum = 0)]
    pub limit: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn status_name<S: Serializer>(status: &OrgStatus, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(status.as_str())
}

fn status() -> Object {
    let means = "Whether the organization may use the service. `suspended`, `paused` and `banned` ones get 403 everywhere \
        but on `/v1/check-key`; the others work.";
    one_of(OrgStatus::ALL.map(OrgStatus::as_str), means)
}
