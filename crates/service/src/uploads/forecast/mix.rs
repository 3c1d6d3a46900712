//! Who takes the mail of a list, as far as that is known without asking.

use std::collections::{BTreeMap, HashMap};

use probity_engine::Manners;
use probity_engine::snapshot::HeldSite;
use probity_mail::lists::Lists;
use probity_mail::policy::Mode;
use probity_mail::time::Millis;
use probity_store::facts::Fact;
use serde::Serialize;

use crate::timestamp::Timestamp;
use crate::uploads::count::Domains;

/// One provider's part of a list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Share {
    /// Its id; empty for domains of which nobody knows who takes their mail, and `others` for providers that are not named.
    pub id: String,
    pub name: String,
    pub(super) addresses: i64,
    /// Whether it never tells, so that nobody is asked.
    pub(super) never_tells: bool,
    /// Until when it is left alone, because it refused us or too many addresses there did not exist.
    pub(super) held_until: Option<Timestamp>,
    /// How its servers are asked.
    #[serde(skip)]
    pub(super) manners: Option<Manners>,
    /// Those of its domains that are known to accept every address.
    #[serde(skip)]
    pub(super) accept_all: i64,
    /// The most addresses of one of its domains.
    #[serde(skip)]
    pub(super) largest: i64,
}

/// A list by who takes its mail.
#[derive(Debug)]
pub(crate) struct Mix {
    pub(super) shares: Vec<Share>,
    /// Different addresses that will be asked about.
    pub(super) asked: i64,
    /// Those of them whose domains are known to accept every address.
    pub(super) accept_all: i64,
}

impl Mix {
    /// Sorts domains by provider. `manners` says how an exchanger is asked.
    pub(crate) fn of(
        domains: &Domains,
        known: &[Fact],
        held: &[HeldSite],
        now: Millis,
        manners: &dyn Fn(&str) -> Option<Manners>,
    ) -> Self {
        let lists = Lists::embedded();
        let facts: HashMap<&str, &Fact> = known.iter().map(|fact| (fact.domain.as_str(), fact)).collect();
        let mut shares: BTreeMap<String, Share> = BTreeMap::new();
        for (domain, addresses) in &domains.named {
            let fact = facts.get(domain.as_str());
            let host = lists.exchanger_of(domain).or_else(|| fact.map(|fact| fact.host.as_str()));
            let provider = host.and_then(|host| lists.provider(host));
            let (id, name) = provider.map_or(("", ""), |provider| (&provider.id, &provider.name));
            let share = shares.entry(id.to_owned()).or_insert_with(|| Share::new(id, name));
            share.addresses += addresses;
            share.largest = share.largest.max(*addresses);
            // Of a domain of which nothing is known, the manners for all hosts that no policy names.
            share.manners = share.manners.or_else(|| manners(host.unwrap_or_default()));
            if fact.and_then(|fact| fact.catch_all).is_some_and(|(is, until)| is && until > now) {
                share.accept_all += addresses;
            }
        }
        if domains.others > 0 {
            shares.entry(String::new()).or_insert_with(|| Share::new("", "")).addresses += domains.others;
        }
        let mut shares: Vec<Share> = shares.into_values().collect();
        for share in &mut shares {
            share.never_tells = share.manners.is_some_and(|manners| manners.mode == Mode::Never);
            let sites = held.iter().filter(|site| site.is_provider && *site.site == *share.id);
            share.held_until = sites.map(|site| site.until).max().filter(|until| *until > now).map(Timestamp);
        }
        shares.sort_by(|a, b| b.addresses.cmp(&a.addresses).then_with(|| a.id.cmp(&b.id)));
        let of_asked =
            |number: &dyn Fn(&Share) -> i64| shares.iter().filter(|share| !share.never_tells).map(number).sum();
        let (asked, accept_all) = (of_asked(&|share| share.addresses), of_asked(&|share| share.accept_all));
        Self { shares, asked, accept_all }
    }

    /// The shares, those with the most addresses first; those behind `at_most` as one.
    pub(super) fn shares(mut self, at_most: usize) -> Vec<Share> {
        if self.shares.len() > at_most {
            let rest = self.shares.split_off(at_most - 1);
            let addresses = rest.iter().map(|share| share.addresses).sum();
            self.shares.push(Share { addresses, ..Share::new("others", "") });
        }
        self.shares
    }
}

impl Share {
    fn new(id: &str, name: &str) -> Self {
        let (id, name) = (id.to_owned(), name.to_owned());
        Self { id, name, addresses: 0, never_tells: false, held_until: None, manners: None, accept_all: 0, largest: 0 }
    }
}
