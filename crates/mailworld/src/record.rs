//! Record of a run: counters for assertions, and a trace whose hash shows whether two runs were the same.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use probity_mail::dns::QueryKind;

use crate::mailbox::Hash64;
use crate::personality::Personality;

/// Maximum events in a trace; its hash covers all. A simulation of 1,000,000 addresses must not fill the memory.
const MAX_EVENTS: usize = 100_000;

/// Maximum recipients that one host remembers for greylisting and call-outs; beyond, every recipient is new.
const MAX_REMEMBERED: usize = 100_000;

/// Time for which a host counts misses against a client, in milliseconds.
const MISS_WINDOW_MS: i64 = 3_600_000;
const MINUTE_MS: i64 = 60_000;

/// Locks, even after a panic elsewhere: the values are counters, valid after each step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counters of one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounts {
    /// Connections opened.
    pub connections: u64,
    /// Connections open now.
    pub open: u64,
    /// Maximum concurrent connections of one client.
    pub most_from_one_source: u64,
    /// Maximum RCPT commands of one client within a minute; 0 in runs without a trace.
    pub most_in_a_minute: u64,
    /// Command lines received.
    pub commands: u64,
    pub mail: u64,
    pub rcpt: u64,
    /// DATA commands: a verifier must send none.
    pub data: u64,
    /// VRFY and EXPN commands: a verifier must send none.
    pub vrfy: u64,
    /// Connections with TLS.
    pub tls: u64,
    /// Commands out of order, unknown or malformed.
    pub errors: u64,
    /// RCPT commands received on a connection after its 421.
    pub rcpt_after_421: u64,
}

/// Counters of one session since they were last added to the host's.
pub(crate) type SessionTally = HostCounts;

/// State of a host beyond one connection.
#[derive(Debug, Default)]
pub(crate) struct HostState {
    counts: RecordCounters,
    /// Replaces the described personality from the next connection on.
    pub(crate) retuned: Mutex<Option<Arc<Personality>>>,
    sources: Mutex<BTreeMap<IpAddr, RecordedSource>>,
    /// Whether the times of RCPT commands are counted.
    traced: bool,
    first_seen: Mutex<BTreeMap<String, i64>>,
}

#[derive(Debug, Default)]
struct RecordedSource {
    open: u64,
    most: u64,
    misses: u32,
    misses_since_ms: i64,
    /// Times of the RCPT commands of the last minute, and the most that there were.
    minute: VecDeque<i64>,
    most_in_a_minute: u64,
}

#[derive(Debug, Default)]
struct RecordCounters {
    connections: AtomicU64,
    open: AtomicU64,
    commands: AtomicU64,
    mail: AtomicU64,
    rcpt: AtomicU64,
    data: AtomicU64,
    vrfy: AtomicU64,
    tls: AtomicU64,
    errors: AtomicU64,
    rcpt_after_421: AtomicU64,
}

impl HostState {
    /// Counts a connection; returns this client's open connections, including this one.
    pub(crate) fn open(&self, source: IpAddr) -> u64 {
        self.counts.connections.fetch_add(1, Ordering::Relaxed);
        self.counts.open.fetch_add(1, Ordering::Relaxed);
        let mut sources = lock(&self.sources);
        let entry = sources.entry(source).or_default();
        entry.open += 1;
        entry.most = entry.most.max(entry.open);
        entry.open
    }

    fn close(&self, source: IpAddr) {
        self.counts.open.fetch_sub(1, Ordering::Relaxed);
        if let Some(entry) = lock(&self.sources).get_mut(&source) {
            entry.open = entry.open.saturating_sub(1);
        }
    }

    /// Counts a miss of a client; returns its misses within the hour.
    pub(crate) fn miss(&self, source: IpAddr, now_ms: i64) -> u32 {
        let mut sources = lock(&self.sources);
        let entry = sources.entry(source).or_default();
        if entry.misses == 0 || now_ms - entry.misses_since_ms > MISS_WINDOW_MS {
            entry.misses = 0;
            entry.misses_since_ms = now_ms;
        }
        entry.misses += 1;
        entry.misses
    }

    /// Counts an RCPT command of a client.
    pub(crate) fn asked(&self, source: IpAddr, now_ms: i64) {
        if !self.traced {
            return;
        }
        let mut sources = lock(&self.sources);
        let entry = sources.entry(source).or_default();
        entry.minute.push_back(now_ms);
        while entry.minute.front().is_some_and(|at| now_ms - at >= MINUTE_MS) {
            entry.minute.pop_front();
        }
        entry.most_in_a_minute = entry.most_in_a_minute.max(entry.minute.len() as u64);
    }

    /// Misses of a client within the hour.
    pub(crate) fn misses(&self, source: IpAddr, now_ms: i64) -> u32 {
        let sources = lock(&self.sources);
        sources.get(&source).filter(|s| now_ms - s.misses_since_ms <= MISS_WINDOW_MS).map_or(0, |s| s.misses)
    }

    /// Time for which this key has been known, in milliseconds; 0 if it is new, or was first seen more than `forget_ms` ago (0:
    /// never forgotten).
    pub(crate) fn known_for_ms(&self, key: String, now_ms: i64, forget_ms: i64) -> i64 {
        let forgotten = |seen_ms: i64| forget_ms > 0 && now_ms - seen_ms >= forget_ms;
        let mut seen = lock(&self.first_seen);
        if seen.len() >= MAX_REMEMBERED && !seen.contains_key(&key) {
            if forget_ms > 0 {
                seen.retain(|_, seen_ms| !forgotten(*seen_ms));
            }
            if seen.len() >= MAX_REMEMBERED {
                return 0;
            }
        }
        let first = seen.entry(key).or_insert(now_ms);
        if forgotten(*first) {
            *first = now_ms;
        }
        now_ms - *first
    }

    pub(crate) fn add(&self, tally: &mut SessionTally) {
        let now = std::mem::take(tally);
        let counts = &self.counts;
        for (counter, n) in [
            (&counts.commands, now.commands),
            (&counts.mail, now.mail),
            (&counts.rcpt, now.rcpt),
            (&counts.data, now.data),
            (&counts.vrfy, now.vrfy),
            (&counts.tls, now.tls),
            (&counts.errors, now.errors),
            (&counts.rcpt_after_421, now.rcpt_after_421),
        ] {
            if n > 0 {
                counter.fetch_add(n, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn counts(&self) -> HostCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let sources = lock(&self.sources);
        HostCounts {
            connections: read(&self.counts.connections),
            open: read(&self.counts.open),
            most_from_one_source: sources.values().map(|s| s.most).max().unwrap_or(0),
            most_in_a_minute: sources.values().map(|s| s.most_in_a_minute).max().unwrap_or(0),
            commands: read(&self.counts.commands),
            mail: read(&self.counts.mail),
            rcpt: read(&self.counts.rcpt),
            data: read(&self.counts.data),
            vrfy: read(&self.counts.vrfy),
            tls: read(&self.counts.tls),
            errors: read(&self.counts.errors),
            rcpt_after_421: read(&self.counts.rcpt_after_421),
        }
    }
}

/// Counts a connection as open during its lifetime.
#[derive(Debug)]
pub(crate) struct OpenConnection {
    pub(crate) state: Arc<HostState>,
    pub(crate) source: IpAddr,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.state.close(self.source);
    }
}

/// Kind of event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// DNS query.
    Query(QueryKind),
    /// Connection attempt, from this address.
    Connect(IpAddr),
    /// Command received.
    Command(String),
    /// Replies sent: their first line.
    Reply(String),
    /// TLS handshake completed.
    Tls,
    /// The host closed the connection.
    End,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEvent {
    /// Milliseconds since the start of the run.
    pub at_ms: i64,
    /// Number of the connection, counted from 1; 0 for DNS queries.
    pub connection: u64,
    /// The host, or the queried name.
    pub name: Arc<str>,
    pub what: Happening,
}

/// Sequence of events of a run.
#[derive(Clone, Debug)]
pub struct Trace {
    hash: Hash64,
    events: Vec<RecordedEvent>,
    total: u64,
}

impl Trace {
    pub(crate) fn new() -> Self {
        Self { hash: Hash64::new(), events: Vec::new(), total: 0 }
    }

    pub(crate) fn push(&mut self, event: RecordedEvent) {
        self.hash.write(&event.at_ms.to_le_bytes());
        self.hash.write(&event.connection.to_le_bytes());
        self.hash.write(event.name.as_bytes());
        self.hash.write(format!("{:?}", event.what).as_bytes());
        self.total += 1;
        if self.events.len() < MAX_EVENTS {
            self.events.push(event);
        }
    }

    /// A stable hash of all events with their times: equal for equal runs.
    pub fn hash(&self) -> TraceHash {
        TraceHash(self.hash.finish())
    }

    /// The first events, at most 100,000.
    pub fn events(&self) -> &[RecordedEvent] {
        &self.events
    }

    /// Number of events.
    pub fn total(&self) -> u64 {
        self.total
    }
}

/// Hash of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceHash(pub u64);

/// Record of a run.
#[derive(Debug)]
pub(crate) struct RunRecord {
    hosts: Mutex<BTreeMap<Arc<str>, Arc<HostState>>>,
    queries: Mutex<BTreeMap<(QueryKind, String), u64>>,
    query_total: AtomicU64,
    connections: AtomicU64,
    /// `None` if nobody reads it: on loopback, under load.
    trace: Option<Mutex<Trace>>,
}

impl RunRecord {
    pub(crate) fn new(traced: bool) -> Self {
        Self {
            hosts: Mutex::default(),
            queries: Mutex::default(),
            query_total: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            trace: traced.then(|| Mutex::new(Trace::new())),
        }
    }

    pub(crate) fn host(&self, name: &Arc<str>) -> Arc<HostState> {
        let mut hosts = lock(&self.hosts);
        let new = || Arc::new(HostState { traced: self.trace.is_some(), ..HostState::default() });
        Arc::clone(hosts.entry(Arc::clone(name)).or_insert_with(new))
    }

    pub(crate) fn counts(&self, name: &str) -> HostCounts {
        lock(&self.hosts).get(name).map(|host| host.counts()).unwrap_or_default()
    }

    /// Sums over all hosts (of `most_from_one_source` and `most_in_a_minute`: the largest).
    pub(crate) fn sums(&self) -> HostCounts {
        lock(&self.hosts).values().map(|host| host.counts()).fold(HostCounts::default(), |a, b| HostCounts {
            connections: a.connections + b.connections,
            open: a.open + b.open,
            most_from_one_source: a.most_from_one_source.max(b.most_from_one_source),
            most_in_a_minute: a.most_in_a_minute.max(b.most_in_a_minute),
            commands: a.commands + b.commands,
            mail: a.mail + b.mail,
            rcpt: a.rcpt + b.rcpt,
            data: a.data + b.data,
            vrfy: a.vrfy + b.vrfy,
            tls: a.tls + b.tls,
            errors: a.errors + b.errors,
            rcpt_after_421: a.rcpt_after_421 + b.rcpt_after_421,
        })
    }

    /// Number of the next connection.
    pub(crate) fn connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Counts a query; returns the number of earlier ones. Names are counted individually only in traced runs.
    pub(crate) fn query(&self, name: &str, kind: QueryKind) -> u64 {
        if self.trace.is_some() {
            *lock(&self.queries).entry((kind, name.to_owned())).or_default() += 1;
        }
        self.query_total.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn queries(&self, name: &str, kind: QueryKind) -> u64 {
        lock(&self.queries).get(&(kind, name.to_owned())).copied().unwrap_or(0)
    }

    pub(crate) fn query_total(&self) -> u64 {
        self.query_total.load(Ordering::Relaxed)
    }

    /// Adds an event; `event` is called only in traced runs.
    pub(crate) fn note(&self, event: impl FnOnce() -> RecordedEvent) {
        if let Some(trace) = &self.trace {
            lock(trace).push(event());
        }
    }

    pub(crate) fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    pub(crate) fn trace(&self) -> Trace {
        self.trace.as_ref().map_or_else(Trace::new, |trace| lock(trace).clone())
    }
}
