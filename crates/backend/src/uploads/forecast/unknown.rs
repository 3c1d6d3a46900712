//! Number of addresses that will probably stay unknown, with the reasons.

use serde::Serialize;

use crate::uploads::forecast::ResultDay;
use crate::uploads::forecast::mix::ProviderMix;

/// Minimum number of verifications of a day that is considered.
const DAY_MIN: i64 = 100;
/// Minimum number of such days for a range.
const DAYS_MIN: usize = 3;

/// Expected unknown verdicts.
#[derive(Debug, Serialize)]
pub struct Unknowns {
    /// Lower end.
    pub(super) low: i64,
    /// Upper end; `None` if no known fact limits it.
    pub(super) high: Option<i64>,
    /// At providers that reveal nothing, so that they are not probed. These are certain.
    pub(super) never_tells: i64,
    /// At providers to which probes are paused now. These are possible, if the pause lasts.
    held: i64,
    /// Share of unknown verdicts on the organization's own days, at the 10th and the 90th percentile.
    history: Option<DailyShare>,
    /// Maximum number of unknown verdicts that are free. Those of catch-alls are charged.
    #[serde(skip)]
    pub(super) free_at_most: i64,
}

/// Share of verdicts on the organization's own days, at the 10th and the 90th percentile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct DailyShare {
    /// Days with enough verifications.
    days: usize,
    low: f64,
    pub(super) high: f64,
}

impl Unknowns {
    pub(super) fn of(mix: &ProviderMix, days: &[ResultDay]) -> Self {
        let sum = |wanted: &dyn Fn(&super::mix::ProviderShare) -> bool| {
            mix.shares.iter().filter(|share| wanted(share)).map(|share| share.addresses).sum::<i64>()
        };
        let never_tells = sum(&|share| share.never_tells);
        let held = sum(&|share| !share.never_tells && share.held_until.is_some());
        let history = share_of(days, |day| day.unknown);
        let free = share_of(days, |day| day.free).map(|share| part(mix.asked, share.high));
        let low = never_tells + history.map_or(0, |history| part(mix.asked, history.low)).max(mix.accept_all);
        // Addresses at paused providers and at catch-alls are among those that will be probed.
        let certain = (held + mix.accept_all).min(mix.asked);
        let high = history.map(|history| never_tells + certain.max(part(mix.asked, history.high)));
        let free_at_most = never_tells + free.map_or(mix.asked - mix.accept_all, |free| held.max(free));
        Self { low, high, never_tells, held, history, free_at_most }
    }
}

/// Returns a share on the days with enough verifications; `None` if there are too few such days.
pub(super) fn share_of(days: &[ResultDay], of: impl Fn(&ResultDay) -> i64) -> Option<DailyShare> {
    let enough = days.iter().filter(|day| day.verified >= DAY_MIN);
    let mut shares: Vec<f64> = enough.map(|day| ratio(of(day), day.verified)).collect();
    if shares.len() < DAYS_MIN {
        return None;
    }
    shares.sort_by(f64::total_cmp);
    let last = shares.len() - 1;
    Some(DailyShare { days: shares.len(), low: shares[last / 10], high: shares[last - last / 10] })
}

fn ratio(part: i64, whole: i64) -> f64 {
    let number = |number: i64| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    number(part) / number(whole.max(1))
}

/// Returns a share of a number of addresses.
#[expect(clippy::cast_possible_truncation, reason = "a part of a number that fits")]
pub(super) fn part(of: i64, share: f64) -> i64 {
    (f64::from(u32::try_from(of).unwrap_or(u32::MAX)) * share).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(verified: i64, unknown: i64) -> ResultDay {
        ResultDay { verified, unknown, ..ResultDay::default() }
    }

    #[test]
    fn few_days_say_nothing_and_many_a_range() {
        let share = |days: &[ResultDay]| share_of(days, |day| day.unknown);
        assert_eq!(share(&[]), None);
        assert_eq!(share(&[day(1_000, 10), day(1_000, 10), day(99, 99)]), None);
        assert_eq!(
            share(&[day(1_000, 10), day(100, 10), day(1_000, 50)]),
            Some(DailyShare { days: 3, low: 0.01, high: 0.1 })
        );
        let many: Vec<ResultDay> = (0..21).map(|n| day(100, n)).collect();
        assert_eq!(share(&many), Some(DailyShare { days: 21, low: 0.02, high: 0.18 }));
    }
}
