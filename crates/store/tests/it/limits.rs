//! Token buckets that nodes share.

use probity_mail::limits::Gcra;
use probity_mail::time::Millis;
use probity_store::accounts::limits::{self, TokenGrant, TokenRequest};
use probity_store::{OrgNo, ScopedFutureExt as _, Store};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, TestRunner};

use crate::databases::for_each_database;

const START_US: i64 = 1_700_000_000_000_000;
const STEP_US: i64 = 1_000;

fn wanted(n: i64, burst: i64, now_us: i64) -> TokenRequest<'static> {
    TokenRequest { org: OrgNo(7), bucket: "key_1", n, step_us: STEP_US, burst, now_us }
}

async fn take(store: &Store, take: TokenRequest<'static>) -> TokenGrant {
    store.write(|tx| limits::take(tx, &take).scope_boxed()).await.unwrap()
}

async fn give_back(store: &Store, take: TokenRequest<'static>, n: i64) {
    store.write(|tx| limits::give_back(tx, &take, n).scope_boxed()).await.unwrap();
}

async fn purge(store: &Store, now_us: i64, at_most: u32) -> u64 {
    store.write(|tx| limits::purge(tx, now_us, at_most).scope_boxed()).await.unwrap()
}

#[tokio::test]
async fn as_many_are_granted_as_there_are() {
    for_each_database(async |store| {
        let cases = [
            // wanted, at, granted, full at
            (6, 0, 6, 6_000),
            (6, 0, 4, 10_000),
            (1, 0, 0, 10_000),
            (1, 999, 0, 10_000),
            (0, 1_000, 0, 10_000),
            (5, 2_500, 2, 12_000),
            (99, 50_000, 10, 60_000),
            (-1, 50_000, 0, 60_000),
        ];
        for (n, at, granted, full) in cases {
            let taken = take(&store, wanted(n, 10, START_US + at)).await;
            assert_eq!(taken, TokenGrant { granted, full_at_us: START_US + full }, "{n} at {at}");
        }
        let other_key = TokenRequest { bucket: "", ..wanted(3, 10, START_US) };
        let other_org = TokenRequest { org: OrgNo(8), ..wanted(3, 10, START_US) };
        assert_eq!(take(&store, other_key).await.granted, 3);
        assert_eq!(take(&store, other_org).await.granted, 3);
    })
    .await;
}

#[tokio::test]
async fn the_longest_pause_holds_until_it_is_over() {
    for_each_database(async |store| {
        let name = format!("{}a:pause", limits::PLATFORM);
        let until = async || limits::paused_until_us(&mut store.read().await.unwrap(), &name).await.unwrap();
        let pause = async |until_us: i64| {
            store.write(|tx| limits::pause(tx, &name, until_us).scope_boxed()).await.unwrap();
        };
        assert_eq!(until().await, None);
        for (asked, holds) in [(20_000, 20_000), (5_000, 20_000), (60_000, 60_000)] {
            pause(START_US + asked).await;
            assert_eq!(until().await, Some(START_US + holds));
        }
        assert_eq!(purge(&store, START_US + 59_999, 10).await, 0);
        assert_eq!(purge(&store, START_US + 60_000, 10).await, 1);
        assert_eq!(until().await, None);
    })
    .await;
}

#[tokio::test]
async fn what_was_given_back_can_be_taken_again() {
    for_each_database(async |store| {
        assert_eq!(take(&store, wanted(10, 10, START_US)).await.granted, 10);
        give_back(&store, wanted(10, 10, START_US), 4).await;
        assert_eq!(take(&store, wanted(10, 10, START_US)).await.granted, 4);
        // A bucket that has filled meanwhile gets no tokens.
        give_back(&store, wanted(10, 10, START_US + 60_000), 10).await;
        assert_eq!(take(&store, wanted(50, 10, START_US + 60_000)).await.granted, 10);
        // An unknown bucket gets none either.
        give_back(&store, TokenRequest { bucket: "unknown", ..wanted(1, 10, START_US) }, 10).await;
        assert_eq!(take(&store, TokenRequest { bucket: "unknown", ..wanted(50, 10, START_US) }).await.granted, 10);
    })
    .await;
}

#[tokio::test]
async fn full_buckets_and_those_of_a_wrong_clock_are_purged() {
    for_each_database(async |store| {
        take(&store, wanted(5, 10, START_US)).await;
        take(&store, TokenRequest { bucket: "busy", ..wanted(9, 10, START_US) }).await;
        take(&store, TokenRequest { bucket: "future", ..wanted(1, 10, START_US + 48 * 3_600_000_000) }).await;
        let platform = "platform:00:1";
        take(&store, TokenRequest { bucket: platform, ..wanted(1, 10, START_US + 25 * 3_600_000_000) }).await;
        take(&store, TokenRequest { bucket: "platform:00:2", ..wanted(1, 10, START_US + 48 * 3_600_000_000) }).await;
        assert_eq!(purge(&store, START_US + 5_000, 1).await, 1);
        assert_eq!(purge(&store, START_US + 5_000, 9).await, 2);
        assert_eq!(purge(&store, START_US + 5_000, 9).await, 0);
        assert_eq!(take(&store, TokenRequest { bucket: "busy", ..wanted(9, 10, START_US) }).await.granted, 1);
        assert_eq!(take(&store, TokenRequest { bucket: "future", ..wanted(50, 10, START_US) }).await.granted, 10);
        let daily = TokenRequest { bucket: platform, ..wanted(1, 10, START_US) };
        assert_eq!(take(&store, daily).await.granted, 0, "a limit per day lasts");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_nodes_get_no_more_than_burst_and_rate() {
    for_each_database(async |store| {
        const BURST: i64 = 100;
        const ROUNDS: i64 = 30;
        let nodes = (0..8).map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut granted = 0;
                for round in 0..ROUNDS {
                    // In each round, 10 ms pass for every node: 10 tokens, which any one of them could use up.
                    granted += take(&store, wanted(30, BURST, START_US + round * 10_000)).await.granted;
                }
                granted
            })
        });
        let granted = futures_util::future::try_join_all(nodes.collect::<Vec<_>>()).await.unwrap();
        let most = BURST + (ROUNDS - 1) * 10;
        let sum: i64 = granted.iter().sum();
        assert!(sum <= most, "{sum} of {most}");
        // Nothing is lost either: the bucket was never full, so tokens that were not granted are still available.
        let last = START_US + (ROUNDS - 1) * 10_000;
        let rest = take(&store, wanted(BURST, BURST, last)).await.granted;
        assert_eq!(sum + rest, most);
    })
    .await;
}

#[tokio::test]
async fn one_node_alone_is_limited_like_the_bucket_in_memory() {
    for_each_database(async |store| {
        let steps = prop::collection::vec((0i64..40, 1u32..9), 30);
        let mut runner = TestRunner::new_with_rng(
            Config::default(),
            proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
        );
        for bucket in ["a", "b", "c", "d", "e", "f"] {
            let mut memory = Gcra::new(100, 1_000, 12);
            let mut now = Millis(1_700_000_000_000);
            for (wait, n) in steps.new_tree(&mut runner).unwrap().current() {
                now = now + wait;
                let most = memory.available(now).min(n);
                memory.charge(now, most);
                let wanted = TokenRequest {
                    bucket,
                    step_us: 10_000,
                    burst: 12,
                    n: n.into(),
                    now_us: now.0 * 1_000,
                    org: OrgNo(1),
                };
                assert_eq!(take(&store, wanted).await.granted, i64::from(most), "{n} at {now:?} of {bucket}");
            }
        }
    })
    .await;
}
