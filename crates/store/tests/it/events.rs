//! Events: listed newest first, counted completely, and removed when old.

use probity_account::id::{ConnId, JobId, KeyId, UserId, WebhookId};
use probity_mail::time::Millis;
use probity_store::activity::events::{
    self, AccountChange, AccountEventKind, ChangedRun, ConnectionEventKind, EventActor, EventSubject,
    StoredAccountEvent,
};
use probity_store::activity::timeline::{self, EventCounts};
use probity_store::{OrgNo, ScopedFutureExt as _, Store};
use serde_json::json;

use crate::databases::for_each_database;

const NOW: Millis = Millis(1_800_000_000_000);
const ORG: OrgNo = OrgNo(1);
const LATER: Millis = Millis(i64::MAX);

async fn add(store: &Store, org: OrgNo, at: Millis, actor: Option<EventActor>, happened: &[AccountChange]) {
    store.write(|tx| events::add(tx, org, at, actor, happened).scope_boxed()).await.unwrap();
}

async fn newest(store: &Store, org: OrgNo, from: Millis, to: Millis, at_most: i64) -> Vec<StoredAccountEvent> {
    timeline::newest_events(&mut store.read().await.unwrap(), org, from, to, at_most).await.unwrap()
}

async fn count(store: &Store, from: Millis, to: Millis) -> (u64, u64) {
    let EventCounts { settings_changes, account_events } = timeline::count_events(store, ORG, from, to).await.unwrap();
    (settings_changes, account_events)
}

fn change(setting: &str, after: i64, connection: Option<ConnId>) -> AccountChange {
    AccountChange::SettingsChange { setting: setting.into(), before: json!(null), after: json!(after), connection }
}

#[tokio::test]
async fn events_come_back_newest_first_as_they_were_written() {
    for_each_database(async |store| {
        let actors = [
            None,
            Some(EventActor::User(UserId::new(NOW, [1; 10]))),
            Some(EventActor::ApiKey(KeyId::new(NOW, [2; 10]))),
            Some(EventActor::Staff),
            Some(EventActor::System),
        ];
        let connection = Some(ConnId::new(NOW, [3; 10]));
        let mut expected = Vec::new();
        for (number, actor) in (0..).zip(actors) {
            let at = NOW + number;
            let happened = [change("a.b", number, connection), change("a.c", number, None)];
            add(&store, ORG, at, actor, &happened).await;
            expected.extend(happened.map(|what| StoredAccountEvent { at, what, actor }));
        }
        for kind in AccountEventKind::ALL {
            add(&store, ORG, NOW + 9, None, &[AccountChange::Account(kind, None)]).await;
            expected.push(StoredAccountEvent { at: NOW + 9, what: AccountChange::Account(kind, None), actor: None });
        }
        let (key, member) = (KeyId::new(NOW, [4; 10]), UserId::new(NOW, [5; 10]));
        let subjects = [
            EventSubject::Key(key),
            EventSubject::Member(member),
            EventSubject::Webhook(WebhookId::new(NOW, [6; 10])),
            EventSubject::Job(JobId::new(NOW, [7; 10])),
        ];
        for subject in subjects {
            let what = AccountChange::about(AccountEventKind::KeyRevoked, subject);
            add(&store, ORG, NOW + 9, None, std::slice::from_ref(&what)).await;
            expected.push(StoredAccountEvent { at: NOW + 9, what, actor: None });
        }
        for change in ConnectionEventKind::ALL {
            let connection = ConnId::new(NOW, [3; 10]);
            for run in [None, Some(ChangedRun { id: JobId::new(NOW, [4; 10]), contacts: Some(7) })] {
                let what = AccountChange::ConnectionChange { connection, provider: "ghost".into(), change, run };
                add(&store, ORG, NOW + 10, None, std::slice::from_ref(&what)).await;
                expected.push(StoredAccountEvent { at: NOW + 10, what, actor: None });
            }
        }
        add(&store, OrgNo(2), NOW, None, &[AccountChange::Account(AccountEventKind::Hold, None)]).await;
        expected.reverse();
        assert_eq!(newest(&store, ORG, NOW, LATER, 100).await, expected);
        assert_eq!(newest(&store, ORG, NOW, LATER, 3).await, expected[..3]);
        assert_eq!(newest(&store, ORG, NOW + 1, NOW + 3, 100).await.len(), 4, "the end is not within");
        let others = AccountEventKind::ALL.len() + subjects.len() + 2 * ConnectionEventKind::ALL.len();
        assert_eq!(count(&store, NOW, LATER).await, (10, u64::try_from(others).unwrap()));
        assert_eq!(count(&store, NOW + 1, NOW + 3).await, (4, 0));
        assert_eq!(newest(&store, OrgNo(2), NOW, LATER, 100).await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn what_happens_in_one_millisecond_is_all_there_and_counted() {
    for_each_database(async |store| {
        let many = vec![AccountChange::Account(AccountEventKind::KeyCreated, None); 300];
        let write = || add(&store, ORG, NOW, Some(EventActor::Staff), &many);
        tokio::join!(write(), write(), write(), write());
        add(&store, ORG, NOW + 1, None, &[change("a", 1, None)]).await;
        assert_eq!(count(&store, NOW, LATER).await, (1, 1_200));
        assert_eq!(count(&store, NOW, NOW + 1).await, (0, 1_200));
        assert_eq!(newest(&store, ORG, NOW, LATER, 1).await[0].at, NOW + 1);
    })
    .await;
}

#[tokio::test]
async fn old_events_go_a_few_at_a_time() {
    for_each_database(async |store| {
        for day in 0..5 {
            add(&store, ORG, NOW + day, None, &[change("a", day, None)]).await;
        }
        let purge = async |before: Millis, at_most: u32| {
            store.write(|tx| events::purge(tx, before, at_most).scope_boxed()).await.unwrap()
        };
        assert_eq!(purge(NOW + 3, 2).await, 2);
        assert_eq!(purge(NOW + 3, 2).await, 1);
        assert_eq!(purge(NOW + 3, 2).await, 0);
        assert_eq!(count(&store, NOW, LATER).await, (2, 0));
    })
    .await;
}

#[tokio::test]
async fn confidential_values_never_reach_the_database() {
    for_each_database(async |store| {
        let what = AccountChange::SettingsChange {
            setting: "organization.banned_words".into(),
            before: json!([]),
            after: json!(["ann@example.com"]),
            connection: None,
        };
        add(&store, ORG, NOW, None, &[what]).await;
        let shown = newest(&store, ORG, NOW, LATER, 1).await.remove(0).what;
        let AccountChange::SettingsChange { before, after, .. } = shown else { panic!("{shown:?}") };
        assert_eq!((before, after), (json!([]), json!(events::REDACTED)));
    })
    .await;
}
