//! Rows of connections: visibility, changes and removal.

use probity_account::connections::ConnectionAction;
use probity_store::connections::connection::{self, Disconnection, StoredConnection};
use probity_store::{ScopedFutureExt as _, StoreError};

use super::{MANY, NOW, by_id, credentials, delete, insert, insert_if_room, nth, org};
use crate::databases::for_each_database;

#[tokio::test]
async fn connections_come_back_as_they_went_in_and_to_their_own_sort_of_key() {
    for_each_database(async |store| {
        let (own, other) = (org(&store, 1).await, org(&store, 2).await);
        let mut live = nth(own, 1);
        live.settings.action = Some(ConnectionAction::UpdateTags);
        live.settings.lists = vec!["7".to_owned()];
        let of_tests = StoredConnection { test: true, ..nth(own, 2) };
        for one in [&live, &of_tests, &nth(other, 3)] {
            insert(&store, one).await;
            assert_eq!(by_id(&store, one).await.unwrap(), *one);
            assert_eq!(credentials(&store, one).await.unwrap(), b"sealed");
        }
        for foreign in [
            StoredConnection { org: other, ..live.clone() },
            StoredConnection { test: true, ..live.clone() },
            StoredConnection { test: false, ..of_tests.clone() },
        ] {
            assert!(matches!(by_id(&store, &foreign).await, Err(StoreError::NotFound)));
            let StoredConnection { org, id, test, .. } = foreign;
            let locked = store.write(|tx| connection::lock(tx, org, id, test).scope_boxed()).await;
            assert!(matches!(locked, Err(StoreError::NotFound)), "{locked:?}");
        }
        let mut conn = store.read().await.unwrap();
        assert_eq!(connection::active(&mut conn, own, true, MANY).await.unwrap(), [of_tests]);
        assert_eq!(connection::active_of(&mut conn, own, false, "ghost", MANY).await.unwrap(), [live]);
        assert_eq!(connection::active_of(&mut conn, own, false, "brevo", MANY).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn a_change_is_stored_whole() {
    for_each_database(async |store| {
        let mut one = nth(org(&store, 1).await, 1);
        insert(&store, &one).await;
        "Other".clone_into(&mut one.name);
        one.settings.manual_mode = true;
        one.trusted_at = Some(NOW + 7);
        store.write(|tx| connection::write(tx, &one).scope_boxed()).await.unwrap();
        assert_eq!(by_id(&store, &one).await.unwrap(), one);
    })
    .await;
}

#[tokio::test]
async fn a_deleted_connection_has_no_credentials_and_can_get_others() {
    for_each_database(async |store| {
        let one = nth(org(&store, 1).await, 1);
        insert(&store, &one).await;
        let refused = store.write(|tx| connection::disconnect(tx, one.org, one.id, NOW + 5).scope_boxed());
        assert!(refused.await.unwrap());
        let shown = by_id(&store, &one).await.unwrap();
        assert_eq!(shown.disconnected, Some((NOW + 5, Disconnection::Credential)));
        assert!(credentials(&store, &one).await.is_some(), "they may be right again");
        let again = store.write(|tx| connection::disconnect(tx, one.org, one.id, NOW + 6).scope_boxed());
        assert!(!again.await.unwrap());

        delete(&store, &one, NOW + 7).await;
        let deleted = by_id(&store, &one).await.unwrap();
        assert_eq!(deleted.disconnected, Some((NOW + 7, Disconnection::Deleted)));
        assert_eq!(credentials(&store, &one).await, None);
        let mut conn = store.read().await.unwrap();
        assert_eq!(connection::active(&mut conn, one.org, false, MANY).await.unwrap(), []);
        let former = connection::former_of(&mut conn, one.org, false, "ghost", MANY).await.unwrap();
        assert_eq!(former, std::slice::from_ref(&deleted));
        assert_eq!(connection::former_providers(&mut conn, one.org, false, MANY).await.unwrap(), ["ghost"]);
        drop(conn);

        let back = store
            .write(|tx| connection::reconnect(tx, &deleted, b"other", &[9; 16], MANY).scope_boxed())
            .await
            .unwrap();
        assert!(back);
        assert_eq!(by_id(&store, &one).await.unwrap(), StoredConnection { account_tag: [9; 16], ..one.clone() });
        assert_eq!(credentials(&store, &one).await.unwrap(), b"other");
    })
    .await;
}

#[tokio::test]
async fn deleted_connections_make_room_but_take_it_when_they_come_back() {
    for_each_database(async |store| {
        let own = org(&store, 1).await;
        assert!(insert_if_room(&store, &nth(own, 1), 2).await);
        assert!(insert_if_room(&store, &nth(own, 2), 2).await);
        assert!(!insert_if_room(&store, &nth(own, 3), 2).await);
        delete(&store, &nth(own, 1), NOW).await;
        assert!(insert_if_room(&store, &nth(own, 3), 2).await);
        for (n, has_room) in [(1, false), (2, true)] {
            let one = by_id(&store, &nth(own, n)).await.unwrap();
            let back = store.write(|tx| connection::reconnect(tx, &one, b"other", &[9; 16], 2).scope_boxed()).await;
            assert_eq!(back.unwrap(), has_room, "{n}");
        }
    })
    .await;
}

#[tokio::test]
async fn deleted_connections_go_after_a_while() {
    for_each_database(async |store| {
        let own = org(&store, 1).await;
        for n in 1..=3 {
            insert(&store, &nth(own, n)).await;
        }
        super::rules::add(&store, &nth(own, 1), &["a", "b", "c"]).await;
        delete(&store, &nth(own, 1), NOW).await;
        delete(&store, &nth(own, 2), NOW + 10).await;
        let purge =
            async |at_most| store.write(|tx| connection::purge(tx, NOW + 10, at_most).scope_boxed()).await.unwrap();
        assert_eq!(purge(2).await, 2, "rules, a few at a time");
        assert!(by_id(&store, &nth(own, 1)).await.is_ok());
        assert_eq!(purge(2).await, 2, "the last rule and the connection");
        assert!(matches!(by_id(&store, &nth(own, 1)).await, Err(StoreError::NotFound)));
        assert_eq!(purge(2).await, 0);
        assert!(by_id(&store, &nth(own, 2)).await.is_ok(), "deleted later");
        assert!(by_id(&store, &nth(own, 3)).await.is_ok(), "not deleted");
    })
    .await;
}
