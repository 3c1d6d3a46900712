//! Expected duration of a list: that of the provider that is slowest for its addresses.
//!
//! The lower end follows from the rates of providers alone, with all sources of this node. The upper end adds the limits on
//! missing recipients, by the organization's own share of them, and one waiting time for deferrals. Probes of other lists at
//! the same providers are not considered.

use probity_engine::ProbingLimits;
use probity_mail::time::Millis;
use serde::Serialize;

use crate::uploads::forecast::ResultDay;
use crate::uploads::forecast::mix::{ProviderMix, ProviderShare};
use crate::uploads::forecast::unknown::{part, share_of};

/// Expected duration, in seconds.
#[derive(Debug, Serialize)]
pub struct Expected {
    /// Lower end.
    low_s: i64,
    /// Upper end, unless other lists probe the same providers. `None` if the share of missing recipients is unknown.
    high_s: Option<i64>,
    /// ID of the slowest provider, which determines the duration. Empty for the largest domain whose MX host is unknown; `None`
    /// if no rate delays anything.
    slowest: Option<String>,
    /// Addresses per minute at that provider, from all sources; 0 means no limit.
    per_minute: i64,
    /// Number of sources that probe it.
    sources: i64,
}

impl Expected {
    pub(super) fn of(mix: &ProviderMix, days: &[ResultDay], patience_ms: i64, now: Millis) -> Self {
        let missing = share_of(days, |day| day.undeliverable).map(|share| share.high);
        let asked = || mix.shares.iter().filter(|share| !share.never_tells);
        let slowest = asked().max_by_key(|share| (at_least(share, now), share.addresses));
        let slowest = slowest.filter(|share| at_least(share, now) > 0);
        let low_s = slowest.map_or(0, |share| at_least(share, now));
        let longest = |missing: f64| asked().map(|share| at_most(share, missing, now)).max().unwrap_or(0);
        let some = asked().any(|share| share.manners.is_some());
        let high_s = match missing {
            // Nothing is probed over a network: this is the sandbox, or no provider reveals anything.
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

fn per_minute(manners: &ProbingLimits) -> i64 {
    i64::from(manners.per_minute) * i64::from(manners.sources)
}

/// Returns the number of addresses that share one limit: all of a known provider, otherwise those of the largest domain.
fn together(share: &ProviderShare) -> i64 {
    if share.id.is_empty() { share.largest } else { share.addresses }
}

fn held_s(share: &ProviderShare, now: Millis) -> i64 {
    share.held_until.map_or(0, |until| until.0.since(now).max(0) / 1_000)
}

fn at_least(share: &ProviderShare, now: Millis) -> i64 {
    let rate = share.manners.map_or(0, |manners| per_minute(&manners));
    let asking = if rate == 0 { 0 } else { together(share) * 60 / rate };
    asking + held_s(share, now)
}

fn at_most(share: &ProviderShare, missing: f64, now: Millis) -> i64 {
    let hourly = share.manners.map_or(0, |manners| i64::from(manners.missing_per_hour) * i64::from(manners.sources));
    let budget = if hourly == 0 { 0 } else { part(together(share), missing) * 3_600 / hourly };
    at_least(share, now).max(budget + held_s(share, now))
}

/// A list of known composition, with the policies that ship with the program.
#[cfg(test)]
mod tests {
    use probity_engine::snapshot::{PauseCause, PausedSite};
    use probity_mail::policy::{PaceProfile, Policies};
    use probity_store::nodes::facts::StoredDomainFact;

    use super::*;
    use crate::uploads::count::Domains;
    use crate::uploads::forecast::unknown::Unknowns;

    const NOW: Millis = Millis(1_800_000_000_000);

    fn polite(host: &str) -> ProbingLimits {
        let policy = Policies::embedded().for_exchanger(host, PaceProfile::Polite);
        let (per_minute, missing_per_hour) = (policy.rcpt_per_minute, policy.missing_per_hour);
        ProbingLimits { mode: policy.mode, per_minute, missing_per_hour, sources: 2 }
    }

    fn list() -> Domains {
        let named = [("gmail.com", 12_000), ("yahoo.com", 500), ("shop.example", 300), ("firm.example", 200)];
        Domains {
            named: named.map(|(name, count)| (name.to_owned(), count)).to_vec(),
            others: 100,
            ..Domains::default()
        }
    }

    fn facts() -> Vec<StoredDomainFact> {
        let host = "firm-example.mail.protection.outlook.com".to_owned();
        vec![StoredDomainFact {
            domain: "firm.example".into(),
            host,
            catch_all: Some((true, NOW + 1)),
            accepted_until: None,
        }]
    }

    fn day(verified: i64, unknown: i64, undeliverable: i64) -> ResultDay {
        ResultDay { verified, unknown, free: unknown / 2, undeliverable, passed: verified - unknown - undeliverable }
    }

    #[test]
    fn who_takes_the_mail_is_known_by_name_and_by_what_probes_have_learned() {
        let mix = ProviderMix::of(&list(), &facts(), &[], NOW, &|host| Some(polite(host)));
        let shares: Vec<_> =
            mix.shares.iter().map(|share| (share.id.as_str(), share.addresses, share.never_tells)).collect();
        assert_eq!(
            shares,
            [("google", 12_000, false), ("yahoo", 500, true), ("", 400, false), ("microsoft365", 200, false)]
        );
        assert_eq!((mix.asked, mix.accept_all), (12_600, 200));
        let few = mix.shares(2);
        assert_eq!((few[1].id.as_str(), few[1].addresses), ("others", 1_100));
    }

    #[test]
    fn time_is_that_of_the_slowest_provider() {
        let mix = ProviderMix::of(&list(), &facts(), &[], NOW, &|host| Some(polite(host)));
        // 200 per minute from each of 2 sources.
        let open = Expected::of(&mix, &[], 3_600_000, NOW);
        assert_eq!(
            (open.low_s, open.high_s, open.slowest.as_deref(), open.per_minute),
            (1_800, None, Some("google"), 400)
        );
        // One recipient in 10 is missing. At Google, these are 1,200 of 12,000, and 2,000 per hour are allowed. A small domain
        // allows 40 per hour, so its 30 of 300 take longer. An hour is added for deferrals.
        let days = vec![day(1_000, 10, 100); 5];
        assert_eq!(Expected::of(&mix, &days, 3_600_000, NOW).high_s, Some(2_700 + 3_600));
        let nobody = ProviderMix::of(&list(), &[], &[], NOW, &|_| None);
        let sandbox = Expected::of(&nobody, &[], 0, NOW);
        assert_eq!((sandbox.low_s, sandbox.high_s, sandbox.slowest), (0, Some(0), None));
    }

    #[test]
    fn who_is_left_alone_takes_longer_and_may_stay_unknown() {
        let until = NOW + 600_000;
        let held = PausedSite { site: "google".into(), is_provider: true, source: 0, why: PauseCause::Blocked, until };
        let mix = ProviderMix::of(&list(), &facts(), &[held], NOW, &|host| Some(polite(host)));
        assert_eq!(Expected::of(&mix, &[], 0, NOW).low_s, 1_800 + 600);
        let unknown = Unknowns::of(&mix, &[day(1_000, 10, 0); 5]);
        // Yahoo reveals nothing. One domain is a catch-all, which is more than 1 % of the others. All of Google's may stay unknown.
        assert_eq!((unknown.low, unknown.high), (500 + 200, Some(500 + 12_000 + 200)));
        assert_eq!(unknown.free_at_most, 500 + 12_000);
        let open = Unknowns::of(&mix, &[]);
        assert_eq!((open.low, open.high), (500 + 200, None));
        assert_eq!(open.free_at_most, 500 + 12_600 - 200);
    }

    #[test]
    fn what_is_not_charged_is_less_than_what_stays_unknown() {
        let mix = ProviderMix::of(&list(), &facts(), &[], NOW, &|host| Some(polite(host)));
        // One address in 10 stays unknown, half of these because the domain is a catch-all.
        let unknown = Unknowns::of(&mix, &[day(1_000, 100, 0); 5]);
        assert_eq!((unknown.low, unknown.high, unknown.free_at_most), (500 + 1_260, Some(500 + 1_260), 500 + 630));
    }
}
