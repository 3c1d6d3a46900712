//! The balance of an organization and its six movements.

use super::{CreditBucket, CreditCount, Split};

/// Reason why a movement was refused; the balance is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MovementRefused {
    /// Too few credits.
    #[error("{needed} credits are needed and {available} are available")]
    Insufficient {
        /// Number of credits needed, in both buckets.
        needed: CreditCount,
        /// Number of credits available, in both buckets.
        available: CreditCount,
    },
    /// A capture or release exceeds the hold.
    #[error("more credits than are held")]
    NotHeld,
    /// Negative amount.
    #[error("a negative amount of credits")]
    Negative,
    /// The sum exceeds 64 bits.
    #[error("more credits than can be counted")]
    Overflow,
}

/// Current and total amounts of an organization. Every movement takes a balance and returns the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Available credits.
    pub available: Split,
    /// Credits held for work in progress.
    pub held: Split,
    /// Total of captured credits.
    pub spent: Split,
    /// Total of granted credits.
    pub granted: Split,
    /// Total of expired credits.
    pub expired: Split,
    /// Total of corrections by an operator; the only signed amount.
    pub adjusted: Split,
}

impl Balance {
    /// Returns whether the ledger's invariant holds in each bucket: available + held + spent = granted - expired + adjusted, and
    /// only corrections are negative.
    pub fn holds(&self) -> bool {
        let amounts = [self.available, self.held, self.spent, self.granted, self.expired];
        // In 128 bits, because balances that no movement made are checked, too.
        let of = |split: Split, bucket| i128::from(split.of(bucket));
        let balanced = |bucket| {
            let there = of(self.available, bucket) + of(self.held, bucket) + of(self.spent, bucket);
            let given = of(self.granted, bucket) - of(self.expired, bucket) + of(self.adjusted, bucket);
            there == given
        };
        amounts.into_iter().all(Split::is_amount) && CreditBucket::ALL.into_iter().all(balanced)
    }

    /// Adds credits that were purchased, granted, or come with a period of the plan.
    pub fn grant(self, amount: Split) -> Result<Self, MovementRefused> {
        let amount = checked(amount)?;
        Ok(Self { available: sum(self.available, amount)?, granted: sum(self.granted, amount)?, ..self })
    }

    /// Holds `n` credits, subscription credits first; also returns the split, which the hold must store.
    pub fn hold(self, n: CreditCount) -> Result<(Self, Split), MovementRefused> {
        if n < 0 {
            return Err(MovementRefused::Negative);
        }
        let insufficient = MovementRefused::Insufficient { needed: n, available: self.available.total() };
        let taken = Split::take(self.available, n).ok_or(insufficient)?;
        let available = self.available.checked_sub(taken).ok_or(insufficient)?;
        Ok((Self { available, held: sum(self.held, taken)?, ..self }, taken))
    }

    /// Spends held credits.
    pub fn capture(self, amount: Split) -> Result<Self, MovementRefused> {
        let held = self.held.checked_sub(checked(amount)?).ok_or(MovementRefused::NotHeld)?;
        Ok(Self { held, spent: sum(self.spent, amount)?, ..self })
    }

    /// Releases held credits to their bucket.
    pub fn release(self, amount: Split) -> Result<Self, MovementRefused> {
        let held = self.held.checked_sub(checked(amount)?).ok_or(MovementRefused::NotHeld)?;
        Ok(Self { held, available: sum(self.available, amount)?, ..self })
    }

    /// Expires available credits. Held credits do not expire, because their work began in time.
    pub fn expire(self, amount: Split) -> Result<Self, MovementRefused> {
        let available = self.take_away(checked(amount)?)?;
        Ok(Self { available, expired: sum(self.expired, amount)?, ..self })
    }

    /// Applies an operator's correction in either direction; it cannot take held or missing credits.
    pub fn adjust(self, change: Split) -> Result<Self, MovementRefused> {
        let available = sum(self.available, change)?;
        if !available.is_amount() {
            return Err(self.insufficient(change.subscription.saturating_neg(), change.prepaid.saturating_neg()));
        }
        Ok(Self { available, adjusted: sum(self.adjusted, change)?, ..self })
    }

    fn take_away(self, amount: Split) -> Result<Split, MovementRefused> {
        let insufficient = self.insufficient(amount.subscription, amount.prepaid);
        self.available.checked_sub(amount).ok_or(insufficient)
    }

    /// Refuses a movement that needs these amounts from the two buckets.
    fn insufficient(self, subscription: CreditCount, prepaid: CreditCount) -> MovementRefused {
        let needed = Split { subscription: subscription.max(0), prepaid: prepaid.max(0) }.total();
        MovementRefused::Insufficient { needed, available: self.available.total() }
    }
}

fn checked(amount: Split) -> Result<Split, MovementRefused> {
    if amount.is_amount() { Ok(amount) } else { Err(MovementRefused::Negative) }
}

fn sum(one: Split, other: Split) -> Result<Split, MovementRefused> {
    one.checked_add(other).ok_or(MovementRefused::Overflow)
}
