//! Metrics of the nodes on one database, and of the jobs that they share.

use std::fmt::Error;
use std::time::Duration;

use probity_store::jobs::JobQueueDepth;

use crate::metrics::gauges::{GaugeWriter, number};

/// State that is the same for all nodes.
#[derive(Clone, Debug, Default)]
pub struct ClusterGauges {
    /// Live nodes by role.
    pub roles: Vec<(&'static str, usize)>,
    /// Current leases by kind.
    pub leases: Vec<(&'static str, usize)>,
    /// Open jobs.
    pub jobs: JobQueueDepth,
}

/// State of this node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnGauges {
    /// Chunks in progress.
    pub chunks: i64,
    /// Imports in progress.
    pub imports: i64,
    /// Whether the node holds all its sources.
    pub holds_sources: bool,
    /// Minimum time by which its clock is ahead of the database's, in milliseconds; negative if it is behind.
    pub clock_ahead_ms: i64,
    /// Whether it receives wake-ups of other nodes.
    pub hears: bool,
}

pub(super) fn own(to: &mut GaugeWriter<'_>, own: &OwnGauges) -> Result<(), Error> {
    let work = [("chunks", count(own.chunks)), ("imports", count(own.imports))];
    to.by("probity_working_on", "Current work of this node", "work", work)?;
    let flag = |is: bool| if is { 1.0 } else { 0.0 };
    to.gauge("probity_sources_held", "1 while this node may probe", flag(own.holds_sources))?;
    let ahead_s =
        Duration::from_millis(own.clock_ahead_ms.unsigned_abs()).as_secs_f64().copysign(sign(own.clock_ahead_ms));
    to.gauge("probity_clock_ahead_seconds", "Minimum lead of this node's clock over the database's", ahead_s)?;
    to.gauge("probity_bells_heard", "1 while this node receives wake-ups", flag(own.hears))
}

pub(super) fn shared(to: &mut GaugeWriter<'_>, cluster: &ClusterGauges) -> Result<(), Error> {
    let series = |of: &[(&'static str, usize)], key: &'static str| -> Vec<_> {
        of.iter().map(|(label, value)| ([(key, *label)], number(*value))).collect()
    };
    to.family("probity_nodes", "Nodes with a recent heartbeat", &series(&cluster.roles, "role"))?;
    to.family("probity_leases", "Current leases", &series(&cluster.leases, "kind"))?;
    let JobQueueDepth { queued, importing, ready, processing, .. } = cluster.jobs;
    let states = [("queued", queued), ("importing", importing), ("ready", ready), ("processing", processing)];
    to.by("probity_jobs_open", "Open jobs", "state", states.map(|(state, n)| (state, count(n))))
}

fn sign(n: i64) -> f64 {
    if n < 0 { -1.0 } else { 1.0 }
}

fn count(n: i64) -> usize {
    usize::try_from(n).unwrap_or(0)
}
