//! How many addresses will probably stay undetermined, and why that is believed.

use serde::Serialize;

use crate::uploads::forecast::Day;
use crate::uploads::forecast::mix::Mix;

/// Verifications of a day from which on its share of unknowns says something.
const DAY_MIN: i64 = 100;
/// So many such days are needed for a range.
const DAYS_MIN: usize = 3;

/// Expected unknowns.
#[derive(Debug, Serialize)]
pub(crate) struct Unknowns {
    /// At least.
    pub(super) low: i64,
    /// At most; none where nothing is known that would bound it.
    pub(super) high: Option<i64>,
    /// At providers that never tell, so that nobody is asked: certainly.
    pub(super) never_tells: i64,
    /// At providers that are left alone now: perhaps, if that lasts.
    held: i64,
    /// The share of unknowns on the organization's own days, at the tenth and the ninetieth percentile.
    history: Option<History>,
    /// Unknowns of which nothing could be found out, which are not charged: at most. Domains that accept every address have
    /// said so.
    #[serde(skip)]
    pub(super) free_at_most: i64,
}

/// What the organization's own results say.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct History {
    /// Days with enough verifications.
    days: usize,
    low: f64,
    high: f64,
}

impl Unknowns {
    pub(super) fn of(mix: &Mix, days: &[Day]) -> Self {
        let sum = |wanted: &dyn Fn(&super::mix::Share) -> bool| {
            mix.shares.iter().filter(|share| wanted(share)).map(|share| share.addresses).sum::<i64>()
        };
        let never_tells = sum(&|share| share.never_tells);
        let held = sum(&|share| !share.never_tells && share.held_until.is_some());
        let history = share_of(days, |day| day.unknown).map(|(days, low, high)| History { days, low, high });
        let free = share_of(days, |day| day.free).map(|(_, _, high)| part(mix.asked, high));
        let low = never_tells + history.map_or(0, |history| part(mix.asked, history.low)).max(mix.accept_all);
        // Those that are held, and those of domains that accept every address, count among the asked ones too.
        let certain = (held + mix.accept_all).min(mix.asked);
        let high = history.map(|history| never_tells + certain.max(part(mix.asked, history.high)));
        let free_at_most = never_tells + free.map_or(mix.asked - mix.accept_all, |free| held.max(free));
        Self { low, high, never_tells, held, history, free_at_most }
    }
}

/// The share of something on days with enough verifications: how many days, and its tenth and ninetieth percentile. None
/// where there are too few days.
pub(super) fn share_of(days: &[Day], of: impl Fn(&Day) -> i64) -> Option<(usize, f64, f64)> {
    let enough = days.iter().filter(|day| day.verified >= DAY_MIN);
    let mut shares: Vec<f64> = enough.map(|day| ratio(of(day), day.verified)).collect();
    if shares.len() < DAYS_MIN {
        return None;
    }
    shares.sort_by(f64::total_cmp);
    let last = shares.len() - 1;
    Some((shares.len(), shares[last / 10], shares[last - last / 10]))
}

fn ratio(part: i64, whole: i64) -> f64 {
    let number = |number: i64| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    number(part) / number(whole.max(1))
}

/// A share of a number of addresses.
#[expect(clippy::cast_possible_truncation, reason = "a part of a number that fits")]
pub(super) fn part(of: i64, share: f64) -> i64 {
    (f64::from(u32::try_from(of).unwrap_or(u32::MAX)) * share).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(verified: i64, unknown: i64) -> Day {
        Day { verified, unknown, ..Day::default() }
    }

    #[test]
    fn few_days_say_nothing_and_many_a_range() {
        let share = |days: &[Day]| share_of(days, |day| day.unknown);
        assert_eq!(share(&[]), None);
        assert_eq!(share(&[day(1_000, 10), day(1_000, 10), day(99, 99)]), None);
        assert_eq!(share(&[day(1_000, 10), day(100, 10), day(1_000, 50)]), Some((3, 0.01, 0.1)));
        let many: Vec<Day> = (0..21).map(|n| day(100, n)).collect();
        assert_eq!(share(&many), Some((21, 0.02, 0.18)));
    }
}
