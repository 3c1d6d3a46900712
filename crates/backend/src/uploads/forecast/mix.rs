//! Providers that receive a list's mail, as far as known without a probe.

use std::collections::{BTreeMap, HashMap};

use probity_contract::timestamp::Timestamp;
use probity_engine::ProbingLimits;
use probity_engine::snapshot::PausedSite;
use probity_mail::facts::lists::Lists;
use probity_mail::policy::Mode;
use probity_mail::time::Millis;
use probity_store::nodes::facts::StoredDomainFact;
use serde::Serialize;

use crate::uploads::count::Domains;

/// One provider's share of a list.
#[derive(Clone, Debug, Serialize)]
pub struct ProviderShare {
    /// ID of the provider; empty for domains whose MX host is unknown, and `others` for all remaining providers.
    pub id: String,
    pub name: String,
    pub(super) addresses: i64,
    /// Whether it reveals nothing, so that it is not probed.
    pub(super) never_tells: bool,
    /// Time until which probes are paused, after client refusals or too many missing recipients.
    pub(super) held_until: Option<Timestamp>,
    /// Limits for probes of its MX hosts.
    #[serde(skip)]
    pub(super) manners: Option<ProbingLimits>,
    /// Addresses of its domains that are known catch-alls.
    #[serde(skip)]
    pub(super) accept_all: i64,
    /// Number of addresses of its largest domain.
    #[serde(skip)]
    pub(super) largest: i64,
    /// Number of its domains that may be catch-alls.
    #[serde(skip)]
    pub(super) open_domains: i64,
}

/// A list by provider.
#[derive(Debug)]
pub struct ProviderMix {
    pub(super) shares: Vec<ProviderShare>,
    /// Different addresses that will be probed.
    pub(super) asked: i64,
    /// Those of them that belong to known catch-alls.
    pub(super) accept_all: i64,
}

impl ProviderMix {
    /// Groups domains by provider. `manners` returns the limits of an MX host.
    pub fn of(
        domains: &Domains,
        known: &[StoredDomainFact],
        held: &[PausedSite],
        now: Millis,
        manners: &dyn Fn(&str) -> Option<ProbingLimits>,
    ) -> Self {
        let lists = Lists::embedded();
        let facts: HashMap<&str, &StoredDomainFact> = known.iter().map(|fact| (fact.domain.as_str(), fact)).collect();
        let mut shares: BTreeMap<String, ProviderShare> = BTreeMap::new();
        for (domain, addresses) in &domains.named {
            let fact = facts.get(domain.as_str());
            let host = lists.exchanger_of(domain).or_else(|| fact.map(|fact| fact.host.as_str()));
            let provider = host.and_then(|host| lists.provider(host));
            let (id, name) = provider.map_or(("", ""), |provider| (&provider.id, &provider.name));
            let share = shares.entry(id.to_owned()).or_insert_with(|| ProviderShare::new(id, name));
            share.addresses += addresses;
            share.largest = share.largest.max(*addresses);
            // If the MX host is unknown, the limits of hosts without a policy apply.
            share.manners = share.manners.take().or_else(|| manners(host.unwrap_or_default()));
            match fact.and_then(|fact| fact.catch_all).filter(|(_, until)| *until > now) {
                Some((is, _)) => share.accept_all += if is { *addresses } else { 0 },
                None => share.open_domains += i64::from(!lists.known_not_catch_all(domain)),
            }
        }
        if domains.others > 0 {
            shares.entry(String::new()).or_insert_with(|| ProviderShare::new("", "")).addresses += domains.others;
        }
        let mut shares: Vec<ProviderShare> = shares.into_values().collect();
        for share in &mut shares {
            share.never_tells = share.manners.as_ref().is_some_and(|manners| manners.policy.mode == Mode::Never);
            let sites = held.iter().filter(|site| site.is_provider && *site.site == *share.id);
            share.held_until = sites.map(|site| site.until).max().filter(|until| *until > now).map(Timestamp);
        }
        shares.sort_by(|a, b| b.addresses.cmp(&a.addresses).then_with(|| a.id.cmp(&b.id)));
        let of_asked =
            |number: &dyn Fn(&ProviderShare) -> i64| shares.iter().filter(|share| !share.never_tells).map(number).sum();
        let (asked, accept_all) = (of_asked(&|share| share.addresses), of_asked(&|share| share.accept_all));
        Self { shares, asked, accept_all }
    }

    /// Returns the shares, largest first. Those beyond `at_most` are combined into one.
    pub(super) fn shares(mut self, at_most: usize) -> Vec<ProviderShare> {
        if self.shares.len() > at_most {
            let rest = self.shares.split_off(at_most - 1);
            let addresses = rest.iter().map(|share| share.addresses).sum();
            self.shares.push(ProviderShare { addresses, ..ProviderShare::new("others", "") });
        }
        self.shares
    }
}

impl ProviderShare {
    fn new(id: &str, name: &str) -> Self {
        let (id, name) = (id.to_owned(), name.to_owned());
        Self {
            id,
            name,
            addresses: 0,
            never_tells: false,
            held_until: None,
            manners: None,
            accept_all: 0,
            largest: 0,
            open_domains: 0,
        }
    }
}
