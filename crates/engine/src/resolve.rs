//! Names to records, asked once: a cache by TTL, negative answers included, with single flight and a budget for each zone.
//!
//! Failures are kept for some seconds (RFC 9520), so that a broken zone is not asked again by every address of it. A name
//! under a registrable domain that does not exist is answered without a question (RFC 8020). The budget protects zones from
//! being tortured through us with random sub-domains; it is our own limit, so running into it is a failure and never a
//! statement about the name.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use lru::LruCache;
use probity_core::dns::{Answer, DnsFailure, Kind, Lookup};
use probity_core::limits::Gcra;
use probity_core::time::Millis;
use tokio::sync::Semaphore;

use crate::clock::Clock;
use crate::net::Net;

/// Answers that are kept. One takes some 300 bytes.
const ANSWERS_MAX: usize = 100_000;
/// No answer is asked for again sooner than this, whatever its TTL: a list of one domain asks within a second.
const TTL_MIN_MS: i64 = 5_000;
/// No answer is kept for longer (RFC 2308 §5 suggests one to three hours for negative ones, a day is common for others).
const TTL_MAX_MS: i64 = 86_400_000;
/// How long a failure is kept: within the 1 s to 5 min of RFC 9520 §3.2.
const FAILURE_TTL_MS: i64 = 5_000;
/// Questions about the names of one registrable domain, a minute.
const ZONE_PER_MINUTE: u32 = 200;
/// Questions about the names of one registrable domain at a time.
const ZONE_IN_FLIGHT: usize = 20;
/// Zones whose budget is remembered.
const ZONES_MAX: usize = 50_000;

type Key = (Kind, Box<str>);
type Asking = Shared<BoxFuture<'static, Arc<Lookup>>>;

/// What one registrable domain may be asked.
struct Zone {
    rate: Gcra,
    turns: Arc<Semaphore>,
}

enum Entry {
    Known { lookup: Arc<Lookup>, until: Millis },
    Asking(Asking),
}

/// A caching resolver over a [`Net`].
pub(crate) struct Resolver {
    net: Arc<dyn Net>,
    clock: Clock,
    answers: Mutex<LruCache<Key, Entry>>,
    zones: Option<Mutex<LruCache<Box<str>, Zone>>>,
    asked: AtomicU64,
    cached: AtomicU64,
}

impl Resolver {
    /// `zone_budget` turns the budget for each zone on.
    pub(crate) fn new(net: Arc<dyn Net>, clock: Clock, zone_budget: bool) -> Arc<Self> {
        Arc::new(Self {
            net,
            clock,
            answers: Mutex::new(LruCache::sparse(size(ANSWERS_MAX))),
            zones: zone_budget.then(|| Mutex::new(LruCache::sparse(size(ZONES_MAX)))),
            asked: AtomicU64::new(0),
            cached: AtomicU64::new(0),
        })
    }

    /// Questions that were sent, and those that the cache answered.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.asked.load(Ordering::Relaxed), self.cached.load(Ordering::Relaxed))
    }

    /// How many answers are kept, stale ones included.
    pub(crate) fn held(&self) -> usize {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The answer to a question about a name in lower-case A-labels. `budgeted` is off for names of large providers, whose
    /// one zone serves thousands of domains.
    pub(crate) async fn lookup(self: &Arc<Self>, name: &str, kind: Kind, budgeted: bool) -> Arc<Lookup> {
        let asking = match self.known_or_asking(name, kind, budgeted) {
            Ok(lookup) => return lookup,
            Err(asking) => asking,
        };
        asking.await
    }

    fn known_or_asking(self: &Arc<Self>, name: &str, kind: Kind, budgeted: bool) -> Result<Arc<Lookup>, Asking> {
        let now = self.clock.now();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (kind, Box::from(name));
        match answers.get(&key) {
            Some(Entry::Known { lookup, until }) if *until > now => {
                self.cached.fetch_add(1, Ordering::Relaxed);
                return Ok(lookup.clone());
            }
            Some(Entry::Asking(asking)) => {
                self.cached.fetch_add(1, Ordering::Relaxed);
                return Err(asking.clone());
            }
            _ => {}
        }
        if parent_is_missing(&mut answers, name, now) {
            self.cached.fetch_add(1, Ordering::Relaxed);
            return Ok(Arc::new(Lookup { answer: Answer::NoName, ttl_ms: 0 }));
        }
        let turns = match self.zone_turns(name, budgeted, now) {
            Ok(turns) => turns,
            Err(overload) => return Ok(Arc::new(Lookup { answer: Answer::Failed(overload), ttl_ms: 0 })),
        };
        self.asked.fetch_add(1, Ordering::Relaxed);
        let asking = self.clone().ask(name.to_owned(), kind, turns).boxed().shared();
        answers.put(key, Entry::Asking(asking.clone()));
        Err(asking)
    }

    async fn ask(self: Arc<Self>, name: String, kind: Kind, turns: Option<Arc<Semaphore>>) -> Arc<Lookup> {
        let _turn = match turns {
            Some(turns) => turns.acquire_owned().await.ok(),
            None => None,
        };
        let lookup = Arc::new(self.net.lookup(&name, kind).await);
        let ttl_ms = match lookup.answer {
            Answer::Failed(_) => FAILURE_TTL_MS,
            _ => lookup.ttl_ms.clamp(TTL_MIN_MS, TTL_MAX_MS),
        };
        let entry = Entry::Known { lookup: lookup.clone(), until: self.clock.now() + ttl_ms };
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.put((kind, name.into_boxed_str()), entry);
        lookup
    }

    /// Takes one question from the budget of the name's zone; what it must wait for, if for anything.
    fn zone_turns(&self, name: &str, budgeted: bool, now: Millis) -> Result<Option<Arc<Semaphore>>, DnsFailure> {
        let Some(zones) = self.zones.as_ref().filter(|_| budgeted) else { return Ok(None) };
        let mut zones = zones.lock().unwrap_or_else(PoisonError::into_inner);
        let zone = zones.get_or_insert_mut(Box::from(registrable(name)), || Zone {
            rate: Gcra::new(ZONE_PER_MINUTE, 60_000, ZONE_PER_MINUTE),
            turns: Arc::new(Semaphore::new(ZONE_IN_FLIGHT)),
        });
        zone.rate.take(now, 1).map_err(|_| DnsFailure::Overload)?;
        Ok(Some(zone.turns.clone()))
    }
}

/// Whether the registrable domain above this name is known not to exist (RFC 8020 §2: nothing exists under it either).
fn parent_is_missing(answers: &mut LruCache<Key, Entry>, name: &str, now: Millis) -> bool {
    let parent = registrable(name);
    if parent.len() == name.len() {
        return false;
    }
    matches!(
        answers.peek(&(Kind::Mx, Box::from(parent))),
        Some(Entry::Known { lookup, until }) if *until > now && lookup.answer == Answer::NoName
    )
}

fn registrable(name: &str) -> &str {
    probity_core::domain::registrable(name)
}

fn size(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).expect("a cache of a named size that is not zero")
}
