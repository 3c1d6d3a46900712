//! Tests of deliveries: limit of pending ones, ownership and redelivery.

use probity_account::id::{DeliveryId, EventId};
use probity_backend::webhooks::TEST;
use probity_mail::time::Millis;
use probity_store::ScopedFutureExt as _;
use probity_store::webhooks::outbox::{self, DeliveryContent, NewDelivery};
use serde_json::{Value, json};

use super::{PATH, act, deliveries, id, make, newest, patch, to_loopback};
use crate::test_app::TestApp;
use crate::webhooks::receivers::{Manner, Receiver};

#[tokio::test]
async fn a_delivery_belongs_to_its_webhook_and_a_disabled_one_is_not_told_again() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let (one, other) = (
        make(&app, &key, "https://hooks.example.com/", &["job.finished"]).await,
        make(&app, &key, "https://hooks.example.com/", &["job.finished"]).await,
    );
    let sent = act(&app, &key, "POST", &format!("{}/test", id(&one))).await.ok(200);
    let redeliver = |webhook: &Value, delivery: &str| format!("{}/deliveries/{delivery}/redeliver", id(webhook));
    act(&app, &key, "POST", &redeliver(&other, id(&sent))).await.error(404, "not_found");
    act(&app, &key, "POST", &redeliver(&one, "dlv_nonsense")).await.error(404, "not_found");
    assert_eq!(deliveries(&app, &key, id(&other), "").await, Vec::<Value>::new());
    patch(&app, &key, id(&one), json!({"status": "disabled"})).await.ok(200);
    act(&app, &key, "POST", &redeliver(&one, id(&sent))).await.error(409, "conflict");
    let tried = act(&app, &key, "POST", &format!("{}/test", id(&one))).await.ok(200);
    let tried = newest(&app, &key, id(&one), |one| one["id"] == tried["id"] && one["status"] == "exhausted").await;
    assert_eq!(tried["last_attempt"]["error"], "the endpoint could not be reached");
    assert_eq!(tried["last_attempt"]["took_ms"], Value::Null, "times would tell what is there");
    assert_eq!(deliveries(&app, &key, id(&one), "?status=delivered").await, Vec::<Value>::new());
    app.get(&key, &format!("{PATH}/{}/deliveries?status=lost", id(&one))).await.error(400, "invalid_request");
    app.stop().await;
}

#[tokio::test]
async fn ten_tests_may_wait_for_a_webhook_and_no_eleventh() {
    TestApp::each(to_loopback(), async |app| {
        let (org, key) = app.customer().await;
        let receiver = Receiver::start(Manner::status(200)).await;
        let events = &["job.finished"];
        let (one, other) =
            (make(app, &key, &receiver.url(), events).await, make(app, &key, &receiver.url(), events).await);
        // Nothing is sent that is due in the far future.
        let waits = async |bits: u128| {
            let message = NewDelivery {
                org: org.no,
                id: DeliveryId::from_bits(bits),
                event: EventId::from_bits(bits),
                kind: TEST.into(),
                url: receiver.url(),
                content: DeliveryContent::Bytes(b"{}".to_vec()),
                job: None,
                signer: id(&one).to_owned(),
                created_at: Millis(i64::MAX / 2),
            };
            assert!(app.store.write(|tx| outbox::put(tx, &message).scope_boxed()).await.unwrap());
        };
        for bits in 1..=9 {
            waits(bits).await;
        }
        let test = async |webhook: &Value| act(app, &key, "POST", &format!("{}/test", id(webhook))).await;
        test(&one).await.ok(200);
        waits(10).await;
        test(&one).await.error(409, "conflict");
        let to_other = test(&other).await.ok(200)["id"].clone();
        // Deleting a webhook removes all its deliveries, and no others.
        act(app, &key, "DELETE", id(&one)).await.ok(200);
        let left = outbox::page(&mut app.store.read().await.unwrap(), org.no, None, None, 100).await.unwrap();
        let left: Vec<_> = left.iter().map(|message| message.id.to_string()).collect();
        assert_eq!(json!(left), json!([to_other]));
    })
    .await;
}
