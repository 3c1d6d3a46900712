//! Plans: monthly credits, entitlements, and the start of each month.
//!
//! The operator defines plans: [`Plans`] is those of the configuration and two built-in ones. Nothing of a plan is copied to its
//! organizations, so a change of the configuration applies to all at once; only granted credits are booked, and stay. Everything
//! here is arithmetic: `store` books, and `backend` schedules.

mod entitlements;
mod period;

use std::collections::BTreeMap;

pub use entitlements::{Entitlement, EntitlementSet};
pub use period::Period;

use crate::credits::{CreditCount, UNLIMITED};

/// Name of the built-in plan without a limit on credits.
pub const UNLIMITED_PLAN: &str = "unlimited";
/// Maximum credits of a plan's grant: 1/1,000 of the amount that counts as unlimited.
pub const PLAN_CREDITS_MAX: CreditCount = UNLIMITED / 1_000;
/// Name of the built-in plan without recurring credits.
pub const METERED_PLAN: &str = "metered";

/// Maximum length of a plan's name, in bytes.
pub const NAME_MAX: usize = 40;

/// Trial: once, at the creation of an organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialTerms {
    /// Length in whole days; ends at the following midnight (UTC).
    pub days: i64,
    /// Credits of the trial, which expire with it.
    pub credits: CreditCount,
}

/// Automatic refill when credits run out, up to the agreed number of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refill {
    /// Prepaid credits per refill; above zero.
    pub credits: CreditCount,
    /// Maximum number of refills per period.
    pub times: i64,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Identifier: lower-case letters, digits, `-` and `_`.
    pub name: String,
    /// Display name.
    pub title: String,
    /// Credits per period; 0 for none.
    pub monthly: CreditCount,
    /// Whether unused credits outlast the period.
    pub keeps_unused: bool,
    /// Prepaid credits of a new organization.
    pub initial: CreditCount,
    /// Maximum number of members; `None` for no limit.
    pub seats: Option<i64>,
    /// Features included in the plan.
    pub entitlements: EntitlementSet,
    /// Trial of new organizations.
    pub trial: Option<TrialTerms>,
    /// Requests per minute; `None` for the limit of the installation.
    pub rate_limit_per_minute: Option<i64>,
    /// Refill when credits run out; if `None`, requests are refused.
    pub refill: Option<Refill>,
    /// Balance below which a notice is sent; `None` for no notice.
    pub low_balance: Option<CreditCount>,
}

impl Plan {
    /// Returns a plan with all entitlements, without credits, limits or a trial.
    pub fn bare(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            title: name.to_owned(),
            monthly: 0,
            keeps_unused: false,
            initial: 0,
            seats: None,
            entitlements: EntitlementSet::ALL,
            trial: None,
            rate_limit_per_minute: None,
            refill: None,
            low_balance: None,
        }
    }

    /// Returns the plan without a limit on credits.
    pub fn unlimited() -> Self {
        Self { initial: UNLIMITED, ..Self::bare(UNLIMITED_PLAN) }
    }

    /// Returns the plan with this many initial prepaid credits and no recurring ones.
    pub fn metered(initial: CreditCount) -> Self {
        Self { initial, ..Self::bare(METERED_PLAN) }
    }

    /// Returns whether the plan has no limit on credits.
    pub fn is_unlimited(&self) -> bool {
        self.name == UNLIMITED_PLAN
    }

    /// Returns whether the plan is built in rather than configured.
    pub fn is_built_in(&self) -> bool {
        is_built_in(&self.name)
    }
}

/// Returns whether a built-in plan has this name.
pub fn is_built_in(name: &str) -> bool {
    matches!(name, UNLIMITED_PLAN | METERED_PLAN)
}

/// Returns whether a name is valid: 1 to [`NAME_MAX`] lower-case letters, digits, `-` and `_`.
pub fn is_plan_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(plain)
}

/// All plans of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plans {
    by_name: BTreeMap<String, Plan>,
    first: String,
}

impl Default for Plans {
    /// Returns the built-in plans; new organizations are unlimited.
    fn default() -> Self {
        Self::new([], UNLIMITED_PLAN, 0).expect("the plan is always there")
    }
}

impl Plans {
    /// Combines configured and built-in plans. `first` is the default plan of new organizations, `initial` the initial credits of
    /// the metered plan. Returns `None` if no plan is named `first`.
    pub fn new(configured: impl IntoIterator<Item = Plan>, first: &str, initial: CreditCount) -> Option<Self> {
        let all = configured.into_iter().chain([Plan::unlimited(), Plan::metered(initial)]);
        let by_name: BTreeMap<_, _> = all.map(|plan| (plan.name.clone(), plan)).collect();
        by_name.contains_key(first).then(|| Self { by_name, first: first.to_owned() })
    }

    /// Returns the plan with a name.
    pub fn get(&self, name: &str) -> Option<&Plan> {
        self.by_name.get(name)
    }

    /// Returns the plan with a name. For a plan that is no longer configured, returns the metered plan: the organization keeps
    /// its credits and gets no new ones.
    pub fn of(&self, name: &str) -> &Plan {
        self.get(name).unwrap_or_else(|| &self.by_name[METERED_PLAN])
    }

    /// Returns the plan of new organizations.
    pub fn first(&self) -> &Plan {
        &self.by_name[&self.first]
    }

    /// Iterates over the plans, by name.
    pub fn all(&self) -> impl Iterator<Item = &Plan> {
        self.by_name.values()
    }
}

#[cfg(test)]
mod tests;
