//! Time that a batch still takes: the longest of the [bounds](probity_mail::policy::bound) of the sites that receive its mail.
//!
//! Before a probe, only the domains of large providers have a known site, by their names and without DNS. Each other domain counts
//! as a site of its own, with the limits of unlisted hosts. During the run, a domain's first answer names its site; domains without
//! an answer are expected at the known providers in the proportions of those that had one. Shares of missing and of deferred
//! addresses, and the time that a server takes, are those of the run so far.

pub(super) mod shown;
mod site;

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;
use probity_backend::nodes::verifier::Verifier;
use probity_engine::{PriorAttempts, ProbingLimits};
use probity_mail::facts::lists::Lists;
use probity_mail::policy::bound::{SiteBound, SiteLoad};
use probity_mail::time::Millis;
use probity_mail::verdict::{Reason, Verification};

use self::site::SiteRun;
use super::answer::{PutOff, plain_domain};
use super::order::Order;
use super::workfile::FrameReader;

/// Interval between forecasts.
const EVERY_MS: i64 = 5_000;
/// Domains whose site an answer named, until they tell where others are.
const LEARNED_MIN: u64 = 20;
/// Addresses from which a domain is a site of its own when its server defers one.
const LARGE_MIN: u32 = 100;
/// Name of all domains whose site is not known.
const OTHERS: &str = "other domains";

/// What is known of a list's domains and sites.
pub(crate) struct ListForecast {
    verifier: Arc<dyn Verifier>,
    order: Arc<Order>,
    reader: FrameReader,
    /// Number of each row's domain.
    domain_of: Vec<u32>,
    domains: Vec<DomainRun>,
    sites: Vec<SiteRun>,
    /// Limits of hosts that no policy names; `None` if nothing is probed over a network.
    unlisted: Option<ProbingLimits>,
    /// Numbers of the sites, by the names that limits apply to.
    numbers: HashMap<Arc<str>, u32>,
    /// Domains and addresses whose site an answer named, or that have none.
    learned: Learned,
    /// Time when the last deferred address of a domain without a site is due.
    due: Millis,
    /// The last forecast, and when it was made.
    last: Option<(Millis, Option<LongestSite>)>,
}

/// Site that determines the end of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LongestSite {
    pub(crate) name: Arc<str>,
    pub(crate) ends: Millis,
}

/// A site with its part of the list.
struct SiteForecast<'a> {
    name: Arc<str>,
    addresses: u64,
    bound: SiteBound,
    limits: &'a ProbingLimits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    Unknown,
    /// Nobody is probed: it takes no mail, or its provider reveals nothing.
    Nowhere,
    Site(u32),
}

struct DomainRun {
    home: Home,
    /// Addresses without a verdict.
    left: u32,
    /// Whether a made-up recipient may be sent.
    open: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Learned {
    domains: u64,
    addresses: u64,
}

impl Learned {
    fn add(&mut self, addresses: u32) {
        self.domains += 1;
        self.addresses += u64::from(addresses);
    }
}

impl ListForecast {
    /// Groups the rows of a list that are `open`, which is given by their place in the order.
    pub(crate) fn of(
        verifier: Arc<dyn Verifier>,
        order: &Arc<Order>,
        reader: FrameReader,
        open: impl Fn(usize) -> bool,
    ) -> Result<Self> {
        let mut forecast = Self {
            unlisted: verifier.manners(""),
            verifier,
            order: order.clone(),
            reader,
            domain_of: vec![0; order.leaders.len()],
            domains: Vec::new(),
            sites: Vec::new(),
            numbers: HashMap::new(),
            learned: Learned::default(),
            due: Millis::default(),
            last: None,
        };
        let mut buffer = Vec::new();
        for range in order.domains() {
            let number = u32::try_from(forecast.domains.len()).unwrap_or(u32::MAX);
            let mut left = 0;
            for at in range.clone() {
                forecast.domain_of[order.ask[at] as usize] = number;
                left += u32::from(open(at));
            }
            let name = forecast.name(order.ask[range.start], &mut buffer)?;
            forecast.add(&name, left);
        }
        Ok(forecast)
    }

    /// The domain of a row.
    fn name(&self, row: u32, buffer: &mut Vec<u8>) -> Result<String> {
        Ok(plain_domain(&self.reader.email(self.order.places[row as usize], buffer)?))
    }

    fn add(&mut self, domain: &str, left: u32) {
        let lists = Lists::embedded();
        let home = lists.exchanger_of(domain).and_then(|host| self.site(host)).map_or(Home::Unknown, Home::Site);
        self.domains.push(DomainRun { home, left, open: !lists.known_not_catch_all(domain) });
    }

    /// The site of an MX host; `None` if nothing is probed over a network.
    fn site(&mut self, host: &str) -> Option<u32> {
        let limits = self.verifier.manners(host)?;
        let key: Arc<str> = limits.policy.provider.clone().unwrap_or_else(|| host.into());
        if let Some(number) = self.numbers.get(&key) {
            return Some(*number);
        }
        let number = u32::try_from(self.sites.len()).ok()?;
        let provider = limits.policy.provider.is_some().then(|| Lists::embedded().provider(host)).flatten();
        let name = provider.map_or(&*key, |provider| &provider.name);
        self.sites.push(SiteRun::new(name, limits));
        self.numbers.insert(key, number);
        Some(number)
    }

    fn domain(&mut self, row: u32) -> &mut DomainRun {
        let number = self.domain_of[row as usize];
        &mut self.domains[number as usize]
    }

    /// Books a verdict, which shows where its domain's mail goes and how many are missing there.
    pub(crate) fn settled(&mut self, row: u32, verification: &Verification, now: Millis) {
        let domain = self.domain(row);
        domain.left = domain.left.saturating_sub(1);
        let evidence = &verification.evidence;
        let told = evidence.probe.as_ref().filter(|probe| probe.code.is_some());
        if let Some(probe) = told {
            domain.open = false;
            self.learn(row, Some(&probe.host));
        } else if evidence.domain.is_some() {
            self.learn(row, None);
        }
        if let Home::Site(number) = self.domain(row).home {
            let site = &mut self.sites[number as usize];
            let attempts = evidence.probe.as_ref().map_or(1, |probe| probe.attempts);
            site.waiting = site.waiting.saturating_sub(u64::from(attempts > 1));
            if told.is_some() {
                site.answered(attempts, now);
                site.told += 1;
                site.missing += u64::from(verification.verdict.reason == Reason::Nonexistent);
            }
        }
    }

    /// Learns the home of a row's domain from its first answer.
    fn learn(&mut self, row: u32, host: Option<&str>) {
        let domain = self.domain(row);
        let (before, addresses) = (domain.home, domain.left + 1);
        let is_settled = match before {
            Home::Unknown => false,
            Home::Nowhere => host.is_none(),
            Home::Site(number) => host.is_none() || !std::mem::take(&mut self.sites[number as usize].is_guessed),
        };
        if is_settled {
            return;
        }
        let site = host.and_then(|host| self.site(host));
        let listed = site.filter(|number| self.sites[*number as usize].limits.policy.provider.is_some());
        self.domain(row).home = match (before, listed) {
            (Home::Site(_), None) => before,
            _ => site.map_or(Home::Nowhere, Home::Site),
        };
        if before != Home::Nowhere {
            self.learned.add(addresses);
            if let Some(number) = listed {
                self.sites[number as usize].learned.add(addresses);
            }
        }
    }

    /// Makes a large domain a site of its own, with the limits of unlisted hosts until its host is known.
    fn guess(&mut self, row: u32) {
        let domain = self.domain(row);
        if domain.home != Home::Unknown || domain.left < LARGE_MIN {
            return;
        }
        if let (Ok(name), Some(limits), Ok(number)) =
            (self.name(row, &mut Vec::new()), self.unlisted.clone(), u32::try_from(self.sites.len()))
        {
            self.sites.push(SiteRun { is_guessed: true, ..SiteRun::new(&name, limits) });
            self.domain(row).home = Home::Site(number);
        }
    }

    /// Books a deferral until `due`, by our own limits if `held`.
    pub(crate) fn put_off(
        &mut self,
        row: u32,
        due: Millis,
        tries: &PriorAttempts,
        (why, held): (&str, bool),
        now: Millis,
    ) {
        if !held {
            self.guess(row);
        }
        let Home::Site(number) = self.domain(row).home else {
            self.due = self.due.max(due);
            return;
        };
        let site = &mut self.sites[number as usize];
        site.due = site.due.max(due);
        if !held {
            site.answered(tries.count, now);
            site.put_off += u64::from(tries.count == 1);
            site.waiting += u64::from(tries.count == 1);
            site.delay_ms = site.delay_ms.max(due.since(now));
        } else if why == "blocked" {
            site.closed = site.closed.max(due);
        }
    }

    /// Books rows that an earlier run deferred.
    pub(crate) fn waiting<'a>(mut self, rows: impl IntoIterator<Item = &'a PutOff>) -> Self {
        for PutOff { row, not_before, tries } in rows {
            let Home::Site(number) = self.domain(*row).home else {
                self.due = self.due.max(*not_before);
                continue;
            };
            let site = &mut self.sites[number as usize];
            site.due = site.due.max(*not_before);
            site.waiting += u64::from(tries.count > 0);
        }
        self
    }

    /// The site that takes longest. A forecast holds for some seconds.
    pub(crate) fn longest(&mut self, now: Millis) -> Option<LongestSite> {
        if let Some((at, longest)) = &self.last
            && now.since(*at) < EVERY_MS
        {
            return longest.clone();
        }
        let longest = self.sites_left(now).into_iter().max_by_key(|site| (site.bound.ms, site.addresses));
        let longest = longest.filter(|site| site.bound.ms > 0);
        let longest = longest.map(|site| LongestSite { name: site.name, ends: now + site.bound.ms });
        self.last = Some((now, longest.clone()));
        longest
    }

    /// All sites with addresses left, and the domains whose site is not known.
    fn sites_left(&self, now: Millis) -> Vec<SiteForecast<'_>> {
        let (mut loads, others) = self.loads(now);
        let overall =
            self.sites.iter().fold((0, 0), |(missing, told), site| (missing + site.missing, told + site.told));
        let mut found = Vec::new();
        for (site, load) in self.sites.iter().zip(&mut loads) {
            if site.limits.policy.provider.is_some() && self.learned.domains >= LEARNED_MIN {
                load.addresses += others.addresses * site.learned.addresses / self.learned.addresses.max(1);
                load.domains += others.domains * site.learned.domains / self.learned.domains;
            }
            site.complete(load, overall, now);
            let (name, limits) = (site.name.clone(), &site.limits);
            found.push(SiteForecast { name, addresses: load.addresses, bound: limits.bound(load), limits });
        }
        if let Some(limits) = &self.unlisted {
            // Each of them is a site of its own.
            let largest = SiteLoad { addresses: others.largest_domain, domains: others.domains.min(1), ..others };
            let bound = limits.bound(&largest);
            found.push(SiteForecast { name: OTHERS.into(), addresses: others.addresses, bound, limits });
        }
        found.retain(|site| site.addresses > 0);
        found
    }

    /// Counts what is left of each site, and of all domains whose site is not known.
    fn loads(&self, now: Millis) -> (Vec<SiteLoad>, SiteLoad) {
        let mut loads = vec![SiteLoad::default(); self.sites.len()];
        let mut others = SiteLoad { due_ms: self.due.since(now).max(0), ..SiteLoad::default() };
        for domain in self.domains.iter().filter(|domain| domain.left > 0) {
            let load = match domain.home {
                Home::Nowhere => continue,
                Home::Unknown => &mut others,
                Home::Site(number) => &mut loads[number as usize],
            };
            load.addresses += u64::from(domain.left);
            load.largest_domain = load.largest_domain.max(u64::from(domain.left));
            load.domains += u64::from(domain.open);
        }
        (loads, others)
    }
}
