//! Changes between plans, and manual grants beside a plan.

use probity_account::credits::CreditBucket;
use probity_store::{ScopedFutureExt as _, credits};

use super::account::Account;
use super::{HOUR_MS, day, for_each_books, split};

#[tokio::test]
async fn another_plan_begins_today_with_its_own_credits() {
    for_each_books(async |store| {
        let account = Account::begin(store, 1, "trial", day(2027, 2, 10)).await;
        account.grant(CreditBucket::Prepaid, 33, "gift", None, day(2027, 2, 10)).await;
        let now = day(2027, 2, 12) + 5 * HOUR_MS;
        let changed = account.change("team", now).await;
        assert_eq!((changed.trial, changed.on_trial(now)), (Some((day(2027, 2, 10), now)), false));
        assert_eq!(account.available().await, split(1_000, 33));
        assert_eq!(changed.period(now).start, day(2027, 2, 12));
        // Changing back and forth within a day grants no more than the plan has.
        for (to, subscription, prepaid) in [
            ("saving", 50, 33),
            // Permanent credits stay, and do not keep the new plan's credits from expiring.
            ("team", 1_000, 83),
            ("team", 1_000, 83),
            ("metered", 0, 83),
            ("team", 1_000, 83),
        ] {
            account.change(to, now + 1).await;
            assert_eq!(account.available().await, split(subscription, prepaid), "{to}");
        }
        account.renew(day(2027, 3, 12)).await;
        assert_eq!(account.available().await, split(1_000, 83));
    })
    .await;
}

#[tokio::test]
async fn what_is_granted_by_hand_keeps_no_month_from_ending() {
    for_each_books(async |store| {
        for (n, until) in (1..).zip([Some(day(2027, 12, 31)), None]) {
            let account = Account::begin(store, n, "team", day(2027, 2, 10)).await;
            account.grant(CreditBucket::Subscription, 10, "by hand", until, day(2027, 2, 11)).await;
            for month in 3..=6 {
                assert_eq!(account.renew(day(2027, month, 10)).await, 1_000);
                assert_eq!(account.available().await, split(1_000, 0), "{until:?}");
            }
            let ended = store.write(|tx| credits::expire_buckets(tx, day(2027, 7, 10), 10).scope_boxed()).await;
            assert_eq!((ended.unwrap(), account.available().await), (1, split(0, 0)));
        }
    })
    .await;
}

#[tokio::test]
async fn what_was_granted_before_there_were_months_stays_as_prepaid() {
    for_each_books(async |store| {
        let begun = day(2027, 2, 10);
        for (n, until, stays) in [(1, None, 10), (2, Some(day(2027, 12, 31)), 10), (3, Some(day(2027, 2, 11)), 0)] {
            let account = Account::begin(store, n, "metered", begun).await;
            account.grant(CreditBucket::Subscription, 10, "by hand", until, begun).await;
            account.change("team", day(2027, 2, 12)).await;
            assert_eq!(account.available().await, split(1_000, 5 + stays), "{until:?}");
            account.renew(day(2027, 3, 12)).await;
            assert_eq!(account.available().await, split(1_000, 5 + stays), "{until:?}");
        }
    })
    .await;
}
