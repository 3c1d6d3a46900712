//! Circuit breaker: pauses a site after two client refusals, each time twice as long.
//!
//! One reply may be misread, or be about its recipient. So the first refusal only counts: a second one opens the breaker, unless
//! the site answers about recipients in between. On trial after a pause, one refusal is enough.

use probity_mail::policy::Policy;
use probity_mail::time::Millis;

/// Longest pause honored at a server's request, one day: a longer one was misread or not meant seriously.
const ASKED_MAX_MS: i64 = 86_400_000;
/// Refusals that open a closed breaker.
const REFUSALS_MIN: u32 = 2;
/// Strikes are forgotten after this many times the longest pause without another one.
const FORGET_AFTER: i64 = 4;

#[derive(Clone, Debug, Default)]
pub(crate) struct CircuitBreaker {
    open_until: Option<Millis>,
    /// Refusals that have not opened it, and the time of the last.
    refusals: u32,
    refused_at: Option<Millis>,
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

    /// Records replies that refuse us. `asked_ms` is the pause that they request.
    pub(crate) fn refused(&mut self, now: Millis, replies: u32, asked_ms: Option<i64>, policy: &Policy) {
        let old = self.refused_at.is_none_or(|at| now.since(at) > policy.breaker_ms_max);
        self.refusals = if old { replies } else { self.refusals.saturating_add(replies) };
        self.refused_at = Some(now);
        if self.refusals >= REFUSALS_MIN || self.phase(now) == BreakerPhase::HalfOpen {
            self.refusals = 0;
            self.strike(now, asked_ms, policy);
        }
    }

    /// Records that the site answered about recipients, and did not refuse us.
    pub(crate) fn answered(&mut self) {
        self.refusals = 0;
    }

    /// Opens, unless it is open. `asked_ms` is the pause that the reply requests.
    fn strike(&mut self, now: Millis, asked_ms: Option<i64>, policy: &Policy) {
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
    fn one_refusal_opens_nothing_and_a_second_does() {
        let policy = Policies::embedded().for_exchanger("mx.example.com", PaceProfile::Polite);
        let at = |ms: i64| Millis(1_000_000 + ms);
        // Replies of a flight, the next flight, and whether recipients were answered about in between.
        for (first, second_at, answered, opens) in [
            (2, None, false, true),
            (1, None, false, false),
            (1, Some(5), false, true),
            (1, Some(5), true, false),
            (1, Some(policy.breaker_ms_max + 6), false, false),
        ] {
            let mut breaker = CircuitBreaker::default();
            breaker.refused(at(0), first, None, &policy);
            if answered {
                breaker.answered();
            }
            if let Some(ms) = second_at {
                breaker.refused(at(ms), 1, None, &policy);
            }
            assert_eq!(breaker.open_until(at(10)).is_some(), opens, "{first} {second_at:?} {answered}");
        }
    }

    #[test]
    fn on_trial_one_refusal_is_enough() {
        let policy = Policies::embedded().for_exchanger("mx.example.com", PaceProfile::Polite);
        let mut breaker = CircuitBreaker::default();
        breaker.refused(Millis(0), 2, None, &policy);
        let trial = breaker.open_until(Millis(0)).unwrap();
        assert_eq!(breaker.phase(trial), BreakerPhase::HalfOpen);
        breaker.refused(trial, 1, None, &policy);
        assert_eq!(breaker.open_until(trial), Some(trial + 2 * policy.breaker_ms_min));
    }

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
