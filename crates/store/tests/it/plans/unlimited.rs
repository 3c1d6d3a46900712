//! Leaving the unlimited plan takes back its grant, and nothing else.

use probity_account::credits::CreditBucket;
use probity_account::plans::Period;
use probity_store::StoreError;

use super::account::Account;
use super::{day, for_each_books, split};

/// Grant of the plan.
const GIVEN: i64 = 1_000_000_000_000;

#[tokio::test]
async fn nobody_leaves_the_unlimited_plan_with_what_it_gave_set_aside() {
    for_each_books(async |store| {
        let now = day(2027, 2, 10);
        let account = Account::begin(store, 1, "unlimited", now).await;
        account.hold("job", 1_000_000, now).await;
        assert!(matches!(account.try_change("metered", now).await, Err(StoreError::CreditsHeld)));
        account.settle("job", "cancelled", 0, 1_000_000, now).await;
        account.change("metered", now).await;
        assert_eq!(account.available().await, split(0, 0));
    })
    .await;
}

#[tokio::test]
async fn who_leaves_the_unlimited_plan_leaves_what_it_gave() {
    for_each_books(async |store| {
        let account = Account::begin(store, 1, "unlimited", day(2027, 2, 10)).await;
        assert_eq!(account.available().await, split(0, GIVEN));
        for (to, at, left) in [
            ("team", day(2027, 2, 11), split(1_000, 0)),
            ("unlimited", day(2027, 2, 11), split(0, GIVEN)),
            ("metered", day(2027, 2, 12), split(0, 0)),
        ] {
            account.change(to, at).await;
            assert_eq!(account.available().await, left, "{to}");
        }
        let metered = Account::begin(store, 2, "metered", day(2027, 2, 10)).await;
        let org = metered.org().await;
        assert_eq!((metered.available().await, org.term.since), (split(0, 5), None));
        assert_eq!(org.period(day(2027, 2, 10)), Period { start: day(2027, 2, 1), end: day(2027, 3, 1) });
    })
    .await;
}

#[tokio::test]
async fn what_was_bought_outlives_the_unlimited_plan_whatever_was_spent_under_it() {
    for_each_books(async |store| {
        let now = day(2027, 2, 10);
        // Bought under the plan.
        let account = Account::begin(store, 1, "unlimited", now).await;
        account.grant(CreditBucket::Prepaid, 25_000, "bought", None, now).await;
        account.spend("one", 25_004, now).await;
        account.change("metered", now).await;
        assert_eq!(account.available().await, split(0, 25_000));
        // Earlier spending stays, and each period on the plan counts separately.
        account.spend("two", 5_000, now).await;
        for (job, left) in [("three", 20_000), ("four", 20_000)] {
            account.change("unlimited", now).await;
            assert_eq!(account.available().await, split(0, GIVEN + left));
            account.spend(job, 7_000, now).await;
            account.change("metered", now).await;
            assert_eq!(account.available().await, split(0, left));
        }
        // Credits removed by an operator are not removed again.
        account.change("unlimited", now).await;
        account.adjust(CreditBucket::Prepaid, -GIVEN, "by hand", now).await;
        account.change("metered", now).await;
        assert_eq!(account.available().await, split(0, 0));
    })
    .await;
}
