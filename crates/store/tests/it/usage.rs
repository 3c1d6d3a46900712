//! Usage counters.

use probity_mail::verdict::Reason;
use probity_store::reports::{self, OfProvider, Sum};
use probity_store::usage::{self, Delta};
use probity_store::{OrgNo, ScopedFutureExt as _, Store};

use crate::databases::for_each_database;

const ORG: OrgNo = OrgNo(i64::MAX - 1);

fn delta(day: i64, reason: Reason, verified: i64, charged: i64) -> Delta {
    Delta { org: ORG, day, source: "api".into(), connection: None, provider: None, reason, verified, charged }
}

fn at_google(delta: Delta) -> Delta {
    Delta { provider: Some("google".into()), ..delta }
}

async fn add(store: &Store, deltas: Vec<Delta>) {
    store.write(|tx| usage::add(tx, &deltas).scope_boxed()).await.unwrap();
}

async fn verified(store: &Store, org: OrgNo, from_day: i64, to_day: i64) -> i64 {
    reports::verified_between(&mut store.read().await.unwrap(), org, from_day, to_day).await.unwrap()
}

#[tokio::test]
async fn counters_add_up_by_reason_and_by_day() {
    for_each_database(async |store| {
        add(&store, vec![]).await;
        let of_connection = Delta { connection: Some("conn_1".into()), ..delta(11, Reason::Valid, 4, 4) };
        let of_batch = Delta { source: "batch".into(), ..delta(11, Reason::Valid, 100, 90) };
        let first = vec![delta(11, Reason::Valid, 1, 1), at_google(delta(10, Reason::Unverified, 2, 0)), of_connection];
        add(&store, first).await;
        // Twice the same counter in one call, and once more than before.
        add(&store, vec![delta(11, Reason::Valid, 10, 10), of_batch, at_google(delta(11, Reason::Valid, 20, 20))])
            .await;
        add(&store, vec![Delta { org: OrgNo(1), ..delta(11, Reason::Spam, 7, 7) }]).await;

        let mut conn = store.read().await.unwrap();
        let valid = Sum { of: Reason::Valid, verified: 135, charged: 125 };
        let unverified = Sum { of: Reason::Unverified, verified: 2, charged: 0 };
        assert_eq!(reports::by_reason(&mut conn, ORG, 10, 11, None).await.unwrap(), [valid, unverified]);
        assert_eq!(reports::by_reason(&mut conn, ORG, 11, 99, None).await.unwrap(), [valid]);
        let connected = reports::by_reason(&mut conn, ORG, 0, 99, Some("conn_1")).await.unwrap();
        assert_eq!(connected, [Sum { of: Reason::Valid, verified: 4, charged: 4 }]);
        assert_eq!(reports::by_reason(&mut conn, ORG, 0, 99, Some("conn_2")).await.unwrap(), []);
        let days = [
            Sum { of: (10, Reason::Unverified), verified: 2, charged: 0 },
            Sum { of: (11, Reason::Valid), verified: 135, charged: 125 },
        ];
        assert_eq!(reports::by_day(&mut conn, ORG, 0, 99, None).await.unwrap(), days);
        assert_eq!(reports::by_day(&mut conn, ORG, 12, 99, None).await.unwrap(), []);
        let connected = [Sum { of: (11, Reason::Valid), verified: 4, charged: 4 }];
        assert_eq!(reports::by_day(&mut conn, ORG, 0, 99, Some("conn_1")).await.unwrap(), connected);
        for (org, id, known) in [(ORG, "conn_1", true), (ORG, "conn_2", false), (OrgNo(1), "conn_1", false)] {
            assert_eq!(reports::knows_connection(&mut conn, org, id).await.unwrap(), known, "{id} of {org:?}");
        }
        let of = |provider: Option<&str>, verified, unknown| OfProvider {
            provider: provider.map(Into::into),
            verified,
            unknown,
        };
        assert_eq!(
            reports::by_provider(&mut conn, ORG, 0, 99).await.unwrap(),
            [of(None, 115, 0), of(Some("google"), 22, 2)],
            "what is known of no provider is counted together"
        );
        assert_eq!(reports::by_provider(&mut conn, ORG, 10, 10).await.unwrap(), [of(Some("google"), 2, 2)]);
        assert_eq!(verified(&store, ORG, 10, 11).await, 137);
        assert_eq!(verified(&store, ORG, 10, 10).await, 2);
        assert_eq!(verified(&store, OrgNo(2), 0, 99).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_lose_nothing() {
    for_each_database(async |store| {
        let writers = (0..8i64).map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for round in 0..10 {
                    // Each in an order of its own.
                    let mut deltas: Vec<Delta> =
                        Reason::ALL.iter().map(|reason| delta(round % 3, *reason, writer + 1, 1)).collect();
                    let turn = usize::try_from(writer * 2).unwrap();
                    deltas.rotate_left(turn);
                    add(&store, deltas).await;
                }
            })
        });
        futures_util::future::try_join_all(writers.collect::<Vec<_>>()).await.unwrap();
        let mut conn = store.read().await.unwrap();
        let sums = reports::by_reason(&mut conn, ORG, 0, 2, None).await.unwrap();
        let expected: Vec<_> =
            Reason::ALL.iter().map(|reason| Sum { of: *reason, verified: 36 * 10, charged: 80 }).collect();
        assert_eq!(sums, expected);
    })
    .await;
}
