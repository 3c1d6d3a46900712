//! Names to records, asked once: a cache by TTL, negative answers included, with single flight and a budget for each zone.
//!
//! Failures are kept for some seconds (RFC 9520), so that a broken zone is not asked again by every address of it. A name
//! under a registrable domain that does not exist is answered without a question (RFC 8020).
//!
//! The budget protects zones from being tortured through us with random sub-domains. It is our own limit, so running into it holds
//! back ([`DnsFailure::Overload`]) and never says anything about the name. A live call waits for it for a moment. A batch comes
//! back: it leaves a part to live calls, and begins with a further domain only while enough is left to finish those that it has
//! begun with. Few questions wait for their turn at a time, so that a zone that answers slowly holds up its own domains and no
//! others. A question that was sent is completed even if nobody waits for it any more.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use lru::LruCache;
use probity_mail::dns::{Answer, DnsFailure, Kind, Lookup};
use probity_mail::limits::Gcra;
use probity_mail::time::Millis;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::clock::Clock;
use crate::held;
use crate::net::Net;
use crate::pace::{Effort, WAIT_MS};

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
/// Of these, so many more wait for their turn at most; what comes beyond is held back.
const ZONE_WAITING: usize = 80;
/// Of a zone's budget a batch leaves this much to live calls: a quarter, as of other limits.
const KEPT_FOR_LIVE: u32 = ZONE_PER_MINUTE / 4;
/// And so much to the questions that follow the first one about a domain. Two follow it, where exchangers have names of their own.
const KEPT_TO_GO_ON: u32 = ZONE_PER_MINUTE * 3 / 5;
/// When a zone is looked at again whose questions stand in line, in milliseconds.
const LOOK_MS: i64 = 500;
/// Zones whose budget is remembered.
const ZONES_MAX: usize = 50_000;

type Key = (Kind, Box<str>);

/// A question in flight, shared by all its callers.
#[derive(Clone)]
struct Asking {
    /// Its turn has come: until then a limit of ours holds it up, and not a name server.
    begun: Shared<BoxFuture<'static, ()>>,
    answer: Shared<BoxFuture<'static, Arc<Lookup>>>,
}

impl Asking {
    async fn wait(self) -> Arc<Lookup> {
        held::wait(self.begun).await;
        self.answer.await
    }
}

/// What a question may take of the budget of its name's zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// Whatever it needs: a name of a large provider, whose one zone serves thousands of domains, or a top-level domain.
    All,
    /// The first question about a domain.
    Begin(Effort),
    /// A further one, without which the first would be in vain.
    GoOn(Effort),
}

impl Share {
    /// What it leaves of a zone's budget.
    fn kept(self) -> u32 {
        match self {
            Self::All | Self::Begin(Effort::Live) | Self::GoOn(Effort::Live) => 0,
            Self::Begin(Effort::Batch) => KEPT_TO_GO_ON,
            Self::GoOn(Effort::Batch) => KEPT_FOR_LIVE,
        }
    }

    /// Whether it waits for the budget on the spot. The many domains of a batch must not hold up others meanwhile.
    fn waits(self) -> bool {
        self != Self::Begin(Effort::Batch)
    }
}

/// What one registrable domain may be asked.
struct Zone {
    rate: Gcra,
    places: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

/// The right to a question, and then to ask it.
struct Place {
    _place: OwnedSemaphorePermit,
    turns: Arc<Semaphore>,
}

/// How the cache answers.
enum Reply {
    Known(Arc<Lookup>),
    Asking(Asking),
    /// The budget is used up until then.
    Short(Millis),
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
        self.answers().len()
    }

    /// The answer to a question about a name in lower-case A-labels.
    pub(crate) async fn lookup(self: &Arc<Self>, name: &str, kind: Kind, share: Share) -> Arc<Lookup> {
        let give_up = self.clock.now() + WAIT_MS;
        loop {
            match self.reply(name, kind, share) {
                Reply::Known(lookup) => return lookup,
                Reply::Asking(asking) => return asking.wait().await,
                Reply::Short(until) if share.waits() && until <= give_up => {
                    held::wait(tokio::time::sleep_until(self.clock.instant(until))).await;
                }
                Reply::Short(_) => return failed(DnsFailure::Overload),
            }
        }
    }

    fn reply(self: &Arc<Self>, name: &str, kind: Kind, share: Share) -> Reply {
        let now = self.clock.now();
        let mut answers = self.answers();
        let key = (kind, Box::from(name));
        match answers.get(&key) {
            Some(Entry::Known { lookup, until }) if *until > now => {
                self.cached.fetch_add(1, Ordering::Relaxed);
                return Reply::Known(lookup.clone());
            }
            Some(Entry::Asking(asking)) => {
                self.cached.fetch_add(1, Ordering::Relaxed);
                return Reply::Asking(asking.clone());
            }
            _ => {}
        }
        if parent_is_missing(&mut answers, name, now) {
            self.cached.fetch_add(1, Ordering::Relaxed);
            return Reply::Known(Arc::new(Lookup { answer: Answer::NoName, ttl_ms: 0 }));
        }
        let place = match self.zone_place(name, share, now) {
            Ok(place) => place,
            Err(until) => return Reply::Short(until),
        };
        self.asked.fetch_add(1, Ordering::Relaxed);
        // A task of its own: were it driven by those who wait, the last to leave would leave a turn taken.
        let (turn, begun) = oneshot::channel();
        let asked = tokio::spawn(self.clone().ask(name.to_owned(), kind, place, turn));
        let asking = Asking {
            begun: begun.map(drop).boxed().shared(),
            answer: asked.map(|answer| answer.unwrap_or_else(|_| failed(DnsFailure::TimedOut))).boxed().shared(),
        };
        answers.put(key, Entry::Asking(asking.clone()));
        Reply::Asking(asking)
    }

    async fn ask(
        self: Arc<Self>,
        name: String,
        kind: Kind,
        place: Option<Place>,
        begin: oneshot::Sender<()>,
    ) -> Arc<Lookup> {
        let _turn = match &place {
            Some(place) => place.turns.clone().acquire_owned().await.ok(),
            None => None,
        };
        // Fails where nobody waits for the answer any more.
        let _ = begin.send(());
        let lookup = Arc::new(self.net.lookup(&name, kind).await);
        let ttl_ms = match lookup.answer {
            Answer::Failed(_) => FAILURE_TTL_MS,
            _ => lookup.ttl_ms.clamp(TTL_MIN_MS, TTL_MAX_MS),
        };
        let entry = Entry::Known { lookup: lookup.clone(), until: self.clock.now() + ttl_ms };
        self.answers().put((kind, name.into_boxed_str()), entry);
        lookup
    }

    /// Takes one question from the budget of the name's zone and a place in its line, or says when to look again.
    fn zone_place(&self, name: &str, share: Share, now: Millis) -> Result<Option<Place>, Millis> {
        let Some(zones) = self.zones.as_ref().filter(|_| share != Share::All) else { return Ok(None) };
        let mut zones = zones.lock().unwrap_or_else(PoisonError::into_inner);
        let zone = zones.get_or_insert_mut(Box::from(registrable(name)), || Zone {
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
        Ok(Some(Place { _place: place, turns: zone.turns.clone() }))
    }

    fn answers(&self) -> MutexGuard<'_, LruCache<Key, Entry>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(failure: DnsFailure) -> Arc<Lookup> {
    Arc::new(Lookup { answer: Answer::Failed(failure), ttl_ms: 0 })
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
    probity_mail::domain::registrable(name)
}

fn size(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).expect("a cache of a named size that is not zero")
}
