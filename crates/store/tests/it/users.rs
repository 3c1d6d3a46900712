//! Members of an organization, their profiles and their one-time links.

use probity_account::id::UserId;
use probity_account::language::PageLanguage;
use probity_mail::time::Millis;
use probity_store::accounts::organization::OrgRecord;
use probity_store::accounts::people::second_factor;
use probity_store::accounts::users;
use probity_store::accounts::users::invitations::{self, Invitation, LinkTarget, MailedLink};
use probity_store::accounts::users::profile::{self, IdentityCheck, NotificationSettings, PostalAddress, UserProfile};
use probity_store::accounts::users::{MemberRole, TeamMember, UserStatus};
use probity_store::activity::events::{AccountChange, AccountEventKind, EventActor};
use probity_store::activity::letters::{ClaimedLetter, LetterKind};
use probity_store::activity::timeline;
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, StoreError};

use crate::databases::for_each_database;
use crate::letters::{any_due, record};
use crate::organizations;

const NOW: Millis = Millis(1_800_000_000_000);
const DAY: i64 = 86_400_000;

async fn add_org(store: &Store, n: u8) -> OrgRecord {
    let org = OrgRecord { name: Some(format!("Größe {n}")), ..organizations::nth(n, NOW) };
    organizations::add(store, &org).await;
    org
}

fn user(org: &OrgRecord, n: u8, email: &str) -> TeamMember {
    TeamMember {
        org: org.no,
        id: UserId::new(NOW, [n; 10]),
        email: Some(email.into()),
        name: None,
        role: MemberRole::Contributor,
        is_primary: false,
        status: UserStatus::Active,
        created_at: NOW,
    }
}

async fn add(store: &Store, user: &TeamMember) -> Result<()> {
    store.write(|tx| users::insert(tx, user).scope_boxed()).await
}

async fn invite(store: &Store, user: &TeamMember, n: u8, by_mail: bool) {
    let invitation = Invitation {
        org: user.org,
        user: user.id,
        hash: [n; 32],
        mailed: by_mail.then_some(MailedLink { hash: [n + 100; 32], seed: [n; 16] }),
        created_at: NOW,
        expires_at: NOW + DAY,
    };
    store.write(|tx| invitations::issue(tx, &invitation).scope_boxed()).await.unwrap();
}

async fn look(store: &Store, hash: u8, now: Millis) -> Option<LinkTarget> {
    invitations::look(&mut store.read().await.unwrap(), &[hash; 32], now).await.unwrap()
}

async fn redeem(store: &Store, hash: u8, now: Millis) -> Result<TeamMember> {
    let hash = [hash; 32];
    store.write(|tx| invitations::redeem(tx, &hash, now).scope_boxed()).await
}

async fn by_id(store: &Store, user: &TeamMember) -> Result<TeamMember> {
    users::by_id(&mut store.read().await.unwrap(), user.org, user.id).await
}

#[tokio::test]
async fn members_come_back_as_they_went_in_and_as_they_were_changed() {
    for_each_database(async |store| {
        let (one, other) = (add_org(&store, 1).await, add_org(&store, 2).await);
        for (n, status) in (1..).zip(UserStatus::ALL) {
            let member =
                TeamMember { status, name: Some("Jörg 賭".into()), ..user(&one, n, &format!("Ann.{n}@Example.org")) };
            add(&store, &member).await.unwrap();
            assert_eq!(by_id(&store, &member).await.unwrap(), member);
            let elsewhere = by_id(&store, &TeamMember { org: other.no, ..member.clone() }).await;
            assert!(matches!(elsewhere, Err(StoreError::NotFound)), "{elsewhere:?}");
            let changed =
                TeamMember { name: None, role: MemberRole::Administrator, status: UserStatus::Paused, ..member };
            store.write(|tx| users::write(tx, &changed).scope_boxed()).await.unwrap();
            assert_eq!(by_id(&store, &changed).await.unwrap(), changed);
        }
        let nobody = TeamMember { org: other.no, ..user(&one, 1, "a@example.org") };
        let missing = store.write(|tx| users::write(tx, &nobody).scope_boxed()).await;
        assert!(matches!(missing, Err(StoreError::NotFound)), "{missing:?}");
        let missing = store.write(|tx| users::lock_team(tx, OrgNo(7)).scope_boxed()).await;
        assert!(matches!(missing, Err(StoreError::NotFound)), "{missing:?}");
        store.write(|tx| users::lock_team(tx, one.no).scope_boxed()).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_address_is_one_members_however_it_is_written() {
    for_each_database(async |store| {
        let (one, other) = (add_org(&store, 1).await, add_org(&store, 2).await);
        let ann = user(&one, 1, "Ann@Müller.example");
        let elsewhere = TeamMember { created_at: NOW + 1, ..user(&other, 2, "ann@müller.example") };
        add(&store, &ann).await.unwrap();
        add(&store, &elsewhere).await.unwrap();
        let twin = add(&store, &user(&one, 3, "aNN@xn--mller-kva.example")).await;
        assert!(matches!(twin, Err(StoreError::Conflict)), "{twin:?}");
        let none = add(&store, &user(&one, 3, "no address")).await;
        assert!(matches!(none, Err(StoreError::Corrupt(_))), "{none:?}");
        let bob = user(&one, 4, "bob@example.org");
        add(&store, &bob).await.unwrap();
        let taken =
            |email: &'static str| store.write(move |tx| users::set_email(tx, bob.org, bob.id, email).scope_boxed());
        assert!(matches!(taken("ANN@müller.example").await, Err(StoreError::Conflict)));
        taken("Bob@Example.com").await.unwrap();
        let mut conn = store.read().await.unwrap();
        let email = "ANN@MÜLLER.example";
        assert_eq!(users::member(&mut conn, one.no, email).await.unwrap(), Some(ann.clone()));
        assert_eq!(users::by_email(&mut conn, email).await.unwrap(), [ann, elsewhere]);
        assert_eq!(users::member(&mut conn, one.no, "bob@example.org").await.unwrap(), None);
        assert_eq!(
            users::by_email(&mut conn, "bob@EXAMPLE.com").await.unwrap()[0].email.as_deref(),
            Some("Bob@Example.com")
        );
        for nobody in ["", "ann", "carl@example.org"] {
            assert_eq!(users::member(&mut conn, one.no, nobody).await.unwrap(), None);
            assert_eq!(users::by_email(&mut conn, nobody).await.unwrap(), []);
        }
    })
    .await;
}

#[tokio::test]
async fn pages_go_on_where_the_one_before_ended() {
    for_each_database(async |store| {
        let (one, other) = (add_org(&store, 1).await, add_org(&store, 2).await);
        add(&store, &user(&other, 99, "elsewhere@example.org")).await.unwrap();
        let mut all = Vec::new();
        for n in 1..=7_u8 {
            // Several of the same millisecond.
            let created_at = NOW + i64::from(n / 3);
            let member = TeamMember { created_at, ..user(&one, n, &format!("a{n}@example.org")) };
            add(&store, &member).await.unwrap();
            all.insert(0, member);
        }
        let mut seen: Vec<TeamMember> = Vec::new();
        let mut conn = store.read().await.unwrap();
        loop {
            let after = seen.last().map(|user| (user.created_at, user.id));
            let page = users::page(&mut conn, one.no, after, 2).await.unwrap();
            if page.is_empty() {
                break;
            }
            assert!(page.len() <= 2);
            seen.extend(page);
        }
        assert_eq!(seen, all);
        assert_eq!(users::seats_used(&mut conn, one.no).await.unwrap(), 7);
    })
    .await;
}

#[tokio::test]
async fn who_is_removed_takes_their_link_with_them_and_the_primary_user_stays() {
    for_each_database(async |store| {
        let org = add_org(&store, 1).await;
        let owner = TeamMember { is_primary: true, ..user(&org, 1, "owner@example.org") };
        let ann = user(&org, 2, "ann@example.org");
        for member in [&owner, &ann] {
            add(&store, member).await.unwrap();
            invite(&store, member, member.id.bits().to_be_bytes()[15], false).await;
        }
        let remove = |id: UserId| store.write(move |tx| users::remove(tx, org.no, id).scope_boxed());
        assert!(matches!(remove(owner.id).await, Err(StoreError::NotFound)));
        remove(ann.id).await.unwrap();
        assert!(matches!(remove(ann.id).await, Err(StoreError::NotFound)));
        assert!(matches!(by_id(&store, &ann).await, Err(StoreError::NotFound)));
        assert_eq!(look(&store, 2, NOW).await, None);
        assert_eq!(look(&store, 1, NOW).await.unwrap().user, owner);
        // The address is free again.
        add(&store, &user(&org, 3, "ann@example.org")).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn profiles_come_back_as_they_went_in() {
    for_each_database(async |store| {
        let org = add_org(&store, 1).await;
        let ann = user(&org, 1, "ann@example.org");
        add(&store, &ann).await.unwrap();
        let read = async || profile::read(&mut store.read().await.unwrap(), org.no, ann.id).await.unwrap();
        let wishes = |bits: u8| NotificationSettings {
            after_flossing: bits & 1 != 0,
            weekly_report: bits & 2 != 0,
            monthly_report: bits & 4 != 0,
            payment_receipts: bits & 8 != 0,
        };
        let fresh = UserProfile {
            email_verified: false,
            second_factor: false,
            identity: None,
            phone: None,
            company: None,
            vat_id: None,
            country: None,
            address: None,
            notifications: wishes(15),
            language: None,
        };
        assert_eq!(read().await, fresh);
        let text = |text: &str| Some(text.to_owned());
        for bits in 0..16 {
            let address =
                PostalAddress { line1: text("Straße 1\n\"a\""), country: text("DE"), ..PostalAddress::default() };
            let full = UserProfile {
                phone: text("+49 1"),
                company: text("Größe 賭"),
                vat_id: text("DE1"),
                country: text("DE"),
                address: Some(address),
                notifications: wishes(bits),
                language: Some(PageLanguage::ALL[usize::from(bits) % 4]),
                ..fresh.clone()
            };
            store.write(|tx| profile::write(tx, org.no, ann.id, &full).scope_boxed()).await.unwrap();
            assert_eq!(read().await, full);
        }
        store.write(|tx| profile::write(tx, org.no, ann.id, &fresh).scope_boxed()).await.unwrap();
        for identity in IdentityCheck::ALL.map(Some).into_iter().chain([None]) {
            store.write(|tx| profile::set_identity(tx, org.no, ann.id, identity).scope_boxed()).await.unwrap();
            assert_eq!(read().await, UserProfile { identity, ..fresh.clone() });
        }
        store.write(|tx| second_factor::begin(tx, org.no, ann.id, &[1]).scope_boxed()).await.unwrap();
        assert_eq!(read().await, fresh, "begun is not asked for");
        store.write(|tx| second_factor::confirm(tx, (org.no, ann.id), &[1], &[], NOW).scope_boxed()).await.unwrap();
        assert_eq!(read().await, UserProfile { second_factor: true, ..fresh });
        let nobody = store.write(|tx| profile::lock(tx, OrgNo(7), ann.id).scope_boxed()).await;
        assert!(matches!(nobody, Err(StoreError::NotFound)), "{nobody:?}");
    })
    .await;
}

#[tokio::test]
async fn a_link_works_once_and_for_a_time() {
    for_each_database(async |store| {
        let org = add_org(&store, 1).await;
        let ann = TeamMember { status: UserStatus::Invited, ..user(&org, 1, "ann@example.org") };
        add(&store, &ann).await.unwrap();
        invite(&store, &ann, 1, false).await;
        let found = LinkTarget {
            user: ann.clone(),
            org_id: org.id,
            org_name: org.name.clone(),
            expires_at: NOW + DAY,
            by_mail: false,
        };
        assert_eq!(look(&store, 1, NOW + DAY - 1).await, Some(found));
        assert_eq!(look(&store, 1, NOW + DAY).await, None);
        assert!(matches!(redeem(&store, 1, NOW + DAY).await, Err(StoreError::NotFound)));
        assert!(matches!(redeem(&store, 2, NOW).await, Err(StoreError::NotFound)));
        assert_eq!(by_id(&store, &ann).await.unwrap().status, UserStatus::Invited);
        let at_once = futures_util::future::join_all((0..5).map(|_| redeem(&store, 1, NOW + 1))).await;
        let (done, refused): (Vec<_>, Vec<_>) = at_once.into_iter().partition(Result::is_ok);
        assert!(refused.iter().all(|one| matches!(one, Err(StoreError::NotFound))), "{refused:?}");
        let joined = TeamMember { status: UserStatus::Active, ..ann.clone() };
        assert_eq!(done.into_iter().map(Result::unwrap).collect::<Vec<_>>(), std::slice::from_ref(&joined));
        assert_eq!(by_id(&store, &ann).await.unwrap(), joined);
        let mut conn = store.read().await.unwrap();
        let events = timeline::newest_events(&mut conn, org.no, NOW, NOW + DAY, 10).await.unwrap();
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!(events[0].what, AccountChange::Account(AccountEventKind::MemberJoined, None));
        assert_eq!(events[0].actor, Some(EventActor::User(ann.id)));
        let profile = profile::read(&mut conn, org.no, ann.id).await.unwrap();
        assert!(!profile.email_verified, "a link that was shown proves no address");
    })
    .await;
}

#[tokio::test]
async fn a_link_of_a_member_changes_nothing_but_what_its_user_does_with_it() {
    for_each_database(async |store| {
        let org = add_org(&store, 1).await;
        let ann = user(&org, 1, "ann@example.org");
        add(&store, &ann).await.unwrap();
        invite(&store, &ann, 1, true).await;
        assert_eq!(redeem(&store, 101, NOW).await.unwrap(), ann);
        assert!(look(&store, 1, NOW).await.is_none(), "the two links are one invitation");
        let mut conn = store.read().await.unwrap();
        assert_eq!(timeline::newest_events(&mut conn, org.no, NOW, NOW + DAY, 10).await.unwrap(), []);
        assert!(profile::read(&mut conn, org.no, ann.id).await.unwrap().email_verified);
        invite(&store, &ann, 2, false).await;
        invite(&store, &ann, 3, true).await;
        assert!(look(&store, 2, NOW).await.is_none(), "a new one ends the one before");
        assert!(look(&store, 103, NOW).await.unwrap().by_mail);
        let paused = TeamMember { status: UserStatus::Paused, ..ann };
        store.write(|tx| users::write(tx, &paused).scope_boxed()).await.unwrap();
        assert!(look(&store, 3, NOW).await.is_none());
        assert!(matches!(redeem(&store, 3, NOW).await, Err(StoreError::NotFound)));
    })
    .await;
}

async fn claim(store: &Store, now: Millis, run: &'static str) -> Vec<ClaimedLetter> {
    crate::letters::claim(store, LetterKind::Link, now, run).await
}

#[tokio::test]
async fn mail_is_one_runs_until_its_lease_ends() {
    for_each_database(async |store| {
        let org = add_org(&store, 1).await;
        let due = async |now| any_due(&store, LetterKind::Link, now).await;
        assert!(!due(NOW).await && claim(&store, NOW, "a").await.is_empty());
        for n in 1..=3 {
            let member = user(&org, n, &format!("a{n}@example.org"));
            add(&store, &member).await.unwrap();
            invite(&store, &member, n, n < 3).await;
        }
        assert!(due(NOW).await);
        let held = claim(&store, NOW, "a").await;
        let mut emails: Vec<_> = held.iter().map(|one| one.email.as_str()).collect();
        emails.sort_unstable();
        assert_eq!(emails, ["a1@example.org", "a2@example.org"]);
        assert_eq!((held[0].attempts, &held[0].org_name), (0, &org.name));
        for one in &held {
            let mail = invitations::mailed(&mut store.read().await.unwrap(), org.no, one.user).await.unwrap().unwrap();
            assert_eq!((one.email.clone(), mail.expires_at), (format!("a{}@example.org", mail.seed[0]), NOW + DAY));
        }
        assert!(!due(NOW + 999).await && claim(&store, NOW + 999, "b").await.is_empty());
        assert_eq!(claim(&store, NOW + 1_000, "b").await.len(), 2);
        let late = record(&store, &held[0], None).await;
        assert!(matches!(late, Err(StoreError::LeaseLost)), "{late:?}");
        let again = claim(&store, NOW + 2_000, "c").await;
        record(&store, &again[0], Some(NOW + 5_000)).await.unwrap();
        record(&store, &again[1], None).await.unwrap();
        assert!(!due(NOW + 4_999).await);
        let last = claim(&store, NOW + 5_000, "d").await;
        assert_eq!((last.len(), last[0].user, last[0].attempts), (1, again[0].user, 1));
        record(&store, &last[0], None).await.unwrap();
        assert!(!due(NOW + DAY).await);
        // A new invitation is due again, regardless of the fate of the previous one.
        let failed = TeamMember { id: again[1].user, ..user(&org, 1, "") };
        invite(&store, &failed, 9, true).await;
        assert!(!due(NOW + 599_999).await, "and for a while, as the one before is young");
        assert_eq!(claim(&store, NOW + 600_000, "e").await[0].attempts, 0);
        // After any number of repetitions, mail is sent for the last one, once.
        for n in 10..20 {
            invite(&store, &failed, n, true).await;
        }
        assert!(!due(NOW + 599_999).await);
        assert_eq!(claim(&store, NOW + 600_000, "f").await.len(), 1);
    })
    .await;
}
