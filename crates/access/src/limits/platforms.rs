//! Limits of accounts at email platforms, which all nodes share.

use probity_engine::net::BoxFuture;
use probity_mail::time::Millis;
use probity_outbound::platforms::{PlatformBuckets, PlatformLimit, PlatformPause};

use crate::limits::{LimitBucket, RateLimits, TokenLimit};

impl PlatformBuckets for RateLimits {
    fn take_tokens<'a>(&'a self, limits: &'a [PlatformLimit], now: Millis) -> BoxFuture<'a, Option<Millis>> {
        let bucket = |limit: &PlatformLimit| {
            if limit.is_shared {
                LimitBucket::Platform(limit.account, limit.number)
            } else {
                LimitBucket::PlatformSource(limit.account, limit.number)
            }
        };
        let limits: Vec<_> = limits
            .iter()
            .map(|limit| TokenLimit { bucket: bucket(limit), step_us: limit.step_us, burst: limit.burst })
            .collect();
        Box::pin(async move { self.take_each(&limits, now).await.and_then(|state| state.refused_until) })
    }

    fn pause(&self, pause: PlatformPause, until: Millis, now: Millis) -> BoxFuture<'_, ()> {
        Box::pin(self.pause_platform((pause.account, pause.of), until, now))
    }

    fn paused_until(&self, pause: PlatformPause, now: Millis) -> BoxFuture<'_, Option<Millis>> {
        Box::pin(self.platform_paused_until((pause.account, pause.of), now))
    }
}

#[cfg(test)]
mod tests {
    use probity_engine::clock::EngineClock;
    use probity_store::{DatabasePlace, Store, StoreConfig};

    use super::*;

    #[tokio::test]
    async fn nodes_share_the_limits_of_an_account() {
        let Some(cluster) = probity_trialdb::postgres() else { return };
        let database = cluster.create_database();
        let store = Store::open(&StoreConfig::new(DatabasePlace::Postgres(database.url().to_owned()))).await.unwrap();
        store.migrate().await.unwrap();
        let nodes = [(); 2].map(|()| RateLimits::new(&store));
        let now = EngineClock::system().now();
        let limit =
            |number, is_shared| PlatformLimit { account: [7; 16], number, is_shared, step_us: 60_000_000, burst: 4 };
        let mut taken = [0; 2];
        for _ in 0..20 {
            for node in &nodes {
                taken[0] += usize::from(node.take_tokens(&[limit(0, true)], now).await.is_none());
                taken[1] += usize::from(node.take_tokens(&[limit(1, false)], now).await.is_none());
            }
        }
        assert_eq!(taken, [4, 8], "by source IP, each node counts for itself");
        // A bucket that refuses takes no tokens from the others.
        let refused = nodes[0].take_tokens(&[limit(2, true), limit(0, true)], now).await.unwrap();
        assert!((50_000..=61_000).contains(&refused.since(now)), "{refused:?}");
        for _ in 0..4 {
            assert_eq!(nodes[0].take_tokens(&[limit(2, true)], now).await, None);
        }
        store.close().await;
    }
}
