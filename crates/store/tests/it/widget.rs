//! Widget state shared by nodes: nonces, daily caps, and daily summaries.

use std::collections::BTreeSet;

use probity_account::id::{JobId, KeyId, WindowId};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::credits::{self, ChargeWindow, ChargesByOrg, CountedCalls, audit};
use probity_store::jobs::{self, JobCounts, JobState, VerificationSum};
use probity_store::widget::{self, KeyDay, WidgetCheck, WidgetCreditName, WidgetLeave};
use probity_store::{OrgNo, ScopedFutureExt as _, Store};

use crate::databases::for_each_database;

const NOW: Millis = Millis(1_800_000_000_000);
const ORG: OrgNo = OrgNo(7);

fn key_day(n: u8, day: i64) -> KeyDay {
    KeyDay { org: ORG, key: KeyId::new(NOW, [n; 10]), day }
}

fn ask(of: KeyDay, nonce: &str, cap: i64) -> WidgetCheck {
    WidgetCheck { of, cap, nonce: nonce.into(), expires_at: NOW + 600_000, held_until: NOW + 600_000 }
}

/// Settles checks, and returns the credits of these nonces.
async fn settle(store: &Store, asked: &[WidgetCheck], returned: &[&str]) -> Vec<WidgetLeave> {
    let name = |nonce: &&str| WidgetCreditName { org: ORG, nonce: (*nonce).into() };
    let returned: BTreeSet<WidgetCreditName> = returned.iter().map(name).collect();
    store.write(|tx| widget::settle(tx, asked, &returned).scope_boxed()).await.unwrap()
}

#[tokio::test]
async fn a_nonce_is_good_once_whoever_brings_it() {
    for_each_database(async |store| {
        let (one, two) = (key_day(1, 5), key_day(2, 5));
        let asked = [ask(one, "a", 9), ask(one, "a", 9), ask(two, "b", 9)];
        assert_eq!(settle(&store, &asked, &[]).await, [WidgetLeave::Granted, WidgetLeave::Used, WidgetLeave::Granted]);
        assert_eq!(
            settle(&store, &[ask(two, "a", 9), ask(two, "c", 9)], &[]).await,
            [WidgetLeave::Used, WidgetLeave::Granted]
        );
        let elsewhere = KeyDay { org: OrgNo(8), ..one };
        assert_eq!(settle(&store, &[ask(elsewhere, "a", 9)], &[]).await, [WidgetLeave::Granted], "another's nonces");
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
        let (granted, spent) = (WidgetLeave::Granted, WidgetLeave::Spent);
        assert_eq!(settle(&store, &asked, &[]).await, [granted, granted, spent, granted]);
        assert_eq!(settle(&store, &[ask(one, "e", 2)], &[]).await, [spent]);
        // Returned credits can be taken in the same call; a lower cap applies from now on.
        assert_eq!(settle(&store, &[ask(one, "f", 2)], &["a"]).await, [granted]);
        assert_eq!(settle(&store, &[ask(one, "g", 1)], &["b"]).await, [spent]);
        assert_eq!(settle(&store, &[ask(key_day(1, 6), "h", 2)], &[]).await, [granted], "another day");
        // Credits that were already returned, refused or never taken are not returned again.
        assert!(settle(&store, &[], &["f", "a", "b", "e", "unknown"]).await.is_empty());
        assert_eq!(settle(&store, &["i", "j", "k"].map(|n| ask(one, n, 2)), &[]).await, [granted, granted, spent]);
    })
    .await;
}

/// A charge may be committed without its caller knowing, who then returns the credit.
#[tokio::test]
async fn a_credit_that_a_charge_spent_does_not_come_back() {
    for_each_database(async |store| {
        let of = key_day(1, 5);
        let (granted, spent) = (WidgetLeave::Granted, WidgetLeave::Spent);
        let asked = [ask(of, "a", 2), ask(of, "b", 2)];
        assert_eq!(settle(&store, &asked, &[]).await, [granted, granted]);
        let window = ChargeWindow { id: WindowId::new(NOW, [1; 10]), at: NOW, calls: [].into(), witness: ORG };
        let charge = store.write(|tx| {
            let counted = |_: &ChargesByOrg| CountedCalls { usage: Vec::new(), widget: [asked[0].credit()].into() };
            credits::charge(tx, &window, counted).scope_boxed()
        });
        charge.await.unwrap();
        assert_eq!(settle(&store, &[ask(of, "c", 2)], &["a"]).await, [spent]);
        let returned = store.write(|tx| widget::return_expired(tx, NOW + 600_000, 10).scope_boxed());
        assert_eq!(returned.await.unwrap(), 1, "the other one");
        assert_eq!(settle(&store, &["d", "e"].map(|n| ask(of, n, 2)), &[]).await, [granted, spent]);
    })
    .await;
}

#[tokio::test]
async fn many_at_once_take_no_more_than_the_cap() {
    for_each_database(async |store| {
        let of = key_day(1, 5);
        let each = |n: usize| {
            let store = store.clone();
            // Each nonce is used twice, concurrently.
            async move { settle(&store, &[ask(of, &format!("n{}", n / 2), 25)], &[]).await[0] }
        };
        let leaves = futures_util::future::join_all((0..120).map(each)).await;
        let count = |leave| leaves.iter().filter(|one| **one == leave).count();
        assert_eq!((count(WidgetLeave::Granted), count(WidgetLeave::Used), count(WidgetLeave::Spent)), (25, 60, 35));
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
        let summed = VerificationSum {
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
        let counts = JobCounts { processed: 6, passed: 3, undeliverable: 2, risky: 0, unknown: 1 };
        assert_eq!((job.state, job.rows, job.counts), (JobState::Completed, 6, counts));
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
