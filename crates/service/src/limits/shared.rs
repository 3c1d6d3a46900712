//! Buckets in PostgreSQL, spent by each node in slices.
//!
//! A node takes a fiftieth of a limit in one statement, spends it from memory and gives back what is two seconds old
//! ([`Buckets::tidy`]), so that a request seldom asks the database and all nodes together let through no more than the limit. A
//! node that dies loses the slices it had, which come back as the buckets fill.
//!
//! Buckets go by the database's clock, because nodes' clocks differ: one that is a minute ahead would leave nothing to the others.
//! What it says is counted from this node's time on.
//!
//! Each slice has a lock of its own, held while the next one is fetched: one request fetches and those of the same bucket wait for
//! it; others do not. Where the database does not answer there is no state (none), and it is left alone for ten seconds; the caller
//! counts by itself then (`super::local`). The lock of all slices is held for a look-up only.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use probity_mail::time::Millis;
use probity_store::limits::{Take, Taken};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError, clock, limits};

use crate::limits::{Bucket, Limit, MINUTE_US, State};

/// Buckets that are remembered.
const BUCKETS_MAX: usize = 50_000;
/// A slice is this part of the limit: with so many nodes as no limit tolerates, a twentieth of it lies about unspent.
const SLICES: i64 = 50;
/// How long an unspent slice is kept, in milliseconds.
const SLICE_MS: i64 = 2_000;
/// How long the database is left alone after it failed, in milliseconds: longer than a request waits for it. Those that came
/// meanwhile and wait for the same slice would otherwise wait for it one after the other.
const AWAY_MS: i64 = 10_000;

/// What a node has of a bucket.
#[derive(Debug, Default)]
struct Slice {
    per_minute: u32,
    left: i64,
    taken_at: Millis,
    /// When the shared bucket would be full, if nobody took more; in microseconds.
    full_at_us: i64,
}

/// The buckets, with the database behind them.
pub(crate) struct Buckets {
    store: Store,
    /// Until when the database is left alone, in milliseconds since 1970.
    away_until_ms: AtomicI64,
    slices: Mutex<LruCache<Bucket, Arc<tokio::sync::Mutex<Slice>>>>,
}

impl Buckets {
    pub(crate) fn new(store: Store) -> Self {
        let size = NonZeroUsize::new(BUCKETS_MAX).expect("not zero");
        Self { store, away_until_ms: AtomicI64::new(i64::MIN), slices: Mutex::new(LruCache::sparse(size)) }
    }

    /// What the bucket says; none while the database cannot be asked.
    pub(super) async fn take(&self, limit: Limit, now: Millis) -> Option<State> {
        let slice = self.slice(limit.bucket);
        // One request fetches the next slice, the others wait for it.
        let mut slice = slice.lock().await;
        if slice.per_minute != limit.per_minute {
            *slice = Slice { per_minute: limit.per_minute, ..Slice::default() };
        }
        if slice.left == 0 && slice.one_at(limit) <= now {
            let taken = self.fetch_unless_away(limit, now).await?;
            slice.left = taken.granted;
            slice.full_at_us = taken.full_at_us;
            slice.taken_at = now;
        }
        let passed = slice.left > 0;
        slice.left -= i64::from(passed);
        Some(slice.state(limit, now, passed))
    }

    pub(super) async fn give_back(&self, limit: Limit) {
        self.slice(limit.bucket).lock().await.left += 1;
    }

    /// Gives back what nobody has spent for a while.
    pub(crate) async fn tidy(&self, now: Millis) {
        let all: Vec<_> = {
            let slices = self.slices.lock().unwrap_or_else(PoisonError::into_inner);
            slices.iter().map(|(bucket, slice)| (*bucket, slice.clone())).collect()
        };
        for (bucket, slice) in all {
            let mut slice = slice.lock().await;
            if slice.left > 0 && now.since(slice.taken_at) > SLICE_MS {
                let limit = Limit { bucket, per_minute: slice.per_minute };
                if self.put_back(limit, slice.left).await.is_err() {
                    // The others would wait as long for nothing; they are given back the next time.
                    return;
                }
                *slice = Slice { per_minute: slice.per_minute, ..Slice::default() };
            }
        }
    }

    fn slice(&self, bucket: Bucket) -> Arc<tokio::sync::Mutex<Slice>> {
        let mut slices = self.slices.lock().unwrap_or_else(PoisonError::into_inner);
        slices.get_or_insert(bucket, Arc::default).clone()
    }

    async fn fetch_unless_away(&self, limit: Limit, now: Millis) -> Option<Taken> {
        if now.0 < self.away_until_ms.load(Ordering::Relaxed) {
            return None;
        }
        match self.fetch(limit, now).await {
            Ok(taken) => Some(taken),
            Err(error) => {
                self.away_until_ms.store(now.0 + AWAY_MS, Ordering::Relaxed);
                tracing::warn!(%error, "cannot share rate limits with other nodes; this node counts alone for now");
                None
            }
        }
    }

    async fn fetch(&self, limit: Limit, now: Millis) -> Result<Taken, StoreError> {
        let name = name(limit.bucket);
        let n = (i64::from(limit.per_minute) / SLICES).max(1);
        let own_us = now.0 * 1_000;
        let taken = self.store.write(|tx| {
            async {
                let now_us = clock::now_us(tx).await?.unwrap_or(own_us);
                let taken = limits::take(tx, &Take { now_us, ..asked(limit, &name, n) }).await?;
                // Since then as much time has passed here as there.
                Ok(Taken { full_at_us: taken.full_at_us - now_us + own_us, ..taken })
            }
            .scope_boxed()
        });
        taken.await
    }

    async fn put_back(&self, limit: Limit, n: i64) -> Result<(), StoreError> {
        let name = name(limit.bucket);
        let take = &asked(limit, &name, n);
        self.store.write(|tx| limits::give_back(tx, take, n).scope_boxed()).await
    }
}

impl Slice {
    fn state(&self, limit: Limit, now: Millis, passed: bool) -> State {
        let step_us = step_us(limit);
        let used = ((self.full_at_us - now.0 * 1_000).max(0) + step_us - 1) / step_us;
        let remaining = (i64::from(limit.per_minute) - used).max(0) + self.left;
        State {
            limit: limit.per_minute,
            remaining: u32::try_from(remaining).unwrap_or(u32::MAX).min(limit.per_minute),
            full_at: Millis(self.full_at_us.div_euclid(1_000) + 1).max(now),
            bucket: limit.bucket,
            refused_until: (!passed).then(|| self.one_at(limit)),
        }
    }

    /// When the shared bucket has a token, as far as is known.
    fn one_at(&self, limit: Limit) -> Millis {
        let at_us = self.full_at_us - (i64::from(limit.per_minute) - 1) * step_us(limit);
        Millis(at_us.div_euclid(1_000) + i64::from(at_us.rem_euclid(1_000) > 0))
    }
}

fn step_us(limit: Limit) -> i64 {
    (MINUTE_US / i64::from(limit.per_minute.max(1))).max(1)
}

fn asked(limit: Limit, name: &str, n: i64) -> Take<'_> {
    let burst = i64::from(limit.per_minute);
    Take { org: owner(limit.bucket), bucket: name, n, step_us: step_us(limit), burst, now_us: 0 }
}

/// Whose bucket it is in the database; addresses belong to nobody.
fn owner(bucket: Bucket) -> OrgNo {
    match bucket {
        Bucket::Key(org, _)
        | Bucket::Session(org, _)
        | Bucket::Org(org)
        | Bucket::OperatorOnly(org)
        | Bucket::Widgets(org)
        | Bucket::Checks(org, _) => org,
        Bucket::Failures(_) | Bucket::OperatorFailures(_) | Bucket::Visitor(_) => OrgNo(0),
    }
}

/// A key's or a session's id, a visitor's hash, a word for some of the organization's, nothing for the organization.
fn name(bucket: Bucket) -> String {
    match bucket {
        Bucket::Key(_, key) => key.to_string(),
        Bucket::Session(_, session) => session.to_string(),
        Bucket::Org(_) => String::new(),
        Bucket::OperatorOnly(_) => "operator".to_owned(),
        Bucket::Widgets(_) => "widgets".to_owned(),
        Bucket::Failures(from) | Bucket::OperatorFailures(from) => from.to_string(),
        Bucket::Visitor(visitor) | Bucket::Checks(_, visitor) => crate::secrets::hex(&visitor),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use probity_account::id::KeyId;
    use probity_store::{Place, StoreConfig};

    use super::*;

    #[tokio::test]
    async fn a_node_whose_clock_is_ahead_leaves_the_others_their_part() {
        let Some(cluster) = probity_trialdb::postgres() else { return };
        let database = cluster.create_database();
        let config = StoreConfig::new(Place::Postgres(database.url().to_owned()));
        let store = Store::open(&config).await.unwrap();
        store.migrate().await.unwrap();
        let [ahead, right, behind] = [0; 3].map(|_| Buckets::new(store.clone()));
        let now = Millis(1_800_000_000_000);
        let limit = Limit { bucket: Bucket::Org(OrgNo(1)), per_minute: 60 };
        for (node, now) in [(&ahead, now + 3_600_000), (&right, now), (&behind, now - 3_600_000)] {
            let state = node.take(limit, now).await.unwrap();
            assert_eq!(state.refused_until, None, "{state:?}");
            assert!(state.remaining >= 50 && state.full_at.since(now) < 60_000, "{state:?}");
        }
        store.close().await;
    }

    #[tokio::test]
    async fn while_the_database_is_away_nobody_waits_for_it_twice() {
        // Nobody listens on port 1.
        let place = Place::Postgres("postgres://nobody@127.0.0.1:1/nothing".into());
        let config = StoreConfig { acquire_timeout_ms: 50, ..StoreConfig::new(place) };
        let buckets = Buckets::new(Store::open(&config).await.unwrap());
        let now = Millis(1_800_000_000_000);
        let bucket = |n| Bucket::Key(OrgNo(1), KeyId::new(now, [n; 10]));
        let limit = |n| Limit { bucket: bucket(n), per_minute: 600 };
        assert_eq!(buckets.take(limit(1), now).await, None);
        for n in [1, 2] {
            assert_eq!(buckets.take(limit(n), now + 3_000).now_or_never(), Some(None), "at once");
        }
        assert_eq!(buckets.take(limit(1), now + AWAY_MS).now_or_never(), None, "it is asked again");
    }
}
