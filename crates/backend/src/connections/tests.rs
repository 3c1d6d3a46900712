//! Rate limits of platforms across several nodes.

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
