//! Rates: the generic cell rate algorithm (GCRA), a token bucket that needs one number.
//!
//! A limit of `count` per `period` with a burst lets `burst` events through at once and then one every `period / count`.
//! It stores the *theoretical arrival time*: the point at which the bucket would be full again. [`Gcra::take`] spends what
//! is there; [`Gcra::charge`] books what has already happened and may leave a debt, as refused recipients do.

use crate::time::Millis;

/// A token bucket. Times inside are microseconds, so that rates of thousands a second are exact enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gcra {
    step_us: i64,
    burst: i64,
    full_at_us: i64,
}

impl Gcra {
    /// A full bucket: `count` (at least 1) per `period_ms`, at most `burst` (at least 1) at once.
    pub fn new(count: u32, period_ms: i64, burst: u32) -> Self {
        Self::every(period_ms.max(1).saturating_mul(1_000) / i64::from(count.max(1)), burst)
    }

    /// A full bucket: one per `step_us` microseconds (at least 1), at most `burst` (at least 1) at once.
    pub fn every(step_us: i64, burst: u32) -> Self {
        Self { step_us: step_us.max(1), burst: i64::from(burst.max(1)), full_at_us: i64::MIN / 2 }
    }

    /// The same bucket under the limit of a fresh one. The used part stays used, so that a change of the limit does not fill the
    /// bucket.
    #[must_use]
    pub fn resized(&self, now: Millis, fresh: &Self) -> Self {
        let whole_us = |bucket: &Self| i128::from(bucket.step_us) * i128::from(bucket.burst);
        let used_us = i128::from((self.full_at_us - micros(now)).max(0));
        // Rounded up: changing it back and forth gains nothing.
        let carried_us = (used_us * whole_us(fresh) + whole_us(self) - 1) / whole_us(self);
        let carried_us = i64::try_from(carried_us).unwrap_or(i64::MAX);
        Self { full_at_us: micros(now).saturating_add(carried_us), ..*fresh }
    }

    /// How many may pass at once from a full bucket.
    pub fn burst(&self) -> u32 {
        u32::try_from(self.burst).unwrap_or(u32::MAX)
    }

    /// How many may pass now.
    pub fn available(&self, now: Millis) -> u32 {
        let used_us = (self.full_at_us - micros(now)).max(0);
        // Rounded up: a token that is partly refilled is not there yet.
        let used = (used_us + self.step_us - 1) / self.step_us;
        u32::try_from((self.burst - used).max(0)).unwrap_or(u32::MAX)
    }

    /// Spends `n` tokens, or says when that many will be there. More than the burst never is; ask for less.
    pub fn take(&mut self, now: Millis, n: u32) -> Result<(), Millis> {
        if self.available(now) >= n {
            self.charge(now, n);
            return Ok(());
        }
        Err(self.ready_at(n))
    }

    /// Books `n` events that have happened, whether or not there were tokens for them.
    pub fn charge(&mut self, now: Millis, n: u32) {
        self.full_at_us = self.full_at_us.max(micros(now)).saturating_add(self.step_us.saturating_mul(i64::from(n)));
    }

    /// Puts `n` tokens back that were taken for something that did not happen.
    pub fn give_back(&mut self, now: Millis, n: u32) {
        self.full_at_us = self.full_at_us.saturating_sub(self.step_us.saturating_mul(i64::from(n))).max(micros(now));
    }

    /// When `n` tokens (at most the burst) will be there.
    pub fn ready_at(&self, n: u32) -> Millis {
        let n = i64::from(n).min(self.burst);
        let at_us = self.full_at_us - (self.burst - n) * self.step_us;
        Millis(at_us.div_euclid(1_000) + i64::from(at_us.rem_euclid(1_000) > 0))
    }
}

fn micros(at: Millis) -> i64 {
    at.0.saturating_mul(1_000)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_burst_passes_at_once_and_then_the_rate_holds() {
        let mut limit = Gcra::new(60, 60_000, 3);
        let start = Millis(1_000_000);
        for _ in 0..3 {
            assert_eq!(limit.take(start, 1), Ok(()));
        }
        assert_eq!(limit.take(start, 1), Err(start + 1_000));
        assert_eq!(limit.take(start + 999, 1), Err(start + 1_000));
        assert_eq!(limit.take(start + 1_000, 1), Ok(()));
        assert_eq!(limit.available(start + 4_000), 3);
    }

    #[test]
    fn a_debt_is_paid_back_before_anything_passes() {
        let mut limit = Gcra::new(20, 3_600_000, 20);
        limit.charge(Millis(0), 25);
        assert_eq!(limit.available(Millis(0)), 0);
        assert_eq!(limit.ready_at(1), Millis(6 * 180_000));
        assert_eq!(limit.available(Millis(6 * 180_000)), 1);
    }

    #[test]
    fn what_did_not_happen_is_put_back() {
        let mut limit = Gcra::new(60, 60_000, 3);
        for _ in 0..3 {
            assert_eq!(limit.take(Millis(0), 1), Ok(()));
        }
        limit.give_back(Millis(0), 1);
        assert_eq!(limit.available(Millis(0)), 1);
        limit.give_back(Millis(0), 9);
        assert_eq!(limit.available(Millis(0)), 3, "never more than the burst");
    }

    #[test]
    fn another_limit_fills_nothing_and_takes_nothing() {
        let now = Millis(1_000_000);
        let mut limit = Gcra::new(40, 60_000, 40);
        limit.charge(now, 30);
        for (count, left) in [(40, 10), (39, 9), (80, 20), (4, 1), (1, 0), (4_000, 1_000)] {
            let other = limit.resized(now, &Gcra::new(count, 60_000, count));
            assert_eq!(other.available(now), left, "{count} a minute");
            // What is rounded up on the way are microseconds.
            let back = other.resized(now, &Gcra::new(40, 60_000, 40));
            assert_eq!(back.available(now + 1), 10, "there and back by {count}");
        }
        limit.charge(now, 30);
        assert_eq!(limit.resized(now, &Gcra::new(80, 60_000, 80)).available(now), 0, "a debt stays one");
        let full = Gcra::new(40, 60_000, 40).resized(now, &Gcra::new(7, 60_000, 7));
        assert_eq!((full.available(now), full.available(now + 60_000)), (7, 7));
    }

    proptest! {
        #[test]
        fn what_passes_never_exceeds_burst_and_rate(
            count in 1u32..500, burst in 1u32..50, steps in prop::collection::vec((0i64..2_000, 1u32..10), 1..200),
        ) {
            let mut limit = Gcra::new(count, 60_000, burst);
            let (mut now, mut passed) = (Millis(0), 0i64);
            for (wait, n) in steps {
                now = now + wait;
                match limit.take(now, n) {
                    Ok(()) => passed += i64::from(n),
                    Err(at) if n <= burst => {
                        prop_assert!(at > now);
                        prop_assert!(limit.available(at) >= n);
                    }
                    Err(_) => {}
                }
                prop_assert!(passed <= i64::from(burst) + now.0 * i64::from(count) / 60_000 + 1);
            }
        }
    }
}
