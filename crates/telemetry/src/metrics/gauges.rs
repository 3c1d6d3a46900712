//! States that are read when somebody requests the metrics: engine, database, queues.
//!
//! Known mail providers are named. Other MX hosts are only counted, because there are as many of them as domains. The engine's
//! snapshot marks the known ones.

use std::collections::BTreeMap;
use std::fmt::Error;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use probity_engine::EngineSnapshot;
use probity_engine::snapshot::{LimitUsage, PauseCause, SiteLimit};
use probity_store::{PoolUse, Store};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::metrics::cluster;
use crate::metrics::cluster::{ClusterGauges, OwnGauges};
use crate::metrics::labels::{Label, labels};

labels! {
    /// Queue of pending work.
    Queue {
        /// Live calls that wait for the ledger.
        Ledger "ledger",
        /// Webhook deliveries.
        Webhooks "webhooks",
        /// Jobs that wait for their import.
        Jobs "jobs",
        /// Chunks of jobs that can be claimed now or are leased.
        Chunks "chunks",
        /// Email that the relay has not accepted yet.
        Mail "mail",
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueDepth {
    /// Number of entries.
    pub waiting: u64,
    /// Age of the first entry, if it is known.
    pub oldest: Option<Duration>,
}

/// State of the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseGauges {
    /// Whether it responds.
    pub up: bool,
    pub pool: PoolUse,
}

impl DatabaseGauges {
    /// Reads the state of a store. `up` should come from the readiness checks, which cache it.
    pub fn of(store: &Store, up: bool) -> Self {
        Self { up, pool: store.pool_use() }
    }
}

/// All states. Parts that a process does not have are absent, and so are their metrics.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    /// Engine that probes real MX hosts.
    pub engine: Option<EngineSnapshot>,
    pub database: Option<DatabaseGauges>,
    pub queues: Vec<(Queue, QueueDepth)>,
    /// State of this node.
    pub own: Option<OwnGauges>,
    /// State of all nodes.
    pub cluster: Option<ClusterGauges>,
}

/// Source of the states.
pub trait Observed: Send + Sync + 'static {
    /// Reads the states. If this takes longer than 2 s, the metrics leave them out.
    fn look(&self) -> BoxFuture<'_, Gauges>;
}

/// States that were read last.
#[derive(Debug, Default)]
pub(super) struct SeenGauges(Mutex<Gauges>);

impl SeenGauges {
    pub(super) fn keep(&self, gauges: Gauges) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = gauges;
    }
}

impl Collector for SeenGauges {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut to = GaugeWriter(encoder);
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

/// Writer of metrics that have only a current value.
pub(super) struct GaugeWriter<'a>(pub(super) DescriptorEncoder<'a>);

impl GaugeWriter<'_> {
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

    /// Writes a gauge with one label.
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

/// Converts a count to a sample. No count here comes near the limit of `u32`.
pub(super) fn number(count: impl TryInto<u32>) -> f64 {
    f64::from(count.try_into().unwrap_or(u32::MAX))
}

/// Writes the engine's work in progress.
fn work(to: &mut GaugeWriter<'_>, engine: &EngineSnapshot) -> Result<(), Error> {
    let sessions = [("all", engine.sessions.all), ("batch", engine.sessions.batch), ("idle", engine.sessions.idle)];
    let used = sessions.map(|(kind, LimitUsage { used, .. })| (kind, used));
    let limit = sessions.map(|(kind, LimitUsage { limit, .. })| (kind, limit));
    to.by("probity_smtp_sessions", "Open SMTP sessions", "kind", used)?;
    to.by("probity_smtp_sessions_limit", "Limit of open SMTP sessions", "kind", limit)?;
    to.gauge("probity_probes_background", "Probes that continue after the response", number(engine.background.used))?;
    to.gauge("probity_domains_in_flight", "Domains that batches are probing", number(engine.domains.used))?;
    to.gauge("probity_engine_tasks", "Tasks of the engine", number(engine.tasks))?;
    let caches = [
        ("verdicts", engine.caches.verdicts),
        ("facts", engine.caches.facts.unwrap_or(0)),
        ("dns", engine.caches.dns),
        ("addresses", engine.caches.addresses),
    ];
    to.by("probity_cache_entries", "Entries in the engine's caches", "cache", caches)
}

/// Writes the limits that delay the engine.
fn limits(to: &mut GaugeWriter<'_>, engine: &EngineSnapshot) -> Result<(), Error> {
    let breakers = engine.breakers;
    let states = [("closed", breakers.closed), ("half_open", breakers.half_open), ("open", breakers.open)];
    to.by("probity_breakers", "Circuit breakers by state", "state", states)?;
    to.gauge(
        "probity_sites_paused",
        "Sites paused because too many recipients did not exist",
        number(breakers.paused),
    )?;
    to.gauge("probity_budgets_tight", "Site limits with at most a quarter left", number(engine.tight))?;
    let mut held = BTreeMap::<_, usize>::new();
    for site in engine.held.iter().filter(|site| site.is_provider) {
        *held.entry((&*site.site, PauseCause::as_str(site.why))).or_default() += 1;
    }
    let held: Vec<_> =
        held.iter().map(|((id, why), count)| ([("provider", *id), ("why", *why)], number(*count))).collect();
    to.family("probity_provider_held", "Source IPs that have paused a known provider", &held)?;
    let mut fullest = BTreeMap::<_, f64>::new();
    for one in engine.budgets.iter().filter(|one| one.is_provider) {
        let used = f64::from(one.used) / f64::from(one.limit.max(1));
        let most = fullest.entry((&*one.site, SiteLimit::as_str(one.budget))).or_default();
        *most = most.max(used);
    }
    let used: Vec<_> =
        fullest.iter().map(|((id, which), used)| ([("provider", *id), ("budget", *which)], *used)).collect();
    to.family(
        "probity_provider_budget_used_ratio",
        "Used share of a known provider's limits, for the fullest source IP",
        &used,
    )
}

/// Writes the engine's counters.
fn done(to: &mut GaugeWriter<'_>, engine: &EngineSnapshot) -> Result<(), Error> {
    let counts = &engine.counters;
    to.counter("probity_smtp_connections", "SMTP connections opened", counts.connections)?;
    to.counter("probity_smtp_connect_failures", "SMTP connections that failed to open", counts.connect_failures)?;
    to.counter("probity_smtp_rcpts", "Recipients probed, including random ones", counts.rcpts)?;
    to.counter("probity_smtp_random_rcpts", "Random recipients probed", counts.random_rcpts)?;
    to.counter("probity_smtp_waits", "Command flights whose replies were awaited", counts.waits)?;
    to.counter(
        "probity_smtp_tls_downgrades",
        "Sessions without a TLS offer from servers that had offered it before",
        counts.tls_downgrades,
    )?;
    to.counter("probity_smtp_unmatched_replies", "Replies that matched no rule", counts.unmatched)?;
    let distinct = number(engine.unmatched.distinct);
    to.gauge("probity_smtp_unmatched_texts", "Distinct texts of replies that matched no rule", distinct)?;
    to.counter("probity_dns_queries", "DNS queries sent", counts.queries)?;
    to.counter("probity_dns_cached", "DNS lookups answered from the cache", counts.queries_cached)
}

fn of_database(to: &mut GaugeWriter<'_>, database: &DatabaseGauges) -> Result<(), Error> {
    to.gauge("probity_database_up", "1 while the database responds", if database.up { 1.0 } else { 0.0 })?;
    let PoolUse { open, idle, retries } = database.pool;
    let states = [([("state", "busy")], f64::from(open.saturating_sub(idle))), ([("state", "idle")], f64::from(idle))];
    to.family("probity_database_connections", "Connections to the database", &states)?;
    to.counter("probity_database_retries", "Transactions retried after a conflict", retries)
}

fn queues(to: &mut GaugeWriter<'_>, queues: &[(Queue, QueueDepth)]) -> Result<(), Error> {
    let waiting: Vec<_> =
        queues.iter().map(|(queue, depth)| ([("queue", queue.text())], number(depth.waiting))).collect();
    to.family("probity_queue_depth", "Queue length", &waiting)?;
    let oldest = |(queue, depth): &(Queue, QueueDepth)| Some(([("queue", queue.text())], depth.oldest?.as_secs_f64()));
    let oldest: Vec<_> = queues.iter().filter_map(oldest).collect();
    to.family("probity_queue_oldest_seconds", "Waiting time of the oldest entry of a queue", &oldest)
}
