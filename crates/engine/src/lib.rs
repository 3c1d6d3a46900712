//! Engine: drives the state machines of `probity-mail` with sockets, clocks, caches and pacing; independent of customers.
//!
//! [`Verifier::verify`](verifier::Verifier::verify) verifies one address within a deadline; `verify_many` verifies many, with warm
//! sessions. Both drive the same core machines over a [`net::Net`], so the whole engine runs in a simulated internet under a paused
//! clock. An address passes through these files: `live` or `many` (parse, check caches, group) -> `destination` (MX hosts) ->
//! `probe` (run the domain's plan) -> `pace` (limits) -> `link` (one session) -> `answer` (build the verdict).
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

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use probity_mail::policy::Policy;
use probity_mail::policy::bound::{SiteBound, SiteLoad, site_bound};
use probity_mail::verdict::Verification;

use crate::knowledge::facts::{FactStore, MemoryFacts};
use crate::parts::EngineParts;

pub use config::{ConfigError, EngineConfig};
pub use knowledge::memory::{AddressTag, ForgetRequest};
pub use request::{
    AddressOutcome, DestinationCapacity, EngineCounters, JobAddress, LiveCall, OutcomeSink, PriorAttempts, Throttled,
};
pub use snapshot::EngineSnapshot;

/// Locks a value. After a panic of another holder it is used as it is: no change under a lock is left half done.
pub fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Probing limits of an MX host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbingLimits {
    /// Its policy; limits apply to each source.
    pub policy: Arc<Policy>,
    /// Share of the limits that each source may use, in percent. Sources that servers cannot tell apart are one.
    pub warmths: Vec<u32>,
}

impl ProbingLimits {
    /// Least time for what a list has at the site of this MX host.
    pub fn bound(&self, load: &SiteLoad) -> SiteBound {
        site_bound(&self.policy, load, &self.warmths)
    }
}

/// The verification engine: a [`Verifier`](verifier::Verifier). Cheap to clone; clones share everything.
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
        Ok(Self { parts: Arc::new(EngineParts::new(config, net, facts, clock::EngineClock::system())?) })
    }

    /// Builds another engine with this one's clock, and facts of its own in memory. Times of one mean the same to the other.
    pub fn beside(&self, config: EngineConfig, net: Arc<dyn net::Net>) -> Result<Self, ConfigError> {
        let facts = Arc::new(MemoryFacts::default());
        Ok(Self { parts: Arc::new(EngineParts::new(config, net, facts, self.parts.clock)?) })
    }

    /// Checks only syntax and lists, without the network. A well-formed address is `unverified` with meta `not_probed`.
    pub fn facts_only(&self, email: &str) -> Verification {
        verifier::live::facts_only(&self.parts.knowledge, email)
    }
}
