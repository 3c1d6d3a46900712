//! Buckets in PostgreSQL, spent by each node in slices.
//!
//! A node takes 1/50 of a limit in one statement, spends it from memory, and returns slices older than 2 s
//! ([`SharedBuckets::tidy`]). Few requests use the database, and all nodes together stay within the limit. A node that dies loses
//! its slices, which return as the buckets fill. Buckets use the database's clock, because nodes' clocks differ: one that is a
//! minute ahead would leave nothing to the others. Times are converted to the node's clock.
//!
//! Each slice has its own lock, held while the next slice is fetched, so that only requests of the same bucket wait. If the
//! database fails, it is not used for 10 s; there is no state (`None`), and the caller counts in memory (`super::local`). The
//! lock of all slices is held for a lookup only.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use lru::LruCache;
use probity_engine::locked;
use probity_mail::time::Millis;
use probity_store::accounts::limits::{self, TokenGrant, TokenRequest};
use probity_store::nodes::clock;
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError, work};

use crate::limits::{LimitBucket, LimitState, TokenLimit};

/// Maximum number of buckets in memory.
const BUCKETS_MAX: usize = 50_000;
/// Number of slices in a limit. A node leaves at most about 1/50 of a limit unspent.
const SLICES: i64 = 50;
/// Maximum age of an unspent slice, in milliseconds.
const SLICE_MS: i64 = 2_000;
/// Time for which the database is not used after a failure, in milliseconds. It is longer than a request waits for the
/// database. Otherwise, requests that wait for the same slice would wait for the database one after the other.
pub(super) const AWAY_MS: i64 = 10_000;

/// Tokens of a bucket that a node holds.
#[derive(Debug, Default)]
struct TokenSlice {
    /// Limit under which it was taken.
    of: Option<TokenLimit>,
    left: i64,
    taken_at: Millis,
    /// Time at which the shared bucket is full if nobody takes more, in microseconds.
    full_at_us: i64,
}

/// Shared buckets of a node.
pub struct SharedBuckets {
    store: Store,
    /// Time until which the database is not used, in milliseconds since 1970.
    away_until_ms: AtomicI64,
    slices: Mutex<LruCache<LimitBucket, Arc<tokio::sync::Mutex<TokenSlice>>>>,
}

impl SharedBuckets {
    pub fn new(store: Store) -> Self {
        let size = NonZeroUsize::new(BUCKETS_MAX).expect("not zero");
        Self { store, away_until_ms: AtomicI64::new(i64::MIN), slices: Mutex::new(LruCache::sparse(size)) }
    }

    /// Takes a token and returns the bucket's state; `None` while the database is unavailable.
    pub(super) async fn take(&self, limit: TokenLimit, now: Millis) -> Option<LimitState> {
        let slice = self.slice(limit.bucket);
        // One request fetches the next slice; the others wait for it.
        let mut slice = slice.lock().await;
        if slice.of != Some(limit) {
            *slice = TokenSlice { of: Some(limit), ..TokenSlice::default() };
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

    /// Returns a token that [`SharedBuckets::take`] took.
    pub(super) async fn give_back(&self, limit: TokenLimit, now: Millis) {
        let slice = self.slice(limit.bucket);
        let mut slice = slice.lock().await;
        match slice.of {
            // The slice was dropped from memory meanwhile.
            None => *slice = TokenSlice { of: Some(limit), left: 1, taken_at: now, full_at_us: 0 },
            Some(same) if same == limit => slice.left += 1,
            // The limit was changed meanwhile, which drops the slice.
            Some(_) => {}
        }
    }

    /// Returns slices to the database that stayed unspent for a while.
    pub async fn tidy(&self, now: Millis) {
        let all: Vec<_> = {
            let slices = locked(&self.slices);
            slices.iter().map(|(_, slice)| slice.clone()).collect()
        };
        for slice in all {
            let mut slice = slice.lock().await;
            if let Some(limit) = slice.of
                && slice.left > 0
                && now.since(slice.taken_at) > SLICE_MS
            {
                if self.put_back(limit, slice.left).await.is_err() {
                    // The other slices would fail as well. The next call returns them.
                    return;
                }
                *slice = TokenSlice { of: Some(limit), ..TokenSlice::default() };
            }
        }
    }

    fn slice(&self, bucket: LimitBucket) -> Arc<tokio::sync::Mutex<TokenSlice>> {
        let mut slices = locked(&self.slices);
        slices.get_or_insert(bucket, Arc::default).clone()
    }

    async fn fetch_unless_away(&self, limit: TokenLimit, now: Millis) -> Option<TokenGrant> {
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

    async fn fetch(&self, limit: TokenLimit, now: Millis) -> Result<TokenGrant, StoreError> {
        let stored = &stored(limit.bucket);
        let n = (i64::from(limit.burst) / SLICES).max(1);
        let own_us = now.0 * 1_000;
        let taken = self.store.write(work!(|tx| {
            let now_us = clock::now_us(tx).await?.unwrap_or(own_us);
            let taken = limits::take(tx, &TokenRequest { now_us, ..asked(limit, stored, n) }).await?;
            // Converts the database's time to this node's.
            Ok(TokenGrant { full_at_us: taken.full_at_us - now_us + own_us, ..taken })
        }));
        taken.await
    }

    async fn put_back(&self, limit: TokenLimit, n: i64) -> Result<(), StoreError> {
        let stored = &stored(limit.bucket);
        let take = &asked(limit, stored, n);
        self.store.write(|tx| limits::give_back(tx, take, n).scope_boxed()).await
    }
}

impl TokenSlice {
    fn state(&self, limit: TokenLimit, now: Millis, passed: bool) -> LimitState {
        let step_us = limit.step_us;
        let used = ((self.full_at_us - now.0 * 1_000).max(0) + step_us - 1) / step_us;
        let remaining = (i64::from(limit.burst) - used).max(0) + self.left;
        LimitState {
            limit: limit.burst,
            remaining: u32::try_from(remaining).unwrap_or(u32::MAX).min(limit.burst),
            full_at: Millis(self.full_at_us.div_euclid(1_000) + 1).max(now),
            bucket: limit.bucket,
            refused_until: (!passed).then(|| self.one_at(limit)),
        }
    }

    /// Returns the time at which the shared bucket has a token, as far as this node has read.
    fn one_at(&self, limit: TokenLimit) -> Millis {
        let at_us = self.full_at_us - (i64::from(limit.burst) - 1) * limit.step_us;
        Millis(at_us.div_euclid(1_000) + i64::from(at_us.rem_euclid(1_000) > 0))
    }
}

fn asked(limit: TokenLimit, (org, bucket): &(OrgNo, String), n: i64) -> TokenRequest<'_> {
    let burst = i64::from(limit.burst);
    TokenRequest { org: *org, bucket, n, step_us: limit.step_us, burst, now_us: 0 }
}

/// Returns the organization and the name under which a bucket is stored: an ID, an IP address, a hash or a word. The organization
/// is 0 for IP addresses, visitors and accounts at platforms, which several organizations may use.
fn stored(bucket: LimitBucket) -> (OrgNo, String) {
    const NONE: OrgNo = OrgNo(0);
    match bucket {
        LimitBucket::Key(org, key) => (org, key.to_string()),
        LimitBucket::Session(org, session) => (org, session.to_string()),
        LimitBucket::Org(org) => (org, String::new()),
        LimitBucket::OperatorOnly(org) => (org, "operator".to_owned()),
        LimitBucket::Widgets(org) => (org, "widgets".to_owned()),
        LimitBucket::LiveCalls(org) => (org, "live calls".to_owned()),
        LimitBucket::OutcomeSource(org, source) => (org, source.to_string()),
        LimitBucket::OutcomeSources(org) => (org, "outcomes".to_owned()),
        LimitBucket::Checks(org, visitor) => (org, crate::secrets::hex(&visitor)),
        LimitBucket::Visitor(visitor) => (NONE, crate::secrets::hex(&visitor)),
        LimitBucket::Failures(from) | LimitBucket::OperatorFailures(from) => (NONE, from.to_string()),
        LimitBucket::Platform(account, number) | LimitBucket::PlatformSource(account, number) => {
            (NONE, format!("{}{}:{number}", limits::PLATFORM, crate::secrets::hex(&account)))
        }
    }
}

/// Returns the name under which a pause of an account at a platform is stored.
pub(super) fn pause_name(account: [u8; 16], of: u32) -> String {
    format!("{}{}:pause {of}", limits::PLATFORM, crate::secrets::hex(&account))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use probity_account::id::KeyId;
    use probity_store::{DatabasePlace, StoreConfig};

    use super::*;
    use crate::limits::RequestLimit;

    #[tokio::test]
    async fn a_node_whose_clock_is_ahead_leaves_the_others_their_part() {
        let Some(cluster) = probity_trialdb::postgres() else { return };
        let database = cluster.create_database();
        let config = StoreConfig::new(DatabasePlace::Postgres(database.url().to_owned()));
        let store = Store::open(&config).await.unwrap();
        store.migrate().await.unwrap();
        let [ahead, right, behind] = [0; 3].map(|_| SharedBuckets::new(store.clone()));
        let now = Millis(1_800_000_000_000);
        let limit = RequestLimit { bucket: LimitBucket::Org(OrgNo(1)), per_minute: 60 }.into();
        for (node, now) in [(&ahead, now + 3_600_000), (&right, now), (&behind, now - 3_600_000)] {
            let state = node.take(limit, now).await.unwrap();
            assert_eq!(state.refused_until, None, "{state:?}");
            assert!(state.remaining >= 50 && state.full_at.since(now) < 60_000, "{state:?}");
        }
        store.close().await;
    }

    #[tokio::test]
    async fn a_token_of_a_slice_that_was_dropped_returns_as_one() {
        let Some(cluster) = probity_trialdb::postgres() else { return };
        let database = cluster.create_database();
        let config = StoreConfig::new(DatabasePlace::Postgres(database.url().to_owned()));
        let store = Store::open(&config).await.unwrap();
        store.migrate().await.unwrap();
        store.failpoints().go_by_callers_clock();
        let buckets = SharedBuckets::new(store.clone());
        let now = Millis(1_800_000_000_000);
        let limit = RequestLimit { bucket: LimitBucket::Org(OrgNo(1)), per_minute: 60 };
        for _ in 0..3 {
            assert_eq!(buckets.take(limit.into(), now).await.unwrap().refused_until, None);
        }
        buckets.slices.lock().unwrap().clear();
        buckets.give_back(limit.into(), now).await;
        buckets.tidy(now + SLICE_MS + 1).await;
        // A token comes back each second: 3 were taken, 1 was returned, and 1 is taken.
        assert_eq!(buckets.take(limit.into(), now).await.unwrap().full_at.since(now), 3_001);
        store.close().await;
    }

    #[tokio::test]
    async fn while_the_database_is_away_nobody_waits_for_it_twice() {
        // Nobody listens on port 1.
        let place = DatabasePlace::Postgres("postgres://nobody@127.0.0.1:1/nothing".into());
        let config = StoreConfig { acquire_timeout_ms: 50, ..StoreConfig::new(place) };
        let buckets = SharedBuckets::new(Store::open(&config).await.unwrap());
        let now = Millis(1_800_000_000_000);
        let bucket = |n| LimitBucket::Key(OrgNo(1), KeyId::new(now, [n; 10]));
        let limit = |n| RequestLimit { bucket: bucket(n), per_minute: 600 }.into();
        assert_eq!(buckets.take(limit(1), now).await, None);
        for n in [1, 2] {
            assert_eq!(buckets.take(limit(n), now + 3_000).now_or_never(), Some(None), "at once");
        }
        assert_eq!(buckets.take(limit(1), now + AWAY_MS).now_or_never(), None, "it is asked again");
    }
}
