//! Months, which begin once each, and trials, which end.

use futures_util::future::{join, join_all};
use probity_account::plans::{Period, Plans};
use probity_store::ScopedFutureExt as _;
use probity_store::accounts::organization::OrgState;
use probity_store::accounts::plans;
use probity_store::credits::booked::BookingKind;

use super::account::Account;
use super::{HOUR_MS, catalogue, day, due, for_each_books, split};

#[tokio::test]
async fn a_year_from_31_january_has_twelve_months() {
    for_each_books(async |store| {
        let begun = day(2027, 1, 31) + 13 * HOUR_MS;
        let account = Account::begin(store, 1, "team", begun).await;
        let mut starts = Vec::new();
        // Like a service that checks once a day.
        for tick in 0..366 {
            let now = begun + tick * 24 * HOUR_MS;
            if due(store, &catalogue(), now).await == [account.no] {
                assert_eq!(account.renew(now).await, 1_000);
                starts.push(account.org().await.period(now).start);
            }
            assert_eq!(account.renew(now).await, 0, "a month is granted once");
            assert_eq!(account.available().await, split(1_000, 0));
        }
        let expected =
            [(2, 28), (3, 31), (4, 30), (5, 31), (6, 30), (7, 31), (8, 31), (9, 30), (10, 31), (11, 30), (12, 31)];
        let expected = expected.map(|(month, at)| day(2027, month, at)).into_iter().chain([day(2028, 1, 31)]);
        assert_eq!(starts, expected.collect::<Vec<_>>());
        assert_eq!(account.bookings(BookingKind::Grant).await.len(), 13);
        assert_eq!(account.bookings(BookingKind::Expire).await.len(), 12);
    })
    .await;
}

#[tokio::test]
async fn after_an_outage_only_the_month_that_runs_is_granted() {
    for_each_books(async |store| {
        let team = Account::begin(store, 1, "team", day(2027, 2, 10)).await;
        let saving = Account::begin(store, 2, "saving", day(2027, 2, 10)).await;
        let now = day(2027, 7, 20);
        assert_eq!(due(store, &catalogue(), now).await, [team.no, saving.no]);
        team.renew(now).await;
        saving.renew(now).await;
        assert_eq!(team.available().await, split(1_000, 0));
        assert_eq!(saving.available().await, split(100, 0), "what is kept is not lost");
        let after = team.org().await;
        assert_eq!(after.period(now), Period { start: day(2027, 7, 10), end: day(2027, 8, 10) });
        assert_eq!(after.term.renews_at, Some(day(2027, 8, 10)));
        assert_eq!(due(store, &catalogue(), now).await, []);
    })
    .await;
}

#[tokio::test]
async fn many_nodes_that_renew_at_once_grant_once_beside_what_is_spent() {
    for_each_books(async |store| {
        let account = Account::begin(store, 1, "team", day(2027, 2, 10)).await;
        let now = day(2027, 3, 10);
        // Held credits remain from the previous month.
        account.hold("job", 300, now - 1).await;
        let settle = async |n: i64| account.settle("job", &format!("job:{n}"), 10, 5, now).await;
        let renewed = join_all((0..8).map(|_| account.renew(now)));
        let (granted, _) = join(renewed, join_all((0..20).map(settle))).await;
        assert_eq!(granted.iter().sum::<i64>(), 1_000);
        let left = account.available().await;
        assert!((1_000..=1_100).contains(&left.subscription), "{left:?}");
    })
    .await;
}

#[tokio::test]
async fn a_stopped_account_waits_for_its_month() {
    for_each_books(async |store| {
        let account = Account::begin(store, 1, "team", day(2027, 2, 10)).await;
        let now = day(2027, 9, 1);
        for status in OrgState::ALL.into_iter().filter(|status| status.is_stopped()) {
            account.set_status(status).await;
            assert_eq!(due(store, &catalogue(), now).await, []);
            assert_eq!(account.renew(now).await, 0);
        }
        account.set_status(OrgState::UnderReview).await;
        assert_eq!(account.renew(now).await, 1_000);
        assert_eq!(account.available().await, split(1_000, 0));
    })
    .await;
}

#[tokio::test]
async fn a_trial_ends_at_midnight_and_the_months_begin() {
    for_each_books(async |store| {
        let begun = day(2027, 2, 10) + 9 * HOUR_MS;
        let account = Account::begin(store, 1, "trial", begun).await;
        let (org, end) = (account.org().await, day(2027, 2, 25));
        assert_eq!(org.trial, Some((begun, end)));
        assert_eq!(org.period(begun), Period { start: day(2027, 2, 10), end });
        assert_eq!(account.available().await, split(20, 0));
        assert_eq!(account.renew(end - 1).await, 0);
        assert_eq!(account.renew(end).await, 700);
        assert_eq!(account.available().await, split(700, 0), "what is left of the trial ends with it");
        let after = account.org().await;
        assert_eq!(after.period(end), Period { start: end, end: day(2027, 3, 25) });
        assert!(!after.on_trial(end));
    })
    .await;
}

#[tokio::test]
async fn a_plan_that_is_away_for_a_while_costs_no_month() {
    for_each_books(async |store| {
        let account = Account::begin(store, 1, "team", day(2027, 2, 10)).await;
        let without = Plans::new([], "metered", 5).unwrap();
        let now = day(2027, 3, 10);
        let unknown = async |among| plans::unknown(&mut store.read().await.unwrap(), among, 10).await.unwrap();
        assert_eq!(unknown(&without).await, ["team"]);
        assert_eq!(unknown(&catalogue()).await, [""; 0]);
        assert_eq!(due(store, &without, now).await, [], "it is in nobody's way");
        let renewed = store.write(|tx| plans::renew(tx, account.no, &without, now).scope_boxed()).await.unwrap();
        assert_eq!(renewed, 0);
        assert_eq!(due(store, &catalogue(), now).await, [account.no]);
        assert_eq!(account.renew(now + HOUR_MS).await, 1_000);
        assert_eq!(account.available().await, split(1_000, 0));
    })
    .await;
}
