//! States that are looked at when somebody reads: the engine, the database, queues.
//!
//! Known mail providers are named; any other exchanger is only counted, because there are as many of them as domains. Which
//! ones they are, the engine's snapshot says.

use std::collections::BTreeMap;
use std::fmt::Error;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use probity_engine::Snapshot;
use probity_engine::snapshot::{Held, Limit, Usage};
use probity_store::{PoolUse, Store};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::ops::metrics::cluster;
use crate::ops::metrics::cluster::{Cluster, Own};
use crate::ops::metrics::labels::{Label, labels};

labels! {
    /// Work that waits.
    Queue {
        /// Live calls that wait for the ledger.
        Ledger "ledger",
        /// Messages to customers' servers.
        Webhooks "webhooks",
        /// Jobs whose lists nobody has looked at.
        Jobs "jobs",
        /// Chunks of jobs that may be worked on now, or are.
        Chunks "chunks",
        /// Mail that no relay has taken yet.
        Mail "mail",
    }
}

/// How much waits in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// So many entries.
    pub waiting: u64,
    /// How long the first one has been waiting, where that is known.
    pub oldest: Option<Duration>,
}

/// The database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Database {
    /// Whether it answers.
    pub up: bool,
    /// Its connections.
    pub pool: PoolUse,
}

impl Database {
    /// The database of a store. `up` is best asked of the readiness, which caches it.
    pub fn of(store: &Store, up: bool) -> Self {
        Self { up, pool: store.pool_use() }
    }
}

/// Everything that is looked at. Parts that a process does not have are absent, and so are their metrics.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    /// The engine that asks real servers.
    pub engine: Option<Snapshot>,
    /// The database.
    pub database: Option<Database>,
    /// Queues.
    pub queues: Vec<(Queue, Depth)>,
    /// This node.
    pub own: Option<Own>,
    /// All nodes.
    pub cluster: Option<Cluster>,
}

/// Whoever can be looked at when somebody reads.
pub trait Observed: Send + Sync + 'static {
    /// The state now. What takes longer than two seconds is left out.
    fn look(&self) -> BoxFuture<'_, Gauges>;
}

/// What was seen last.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<Gauges>);

impl Seen {
    pub(super) fn keep(&self, gauges: Gauges) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = gauges;
    }
}

impl Collector for Seen {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut to = Writer(encoder);
        if let Some(engine) = &seen.engine {
            work(&mut to, engine)?;
            limits(&mut to, engine)?;
            done(&mut to, engine)?;
        }
        if let Some(database) = &seen.database {
            of_database(&mut to, database)?;
        }
        if let Some(own) = &seen.own {
            cluster::own(&mut to, own)?;
        }
        if let Some(shared) = &seen.cluster {
            cluster::shared(&mut to, shared)?;
        }
        queues(&mut to, &seen.queues)
    }
}

/// Writes metrics of which only the value now is known.
pub(super) struct Writer<'a>(pub(super) DescriptorEncoder<'a>);

impl Writer<'_> {
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: f64) -> Result<(), Error> {
        let encoder = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(value).encode(encoder)
    }

    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) -> Result<(), Error> {
        let encoder = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(value).encode(encoder)
    }

    pub(super) fn counter_f64(&mut self, name: &str, help: &str, value: f64) -> Result<(), Error> {
        let encoder = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(value).encode(encoder)
    }

    pub(super) fn family<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        series: &[(L, f64)],
    ) -> Result<(), Error> {
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        series.iter().try_for_each(|(labels, value)| ConstGauge::new(*value).encode(encoder.encode_family(labels)?))
    }

    /// A gauge with one label.
    pub(super) fn by<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        key: &'static str,
        series: [(&'static str, usize); N],
    ) -> Result<(), Error> {
        self.family(name, help, &series.map(|(label, value)| ([(key, label)], number(value))))
    }
}

/// A count as a sample; nothing that is counted here comes near the limit.
pub(super) fn number(count: impl TryInto<u32>) -> f64 {
    f64::from(count.try_into().unwrap_or(u32::MAX))
}

/// What the engine holds.
fn work(to: &mut Writer<'_>, engine: &Snapshot) -> Result<(), Error> {
    let sessions = [("all", engine.sessions.all), ("batch", engine.sessions.batch), ("idle", engine.sessions.idle)];
    let used = sessions.map(|(kind, Usage { used, .. })| (kind, used));
    let limit = sessions.map(|(kind, Usage { limit, .. })| (kind, limit));
    to.by("probity_smtp_sessions", "SMTP sessions that are open", "kind", used)?;
    to.by("probity_smtp_sessions_limit", "SMTP sessions that may be open", "kind", limit)?;
    to.gauge("probity_probes_background", "Probes that go on behind an answer", number(engine.background.used))?;
    to.gauge("probity_domains_in_flight", "Domains that batches work on", number(engine.domains.used))?;
    to.gauge("probity_engine_tasks", "Tasks of the engine under way", number(engine.tasks))?;
    let caches = [
        ("verdicts", engine.caches.verdicts),
        ("facts", engine.caches.facts.unwrap_or(0)),
        ("dns", engine.caches.dns),
        ("addresses", engine.caches.addresses),
    ];
    to.by("probity_cache_entries", "Entries in the engine's memories", "cache", caches)
}

/// What holds the engine back.
fn limits(to: &mut Writer<'_>, engine: &Snapshot) -> Result<(), Error> {
    let breakers = engine.breakers;
    let states = [("closed", breakers.closed), ("half_open", breakers.half_open), ("open", breakers.open)];
    to.by("probity_breakers", "Circuit breakers of sites by state", "state", states)?;
    to.gauge("probity_sites_paused", "Sites left alone for too many missing recipients", number(breakers.paused))?;
    to.gauge("probity_budgets_tight", "Limits of sites of which at most a quarter is left", number(engine.tight))?;
    let mut held = BTreeMap::<_, usize>::new();
    for site in engine.held.iter().filter(|site| site.is_provider) {
        *held.entry((&*site.site, Held::as_str(site.why))).or_default() += 1;
    }
    let held: Vec<_> =
        held.iter().map(|((id, why), count)| ([("provider", *id), ("why", *why)], number(*count))).collect();
    to.family("probity_provider_held", "Sources that leave a known provider alone", &held)?;
    let mut fullest = BTreeMap::<_, f64>::new();
    for one in engine.budgets.iter().filter(|one| one.is_provider) {
        let used = f64::from(one.used) / f64::from(one.limit.max(1));
        let most = fullest.entry((&*one.site, Limit::as_str(one.budget))).or_default();
        *most = most.max(used);
    }
    let used: Vec<_> =
        fullest.iter().map(|((id, which), used)| ([("provider", *id), ("budget", *which)], *used)).collect();
    to.family(
        "probity_provider_budget_used_ratio",
        "Used part of a known provider's tight limits, fullest source",
        &used,
    )
}

/// What the engine has done.
fn done(to: &mut Writer<'_>, engine: &Snapshot) -> Result<(), Error> {
    let counts = &engine.counters;
    to.counter("probity_smtp_connections", "Connections that were opened", counts.connections)?;
    to.counter("probity_smtp_connect_failures", "Connections that could not be opened", counts.connect_failures)?;
    to.counter("probity_smtp_rcpts", "RCPT commands that were sent", counts.rcpts)?;
    to.counter("probity_smtp_random_rcpts", "RCPT commands for made-up recipients", counts.random_rcpts)?;
    to.counter("probity_smtp_waits", "Flights of commands that were waited for", counts.waits)?;
    to.counter(
        "probity_smtp_tls_downgrades",
        "Sessions without TLS where it was offered before",
        counts.tls_downgrades,
    )?;
    to.counter("probity_smtp_unmatched_replies", "Replies that no rule knew", counts.unmatched)?;
    let distinct = number(engine.unmatched.distinct);
    to.gauge("probity_smtp_unmatched_texts", "Distinct texts of replies that no rule knew", distinct)?;
    to.counter("probity_dns_queries", "DNS queries that were sent", counts.queries)?;
    to.counter("probity_dns_cached", "DNS questions that the cache answered", counts.queries_cached)
}

fn of_database(to: &mut Writer<'_>, database: &Database) -> Result<(), Error> {
    to.gauge("probity_database_up", "Whether the database answers", if database.up { 1.0 } else { 0.0 })?;
    let PoolUse { open, idle, retries } = database.pool;
    let states = [([("state", "busy")], f64::from(open.saturating_sub(idle))), ([("state", "idle")], f64::from(idle))];
    to.family("probity_database_connections", "Connections to the database", &states)?;
    to.counter("probity_database_retries", "Transactions that lost a race and were run again", retries)
}

fn queues(to: &mut Writer<'_>, queues: &[(Queue, Depth)]) -> Result<(), Error> {
    let waiting: Vec<_> =
        queues.iter().map(|(queue, depth)| ([("queue", queue.text())], number(depth.waiting))).collect();
    to.family("probity_queue_depth", "Entries that wait in a queue", &waiting)?;
    let oldest = |(queue, depth): &(Queue, Depth)| Some(([("queue", queue.text())], depth.oldest?.as_secs_f64()));
    let oldest: Vec<_> = queues.iter().filter_map(oldest).collect();
    to.family("probity_queue_oldest_seconds", "How long the first entry of a queue has been waiting", &oldest)
}
