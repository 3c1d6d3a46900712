//! Requests to the engine, and their outcomes.

use std::sync::{Arc, Mutex};

use probity_mail::time::Millis;
use probity_mail::verdict::Verification;

use crate::locked;

/// Parameters of a live call.
#[derive(Clone, Copy, Debug)]
pub struct LiveCall {
    /// Deadline of the verdict, in milliseconds.
    pub timeout_ms: u64,
    /// Customer whose cached verdicts may be used and filled: one number each.
    pub scope: u64,
}

/// Earlier attempts at an item. [`PriorAttempts::default`] for a new one; pass back the value from [`AddressOutcome::PutOff`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriorAttempts {
    /// Number of probes of the address.
    pub count: u32,
    /// Start of the first attempt.
    pub since: Option<Millis>,
    /// Name ([`Source::name`](crate::net::ProbeSource::name)) of the source that must retry: greylisting recognizes us by it. An
    /// engine without a source of that name uses any.
    pub source: Option<Arc<str>>,
    /// Whether this attempt is the last one: its outcome is a verdict, whatever the server says.
    pub last: bool,
}

#[derive(Clone, Debug)]
pub struct JobAddress {
    /// The caller's key; returned with the outcome.
    pub key: u64,
    pub email: Arc<str>,
    /// Customer, for fair queueing; the number has no other meaning here.
    pub customer: u64,
    pub tries: PriorAttempts,
}

/// Kind of work that probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// A caller is waiting.
    Live,
    /// Nobody is waiting.
    Batch,
}

/// Kind of work, and its customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    pub(crate) effort: Effort,
    pub(crate) customer: u64,
}

/// Capacity of a destination in the near future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DestinationCapacity {
    /// Addresses within about a minute; `u32::MAX` if no limit is known.
    Now(u32),
    /// None before that time.
    At(Millis),
}

impl DestinationCapacity {
    /// Better the more there is, and the sooner.
    fn rank(self) -> (u32, std::cmp::Reverse<Millis>) {
        match self {
            Self::Now(rows) => (rows, std::cmp::Reverse(Millis(0))),
            Self::At(at) => (0, std::cmp::Reverse(at)),
        }
    }
}

impl Ord for DestinationCapacity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for DestinationCapacity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Outcome of an item.
#[derive(Clone, Debug)]
pub enum AddressOutcome {
    /// It has its verdict.
    Settled(Verification),
    /// It must be retried, not before `not_before`.
    PutOff {
        not_before: Millis,
        /// To pass back with the item.
        tries: PriorAttempts,
        /// Reason, as a short token (`greylisted`, `budget`, `blocked`, ...).
        why: &'static str,
        /// Set if nothing was probed, because our own limits or an open circuit throttled it.
        held: Option<Throttled>,
    },
}

/// Throttled address: its count of attempts is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// Destination whose limits throttled it, as for [`Verifier::room`](crate::verifier::Verifier::room); `None` for other limits.
    pub at: Option<Arc<str>>,
}

/// Receives outcomes as they are ready: groups of (key, outcome). Called from the engine's tasks; must not block.
pub type OutcomeSink = Arc<dyn Fn(Vec<(u64, AddressOutcome)>) + Send + Sync>;

/// Totals since the engine was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounters {
    /// Connections opened.
    pub connections: u64,
    /// Connections that failed to open.
    pub connect_failures: u64,
    /// RCPT commands sent, including random ones.
    pub rcpts: u64,
    /// RCPT commands for random local parts.
    pub random_rcpts: u64,
    /// Flights of commands after which the engine waited for a reply.
    pub waits: u64,
    /// DNS queries sent.
    pub queries: u64,
    /// Answers from the DNS caches.
    pub queries_cached: u64,
    /// Replies that matched no rule.
    pub unmatched: u64,
    /// Sessions without an offer of TLS at an address that had offered it before.
    pub tls_downgrades: u64,
    pub sessions_open: u64,
}

/// Running counts of the engine.
#[derive(Debug, Default)]
pub(crate) struct EngineTally(Mutex<EngineCounters>);

impl EngineTally {
    pub(crate) fn count(&self, event: impl FnOnce(&mut EngineCounters)) {
        event(&mut locked(&self.0));
    }

    /// Current counts; `(queries, queries_cached)` are the resolver's.
    pub(crate) fn counters(&self, (queries, queries_cached): (u64, u64)) -> EngineCounters {
        EngineCounters { queries, queries_cached, ..*locked(&self.0) }
    }
}
