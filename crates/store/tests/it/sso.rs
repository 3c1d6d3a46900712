//! Single sign-on, as stored: one organization per proven domain, one member per account.

use probity_mail::time::Millis;
use probity_store::accounts::sso::{self, DueDomain, StoredSso};
use probity_store::accounts::users;
use probity_store::accounts::users::{MemberRole, TeamMember, UserStatus};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};

use crate::databases::for_each_database;
use crate::people::owner;

const NOW: Millis = Millis(1_800_000_000_000);
const LOOK_AT: Millis = Millis(NOW.0 + 100);

fn provider(org: OrgNo, version: i64) -> StoredSso {
    StoredSso {
        org,
        issuer: "https://id.example.com".into(),
        client_id: "client".into(),
        client_secret: vec![7; 40],
        required: version == 2,
        newcomer_role: Some(MemberRole::Contributor),
        believed: false,
        version,
        changed_at: NOW,
    }
}

async fn write(store: &Store, sso: &StoredSso) {
    store.write(|tx| sso::write(tx, sso).scope_boxed()).await.unwrap();
}

async fn claim(store: &Store, org: OrgNo, domain: &str) {
    store.write(|tx| sso::claim(tx, org, domain).scope_boxed()).await.unwrap();
}

async fn prove(store: &Store, org: OrgNo, domain: &str) -> Result<bool, StoreError> {
    store.write(|tx| sso::prove(tx, org, domain, NOW, Some(LOOK_AT)).scope_boxed()).await
}

#[tokio::test]
async fn a_domain_is_proven_for_one_organization() {
    for_each_database(async |store| {
        let store = &store;
        let [one, other] = [owner(store, 1).await.org, owner(store, 2).await.org];
        for org in [one, other] {
            write(store, &provider(org, 1)).await;
            claim(store, org, "example.com").await;
            claim(store, org, "example.com").await;
        }
        let mut conn = store.read().await.unwrap();
        assert_eq!(sso::by_domain(&mut conn, "example.com").await.unwrap(), None);
        drop(conn);
        assert!(!prove(store, one, "example.org").await.unwrap(), "only what is claimed");
        assert!(prove(store, one, "example.com").await.unwrap());
        assert!(!prove(store, one, "example.com").await.unwrap());
        assert!(matches!(prove(store, other, "example.com").await, Err(StoreError::Conflict)));
        write(store, &provider(one, 2)).await;
        let mut conn = store.read().await.unwrap();
        assert_eq!(sso::by_domain(&mut conn, "example.com").await.unwrap(), Some(provider(one, 2)));
        assert_eq!(sso::by_domain(&mut conn, "EXAMPLE.com").await.unwrap(), None);
        assert!(sso::is_proven(&mut conn, one, "example.com").await.unwrap());
        assert!(!sso::is_proven(&mut conn, other, "example.com").await.unwrap());
        drop(conn);
        store.write(|tx| sso::remove(tx, one).scope_boxed()).await.unwrap();
        let again = store.write(|tx| sso::remove(tx, one).scope_boxed()).await;
        assert!(matches!(again, Err(StoreError::NotFound)));
        assert!(prove(store, other, "example.com").await.unwrap(), "it is free again");
        store.write(|tx| sso::release(tx, other, "example.com").scope_boxed()).await.unwrap();
        let mut conn = store.read().await.unwrap();
        assert_eq!(sso::domains(&mut conn, other).await.unwrap(), []);
        assert_eq!(sso::of(&mut conn, one).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn the_end_of_a_proof_leaves_the_claim() {
    for_each_database(async |store| {
        let store = &store;
        let [one, other] = [owner(store, 1).await.org, owner(store, 2).await.org];
        for org in [one, other] {
            write(store, &provider(org, 1)).await;
            claim(store, org, "example.com").await;
        }
        let unprove = async |org| store.write(|tx| sso::unprove(tx, org, "example.com").scope_boxed()).await.unwrap();
        assert!(!unprove(one).await, "there is no proof");
        assert!(prove(store, one, "example.com").await.unwrap());
        assert!(!unprove(other).await, "it is not theirs");
        assert!(unprove(one).await && !unprove(one).await);
        let mut conn = store.read().await.unwrap();
        assert_eq!(sso::by_domain(&mut conn, "example.com").await.unwrap(), None);
        let claimed = sso::domains(&mut conn, one).await.unwrap();
        assert_eq!((claimed.len(), claimed[0].proven_at), (1, None));
        drop(conn);
        assert!(prove(store, other, "example.com").await.unwrap());
        assert!(matches!(prove(store, one, "example.com").await, Err(StoreError::Conflict)));
    })
    .await;
}

#[tokio::test]
async fn records_are_due_once_and_only_those_of_proofs() {
    for_each_database(async |store| {
        let store = &store;
        let org = owner(store, 1).await.org;
        for domain in ["a.com", "b.com", "confirmed.com", "unproven.com"] {
            claim(store, org, domain).await;
        }
        let prove = async |domain: &'static str, look_at: Option<Millis>| {
            store.write(|tx| sso::prove(tx, org, domain, NOW, look_at).scope_boxed()).await.unwrap()
        };
        let due = async |now: i64, at_most: u32| {
            sso::due(&mut store.read().await.unwrap(), Millis(NOW.0 + now), at_most).await.unwrap()
        };
        let looked_up = async |due: &DueDomain, next: i64, missed_at: Option<Millis>| {
            let next = Millis(NOW.0 + next);
            store.write(|tx| sso::looked_up(tx, due, next, missed_at).scope_boxed()).await.unwrap()
        };
        assert!(prove("a.com", Some(Millis(NOW.0 + 50))).await && prove("b.com", Some(LOOK_AT)).await);
        assert!(prove("confirmed.com", None).await);
        assert_eq!(due(49, 9).await, []);
        assert_eq!(due(50, 9).await.len(), 1);
        assert_eq!(due(1_000, 1).await[0].domain, "a.com", "the most overdue");
        let [a, b] = due(1_000, 9).await.try_into().unwrap();
        assert_eq!((b.org, b.domain.as_str(), b.look_at, b.missed_at), (org, "b.com", LOOK_AT, None));
        assert!(looked_up(&a, 2_000, Some(NOW)).await);
        assert!(!looked_up(&a, 3_000, None).await, "somebody else has looked");
        let [again] =
            due(2_000, 9).await.into_iter().filter(|due| due.domain == "a.com").collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(again.missed_at, Some(NOW));
        let missing = async |domain: &str| {
            let all = sso::domains(&mut store.read().await.unwrap(), org).await.unwrap();
            all.into_iter().find(|claimed| claimed.domain == domain).unwrap().missed_at
        };
        assert_eq!(missing("a.com").await, Some(NOW));
        // Another proof ends a missing record. A confirmation by the operator ends the lookups; so does the end of a proof.
        assert!(!prove("a.com", Some(LOOK_AT)).await);
        assert_eq!(missing("a.com").await, None);
        assert!(!looked_up(&again, 9_000, Some(NOW)).await, "it was proven meanwhile");
        assert!(!prove("a.com", None).await);
        store.write(|tx| sso::unprove(tx, org, "b.com").scope_boxed()).await.unwrap();
        assert_eq!(due(i64::MAX - NOW.0, 9).await, []);
        assert!(!looked_up(&b, 9_000, None).await);
    })
    .await;
}

#[tokio::test]
async fn members_and_accounts_are_bound_one_to_one_and_bindings_go_with_members() {
    for_each_database(async |store| {
        let store = &store;
        let ann = owner(store, 1).await;
        let bob = TeamMember {
            id: probity_account::id::UserId::new(NOW, [9; 10]),
            email: Some("bob@example.com".into()),
            is_primary: false,
            status: UserStatus::Active,
            ..ann.clone()
        };
        store.write(|tx| users::insert(tx, &bob).scope_boxed()).await.unwrap();
        let bind = async |user: &TeamMember, subject: u8| {
            store.write(|tx| async move { sso::bind(tx, user.org, user.id, &[subject; 32]).await }.scope_boxed()).await
        };
        bind(&bob, 1).await.unwrap();
        assert!(matches!(bind(&bob, 2).await, Err(StoreError::Conflict)), "a member has one account");
        assert!(matches!(bind(&ann, 1).await, Err(StoreError::Conflict)), "an account has one member");
        let elsewhere = owner(store, 2).await;
        bind(&elsewhere, 1).await.unwrap();
        let mut conn = store.read().await.unwrap();
        assert_eq!(sso::by_subject(&mut conn, bob.org, &[1; 32]).await.unwrap(), Some(bob.id));
        assert_eq!(sso::by_subject(&mut conn, bob.org, &[2; 32]).await.unwrap(), None);
        drop(conn);
        store.write(|tx| users::remove(tx, bob.org, bob.id).scope_boxed()).await.unwrap();
        let mut conn = store.read().await.unwrap();
        assert!(!sso::is_bound(&mut conn, bob.org, bob.id).await.unwrap());
        assert!(sso::is_bound(&mut conn, elsewhere.org, elsewhere.id).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn a_sign_in_comes_back_once() {
    for_each_database(async |store| {
        let store = &store;
        let org = owner(store, 1).await.org;
        let used = async |flow: u8, at: i64| {
            store
                .write(|tx| async move { sso::use_up(tx, org, &[flow; 32], Millis(at)).await }.scope_boxed())
                .await
                .unwrap()
        };
        assert!(used(1, 10).await && used(2, 20).await && !used(1, 30).await);
        assert_eq!(store.write(|tx| sso::purge(tx, Millis(10), 9).scope_boxed()).await.unwrap(), 1);
        assert!(used(1, 40).await && !used(2, 40).await);
    })
    .await;
}
