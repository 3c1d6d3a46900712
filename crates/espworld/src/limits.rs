//! Rate limits of a platform, counted by the world's clock.

use std::collections::{BTreeMap, VecDeque};

/// Rate limit of a platform. A call counts for every limit that applies to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EspLimit {
    /// Methods and path prefixes below the root, as in `POST /jobs`; if empty, every call.
    pub of: &'static [&'static str],
    /// Paths to which the limit does not apply.
    pub except: &'static [&'static str],
    pub per_ms: i64,
    pub max: usize,
    /// Whether any span of this length counts. Otherwise, spans start at multiples of `per_ms`.
    pub is_rolling: bool,
}

impl EspLimit {
    /// Returns a limit for all calls, in spans by the clock.
    pub(crate) const fn of_all(per_ms: i64, max: usize) -> Self {
        Self { of: &[], except: &[], per_ms, max, is_rolling: false }
    }

    /// Returns a limit for some calls.
    pub(crate) const fn of(of: &'static [&'static str], per_ms: i64, max: usize) -> Self {
        Self { of, ..Self::of_all(per_ms, max) }
    }

    fn is_for(&self, method: &str, path: &str) -> bool {
        let fits = |pattern: &&str| match pattern.split_once(' ') {
            Some((wanted, prefix)) => wanted == method && path.starts_with(prefix),
            None => path.starts_with(*pattern),
        };
        (self.of.is_empty() || self.of.iter().any(&fits)) && !self.except.iter().any(fits)
    }
}

/// Limit that a call exceeds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EspExcess {
    pub limit: EspLimit,
    /// Wait until the next call is allowed, in milliseconds.
    pub wait_ms: i64,
}

impl EspExcess {
    /// Returns the wait in seconds, rounded up.
    pub(crate) fn seconds(&self) -> i64 {
        self.wait_ms.div_euclid(1000) + 1
    }
}

/// Counted calls.
#[derive(Debug, Default)]
pub(crate) struct EspCounts {
    calls: BTreeMap<usize, VecDeque<i64>>,
}

impl EspCounts {
    /// Counts a call, unless it exceeds a limit.
    pub(crate) fn take(&mut self, limits: &[EspLimit], method: &str, path: &str, now: i64) -> Option<EspExcess> {
        let mine: Vec<_> = limits.iter().enumerate().filter(|(_, limit)| limit.is_for(method, path)).collect();
        let mut excess: Option<EspExcess> = None;
        for (number, limit) in &mine {
            let calls = self.calls.entry(*number).or_default();
            let from = if limit.is_rolling { now - limit.per_ms + 1 } else { now - now.rem_euclid(limit.per_ms) };
            while calls.front().is_some_and(|at| *at < from) {
                calls.pop_front();
            }
            if calls.len() >= limit.max {
                let first = calls.front().copied().unwrap_or(now);
                let end = if limit.is_rolling { first + limit.per_ms } else { from + limit.per_ms };
                let wait_ms = (end - now).max(1);
                if excess.is_none_or(|known| known.wait_ms < wait_ms) {
                    excess = Some(EspExcess { limit: **limit, wait_ms });
                }
            }
        }
        if excess.is_none() {
            for (number, _) in mine {
                self.calls.entry(number).or_default().push_back(now);
            }
        }
        excess
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_too_many_waits_for_the_end_of_its_span() {
        let limits = [EspLimit::of_all(1_000, 2)];
        let mut counts = EspCounts::default();
        assert!(counts.take(&limits, "GET", "/", 900).is_none());
        assert!(counts.take(&limits, "GET", "/", 950).is_none());
        assert_eq!(counts.take(&limits, "GET", "/", 960).unwrap().wait_ms, 40);
        assert!(counts.take(&limits, "GET", "/", 1_000).is_none());
        let rolling = [EspLimit { is_rolling: true, ..limits[0] }];
        let mut counts = EspCounts::default();
        assert!(counts.take(&rolling, "GET", "/", 900).is_none());
        assert!(counts.take(&rolling, "GET", "/", 950).is_none());
        assert_eq!(counts.take(&rolling, "GET", "/", 1_000).unwrap().wait_ms, 900);
        assert!(counts.take(&rolling, "GET", "/", 1_900).is_none());
    }

    #[test]
    fn limits_are_for_methods_and_paths() {
        let limits = [EspLimit::of(&["POST /jobs"], 1_000, 1)];
        let mut counts = EspCounts::default();
        for (method, path) in [("GET", "/jobs"), ("POST", "/other"), ("POST", "/jobs/1"), ("GET", "/jobs")] {
            assert!(counts.take(&limits, method, path, 0).is_none(), "{method} {path}");
        }
        assert!(counts.take(&limits, "POST", "/jobs", 0).is_some());
    }
}
