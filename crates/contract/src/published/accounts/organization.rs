//! Response type of `GET /v1/organization`. Every field is always present; unknown values are `null`.

use probity_account::plans::Entitlement;
use probity_store::accounts::organization::OrgState;
use serde::Serialize;
use utoipa::ToSchema;

use crate::schema::{one_of, schemas};
use crate::timestamp::Timestamp;

/// The organization that owns the key.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Organization {
    /// Name of the organization.
    #[schema(required, examples("Example Ltd"))]
    pub name: Option<String>,
    /// Email address of the organization.
    #[schema(required, examples("owner@example.com"))]
    pub email: Option<String>,
    /// Name of the plan.
    #[schema(examples("unlimited"))]
    pub plan: String,
    /// ID of the configured plan; null for a built-in plan.
    #[schema(required, examples("plan_team"))]
    pub plan_id: Option<String>,
    /// Available credits.
    pub credits: Credits,
    /// Usage in the current period.
    pub usage: Usage,
    /// Trial period.
    pub trial: Trial,
    /// Creation time of the organization.
    pub created_at: Timestamp,
    #[schema(schema_with = status)]
    pub status: OrgState,
    /// Features that the plan includes.
    pub entitlements: Entitlements,
    /// Team seats.
    pub seats: Seats,
}

/// Available credits. Credits held for running jobs are not included.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Credits {
    /// Prepaid credits; they do not end with the period.
    #[schema(examples(25_000))]
    pub prepaid: i64,
    /// Subscription credits of the current period; spent first.
    #[schema(examples(9_500))]
    pub subscription: i64,
    /// Sum of both.
    #[schema(examples(34_500))]
    pub total: i64,
}

/// Usage in the current period.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Usage {
    /// Start of the period.
    pub current_period_start: Timestamp,
    /// End of the period.
    pub current_period_end: Timestamp,
    /// Addresses verified in the period.
    #[schema(examples(500), minimum = 0)]
    pub current_period_total: i64,
}

/// Trial period.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Trial {
    /// Whether a trial is running.
    pub active: bool,
    /// Start time; null without a trial.
    #[schema(required)]
    pub started_at: Option<Timestamp>,
    /// End time, past or future.
    #[schema(required)]
    pub ends_at: Option<Timestamp>,
}

/// Features that the plan includes.
#[expect(clippy::struct_excessive_bools, reason = "the contract has nine independent entitlements")]
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Entitlements {
    /// Webhooks.
    pub webhooks: bool,
    /// Cleaning of new contacts as they arrive.
    pub instafloss: bool,
    /// Correction of misspelled addresses.
    pub typo_fixer: bool,
    /// Rules that exclude addresses.
    pub exclusions: bool,
    /// Tags written to a connected platform.
    pub update_tags: bool,
    /// Single sign-on.
    pub sso: bool,
    /// Nightly verification of new contacts.
    pub autofloss: bool,
    /// Re-verification of all contacts.
    pub decay_basic: bool,
    /// Re-verification on a custom schedule.
    pub decay_custom: bool,
}

impl From<probity_account::plans::EntitlementSet> for Entitlements {
    fn from(set: probity_account::plans::EntitlementSet) -> Self {
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

/// Team seats.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Seats {
    /// Seats in use.
    #[schema(examples(3), minimum = 0)]
    pub used: i64,
    /// Number of seats.
    #[schema(examples(10), minimum = 0)]
    pub limit: i64,
}

schemas! {
    status = one_of(OrgState::ALL.map(OrgState::as_str), "Status of the organization. `suspended`, `paused` and `banned` \
        organizations get 403 everywhere except on `/v1/check-key`; the others can use the service.");
}
