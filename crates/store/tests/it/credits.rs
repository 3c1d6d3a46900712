//! Charges and grants, with the resulting ledger.

use std::collections::BTreeMap;

use probity_account::credits::{CreditBucket, Split};
use probity_account::id::{OrgId, WindowId};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::accounts::organization;
use probity_store::accounts::organization::OrgRecord;
use probity_store::credits::booked::{self, BookingKind};
use probity_store::credits::usage::UsageDelta;
use probity_store::credits::{ChargeWindow, ChargedVerifications, ChargesByOrg, CountedCalls, CreditBooking};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, StoreError, credits};

use crate::databases::for_each_database;

const NOW: Millis = Millis(1_800_000_000_000);
const MONTH_MS: i64 = 30 * 86_400_000;

/// Creates an organization with these credits.
async fn org_with(store: &Store, subscription: i64, prepaid: i64) -> OrgNo {
    let org = OrgRecord::new(OrgId::new(NOW, [7; 10]), None, "metered".into(), NOW);
    let funded = store.write(|tx| {
        async {
            organization::insert(tx, &org).await?;
            for (bucket, amount) in [(CreditBucket::Subscription, subscription), (CreditBucket::Prepaid, prepaid)] {
                let booking = CreditBooking { org: org.no, bucket, amount, cause: bucket.as_str(), at: NOW };
                let until = (bucket == CreditBucket::Subscription).then_some(NOW + MONTH_MS);
                credits::grant(tx, &booking, until).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    funded.await.unwrap();
    org.no
}

/// Charges a window, with usage for its charges.
async fn try_run(store: &Store, window: &ChargeWindow) -> Result<BTreeMap<OrgNo, ChargedVerifications>> {
    let counted = |charged: &ChargesByOrg| {
        let usage = charged.iter().map(|(org, charged)| delta(*org, charged.spent.total())).collect();
        CountedCalls { usage, ..CountedCalls::default() }
    };
    store.write(|tx| credits::charge(tx, window, counted).scope_boxed()).await
}

async fn run(store: &Store, window: &ChargeWindow) -> BTreeMap<OrgNo, ChargedVerifications> {
    try_run(store, window).await.unwrap()
}

fn delta(org: OrgNo, charged: i64) -> UsageDelta {
    UsageDelta {
        org,
        day: NOW.utc_day(),
        source: "api".into(),
        connection: None,
        key: None,
        domain: None,
        provider: None,
        reason: Reason::Valid,
        verified: charged,
        charged,
    }
}

fn window(n: u8, org: OrgNo, calls: i64) -> ChargeWindow {
    ChargeWindow { id: WindowId::new(NOW, [n; 10]), at: NOW, calls: [(org, calls)].into(), witness: org }
}

#[tokio::test]
async fn charges_take_the_subscription_first_and_stop_at_the_end() {
    for_each_database(async |store| {
        let org = org_with(&store, 30, 20).await;
        let steps = [(10, (10, 0), (20, 20)), (25, (20, 5), (0, 15)), (200, (0, 15), (0, 0)), (1, (0, 0), (0, 0))];
        for (n, (calls, spent, available)) in (1..).zip(steps) {
            let [spent, available] = [spent, available].map(|(subscription, prepaid)| Split { subscription, prepaid });
            assert_eq!(
                run(&store, &window(n, org, calls)).await,
                [(org, ChargedVerifications { spent, available })].into()
            );
            let mut conn = store.read().await.unwrap();
            assert_eq!(credits::balances(&mut conn, &[org]).await.unwrap(), [(org, available)].into());
        }
        let mut conn = store.read().await.unwrap();
        assert_eq!(credits::audit(&mut conn).await.unwrap(), []);
        while store.write(|tx| credits::fold(tx, NOW + 10_000_000, 2).scope_boxed()).await.unwrap() > 0 {}
        assert_eq!(credits::audit(&mut conn).await.unwrap(), []);
        let balance = credits::balance(&mut conn, org).await.unwrap();
        assert!(balance.holds(), "{balance:?}");
        assert_eq!((balance.held, balance.spent), (Split::ZERO, Split { subscription: 30, prepaid: 20 }));
    })
    .await;
}

#[tokio::test]
async fn a_window_that_runs_again_charges_once() {
    for_each_database(async |store| {
        let org = org_with(&store, 0, 10).await;
        let first = window(1, org, 3);
        run(&store, &first).await;
        let again = try_run(&store, &first).await;
        assert!(matches!(again, Err(StoreError::Conflict)), "{again:?}");
        let mut conn = store.read().await.unwrap();
        assert_eq!(credits::available(&mut conn, org).await.unwrap().prepaid, 7);
        assert_eq!(credits::audit(&mut conn).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn a_window_stands_whatever_it_has_charged_and_says_what() {
    for_each_database(async |store| {
        let org = org_with(&store, 1, 1).await;
        let nobody = OrgNo(org.0.wrapping_add(1));
        let free = ChargeWindow { calls: BTreeMap::new(), ..window(4, org, 0) };
        let unpaid = ChargeWindow { calls: [(nobody, 1)].into(), witness: nobody, ..window(5, org, 0) };
        // The second window spends the last credits; the third, of the same organization, finds none.
        for window in [window(1, org, 1), window(2, org, 3), window(3, org, 2), free, unpaid] {
            let charged = run(&store, &window).await;
            let again = try_run(&store, &window).await;
            assert!(matches!(again, Err(StoreError::Conflict)), "{window:?}: {again:?}");
            let mut said = credits::charged(&mut store.read().await.unwrap(), &window).await.unwrap();
            said.retain(|org, _| *org != nobody);
            assert_eq!(said, charged, "{window:?}");
        }
        assert_eq!(credits::audit(&mut store.read().await.unwrap()).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn one_window_charges_many_and_each_its_own() {
    for_each_database(async |store| {
        let rich = org_with(&store, 5, 5).await;
        let poor = OrgRecord::new(OrgId::new(NOW, [8; 10]), None, "metered".into(), NOW);
        store.write(|tx| organization::insert(tx, &poor).scope_boxed()).await.unwrap();
        let nobody = OrgNo(poor.no.0.wrapping_add(1));
        let both = ChargeWindow { calls: [(rich, 6), (poor.no, 2), (nobody, 1)].into(), ..window(1, rich, 0) };
        let charged = run(&store, &both).await;
        assert_eq!(charged[&rich].spent, Split { subscription: 5, prepaid: 1 });
        assert_eq!(charged[&poor.no], ChargedVerifications::default());
        assert!(!charged.contains_key(&nobody), "who has no accounts is charged nothing");
        assert_eq!(credits::audit(&mut store.read().await.unwrap()).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn the_same_cause_books_once() {
    for_each_database(async |store| {
        let org = org_with(&store, 0, 10).await;
        let booking = CreditBooking { org, bucket: CreditBucket::Prepaid, amount: 5, cause: "prepaid", at: NOW };
        let again = store.write(|tx| credits::grant(tx, &booking, None).scope_boxed()).await;
        assert!(matches!(again, Err(StoreError::Conflict)), "{again:?}");
        let below = CreditBooking { amount: -11, cause: "hand", ..booking.clone() };
        let below = store.write(|tx| credits::adjust(tx, &below).scope_boxed()).await;
        assert!(matches!(below, Err(StoreError::InsufficientCredits { needed: 11, available: 10 })), "{below:?}");
        let down = CreditBooking { amount: -4, cause: "hand", ..booking };
        store.write(|tx| credits::adjust(tx, &down).scope_boxed()).await.unwrap();
        let balance = credits::balance(&mut store.read().await.unwrap(), org).await.unwrap();
        assert_eq!((balance.available, balance.adjusted.prepaid), (Split { subscription: 0, prepaid: 6 }, -4));
    })
    .await;
}

#[tokio::test]
async fn a_transaction_can_run_in_a_task() {
    for_each_database(async |store| {
        let org = org_with(&store, 0, 10).await;
        let cause = "task".to_owned();
        let task = tokio::spawn(async move {
            let booking = CreditBooking { org, bucket: CreditBucket::Prepaid, amount: 5, cause: &cause, at: NOW };
            store.write(|tx| credits::grant(tx, &booking, None).scope_boxed()).await
        });
        task.await.unwrap().unwrap();
    })
    .await;
}

#[tokio::test]
async fn what_is_left_of_a_subscription_goes_when_it_ends() {
    for_each_database(async |store| {
        let org = org_with(&store, 30, 20).await;
        let expire = async |at| store.write(|tx| credits::expire_buckets(tx, at, 10).scope_boxed()).await.unwrap();
        assert_eq!(expire(NOW + MONTH_MS - 1).await, 0);
        assert_eq!(expire(NOW + MONTH_MS).await, 1);
        assert_eq!(expire(NOW + MONTH_MS).await, 0);
        let balance = credits::balance(&mut store.read().await.unwrap(), org).await.unwrap();
        assert_eq!(balance.available, Split { subscription: 0, prepaid: 20 });
        assert_eq!(balance.expired, Split { subscription: 30, prepaid: 0 });
        assert!(balance.holds(), "{balance:?}");
    })
    .await;
}

#[tokio::test]
async fn a_correction_after_the_end_does_not_go_with_what_has_ended() {
    for upkeep_came_first in [false, true] {
        for_each_database(async |store| corrected_after_the_end(&store, upkeep_came_first).await).await;
    }
}

async fn corrected_after_the_end(store: &Store, upkeep_came_first: bool) {
    let org = org_with(store, 30, 20).await;
    let expire = async |at| store.write(|tx| credits::expire_buckets(tx, at, 10).scope_boxed()).await.unwrap();
    let correct = async |amount: i64, at: Millis| {
        let cause = at.0.to_string();
        let booking = CreditBooking { org, bucket: CreditBucket::Subscription, amount, cause: &cause, at };
        store.write(|tx| credits::adjust(tx, &booking).scope_boxed()).await.unwrap();
    };
    let end = async || credits::subscription_end(&mut store.read().await.unwrap(), org).await.unwrap();
    let ended = NOW + MONTH_MS;
    // Before the end, a correction applies to the credits that end then; a downward one does not change an end.
    correct(5, ended - 1).await;
    correct(-1, ended).await;
    assert_eq!(end().await, Some(ended));
    if upkeep_came_first {
        assert_eq!(expire(ended).await, 1);
    }
    correct(7, ended + 1).await;
    assert_eq!((end().await, expire(ended + MONTH_MS).await), (None, 0));
    let balance = credits::balance(&mut store.read().await.unwrap(), org).await.unwrap();
    assert_eq!(balance.available, Split { subscription: 7, prepaid: 20 });
    assert_eq!(balance.expired, Split { subscription: 34, prepaid: 0 });
    assert!(balance.holds(), "{balance:?}");
}

/// Grants subscription credits at a time, which is also the cause.
async fn renew(store: &Store, org: OrgNo, amount: i64, at: Millis, until: Option<Millis>) {
    let cause = at.0.to_string();
    let booking = CreditBooking { org, bucket: CreditBucket::Subscription, amount, cause: &cause, at };
    store.write(|tx| credits::grant(tx, &booking, until).scope_boxed()).await.unwrap();
}

#[tokio::test]
async fn a_grant_after_the_end_does_not_go_with_what_has_ended() {
    for_each_database(async |store| {
        let org = org_with(&store, 30, 20).await;
        let later = NOW + MONTH_MS + 1;
        renew(&store, org, 7, later, None).await;
        let expired = store.write(|tx| credits::expire_buckets(tx, later + MONTH_MS, 10).scope_boxed()).await.unwrap();
        let balance = credits::balance(&mut store.read().await.unwrap(), org).await.unwrap();
        assert_eq!((expired, balance.available), (0, Split { subscription: 7, prepaid: 20 }));
        assert_eq!(balance.expired, Split { subscription: 30, prepaid: 0 });
        assert!(balance.holds(), "{balance:?}");
    })
    .await;
}

#[tokio::test]
async fn a_grant_never_brings_an_end_nearer() {
    for_each_database(async |store| {
        let org = org_with(&store, 30, 20).await;
        let left_at = async |at| {
            store.write(|tx| credits::expire_buckets(tx, at, 10).scope_boxed()).await.unwrap();
            credits::available(&mut store.read().await.unwrap(), org).await.unwrap()
        };
        renew(&store, org, 1, NOW + 1, Some(NOW + 2)).await;
        assert_eq!(left_at(NOW + MONTH_MS - 1).await, Split { subscription: 31, prepaid: 20 }, "the later end counts");
        renew(&store, org, 1, NOW + 3, None).await;
        renew(&store, org, 1, NOW + 4, Some(NOW + 5)).await;
        assert_eq!(left_at(NOW + MONTH_MS).await, Split { subscription: 33, prepaid: 20 }, "never is the latest");
        let prepaid = CreditBooking { org, bucket: CreditBucket::Prepaid, amount: 1, cause: "more", at: NOW + 6 };
        store.write(|tx| credits::grant(tx, &prepaid, Some(NOW + 7)).scope_boxed()).await.unwrap();
        assert_eq!(left_at(NOW + MONTH_MS).await, Split { subscription: 33, prepaid: 21 }, "prepaid credits stay");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_fold_at_once_count_each_row_once() {
    for_each_database(async |store| {
        let org = org_with(&store, 0, 1_000).await;
        for n in 0..200 {
            run(&store, &window(n, org, 1)).await;
        }
        let fold = async || {
            while store.write(|tx| credits::fold(tx, NOW + 10_000_000, 100).scope_boxed()).await.unwrap() > 0 {}
        };
        futures_util::future::join_all((0..8).map(|_| fold())).await;
        assert_eq!(credits::audit(&mut store.read().await.unwrap()).await.unwrap(), []);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_windows_at_once_charge_what_there_is_and_no_more() {
    for_each_database(async |store| {
        let org = org_with(&store, 30, 20).await;
        let windows = (0..200).map(|n| {
            let store = store.clone();
            tokio::spawn(async move { run(&store, &window(n, org, 1)).await })
        });
        let done = futures_util::future::try_join_all(windows.collect::<Vec<_>>()).await.unwrap();
        let spent: i64 = done.iter().map(|done| done[&org].spent.total()).sum();
        assert_eq!(spent, 50);
        let mut conn = store.read().await.unwrap();
        assert_eq!(credits::audit(&mut conn).await.unwrap(), []);
        assert_eq!(credits::available(&mut conn, org).await.unwrap(), Split::ZERO);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_nodes_fold_at_once_and_the_books_agree() {
    for_each_database(async |store| {
        let org = org_with(&store, 0, 100).await;
        for n in 0..40 {
            run(&store, &window(n, org, 2)).await;
        }
        let fold_all = |at_most: u32| {
            let store = store.clone();
            tokio::spawn(async move {
                let (mut taken, later) = (0, NOW + 10_000_000);
                loop {
                    match store.write(|tx| credits::fold(tx, later, at_most).scope_boxed()).await.unwrap() {
                        0 => return taken,
                        some => {
                            assert!(some <= usize::try_from(at_most).unwrap());
                            taken += some;
                        }
                    }
                }
            })
        };
        let nodes = [fold_all(3), fold_all(4), fold_all(5)];
        let mut taken = 0;
        for node in nodes {
            taken += node.await.unwrap();
        }
        assert_eq!(taken, 80, "each row once: a hold and a capture of each window");
        assert_eq!(credits::audit(&mut store.read().await.unwrap()).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn pages_of_bookings_end_with_whole_moments() {
    for_each_database(async |store| {
        let org = org_with(&store, 0, 5).await;
        let booking = |n: i64, cause| CreditBooking {
            org,
            bucket: CreditBucket::Prepaid,
            amount: n + 1,
            cause,
            at: NOW + 1 + n / 3,
        };
        let causes: Vec<String> = (0..12).map(|n| format!("{n:02}")).collect();
        for (n, cause) in (0..).zip(&causes) {
            let booking = booking(n, cause);
            store.write(|tx| credits::grant(tx, &booking, None).scope_boxed()).await.unwrap();
        }
        let mut conn = store.read().await.unwrap();
        let (mut before, mut seen) = (Millis(i64::MAX), Vec::new());
        loop {
            let page = booked::page(&mut conn, org, before, 4).await.unwrap();
            let Some(last) = page.last() else { break };
            before = last.at;
            seen.extend(page);
        }
        assert_eq!(seen.iter().filter(|one| one.at > NOW).count(), 12);
        assert!(seen.is_sorted_by(|a, b| a.at >= b.at));
        let one = booked::of_cause(&mut conn, org, BookingKind::Grant, "03").await.unwrap().unwrap();
        assert!(one.is(&booking(3, "03"), None));
        assert!(!one.is(&booking(4, "03"), None));
        assert!(one.is(&booking(3, "03"), Some(NOW)), "until when is not known of what was granted earlier");
        assert_eq!(booked::of_cause(&mut conn, org, BookingKind::Adjust, "03").await.unwrap(), None);
    })
    .await;
}
