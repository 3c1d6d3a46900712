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
mod limits;
pub mod net;
pub mod request;
pub mod snapshot;
pub mod verifier;

mod destination;
pub mod knowledge;
mod pace;
mod parts;
mod probe;
mod random;

use std::sync::Arc;

use probity_mail::policy::Mode;
use probity_mail::time::Millis;
use probity_mail::verdict::Verification;

use crate::knowledge::facts::{FactStore, MemoryFacts};
use crate::parts::EngineParts;

pub use config::{ConfigError, EngineConfig};
pub use knowledge::memory::{AddressTag, ForgetRequest};
pub use request::{
    AddressOutcome, DestinationCapacity, EngineCounters, JobAddress, LiveCall, OutcomeSink, PriorAttempts, Throttled,
};
pub use snapshot::EngineSnapshot;

/// Maximum time of a probe beyond its patience, in milliseconds.
const LATE_MS: i64 = 120_000;

/// Probing limits of an MX host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbingLimits {
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
    parts: Arc<EngineParts>,
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
        Ok(Self { parts: Arc::new(EngineParts::new(config, net, facts)?) })
    }

    /// Verifies one address, within `live.timeout_ms`. A probe cut off by the deadline, or deferred by greylisting, continues in
    /// the background and fills the cache.
    pub async fn verify(&self, email: &str, live: LiveCall) -> Verification {
        verifier::live::verify(&self.parts, email, live).await
    }

    /// Verifies many addresses. They are grouped by domain within one call; `sink` receives groups of outcomes as they are ready,
    /// each key exactly once. Returns when every item has its outcome.
    ///
    /// Pass up to some thousands of items per call, sorted by domain; many calls may run at once, because the engine bounds the
    /// work in flight.
    pub async fn verify_many(&self, items: Vec<JobAddress>, sink: OutcomeSink) {
        verifier::many::verify_many(&self.parts, items, sink).await;
    }

    /// Forgets addresses of one customer ([`LiveCall::scope`]), and keeps no results about them from probes in progress.
    pub fn forget(&self, scope: u64, which: &ForgetRequest) {
        let now = self.parts.clock.now();
        // The longest probe: one deferred by greylisting continues for as long as patience lasts.
        let until = now + self.parts.config.patience_ms + LATE_MS;
        self.parts.knowledge.verdicts.forget(scope, which, now, until);
    }

    /// Capacity of a destination in the near future, from memory: `@example.org` is a domain, anything else the name of a site
    /// whose limits throttled addresses ([`Throttled::at`]). With `source`, only that source counts. It neither probes nor books
    /// anything, and is cheap enough to call before each chunk.
    pub fn room(&self, destination: &str, source: Option<&str>) -> DestinationCapacity {
        self.parts.pacing.room(destination, source, self.now())
    }

    /// Probing limits of this MX host. It neither probes nor books anything.
    pub fn manners(&self, exchanger: &str) -> ProbingLimits {
        let policy = self.parts.knowledge.policy(exchanger);
        ProbingLimits {
            mode: policy.mode,
            per_minute: policy.rcpt_per_minute,
            missing_per_hour: policy.missing_per_hour,
            sources: u16::try_from(self.parts.sources.all().len()).unwrap_or(u16::MAX),
        }
    }

    /// Time for which servers may defer an address of a job, in milliseconds.
    pub fn patience_ms(&self) -> i64 {
        self.parts.config.patience_ms
    }

    /// Names of the sources that this engine probes from.
    pub fn source_names(&self) -> Vec<Arc<str>> {
        self.parts.sources.all().iter().map(|source| source.name()).collect()
    }

    /// Checks only syntax and lists, without the network. A well-formed address is `unverified` with meta `not_probed`.
    pub fn facts_only(&self, email: &str) -> Verification {
        verifier::live::facts_only(&self.parts.knowledge, email)
    }

    /// The engine's clock: milliseconds since the Unix epoch.
    pub fn now(&self) -> Millis {
        self.parts.clock.now()
    }

    /// Waits until `at` on the engine's clock.
    pub async fn wait_until(&self, at: Millis) {
        self.parts.clock.wait_until(at).await;
    }

    pub fn counters(&self) -> EngineCounters {
        self.parts.counters()
    }

    /// Current load, throttling and unknown replies. Cheap enough for every scrape of metrics.
    pub fn snapshot(&self) -> EngineSnapshot {
        EngineSnapshot::of(&self.parts)
    }

    /// Ends idle sessions with QUIT and waits for work in progress, at most `timeout_ms`. Background probes that wait for their
    /// time are dropped.
    pub async fn close(&self, timeout_ms: u64) {
        self.parts.work.close(timeout_ms).await;
    }
}
