//! How long a list will probably take: as long as the provider that is asked slowest, relative to its addresses.
//!
//! The lower end is what the rates of providers alone allow, by all sources of this node. The upper end adds the limits on
//! recipients that do not exist, by the organization's own share of them, and one patience for what servers put off. What
//! other lists ask of the same providers at the same time is not foreseen.

use probity_engine::Manners;
use probity_mail::time::Millis;
use serde::Serialize;

use crate::uploads::forecast::Day;
use crate::uploads::forecast::mix::{Mix, Share};
use crate::uploads::forecast::unknown::{part, share_of};

/// Expected time, in seconds.
#[derive(Debug, Serialize)]
pub(crate) struct Expected {
    /// At least.
    low_s: i64,
    /// At most, unless other lists ask the same providers; none where the share of missing addresses is not known.
    high_s: Option<i64>,
    /// The provider that decides: its id, empty for the largest domain of which nobody knows who takes its mail. None where
    /// no rate holds anything up.
    slowest: Option<String>,
    /// Addresses a minute at that provider, by all sources; 0 is without a limit.
    per_minute: i64,
    /// Sources that it is asked from.
    sources: i64,
}

impl Expected {
    pub(super) fn of(mix: &Mix, days: &[Day], patience_ms: i64, now: Millis) -> Self {
        let missing = share_of(days, |day| day.undeliverable).map(|(_, _, high)| high);
        let asked = || mix.shares.iter().filter(|share| !share.never_tells);
        let slowest = asked().max_by_key(|share| (at_least(share, now), share.addresses));
        let slowest = slowest.filter(|share| at_least(share, now) > 0);
        let low_s = slowest.map_or(0, |share| at_least(share, now));
        let longest = |missing: f64| asked().map(|share| at_most(share, missing, now)).max().unwrap_or(0);
        let some = asked().any(|share| share.manners.is_some());
        let high_s = match missing {
            // Nobody is asked over a network: in the sandbox, or where no provider would tell.
            _ if !some => Some(low_s),
            missing => missing.map(|missing| longest(missing).max(low_s) + patience_ms / 1_000),
        };
        let manners = slowest.and_then(|share| share.manners);
        Self {
            low_s,
            high_s,
            slowest: slowest.map(|share| share.id.clone()),
            per_minute: manners.map_or(0, |manners| per_minute(&manners)),
            sources: manners.map_or(0, |manners| i64::from(manners.sources)),
        }
    }
}

fn per_minute(manners: &Manners) -> i64 {
    i64::from(manners.per_minute) * i64::from(manners.sources)
}

/// Addresses that share one limit: all of a provider's; where the provider is not known, those of the largest domain.
fn together(share: &Share) -> i64 {
    if share.id.is_empty() { share.largest } else { share.addresses }
}

fn held_s(share: &Share, now: Millis) -> i64 {
    share.held_until.map_or(0, |until| until.0.since(now).max(0) / 1_000)
}

fn at_least(share: &Share, now: Millis) -> i64 {
    let rate = share.manners.map_or(0, |manners| per_minute(&manners));
    let asking = if rate == 0 { 0 } else { together(share) * 60 / rate };
    asking + held_s(share, now)
}

fn at_most(share: &Share, missing: f64, now: Millis) -> i64 {
    let hourly = share.manners.map_or(0, |manners| i64::from(manners.missing_per_hour) * i64::from(manners.sources));
    let budget = if hourly == 0 { 0 } else { part(together(share), missing) * 3_600 / hourly };
    at_least(share, now).max(budget + held_s(share, now))
}

#[cfg(test)]
mod tests;
