//! The plans of the configuration as operators see them, at the command line and over the operator's API alike.

use probity_core::plans::{Entitlement, Plan};
use serde::Serialize;
use utoipa::ToSchema;

use super::Admin;

/// A plan of the configuration.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PlanShown {
    /// By what it is named in requests.
    #[schema(examples("team"))]
    pub name: String,
    /// What people call it.
    #[schema(examples("Team"))]
    pub title: String,
    /// Whether new organizations are on it where nobody says.
    pub is_default: bool,
    /// Subscription credits a month.
    pub monthly_credits: i64,
    /// Whether what is left of them stays.
    pub keeps_unused: bool,
    /// Prepaid credits to begin with.
    pub initial_credits: i64,
    /// Seats; null where nobody counts.
    #[schema(required)]
    pub seats: Option<i64>,
    /// What may be used.
    pub entitlements: Vec<&'static str>,
    /// Days of the trial; null without one.
    #[schema(required)]
    pub trial_days: Option<i64>,
    /// Credits of the trial.
    #[schema(required)]
    pub trial_credits: Option<i64>,
    /// Requests a minute; null where the installation's limit counts.
    #[schema(required)]
    pub rate_limit_per_minute: Option<i64>,
    /// Credits that are put in where there are none; null where requests are refused then.
    #[schema(required)]
    pub refill_credits: Option<i64>,
    /// How often in a period at most.
    #[schema(required)]
    pub refill_times: Option<i64>,
    /// Below how many credits the balance is low.
    #[schema(required)]
    pub low_balance: Option<i64>,
}

impl PlanShown {
    fn of(plan: &Plan, is_default: bool) -> Self {
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

impl Admin {
    /// Every plan that an organization can be on, by name.
    pub fn catalog(&self) -> Vec<PlanShown> {
        let first = &self.plans.first().name;
        self.plans.all().map(|plan| PlanShown::of(plan, plan.name == *first)).collect()
    }
}
