//! Organizations, their members and their keys.

use probity_account::api_key::KeyKind;
use probity_account::id::{KeyId, OrgId, UserId};
use probity_account::scope::Scopes;
use probity_mail::time::Millis;
use probity_store::accounts::keys::StoredKey;
use probity_store::accounts::organization::{OrgRecord, OrgState};
use probity_store::accounts::users::{MemberRole, TeamMember, UserStatus};
use probity_store::accounts::{keys, organization, users};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};

use crate::databases::for_each_database;
use crate::organizations;

const NOW: Millis = Millis(1_800_000_000_000);

fn org(n: u8) -> OrgRecord {
    let id = OrgId::new(NOW + i64::from(n), [n; 10]);
    OrgRecord::new(id, Some(format!("Größe {n}")), "metered".into(), NOW)
}

fn key(org: OrgNo, n: u8, created_at: Millis) -> StoredKey {
    StoredKey {
        org,
        id: KeyId::new(NOW, [n; 10]),
        user: Some(UserId::new(NOW, [n; 10])),
        name: format!("key {n}"),
        kind: KeyKind::Pub,
        scopes: Scopes::all(),
        origins: vec!["https://a.example".into()],
        prefix: "pk_".into(),
        last4: "abcd".into(),
        public_key: Some(format!("pk_{n}_abcd")),
        rate_limit_per_minute: Some(60),
        daily_cap: Some(500),
        created_at,
        expires_at: None,
        revoked_at: None,
        replaced_by: None,
        last_used_at: None,
    }
}

async fn add_key(store: &Store, key: &StoredKey, hash: [u8; 32]) -> Result<(), StoreError> {
    store.write(|tx| keys::insert(tx, key, &hash).scope_boxed()).await
}

#[tokio::test]
async fn organizations_come_back_as_they_went_in() {
    for_each_database(async |store| {
        let plain = org(1);
        let trial = Some((NOW, NOW + 5));
        let full = OrgRecord { trial, rate_limit_per_minute: Some(9), seats_max: Some(3), name: None, ..org(2) };
        organizations::add(&store, &plain).await;
        organizations::add(&store, &full).await;
        let twice = store.write(|tx| organization::insert(tx, &plain).scope_boxed()).await;
        assert!(matches!(twice, Err(StoreError::Conflict)), "{twice:?}");
        let mut conn = store.read().await.unwrap();
        assert_eq!(organization::by_no(&mut conn, plain.no).await.unwrap(), plain);
        assert_eq!(organization::by_id(&mut conn, full.id).await.unwrap(), full);
        assert!(matches!(organization::by_id(&mut conn, org(3).id).await, Err(StoreError::NotFound)));
        assert!(matches!(organization::by_no(&mut conn, org(3).no).await, Err(StoreError::NotFound)));
        assert_eq!(organization::page(&mut conn, None, 1).await.unwrap(), std::slice::from_ref(&plain));
        assert_eq!(organization::page(&mut conn, Some(plain.no), 5).await.unwrap(), [full]);
    })
    .await;
}

#[tokio::test]
async fn every_status_can_be_set_and_a_reason_goes_with_the_next() {
    for_each_database(async |store| {
        let org = org(1);
        organizations::add(&store, &org).await;
        for status in OrgState::ALL {
            store.write(|tx| organization::set_status(tx, org.no, status).scope_boxed()).await.unwrap();
            assert_eq!(organization::by_no(&mut store.read().await.unwrap(), org.no).await.unwrap().status, status);
        }
        let reason = async || organization::by_no(&mut store.read().await.unwrap(), org.no).await.unwrap().hold_reason;
        let held =
            store.write(|tx| organization::set_hold(tx, org.no, OrgState::Paused, Some("asked for it")).scope_boxed());
        held.await.unwrap();
        assert_eq!(reason().await.as_deref(), Some("asked for it"));
        store.write(|tx| organization::set_status(tx, org.no, OrgState::Active).scope_boxed()).await.unwrap();
        assert_eq!(reason().await, None);
        let missing = store.write(|tx| organization::set_status(tx, OrgNo(1), OrgState::Active).scope_boxed()).await;
        assert!(matches!(missing, Err(StoreError::NotFound)), "{missing:?}");
    })
    .await;
}

#[tokio::test]
async fn people_belong_to_one_organization() {
    for_each_database(async |store| {
        let no = OrgNo(5);
        let owner = TeamMember {
            org: no,
            id: UserId::new(NOW, [1; 10]),
            email: None,
            name: None,
            role: MemberRole::Administrator,
            is_primary: true,
            status: UserStatus::Active,
            created_at: NOW,
        };
        let email = Some("jörg@example.org".into());
        let other = TeamMember {
            id: UserId::new(NOW, [2; 10]),
            role: MemberRole::Contributor,
            is_primary: false,
            email,
            ..owner.clone()
        };
        for user in [&owner, &other] {
            store.write(|tx| users::insert(tx, user).scope_boxed()).await.unwrap();
        }
        let mut conn = store.read().await.unwrap();
        assert_eq!(users::primary(&mut conn, no).await.unwrap(), owner);
        assert_eq!(users::seats_used(&mut conn, no).await.unwrap(), 2);
        assert_eq!(users::seats_used(&mut conn, OrgNo(6)).await.unwrap(), 0);
        assert!(matches!(users::primary(&mut conn, OrgNo(6)).await, Err(StoreError::NotFound)));
    })
    .await;
}

#[tokio::test]
async fn a_key_is_found_by_its_hash_with_its_organization() {
    for_each_database(async |store| {
        let owner = org(1);
        organizations::add(&store, &owner).await;
        let plain = key(owner.no, 1, NOW);
        add_key(&store, &plain, [1; 32]).await.unwrap();
        let same_hash = add_key(&store, &key(owner.no, 2, NOW), [1; 32]).await;
        assert!(matches!(same_hash, Err(StoreError::Conflict)), "{same_hash:?}");
        let mut conn = store.read().await.unwrap();
        let known = keys::by_hash(&mut conn, &[1; 32]).await.unwrap().unwrap();
        assert_eq!((&known.key, known.org_id, known.org_status), (&plain, owner.id, OrgState::Active));
        assert_eq!(known.org_rate_limit_per_minute, None);
        assert_eq!(keys::by_hash(&mut conn, &[2; 32]).await.unwrap(), None);
        assert_eq!(keys::by_id(&mut conn, owner.no, plain.id).await.unwrap(), plain);
        let foreign = keys::by_id(&mut conn, org(2).no, plain.id).await;
        assert!(matches!(foreign, Err(StoreError::NotFound)), "{foreign:?}");
    })
    .await;
}

#[tokio::test]
async fn there_is_room_for_another_key_where_one_opens_nothing_any_more() {
    for_each_database(async |store| {
        let owner = org(1);
        organizations::add(&store, &owner).await;
        let has_room =
            async |now: Millis| store.write(|tx| keys::has_room(tx, owner.no, now, 2).scope_boxed()).await.unwrap();
        let brief = StoredKey { expires_at: Some(NOW + 5), ..key(owner.no, 1, NOW) };
        let (lasting, elsewhere) = (key(owner.no, 2, NOW), key(org(2).no, 3, NOW));
        for (key, n) in [(&brief, 1), (&elsewhere, 2)] {
            add_key(&store, key, [n; 32]).await.unwrap();
            assert!(has_room(NOW).await);
        }
        add_key(&store, &lasting, [3; 32]).await.unwrap();
        assert!(!has_room(NOW + 4).await);
        assert!(has_room(NOW + 5).await, "one has expired");
        add_key(&store, &key(owner.no, 4, NOW), [4; 32]).await.unwrap();
        assert!(!has_room(NOW + 5).await);
        store.write(|tx| keys::revoke(tx, owner.no, lasting.id, NOW + 5).scope_boxed()).await.unwrap();
        assert!(has_room(NOW + 5).await, "one was revoked");
    })
    .await;
}

#[tokio::test]
async fn keys_are_paged_revoked_once_and_touched_forwards() {
    for_each_database(async |store| {
        let no = OrgNo(5);
        // Two of the same millisecond, and a newer one.
        let all = [key(no, 3, NOW + 1), key(no, 2, NOW), key(no, 1, NOW)];
        for (n, key) in (0u8..).zip(&all) {
            add_key(&store, key, [n; 32]).await.unwrap();
        }
        let mut conn = store.read().await.unwrap();
        let first = keys::page(&mut conn, no, None, 2).await.unwrap();
        assert_eq!(first, all[..2]);
        let rest = keys::page(&mut conn, no, Some((first[1].created_at, first[1].id)), 2).await.unwrap();
        assert_eq!(rest, all[2..]);
        assert_eq!(keys::page(&mut conn, OrgNo(6), None, 2).await.unwrap(), []);

        let revoke = async |org| store.write(|tx| keys::revoke(tx, org, all[0].id, NOW + 9).scope_boxed()).await;
        assert!(matches!(revoke(OrgNo(6)).await, Err(StoreError::NotFound)));
        revoke(no).await.unwrap();
        assert!(matches!(revoke(no).await, Err(StoreError::NotFound)));
        assert_eq!(keys::by_id(&mut conn, no, all[0].id).await.unwrap().revoked_at, Some(NOW + 9));

        for (at, last) in [(50, 50), (40, 50), (60, 60)] {
            let used = [(no, all[1].id, NOW + at), (OrgNo(6), all[2].id, NOW + at)];
            store.write(|tx| keys::touch(tx, &used).scope_boxed()).await.unwrap();
            assert_eq!(keys::by_id(&mut conn, no, all[1].id).await.unwrap().last_used_at, Some(NOW + last));
        }
        assert_eq!(keys::by_id(&mut conn, no, all[2].id).await.unwrap().last_used_at, None);
    })
    .await;
}
