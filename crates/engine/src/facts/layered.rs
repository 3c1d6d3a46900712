//! Facts in memory in front of a store that several nodes share.
//!
//! Each probe asks for facts before it does anything else, so the store must never hold it up: what was looked up lately is
//! answered from memory; otherwise the store has [`LayeredConfig::recall_ms`] to answer, and after a failure it is left alone for
//! [`LayeredConfig::rest_ms`], so that a store that is down costs one wait and not one for each probe. What is found out is known
//! here at once and written behind: through a queue of bounded length, in batches. When the store fails, or the queue is
//! full, facts are lost and counted: that costs a question to a mail server, never a verdict.
//!
//! Entries are looked up anew after [`LayeredConfig::fresh_ms`], so what another node has found out is seen here that much later.

mod queue;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lru::LruCache;
use probity_mail::time::Millis;

use super::{DomainFacts, FactStore, key};
use crate::clock::Clock;
use crate::net::BoxFuture;
use queue::Queue;

/// Why a store did not answer. It is logged and counted, and nobody else sees it.
pub type SharedError = Box<dyn std::error::Error + Send + Sync>;

/// One thing that was found out, to be kept for all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learned {
    /// The domain, in A-labels.
    pub domain: Box<str>,
    /// The exchanger's name.
    pub host: Box<str>,
    /// What was found out. Parts that are none leave what is known untouched.
    pub facts: DomainFacts,
}

/// A store that nodes share, as the server has one in its database.
pub trait SharedFacts: Send + Sync + 'static {
    /// What is known of a domain at an exchanger host; the default where nothing is. The future is dropped when it takes too
    /// long.
    fn recall<'a>(&'a self, domain: &'a str, host: &'a str) -> BoxFuture<'a, Result<DomainFacts, SharedError>>;

    /// Keeps what was found out: at most [`LayeredConfig::batch_max`] at a time, no domain and host twice.
    fn remember(&self, learned: Vec<Learned>) -> BoxFuture<'_, Result<(), SharedError>>;
}

/// How patient [`Layered`] is, and how much it holds.
#[derive(Clone, Copy, Debug)]
pub struct LayeredConfig {
    /// Domains whose facts are kept in memory.
    pub kept_max: NonZeroUsize,
    /// How long what was looked up is believed before it is looked up again, in milliseconds.
    pub fresh_ms: i64,
    /// How long the store may take for an answer, in milliseconds.
    pub recall_ms: u64,
    /// How long the store is not asked after it failed or took too long, in milliseconds.
    pub rest_ms: i64,
    /// How many facts may wait to be written.
    pub queue_max: usize,
    /// How many facts are written together.
    pub batch_max: usize,
    /// How long facts are collected before they are written, in milliseconds.
    pub linger_ms: u64,
    /// How long a write may take, in milliseconds.
    pub write_ms: u64,
}

impl Default for LayeredConfig {
    /// A store that usually answers within milliseconds.
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

/// What has happened between memory and store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayeredCounters {
    /// Questions that memory answered.
    pub near: u64,
    /// Questions that the store answered.
    pub far: u64,
    /// Questions that the store did not answer: it failed, took too long, or was resting.
    pub unanswered: u64,
    /// Facts that were written.
    pub written: u64,
    /// Facts that were lost because a write failed or took too long.
    pub failed: u64,
    /// Facts that were lost because too many were waiting.
    pub dropped: u64,
}

#[derive(Debug, Default)]
struct Tally {
    near: AtomicU64,
    far: AtomicU64,
    unanswered: AtomicU64,
    written: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
}

/// What memory holds of a domain at an exchanger.
#[derive(Clone, Copy, Default)]
struct Near {
    facts: DomainFacts,
    /// Until when the store need not be asked; none before it was.
    fresh_until: Option<Millis>,
    /// When this process found something out itself: the store may not know it yet.
    learned: Option<Millis>,
}

/// Facts in memory in front of a shared store.
pub struct Layered {
    shared: Arc<dyn SharedFacts>,
    config: LayeredConfig,
    clock: Clock,
    near: Mutex<LruCache<Box<str>, Near>>,
    /// Until when the store is left alone; none when it answered the last question.
    resting: Mutex<Option<Millis>>,
    queue: Queue,
    tally: Arc<Tally>,
}

impl Layered {
    /// Memory in front of `shared`. Call within a tokio runtime: writing is a task of its own, which ends with this.
    pub fn new(shared: Arc<dyn SharedFacts>, config: LayeredConfig) -> Self {
        let tally = Arc::new(Tally::default());
        Self {
            queue: Queue::start(shared.clone(), config, tally.clone()),
            near: Mutex::new(LruCache::sparse(config.kept_max)),
            resting: Mutex::new(None),
            clock: Clock::system(),
            shared,
            config,
            tally,
        }
    }

    /// Waits until what was found out so far is written or lost, at most `timeout_ms`. For the end of a process.
    pub async fn flush(&self, timeout_ms: u64) {
        self.queue.flush(Duration::from_millis(timeout_ms)).await;
    }

    /// What has happened so far.
    pub fn counters(&self) -> LayeredCounters {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LayeredCounters {
            near: count(&self.tally.near),
            far: count(&self.tally.far),
            unanswered: count(&self.tally.unanswered),
            written: count(&self.tally.written),
            failed: count(&self.tally.failed),
            dropped: count(&self.tally.dropped),
        }
    }

    /// What memory knows, and whether that is enough.
    fn nearby(&self, key: &str) -> (DomainFacts, bool) {
        let mut all = self.near.lock().unwrap_or_else(PoisonError::into_inner);
        let near = all.get(key).copied().unwrap_or_default();
        (near.facts, near.fresh_until.is_some_and(|until| until > self.clock.now()))
    }

    /// The store's answer; none when it is resting, fails or takes too long.
    async fn far(&self, domain: &str, host: &str) -> Option<DomainFacts> {
        let now = self.clock.now();
        if self.resting().is_some_and(|until| until > now) {
            return None;
        }
        let answer = self.shared.recall(domain, host);
        let error = match tokio::time::timeout(Duration::from_millis(self.config.recall_ms), answer).await {
            Ok(Ok(facts)) => {
                if self.resting().take().is_some() {
                    tracing::info!("facts about domains can be read again");
                }
                return Some(facts);
            }
            Ok(Err(error)) => error,
            Err(late) => late.into(),
        };
        let until = self.clock.now() + self.config.rest_ms;
        if self.resting().replace(until).is_none() {
            tracing::warn!(%error, "facts about domains cannot be read; going on without");
        }
        None
    }

    fn resting(&self) -> std::sync::MutexGuard<'_, Option<Millis>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the store's answer together with what memory has, and keeps that.
    fn merge(&self, key: String, far: DomainFacts) -> DomainFacts {
        let now = self.clock.now();
        let mut all = self.near.lock().unwrap_or_else(PoisonError::into_inner);
        let near = all.get_or_insert_mut(key.into_boxed_str(), Near::default);
        let own_is_newer = near.learned.is_some_and(|at| now.since(at) < self.config.fresh_ms);
        let catch_all =
            if own_is_newer { near.facts.catch_all.or(far.catch_all) } else { far.catch_all.or(near.facts.catch_all) };
        near.facts = DomainFacts { catch_all, accepted_until: near.facts.accepted_until.max(far.accepted_until) };
        near.fresh_until = Some(now + self.config.fresh_ms);
        near.facts
    }
}

impl FactStore for Layered {
    fn recall<'a>(&'a self, domain: &'a str, host: &'a str) -> BoxFuture<'a, DomainFacts> {
        let key = key(domain, host);
        let (known, fresh) = self.nearby(&key);
        if fresh {
            self.tally.near.fetch_add(1, Ordering::Relaxed);
            return Box::pin(std::future::ready(known));
        }
        Box::pin(async move {
            let Some(far) = self.far(domain, host).await else {
                self.tally.unanswered.fetch_add(1, Ordering::Relaxed);
                return known;
            };
            self.tally.far.fetch_add(1, Ordering::Relaxed);
            self.merge(key, far)
        })
    }

    fn remember<'a>(&'a self, domain: &'a str, host: &'a str, facts: DomainFacts) -> BoxFuture<'a, ()> {
        {
            let mut all = self.near.lock().unwrap_or_else(PoisonError::into_inner);
            let near = all.get_or_insert_mut(key(domain, host).into_boxed_str(), Near::default);
            near.facts.learn(facts);
            near.learned = Some(self.clock.now());
        }
        self.queue.push(Learned { domain: domain.into(), host: host.into(), facts });
        Box::pin(std::future::ready(()))
    }
}

#[cfg(test)]
mod tests;
