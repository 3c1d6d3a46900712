//! The circuit breaker: after a refusal of us a site is left alone for a while, each time twice as long.

use probity_core::policy::Policy;
use probity_core::time::Millis;

/// A pause that a server asks for is kept up to a day: beyond that its text was misread, or written by nobody in earnest.
const ASKED_MAX_MS: i64 = 86_400_000;
/// Strikes are forgotten after this many times the longest pause without another one.
const FORGET_AFTER: i64 = 4;

#[derive(Clone, Debug, Default)]
pub(crate) struct Breaker {
    open_until: Option<Millis>,
    strikes: u32,
    last_strike: Option<Millis>,
}

impl Breaker {
    /// When the site may be asked again, if it may not be now.
    pub(crate) fn open_until(&self, now: Millis) -> Option<Millis> {
        self.open_until.filter(|until| *until > now)
    }

    /// A refusal of us. `asked_ms` is the pause that the reply asks for.
    pub(crate) fn strike(&mut self, now: Millis, asked_ms: Option<i64>, policy: &Policy) {
        if self.open_until(now).is_some() {
            // Answers to questions that were under way when it opened are not a second offence.
            return;
        }
        let quiet_ms = self.last_strike.map_or(0, |last| now.since(last));
        if quiet_ms > policy.breaker_ms_max.saturating_mul(FORGET_AFTER) {
            self.strikes = 0;
        }
        let doubled = policy.breaker_ms_min.saturating_mul(1 << self.strikes.min(16));
        let own_ms = doubled.min(policy.breaker_ms_max);
        let pause_ms = own_ms.max(asked_ms.unwrap_or(0).min(ASKED_MAX_MS));
        self.open_until = Some(now + pause_ms);
        self.last_strike = Some(now);
        self.strikes += 1;
    }
}

#[cfg(test)]
mod tests {
    use probity_core::policy::{Policies, Profile};

    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_are_forgotten() {
        let policy = Policies::embedded().for_exchanger("mx.example.com", Profile::Polite);
        let (first, longest) = (policy.breaker_ms_min, policy.breaker_ms_max);
        let mut breaker = Breaker::default();
        let mut now = Millis(0);
        let mut expected = first;
        for _ in 0..12 {
            breaker.strike(now, None, &policy);
            breaker.strike(now, None, &policy);
            assert_eq!(breaker.open_until(now), Some(now + expected));
            now = now + expected;
            assert_eq!(breaker.open_until(now), None);
            expected = (expected * 2).min(longest);
        }
        now = now + longest * FORGET_AFTER + 1;
        breaker.strike(now, None, &policy);
        assert_eq!(breaker.open_until(now), Some(now + first));
    }

    #[test]
    fn the_pause_that_a_reply_asks_for_is_kept_within_reason() {
        let policy = Policies::embedded().for_exchanger("mx.example.com", Profile::Polite);
        let mut breaker = Breaker::default();
        breaker.strike(Millis(0), Some(i64::MAX), &policy);
        assert_eq!(breaker.open_until(Millis(0)), Some(Millis(ASKED_MAX_MS)));
    }
}
