//! Mail to members when their list ends.

use probity_account::id::UserId;
use probity_account::role::MemberRole;
use probity_store::accounts::users::{self, TeamMember, UserStatus};
use probity_store::activity::letters::{self, ClaimedLetter, LetterKey, LetterKind};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError, jobs};

use super::{NOW, new_job, org, submit};
use crate::databases::for_each_database;
use crate::letters::{any_due, record};

async fn member(store: &Store, org: OrgNo, n: u8) -> UserId {
    let user = TeamMember {
        org,
        id: UserId::new(NOW, [n; 10]),
        email: Some(format!("user{n}@example.com")),
        name: None,
        role: MemberRole::Contributor,
        is_primary: false,
        status: UserStatus::Active,
        created_at: NOW,
    };
    store.write(|tx| users::insert(tx, &user).scope_boxed()).await.unwrap();
    user.id
}

async fn ask(store: &Store, letter: &LetterKey) {
    store.write(|tx| letters::put(tx, letter, NOW, None).scope_boxed()).await.unwrap();
}

async fn claim(store: &Store, after_ms: i64, run: &str) -> Vec<ClaimedLetter> {
    crate::letters::claim(store, LetterKind::List, NOW + after_ms, run).await
}

#[tokio::test]
async fn mail_about_a_list_waits_for_its_end_and_goes_to_those_who_asked() {
    for_each_database(async |store| {
        let org = org(&store, 20).await;
        let (ann, bob) = (member(&store, org, 1).await, member(&store, org, 2).await);
        let job = new_job(org, 1);
        let no = submit(&store, &job, 3).await.unwrap();
        for user in [ann, ann, bob] {
            ask(&store, &LetterKey::list(org, no, user)).await;
        }
        let withdrawn = LetterKey::list(org, no, bob);
        store.write(|tx| letters::remove(tx, &withdrawn).scope_boxed()).await.unwrap();
        let asked = async |user| {
            letters::exists(&mut store.read().await.unwrap(), &LetterKey::list(org, no, user)).await.unwrap()
        };
        assert_eq!([asked(ann).await, asked(bob).await], [true, false]);
        assert_eq!(claim(&store, 0, "early").await, []);
        let waiting = async || letters::waiting(&mut store.read().await.unwrap()).await.unwrap();
        assert_eq!(waiting().await, 0, "nothing is due before the end");

        store.write(|tx| jobs::cancel(tx, org, job.id, false, NOW).scope_boxed()).await.unwrap().unwrap();
        assert_eq!(waiting().await, 1, "the metrics show what no relay has accepted yet");
        let claimed = claim(&store, 0, "first").await;
        let [mail] = &claimed[..] else { panic!("one: {claimed:?}") };
        assert_eq!((mail.email.as_str(), &mail.key), ("user1@example.com", &LetterKey::list(org, no, ann)));
        assert_eq!(claim(&store, 0, "second").await, [], "another has it");
        record(&store, mail, Some(NOW + 500)).await.unwrap();
        assert_eq!(claim(&store, 499, "third").await, []);
        let later = claim(&store, 500, "fourth").await;
        assert_eq!(later[0].attempts, 1);
        assert!(matches!(record(&store, mail, None).await, Err(StoreError::LeaseLost)));
        record(&store, &later[0], None).await.unwrap();
        assert!(!asked(ann).await);
        assert_eq!(waiting().await, 0);
    })
    .await;
}

#[tokio::test]
async fn nobody_gets_mail_about_a_list_that_was_deleted() {
    for_each_database(async |store| {
        let org = org(&store, 20).await;
        let ann = member(&store, org, 1).await;
        let job = new_job(org, 1);
        let no = submit(&store, &job, 3).await.unwrap();
        ask(&store, &LetterKey::list(org, no, ann)).await;
        store.write(|tx| jobs::cancel(tx, org, job.id, false, NOW).scope_boxed()).await.unwrap().unwrap();
        store.write(|tx| jobs::delete(tx, org, job.id, false, NOW).scope_boxed()).await.unwrap().unwrap();
        assert_eq!(claim(&store, 0, "run").await, []);
        assert!(!any_due(&store, LetterKind::List, NOW + 60_000).await, "dropped");
    })
    .await;
}
