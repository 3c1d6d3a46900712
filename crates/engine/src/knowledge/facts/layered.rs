//! Facts in memory, in front of a store shared by nodes.
//!
//! Each probe reads facts first, so the store must never delay it. Recent look-ups are answered from memory; otherwise the store
//! has [`LayeredConfig::recall_ms`] to respond. After a failure it is not asked for [`LayeredConfig::rest_ms`], so a store that is
//! down costs one wait, not one per probe. New facts are available here at once and written behind: through a bounded queue, in
//! batches. If the store fails or the queue is full, facts are lost and counted: that costs a probe, never a verdict.
//!
//! Entries are looked up again after [`LayeredConfig::fresh_ms`], so facts from other nodes appear here with that delay.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lru::LruCache;
use probity_mail::time::Millis;

use super::{DomainFacts, FactStore, key};
use crate::clock::EngineClock;
use crate::knowledge::facts::queue::FactQueue;
use crate::locked;
use crate::net::BoxFuture;

/// Error of a shared store. It is logged and counted, and not shown elsewhere.
pub type SharedError = Box<dyn std::error::Error + Send + Sync>;

/// New fact to store for all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnedFact {
    /// The domain, in A-labels.
    pub domain: Box<str>,
    /// MX host name.
    pub host: Box<str>,
    /// New facts. Parts that are `None` leave the stored ones unchanged.
    pub facts: DomainFacts,
}

/// Store shared by nodes, such as the service's database.
pub trait SharedFacts: Send + Sync + 'static {
    /// Facts about a domain at an MX host; the default if there are none. The future is dropped if it takes too long.
    fn recall<'a>(&'a self, domain: &'a str, host: &'a str) -> BoxFuture<'a, Result<DomainFacts, SharedError>>;

    /// Stores new facts: at most [`LayeredConfig::batch_max`] at a time, each domain and host once.
    fn remember(&self, learned: Vec<LearnedFact>) -> BoxFuture<'_, Result<(), SharedError>>;
}

/// Timeouts and capacities of [`LayeredFacts`].
#[derive(Clone, Copy, Debug)]
pub struct LayeredConfig {
    /// Maximum domains whose facts are in memory.
    pub kept_max: NonZeroUsize,
    /// Time until a look-up is repeated, in milliseconds.
    pub fresh_ms: i64,
    /// Maximum response time of the store, in milliseconds.
    pub recall_ms: u64,
    /// Time without requests to the store after it failed or took too long, in milliseconds.
    pub rest_ms: i64,
    /// Maximum facts waiting to be written.
    pub queue_max: usize,
    /// Maximum facts written together.
    pub batch_max: usize,
    /// Time to collect facts before a write, in milliseconds.
    pub linger_ms: u64,
    /// Maximum time of a write, in milliseconds.
    pub write_ms: u64,
}

impl Default for LayeredConfig {
    /// For a store that usually responds within milliseconds.
    fn default() -> Self {
        Self {
            kept_max: NonZeroUsize::new(super::FACTS_MAX).expect("not zero"),
            fresh_ms: 60_000,
            recall_ms: 250,
            rest_ms: 1_000,
            queue_max: 10_000,
            batch_max: 500,
            linger_ms: 200,
            write_ms: 5_000,
        }
    }
}

/// Traffic between memory and store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayeredCounters {
    /// Look-ups answered from memory.
    pub near: u64,
    /// Look-ups answered by the store.
    pub far: u64,
    /// Look-ups without an answer from the store: it failed, took too long, or was not asked.
    pub unanswered: u64,
    pub written: u64,
    /// Facts lost because a write failed or took too long.
    pub failed: u64,
    /// Facts lost because the queue was full.
    pub dropped: u64,
}

/// Facts in memory about a domain at an MX host.
#[derive(Clone, Copy, Default)]
struct CachedDomainFacts {
    facts: DomainFacts,
    /// Time until the store is asked again; `None` if it never was.
    fresh_until: Option<Millis>,
    /// Time when this process found something out itself: the store may not have it yet.
    learned: Option<Millis>,
}

/// Facts in memory in front of a shared store.
pub struct LayeredFacts {
    shared: Arc<dyn SharedFacts>,
    config: LayeredConfig,
    clock: EngineClock,
    near: Mutex<LruCache<Box<str>, CachedDomainFacts>>,
    /// Time until the store is asked again after a failure; `None` if the last look-up succeeded.
    resting: Mutex<Option<Millis>>,
    queue: FactQueue,
    tally: Arc<Mutex<LayeredCounters>>,
}

impl LayeredFacts {
    /// Puts memory in front of `shared`. Call within a tokio runtime: a separate task writes, and ends with this.
    pub fn new(shared: Arc<dyn SharedFacts>, config: LayeredConfig) -> Self {
        let tally = Arc::<Mutex<LayeredCounters>>::default();
        Self {
            queue: FactQueue::start(shared.clone(), config, tally.clone()),
            near: Mutex::new(LruCache::sparse(config.kept_max)),
            resting: Mutex::new(None),
            clock: EngineClock::system(),
            shared,
            config,
            tally,
        }
    }

    /// Waits until all facts so far are written or lost, at most `timeout_ms`. For the end of a process.
    pub async fn flush(&self, timeout_ms: u64) {
        self.queue.flush(Duration::from_millis(timeout_ms)).await;
    }

    pub fn counters(&self) -> LayeredCounters {
        *locked(&self.tally)
    }

    /// Facts in memory, and whether they suffice.
    fn nearby(&self, key: &str) -> (DomainFacts, bool) {
        let mut all = locked(&self.near);
        let near = all.get(key).copied().unwrap_or_default();
        (near.facts, near.fresh_until.is_some_and(|until| until > self.clock.now()))
    }

    /// Facts from the store; `None` if it is not asked, fails or takes too long.
    async fn far(&self, domain: &str, host: &str) -> Option<DomainFacts> {
        let now = self.clock.now();
        if locked(&self.resting).is_some_and(|until| until > now) {
            return None;
        }
        let answer = self.shared.recall(domain, host);
        let error = match tokio::time::timeout(Duration::from_millis(self.config.recall_ms), answer).await {
            Ok(Ok(facts)) => {
                if locked(&self.resting).take().is_some() {
                    tracing::info!("facts about domains can be read again");
                }
                return Some(facts);
            }
            Ok(Err(error)) => error,
            Err(late) => late.into(),
        };
        let until = self.clock.now() + self.config.rest_ms;
        if locked(&self.resting).replace(until).is_none() {
            tracing::warn!(%error, "cannot read facts about domains; continuing without them");
        }
        None
    }

    /// Merges the store's facts with memory, and keeps the result.
    fn merge(&self, key: String, far: DomainFacts) -> DomainFacts {
        let now = self.clock.now();
        let mut all = locked(&self.near);
        let near = all.get_or_insert_mut(key.into_boxed_str(), CachedDomainFacts::default);
        let own_is_newer = near.learned.is_some_and(|at| now.since(at) < self.config.fresh_ms);
        let catch_all =
            if own_is_newer { near.facts.catch_all.or(far.catch_all) } else { far.catch_all.or(near.facts.catch_all) };
        near.facts = DomainFacts { catch_all, accepted_until: near.facts.accepted_until.max(far.accepted_until) };
        near.fresh_until = Some(now + self.config.fresh_ms);
        near.facts
    }
}

impl FactStore for LayeredFacts {
    fn recall<'a>(&'a self, domain: &'a str, host: &'a str) -> BoxFuture<'a, DomainFacts> {
        let key = key(domain, host);
        let (known, fresh) = self.nearby(&key);
        if fresh {
            locked(&self.tally).near += 1;
            return Box::pin(std::future::ready(known));
        }
        Box::pin(async move {
            let Some(far) = self.far(domain, host).await else {
                locked(&self.tally).unanswered += 1;
                return known;
            };
            locked(&self.tally).far += 1;
            self.merge(key, far)
        })
    }

    fn remember<'a>(&'a self, domain: &'a str, host: &'a str, facts: DomainFacts) -> BoxFuture<'a, ()> {
        {
            let mut all = locked(&self.near);
            let near = all.get_or_insert_mut(key(domain, host).into_boxed_str(), CachedDomainFacts::default);
            near.facts.learn(facts);
            near.learned = Some(self.clock.now());
        }
        self.queue.push(LearnedFact { domain: domain.into(), host: host.into(), facts });
        Box::pin(std::future::ready(()))
    }
}
