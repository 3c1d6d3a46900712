//! Engine: drives the state machines of `probity-mail` with sockets, clocks, caches and pacing; independent of customers.
//!
//! [`Engine::verify`] verifies one address within a deadline; [`Engine::verify_many`] verifies many, with warm sessions. Both drive
//! the same core machines over a [`net::Net`], so the whole engine runs in a simulated internet under a paused clock. An address
//! passes through these files: `live` or `many` (parse, check caches, group) -> `destination` (MX hosts) -> `probe` (run the
//! domain's plan) -> `pace` (limits) -> `link` (one session) -> `answer` (build the verdict).
//!
//! Network failures are observations that enter the evidence. An error of this crate means that its configuration is wrong.

pub mod clock;
pub mod config;
pub mod descriptors;
pub mod egress;
pub mod facts;
pub mod net;
pub mod request;
pub mod snapshot;
pub mod tls;
pub mod verifier;

mod answer;
mod destination;
mod held;
mod inner;
mod line;
mod link;
mod live;
mod many;
mod memory;
mod pace;
mod probe;
mod reach;
mod resolve;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use probity_mail::domain::SpecialUse;
use probity_mail::policy::Mode;
use probity_mail::time::Millis;
use probity_mail::verdict::Verification;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::Clock;
use crate::facts::{FactStore, MemoryFacts};
use crate::inner::Inner;

pub use config::{ConfigError, EngineConfig};
pub use memory::{Forgotten, Tag};
pub use request::{Counters, HeldBack, Item, Live, Outcome, Room, Sink, Tries};
pub use snapshot::Snapshot;

/// Maximum probes that continue after the verdict was returned.
const BACKGROUND_MAX: usize = 1_000;

/// Maximum time of a probe beyond its patience, in milliseconds.
const LATE_MS: i64 = 120_000;

/// Probing limits of an MX host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manners {
    /// Whether it is probed at all.
    pub mode: Mode,
    /// Recipients per minute from each source; 0 for no limit.
    pub per_minute: u32,
    /// Missing recipients per hour from each source; 0 for no limit.
    pub missing_per_hour: u32,
    /// Number of sources that probe.
    pub sources: u16,
}

/// The verification engine. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

impl Engine {
    /// Builds an engine over a network, with facts about domains in memory. Call within a tokio runtime.
    pub fn new(config: EngineConfig, net: Arc<dyn net::Net>) -> Result<Self, ConfigError> {
        Self::with_facts(config, net, Arc::new(MemoryFacts::default()))
    }

    /// Builds an engine that keeps its facts about domains in `facts`.
    pub fn with_facts(
        config: EngineConfig,
        net: Arc<dyn net::Net>,
        facts: Arc<dyn FactStore>,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        let clock = Clock::system();
        let special = SpecialUse::allow(&config.special_use_allowed);
        let (lists, rules, policies) = (config.lists()?, config.rules()?, config.policies()?);
        let guard = config.guard()?;
        let tally = Arc::new(request::Tally::default());
        let polite = config.profile == probity_mail::policy::Profile::Polite;
        let [sessions, sessions_batch, idle] = Inner::session_limits(config.sessions_max);
        let inner = Inner {
            clock,
            resolver: resolve::Resolver::new(net.clone(), clock, polite),
            ground: link::Ground { net, clock, tls: tls::TlsClient::new(clock), tally },
            guard: Arc::new(guard),
            special,
            lists,
            rules,
            policies,
            pace: pace::Pace::new(),
            reach: reach::Reach::new(),
            facts,
            verdicts: memory::Verdicts::new(config.verdicts_max, config.cache),
            domains: line::Line::new(config.domains_max.max(1)),
            background: Arc::new(Semaphore::new(BACKGROUND_MAX)),
            sessions: Arc::new(Semaphore::new(sessions)),
            sessions_batch: line::Line::new(sessions_batch),
            idle: Arc::new(Semaphore::new(idle)),
            unmatched: inner::texts(),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            seed: config.seed.unwrap_or_else(config::drawn_seed),
            drawn: AtomicU64::new(0),
            own_addresses: inner::own_addresses(&config).iter().map(std::net::IpAddr::to_canonical).collect(),
            config,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Verifies one address, within `live.timeout_ms`. A probe cut off by the deadline, or deferred by greylisting, continues in
    /// the background and fills the cache.
    pub async fn verify(&self, email: &str, live: Live) -> Verification {
        live::verify(&self.inner, email, live).await
    }

    /// Verifies many addresses. They are grouped by domain within one call; `sink` receives groups of outcomes as they are ready,
    /// each key exactly once. Returns when every item has its outcome.
    ///
    /// Pass up to some thousands of items per call, sorted by domain; many calls may run at once, because the engine bounds the
    /// work in flight.
    pub async fn verify_many(&self, items: Vec<Item>, sink: Sink) {
        many::verify_many(&self.inner, items, sink).await;
    }

    /// Forgets addresses of one customer ([`Live::scope`]), and keeps no results about them from probes in progress.
    pub fn forget(&self, scope: u64, which: &Forgotten) {
        let now = self.inner.clock.now();
        // The longest probe: one deferred by greylisting continues for as long as patience lasts.
        let until = now + self.inner.config.patience_ms + LATE_MS;
        self.inner.verdicts.forget(scope, which, now, until);
    }

    /// Capacity of a destination in the near future, from memory: `@example.org` is a domain, anything else the name of a site
    /// whose limits throttled addresses ([`HeldBack::at`]). With `source`, only that source counts. It neither probes nor books
    /// anything, and is cheap enough to call before each chunk.
    pub fn room(&self, destination: &str, source: Option<&str>) -> Room {
        self.inner.room(destination, source)
    }

    /// Probing limits of this MX host. It neither probes nor books anything.
    pub fn manners(&self, exchanger: &str) -> Manners {
        let config = &self.inner.config;
        let policy = self.inner.policies.for_exchanger(exchanger, config.profile);
        Manners {
            mode: policy.mode,
            per_minute: policy.rcpt_per_minute,
            missing_per_hour: policy.missing_per_hour,
            sources: u16::try_from(config.sources.len()).unwrap_or(u16::MAX),
        }
    }

    /// Time for which servers may defer an address of a job, in milliseconds.
    pub fn patience_ms(&self) -> i64 {
        self.inner.config.patience_ms
    }

    /// Names of the sources that this engine probes from.
    pub fn source_names(&self) -> Vec<Arc<str>> {
        self.inner.config.sources.iter().map(|source| source.name()).collect()
    }

    /// Checks only syntax and lists, without the network. A well-formed address is `unverified` with meta `not_probed`.
    pub fn facts_only(&self, email: &str) -> Verification {
        live::facts_only(&self.inner, email)
    }

    /// The engine's clock: milliseconds since the Unix epoch.
    pub fn now(&self) -> Millis {
        self.inner.clock.now()
    }

    /// Waits until `at` on the engine's clock.
    pub async fn wait_until(&self, at: Millis) {
        self.inner.wait_until(at).await;
    }

    pub fn counters(&self) -> Counters {
        self.inner.ground.tally.counters(self.inner.resolver.counts())
    }

    /// Current load, throttling and unknown replies. Cheap enough for every scrape of metrics.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.inner)
    }

    /// Ends idle sessions with QUIT and waits for work in progress, at most `timeout_ms`. Background probes that wait for their
    /// time are dropped.
    pub async fn close(&self, timeout_ms: u64) {
        self.inner.closing.cancel();
        self.inner.tasks.close();
        let _ = tokio::time::timeout(Duration::from_millis(timeout_ms), self.inner.tasks.wait()).await;
    }
}
