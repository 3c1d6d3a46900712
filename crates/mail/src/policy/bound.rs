//! The bound: the least time that a list takes within the limits of the sites that receive it, however fast the machine is.
//!
//! Limits are counted per source and site, so each site has a time of its own, and the longest is the bound of the list. Times are
//! in milliseconds, rates per minute or hour as in the policy, shares in percent. The policy comes from the policy file; counts
//! come from the list, missing recipients from earlier results, and deferrals, pauses and the length of sessions from observation.
//! A fact that is not known is 0: it then adds no time, so the bound stays a lower one.
//!
//! It holds for the engine's pacing of jobs, alone at the site: a bucket of recipients starts full, and jobs take three quarters of
//! it; the rest follows at the policy's rate. A source asks the whole of a domain, so further sources do not help the largest one.

use super::{GOVERNOR_SAMPLE_MIN, GovernorPolicy, LIVE_SHARE, Mode, Policy};
use crate::plan::MISSES_TRUSTED_MAX;

/// A whole rate; cold sources use a part of it.
const WHOLE: u64 = 1_000_000;

/// What a list has at one site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteLoad {
    /// Different addresses without a verdict.
    pub addresses: u64,
    /// Those of its largest domain.
    pub largest_domain: u64,
    /// Domains that may be catch-alls, each of which takes a made-up recipient.
    pub domains: u64,
    /// Addresses that do not exist.
    pub missing: u64,
    /// Addresses that the servers put off, so that they are asked about once more.
    pub deferred: u64,
    /// How long they are put off.
    pub deferral_ms: i64,
    /// Time until the last of the addresses that are put off now is due.
    pub due_ms: i64,
    /// Rest of a pause of the site.
    pub closed_ms: i64,
    /// Time that one connection takes for one recipient: the length of a session divided by its recipients.
    pub recipient_ms: i64,
    /// What the site was asked before.
    pub before: SiteUse,
}

/// What a site was asked before, which has emptied its buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteUse {
    /// Recipients, made-up ones included.
    pub recipients: u64,
    /// Those that did not exist.
    pub missing: u64,
    /// Time since the first of them.
    pub ms: i64,
}

/// What a site waits for longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BoundLimit {
    /// Its bursts take everybody at once.
    #[default]
    Nothing,
    /// Recipients a minute.
    Rate,
    /// Connections, and the time that a session takes.
    Sessions,
    /// Missing recipients an hour.
    Missing,
    /// Pauses after too large a share of missing recipients.
    Pauses,
    /// Greylisting and other deferrals.
    Deferrals,
}

/// Least time of one site, and who has to wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteBound {
    /// From now on; 0 also where nobody is asked.
    pub ms: i64,
    /// The limit that ends last.
    pub limit: BoundLimit,
    /// Addresses that share the rate below: those of the site or, where one source alone takes longest, of its largest domain.
    pub addresses: u64,
    /// Recipients a minute, from all sources that ask these addresses; 0 is without a limit.
    pub per_minute: u64,
    /// How many sources ask them.
    pub sources: u64,
}

/// Least time of a site. `warmths` has the share of the limits that each source may use, in percent; sources that servers cannot
/// tell apart count as one.
pub fn site_bound(policy: &Policy, load: &SiteLoad, warmths: &[u32]) -> SiteBound {
    if policy.mode == Mode::Never || load.addresses == 0 || warmths.is_empty() {
        return SiteBound::default();
    }
    let all = Part::whole(policy, load, warmths);
    let one = all.largest_domain(warmths);
    let (all_ms, one_ms) = (all.ms(), one.ms());
    let (part, (ms, limit)) = if one_ms.0 > all_ms.0 { (one, one_ms) } else { (all, all_ms) };
    let (addresses, sources) = (part.addresses, part.sources());
    let per_minute = u64::from(policy.rcpt_per_minute) * part.rate_share() / WHOLE;
    SiteBound { ms, limit, addresses, per_minute, sources }
}

/// Recipients that some of the sources ask about.
struct Part<'a> {
    policy: &'a Policy,
    load: &'a SiteLoad,
    warmths: &'a [u32],
    addresses: u64,
    /// Made-up recipients.
    random: u64,
}

impl<'a> Part<'a> {
    fn whole(policy: &'a Policy, load: &'a SiteLoad, warmths: &'a [u32]) -> Self {
        let random = if policy.random_probe { load.domains + checks(policy, load) } else { 0 };
        Self { policy, load, warmths, addresses: load.addresses, random }
    }

    /// The largest domain, asked by the source that may use most.
    fn largest_domain(&self, warmths: &'a [u32]) -> Self {
        let best = (0..warmths.len()).max_by_key(|at| warmths[*at]).unwrap_or_default();
        let one =
            Self { warmths: &warmths[best..=best], addresses: self.load.largest_domain.min(self.addresses), ..*self };
        Self { random: one.share(self.random), ..one }
    }

    fn sources(&self) -> u64 {
        self.warmths.len() as u64
    }

    /// Cost of a recipient against the rate: whole tokens, more for a cold source and for one that finds many missing. A cost beyond
    /// the burst would never be available.
    fn cost(&self, warmth: u32) -> u32 {
        let slowed = if self.exceeds(|governor| governor.slow_percent) { 2 } else { 1 };
        (100 / warmth.clamp(1, 100) * slowed).min(self.burst())
    }

    /// Recipients that jobs may ask about at once.
    fn burst(&self) -> u32 {
        let burst = self.policy.burst.max(1);
        burst - burst / LIVE_SHARE
    }

    /// Sum of the shares of the rate that the sources use.
    fn rate_share(&self) -> u64 {
        self.warmths.iter().map(|warmth| WHOLE / u64::from(self.cost(*warmth))).sum()
    }

    /// The part of a count of the whole load that falls to these addresses.
    fn share(&self, count: u64) -> u64 {
        let part = u128::from(count) * u128::from(self.addresses) / u128::from(self.load.addresses.max(1));
        u64::try_from(part).unwrap_or(u64::MAX)
    }

    /// Addresses without those that are asked again, and made-up recipients.
    fn recipients(&self) -> u64 {
        self.addresses + self.random + self.share(self.load.deferred)
    }

    fn ms(&self) -> (i64, BoundLimit) {
        let load = self.load;
        let times = [
            (self.deferrals_ms().max(load.due_ms), BoundLimit::Deferrals),
            (self.sessions_ms().saturating_add(load.closed_ms), BoundLimit::Sessions),
            (self.missing_ms().saturating_add(load.closed_ms), BoundLimit::Missing),
            (self.rate_ms(self.recipients()).saturating_add(load.closed_ms), BoundLimit::Rate),
            (self.pauses_ms().saturating_add(load.closed_ms), BoundLimit::Pauses),
        ];
        let longest = times.into_iter().max_by_key(|(ms, _)| *ms);
        longest.filter(|(ms, _)| *ms > 0).unwrap_or_default()
    }

    /// The last one that is put off waits for its first turn, and then for its second one.
    fn deferrals_ms(&self) -> i64 {
        let deferred = self.share(self.load.deferred);
        if deferred == 0 {
            return 0;
        }
        self.rate_ms(deferred).saturating_add(self.load.closed_ms).saturating_add(self.load.deferral_ms)
    }

    fn rate_ms(&self, recipients: u64) -> i64 {
        let bucket = Bucket {
            at_once: self.warmths.iter().map(|warmth| u64::from(self.burst() / self.cost(*warmth))).sum(),
            count: u64::from(self.policy.rcpt_per_minute) * self.rate_share(),
            period_ms: 60_000,
            debt: false,
        };
        let before = self.share(self.load.before.recipients);
        bucket.ms(recipients, before, self.load.before.ms)
    }

    fn sessions_ms(&self) -> i64 {
        let connections = u64::from(self.policy.job_connections()) * self.sources();
        let turns = self.recipients().div_ceil(connections);
        i64::try_from(turns).unwrap_or(i64::MAX).saturating_mul(self.load.recipient_ms)
    }

    fn missing_ms(&self) -> i64 {
        let hourly = self.policy.missing_per_hour;
        let usable = |warmth: &u32| (u64::from(hourly - hourly / LIVE_SHARE) * u64::from(*warmth) / 100).max(1);
        let bucket = Bucket {
            at_once: self.warmths.iter().map(usable).sum(),
            count: u64::from(hourly) * WHOLE * self.sources(),
            period_ms: 3_600_000,
            debt: true,
        };
        let random = if self.policy.random_counts_as_missing { self.random } else { 0 };
        let before = self.share(self.load.before.missing);
        bucket.ms(self.share(self.load.missing) + random, before, self.load.before.ms)
    }

    /// A pause follows each sample in which too many are missing, except for the last.
    fn pauses_ms(&self) -> i64 {
        let pause_ms = self.policy.governor.map_or(0, |governor| governor.pause_ms);
        if !self.exceeds(|governor| governor.pause_percent) {
            return 0;
        }
        let samples = self.addresses.div_ceil(self.sources()).saturating_sub(1) / u64::from(GOVERNOR_SAMPLE_MIN);
        i64::try_from(samples).unwrap_or(i64::MAX).saturating_mul(pause_ms)
    }

    /// Whether the governor has a sample, and the share of missing addresses exceeds one of its limits.
    fn exceeds(&self, limit: impl Fn(GovernorPolicy) -> u32) -> bool {
        let Some(governor) = self.policy.governor else { return false };
        let SiteLoad { addresses, missing, .. } = *self.load;
        self.addresses >= u64::from(GOVERNOR_SAMPLE_MIN) && missing * 100 > addresses * u64::from(limit(governor))
    }
}

/// Made-up recipients that check acceptances: one in each flight, once a server that may start to lie has found many missing. A flight
/// is no longer than the refusals that a session may meet.
fn checks(policy: &Policy, load: &SiteLoad) -> u64 {
    let trusted = match policy.suspect_after_misses {
        Some(_) => 1,
        None if policy.provider.is_none() => u64::from(MISSES_TRUSTED_MAX),
        None => return 0,
    };
    let until = trusted.saturating_sub(load.before.missing);
    let checked = load.addresses * load.missing.saturating_sub(until) / load.missing.max(1);
    let flight = policy.flight_rcpt.min(policy.refused_per_session);
    checked.div_ceil(u64::from(flight.saturating_sub(1).max(1)))
}

/// A token bucket that starts full.
struct Bucket {
    at_once: u64,
    /// Tokens in a period, times [`WHOLE`]; 0 is without a limit.
    count: u64,
    period_ms: u64,
    /// Whether more may have been taken than was there.
    debt: bool,
}

impl Bucket {
    /// Time until `wanted` tokens were there, after `used` were taken in the `used_ms` before.
    fn ms(&self, wanted: u64, used: u64, used_ms: i64) -> i64 {
        if self.count == 0 || wanted == 0 {
            return 0;
        }
        let (token, rate) = (i128::from(self.period_ms) * i128::from(WHOLE), i128::from(self.count));
        let full = i128::from(self.at_once) * token;
        let left = (full + i128::from(used_ms.max(0)) * rate - i128::from(used) * token).min(full);
        let left = if self.debt { left } else { left.max(0) };
        let short = (i128::from(wanted) * token - left).max(0);
        i64::try_from((short + rate - 1) / rate).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{PaceProfile, Policies};

    const SECOND: i64 = 1_000;
    const MINUTE: i64 = 60 * SECOND;
    const HOUR: i64 = 60 * MINUTE;
    const OUTLOOK: &str = "hotmail-com.olc.protection.outlook.com";
    const GOOGLE: &str = "gmail-smtp-in.l.google.com";

    fn bound(host: &str, load: SiteLoad, warmths: &[u32]) -> SiteBound {
        site_bound(&Policies::embedded().for_exchanger(host, PaceProfile::Polite), &load, warmths)
    }

    /// The time, and what makes it so long.
    fn least(host: &str, load: SiteLoad, warmths: &[u32]) -> (i64, BoundLimit) {
        let SiteBound { ms, limit, .. } = bound(host, load, warmths);
        (ms, limit)
    }

    fn one_domain(addresses: u64) -> SiteLoad {
        SiteLoad { addresses, largest_domain: addresses, ..SiteLoad::default() }
    }

    #[test]
    fn a_rate_holds_after_the_burst_that_jobs_may_take() {
        // 10 a minute. The burst of 2 is not shared with live calls: a quarter of it is less than one.
        let bound = bound(OUTLOOK, one_domain(2_402), &[100]);
        assert_eq!((bound.ms, bound.limit), (240 * MINUTE, BoundLimit::Rate));
        assert_eq!((bound.addresses, bound.per_minute, bound.sources), (2_402, 10, 1));
        // 200 a minute. Of a burst of 50, jobs take 38.
        assert_eq!(least(GOOGLE, one_domain(12_038), &[100]), (60 * MINUTE, BoundLimit::Rate));
        assert_eq!(least(GOOGLE, one_domain(38), &[100]), (0, BoundLimit::Nothing));
        // 20 of them were asked in the 3 seconds before, in which 10 tokens came back: 28 are left.
        let before = SiteUse { recipients: 20, missing: 0, ms: 3 * SECOND };
        let later = SiteLoad { before, ..one_domain(228) };
        assert_eq!(least(GOOGLE, later, &[100]), (MINUTE, BoundLimit::Rate));
        // A bucket that is empty has no debt of the time before.
        let before = SiteUse { recipients: 1_000, missing: 0, ms: SECOND };
        let later = SiteLoad { before, ..one_domain(200) };
        assert_eq!(least(GOOGLE, later, &[100]), (MINUTE, BoundLimit::Rate));
    }

    #[test]
    fn sources_share_a_site_but_not_a_domain() {
        // Two domains of half the addresses: 400 a minute, 76 at once.
        let halves = SiteLoad { largest_domain: 12_038, ..one_domain(24_076) };
        let two = bound(GOOGLE, halves, &[100, 100]);
        assert_eq!((two.ms, two.addresses, two.per_minute, two.sources), (60 * MINUTE, 24_076, 400, 2));
        // The larger one alone: 200 a minute.
        let uneven = SiteLoad { largest_domain: 18_038, ..one_domain(24_076) };
        let two = bound(GOOGLE, uneven, &[100, 100]);
        assert_eq!((two.ms, two.addresses, two.per_minute, two.sources), (90 * MINUTE, 18_038, 200, 1));
        // The second one is new and uses a tenth: 220 a minute, 38 and 3 at once.
        let cold = SiteLoad { largest_domain: 1, ..one_domain(2_241) };
        assert_eq!(least(GOOGLE, cold, &[10, 100]), (10 * MINUTE, BoundLimit::Rate));
        assert_eq!(least(GOOGLE, cold, &[]), (0, BoundLimit::Nothing));
    }

    #[test]
    fn domains_that_may_be_catch_alls_take_a_recipient_more() {
        let host = "firm-example.mail.protection.outlook.com";
        // 120 a minute, 15 at once: 600 addresses and 135 made-up recipients.
        let load = SiteLoad { domains: 135, largest_domain: 9, ..one_domain(600) };
        assert_eq!(least(host, load, &[100]), (6 * MINUTE, BoundLimit::Rate));
        // At Outlook.com nobody is made up.
        let load = SiteLoad { domains: 9, ..one_domain(12) };
        assert_eq!(least(OUTLOOK, load, &[100]), (MINUTE, BoundLimit::Rate));
        // 15 missing ones an hour, of which jobs take 12 at once; made-up recipients count. 27 - 12 = 15 more.
        let load = SiteLoad { domains: 27, largest_domain: 1, ..one_domain(27) };
        assert_eq!(least("mx1.hc1.iphmx.com", load, &[100]), (HOUR, BoundLimit::Missing));
    }

    #[test]
    fn a_budget_of_misses_is_paid_back_by_the_hour() {
        // 60 an hour, 45 at once. 165 are missing: 120 more.
        let load = SiteLoad { missing: 165, ..one_domain(1_000) };
        assert_eq!(least(OUTLOOK, load, &[100]), (2 * HOUR, BoundLimit::Missing));
        // 60 were found within half an hour: 45 + 30 - 60 = 15 are left.
        let before = SiteUse { recipients: 300, missing: 60, ms: HOUR / 2 };
        let later = SiteLoad { before, missing: 75, ..load };
        assert_eq!(least(OUTLOOK, SiteLoad { addresses: 500, ..later }, &[100]), (HOUR, BoundLimit::Missing));
        // Too many at once are a debt: 45 - 65 = -20, and 40 more.
        let before = SiteUse { recipients: 100, missing: 65, ms: 0 };
        let later = SiteLoad { before, missing: 40, ..one_domain(200) };
        assert_eq!(least(OUTLOOK, later, &[100]), (HOUR, BoundLimit::Missing));
        // A new source finds at most a tenth of its 45 at once, and as many an hour as others.
        let load = SiteLoad { missing: 64, ..one_domain(64) };
        let policy = Policy { governor: None, rcpt_per_minute: 0, ..outlook() };
        assert_eq!(site_bound(&policy, &load, &[10]).ms, HOUR);
    }

    #[test]
    fn many_misses_cost_a_made_up_recipient_in_each_flight() {
        // After 10 of 20, half of 200 addresses are checked, 4 in a flight of 5: 25 more. 20 an hour, 15 at once: 30 of 45.
        let load = SiteLoad { missing: 20, ..one_domain(200) };
        assert_eq!(least("mx.example.com", load, &[100]), (90 * MINUTE, BoundLimit::Missing));
        // Where 10 were found before, all are checked: 50 more, and no burst.
        let before = SiteUse { recipients: 100, missing: 15, ms: 0 };
        assert_eq!(least("mx.example.com", SiteLoad { before, ..load }, &[100]), (210 * MINUTE, BoundLimit::Missing));
        // A known provider is not checked.
        assert_eq!(least("mx01.mail.icloud.com", load, &[100]).1, BoundLimit::Rate);
    }

    fn outlook() -> Policy {
        Policy::clone(&Policies::embedded().for_exchanger(OUTLOOK, PaceProfile::Polite))
    }

    #[test]
    fn too_large_a_share_of_misses_slows_down_and_then_pauses() {
        let policy = Policy { missing_per_hour: 0, ..outlook() };
        let least = |missing| site_bound(&policy, &SiteLoad { missing, ..one_domain(102) }, &[100]);
        // 100 after the burst of 2, at 10 a minute. If more than 35 percent are missing, 101 after a burst of 1, at 5 a minute.
        assert_eq!((least(35).ms, least(35).per_minute), (10 * MINUTE, 10));
        assert_eq!((least(36).ms, least(36).per_minute), (20 * MINUTE + 12 * SECOND, 5));
        // Beyond 60 percent, an hour after the first 50 and after the second 50.
        assert_eq!((least(62).ms, least(62).limit), (2 * HOUR, BoundLimit::Pauses));
        let few = SiteLoad { missing: 49, ..one_domain(49) };
        assert_eq!(site_bound(&policy, &few, &[100]).limit, BoundLimit::Rate, "too few to tell");
    }

    #[test]
    fn connections_and_the_length_of_sessions_bound_where_the_server_is_slow() {
        // Of 2 connections a job uses 1; a session of 20 recipients takes 100 seconds: 5 a recipient, where 60 a minute may be asked.
        let load = SiteLoad { recipient_ms: 5 * SECOND, ..one_domain(240) };
        assert_eq!(least("mx.example.com", load, &[100]), (20 * MINUTE, BoundLimit::Sessions));
        let split = SiteLoad { largest_domain: 1, ..load };
        assert_eq!(least("mx.example.com", split, &[100, 100]), (10 * MINUTE, BoundLimit::Sessions));
    }

    #[test]
    fn deferrals_ask_again_and_pauses_come_first() {
        // 60 a minute, 15 at once. 75 addresses are put off for 5 minutes, the last one after a minute: 150 recipients take less.
        let load = SiteLoad { deferred: 75, deferral_ms: 5 * MINUTE, ..one_domain(75) };
        assert_eq!(least("mx.example.com", load, &[100]), (6 * MINUTE, BoundLimit::Deferrals));
        // 600 of them do not.
        let load = SiteLoad { deferred: 615, ..SiteLoad { addresses: 600, largest_domain: 600, ..load } };
        assert_eq!(least("mx.example.com", load, &[100]), (20 * MINUTE, BoundLimit::Rate));
        let due = SiteLoad { due_ms: 7 * MINUTE, ..one_domain(1) };
        assert_eq!(least("mx.example.com", due, &[100]), (7 * MINUTE, BoundLimit::Deferrals));
        let closed = SiteLoad { closed_ms: 10 * MINUTE, ..one_domain(75) };
        assert_eq!(least("mx.example.com", closed, &[100]), (11 * MINUTE, BoundLimit::Rate));
    }

    #[test]
    fn who_is_not_asked_and_who_has_no_limits_takes_no_time() {
        assert_eq!(bound("mta5.am0.yahoodns.net", one_domain(1_000_000), &[100]), SiteBound::default());
        assert_eq!(bound(OUTLOOK, SiteLoad::default(), &[100]), SiteBound::default());
        let open = Policies::embedded().for_exchanger(OUTLOOK, PaceProfile::Open);
        let bound = site_bound(&open, &SiteLoad { missing: 9_000, ..one_domain(10_000) }, &[100]);
        assert_eq!((bound.ms, bound.per_minute), (0, 0));
    }
}
