//! Plans: what an organization gets each month, what it may use, and when its months begin.
//!
//! Plans are the operator's: [`Plans`] is what the configuration says, with the two plans that are always there. Nothing of a
//! plan is copied to its organizations, so a change of the configuration counts for all of them at once; only credits are booked,
//! and what was booked stays. All of this is arithmetic: who books, and when, is the store's and the server's.

mod entitlements;
mod period;

use std::collections::BTreeMap;

pub use entitlements::{Entitlement, EntitlementSet};
pub use period::Period;

use crate::credits::{CreditCount, UNLIMITED};

/// The plan whose credits do not count. It is always there.
pub const UNLIMITED_PLAN: &str = "unlimited";
/// Maximum credits of a plan's grant: 1/1,000 of the amount that counts as unlimited.
pub const PLAN_CREDITS_MAX: CreditCount = UNLIMITED / 1_000;
/// The plan that gives nothing by itself. It is always there.
pub const METERED_PLAN: &str = "metered";

/// The longest name of a plan, in bytes.
pub const NAME_MAX: usize = 40;

/// A trial: once, when an organization is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialTerms {
    /// So many whole days; it ends at the midnight (UTC) after them.
    pub days: i64,
    /// Credits for it; what is left of them ends with it.
    pub credits: CreditCount,
}

/// What happens when credits are out: bought ones are put in, as often as is agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refill {
    /// Prepaid credits that are put in at a time; above zero.
    pub credits: CreditCount,
    /// How often in one period at most.
    pub times: i64,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// By what it is known: lower-case letters, digits, `-` and `_`.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Credits of each period; none where it is zero.
    pub monthly: CreditCount,
    /// Whether what is left of them stays beyond the period.
    pub keeps_unused: bool,
    /// Prepaid credits that a new organization begins with.
    pub initial: CreditCount,
    /// How many people may belong to an organization; none where nobody counts.
    pub seats: Option<i64>,
    /// What may be used.
    pub entitlements: EntitlementSet,
    /// The trial of new organizations.
    pub trial: Option<TrialTerms>,
    /// Requests a minute; none where the installation's limit counts.
    pub rate_limit_per_minute: Option<i64>,
    /// What happens when credits are out; none where requests are refused then.
    pub refill: Option<Refill>,
    /// Below how many credits the balance is low; none where nobody is told.
    pub low_balance: Option<CreditCount>,
}

impl Plan {
    /// A plan without credits, limits or a trial, with which everything may be used.
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

    /// The plan whose credits do not count.
    pub fn unlimited() -> Self {
        Self { initial: UNLIMITED, ..Self::bare(UNLIMITED_PLAN) }
    }

    /// The plan that gives so many prepaid credits to begin with, and nothing more by itself.
    pub fn metered(initial: CreditCount) -> Self {
        Self { initial, ..Self::bare(METERED_PLAN) }
    }

    /// Whether its credits do not count.
    pub fn is_unlimited(&self) -> bool {
        self.name == UNLIMITED_PLAN
    }

    /// Whether it is always there and not the configuration's.
    pub fn is_built_in(&self) -> bool {
        is_built_in(&self.name)
    }
}

/// Whether a plan with this name is always there.
pub fn is_built_in(name: &str) -> bool {
    matches!(name, UNLIMITED_PLAN | METERED_PLAN)
}

/// Whether a plan can be called this: 1 to [`NAME_MAX`] lower-case letters, digits, `-` and `_`.
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
    /// The plans that are always there; new organizations are unlimited.
    fn default() -> Self {
        Self::new([], UNLIMITED_PLAN, 0).expect("the plan is always there")
    }
}

impl Plans {
    /// The configured plans and those that are always there. `first` is the plan of new organizations where nobody names one,
    /// `initial` what the metered plan gives to begin with. None where no plan is called `first`.
    pub fn new(configured: impl IntoIterator<Item = Plan>, first: &str, initial: CreditCount) -> Option<Self> {
        let all = configured.into_iter().chain([Plan::unlimited(), Plan::metered(initial)]);
        let by_name: BTreeMap<_, _> = all.map(|plan| (plan.name.clone(), plan)).collect();
        by_name.contains_key(first).then(|| Self { by_name, first: first.to_owned() })
    }

    /// The plan with a name.
    pub fn get(&self, name: &str) -> Option<&Plan> {
        self.by_name.get(name)
    }

    /// The plan with a name. An organization may be on a plan that the configuration does not have any more: it keeps what it
    /// has and gets nothing new, as on the metered plan.
    pub fn of(&self, name: &str) -> &Plan {
        self.get(name).unwrap_or_else(|| &self.by_name[METERED_PLAN])
    }

    /// The plan of new organizations.
    pub fn first(&self) -> &Plan {
        &self.by_name[&self.first]
    }

    /// Every plan, by name.
    pub fn all(&self) -> impl Iterator<Item = &Plan> {
        self.by_name.values()
    }
}

#[cfg(test)]
mod tests;
