//! Caching resolver: names to records, by TTL, including negative answers, with single flight and a budget per zone.
//!
//! Failures are cached for some seconds (RFC 9520), so that a broken zone is not queried again by each of its addresses. A name
//! under a registrable domain that does not exist is answered without a query (RFC 8020).
//!
//! The budget protects zones from floods of random subdomains through us. It is our own limit, so exceeding it throttles
//! ([`DnsFailure::Overload`]) and never says anything about the name. A live call waits for it briefly. A job retries later: it
//! leaves a part to live calls, and starts another domain only while enough is left to finish those started. Few queries queue at a
//! time, so a slow zone delays only its own domains. A sent query is completed even if nobody waits for it any more.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use lru::LruCache;
use probity_mail::dns::{DnsAnswer, DnsFailure, DnsLookup, QueryKind};
use probity_mail::domain::public_top_level;
use probity_mail::limits::Gcra;
use probity_mail::time::Millis;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::clock::EngineClock;
use crate::limits::held::{self, WAIT_MS};
use crate::locked;
use crate::net::Net;
use crate::request::Effort;

/// Maximum cached answers. One takes some 300 bytes.
const ANSWERS_MAX: usize = 100_000;
/// Minimum lifetime of answers, whatever their TTL: a list of one domain repeats its queries within a second.
const TTL_MIN_MS: i64 = 5_000;
/// Maximum lifetime of records.
const TTL_MAX_MS: i64 = 86_400_000;
/// Maximum lifetime of negative answers: the least that RFC 2308 §5 suggests, so that a name that was just added is found.
const NEGATIVE_TTL_MAX_MS: i64 = 3_600_000;
/// Lifetime of a failure: within the 1 s to 5 min of RFC 9520 §3.2.
const FAILURE_TTL_MS: i64 = 5_000;
/// Queries per minute about the names of one registrable domain.
const ZONE_PER_MINUTE: u32 = 200;
/// Concurrent queries about the names of one registrable domain.
const ZONE_IN_FLIGHT: usize = 20;
/// Maximum queries queued in addition; more are throttled.
const ZONE_WAITING: usize = 80;
/// Part of a zone's budget that jobs leave to live calls: a quarter, as of other limits.
const KEPT_FOR_LIVE: u32 = ZONE_PER_MINUTE / 4;
/// Part left to the queries that follow the first one about a domain: two, if MX hosts have names of their own.
const KEPT_TO_GO_ON: u32 = ZONE_PER_MINUTE * 3 / 5;
/// Time until a zone with queued queries is checked again, in milliseconds.
const LOOK_MS: i64 = 500;
/// Maximum zones whose budget is remembered.
const ZONES_MAX: usize = 50_000;

type QueryKey = (QueryKind, Box<str>);

/// Query in flight, shared by all its callers.
#[derive(Clone)]
struct SharedQuery {
    /// Completes at the query's turn: until then one of our own limits delays it, not a name server.
    begun: Shared<BoxFuture<'static, ()>>,
    answer: Shared<BoxFuture<'static, Arc<DnsLookup>>>,
}

impl SharedQuery {
    async fn wait(self) -> Arc<DnsLookup> {
        held::wait(self.begun).await;
        self.answer.await
    }
}

/// What a query may use of its zone's budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryShare {
    /// As needed: a name of a large provider, whose one zone serves thousands of domains.
    All,
    /// First query about a domain.
    Begin(Effort),
    /// A further query, without which the first would be in vain.
    GoOn(Effort),
}

impl QueryShare {
    /// What it leaves of a zone's budget.
    fn kept(self) -> u32 {
        match self {
            Self::All | Self::Begin(Effort::Live) | Self::GoOn(Effort::Live) => 0,
            Self::Begin(Effort::Batch) => KEPT_TO_GO_ON,
            Self::GoOn(Effort::Batch) => KEPT_FOR_LIVE,
        }
    }

    /// Whether it waits for the budget on the spot. The many domains of a job must not delay others meanwhile.
    fn waits(self) -> bool {
        self != Self::Begin(Effort::Batch)
    }
}

/// Budget of one registrable domain.
struct ZoneBudget {
    rate: Gcra,
    places: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

/// Turn and permit of a query.
struct QueryPlace {
    _place: OwnedSemaphorePermit,
    turns: Arc<Semaphore>,
}

/// Result of a cache look-up.
enum LookUp {
    Known(Arc<DnsLookup>),
    Asking(SharedQuery),
    /// The budget is used up until then.
    Short(Millis),
}

enum CacheEntry {
    Known { lookup: Arc<DnsLookup>, until: Millis },
    Asking(SharedQuery),
}

/// A caching resolver over a [`Net`].
pub(crate) struct CachingResolver {
    net: Arc<dyn Net>,
    clock: EngineClock,
    answers: Mutex<LruCache<QueryKey, CacheEntry>>,
    zones: Option<Mutex<LruCache<Box<str>, ZoneBudget>>>,
    asked: AtomicU64,
    cached: AtomicU64,
}

impl CachingResolver {
    /// `zone_budget` turns on the budget per zone.
    pub(crate) fn new(net: Arc<dyn Net>, clock: EngineClock, zone_budget: bool) -> Arc<Self> {
        Arc::new(Self {
            net,
            clock,
            answers: Mutex::new(LruCache::sparse(size(ANSWERS_MAX))),
            zones: zone_budget.then(|| Mutex::new(LruCache::sparse(size(ZONES_MAX)))),
            asked: AtomicU64::new(0),
            cached: AtomicU64::new(0),
        })
    }

    /// Queries sent, and those answered from the cache.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.asked.load(Ordering::Relaxed), self.cached.load(Ordering::Relaxed))
    }

    /// Number of cached answers, including stale ones.
    pub(crate) fn held(&self) -> usize {
        locked(&self.answers).len()
    }

    /// Answers a query for a name in lower-case A-labels.
    pub(crate) async fn lookup(self: &Arc<Self>, name: &str, kind: QueryKind, share: QueryShare) -> Arc<DnsLookup> {
        let give_up = self.clock.now() + WAIT_MS;
        loop {
            match self.reply(name, kind, share) {
                LookUp::Known(lookup) => return lookup,
                LookUp::Asking(asking) => return asking.wait().await,
                LookUp::Short(until) if share.waits() && until <= give_up => {
                    held::wait(tokio::time::sleep_until(self.clock.instant(until))).await;
                }
                LookUp::Short(_) => return failed(DnsFailure::Overload),
            }
        }
    }

    fn reply(self: &Arc<Self>, name: &str, kind: QueryKind, share: QueryShare) -> LookUp {
        let now = self.clock.now();
        let mut answers = locked(&self.answers);
        let key = (kind, Box::from(name));
        match answers.get(&key) {
            Some(CacheEntry::Known { lookup, until }) if *until > now => {
                self.cached.fetch_add(1, Ordering::Relaxed);
                return LookUp::Known(lookup.clone());
            }
            Some(CacheEntry::Asking(asking)) => {
                self.cached.fetch_add(1, Ordering::Relaxed);
                return LookUp::Asking(asking.clone());
            }
            _ => {}
        }
        if parent_is_missing(&mut answers, name, now) {
            self.cached.fetch_add(1, Ordering::Relaxed);
            return LookUp::Known(Arc::new(DnsLookup { answer: DnsAnswer::NoName, ttl_ms: 0 }));
        }
        let place = match self.zone_place(name, share, now) {
            Ok(place) => place,
            Err(until) => return LookUp::Short(until),
        };
        self.asked.fetch_add(1, Ordering::Relaxed);
        // A separate task: if the waiters drove it, the last to leave would keep its turn taken.
        let (turn, begun) = oneshot::channel();
        let asked = tokio::spawn(self.clone().ask(name.to_owned(), kind, place, turn));
        let asking = SharedQuery {
            begun: begun.map(drop).boxed().shared(),
            answer: asked.map(|answer| answer.unwrap_or_else(|_| failed(DnsFailure::TimedOut))).boxed().shared(),
        };
        answers.put(key, CacheEntry::Asking(asking.clone()));
        LookUp::Asking(asking)
    }

    async fn ask(
        self: Arc<Self>,
        name: String,
        kind: QueryKind,
        place: Option<QueryPlace>,
        begin: oneshot::Sender<()>,
    ) -> Arc<DnsLookup> {
        let _turn = match &place {
            Some(place) => place.turns.clone().acquire_owned().await.ok(),
            None => None,
        };
        // Fails if nobody waits for the answer any more.
        let _ = begin.send(());
        let mut lookup = self.net.lookup(&name, kind).await;
        if matches!(lookup.answer, DnsAnswer::NoName | DnsAnswer::NoTarget)
            && let Err(failure) = self.know_top_level(&name).await
        {
            lookup.answer = DnsAnswer::Failed(failure);
        }
        let ttl_ms = match lookup.answer {
            DnsAnswer::Failed(_) => FAILURE_TTL_MS,
            DnsAnswer::NoName | DnsAnswer::NoTarget | DnsAnswer::Empty => {
                lookup.ttl_ms.clamp(TTL_MIN_MS, NEGATIVE_TTL_MAX_MS)
            }
            DnsAnswer::Records(_) => lookup.ttl_ms.clamp(TTL_MIN_MS, TTL_MAX_MS),
        };
        let lookup = Arc::new(lookup);
        let entry = CacheEntry::Known { lookup: lookup.clone(), until: self.clock.now() + ttl_ms };
        locked(&self.answers).put((kind, name.into_boxed_str()), entry);
        lookup
    }

    /// Checks that the resolver, which denies a name, knows its public top-level domain now. If it denies even that, it is cut off
    /// from the internet or sees only a part of it, so what it denies may exist. An answer from before would prove nothing.
    async fn know_top_level(&self, name: &str) -> Result<(), DnsFailure> {
        let Some(top_level) = public_top_level(name) else { return Ok(()) };
        self.asked.fetch_add(1, Ordering::Relaxed);
        match self.net.lookup(top_level, QueryKind::Mx).await.answer {
            DnsAnswer::NoName => Err(DnsFailure::Refused),
            DnsAnswer::Failed(failure) => Err(failure),
            DnsAnswer::Records(_) | DnsAnswer::Empty | DnsAnswer::NoTarget => Ok(()),
        }
    }

    /// Takes one query from the zone's budget and a place in its queue, or returns when to check again.
    fn zone_place(&self, name: &str, share: QueryShare, now: Millis) -> Result<Option<QueryPlace>, Millis> {
        let Some(zones) = self.zones.as_ref().filter(|_| share != QueryShare::All) else { return Ok(None) };
        let mut zones = locked(zones);
        let zone = zones.get_or_insert_mut(Box::from(registrable(name)), || ZoneBudget {
            rate: Gcra::new(ZONE_PER_MINUTE, 60_000, ZONE_PER_MINUTE),
            places: Arc::new(Semaphore::new(ZONE_IN_FLIGHT + ZONE_WAITING)),
            turns: Arc::new(Semaphore::new(ZONE_IN_FLIGHT)),
        });
        let least = share.kept() + 1;
        if zone.rate.available(now) < least {
            return Err(zone.rate.ready_at(least));
        }
        let place = zone.places.clone().try_acquire_owned().map_err(|_| now + LOOK_MS)?;
        zone.rate.charge(now, 1);
        Ok(Some(QueryPlace { _place: place, turns: zone.turns.clone() }))
    }
}

fn failed(failure: DnsFailure) -> Arc<DnsLookup> {
    Arc::new(DnsLookup { answer: DnsAnswer::Failed(failure), ttl_ms: 0 })
}

/// Whether the registrable domain above this name is known not to exist (RFC 8020 §2: nothing exists under it either).
fn parent_is_missing(answers: &mut LruCache<QueryKey, CacheEntry>, name: &str, now: Millis) -> bool {
    let parent = registrable(name);
    if parent.len() == name.len() {
        return false;
    }
    matches!(
        answers.peek(&(QueryKind::Mx, Box::from(parent))),
        Some(CacheEntry::Known { lookup, until }) if *until > now && lookup.answer == DnsAnswer::NoName
    )
}

fn registrable(name: &str) -> &str {
    probity_mail::domain::registrable(name)
}

fn size(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).expect("a cache of a named size that is not zero")
}
