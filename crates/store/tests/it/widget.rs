//! What nodes share of the widget: nonces, caps of days, and days that are summed up.

use std::collections::BTreeMap;

use probity_account::id::{JobId, KeyId};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::jobs::{self, Counts, State, Summed};
use probity_store::widget::{self, Asked, KeyDay, Leave};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, audit};

use crate::databases::for_each_database;

const NOW: Millis = Millis(1_800_000_000_000);
const ORG: OrgNo = OrgNo(7);

fn key_day(n: u8, day: i64) -> KeyDay {
    KeyDay { org: ORG, key: KeyId::new(NOW, [n; 10]), day }
}

fn ask(of: KeyDay, nonce: &str, cap: i64) -> Asked {
    Asked { of, cap, nonce: nonce.into(), expires_at: NOW + 600_000 }
}

async fn settle(store: &Store, asked: &[Asked], returned: &[(KeyDay, i64)]) -> Vec<Leave> {
    let returned: BTreeMap<KeyDay, i64> = returned.iter().copied().collect();
    store.write(|tx| widget::settle(tx, asked, &returned).scope_boxed()).await.unwrap()
}

#[tokio::test]
async fn a_nonce_is_good_once_whoever_brings_it() {
    for_each_database(async |store| {
        let (one, two) = (key_day(1, 5), key_day(2, 5));
        let asked = [ask(one, "a", 9), ask(one, "a", 9), ask(two, "b", 9)];
        assert_eq!(settle(&store, &asked, &[]).await, [Leave::Granted, Leave::Used, Leave::Granted]);
        assert_eq!(settle(&store, &[ask(two, "a", 9), ask(two, "c", 9)], &[]).await, [Leave::Used, Leave::Granted]);
        let elsewhere = KeyDay { org: OrgNo(8), ..one };
        assert_eq!(settle(&store, &[ask(elsewhere, "a", 9)], &[]).await, [Leave::Granted], "another's nonces");
        let purge = async |now| store.write(|tx| widget::purge(tx, now, 100).scope_boxed()).await.unwrap();
        assert_eq!(purge(NOW + 599_999).await, 0);
        assert_eq!(purge(NOW + 600_000).await, 4);
    })
    .await;
}

#[tokio::test]
async fn a_key_takes_no_more_of_a_day_than_its_cap() {
    for_each_database(async |store| {
        let (one, two) = (key_day(1, 5), key_day(2, 5));
        let asked = [ask(one, "a", 2), ask(one, "b", 2), ask(one, "c", 2), ask(two, "d", 2)];
        let (granted, spent) = (Leave::Granted, Leave::Spent);
        assert_eq!(settle(&store, &asked, &[]).await, [granted, granted, spent, granted]);
        assert_eq!(settle(&store, &[ask(one, "e", 2)], &[]).await, [spent]);
        // What comes back with the question can be taken at once; a lower cap counts from now on.
        assert_eq!(settle(&store, &[ask(one, "f", 2)], &[(one, 1)]).await, [granted]);
        assert_eq!(settle(&store, &[ask(one, "g", 1)], &[(one, 1)]).await, [spent]);
        assert_eq!(settle(&store, &[ask(key_day(1, 6), "h", 2)], &[]).await, [granted], "another day");
        // More than was ever taken makes no debt.
        assert!(settle(&store, &[], &[(one, 50), (key_day(9, 5), 1)]).await.is_empty());
        assert_eq!(settle(&store, &["i", "j", "k"].map(|n| ask(one, n, 2)), &[]).await, [granted, granted, spent]);
    })
    .await;
}

#[tokio::test]
async fn many_at_once_take_no_more_than_the_cap() {
    for_each_database(async |store| {
        let of = key_day(1, 5);
        let each = |n: usize| {
            let store = store.clone();
            // Each nonce comes twice, at the same time.
            async move { settle(&store, &[ask(of, &format!("n{}", n / 2), 25)], &[]).await[0] }
        };
        let leaves = futures_util::future::join_all((0..120).map(each)).await;
        let count = |leave| leaves.iter().filter(|one| **one == leave).count();
        assert_eq!((count(Leave::Granted), count(Leave::Used), count(Leave::Spent)), (25, 60, 35));
    })
    .await;
}

#[tokio::test]
async fn a_day_is_closed_and_summed_up_once() {
    for_each_database(async |store| {
        for (n, of) in [key_day(1, 5), key_day(2, 5), key_day(1, 6)].into_iter().enumerate() {
            settle(&store, &[ask(of, &format!("n{n}"), 9)], &[]).await;
        }
        let over = async |before| widget::days_over(&mut store.read().await.unwrap(), before, 10).await.unwrap();
        assert_eq!(over(5).await, []);
        assert_eq!(over(6).await, [(ORG, 5)]);
        assert_eq!(over(7).await, [(ORG, 5), (ORG, 6)]);
        let close = async || store.write(|tx| widget::close_day(tx, ORG, 5).scope_boxed()).await.unwrap();
        let closed = futures_util::future::join_all((0..4).map(|_| close())).await;
        assert_eq!(closed.iter().filter(|closed| **closed).count(), 1);
        assert_eq!(over(7).await, [(ORG, 6)]);
        let id = JobId::new(NOW, [3; 10]);
        let summed = Summed {
            org: ORG,
            id,
            source: "widget",
            started_by: "cron",
            source_action: "widget.daily".into(),
            actor: r#"{"type":"system"}"#.into(),
            at: NOW,
            reasons: vec![(Reason::Valid, 3), (Reason::Nonexistent, 2), (Reason::AcceptAll, 1)],
        };
        let record = async || store.write(|tx| jobs::record(tx, &summed).scope_boxed()).await.unwrap();
        assert!(record().await.is_some());
        assert_eq!(record().await, None);
        let mut conn = store.read().await.unwrap();
        let job = jobs::by_id(&mut conn, ORG, id, false).await.unwrap();
        let counts = Counts { processed: 6, passed: 3, undeliverable: 2, risky: 0, unknown: 1 };
        assert_eq!((job.state, job.rows, job.counts), (State::Completed, 6, counts));
        assert_eq!(jobs::reasons(&mut conn, ORG, job.no).await.unwrap(), {
            let mut sorted = summed.reasons.clone();
            sorted.sort_by_key(|(reason, _)| Reason::ALL.iter().position(|known| known == reason));
            sorted
        });
        drop(conn);
        assert_eq!(audit::everything(&store).await.unwrap(), []);
    })
    .await;
}
