//! Credits: the price of a verdict, and movements of an organization's balance.
//!
//! A credit pays for one verdict. There are two buckets; subscription credits expire with their period, so they are spent first.
//! Work takes a *hold* before it begins, each charged verdict *captures* part of it, and the rest is *released*. So two requests
//! never spend the same credit, and unfinished work costs nothing.
//!
//! [`Balance`] models the ledger as pure functions, with its invariant [`Balance::holds`]. The store does the same in tables, and
//! its tests compare it with this model. Nothing here panics on any number: an overflow is [`MovementRefused`].

mod balance;

pub use balance::{Balance, MovementRefused};

use probity_mail::verdict::Reason;

/// Number of credits; not negative unless stated otherwise.
pub type CreditCount = i64;

/// Grant of an account without a limit, made once when it moves to such a plan.
///
/// Unlimited is not a special case but a grant that is never used up, so holds, captures, reports and the ledger's invariant are
/// the same for all accounts. At 5,000 verdicts per second, 10^12 credits last six years; nine million such grants fit into 64
/// bits, and readers of JSON represent the number exactly (2^53 is 9,000 times as much).
pub const UNLIMITED: CreditCount = 1_000_000_000_000;

/// Returns whether a verdict with this raw reason is free: inconclusive verdicts are.
pub fn is_free(reason: Reason) -> bool {
    matches!(reason, Reason::Unverified | Reason::FailedExchange)
}

probity_mail::named! {
    /// Source of credits.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum CreditBucket {
        /// Credits of the plan; they expire with its period and are spent first.
        Subscription = "subscription",
        /// Purchased or granted credits, which do not expire.
        Prepaid = "prepaid",
    }
}

/// Amount in each bucket. Not negative, except in [`Balance::adjusted`] and its summands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Split {
    /// Credits of the plan.
    pub subscription: CreditCount,
    /// Purchased or granted credits.
    pub prepaid: CreditCount,
}

impl Split {
    /// Nothing in either bucket.
    pub const ZERO: Self = Self { subscription: 0, prepaid: 0 };

    /// Returns one credit of a bucket: the price of a verdict.
    pub fn single(bucket: CreditBucket) -> Self {
        match bucket {
            CreditBucket::Subscription => Self { subscription: 1, ..Self::ZERO },
            CreditBucket::Prepaid => Self { prepaid: 1, ..Self::ZERO },
        }
    }

    /// Returns the amount in one bucket.
    pub fn of(self, bucket: CreditBucket) -> CreditCount {
        match bucket {
            CreditBucket::Subscription => self.subscription,
            CreditBucket::Prepaid => self.prepaid,
        }
    }

    /// Returns the sum of both buckets, saturating.
    pub fn total(self) -> CreditCount {
        self.subscription.saturating_add(self.prepaid)
    }

    /// Returns whether both buckets are zero or more.
    pub fn is_amount(self) -> bool {
        self.subscription >= 0 && self.prepaid >= 0
    }

    /// Adds each bucket; `None` on overflow.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let subscription = self.subscription.checked_add(other.subscription)?;
        let prepaid = self.prepaid.checked_add(other.prepaid)?;
        Some(Self { subscription, prepaid })
    }

    /// Subtracts each bucket; `None` if one would be negative or overflows.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        let subscription = self.subscription.checked_sub(other.subscription)?;
        let prepaid = self.prepaid.checked_sub(other.prepaid)?;
        Some(Self { subscription, prepaid }).filter(|rest| rest.is_amount())
    }

    /// Splits `n` credits into buckets: subscription credits first, then prepaid ones. `None` if there are fewer than `n`, or if
    /// `n` is negative. `available` is not changed.
    pub fn take(available: Self, n: CreditCount) -> Option<Self> {
        let subscription = available.subscription.min(n);
        let taken = Self { subscription, prepaid: n.checked_sub(subscription)? };
        (taken.is_amount() && taken.prepaid <= available.prepaid).then_some(taken)
    }
}

#[cfg(test)]
mod tests;
