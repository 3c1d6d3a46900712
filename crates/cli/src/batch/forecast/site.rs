//! What a run has shown of one site: its pace, and its shares of missing and of deferred addresses.

use std::sync::Arc;

use probity_engine::ProbingLimits;
use probity_mail::policy::bound::{SiteLoad, SiteUse};
use probity_mail::time::Millis;

use super::Learned;
use crate::output::plain;

/// Verdicts that make a share of missing ones meaningful.
const SAMPLE_MIN: u64 = 50;
/// Answers of a site from which its pace is known.
const PACE_MIN: u64 = 10;
/// Recent answers that the pace is measured by; older ones count half.
const PACE_OF: u64 = 100;
/// Longest wait for an answer that counts as work while deferred addresses wait for their time.
const WORK_MS: i64 = 60_000;

/// A site during the run.
pub(super) struct SiteRun {
    pub(super) name: Arc<str>,
    pub(super) limits: ProbingLimits,
    /// Whether it is a domain whose host is not known.
    pub(super) is_guessed: bool,
    pub(super) learned: Learned,
    /// Answers about addresses, deferrals included.
    pub(super) asked: u64,
    /// Verdicts, and those of them that say that the address does not exist.
    pub(super) told: u64,
    pub(super) missing: u64,
    /// First answers, those of them that were deferrals, and the longest deferral.
    pub(super) first_asked: u64,
    pub(super) put_off: u64,
    pub(super) delay_ms: i64,
    /// Addresses that the server has deferred.
    pub(super) waiting: u64,
    /// Time when the last deferred address is due.
    pub(super) due: Millis,
    /// End of a pause after refusals of us. Pauses for missing addresses are part of the bound.
    pub(super) closed: Millis,
    pub(super) first: Millis,
    pub(super) latest: Millis,
    /// Recent answers after the first, and the time that they took.
    pub(super) paced: u64,
    pub(super) work_ms: i64,
}

impl SiteRun {
    pub(super) fn new(name: &str, limits: ProbingLimits) -> Self {
        let never = Millis::default();
        Self {
            name: plain(name).into(),
            limits,
            is_guessed: false,
            learned: Learned::default(),
            asked: 0,
            told: 0,
            missing: 0,
            first_asked: 0,
            put_off: 0,
            delay_ms: 0,
            waiting: 0,
            due: never,
            closed: never,
            first: never,
            latest: never,
            paced: 0,
            work_ms: 0,
        }
    }

    /// Books an answer about an address at this attempt.
    pub(super) fn answered(&mut self, attempt: u32, now: Millis) {
        if self.asked == 0 {
            self.first = now;
        } else if now > self.first {
            let took_ms = now.since(self.latest).max(0);
            self.work_ms += if self.waiting > 0 { took_ms.min(WORK_MS) } else { took_ms };
            self.paced += 1;
        }
        if self.paced >= PACE_OF {
            (self.paced, self.work_ms) = (self.paced / 2, self.work_ms / 2);
        }
        self.latest = now;
        self.asked += 1;
        self.first_asked += u64::from(attempt <= 1);
    }

    /// Adds what the run has shown so far. `overall`: missing addresses and all verdicts of the list.
    pub(super) fn complete(&self, load: &mut SiteLoad, overall: (u64, u64), now: Millis) {
        let (missing, told) = if self.told >= SAMPLE_MIN { (self.missing, self.told) } else { overall };
        if told >= SAMPLE_MIN {
            load.missing = load.addresses * missing / told;
        }
        load.deferred = load.addresses.saturating_sub(self.waiting) * self.put_off / self.first_asked.max(1);
        load.deferral_ms = self.delay_ms;
        load.due_ms = self.due.since(now).max(0);
        load.closed_ms = self.closed.since(now).max(0);
        load.recipient_ms = self.recipient_ms(load);
        if self.asked > 0 {
            load.before = SiteUse { recipients: self.asked, missing: self.missing, ms: now.since(self.first) };
        }
    }

    /// Time that one connection took for one recipient, with as many sources as work at once on what is left.
    fn recipient_ms(&self, load: &SiteLoad) -> i64 {
        if self.paced < PACE_MIN {
            return 0;
        }
        let work_ms = u64::try_from(self.work_ms).unwrap_or(0) * u64::from(self.limits.policy.job_connections());
        let in_turn = load.addresses.div_ceil(self.limits.warmths.len().max(1) as u64).max(load.largest_domain).max(1);
        let sum_ms = u128::from(work_ms) * u128::from(load.addresses) / u128::from(in_turn);
        i64::try_from(sum_ms / u128::from(self.paced)).unwrap_or(i64::MAX)
    }
}
