//! Pacing of all sources: the sites as each source sees them, and the addresses that cannot be reached now.

use std::sync::Arc;

use probity_mail::policy::Policy;
use probity_mail::time::Millis;

use crate::pace::reach::ReachMemory;
use crate::pace::sources::SourcePool;
use crate::pace::{Site, SiteTable};
use crate::request::DestinationCapacity;

pub(crate) struct Pacing {
    pub(crate) sites: SiteTable,
    pub(crate) reach: ReachMemory,
    sources: Arc<SourcePool>,
}

impl Pacing {
    pub(crate) fn new(sources: Arc<SourcePool>) -> Self {
        Self { sites: SiteTable::new(), reach: ReachMemory::new(), sources }
    }

    /// The site of an MX host as a source sees it.
    pub(crate) fn site(&self, source: u16, host: &Arc<str>, policy: &Policy) -> Arc<Site> {
        self.sites.site(self.sources.paced_as(source), host, policy)
    }

    /// The site of this name as a source sees it, if remembered.
    pub(crate) fn known(&self, source: u16, site: &Arc<str>) -> Option<Arc<Site>> {
        self.sites.known(self.sources.paced_as(source), site)
    }

    /// Capacity of a destination in the near future; see [`Verifier::room`](crate::verifier::Verifier::room) for its forms.
    pub(crate) fn room(&self, destination: &str, source: Option<&str>, now: Millis) -> DestinationCapacity {
        let home = match destination.strip_prefix('@') {
            Some(domain) => self.sites.home(domain).map(|(source, site)| (site, Some(source))),
            None => Some((destination.into(), None)),
        };
        let Some((site, first)) = home else { return DestinationCapacity::Now(u32::MAX) };
        let fixed = source.and_then(|name| self.sources.named(name));
        let room = |source: u16| {
            let site = self.known(source, &site);
            site.map_or(DestinationCapacity::Now(u32::MAX), |site| site.outlook(now, self.sources.warmth(source, now)))
        };
        match (fixed, first) {
            (Some(source), _) => room(source),
            // A domain is probed from the first source that is not paused, and from no other.
            (None, Some(first)) => {
                let shut = |source: &u16| self.known(*source, &site).is_some_and(|site| site.closed(now).is_some());
                room(self.sources.starting_at(first).find(|source| !shut(source)).unwrap_or(first))
            }
            (None, None) => self.sources.starting_at(0).map(room).max().unwrap_or(DestinationCapacity::Now(u32::MAX)),
        }
    }
}
