//! Configured plans in the operator's API.

use probity_account::plans::{Entitlement, Plan};
use serde::Serialize;
use utoipa::ToSchema;

/// A configured plan.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = PlanShown)]
pub struct ConfiguredPlan {
    /// Name used in requests.
    #[schema(examples("team"))]
    pub name: String,
    /// Display name.
    #[schema(examples("Team"))]
    pub title: String,
    /// Whether new organizations get this plan by default.
    pub is_default: bool,
    /// Subscription credits per month.
    pub monthly_credits: i64,
    /// Whether unused subscription credits stay at the end of the month.
    pub keeps_unused: bool,
    /// Prepaid credits granted at the start.
    pub initial_credits: i64,
    /// Number of seats; null if unlimited.
    #[schema(required)]
    pub seats: Option<i64>,
    /// Entitlements of the plan.
    pub entitlements: Vec<&'static str>,
    /// Length of the trial in days; null without a trial.
    #[schema(required)]
    pub trial_days: Option<i64>,
    /// Credits of the trial.
    #[schema(required)]
    pub trial_credits: Option<i64>,
    /// Requests per minute; null if the installation's limit applies.
    #[schema(required)]
    pub rate_limit_per_minute: Option<i64>,
    /// Credits added when none are left; null if requests are refused instead.
    #[schema(required)]
    pub refill_credits: Option<i64>,
    /// Maximum number of refills per period.
    #[schema(required)]
    pub refill_times: Option<i64>,
    /// Credits below which the balance is low.
    #[schema(required)]
    pub low_balance: Option<i64>,
}

impl ConfiguredPlan {
    pub fn of(plan: &Plan, is_default: bool) -> Self {
        Self {
            name: plan.name.clone(),
            title: plan.title.clone(),
            is_default,
            monthly_credits: plan.monthly,
            keeps_unused: plan.keeps_unused,
            initial_credits: plan.initial,
            seats: plan.seats,
            entitlements: plan.entitlements.iter().map(Entitlement::as_str).collect(),
            trial_days: plan.trial.map(|trial| trial.days),
            trial_credits: plan.trial.map(|trial| trial.credits),
            rate_limit_per_minute: plan.rate_limit_per_minute,
            refill_credits: plan.refill.map(|refill| refill.credits),
            refill_times: plan.refill.map(|refill| refill.times),
            low_balance: plan.low_balance,
        }
    }
}
