//! Expected duration of a list: the [bound](probity_mail::policy::bound) of the provider that is slowest for its addresses, with
//! all sources of this node.
//!
//! The lower end counts nobody as missing. The upper end has the organization's own share of missing recipients, and one waiting
//! time for deferrals. Probes of other lists at the same providers are not considered.

use probity_mail::policy::bound::{SiteBound, SiteLoad};
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
    /// if no limit delays anything.
    slowest: Option<String>,
    /// Addresses there that share the rate: all of them, or those of the largest domain.
    addresses: u64,
    /// Addresses per minute, from all sources that probe them; 0 means no limit.
    per_minute: u64,
    /// Number of these sources.
    sources: u64,
}

impl Expected {
    pub(super) fn of(mix: &ProviderMix, days: &[ResultDay], patience_ms: i64, now: Millis) -> Self {
        let missing = share_of(days, |day| day.undeliverable).map(|share| share.high);
        let asked = || mix.shares.iter().filter(|share| !share.never_tells);
        let slowest = asked().map(|share| (bound(share, 0.0, now), share));
        let slowest =
            slowest.max_by_key(|(bound, share)| (bound.ms, share.addresses)).filter(|(bound, _)| bound.ms > 0);
        let (bounded, share) = slowest.unzip();
        let SiteBound { ms, addresses, per_minute, sources, .. } = bounded.unwrap_or_default();
        let longest_ms = |missing| asked().map(|share| bound(share, missing, now).ms).max().unwrap_or(0);
        let some = asked().any(|share| share.manners.is_some());
        let high_s = match missing {
            // Nothing is probed over a network: this is the sandbox, or no provider reveals anything.
            _ if !some => Some(ms / 1_000),
            missing => missing.map(|missing| (longest_ms(missing).max(ms) + patience_ms) / 1_000),
        };
        Self { low_s: ms / 1_000, high_s, slowest: share.map(|share| share.id.clone()), addresses, per_minute, sources }
    }
}

/// Least time for a provider's addresses; of domains whose MX host is unknown, for the largest.
fn bound(share: &ProviderShare, missing: f64, now: Millis) -> SiteBound {
    let (addresses, domains) = if share.id.is_empty() {
        (share.largest, share.open_domains.min(1))
    } else {
        (share.addresses, share.open_domains)
    };
    let count = |count: i64| u64::try_from(count).unwrap_or(0);
    let load = SiteLoad {
        addresses: count(addresses),
        largest_domain: count(share.largest),
        domains: count(domains),
        missing: count(part(addresses, missing)),
        closed_ms: share.held_until.map_or(0, |until| until.0.since(now).max(0)),
        ..SiteLoad::default()
    };
    share.manners.as_ref().map_or_else(SiteBound::default, |manners| manners.bound(&load))
}

/// A list of known composition, with the policies that ship with the program.
#[cfg(test)]
mod tests {
    use probity_engine::ProbingLimits;
    use probity_engine::snapshot::{PauseCause, PausedSite};
    use probity_mail::policy::{PaceProfile, Policies};
    use probity_store::nodes::facts::StoredDomainFact;

    use super::*;
    use crate::uploads::count::Domains;
    use crate::uploads::forecast::unknown::Unknowns;

    const NOW: Millis = Millis(1_800_000_000_000);

    fn polite(host: &str) -> ProbingLimits {
        ProbingLimits { policy: Policies::embedded().for_exchanger(host, PaceProfile::Polite), warmths: vec![100, 100] }
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
        // 38 at once, then 200 per minute: one source asks the whole domain.
        let open = Expected::of(&mix, &[], 3_600_000, NOW);
        assert_eq!((open.low_s, open.high_s, open.slowest.as_deref()), (3_588, None, Some("google")));
        assert_eq!((open.addresses, open.per_minute, open.sources), (12_000, 200, 1));
        // One recipient in 100 is missing, which delays nobody: the largest unknown domain allows 15 at once, and has 3 and a made-up
        // one. An hour is added for deferrals.
        let days = vec![day(1_000, 10, 10); 5];
        assert_eq!(Expected::of(&mix, &days, 3_600_000, NOW).high_s, Some(3_588 + 3_600));
        // One in 10: 30 at that domain, the made-up one, and 50 that check acceptances after the first 10. 66 of them wait for the 20
        // that are allowed per hour. At Google, one source may find 750 of 1,200 at once and 1,000 per hour.
        let days = vec![day(1_000, 10, 100); 5];
        assert_eq!(Expected::of(&mix, &days, 3_600_000, NOW).high_s, Some(11_880 + 3_600));
        let nobody = ProviderMix::of(&list(), &[], &[], NOW, &|_| None);
        let sandbox = Expected::of(&nobody, &[], 0, NOW);
        assert_eq!((sandbox.low_s, sandbox.high_s, sandbox.slowest), (0, Some(0), None));
    }

    #[test]
    fn who_is_left_alone_takes_longer_and_may_stay_unknown() {
        let until = NOW + 600_000;
        let held = PausedSite { site: "google".into(), is_provider: true, source: 0, why: PauseCause::Blocked, until };
        let mix = ProviderMix::of(&list(), &facts(), &[held], NOW, &|host| Some(polite(host)));
        assert_eq!(Expected::of(&mix, &[], 0, NOW).low_s, 3_588 + 600);
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
