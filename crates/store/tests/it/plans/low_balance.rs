//! Low balances, and notices of them.

use futures_util::future::join_all;
use probity_account::credits::CreditBucket;
use probity_account::plans::Plans;
use probity_mail::time::Millis;
use probity_store::accounts::organization::{OrgRecord, OwnTerms};
use probity_store::accounts::{organization, plans};
use probity_store::activity::events::AccountEventKind;
use probity_store::activity::letters::{self, LetterKey, LetterKind};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};

use super::account::Account;
use super::{catalogue, day, for_each_books};
use crate::letters::{any_due, claim, record};

/// Account on a plan with a threshold of 100, and the current time.
struct Watched<'a> {
    store: &'a Store,
    account: Account<'a>,
    now: Millis,
    plans: Plans,
}

impl<'a> Watched<'a> {
    async fn begin(store: &'a Store) -> Self {
        let account = Account::begin(store, 1, "team", day(2027, 2, 10)).await;
        account.add_owner().await;
        Account::begin(store, 2, "metered", day(2027, 2, 10)).await;
        Self { store, account, now: day(2027, 2, 11), plans: catalogue() }
    }

    /// Returns organizations whose balance has crossed its threshold since the last notice.
    async fn crossing(&self, plans: &Plans) -> Vec<OrgNo> {
        plans::crossing(&mut self.store.read().await.unwrap(), plans, None, 10).await.unwrap().0
    }

    /// Returns whether the account's balance has become low without a notice.
    async fn cross(&self) -> Option<bool> {
        let (org, plans) = (self.account.no, &self.plans);
        let crossed = self.store.write(|tx| plans::cross(tx, org, plans, true, self.now).scope_boxed());
        crossed.await.unwrap().map(|(_, is_low)| is_low)
    }

    async fn adjust(&self, n: i64, amount: i64) {
        self.account.adjust(CreditBucket::Subscription, amount, &n.to_string(), self.now).await;
    }

    async fn any_notice(&self) -> bool {
        any_due(self.store, LetterKind::LowBalance, self.now).await
    }

    /// Sets or removes the account's own threshold.
    async fn set_threshold(&self, low_balance: Option<i64>) {
        let write = self.store.write(|tx| {
            async {
                let mut org = organization::lock(tx, self.account.no).await?;
                org.own.low_balance = low_balance;
                plans::threshold_changed(tx, &mut org).await?;
                organization::write(tx, &org).await
            }
            .scope_boxed()
        });
        write.await.unwrap();
    }
}

#[tokio::test]
async fn a_balance_that_becomes_low_is_told_once_a_crossing() {
    for_each_books(async |store| {
        let watched = Watched::begin(store).await;
        let (org, plans) = (watched.account.no, &watched.plans);
        assert_eq!(watched.crossing(plans).await, []);
        watched.adjust(1, -900).await;
        assert_eq!(watched.crossing(plans).await, [], "the threshold itself is not low");
        watched.adjust(2, -1).await;
        assert_eq!(watched.crossing(plans).await, [org]);
        let told = join_all((0..8).map(|_| watched.cross())).await;
        assert_eq!(told.into_iter().flatten().collect::<Vec<_>>(), [true]);
        assert_eq!(watched.crossing(plans).await, []);
        watched.adjust(3, -50).await;
        assert_eq!(watched.crossing(plans).await, [], "it is told once");
        watched.adjust(4, 500).await;
        assert_eq!((watched.crossing(plans).await, watched.cross().await), (vec![org], Some(false)));
        assert!(!watched.any_notice().await, "what is over is not told");
        watched.adjust(5, -500).await;
        assert_eq!(watched.cross().await, Some(true));
        assert_eq!(watched.account.events().await, [AccountEventKind::LowBalance; 2]);
    })
    .await;
}

#[tokio::test]
async fn the_organizations_own_threshold_counts_and_another_one_tells_again() {
    for_each_books(async |store| {
        let watched = Watched::begin(store).await;
        let (org, plans) = (watched.account.no, &watched.plans);
        watched.adjust(1, -951).await;
        assert_eq!(watched.cross().await, Some(true));

        let own = OwnTerms { low_balance: Some(10), ..OwnTerms::default() };
        let write = store.write(|tx| {
            async {
                let org = organization::lock(tx, org).await?;
                organization::write(tx, &OrgRecord { own, ..org }).await
            }
            .scope_boxed()
        });
        write.await.unwrap();
        assert_eq!(watched.crossing(plans).await, [org], "what is the organization's own counts");
        assert_eq!(watched.cross().await, Some(false));

        // Low, and then without a threshold: the next one causes another notice.
        watched.adjust(2, -45).await;
        assert_eq!(watched.cross().await, Some(true));
        watched.set_threshold(Some(1)).await;
        assert!(!watched.any_notice().await, "by the threshold before");
        assert_eq!((watched.crossing(plans).await, watched.cross().await), (vec![], None));
        watched.set_threshold(Some(20)).await;
        assert_eq!((watched.crossing(plans).await, watched.cross().await), (vec![org], Some(true)));
        let bare = Plans::new([], "metered", 5).unwrap();
        watched.set_threshold(None).await;
        assert_eq!(watched.cross().await, Some(true), "by the plan's threshold");
        assert_eq!(watched.crossing(&bare).await, [org], "what is low is looked at when no threshold is left");
    })
    .await;
}

#[tokio::test]
async fn a_notice_waits_until_it_is_sent() {
    for_each_books(async |store| {
        let now = day(2027, 2, 11);
        let account = Account::begin(store, 1, "team", now).await;
        let put = async || {
            let notice = LetterKey::notice(account.no, LetterKind::LowBalance);
            store.write(|tx| letters::put(tx, &notice, now, Some(now)).scope_boxed()).await.unwrap();
        };
        let claim = async |at, run| claim(store, LetterKind::LowBalance, at, run).await;
        put().await;
        assert_eq!(claim(now, "a").await, [], "nobody can be told yet");
        account.add_owner().await;
        assert!(any_due(store, LetterKind::LowBalance, now).await);
        let first = claim(now, "b").await;
        assert_eq!((first[0].email.as_str(), first[0].attempts), ("owner@example.com", 0));
        assert_eq!(claim(now, "c").await, []);
        let again = claim(now + 1_000, "d").await;
        assert!(matches!(record(store, &first[0], None).await, Err(StoreError::LeaseLost)));
        record(store, &again[0], Some(now + 5_000)).await.unwrap();
        assert_eq!(claim(now + 4_999, "e").await, []);
        let third = claim(now + 5_000, "f").await;
        assert_eq!(third[0].attempts, 1);
        put().await;
        assert!(matches!(record(store, &third[0], None).await, Err(StoreError::LeaseLost)), "it was put again");
        let last = claim(now, "g").await;
        record(store, &last[0], None).await.unwrap();
        assert!(!any_due(store, LetterKind::LowBalance, now).await);
    })
    .await;
}
