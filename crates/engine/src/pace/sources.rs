//! Sources that this engine probes from: which one probes a domain, and how much a new one may do.

use std::net::IpAddr;
use std::sync::Arc;

use probity_mail::rng::stable_hash;
use probity_mail::time::Millis;

use crate::net::ProbeSource;
use crate::pace::warmth_percent;

/// Configured sources. A source is named by its index.
pub(crate) struct SourcePool {
    all: Vec<Arc<ProbeSource>>,
    /// First use of each source IP.
    in_use_since: Vec<Option<Millis>>,
    /// Our network addresses in canonical form, to keep them out of evidence.
    own_addresses: Vec<IpAddr>,
}

impl SourcePool {
    pub(crate) fn new(all: Vec<Arc<ProbeSource>>, in_use_since: Vec<Option<Millis>>) -> Self {
        let own_addresses = own_addresses(&all).iter().map(IpAddr::to_canonical).collect();
        Self { all, in_use_since, own_addresses }
    }

    pub(crate) fn at(&self, source: u16) -> &Arc<ProbeSource> {
        &self.all[usize::from(source)]
    }

    pub(crate) fn all(&self) -> &[Arc<ProbeSource>] {
        &self.all
    }

    pub(crate) fn own_addresses(&self) -> &[IpAddr] {
        &self.own_addresses
    }

    /// Source that normally probes a domain: always the same, so that greylisting recognizes us.
    pub(crate) fn first(&self, domain: &str) -> u16 {
        let count = self.all.len().max(1) as u64;
        u16::try_from(stable_hash(domain.bytes()) % count).unwrap_or(0)
    }

    /// Source whose pacing a source shares: the first one with the same public address. Servers count by address, not by our names.
    pub(crate) fn paced_as(&self, source: u16) -> u16 {
        let seen_as = |source: &ProbeSource| source.public.or(source.bind);
        let same = self.all.iter().position(|other| seen_as(other) == seen_as(self.at(source)));
        same.and_then(|index| u16::try_from(index).ok()).unwrap_or(source)
    }

    /// The source with this name.
    pub(crate) fn named(&self, name: &str) -> Option<u16> {
        let found = self.all.iter().position(|source| *source.name() == *name);
        found.and_then(|index| u16::try_from(index).ok())
    }

    /// All sources, in the order in which a domain tries them.
    pub(crate) fn starting_at(&self, first: u16) -> impl Iterator<Item = u16> {
        let count = u16::try_from(self.all.len()).unwrap_or(u16::MAX);
        (0..count).map(move |n| first.wrapping_add(n) % count)
    }

    /// Shares of all sources that servers can tell apart.
    pub(crate) fn warmths(&self, now: Millis) -> Vec<u32> {
        let count = u16::try_from(self.all.len()).unwrap_or(u16::MAX);
        (0..count).filter(|source| self.paced_as(*source) == *source).map(|source| self.warmth(source, now)).collect()
    }

    /// Share of a polite site's limits that a source may use now, in percent.
    pub(crate) fn warmth(&self, source: u16, now: Millis) -> u32 {
        let since = self.in_use_since.get(usize::from(source)).copied().flatten();
        warmth_percent(since, now)
    }
}

/// Addresses of this machine, as far as its sources name them.
pub(crate) fn own_addresses(sources: &[Arc<ProbeSource>]) -> Vec<IpAddr> {
    sources.iter().flat_map(|source| [source.bind, source.public]).flatten().collect()
}
