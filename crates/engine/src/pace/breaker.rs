//! Circuit breaker: pauses a site after a client refusal, each time twice as long.

use probity_mail::policy::Policy;
use probity_mail::time::Millis;

/// Longest pause honored at a server's request, one day: a longer one was misread or not meant seriously.
const ASKED_MAX_MS: i64 = 86_400_000;
/// Strikes are forgotten after this many times the longest pause without another one.
const FORGET_AFTER: i64 = 4;

#[derive(Clone, Debug, Default)]
pub(crate) struct CircuitBreaker {
    open_until: Option<Millis>,
    strikes: u32,
    /// Time when the strikes are forgotten, unless there is another one.
    forgotten_at: Option<Millis>,
}

/// State of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BreakerPhase {
    /// Allows everything; no strike is remembered.
    Closed,
    /// Allows everything, but the next refusal costs a longer pause.
    HalfOpen,
    /// Allows nothing, until this time.
    Open(Millis),
}

impl CircuitBreaker {
    /// Time when the site may be probed again, if it is paused.
    pub(crate) fn open_until(&self, now: Millis) -> Option<Millis> {
        self.open_until.filter(|until| *until > now)
    }

    /// Records a client refusal. `asked_ms` is the pause that the reply requests.
    pub(crate) fn strike(&mut self, now: Millis, asked_ms: Option<i64>, policy: &Policy) {
        if self.open_until(now).is_some() {
            // Replies to probes in flight when it opened are not a second offense.
            return;
        }
        if self.forgotten_at.is_some_and(|at| at < now) {
            self.strikes = 0;
        }
        let doubled = policy.breaker_ms_min.saturating_mul(1 << self.strikes.min(16));
        let own_ms = doubled.min(policy.breaker_ms_max);
        let pause_ms = own_ms.max(asked_ms.unwrap_or(0).min(ASKED_MAX_MS));
        self.open_until = Some(now + pause_ms);
        self.forgotten_at = Some(now + policy.breaker_ms_max.saturating_mul(FORGET_AFTER));
        self.strikes += 1;
    }

    /// Current state.
    pub(crate) fn phase(&self, now: Millis) -> BreakerPhase {
        match (self.open_until(now), self.forgotten_at) {
            (Some(until), _) => BreakerPhase::Open(until),
            (None, Some(at)) if at >= now => BreakerPhase::HalfOpen,
            _ => BreakerPhase::Closed,
        }
    }
}

#[cfg(test)]
mod tests {
    use probity_mail::policy::{PaceProfile, Policies};

    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_are_forgotten() {
        let policy = Policies::embedded().for_exchanger("mx.example.com", PaceProfile::Polite);
        let (first, longest) = (policy.breaker_ms_min, policy.breaker_ms_max);
        let mut breaker = CircuitBreaker::default();
        let mut now = Millis(0);
        let mut expected = first;
        for _ in 0..12 {
            breaker.strike(now, None, &policy);
            breaker.strike(now, None, &policy);
            assert_eq!(breaker.open_until(now), Some(now + expected));
            assert_eq!(breaker.phase(now), BreakerPhase::Open(now + expected));
            now = now + expected;
            assert_eq!((breaker.open_until(now), breaker.phase(now)), (None, BreakerPhase::HalfOpen));
            expected = (expected * 2).min(longest);
        }
        now = now + longest * FORGET_AFTER + 1;
        assert_eq!(breaker.phase(now), BreakerPhase::Closed);
        breaker.strike(now, None, &policy);
        assert_eq!(breaker.open_until(now), Some(now + first));
    }

    #[test]
    fn the_pause_that_a_reply_asks_for_is_kept_within_reason() {
        let policy = Policies::embedded().for_exchanger("mx.example.com", PaceProfile::Polite);
        let mut breaker = CircuitBreaker::default();
        breaker.strike(Millis(0), Some(i64::MAX), &policy);
        assert_eq!(breaker.open_until(Millis(0)), Some(Millis(ASKED_MAX_MS)));
    }
}
