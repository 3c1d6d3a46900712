//! Credits: what an answer costs, and how an organization's balance moves.
//!
//! A credit pays for one verdict. Credits lie in two buckets; those of a subscription expire with its period, so they are
//! spent first. Work takes a *hold* before it begins, each verdict that costs something *captures* a part of it, and the rest
//! is *released*: two requests can never spend the same credit, and work that is never finished never costs.
//!
//! [`Balance`] is the whole of the accounting as pure functions, with the one law of the books, [`Balance::holds`]. A store
//! does the same in tables; its tests compare it with this. Nothing here panics on any number: what would overflow is
//! [`MovementRefused`].

mod balance;

pub use balance::{Balance, MovementRefused};

use probity_mail::verdict::Reason;

/// A number of credits; not negative unless said otherwise.
pub type CreditCount = i64;

/// The grant of an account without a limit: given once, when it comes to such a plan.
///
/// Unlimited is no special case: it is a grant that nobody uses up, so that holds, captures, reports and the law of the books
/// are the same for everybody. 5,000 verdicts a second take six years for 10^12; nine million such grants fit
/// into 64 bits, and the number is exact in every reader of JSON (2^53 is 9,000 times as much).
pub const UNLIMITED: CreditCount = 1_000_000_000_000;

/// Whether a verdict with this raw reason costs nothing: what could not be found out is free.
pub fn is_free(reason: Reason) -> bool {
    matches!(reason, Reason::Unverified | Reason::FailedExchange)
}

probity_mail::named! {
    /// Where credits come from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum CreditBucket {
        /// Of the plan; they expire with its period and are spent first.
        Subscription = "subscription",
        /// Bought or given; they stay.
        Prepaid = "prepaid",
    }
}

/// An amount in each bucket. Amounts are not negative; only [`Balance::adjusted`] and what is added to it have a sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Split {
    /// Credits of the plan.
    pub subscription: CreditCount,
    /// Bought or given credits.
    pub prepaid: CreditCount,
}

impl Split {
    /// Nothing in either bucket.
    pub const ZERO: Self = Self { subscription: 0, prepaid: 0 };

    /// One credit of a bucket: the price of a verdict.
    pub fn single(bucket: CreditBucket) -> Self {
        match bucket {
            CreditBucket::Subscription => Self { subscription: 1, ..Self::ZERO },
            CreditBucket::Prepaid => Self { prepaid: 1, ..Self::ZERO },
        }
    }

    /// What is in one bucket.
    pub fn of(self, bucket: CreditBucket) -> CreditCount {
        match bucket {
            CreditBucket::Subscription => self.subscription,
            CreditBucket::Prepaid => self.prepaid,
        }
    }

    /// What is in both; the largest number there is where the sum is above it.
    pub fn total(self) -> CreditCount {
        self.subscription.saturating_add(self.prepaid)
    }

    /// Whether this is an amount, without a sign: both buckets are zero or more.
    pub fn is_amount(self) -> bool {
        self.subscription >= 0 && self.prepaid >= 0
    }

    /// The sum of each bucket; none where one overflows.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let subscription = self.subscription.checked_add(other.subscription)?;
        let prepaid = self.prepaid.checked_add(other.prepaid)?;
        Some(Self { subscription, prepaid })
    }

    /// What remains of each bucket; none where one would be negative (or overflows).
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        let subscription = self.subscription.checked_sub(other.subscription)?;
        let prepaid = self.prepaid.checked_sub(other.prepaid)?;
        Some(Self { subscription, prepaid }).filter(|rest| rest.is_amount())
    }

    /// From which buckets `n` credits come: the subscription's as far as they reach, then prepaid ones. None where there are
    /// not `n`, or where `n` is negative. Nothing is taken out of `available`.
    pub fn take(available: Self, n: CreditCount) -> Option<Self> {
        let subscription = available.subscription.min(n);
        let taken = Self { subscription, prepaid: n.checked_sub(subscription)? };
        (taken.is_amount() && taken.prepaid <= available.prepaid).then_some(taken)
    }
}

#[cfg(test)]
mod tests;
