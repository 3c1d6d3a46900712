//! For any single failure while plans change, each month and each refill is granted once.

use probity_account::plans::Plans;
use probity_store::accounts::plans;
use probity_store::activity::events::AccountEventKind;
use probity_store::credits::booked::BookingKind;
use probity_store::failpoint::{ArmedFailpoint, FailpointAction};
use probity_store::{OrgNo, ScopedFutureExt as _, Store};

use super::account::Account;
use super::{catalogue, day, for_each_books, split};

/// Retries until success, as the service does in its next round.
macro_rules! until_done {
    ($store:ident, $tx:ident => $act:expr) => {
        while $store.write(|$tx| $act.scope_boxed()).await.is_err() {}
    };
}

/// A renewal, a change of plan and a refill, each with retries.
async fn story(store: &Store, org: OrgNo, plans: &Plans) {
    until_done!(store, tx => plans::renew(tx, org, plans, day(2027, 2, 28)));
    until_done!(store, tx => plans::change(tx, org, plans, plans.of("refill"), day(2027, 3, 1)));
    until_done!(store, tx => plans::cover(tx, org, plans, 15, day(2027, 3, 1)));
}

#[tokio::test]
async fn whatever_fails_once_each_month_and_each_refill_is_granted_once() {
    for_each_books(async |store| {
        let (plans, failpoints) = (catalogue(), store.failpoints());
        let first = Account::begin(store, 0, "team", day(2027, 1, 31)).await;
        failpoints.trace();
        story(store, first.no, &plans).await;
        let passed = failpoints.traced();
        let all = passed.iter().flat_map(|(point, times)| {
            let armed = |action| move |nth| ArmedFailpoint { point: point.clone(), nth, action };
            (1..=*times).map(armed(FailpointAction::Error)).chain((1..=*times).map(armed(FailpointAction::Race)))
        });
        let all: Vec<ArmedFailpoint> = all.collect();
        assert!(all.len() > 50, "{}", all.len());
        for (n, armed) in (1..).zip(all) {
            let account = Account::begin(store, n, "team", day(2027, 1, 31)).await;
            failpoints.arm(armed.clone());
            story(store, account.no, &plans).await;
            assert_eq!(failpoints.disarm(), 1, "{armed:?}");
            assert_eq!(account.available().await, split(0, 20), "{armed:?}");
            assert_eq!(account.bookings(BookingKind::Grant).await.len(), 3, "{armed:?}");
            assert_eq!(account.events().await, [AccountEventKind::AutoRefill], "{armed:?}");
        }
    })
    .await;
}
