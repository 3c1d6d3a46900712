//! Manners: how much is asked of one exchanger from one source, and when not at all.
//!
//! A *site* is what limits count for: a known provider as a whole, any other exchanger by its host name, for one source. It
//! holds the connection slots, the rate of recipients, the budget of missing recipients, a governor that watches their share,
//! and the circuit breaker. All of it comes from the site's policy. A limit is never a statement about an address: whoever
//! runs into one is told to come back, and a live caller gets `unverified`. Sites that say no are noted for the operator
//! ([`watch`]), so that looking at them costs nothing for all others.

pub(crate) mod breaker;
mod budget;
mod drops;
mod governor;
mod presence;
mod site;
mod warmth;
pub(crate) mod watch;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use probity_mail::policy::Policy;

pub(crate) use budget::{Hold, WAIT_MS};
pub(crate) use presence::Presence;
pub(crate) use site::{Site, Slot};
pub(crate) use warmth::percent as warmth_percent;

use watch::Watch;

/// Sites that are remembered; the one unused for longest is forgotten with its state. A site takes about 1 KiB.
const SITES_MAX: usize = 65_536;
/// Domains of whom it is remembered which site takes their mail.
const HOMES_MAX: usize = 16_384;

/// What kind of work asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Somebody is waiting for the answer.
    Live,
    /// Nobody is.
    Batch,
}

/// Who asks: for what kind of work, and for which customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    pub(crate) effort: Effort,
    pub(crate) customer: u64,
}

/// Which source, and the name of the exchanger or provider.
pub(crate) type Key = (u16, Arc<str>);

/// All sites.
pub(crate) struct Pace {
    sites: Mutex<LruCache<Key, Arc<Site>>>,
    /// The sites of domains of which many addresses were asked about.
    homes: Mutex<LruCache<Arc<str>, Arc<str>>>,
    watch: Arc<Watch>,
}

impl Pace {
    pub(crate) fn new() -> Self {
        let size = |entries| NonZeroUsize::new(entries).expect("not zero");
        Self {
            sites: Mutex::new(LruCache::sparse(size(SITES_MAX))),
            homes: Mutex::new(LruCache::sparse(size(HOMES_MAX))),
            watch: Arc::default(),
        }
    }

    /// The site of an exchanger as one source sees it.
    pub(crate) fn site(&self, source: u16, host: &Arc<str>, policy: &Policy) -> Arc<Site> {
        let name = policy.provider.as_ref().unwrap_or(host);
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (source, name.clone());
        sites.get_or_insert(key.clone(), || Site::new(key, policy, self.watch.clone())).clone()
    }

    /// The site of this name as one source sees it, if it is remembered.
    pub(crate) fn known(&self, source: u16, name: &Arc<str>) -> Option<Arc<Site>> {
        let sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        sites.peek(&(source, name.clone())).cloned()
    }

    /// Remembers which site takes a domain's mail.
    pub(crate) fn settle_home(&self, domain: &Arc<str>, site: &Site) {
        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        homes.put(domain.clone(), site.name().clone());
    }

    /// The site that took a domain's mail when it was asked last.
    pub(crate) fn home(&self, domain: &str) -> Option<Arc<str>> {
        self.homes.lock().unwrap_or_else(PoisonError::into_inner).get(domain).cloned()
    }

    /// How many sites are remembered.
    pub(crate) fn sites(&self) -> usize {
        self.sites.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The sites that say no, and the count of warm sessions.
    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }
}
