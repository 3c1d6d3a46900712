//! State of nodes and jobs, for metrics.

use std::time::Duration;

use probity_mail::time::Millis;
use probity_store::nodes::clock;
use probity_store::{Store, StoreError, jobs, nodes};
use probity_telemetry::metrics::{ClusterGauges, OwnGauges, Queue, QueueDepth};

use crate::nodes::roles::NodeRole;
use crate::nodes::{NodePresence, SCHEDULE, SOURCE, Work, is_alive};

/// Returns the state of this node.
pub fn own(presence: &NodePresence, now: Millis) -> OwnGauges {
    OwnGauges {
        chunks: presence.working_on(Work::Chunk),
        imports: presence.working_on(Work::Import),
        holds_sources: presence.holds_sources(now),
        clock_ahead_ms: presence.ahead_ms(),
        hears: presence.is_listening(),
    }
}

/// Reads the state of all nodes and their jobs.
pub async fn cluster(store: &Store, now: Millis) -> Result<ClusterGauges, StoreError> {
    let mut conn = store.read().await?;
    let now = clock::now(&mut conn, now).await?;
    let mut alive = nodes::all(&mut conn).await?;
    alive.retain(|node| is_alive(node, now));
    let with =
        |role: NodeRole| alive.iter().filter(|node| node.roles.split(',').any(|name| name == role.as_str())).count();
    let mut leases = nodes::leases(&mut conn).await?;
    leases.retain(|lease| lease.until > now);
    let about = |begin: &str| leases.iter().filter(|lease| lease.name.starts_with(begin)).count();
    Ok(ClusterGauges {
        roles: NodeRole::ALL.map(|role| (role.as_str(), with(role))).into(),
        leases: vec![("schedule", about(SCHEDULE)), ("source", about(SOURCE))],
        jobs: jobs::depth(&mut conn, now).await?,
    })
}

/// Returns the queues of jobs and chunks.
pub fn queues(cluster: &ClusterGauges, now: Millis) -> [(Queue, QueueDepth); 2] {
    let jobs = &cluster.jobs;
    let oldest = jobs.first_queued_at.and_then(|at| u64::try_from(now.since(at)).ok()).map(Duration::from_millis);
    let waiting = |n: i64| u64::try_from(n).unwrap_or(0);
    [
        (Queue::Jobs, QueueDepth { waiting: waiting(jobs.queued), oldest }),
        (Queue::Chunks, QueueDepth { waiting: waiting(jobs.chunks), oldest: None }),
    ]
}
