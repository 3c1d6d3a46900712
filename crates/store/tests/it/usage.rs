//! Usage counters.

use probity_account::id::KeyId;
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::accounts::settings::{self, OrgSettings};
use probity_store::activity::reports::{self, ProviderUsage, UsageDimension, UsageSum};
use probity_store::credits::usage::{self, UsageDelta};
use probity_store::{OrgNo, ScopedFutureExt as _, Store};

use crate::databases::for_each_database;
use crate::organizations;

const ORG: OrgNo = OrgNo(i64::MAX - 1);

fn delta(day: i64, reason: Reason, verified: i64, charged: i64) -> UsageDelta {
    UsageDelta {
        org: ORG,
        day,
        source: "api".into(),
        connection: None,
        key: None,
        domain: None,
        provider: None,
        reason,
        verified,
        charged,
    }
}

fn at_google(delta: UsageDelta) -> UsageDelta {
    UsageDelta { provider: Some("google".into()), ..delta }
}

async fn add(store: &Store, deltas: Vec<UsageDelta>) {
    store.write(|tx| usage::add(tx, &deltas).scope_boxed()).await.unwrap();
}

async fn verified(store: &Store, org: OrgNo, from_day: i64, to_day: i64) -> i64 {
    reports::verified_between(&mut store.read().await.unwrap(), org, from_day, to_day).await.unwrap()
}

#[tokio::test]
async fn counters_add_up_by_reason_and_by_day() {
    for_each_database(async |store| {
        add(&store, vec![]).await;
        let of_connection = UsageDelta { connection: Some("conn_1".into()), ..delta(11, Reason::Valid, 4, 4) };
        let of_batch = UsageDelta { source: "batch".into(), ..delta(11, Reason::Valid, 100, 90) };
        let first = vec![delta(11, Reason::Valid, 1, 1), at_google(delta(10, Reason::Unverified, 2, 0)), of_connection];
        add(&store, first).await;
        // The same counter twice in one call, and once more.
        add(&store, vec![delta(11, Reason::Valid, 10, 10), of_batch, at_google(delta(11, Reason::Valid, 20, 20))])
            .await;
        add(&store, vec![UsageDelta { org: OrgNo(1), ..delta(11, Reason::Spam, 7, 7) }]).await;

        let mut conn = store.read().await.unwrap();
        let valid = UsageSum { of: Reason::Valid, verified: 135, charged: 125 };
        let unverified = UsageSum { of: Reason::Unverified, verified: 2, charged: 0 };
        assert_eq!(reports::by_reason(&mut conn, ORG, 10, 11, None).await.unwrap(), [valid, unverified]);
        assert_eq!(reports::by_reason(&mut conn, ORG, 11, 99, None).await.unwrap(), [valid]);
        let connected = reports::by_reason(&mut conn, ORG, 0, 99, Some("conn_1")).await.unwrap();
        assert_eq!(connected, [UsageSum { of: Reason::Valid, verified: 4, charged: 4 }]);
        assert_eq!(reports::by_reason(&mut conn, ORG, 0, 99, Some("conn_2")).await.unwrap(), []);
        let days = [
            UsageSum { of: (10, Reason::Unverified), verified: 2, charged: 0 },
            UsageSum { of: (11, Reason::Valid), verified: 135, charged: 125 },
        ];
        assert_eq!(reports::by_day(&mut conn, ORG, 0, 99, None).await.unwrap(), days);
        assert_eq!(reports::by_day(&mut conn, ORG, 12, 99, None).await.unwrap(), []);
        let connected = [UsageSum { of: (11, Reason::Valid), verified: 4, charged: 4 }];
        assert_eq!(reports::by_day(&mut conn, ORG, 0, 99, Some("conn_1")).await.unwrap(), connected);
        for (org, id, known) in [(ORG, "conn_1", true), (ORG, "conn_2", false), (OrgNo(1), "conn_1", false)] {
            assert_eq!(reports::knows_connection(&mut conn, org, id).await.unwrap(), known, "{id} of {org:?}");
        }
        let of = |provider: Option<&str>, verified, unknown| ProviderUsage {
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

fn at_domain(domain: &str, day: i64, verified: i64) -> UsageDelta {
    UsageDelta { domain: Some(domain.into()), ..delta(day, Reason::Valid, verified, verified) }
}

async fn largest(
    store: &Store,
    days: (i64, i64),
    by: UsageDimension,
    only: Option<&str>,
    at_most: i64,
) -> Vec<(i64, String, i64)> {
    let found = reports::by_part(&mut store.read().await.unwrap(), ORG, days, by, only, at_most).await.unwrap();
    found.into_iter().map(|sum| (sum.of.0, sum.of.1, sum.verified)).collect()
}

#[tokio::test]
async fn the_largest_parts_are_counted_by_day() {
    for_each_database(async |store| {
        let key = KeyId::new(Millis(1), [7; 10]);
        let by_key = UsageDelta { key: Some(key), ..at_google(delta(11, Reason::Valid, 4, 3)) };
        let of_connection = UsageDelta { connection: Some("conn_1".into()), ..delta(11, Reason::Valid, 9, 9) };
        add(&store, vec![by_key.clone(), of_connection, at_domain("a.example", 11, 5)]).await;
        add(&store, vec![by_key, UsageDelta { source: "batch".into(), ..at_domain("b.example", 12, 2) }]).await;
        add(&store, vec![UsageDelta { org: OrgNo(1), ..at_domain("a.example", 11, 7) }]).await;

        let of = |day, part: &str, verified| (day, part.to_owned(), verified);
        let key = key.to_string();
        let days = (11, 12);
        let found = largest(&store, days, UsageDimension::Source, None, 9).await;
        assert_eq!(found, [of(11, "api", 22), of(12, "batch", 2)]);
        assert_eq!(largest(&store, days, UsageDimension::Source, None, 1).await, [of(11, "api", 22)]);
        let found = largest(&store, days, UsageDimension::Status, Some("passed"), 9).await;
        assert_eq!(found, [of(11, "passed", 22), of(12, "passed", 2)]);
        assert_eq!(largest(&store, days, UsageDimension::Status, Some("risky"), 9).await, []);
        let found = largest(&store, days, UsageDimension::Key, None, 9).await;
        assert_eq!(found, [of(11, "", 14), of(11, &key, 8), of(12, "", 2)]);
        assert_eq!(largest(&store, days, UsageDimension::Key, Some(&key), 9).await, [of(11, &key, 8)]);
        let found = largest(&store, days, UsageDimension::Connection, Some("conn_1"), 9).await;
        assert_eq!(found, [of(11, "conn_1", 9)]);
        let found = largest(&store, days, UsageDimension::Provider, None, 9).await;
        assert_eq!(found, [of(11, "", 14), of(11, "google", 8), of(12, "", 2)]);
        let found = largest(&store, days, UsageDimension::Domain, None, 9).await;
        assert_eq!(found, [of(11, "a.example", 5), of(12, "b.example", 2)]);
        assert_eq!(largest(&store, (12, 12), UsageDimension::Domain, None, 9).await, [of(12, "b.example", 2)]);
        let sums =
            reports::by_part(&mut store.read().await.unwrap(), ORG, days, UsageDimension::Key, Some(&key), 1).await;
        assert_eq!(sums.unwrap(), [UsageSum { of: (11, key), verified: 8, charged: 6 }]);
    })
    .await;
}

#[tokio::test]
async fn a_day_has_few_domains_and_none_after_the_retention() {
    for_each_database(async |store| {
        // A list of 1,000 domains with one address each, and one with a share.
        let mut list: Vec<_> = (0..1_000).map(|n| at_domain(&format!("{n}.example"), 5, 1)).collect();
        list.push(at_domain("large.example", 5, 21));
        add(&store, list).await;
        let found = largest(&store, (5, 5), UsageDimension::Domain, None, 999).await;
        assert_eq!(found, [(5, "large.example".to_owned(), 21)]);
        // Individual live calls.
        for n in 0..310 {
            add(&store, vec![at_domain(&format!("{n}.example"), 5, 1)]).await;
        }
        add(&store, vec![at_domain("large.example", 5, 1), at_domain("0.example", 6, 1)]).await;
        let found = largest(&store, (5, 5), UsageDimension::Domain, None, 999).await;
        assert_eq!((found.len(), found.iter().map(|of| of.2).sum::<i64>()), (300, 299 + 22));
        assert_eq!(verified(&store, ORG, 5, 5).await, 1_000 + 21 + 310 + 1, "nothing is lost to the sums");
    })
    .await;
}

#[tokio::test]
async fn domains_are_kept_as_long_as_results() {
    for_each_database(async |store| {
        let now = Millis::from_utc_day(100);
        let (usual, shorter) =
            (organizations::add_nth(&store, 1, now).await, organizations::add_nth(&store, 2, now).await);
        let week = OrgSettings { retention_days: Some(7), ..OrgSettings::default() };
        store.write(|tx| settings::write(tx, shorter, &week, now).scope_boxed()).await.unwrap();
        for (org, day) in [(usual, 69), (usual, 70), (shorter, 92), (shorter, 93)] {
            let key = Some(KeyId::new(now, [1; 10]));
            add(&store, vec![UsageDelta { org, key, ..at_domain("a.example", day, 1) }]).await;
        }
        let old = async || {
            let mut old = usage::old_domains(&mut store.read().await.unwrap(), 100, 30, 9).await.unwrap();
            old.sort();
            old
        };
        let mut expected = vec![(usual, 69, "a.example".to_owned()), (shorter, 92, "a.example".to_owned())];
        expected.sort();
        assert_eq!(old().await, expected);
        store.write(|tx| usage::forget_domains(tx, &expected).scope_boxed()).await.unwrap();
        assert_eq!(old().await, []);
        let mut conn = store.read().await.unwrap();
        for (by, days) in [(UsageDimension::Domain, vec![70]), (UsageDimension::Key, vec![69, 70])] {
            let left = reports::by_part(&mut conn, usual, (0, 100), by, None, 9).await.unwrap();
            assert_eq!(left.iter().map(|sum| sum.of.0).collect::<Vec<_>>(), days, "{by:?}");
        }
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
                    // Each in its own order.
                    let mut deltas: Vec<UsageDelta> =
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
            Reason::ALL.iter().map(|reason| UsageSum { of: *reason, verified: 36 * 10, charged: 80 }).collect();
        assert_eq!(sums, expected);
    })
    .await;
}
