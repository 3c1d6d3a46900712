//! Pacing: how much one source may probe at one MX host, and when not at all.
//!
//! Limits apply to a *site*: a known provider as a whole, any other MX host by its name, for one source. A site has the connection
//! slots, the rate of recipients, the budget of missing recipients, a governor that watches their share, and the circuit breaker.
//! The site's policy configures all of it. A limit is never a statement about an address: the caller must retry later, and a live
//! caller gets `unverified`. Sites in trouble are listed for the operator ([`watch`]), so that viewing them costs the others
//! nothing.

pub(crate) mod breaker;
mod budget;
mod drops;
mod governor;
pub(crate) mod pacing;
mod presence;
mod reach;
mod site;
pub(crate) mod sources;
mod warmth;
pub(crate) mod watch;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use lru::LruCache;
use probity_mail::policy::Policy;

pub(crate) use budget::SiteHold;
pub(crate) use presence::SitePresence;
pub(crate) use site::{Site, SiteSlot};
pub(crate) use warmth::percent as warmth_percent;

use watch::SiteWatch;

use crate::locked;

/// Maximum sites remembered; the least recently used one is forgotten with its state. A site takes about 1 KiB.
const SITES_MAX: usize = 65_536;
/// Maximum domains remembered with the site that takes their mail.
const HOMES_MAX: usize = 16_384;

/// Source, and the name of the MX host or provider.
pub(crate) type SiteKey = (u16, Arc<str>);

pub(crate) struct SiteTable {
    sites: Mutex<LruCache<SiteKey, Arc<Site>>>,
    /// Sites of domains with many probed addresses, each with the source that probes the domain.
    homes: Mutex<LruCache<Arc<str>, SiteKey>>,
    watch: Arc<SiteWatch>,
}

impl SiteTable {
    pub(crate) fn new() -> Self {
        let size = |entries| NonZeroUsize::new(entries).expect("not zero");
        Self {
            sites: Mutex::new(LruCache::sparse(size(SITES_MAX))),
            homes: Mutex::new(LruCache::sparse(size(HOMES_MAX))),
            watch: Arc::default(),
        }
    }

    /// The site of an MX host as one source sees it.
    pub(crate) fn site(&self, source: u16, host: &Arc<str>, policy: &Policy) -> Arc<Site> {
        let name = policy.provider.as_ref().unwrap_or(host);
        let mut sites = locked(&self.sites);
        let key = (source, name.clone());
        sites.get_or_insert(key.clone(), || Site::new(key, policy, self.watch.clone())).clone()
    }

    /// The site of this name as one source sees it, if remembered.
    pub(crate) fn known(&self, source: u16, name: &Arc<str>) -> Option<Arc<Site>> {
        let sites = locked(&self.sites);
        sites.peek(&(source, name.clone())).cloned()
    }

    /// Remembers the site that takes a domain's mail, and the source that probes it.
    pub(crate) fn settle_home(&self, domain: &Arc<str>, site: &Site, source: u16) {
        let mut homes = locked(&self.homes);
        homes.put(domain.clone(), (source, site.name().clone()));
    }

    /// The site that took a domain's mail at its last probe, and the source that probed it.
    pub(crate) fn home(&self, domain: &str) -> Option<SiteKey> {
        locked(&self.homes).get(domain).cloned()
    }

    pub(crate) fn sites(&self) -> usize {
        locked(&self.sites).len()
    }

    /// Sites in trouble, and the count of warm sessions.
    pub(crate) fn watch(&self) -> &SiteWatch {
        &self.watch
    }
}
