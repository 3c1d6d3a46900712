//! What is asked of the engine, and what it answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use probity_mail::time::Millis;
use probity_mail::verdict::Verification;

/// How a live question is to be answered.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// The answer is given after this time at the latest, in milliseconds.
    pub timeout_ms: u64,
    /// Whose cached verdicts may be used and filled: one number for each customer.
    pub scope: u64,
}

/// What is known of earlier tries at an item. [`Tries::default`] for a new one; hand back what [`Outcome::PutOff`] brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    /// How often the address was asked about.
    pub count: u32,
    /// When the first try began.
    pub since: Option<Millis>,
    /// The name ([`Source::name`](crate::net::Source::name)) of the source that must ask again: greylisting knows us by it. An
    /// engine that has no source of that name asks from any.
    pub source: Option<Arc<str>>,
}

/// One address of a batch.
#[derive(Clone, Debug)]
pub struct Item {
    /// The caller's number for it; comes back with the outcome.
    pub key: u64,
    /// The address.
    pub email: Arc<str>,
    /// For whom: waiting lines are shared equally by customers, whose numbers mean nothing else here.
    pub customer: u64,
    /// Earlier tries.
    pub tries: Tries,
}

/// How much can be asked of a destination soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// So many addresses within about a minute; `u32::MAX` where no limit is known.
    Now(u32),
    /// None before that time.
    At(Millis),
}

impl Room {
    /// The better the more there is, and the sooner.
    fn rank(self) -> (u32, std::cmp::Reverse<Millis>) {
        match self {
            Self::Now(rows) => (rows, std::cmp::Reverse(Millis(0))),
            Self::At(at) => (0, std::cmp::Reverse(at)),
        }
    }
}

impl Ord for Room {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Room {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// What became of an item.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It has its verdict.
    Settled(Verification),
    /// It must be asked about again, not before `not_before`.
    PutOff {
        /// When.
        not_before: Millis,
        /// To hand back with the item.
        tries: Tries,
        /// Why, as a short token (`greylisted`, `budget`, `blocked`, ...).
        why: &'static str,
        /// Where nobody was asked, because our own limits or an open circuit held it back.
        held: Option<HeldBack>,
    },
}

/// An address that was held back: its count of tries is as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// The destination whose limits held it back, as [`Engine::room`](crate::Engine::room) knows it; none where it was a limit of
    /// another kind.
    pub at: Option<Arc<str>>,
}

/// Takes outcomes as they come: groups of (key, outcome). Called from the engine's tasks; must not block.
pub type Sink = Arc<dyn Fn(Vec<(u64, Outcome)>) + Send + Sync>;

/// What an engine has done since it was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections that were opened.
    pub connections: u64,
    /// Connections that could not be opened.
    pub connect_failures: u64,
    /// RCPT commands that were sent, random ones included.
    pub rcpts: u64,
    /// RCPT commands for random local parts.
    pub random_rcpts: u64,
    /// Flights of commands after which the engine waited for a reply.
    pub waits: u64,
    /// DNS queries that were sent.
    pub queries: u64,
    /// Answers that came from the caches of DNS answers.
    pub queries_cached: u64,
    /// Replies that no rule knew.
    pub unmatched: u64,
    /// Sessions that were not offered TLS at an address that had offered it before.
    pub tls_downgrades: u64,
    /// Sessions open now.
    pub sessions_open: u64,
}

/// The engine's running counts.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) connections: AtomicU64,
    pub(crate) connect_failures: AtomicU64,
    pub(crate) rcpts: AtomicU64,
    pub(crate) random_rcpts: AtomicU64,
    pub(crate) waits: AtomicU64,
    pub(crate) unmatched: AtomicU64,
    pub(crate) tls_downgrades: AtomicU64,
    pub(crate) sessions_open: AtomicU64,
}

impl Tally {
    /// The counts now; `(queries, queries_cached)` are the resolver's.
    pub(crate) fn counters(&self, (queries, queries_cached): (u64, u64)) -> Counters {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            connections: count(&self.connections),
            connect_failures: count(&self.connect_failures),
            rcpts: count(&self.rcpts),
            random_rcpts: count(&self.random_rcpts),
            waits: count(&self.waits),
            queries,
            queries_cached,
            unmatched: count(&self.unmatched),
            tls_downgrades: count(&self.tls_downgrades),
            sessions_open: count(&self.sessions_open),
        }
    }
}
