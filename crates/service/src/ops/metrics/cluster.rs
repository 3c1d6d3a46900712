//! The nodes on one database, this one among them, and the jobs that they share.

use std::fmt::Error;
use std::time::Duration;

use probity_store::jobs::Depth as Jobs;

use crate::ops::metrics::gauges::{Writer, number};

/// What all nodes see alike.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// Nodes that have been seen lately, by role.
    pub roles: Vec<(&'static str, usize)>,
    /// Leases that stand, by what they are about.
    pub leases: Vec<(&'static str, usize)>,
    /// Jobs that are not closed.
    pub jobs: Jobs,
}

/// What this node knows of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Chunks that it works on.
    pub chunks: i64,
    /// Lists that it sorts.
    pub imports: i64,
    /// Whether all of its sources belong to it.
    pub holds_sources: bool,
    /// By how much its clock is ahead of the database's at least, in milliseconds; below zero: behind.
    pub clock_ahead_ms: i64,
    /// Whether it hears bells of other nodes.
    pub hears: bool,
}

pub(super) fn own(to: &mut Writer<'_>, own: &Own) -> Result<(), Error> {
    let work = [("chunks", count(own.chunks)), ("imports", count(own.imports))];
    to.by("probity_working_on", "Pieces of jobs that this node works on", "work", work)?;
    let flag = |is: bool| if is { 1.0 } else { 0.0 };
    to.gauge("probity_sources_held", "Whether all sources of this node belong to it", flag(own.holds_sources))?;
    let ahead_s =
        Duration::from_millis(own.clock_ahead_ms.unsigned_abs()).as_secs_f64().copysign(sign(own.clock_ahead_ms));
    to.gauge(
        "probity_clock_ahead_seconds",
        "By how much this node's clock is ahead of the database's at least",
        ahead_s,
    )?;
    to.gauge("probity_bells_heard", "Whether this node hears of other nodes' work at once", flag(own.hears))
}

pub(super) fn shared(to: &mut Writer<'_>, cluster: &Cluster) -> Result<(), Error> {
    let series = |of: &[(&'static str, usize)], key: &'static str| -> Vec<_> {
        of.iter().map(|(label, value)| ([(key, *label)], number(*value))).collect()
    };
    to.family("probity_nodes", "Nodes that have been seen lately", &series(&cluster.roles, "role"))?;
    to.family("probity_leases", "Leases that stand", &series(&cluster.leases, "kind"))?;
    let Jobs { queued, importing, ready, processing, .. } = cluster.jobs;
    let states = [("queued", queued), ("importing", importing), ("ready", ready), ("processing", processing)];
    to.by("probity_jobs_open", "Jobs that are not closed", "state", states.map(|(state, n)| (state, count(n))))
}

fn sign(n: i64) -> f64 {
    if n < 0 { -1.0 } else { 1.0 }
}

fn count(n: i64) -> usize {
    usize::try_from(n).unwrap_or(0)
}
