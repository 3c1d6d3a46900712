//! Webhooks: their rows, subscriptions, health, and deliveries in the outbox.

use probity_account::id::{DeliveryId, EventId, JobId, WebhookId};
use probity_account::webhook::{ContactChange, Topic};
use probity_mail::time::Millis;
use probity_mail::verdict::{Reason, Status};
use probity_store::jobs::{self, JobNo, NewJob};
use probity_store::webhooks::outbox::{self, DeliveryContent, NewDelivery, OutboxState, SenderCapacity};
use probity_store::webhooks::{self, WebhookEndpoint, WebhookFailures};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};

use crate::databases::for_each_database;
use crate::organizations;

const NOW: Millis = Millis(1_800_000_000_000);
const MANY: i64 = 100;

async fn org(store: &Store, n: u8) -> OrgNo {
    organizations::add_nth(store, n, NOW).await
}

fn webhook(org: OrgNo, n: u8) -> WebhookEndpoint {
    WebhookEndpoint {
        org,
        id: WebhookId::new(NOW, [n; 10]),
        test: false,
        name: format!("Größe {n}"),
        url: "https://hooks.example.com/x".into(),
        events: vec![Topic::JobFinished],
        active: true,
        created_at: NOW + i64::from(n),
        last_delivery_at: None,
    }
}

async fn insert(store: &Store, webhook: &WebhookEndpoint, at_most: i64) -> bool {
    store.write(|tx| webhooks::insert(tx, webhook, b"secret", at_most).scope_boxed()).await.unwrap()
}

async fn by_id(store: &Store, webhook: &WebhookEndpoint) -> Result<WebhookEndpoint, StoreError> {
    webhooks::by_id(&mut store.read().await?, webhook.org, webhook.id, webhook.test).await
}

async fn job(store: &Store, org: OrgNo, n: u8, test: bool) -> (JobId, JobNo) {
    let id = JobId::new(NOW, [n; 10]);
    let job = NewJob { org, id, test, source: "api", started_by: "api", source_action: "t", actor: None, at: NOW };
    (id, store.write(|tx| jobs::begin(tx, &job).scope_boxed()).await.unwrap())
}

#[tokio::test]
async fn webhooks_come_back_as_they_went_in_and_to_their_own_sort_of_key() {
    for_each_database(async |store| {
        let (own, other) = (org(&store, 1).await, org(&store, 2).await);
        let events = vec![
            Topic::Status(Status::Risky),
            Topic::Reason(Reason::AcceptAll),
            Topic::Contact(ContactChange::Tagged),
            Topic::JobFinished,
        ];
        let full = WebhookEndpoint { events, active: false, ..webhook(own, 1) };
        let of_tests = WebhookEndpoint { test: true, ..webhook(own, 2) };
        for one in [&full, &of_tests, &webhook(other, 3)] {
            assert!(insert(&store, one, MANY).await);
            assert_eq!(by_id(&store, one).await.unwrap(), *one);
        }
        for foreign in [
            WebhookEndpoint { org: other, ..full.clone() },
            WebhookEndpoint { test: true, ..full.clone() },
            WebhookEndpoint { test: false, ..of_tests.clone() },
        ] {
            assert!(matches!(by_id(&store, &foreign).await, Err(StoreError::NotFound)));
            let WebhookEndpoint { org, id, test, .. } = foreign;
            let removed = store.write(|tx| webhooks::remove(tx, org, id, test).scope_boxed()).await;
            assert!(matches!(removed, Err(StoreError::NotFound)), "{removed:?}");
            let rotated = store.write(|tx| webhooks::rotate(tx, org, id, test, b"x", (NOW, NOW)).scope_boxed()).await;
            assert!(matches!(rotated, Err(StoreError::NotFound)), "{rotated:?}");
        }
        let mut conn = store.read().await.unwrap();
        assert_eq!(webhooks::page(&mut conn, own, true, None, 10).await.unwrap(), [of_tests]);
        drop(conn);
        store.write(|tx| webhooks::remove(tx, own, full.id, false).scope_boxed()).await.unwrap();
        assert!(matches!(by_id(&store, &full).await, Err(StoreError::NotFound)));
    })
    .await;
}

#[tokio::test]
async fn an_organization_has_so_many_and_no_more_and_they_come_in_pages() {
    for_each_database(async |store| {
        let (own, other) = (org(&store, 1).await, org(&store, 2).await);
        for n in 1..=3 {
            assert!(insert(&store, &WebhookEndpoint { created_at: NOW, ..webhook(own, n) }, 3).await);
        }
        assert!(!insert(&store, &webhook(own, 4), 3).await, "of whatever sort");
        assert!(insert(&store, &webhook(other, 5), 3).await);
        let mut conn = store.read().await.unwrap();
        let mut seen = Vec::new();
        let mut after = None;
        while let [one] = &webhooks::page(&mut conn, own, false, after, 1).await.unwrap()[..] {
            after = Some((one.created_at, one.id));
            seen.push(one.id);
        }
        assert_eq!(seen, [3, 2, 1].map(|n| webhook(own, n).id));
    })
    .await;
}

#[tokio::test]
async fn several_that_make_one_at_once_keep_to_the_number() {
    for_each_database(async |store| {
        let own = org(&store, 1).await;
        let mut making = tokio::task::JoinSet::new();
        for n in 1..=8 {
            let store = store.clone();
            making.spawn(async move { insert(&store, &webhook(own, n), 3).await });
        }
        let made = making.join_all().await;
        assert_eq!(made.iter().filter(|made| **made).count(), 3);
    })
    .await;
}

#[tokio::test]
async fn a_job_is_told_to_active_webhooks_of_its_sort() {
    for_each_database(async |store| {
        let (own, other) = (org(&store, 1).await, org(&store, 2).await);
        let idle = WebhookEndpoint { active: false, ..webhook(own, 3) };
        let of_tests = WebhookEndpoint { test: true, ..webhook(own, 2) };
        for one in [&webhook(own, 1), &of_tests, &idle, &webhook(other, 4)] {
            insert(&store, one, MANY).await;
        }
        let ((live, live_no), (_, test_no)) = (job(&store, own, 1, false).await, job(&store, own, 2, true).await);
        let mut conn = store.read().await.unwrap();
        let [listener] = &webhooks::listeners(&mut conn, own, live_no).await.unwrap()[..] else { panic!("one") };
        assert_eq!((listener.id, listener.job), (webhook(own, 1).id, live));
        assert_eq!(
            (listener.url.as_str(), &listener.events[..]),
            ("https://hooks.example.com/x", &[Topic::JobFinished][..])
        );
        let told = webhooks::listeners(&mut conn, own, test_no).await.unwrap();
        assert_eq!(told.iter().map(|one| one.id).collect::<Vec<_>>(), [of_tests.id]);
        assert_eq!(webhooks::listeners(&mut conn, other, live_no).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn changes_count_when_a_message_is_sent() {
    for_each_database(async |store| {
        let own = org(&store, 1).await;
        let before = webhook(own, 1);
        insert(&store, &before, MANY).await;
        let after =
            WebhookEndpoint { url: "https://b.example/".into(), active: false, name: "b".into(), ..before.clone() };
        let changed = store.write(|tx| {
            async {
                let standing = webhooks::lock(tx, own, before.id, false).await?;
                webhooks::write(tx, &standing, &after).await?;
                webhooks::rotate(tx, own, before.id, false, b"fresh", (NOW, NOW + 7)).await
            }
            .scope_boxed()
        });
        changed.await.unwrap();
        assert_eq!(by_id(&store, &before).await.unwrap(), after);
        let mut conn = store.read().await.unwrap();
        let wanted = [(own, before.id), (own, webhook(own, 9).id), (OrgNo(5), before.id)];
        let [receiver] = &webhooks::receivers(&mut conn, &wanted).await.unwrap()[..] else { panic!("one") };
        assert_eq!((receiver.id, receiver.active, receiver.url.as_str()), (before.id, false, "https://b.example/"));
        assert_eq!(receiver.secret, b"fresh");
        assert_eq!(receiver.previous, Some((b"secret".to_vec(), NOW + 7)));
    })
    .await;
}

#[tokio::test]
async fn the_secret_before_signs_until_its_end_however_often_a_new_one_is_made() {
    for_each_database(async |store| {
        let own = org(&store, 1).await;
        let id = webhook(own, 1).id;
        insert(&store, &webhook(own, 1), MANY).await;
        for (fresh, at, before, until) in
            [(b"1", 0, &b"secret"[..], 5), (b"2", 4, b"secret", 5), (b"3", 5, b"2", 10), (b"4", 20, b"3", 25)]
        {
            let rotated =
                store.write(|tx| webhooks::rotate(tx, own, id, false, fresh, (NOW + at, NOW + at + 5)).scope_boxed());
            assert_eq!(rotated.await.unwrap(), NOW + until);
            let mut conn = store.read().await.unwrap();
            let [receiver] = &webhooks::receivers(&mut conn, &[(own, id)]).await.unwrap()[..] else { panic!("one") };
            assert_eq!((&receiver.secret[..], &receiver.previous), (&fresh[..], &Some((before.to_vec(), NOW + until))));
        }
    })
    .await;
}

#[tokio::test]
async fn how_it_fares_is_counted_since_it_last_took_something() {
    for_each_database(async |store| {
        let own = org(&store, 1).await;
        let one = webhook(own, 1);
        insert(&store, &one, MANY).await;
        let failed = async |at: i64, given_up| {
            store.write(|tx| webhooks::failed(tx, own, one.id, NOW + at, given_up).scope_boxed()).await.unwrap()
        };
        assert_eq!(failed(1, false).await, Some(WebhookFailures { since: NOW + 1, given_up: 0 }));
        assert_eq!(failed(9, true).await, Some(WebhookFailures { since: NOW + 1, given_up: 1 }));
        store.write(|tx| webhooks::delivered(tx, own, one.id, NOW + 10).scope_boxed()).await.unwrap();
        assert_eq!(by_id(&store, &one).await.unwrap().last_delivery_at, Some(NOW + 10));
        assert_eq!(failed(11, true).await, Some(WebhookFailures { since: NOW + 11, given_up: 1 }));
        let disable = async || store.write(|tx| webhooks::disable(tx, own, one.id).scope_boxed()).await.unwrap();
        assert!(disable().await);
        assert!(!disable().await, "once");
        let disabled = by_id(&store, &one).await.unwrap();
        assert!(!disabled.active);
        let enabled = WebhookEndpoint { active: true, ..disabled.clone() };
        store.write(|tx| webhooks::write(tx, &disabled, &enabled).scope_boxed()).await.unwrap();
        assert_eq!(failed(12, false).await, Some(WebhookFailures { since: NOW + 12, given_up: 0 }), "it began again");
        let gone = store.write(|tx| webhooks::failed(tx, own, webhook(own, 2).id, NOW, true).scope_boxed()).await;
        assert_eq!(gone.unwrap(), None);
    })
    .await;
}

fn message(webhook: &WebhookEndpoint, n: u8, event: u8, content: DeliveryContent) -> NewDelivery {
    NewDelivery {
        org: webhook.org,
        id: DeliveryId::new(NOW, [n; 10]),
        event: EventId::new(NOW, [event; 10]),
        kind: "status.passed".into(),
        url: webhook.url.clone(),
        content,
        job: Some(JobId::new(NOW, [1; 10])),
        signer: webhook.id.to_string(),
        created_at: NOW,
    }
}

#[tokio::test]
async fn an_event_is_put_once_for_each_webhook_and_holds_no_rows_but_their_numbers() {
    for_each_database(async |store| {
        let (one, other) = (webhook(OrgNo(1), 1), webhook(OrgNo(1), 2));
        let put = async |messages: &[NewDelivery]| {
            store.write(|tx| outbox::put_quietly(tx, messages).scope_boxed()).await.unwrap()
        };
        let rows = || DeliveryContent::Rows(vec![3, 1, 1_000_000]);
        assert_eq!(put(&[]).await, 0);
        let both = [message(&one, 1, 1, rows()), message(&other, 2, 1, rows())];
        assert_eq!(put(&both).await, 2, "they share a URL, and are two");
        let moved = WebhookEndpoint { url: "https://elsewhere.example/".into(), ..one.clone() };
        let again = [message(&moved, 3, 1, rows()), message(&one, 4, 2, DeliveryContent::Bytes(vec![0, 255]))];
        assert_eq!(put(&again).await, 1, "its URL is another, it is the same webhook");
        let claimed =
            store.write(|tx| outbox::claim(tx, NOW, 1, "run", SenderCapacity::of(10)).scope_boxed()).await.unwrap();
        assert_eq!(claimed.len(), 3);
        assert_eq!((&claimed[0].content, claimed[0].job), (&rows(), both[0].job));
        assert_eq!(claimed[2].content, DeliveryContent::Bytes(vec![0, 255]));
        let mut conn = store.read().await.unwrap();
        let of = async |conn: &mut _, webhook: &WebhookEndpoint, state, after| {
            let page = outbox::of_webhook(conn, OrgNo(1), webhook.id, state, after, 10).await.unwrap();
            page.iter().map(|one| one.id).collect::<Vec<_>>()
        };
        assert_eq!(of(&mut conn, &one, None, None).await, [again[1].id, both[0].id]);
        assert_eq!(of(&mut conn, &one, None, Some((NOW, again[1].id))).await, [both[0].id]);
        assert_eq!(of(&mut conn, &one, Some(OutboxState::Delivered), None).await, []);
        assert_eq!(of(&mut conn, &other, Some(OutboxState::Waiting), None).await, [both[1].id]);
    })
    .await;
}

#[tokio::test]
async fn the_tests_that_wait_for_a_webhook_are_counted_up_to_a_number() {
    for_each_database(async |store| {
        let (one, other) = (webhook(OrgNo(1), 1), webhook(OrgNo(1), 2));
        let foreign = WebhookEndpoint { org: OrgNo(2), ..one.clone() };
        let test = |webhook: &WebhookEndpoint, n: u8| NewDelivery {
            kind: outbox::TEST.into(),
            ..message(webhook, n, n, DeliveryContent::Bytes(Vec::new()))
        };
        let messages = [
            test(&one, 1),
            test(&one, 2),
            test(&one, 3),
            message(&one, 4, 4, DeliveryContent::Bytes(Vec::new())),
            test(&other, 5),
            test(&foreign, 6),
        ];
        store.write(|tx| outbox::put_quietly(tx, &messages).scope_boxed()).await.unwrap();
        let waiting = async |webhook: &WebhookEndpoint, at_most| {
            outbox::tests_waiting(&mut store.read().await.unwrap(), webhook.org, webhook.id, at_most).await.unwrap()
        };
        assert_eq!((waiting(&one, 10).await, waiting(&one, 2).await), (3, 2));
        assert_eq!((waiting(&other, 10).await, waiting(&foreign, 10).await), (1, 1));
        store.write(|tx| outbox::claim(tx, NOW, 1, "run", SenderCapacity::of(10)).scope_boxed()).await.unwrap();
        assert_eq!(waiting(&one, 10).await, 3, "what is being sent waits");
        let sent = [(one.org, messages[0].id)];
        store.write(|tx| outbox::cancel(tx, "run", &sent).scope_boxed()).await.unwrap();
        assert_eq!(waiting(&one, 10).await, 2);
    })
    .await;
}

#[tokio::test]
async fn what_tells_of_rows_is_forgotten_sooner() {
    for_each_database(async |store| {
        let one = webhook(OrgNo(1), 1);
        let messages = [
            message(&one, 1, 1, DeliveryContent::Rows(vec![1])),
            message(&one, 2, 2, DeliveryContent::Bytes(Vec::new())),
        ];
        store.write(|tx| outbox::put_quietly(tx, &messages).scope_boxed()).await.unwrap();
        let purge = async |at: i64| store.write(|tx| outbox::purge_rows(tx, NOW + at, 10).scope_boxed()).await.unwrap();
        assert_eq!(purge(1).await, 0, "it waits");
        for claimed in
            store.write(|tx| outbox::claim(tx, NOW, 1, "run", SenderCapacity::of(10)).scope_boxed()).await.unwrap()
        {
            let attempt = outbox::AttemptResult {
                at: NOW,
                took_ms: 1,
                status: Some(200),
                error: None,
                answer: Vec::new(),
                state: OutboxState::Delivered,
                next_at: NOW,
            };
            store.write(|tx| outbox::record(tx, &claimed, &attempt).scope_boxed()).await.unwrap();
        }
        assert_eq!((purge(0).await, purge(1).await), (0, 1));
        let left = outbox::page(&mut store.read().await.unwrap(), OrgNo(1), None, None, 10).await.unwrap();
        assert_eq!(left.iter().map(|one| one.id).collect::<Vec<_>>(), [messages[1].id]);
    })
    .await;
}
