//! Pauses of accounts at platforms, in PostgreSQL: if a platform asks one node to wait, the others wait too.
//!
//! A node reads a pause once a second at most, however many calls it makes. While the database is unavailable, each node keeps the
//! pauses that it was asked for itself.

use std::num::NonZeroUsize;
use std::sync::Mutex;

use lru::LruCache;
use probity_engine::locked;
use probity_mail::time::{DAY_MS, Millis};
use probity_store::accounts::limits;
use probity_store::nodes::clock;
use probity_store::{Store, StoreError, work};

use super::shared::AWAY_MS;

/// Maximum number of pauses in memory.
const KNOWN_MAX: usize = 10_000;
/// Time between two looks at a pause, in milliseconds.
const LOOK_MS: i64 = 1_000;
/// Longest pause that is shared, in milliseconds. Then the platform is asked again.
const PAUSE_MAX_MS: i64 = DAY_MS;

/// What a node has read of a pause.
#[derive(Clone, Copy)]
struct KnownPause {
    until: Option<Millis>,
    look_at: Millis,
}

/// Pauses as a node knows them.
pub(super) struct SharedPauses {
    store: Store,
    known: Mutex<LruCache<String, KnownPause>>,
}

impl SharedPauses {
    pub(super) fn new(store: Store) -> Self {
        let size = NonZeroUsize::new(KNOWN_MAX).expect("not zero");
        Self { store, known: Mutex::new(LruCache::sparse(size)) }
    }

    /// Tells all nodes of a pause.
    pub(super) async fn tell(&self, name: &str, until: Millis, now: Millis) {
        if let Err(error) = self.write(name, until, now).await {
            tracing::warn!(%error, "cannot tell other nodes that a platform asked for a pause");
        }
    }

    /// Returns the end of a pause that lasts, as of the last second.
    pub(super) async fn until(&self, name: &str, now: Millis) -> Option<Millis> {
        let known = locked(&self.known).get(name).copied();
        let known = match known.filter(|known| now < known.look_at) {
            Some(known) => known,
            None => self.look(name, now).await,
        };
        known.until.filter(|until| *until > now)
    }

    async fn look(&self, name: &str, now: Millis) -> KnownPause {
        let known = match self.read(name, now).await {
            Ok(until) => KnownPause { until, look_at: now + LOOK_MS },
            Err(error) => {
                tracing::warn!(%error, "cannot read pauses of other nodes; this node keeps its own for now");
                KnownPause { until: None, look_at: now + AWAY_MS }
            }
        };
        locked(&self.known).put(name.to_owned(), known);
        known
    }

    async fn write(&self, name: &str, until: Millis, now: Millis) -> Result<(), StoreError> {
        let wait_us = until.since(now).clamp(0, PAUSE_MAX_MS) * 1_000;
        let told = self.store.write(work!(|tx| {
            let now_us = clock::now_us(tx).await?.unwrap_or(now.0 * 1_000);
            limits::pause(tx, name, now_us + wait_us).await
        }));
        told.await
    }

    /// Reads a pause, and converts the database's time to this node's.
    async fn read(&self, name: &str, now: Millis) -> Result<Option<Millis>, StoreError> {
        let mut conn = self.store.read().await?;
        let Some(until_us) = limits::paused_until_us(&mut conn, name).await? else { return Ok(None) };
        let now_us = clock::now_us(&mut conn).await?.unwrap_or(now.0 * 1_000);
        Ok(Some(now + (until_us - now_us).div_euclid(1_000)))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use probity_store::{DatabasePlace, StoreConfig};

    use super::*;

    const NOW: Millis = Millis(1_800_000_000_000);

    #[tokio::test]
    async fn a_pause_that_one_node_was_asked_for_is_kept_by_all() {
        let Some(cluster) = probity_trialdb::postgres() else { return };
        let database = cluster.create_database();
        let place = DatabasePlace::Postgres(database.url().to_owned());
        let store = Store::open(&StoreConfig::new(place)).await.unwrap();
        store.migrate().await.unwrap();
        store.failpoints().go_by_callers_clock();
        let [asked, beside] = [0; 2].map(|_| SharedPauses::new(store.clone()));
        let (one, other) = ("platform:a:pause 0", "platform:a:pause 1");
        assert_eq!(beside.until(one, NOW).await, None);
        asked.tell(one, NOW + 60_000, NOW).await;
        assert_eq!(beside.until(one, NOW + 500).now_or_never(), Some(None), "it has looked just now");
        assert_eq!(beside.until(one, NOW + LOOK_MS).await, Some(NOW + 60_000));
        assert_eq!(beside.until(other, NOW + LOOK_MS).await, None);
        asked.tell(one, NOW + 30_000, NOW).await;
        assert_eq!(beside.until(one, NOW + 59_000).await, Some(NOW + 60_000), "the longest holds");
        assert_eq!(beside.until(one, NOW + 60_000).await, None);
        asked.tell(other, NOW + 9 * DAY_MS, NOW).await;
        assert_eq!(beside.until(other, NOW + 60_000).await, Some(NOW + DAY_MS));
        store.close().await;
    }

    #[tokio::test]
    async fn while_the_database_is_away_nobody_waits_for_it_twice() {
        // Nobody listens on port 1.
        let place = DatabasePlace::Postgres("postgres://nobody@127.0.0.1:1/nothing".into());
        let config = StoreConfig { acquire_timeout_ms: 50, ..StoreConfig::new(place) };
        let pauses = SharedPauses::new(Store::open(&config).await.unwrap());
        assert_eq!(pauses.until("platform:a:pause 0", NOW).await, None);
        assert_eq!(pauses.until("platform:a:pause 0", NOW + 9_000).now_or_never(), Some(None), "at once");
    }
}
