//! Automatic refills of an organization with too few credits.

use futures_util::future::join_all;
use probity_store::ScopedFutureExt as _;
use probity_store::accounts::plans;
use probity_store::activity::events::AccountEventKind;

use super::account::Account;
use super::{catalogue, day, for_each_books, split};

#[tokio::test]
async fn refills_are_as_many_as_it_takes_and_no_more_than_agreed() {
    for_each_books(async |store| {
        let account = Account::begin(store, 1, "refill", day(2027, 2, 10)).await;
        let plans = catalogue();
        let cover = async |needed, now| {
            store.write(|tx| plans::cover(tx, account.no, &plans, needed, now).scope_boxed()).await.unwrap()
        };
        let now = day(2027, 2, 11);
        let would = async |needed, now| {
            plans::would_cover(&mut store.read().await.unwrap(), account.no, &plans, needed, now).await.unwrap()
        };
        assert!(!would(31, now).await, "more than all refills of the month together");
        assert!(would(30, now).await);
        assert!(!cover(31, now).await, "what cannot be covered is not begun");
        assert_eq!(account.available().await, split(0, 0));
        assert!(cover(11, now).await);
        assert!(cover(20, now).await, "what is there is not put in again");
        assert_eq!(account.available().await, split(0, 20));
        let wanted = (0..16).map(|_| cover(25, now));
        assert!(join_all(wanted).await.into_iter().all(|covered| covered));
        assert_eq!(account.available().await, split(0, 30));
        assert!(!cover(31, now).await);
        assert!(!would(31, now).await);
        assert!(would(30, now).await, "what the last refill put in can be spent");
        let next = day(2027, 3, 10);
        assert!(would(31, next).await);
        assert!(cover(31, next).await);
        assert_eq!(account.events().await, [AccountEventKind::AutoRefill; 3]);
    })
    .await;
}
