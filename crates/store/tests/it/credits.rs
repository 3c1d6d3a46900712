//! Holds, settlements and what the books say afterwards.

use probity_core::credits::{Bucket, Split};
use probity_core::id::{HoldId, OrgId};
use probity_core::time::Millis;
use probity_store::ScopedFutureExt as _;
use probity_store::credits::{Asked, Booking, Settlement, Window, WindowDone};
use probity_store::orgs::Org;
use probity_store::{OrgNo, Place, Store, StoreConfig, StoreError, credits, orgs};

const NOW: Millis = Millis(1_800_000_000_000);

async fn store_with(subscription: i64, prepaid: i64) -> (tempfile::TempDir, Store, OrgNo) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&StoreConfig::new(Place::Sqlite(directory.path().join("probity.db")))).await.unwrap();
    store.migrate().await.unwrap();
    let org = Org::new(OrgId::new(NOW, [7; 10]), None, "metered".into(), NOW);
    let no = org.no;
    store
        .write(|tx| {
            async {
                orgs::insert(tx, &org).await?;
                for (bucket, amount) in [(Bucket::Subscription, subscription), (Bucket::Prepaid, prepaid)] {
                    let booking = Booking { org: org.no, bucket, amount, cause: bucket.as_str(), at: NOW };
                    credits::grant(tx, &booking, None).await?;
                }
                Ok(())
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    (directory, store, no)
}

async fn run(store: &Store, window: &Window) -> WindowDone {
    store.write(|tx| credits::settle_window(tx, window).scope_boxed()).await.unwrap()
}

fn window(n: u8, asked: Vec<Asked>, settled: Vec<Settlement>) -> Window {
    Window { id: HoldId::new(NOW, [n; 10]), at: NOW, expires_at: NOW + 120_000, asked, settled }
}

#[tokio::test]
async fn holds_take_the_subscription_first_and_stop_at_the_end() {
    let (_directory, store, org) = store_with(30, 20).await;
    let first = window(1, vec![Asked { org, credits: 200 }], vec![]);
    let held = run(&store, &first).await.granted[0].held;
    assert_eq!(held, Split { subscription: 30, prepaid: 20 });
    let captured = Split { subscription: 30, prepaid: 5 };
    let released = Split { subscription: 0, prepaid: 10 };
    let settlement = Settlement { org, hold: first.id, captured, released };
    let second = window(2, vec![Asked { org, credits: 12 }], vec![settlement]);
    let done = run(&store, &second).await;
    assert_eq!(done.granted[0].held, Split { subscription: 0, prepaid: 10 });
    assert!(done.lapsed.is_empty());
    let mut conn = store.read().await.unwrap();
    let balance = credits::balance(&mut conn, org).await.unwrap();
    assert!(balance.holds(), "{balance:?}");
    assert_eq!(balance.held, Split { subscription: 0, prepaid: 15 });
    assert_eq!(balance.spent, captured);
    let ended = store.write(|tx| credits::release_expired(tx, NOW + 120_000, 100).scope_boxed()).await.unwrap();
    assert_eq!(ended, 2);
    let late = window(
        3,
        vec![],
        vec![Settlement { org, hold: second.id, captured: Split::single(Bucket::Prepaid), released: Split::ZERO }],
    );
    assert_eq!(run(&store, &late).await.lapsed, [(org, second.id)]);
    while store.write(|tx| credits::fold(tx, NOW + 10_000_000).scope_boxed()).await.unwrap() {}
    let found = credits::audit(&mut conn).await.unwrap();
    // No usage is counted here, so only that rule is broken.
    assert!(found.iter().all(|one| one.rule == "spent = charged verifications"), "{found:?}");
    assert_eq!(credits::available(&mut conn, org).await.unwrap(), Split { subscription: 0, prepaid: 15 });
}

#[tokio::test]
async fn the_same_cause_books_once() {
    let (_directory, store, org) = store_with(0, 10).await;
    let booking = Booking { org, bucket: Bucket::Prepaid, amount: 5, cause: "prepaid", at: NOW };
    let again = store.write(|tx| credits::grant(tx, &booking, None).scope_boxed()).await;
    assert!(matches!(again, Err(StoreError::Conflict)), "{again:?}");
    let below = Booking { amount: -11, cause: "hand", ..booking.clone() };
    let below = store.write(|tx| credits::adjust(tx, &below).scope_boxed()).await;
    assert!(matches!(below, Err(StoreError::InsufficientCredits { needed: 11, available: 10 })), "{below:?}");
}

#[tokio::test]
async fn a_transaction_can_run_in_a_task() {
    let (_directory, store, org) = store_with(0, 10).await;
    let cause = "task".to_owned();
    let task = tokio::spawn(async move {
        let booking = Booking { org, bucket: Bucket::Prepaid, amount: 5, cause: &cause, at: NOW };
        store.write(|tx| credits::grant(tx, &booking, None).scope_boxed()).await
    });
    task.await.unwrap().unwrap();
}
