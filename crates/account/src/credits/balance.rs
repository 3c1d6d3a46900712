//! The balance of an organization and its six movements.

use super::{CreditBucket, CreditCount, Split};

/// Why a movement did not happen; the balance is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MovementRefused {
    /// There are fewer credits than wanted.
    #[error("{needed} credits are needed and {available} are available")]
    Insufficient {
        /// How many were wanted, in both buckets.
        needed: CreditCount,
        /// How many there are, in both buckets.
        available: CreditCount,
    },
    /// More would be captured or released than is held.
    #[error("more credits than are held")]
    NotHeld,
    /// An amount below zero.
    #[error("a negative amount of credits")]
    Negative,
    /// A sum that 64 bits do not hold.
    #[error("more credits than can be counted")]
    Overflow,
}

/// What an organization has and had. Every movement takes a balance and gives the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Free to be held.
    pub available: Split,
    /// Set aside for work under way.
    pub held: Split,
    /// Captured, ever.
    pub spent: Split,
    /// Granted, ever.
    pub granted: Split,
    /// Expired, ever.
    pub expired: Split,
    /// Corrections by an operator, ever; the only amount with a sign.
    pub adjusted: Split,
}

impl Balance {
    /// The law of the books, for each bucket: available + held + spent = granted - expired + adjusted, and nothing but the
    /// corrections is negative.
    pub fn holds(&self) -> bool {
        let amounts = [self.available, self.held, self.spent, self.granted, self.expired];
        // In 128 bits, because this must be true of balances that the movements have not made, too.
        let of = |split: Split, bucket| i128::from(split.of(bucket));
        let balanced = |bucket| {
            let there = of(self.available, bucket) + of(self.held, bucket) + of(self.spent, bucket);
            let given = of(self.granted, bucket) - of(self.expired, bucket) + of(self.adjusted, bucket);
            there == given
        };
        amounts.into_iter().all(Split::is_amount) && CreditBucket::ALL.into_iter().all(balanced)
    }

    /// Credits are bought, given, or come with a period of the plan.
    pub fn grant(self, amount: Split) -> Result<Self, MovementRefused> {
        let amount = checked(amount)?;
        Ok(Self { available: sum(self.available, amount)?, granted: sum(self.granted, amount)?, ..self })
    }

    /// Sets `n` credits aside, the subscription's first; also gives the split, which the hold must remember.
    pub fn hold(self, n: CreditCount) -> Result<(Self, Split), MovementRefused> {
        if n < 0 {
            return Err(MovementRefused::Negative);
        }
        let insufficient = MovementRefused::Insufficient { needed: n, available: self.available.total() };
        let taken = Split::take(self.available, n).ok_or(insufficient)?;
        let available = self.available.checked_sub(taken).ok_or(insufficient)?;
        Ok((Self { available, held: sum(self.held, taken)?, ..self }, taken))
    }

    /// Held credits are spent.
    pub fn capture(self, amount: Split) -> Result<Self, MovementRefused> {
        let held = self.held.checked_sub(checked(amount)?).ok_or(MovementRefused::NotHeld)?;
        Ok(Self { held, spent: sum(self.spent, amount)?, ..self })
    }

    /// Held credits are free again, in the bucket from which they came.
    pub fn release(self, amount: Split) -> Result<Self, MovementRefused> {
        let held = self.held.checked_sub(checked(amount)?).ok_or(MovementRefused::NotHeld)?;
        Ok(Self { held, available: sum(self.available, amount)?, ..self })
    }

    /// Free credits expire. Held ones do not: the work that holds them began in time.
    pub fn expire(self, amount: Split) -> Result<Self, MovementRefused> {
        let available = self.take_away(checked(amount)?)?;
        Ok(Self { available, expired: sum(self.expired, amount)?, ..self })
    }

    /// An operator's correction in either direction; it cannot take what is held or not there.
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

    /// The refusal of a movement that wanted these amounts out of the two buckets.
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
