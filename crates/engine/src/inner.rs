//! State shared by all work of an engine.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lru::LruCache;
use probity_mail::classify::Rules;
use probity_mail::dns::{Answer, Kind};
use probity_mail::domain::SpecialUse;
use probity_mail::lists::Lists;
use probity_mail::plan::person_like;
use probity_mail::policy::Policies;
use probity_mail::rng::Rng;
use probity_mail::smtp::reply::Reply;
use probity_mail::time::Millis;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::answer::redact;
use crate::clock::Clock;
use crate::config::{Deadlines, EngineConfig};
use crate::egress::Guard;
use crate::facts::FactStore;
use crate::line::{Line, Permit};
use crate::link::{Goodbye, Ground, Link};
use crate::memory::Verdicts;
use crate::net::Source;
use crate::pace::{Asker, Effort, Pace, Site, Slot, warmth_percent};
use crate::reach::Reach;
use crate::request::Room;
use crate::resolve::{Resolver, Share};

/// Jobs' share of all sessions: the rest is for live calls.
const BATCH_SHARE: (usize, usize) = (3, 4);
/// Divisor of all sessions: the part that may be idle.
const IDLE_SHARE: usize = 4;

/// Maximum distinct texts remembered as logged.
const TEXTS_MAX: usize = 1_000;

/// Texts that matched no rule.
pub(crate) fn texts() -> Mutex<LruCache<String, ()>> {
    Mutex::new(LruCache::sparse(NonZeroUsize::new(TEXTS_MAX).expect("not zero")))
}

/// Permit for one session; released when dropped.
pub(crate) struct SessionPermit {
    _all: OwnedSemaphorePermit,
    _batch: Option<Permit>,
}

pub(crate) struct Inner {
    pub(crate) config: EngineConfig,
    pub(crate) clock: Clock,
    pub(crate) ground: Ground,
    pub(crate) resolver: Arc<Resolver>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) special: SpecialUse,
    pub(crate) lists: Arc<Lists>,
    pub(crate) rules: Rules,
    pub(crate) policies: Policies,
    pub(crate) pace: Pace,
    pub(crate) reach: Reach,
    pub(crate) facts: Arc<dyn FactStore>,
    pub(crate) verdicts: Verdicts,
    /// Domains that jobs are working on.
    pub(crate) domains: Arc<Line>,
    /// Probes that continue after the verdict was returned.
    pub(crate) background: Arc<Semaphore>,
    pub(crate) sessions: Arc<Semaphore>,
    pub(crate) sessions_batch: Arc<Line>,
    pub(crate) idle: Arc<Semaphore>,
    /// Masked texts of replies that matched no rule, to log each once.
    pub(crate) unmatched: Mutex<LruCache<String, ()>>,
    pub(crate) tasks: TaskTracker,
    pub(crate) closing: CancellationToken,
    /// Our network addresses in canonical form, to keep them out of evidence.
    pub(crate) own_addresses: Vec<IpAddr>,
    pub(crate) seed: u64,
    pub(crate) drawn: AtomicU64,
}

impl Inner {
    /// Session limits: all, the jobs' part, the idle part.
    pub(crate) fn session_limits(sessions_max: usize) -> [usize; 3] {
        let all = sessions_max.clamp(1, Semaphore::MAX_PERMITS);
        let batch = (all / BATCH_SHARE.1 * BATCH_SHARE.0).max(1);
        let idle = (all / IDLE_SHARE).max(1);
        [all, batch, idle]
    }

    /// A random number stream for one probe of a domain: the same for the same seed, domain and probe count.
    pub(crate) fn rng(&self, domain: &str) -> Rng {
        let nth = self.drawn.fetch_add(1, Ordering::Relaxed);
        Rng::new(self.seed ^ stable_hash(domain.as_bytes()) ^ nth.rotate_left(32))
    }

    /// The `nth` random local part for a domain in one probe. The next probe begins with the same one, so that a greylisting server
    /// recognizes it.
    pub(crate) fn random_local(&self, domain: &str, nth: u64) -> String {
        person_like(&mut Rng::new(self.seed ^ stable_hash(domain.as_bytes()) ^ nth.rotate_left(32)))
    }

    /// Counts replies that matched no rule, and logs each distinct text once, so that rules can be added. Texts are redacted:
    /// neither mailboxes nor our own addresses reach a log. Digits are masked, because queue ids make every text distinct.
    pub(crate) fn note_unmatched(&self, replies: &[Reply]) {
        self.ground.tally.unmatched.fetch_add(replies.len() as u64, Ordering::Relaxed);
        for reply in replies {
            let text = redact(reply.text.clone(), self);
            let masked: String = text.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
            let mut seen = self.unmatched.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.put(masked.clone(), ()).is_none() {
                tracing::info!(code = reply.code, text = masked, "no rule matches this reply");
            }
        }
    }

    /// Source that normally probes a domain: always the same, so that greylisting recognizes us.
    pub(crate) fn first_source(&self, domain: &str) -> u16 {
        let count = self.config.sources.len().max(1) as u64;
        u16::try_from(stable_hash(domain.as_bytes()) % count).unwrap_or(0)
    }

    /// Source whose pacing a source shares: the first one with the same public address. Servers count by address, not by our names.
    pub(crate) fn paced_as(&self, source: u16) -> u16 {
        let seen_as = |source: &Source| source.public.or(source.bind);
        let sources = &self.config.sources;
        let same = sources.iter().position(|other| seen_as(other) == seen_as(&sources[usize::from(source)]));
        same.and_then(|index| u16::try_from(index).ok()).unwrap_or(source)
    }

    /// The source with this name.
    pub(crate) fn source_named(&self, name: &str) -> Option<u16> {
        let found = self.config.sources.iter().position(|source| *source.name() == *name);
        found.and_then(|index| u16::try_from(index).ok())
    }

    /// All sources, in the order in which a domain tries them.
    pub(crate) fn sources_from(&self, first: u16) -> impl Iterator<Item = u16> {
        let count = u16::try_from(self.config.sources.len()).unwrap_or(u16::MAX);
        (0..count).map(move |n| first.wrapping_add(n) % count)
    }

    /// Capacity of a destination in the near future; see [`crate::Engine::room`] for its forms.
    pub(crate) fn room(&self, destination: &str, source: Option<&str>) -> Room {
        let now = self.clock.now();
        let domain = destination.strip_prefix('@');
        let site = match domain {
            Some(domain) => self.pace.home(domain),
            None => Some(destination.into()),
        };
        let Some(site) = site else { return Room::Now(u32::MAX) };
        let fixed = source.and_then(|name| self.source_named(name));
        let room = |source: u16| {
            let site = self.pace.known(self.paced_as(source), &site);
            site.map_or(Room::Now(u32::MAX), |site| site.outlook(now, self.warmth(source)))
        };
        match (fixed, domain) {
            (Some(source), _) => room(source),
            // A domain is probed from the first source that is not paused, and from no other.
            (None, Some(domain)) => {
                let first = self.first_source(domain);
                let shut = |source: &u16| {
                    let known = self.pace.known(self.paced_as(*source), &site);
                    known.is_some_and(|site| site.closed(now).is_some())
                };
                room(self.sources_from(first).find(|source| !shut(source)).unwrap_or(first))
            }
            (None, None) => self.sources_from(0).map(room).max().unwrap_or(Room::Now(u32::MAX)),
        }
    }

    /// Share of a polite site's limits that a source may use now, in percent.
    pub(crate) fn warmth(&self, source: u16) -> u32 {
        let since = self.config.in_use_since.get(usize::from(source)).copied().flatten();
        warmth_percent(since, self.clock.now())
    }

    pub(crate) fn deadlines(&self, effort: Effort) -> &Deadlines {
        match effort {
            Effort::Live => &self.config.live,
            Effort::Batch => &self.config.batch,
        }
    }

    /// Waits for a session permit of this process. Jobs take from their own part first, so that live calls always find room.
    pub(crate) async fn session_permit(&self, asker: Asker) -> SessionPermit {
        let never_closed = "the semaphore is never closed";
        let batch = match asker.effort {
            Effort::Batch => Some(self.sessions_batch.acquire(asker.customer).await),
            Effort::Live => None,
        };
        let all = self.sessions.clone().acquire_owned().await.expect(never_closed);
        SessionPermit { _all: all, _batch: batch }
    }

    pub(crate) async fn wait_until(&self, at: Millis) {
        tokio::time::sleep_until(self.clock.instant(at)).await;
    }

    /// Whether a name has neither an IPv4 nor an IPv6 address, by authoritative answers (mostly from the cache).
    pub(crate) async fn has_no_address(self: &Arc<Self>, host: &str, share: Share) -> bool {
        for kind in [Kind::A, Kind::Aaaa] {
            let lookup = self.resolver.lookup(host, kind, share).await;
            if !matches!(lookup.answer, Answer::Empty | Answer::NoName) {
                return false;
            }
        }
        true
    }

    /// Sends QUIT and reports the server's behavior to the site.
    pub(crate) async fn part(&self, site: Option<&Site>, link: Link) -> Goodbye {
        let refusals = link.refusals();
        let goodbye = link.quit().await;
        if let Some(site) = site
            && refusals > 0
        {
            site.parted(self.clock.now(), goodbye == Goodbye::Missing);
        }
        goodbye
    }

    /// Ends a session in the background.
    pub(crate) fn end(self: &Arc<Self>, site: &Arc<Site>, link: Link) {
        let (inner, site) = (self.clone(), site.clone());
        self.tasks.spawn(async move { inner.part(Some(&site), link).await });
    }

    /// Ends a session in the background; its slot is released when the server has seen the end.
    pub(crate) fn end_holding(self: &Arc<Self>, site: Option<Arc<Site>>, link: Link, slot: Slot) {
        let inner = self.clone();
        self.tasks.spawn(async move {
            inner.part(site.as_deref(), link).await;
            drop(slot);
        });
    }

    /// Keeps a session for the next probe at its site, for `idle_ms`.
    pub(crate) fn keep_warm(self: &Arc<Self>, site: Arc<Site>, link: Link, idle_ms: u64) {
        let Ok(permit) = self.idle.clone().try_acquire_owned() else { return self.end(&site, link) };
        let number = site.put_idle(link);
        let inner = self.clone();
        self.tasks.spawn(async move {
            let _permit = permit;
            tokio::select! {
                biased;
                () = inner.closing.cancelled() => {}
                () = tokio::time::sleep(Duration::from_millis(idle_ms)) => {}
            }
            if let Some(link) = site.expire_idle(number) {
                inner.part(Some(&site), link).await;
            }
        });
    }
}

/// FNV-1a: the same on every machine and in every run, unlike the standard hashers.
fn stable_hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Addresses of this machine, as far as its sources name them.
pub(crate) fn own_addresses(config: &EngineConfig) -> Vec<IpAddr> {
    config.sources.iter().flat_map(|source| [source.bind, source.public]).flatten().collect()
}
