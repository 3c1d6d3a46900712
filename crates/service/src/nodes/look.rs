//! What the metrics see of nodes and jobs.

use std::time::Duration;

use probity_mail::time::Millis;
use probity_store::{Store, StoreError, clock, jobs, nodes};

use crate::nodes::{Presence, SCHEDULE, SOURCE, Work, is_alive};
use crate::ops::metrics::{Cluster, Depth, Own, Queue};
use crate::roles::Role;

/// This node.
pub fn own(presence: &Presence, now: Millis) -> Own {
    Own {
        chunks: presence.working_on(Work::Chunk),
        imports: presence.working_on(Work::Import),
        holds_sources: presence.holds_sources(now),
        clock_ahead_ms: presence.ahead_ms(),
        hears: presence.is_listening(),
    }
}

/// All nodes and their jobs.
pub async fn cluster(store: &Store, now: Millis) -> Result<Cluster, StoreError> {
    let mut conn = store.read().await?;
    let now = clock::now(&mut conn, now).await?;
    let mut alive = nodes::all(&mut conn).await?;
    alive.retain(|node| is_alive(node, now));
    let with = |role: Role| alive.iter().filter(|node| node.roles.split(',').any(|name| name == role.as_str())).count();
    let mut leases = nodes::leases(&mut conn).await?;
    leases.retain(|lease| lease.until > now);
    let about = |begin: &str| leases.iter().filter(|lease| lease.name.starts_with(begin)).count();
    Ok(Cluster {
        roles: Role::ALL.map(|role| (role.as_str(), with(role))).into(),
        leases: vec![("schedule", about(SCHEDULE)), ("source", about(SOURCE))],
        jobs: jobs::depth(&mut conn, now).await?,
    })
}

/// What waits for a worker.
pub fn queues(cluster: &Cluster, now: Millis) -> [(Queue, Depth); 2] {
    let jobs = &cluster.jobs;
    let oldest = jobs.first_queued_at.and_then(|at| u64::try_from(now.since(at)).ok()).map(Duration::from_millis);
    let waiting = |n: i64| u64::try_from(n).unwrap_or(0);
    [
        (Queue::Jobs, Depth { waiting: waiting(jobs.queued), oldest }),
        (Queue::Chunks, Depth { waiting: waiting(jobs.chunks), oldest: None }),
    ]
}
