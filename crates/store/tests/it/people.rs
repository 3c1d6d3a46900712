//! Passwords, sessions, second factors and attempts, as stored.

use probity_account::id::{OrgId, SessionId, UserId};
use probity_mail::time::Millis;
use probity_store::accounts::organization;
use probity_store::accounts::organization::OrgRecord;
use probity_store::accounts::people::attempts::{self, AttemptSlot, Backoff};
use probity_store::accounts::people::passwords::{self, HashCost, Password};
use probity_store::accounts::people::second_factor;
use probity_store::accounts::people::sessions::{self, SessionLifetimes, StoredSession};
use probity_store::accounts::users::{self, MemberRole, TeamMember, UserStatus};
use probity_store::{ScopedFutureExt as _, Store, StoreError};

use crate::databases::for_each_database;

const NOW: Millis = Millis(1_800_000_000_000);
const COST: HashCost = HashCost { memory_kib: 8, passes: 1 };
const LIFETIMES: SessionLifetimes = SessionLifetimes { idle_ms: 1_000, absolute_ms: 10_000 };

/// Creates an organization with its owner.
pub(crate) async fn owner(store: &Store, n: u8) -> TeamMember {
    let org = OrgRecord::new(OrgId::new(NOW, [n; 10]), Some(format!("Org {n}")), "metered".into(), NOW);
    let id = UserId::new(NOW, [n; 10]);
    let email = Some("owner@example.com".to_owned());
    let owner = TeamMember {
        org: org.no,
        id,
        email,
        name: None,
        role: MemberRole::Administrator,
        is_primary: true,
        status: UserStatus::Active,
        created_at: NOW,
    };
    let made = store.write(|tx| {
        async {
            organization::insert(tx, &org).await?;
            users::insert(tx, &owner).await
        }
        .scope_boxed()
    });
    made.await.unwrap();
    owner
}

fn password(user: &TeamMember, who: u8, hash: u8) -> Password {
    Password { org: user.org, user: user.id, who: [who; 32], hash: [hash; 32], cost: COST }
}

async fn set(store: &Store, password: &Password) {
    store.write(|tx| passwords::set(tx, password, NOW).scope_boxed()).await.unwrap();
}

fn session(user: &TeamMember, n: u8, at: Millis) -> StoredSession {
    let id = SessionId::new(NOW, [n; 10]);
    StoredSession { org: user.org, id, user: user.id, client: "Firefox on Linux".into(), created_at: at, seen_at: at }
}

async fn begin(store: &Store, session: &StoredSession, token: u8) {
    let token_hash = [token; 32];
    let begun = store.write(|tx| async move { sessions::begin(tx, session, &token_hash, 3).await }.scope_boxed());
    begun.await.unwrap();
}

async fn is_open(store: &Store, token: u8) -> bool {
    sessions::by_token(&mut store.read().await.unwrap(), &[token; 32]).await.unwrap().is_some()
}

#[tokio::test]
async fn an_address_finds_its_people_in_every_organization() {
    for_each_database(async |store| {
        let (first, second) = (owner(&store, 1).await, owner(&store, 2).await);
        for (user, who) in [(&first, 1), (&second, 1)] {
            set(&store, &password(user, who, 9)).await;
        }
        let mut conn = store.read().await.unwrap();
        let found = passwords::candidates(&mut conn, &[1; 32], 10).await.unwrap();
        let mut orgs: Vec<_> = found.iter().map(|each| (each.password.org, each.org_name.clone().unwrap())).collect();
        orgs.sort();
        let mut expected = [(first.org, "Org 1".to_owned()), (second.org, "Org 2".to_owned())];
        expected.sort();
        assert_eq!(orgs, expected);
        assert_eq!(passwords::candidates(&mut conn, &[2; 32], 10).await.unwrap(), []);
        drop(conn);
        set(&store, &password(&first, 3, 8)).await;
        let mut conn = store.read().await.unwrap();
        assert_eq!(passwords::candidates(&mut conn, &[1; 32], 10).await.unwrap().len(), 1);
        assert_eq!(passwords::of(&mut conn, first.org, first.id).await.unwrap(), Some(password(&first, 3, 8)));
        assert_eq!(passwords::of(&mut conn, second.org, first.id).await.unwrap(), None);
        drop(conn);
        store.write(|tx| passwords::forget(tx, first.org, first.id).scope_boxed()).await.unwrap();
        assert_eq!(passwords::of(&mut store.read().await.unwrap(), first.org, first.id).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn an_upgrade_does_not_undo_a_change() {
    for_each_database(async |store| {
        let user = owner(&store, 1).await;
        let (old, new) = (password(&user, 1, 1), password(&user, 1, 2));
        let dearer = HashCost { memory_kib: 16, passes: 2 };
        set(&store, &old).await;
        store.write(|tx| passwords::upgrade(tx, &old, &[5; 32], dearer).scope_boxed()).await.unwrap();
        let upgraded = Password { hash: [5; 32], cost: dearer, ..old.clone() };
        let of = async || passwords::of(&mut store.read().await.unwrap(), user.org, user.id).await.unwrap().unwrap();
        assert_eq!(of().await, upgraded);
        set(&store, &new).await;
        store.write(|tx| passwords::upgrade(tx, &upgraded, &[6; 32], dearer).scope_boxed()).await.unwrap();
        assert_eq!(of().await, new);
    })
    .await;
}

#[tokio::test]
async fn sessions_are_found_by_their_token_until_they_are_revoked() {
    for_each_database(async |store| {
        let (user, other) = (owner(&store, 1).await, owner(&store, 2).await);
        for n in 1..=3 {
            begin(&store, &session(&user, n, NOW + i64::from(n)), n).await;
        }
        begin(&store, &session(&other, 9, NOW), 9).await;
        let found = sessions::by_token(&mut store.read().await.unwrap(), &[2; 32]).await.unwrap().unwrap();
        assert_eq!(found.session, session(&user, 2, NOW + 2));
        assert_eq!((found.email.as_deref(), found.role), (Some("owner@example.com"), MemberRole::Administrator));
        assert_eq!((found.org_name.as_deref(), found.is_primary, found.second_factor), (Some("Org 1"), true, false));

        let id = |n| session(&user, n, NOW).id;
        let revoke = async |user: &TeamMember, n| {
            store.write(|tx| sessions::revoke(tx, user.org, user.id, id(n)).scope_boxed()).await
        };
        assert!(matches!(revoke(&other, 1).await, Err(StoreError::NotFound)), "somebody else's");
        revoke(&user, 1).await.unwrap();
        assert!(!is_open(&store, 1).await);
        store.write(|tx| sessions::renew(tx, user.org, id(2), &[22; 32]).scope_boxed()).await.unwrap();
        assert!(!is_open(&store, 2).await);
        assert!(is_open(&store, 22).await);
        let gone = store.write(|tx| sessions::renew(tx, user.org, id(1), &[11; 32]).scope_boxed()).await;
        assert!(matches!(gone, Err(StoreError::NotFound)), "{gone:?}");
        let others =
            store.write(|tx| sessions::revoke_all(tx, user.org, user.id, Some(id(2))).scope_boxed()).await.unwrap();
        assert_eq!((others, is_open(&store, 3).await, is_open(&store, 22).await), (1, false, true));
        store.write(|tx| sessions::revoke_all(tx, user.org, user.id, None).scope_boxed()).await.unwrap();
        assert_eq!((is_open(&store, 22).await, is_open(&store, 9).await), (false, true));
    })
    .await;
}

#[tokio::test]
async fn a_person_has_so_many_sessions_and_those_that_ended_are_not_listed() {
    for_each_database(async |store| {
        let user = owner(&store, 1).await;
        for n in 1..=5 {
            begin(&store, &session(&user, n, NOW + i64::from(n)), n).await;
        }
        let listed = async |now| {
            let mut conn = store.read().await.unwrap();
            let sessions = sessions::of_user(&mut conn, user.org, user.id, LIFETIMES, now).await.unwrap();
            sessions.iter().map(|session| session.seen_at.since(NOW)).collect::<Vec<_>>()
        };
        assert_eq!(listed(NOW + 6).await, [5, 4, 3], "those that were used last are kept");
        let fourth = session(&user, 4, NOW).id;
        store.write(|tx| sessions::touch(tx, user.org, fourth, NOW + 600).scope_boxed()).await.unwrap();
        assert_eq!(listed(NOW + 1_004).await, [600, 5]);
        assert_eq!(store.write(|tx| sessions::purge(tx, NOW + 5, 10).scope_boxed()).await.unwrap(), 2);
        assert_eq!(listed(NOW + 6).await, [600]);
        let begun = StoredSession { seen_at: NOW + 9_999, ..session(&user, 1, NOW) };
        assert!(!begun.is_over(LIFETIMES, NOW + 9_999));
        assert!(begun.is_over(LIFETIMES, NOW + 10_000), "in all");
        assert!(session(&user, 1, NOW).is_over(LIFETIMES, NOW + 1_000), "unused");
    })
    .await;
}

#[tokio::test]
async fn codes_are_used_once() {
    for_each_database(async |store| {
        let user = owner(&store, 1).await;
        let (org, id) = (user.org, user.id);
        let begin =
            async |secret: &[u8]| store.write(|tx| second_factor::begin(tx, org, id, secret).scope_boxed()).await;
        let confirm = async |secret: &'static [u8]| {
            let codes = [[1; 32], [2; 32]];
            let confirmed = store.write(|tx| {
                async move { second_factor::confirm(tx, (org, id), secret, &codes, NOW).await }.scope_boxed()
            });
            confirmed.await
        };
        assert!(matches!(confirm(b"first").await, Err(StoreError::Conflict)), "there is none");
        begin(b"first").await.unwrap();
        begin(b"second").await.unwrap();
        assert!(matches!(confirm(b"first").await, Err(StoreError::Conflict)), "another was begun meanwhile");
        confirm(b"second").await.unwrap();
        assert!(matches!(begin(b"third").await, Err(StoreError::Conflict)), "it is asked for");
        assert!(matches!(confirm(b"second").await, Err(StoreError::Conflict)));
        let found = second_factor::of(&mut store.read().await.unwrap(), org, id).await.unwrap().unwrap();
        assert_eq!((&*found.secret, found.confirmed_at), (b"second".as_slice(), Some(NOW)));

        for (step, is_new) in [(7, true), (7, false), (6, false), (8, true)] {
            let done = store.write(|tx| second_factor::use_step(tx, org, id, step).scope_boxed()).await.unwrap();
            assert_eq!(done, is_new, "{step}");
        }
        for (code, is_one) in [(1, true), (1, false), (3, false)] {
            let hash = [code; 32];
            let done = store
                .write(|tx| async move { second_factor::use_recovery_code(tx, org, id, &hash).await }.scope_boxed());
            assert_eq!(done.await.unwrap(), is_one, "{code}");
        }
        let left =
            async || second_factor::recovery_codes_left(&mut store.read().await.unwrap(), org, id).await.unwrap();
        assert_eq!(left().await, 1);
        for there in [true, false] {
            assert_eq!(store.write(|tx| second_factor::forget(tx, org, id).scope_boxed()).await.unwrap(), there);
        }
        assert_eq!(left().await, 0);
    })
    .await;
}

/// Two failures without a delay; then 1 s, 2 s, and at most 4 s.
const BACKOFF: Backoff = Backoff { free: 2, first_ms: 1_000, longest_ms: 4_000, forget_ms: 60_000 };

async fn attempt(store: &Store, slots: &[i64], now: Millis) -> Result<(), Millis> {
    let slots: Vec<_> = slots.iter().map(|no| AttemptSlot { no: *no, backoff: BACKOFF }).collect();
    store.write(|tx| attempts::begin(tx, &slots, now).scope_boxed()).await.unwrap()
}

#[tokio::test]
async fn attempts_wait_longer_and_longer() {
    for_each_database(async |store| {
        for _ in 0..3 {
            attempt(&store, &[1], NOW).await.unwrap();
        }
        assert_eq!(attempt(&store, &[1], NOW).await, Err(NOW + 1_000));
        assert_eq!(attempt(&store, &[2, 1], NOW + 999).await, Err(NOW + 1_000), "of two the one that waits counts");
        let mut now = NOW;
        for wait in [1_000, 2_000, 4_000, 4_000] {
            now = now + wait;
            attempt(&store, &[1], now).await.unwrap();
        }
        assert_eq!(attempt(&store, &[1], now).await, Err(now + 4_000));
        attempt(&store, &[1], NOW - 86_400_000).await.expect("a clock that was wrong locks nobody out");
        store.write(|tx| attempts::forget(tx, 1).scope_boxed()).await.unwrap();
        attempt(&store, &[1], now).await.unwrap();
        store.write(|tx| attempts::take_back(tx, 1, now).scope_boxed()).await.unwrap();
        for _ in 0..3 {
            attempt(&store, &[1], now).await.expect("what was taken back does not count");
        }
        assert!(attempt(&store, &[1], now).await.is_err());
        attempt(&store, &[1], now + 60_000).await.expect("a minute later it is forgotten");
        assert_eq!(
            store.write(|tx| attempts::purge(tx, now + 120_000, 10).scope_boxed()).await.unwrap(),
            2,
            "both rows"
        );
    })
    .await;
}

#[tokio::test]
async fn attempts_at_once_are_counted_one_by_one() {
    for_each_database(async |store| {
        let many = (0..20).map(|_| attempt(&store, &[5, 3], NOW));
        let passed = futures_util::future::join_all(many).await.into_iter().flatten().count();
        assert_eq!(passed, 3, "two are free, and the third begins the waiting");
    })
    .await;
}
