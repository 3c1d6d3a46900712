//! Facts about domains that outlive a probe: whether one is a catch-all, and whether it has accepted some address.
//!
//! A [`FactStore`] keeps them. [`MemoryFacts`] keeps them in this process; a service puts [`LayeredFacts`] in front of its
//! database, so that nodes share them and no probe waits for it. Losing a fact costs a probe, never a verdict.

mod layered;
mod queue;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::sync::Mutex;

use lru::LruCache;
use probity_mail::time::Millis;

use crate::locked;
use crate::net::BoxFuture;

pub use layered::{LayeredConfig, LayeredCounters, LayeredFacts, LearnedFact, SharedError, SharedFacts};

/// Maximum domains whose facts are in memory.
const FACTS_MAX: usize = 200_000;

/// Facts about a domain at one MX host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DomainFacts {
    /// Whether it is a catch-all, and the expiry of that fact.
    pub catch_all: Option<(bool, Millis)>,
    /// Expiry of the fact that the domain has accepted some address.
    pub accepted_until: Option<Millis>,
}

impl DomainFacts {
    /// Merges new facts; parts that are `None` change nothing.
    fn learn(&mut self, found: Self) {
        self.catch_all = found.catch_all.or(self.catch_all);
        self.accepted_until = found.accepted_until.or(self.accepted_until);
    }
}

pub trait FactStore: Send + Sync + 'static {
    /// Facts about a domain at an MX host.
    fn recall<'a>(&'a self, domain: &'a str, host: &'a str) -> BoxFuture<'a, DomainFacts>;

    /// Stores new facts. Parts that are `None` leave the stored ones unchanged.
    fn remember<'a>(&'a self, domain: &'a str, host: &'a str, facts: DomainFacts) -> BoxFuture<'a, ()>;

    /// Number of domains in this process's memory; `None` if not counted.
    fn held(&self) -> Option<usize> {
        None
    }
}

/// Facts in this process's memory.
pub struct MemoryFacts {
    facts: Mutex<LruCache<Box<str>, DomainFacts>>,
}

impl Default for MemoryFacts {
    fn default() -> Self {
        let size = NonZeroUsize::new(FACTS_MAX).expect("not zero");
        Self { facts: Mutex::new(LruCache::sparse(size)) }
    }
}

impl FactStore for MemoryFacts {
    fn recall<'a>(&'a self, domain: &'a str, host: &'a str) -> BoxFuture<'a, DomainFacts> {
        let known = locked(&self.facts).get(key(domain, host).as_str()).copied();
        Box::pin(std::future::ready(known.unwrap_or_default()))
    }

    fn remember<'a>(&'a self, domain: &'a str, host: &'a str, facts: DomainFacts) -> BoxFuture<'a, ()> {
        let mut all = locked(&self.facts);
        let kept = all.get_or_insert_mut(key(domain, host).into_boxed_str(), DomainFacts::default);
        kept.learn(facts);
        Box::pin(std::future::ready(()))
    }

    fn held(&self) -> Option<usize> {
        Some(locked(&self.facts).len())
    }
}

/// Neither name can contain a space.
fn key(domain: &str, host: &str) -> String {
    format!("{domain} {host}")
}
