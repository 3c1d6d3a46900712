//! Access tokens of accounts: one exchange at a time, and the state after a crash.

use probity_account::connections::{StoredToken, TokenTurn};
use probity_mail::time::Millis;
use probity_store::connections::tokens::{self, EXCHANGE_MS};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};

use super::{NOW, delete, insert, nth, org};
use crate::databases::for_each_database;

const TAG: [u8; 16] = [7; 16];
const HOUR_MS: i64 = 3_600_000;

async fn claim(store: &Store, org: OrgNo, refused: Option<i64>, now: Millis) -> TokenTurn {
    store.write(|tx| tokens::claim(tx, (org, &TAG), refused, now).scope_boxed()).await.unwrap()
}

async fn keep(store: &Store, org: OrgNo, version: i64, text: &[u8], now: Millis) -> Result<(), StoreError> {
    let what = (text, now + HOUR_MS);
    store.write(|tx| tokens::store(tx, (org, &TAG), version, what, now).scope_boxed()).await
}

fn yours(turn: TokenTurn) -> StoredToken {
    match turn {
        TokenTurn::Yours(stored) => stored,
        other => panic!("{other:?}"),
    }
}

async fn found(store: &Store, org: OrgNo) -> Option<StoredToken> {
    tokens::of_account(&mut store.read().await.unwrap(), org, &TAG).await.unwrap()
}

#[tokio::test]
async fn one_process_exchanges_and_the_others_get_its_token() {
    for_each_database(async |store| {
        let store = &store;
        let org = org(store, 1).await;
        let turns = futures_util::future::join_all((0..8).map(|_| claim(store, org, None, NOW))).await;
        let mine: Vec<_> = turns.into_iter().filter(|turn| *turn != TokenTurn::Busy).collect();
        assert_eq!(mine.len(), 1, "{mine:?}");
        let first = yours(mine.into_iter().next().unwrap());
        assert_eq!((first.version, first.tokens), (1, None));
        keep(store, org, 1, b"first", NOW).await.unwrap();
        let TokenTurn::Valid(stored) = claim(store, org, None, NOW).await else { panic!("no token") };
        assert_eq!((stored.version, stored.tokens.as_deref()), (1, Some(b"first".as_slice())));
        // A refused token is exchanged once, regardless of the number of refused calls.
        assert_eq!(yours(claim(store, org, Some(1), NOW).await).version, 2);
        assert_eq!(claim(store, org, Some(1), NOW).await, TokenTurn::Busy);
        keep(store, org, 2, b"second", NOW).await.unwrap();
        assert!(matches!(claim(store, org, Some(1), NOW).await, TokenTurn::Valid(stored) if stored.version == 2));
        // The same applies to an expired token.
        assert_eq!(yours(claim(store, org, None, NOW + HOUR_MS).await).version, 3);
    })
    .await;
}

#[tokio::test]
async fn a_crash_between_answer_and_store_leaves_the_earlier_credential() {
    for_each_database(async |store| {
        let store = &store;
        let org = org(store, 1).await;
        yours(claim(store, org, None, NOW).await);
        keep(store, org, 1, b"first", NOW).await.unwrap();
        // This process gets a response, and dies.
        yours(claim(store, org, Some(1), NOW).await);
        let stored = found(store, org).await.unwrap();
        assert_eq!((stored.is_valid(NOW), stored.tokens.as_deref()), (false, Some(b"first".as_slice())));
        assert_eq!(claim(store, org, None, NOW + EXCHANGE_MS - 1).await, TokenTurn::Busy);
        let next = yours(claim(store, org, None, NOW + EXCHANGE_MS).await);
        assert_eq!((next.version, next.tokens.as_deref()), (3, Some(b"first".as_slice())));
        // If it is still alive, its write is too late.
        assert!(matches!(keep(store, org, 2, b"late", NOW).await, Err(StoreError::LeaseLost)));
        keep(store, org, 3, b"second", NOW).await.unwrap();
        assert_eq!(found(store, org).await.unwrap().tokens.as_deref(), Some(b"second".as_slice()));
    })
    .await;
}

#[tokio::test]
async fn a_failed_exchange_is_repeated_at_once() {
    for_each_database(async |store| {
        let store = &store;
        let org = org(store, 1).await;
        yours(claim(store, org, None, NOW).await);
        store.write(|tx| tokens::release(tx, (org, &TAG), 1).scope_boxed()).await.unwrap();
        assert_eq!(yours(claim(store, org, None, NOW).await).version, 2);
        // A token that was not refused is used until it expires.
        keep(store, org, 2, b"first", NOW).await.unwrap();
        let (last, end) = (NOW + (HOUR_MS - 1), NOW + HOUR_MS);
        assert_eq!(yours(claim(store, org, None, last).await).version, 3);
        store.write(|tx| tokens::release(tx, (org, &TAG), 3).scope_boxed()).await.unwrap();
        let stored = found(store, org).await.unwrap();
        assert!(stored.is_valid(last) && !stored.is_fresh(last));
        assert_eq!(yours(claim(store, org, None, end).await).version, 4);
        // A late end of the first exchange does not end the second one.
        store.write(|tx| tokens::release(tx, (org, &TAG), 1).scope_boxed()).await.unwrap();
        assert_eq!(claim(store, org, None, end).await, TokenTurn::Busy);
    })
    .await;
}

#[tokio::test]
async fn tokens_go_with_the_last_connection_of_their_account() {
    for_each_database(async |store| {
        let store = &store;
        let org = org(store, 1).await;
        let one = nth(org, 7);
        let other =
            probity_store::connections::connection::StoredConnection { account_tag: one.account_tag, ..nth(org, 8) };
        insert(store, &one).await;
        insert(store, &other).await;
        yours(claim(store, org, None, NOW).await);
        keep(store, org, 1, b"first", NOW).await.unwrap();
        delete(store, &one, NOW).await;
        assert!(found(store, org).await.is_some());
        delete(store, &other, NOW).await;
        assert_eq!(found(store, org).await, None);
    })
    .await;
}
