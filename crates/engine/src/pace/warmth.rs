//! Warm-up of source IPs: a new one, from which no server has seen mail, probes little at first.
//!
//! Receivers judge an address by its history, and a new one that probes much on its first day is blocked on its second. It gets a
//! tenth of every limit on the first day, and twice as much on each further day: all of it after four days.

use probity_mail::time::{DAY_MS, Millis};

/// Share on the first day, in percent.
const FIRST_DAY_PERCENT: u32 = 10;

/// Share of a polite site's limits that a source may use, in percent. `since` is `None` for a source long in use.
pub(crate) fn percent(since: Option<Millis>, now: Millis) -> u32 {
    let Some(since) = since else { return 100 };
    // A future date counts as today.
    let days = u32::try_from(now.since(since) / DAY_MS).unwrap_or(u32::MAX);
    FIRST_DAY_PERCENT.saturating_mul(1 << days.min(8)).min(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_four_days_to_warm_up() {
        let since = Some(Millis(1_000));
        let on_day = |day: i64| percent(since, Millis(1_000 + day * DAY_MS));
        assert_eq!([0, 1, 2, 3, 4, 40, 4_000_000].map(on_day), [10, 20, 40, 80, 100, 100, 100]);
        assert_eq!(percent(since, Millis(0)), 10);
        assert_eq!(percent(None, Millis(0)), 100);
    }
}
