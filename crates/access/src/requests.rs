//! Log of requests with API keys: collects entries and stores them in bulk.
//!
//! A request only puts its entry into a queue. One task writes everything of a second in one transaction. If the queue is full,
//! the database fails or the process dies, entries are lost: the log is an aid for developers, not a record. An organization that
//! sends very many requests keeps a part of them, failures first.

use std::collections::BTreeMap;
use std::time::Duration;

use probity_store::activity::requests;
use probity_store::{OrgNo, Store, StoreError, work};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub use probity_store::activity::requests::LoggedRequest;

/// Time for which entries are collected.
const COLLECT: Duration = Duration::from_secs(1);
/// Entries of a transaction.
const WRITE_MAX: usize = 2_000;
/// Entries of an organization in a transaction.
const WRITE_OF_ORG_MAX: usize = 100;
/// Queued entries; further ones are lost.
const QUEUE_MAX: usize = 8_192;
/// Entries that an organization keeps.
pub const KEPT_MAX: i64 = 10_000;
/// Entries that an organization has more than it keeps before the oldest are removed, on each node.
const TRIM_AFTER: usize = 1_000;

/// Handle of the task. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RequestLog {
    queue: mpsc::Sender<LoggedRequest>,
}

impl RequestLog {
    /// Starts the task that writes entries. It ends when every [`RequestLog`] is dropped.
    pub fn start(store: Store) -> (Self, JoinHandle<()>) {
        let (queue, entries) = mpsc::channel(QUEUE_MAX);
        (Self { queue }, tokio::spawn(write(store, entries)))
    }

    /// Notes a request. Never waits.
    pub fn note(&self, entry: LoggedRequest) {
        let _ = self.queue.try_send(entry);
    }
}

async fn write(store: Store, mut entries: mpsc::Receiver<LoggedRequest>) {
    let mut batch = Vec::new();
    let mut since_trim: BTreeMap<OrgNo, usize> = BTreeMap::new();
    while entries.recv_many(&mut batch, WRITE_MAX).await > 0 {
        let more = async {
            let batch = &mut batch;
            while batch.len() < WRITE_MAX && entries.recv_many(batch, WRITE_MAX - batch.len()).await > 0 {}
        };
        // What has come until then is in the batch either way.
        let _ = tokio::time::timeout(COLLECT, more).await;
        let kept = few_of_each(std::mem::take(&mut batch));
        if let Err(error) = store_entries(&store, &kept, &mut since_trim).await {
            tracing::warn!(%error, lost = kept.len(), "cannot write the log of requests");
        }
    }
}

/// Keeps at most [`WRITE_OF_ORG_MAX`] entries of each organization: failures before others, otherwise in the order of arrival.
fn few_of_each(mut batch: Vec<LoggedRequest>) -> Vec<LoggedRequest> {
    batch.sort_by_key(|entry| entry.status < 400);
    let mut counts: BTreeMap<OrgNo, usize> = BTreeMap::new();
    batch.retain(|entry| {
        let count = counts.entry(entry.org).or_default();
        *count += 1;
        *count <= WRITE_OF_ORG_MAX
    });
    batch
}

async fn store_entries(
    store: &Store,
    entries: &[LoggedRequest],
    since_trim: &mut BTreeMap<OrgNo, usize>,
) -> Result<(), StoreError> {
    for entry in entries {
        *since_trim.entry(entry.org).or_default() += 1;
    }
    let full: Vec<OrgNo> = since_trim.iter().filter(|(_, count)| **count >= TRIM_AFTER).map(|(org, _)| *org).collect();
    let written = store.write(work!(|tx| {
        requests::add(tx, entries).await?;
        for org in &full {
            requests::trim(tx, *org, KEPT_MAX).await?;
        }
        Ok(())
    }));
    written.await?;
    for org in full {
        since_trim.remove(&org);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use probity_account::id::KeyId;
    use probity_mail::time::Millis;

    use super::*;

    fn entry(org: i64, n: u8, status: i64) -> LoggedRequest {
        LoggedRequest {
            org: OrgNo(org),
            key: KeyId::new(Millis(1), [n; 10]),
            test: false,
            at: Millis(i64::from(n)),
            id: format!("req_{n}"),
            method: "GET".into(),
            route: "/v1/verify".into(),
            status,
            took_ms: 1,
        }
    }

    #[test]
    fn a_busy_organization_keeps_its_failures_and_leaves_room_to_others() {
        let mut batch: Vec<_> = (0..150).map(|n| entry(1, n, 200)).collect();
        batch.extend((150..155).map(|n| entry(1, n, 429)));
        batch.push(entry(2, 1, 200));
        let kept = few_of_each(batch);
        assert_eq!(kept.iter().filter(|entry| entry.org == OrgNo(1)).count(), WRITE_OF_ORG_MAX);
        assert_eq!(kept.iter().filter(|entry| entry.status == 429).count(), 5);
        assert_eq!(kept.last(), Some(&entry(2, 1, 200)));
    }
}
