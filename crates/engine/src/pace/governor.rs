//! Governor: probing too many missing mailboxes looks like a dictionary attack.

use std::collections::VecDeque;

use probity_mail::policy::{self, GOVERNOR_SAMPLE_MIN};
use probity_mail::time::Millis;

#[derive(Clone, Debug)]
pub(crate) struct MissingShareGovernor {
    limits: policy::GovernorPolicy,
    missing: VecDeque<bool>,
    paused_until: Option<Millis>,
}

impl MissingShareGovernor {
    pub(crate) fn new(limits: policy::GovernorPolicy) -> Self {
        Self { limits, missing: VecDeque::new(), paused_until: None }
    }

    /// End of the pause, if there is one.
    pub(crate) fn paused_until(&self, now: Millis) -> Option<Millis> {
        self.paused_until.filter(|until| *until > now)
    }

    /// Cost of each recipient against the rate: 2 while the share of missing ones is high.
    pub(crate) fn cost(&self) -> u32 {
        if self.share_percent() > self.limits.slow_percent { 2 } else { 1 }
    }

    /// Recipients of which `missing` are expected to be missing: as many, unless a sample has shown that most exist.
    pub(crate) fn recipients_for(&self, missing: u32) -> u32 {
        let share = self.share_percent();
        let is_known = self.missing.len() >= GOVERNOR_SAMPLE_MIN as usize && share <= self.limits.slow_percent;
        if is_known { missing.saturating_mul(100) / share.max(1) } else { missing }
    }

    /// Books replies: recipients answered, and those missing.
    pub(crate) fn record_findings(&mut self, now: Millis, answered: u32, missing: u32) {
        let window = usize::try_from(self.limits.window).unwrap_or(usize::MAX);
        for n in 0..answered {
            self.missing.push_back(n < missing);
        }
        while self.missing.len() > window {
            self.missing.pop_front();
        }
        if self.share_percent() > self.limits.pause_percent {
            self.paused_until = Some(now + self.limits.pause_ms);
            self.missing.clear();
        }
    }

    fn share_percent(&self) -> u32 {
        if self.missing.len() < GOVERNOR_SAMPLE_MIN as usize {
            return 0;
        }
        let missing = self.missing.iter().filter(|missing| **missing).count();
        u32::try_from(missing * 100 / self.missing.len()).unwrap_or(100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: policy::GovernorPolicy =
        policy::GovernorPolicy { window: 200, slow_percent: 35, pause_percent: 60, pause_ms: 3_600_000 };

    #[test]
    fn it_expects_as_many_missing_ones_as_there_were() {
        let expected = |answered, missing| {
            let mut governor = MissingShareGovernor::new(LIMITS);
            governor.record_findings(Millis(0), answered, missing);
            governor.recipients_for(2)
        };
        // Too few to tell, a tenth, none, and so many that the site is slowed down.
        assert_eq!([(49, 0), (50, 5), (50, 0), (50, 18)].map(|(all, missing)| expected(all, missing)), [2, 20, 200, 2]);
    }

    #[test]
    fn it_slows_down_and_then_pauses_by_the_share_of_the_last_ones() {
        let mut governor = MissingShareGovernor::new(LIMITS);
        governor.record_findings(Millis(0), 49, 49);
        assert_eq!((governor.cost(), governor.paused_until(Millis(0))), (1, None), "too few to tell");
        let mut governor = MissingShareGovernor::new(LIMITS);
        governor.record_findings(Millis(0), 100, 40);
        assert_eq!((governor.cost(), governor.paused_until(Millis(0))), (2, None));
        governor.record_findings(Millis(0), 100, 20);
        assert_eq!(governor.cost(), 1);
        governor.record_findings(Millis(5), 150, 150);
        assert_eq!(governor.paused_until(Millis(5)), Some(Millis(3_600_005)));
        assert_eq!(governor.paused_until(Millis(3_600_005)), None);
    }
}
