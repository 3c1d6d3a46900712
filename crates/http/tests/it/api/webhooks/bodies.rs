//! Tests of a delivery's body, as it was sent and as the log shows it.

use probity_account::id::{DeliveryId, EventId, JobId};
use probity_account::scope::Scope;
use probity_contract::timestamp::Timestamp;
use probity_mail::time::Millis;
use probity_store::webhooks::outbox::{self, DeliveryContent, NewDelivery};
use probity_store::{ScopedFutureExt as _, jobs};
use serde_json::{Value, json};

use super::{PATH, act, deliveries, id, make, newest, to_loopback};
use crate::api::batch::{done, submit};
use crate::test_app::{TestApp, real_moment};
use crate::webhooks::receivers::{Manner, Receiver};

/// Returns ID, timestamp and body of a request.
fn sent(request: &str) -> (String, i64, String) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap();
    (header("webhook-id").to_owned(), header("webhook-timestamp").parse().unwrap(), body.to_owned())
}

/// Returns a webhook's deliveries with their bodies, when `count` were delivered.
async fn delivered(app: &TestApp, key: &str, webhook: &str, count: usize) -> Vec<Value> {
    for _ in 0..5_000 {
        let found = deliveries(app, key, webhook, "?status=delivered").await;
        if found.len() == count {
            let mut detailed = Vec::new();
            for one in found {
                let place = format!("{PATH}/{webhook}/deliveries/{}", id(&one));
                detailed.push(app.get(key, &place).await.ok(200));
            }
            return detailed;
        }
        real_moment().await;
    }
    panic!("never so: {:?}", deliveries(app, key, webhook, "").await);
}

#[tokio::test]
async fn a_delivery_is_shown_with_the_body_and_the_timestamp_that_were_sent() {
    TestApp::each(to_loopback(), async |app| {
        let (org, key) = app.customer().await;
        let mut receiver = Receiver::start(Manner::status(204)).await;
        let events = ["status.undeliverable", "status.unknown", "status.risky", "job.finished"];
        let webhook = make(app, &key, &receiver.url(), &events).await;
        let job = submit(app, &key, &["nobody@null-mx.com"]).await;
        done(app, &key, &job).await;
        let requests = [sent(&receiver.request().await), sent(&receiver.request().await)];
        for shown in delivered(app, &key, id(&webhook), 2).await {
            let event = &shown["request"]["headers"]["webhook-id"];
            let (_, timestamp, body) = requests.iter().find(|(id, ..)| id == event.as_str().unwrap()).unwrap();
            assert_eq!((&shown["body"], &shown["missing_body"]), (&json!(body), &Value::Null));
            let at: Timestamp = shown["last_attempt"]["at"].as_str().unwrap().parse().unwrap();
            assert_eq!(at.0.0.div_euclid(1_000), *timestamp);
        }
        // A key that cannot read lists cannot read them here either.
        let narrow = app.restricted(&org, Some(Scope::ReadWebhooks)).await;
        for shown in delivered(app, &narrow, id(&webhook), 2).await {
            assert_eq!((&shown["body"], &shown["missing_body"]), (&Value::Null, &json!("scope_missing")));
        }
        let test = act(app, &key, "POST", &format!("{}/test", id(&webhook))).await.ok(200);
        let (_, _, body) = sent(&receiver.request().await);
        newest(app, &key, id(&webhook), |one| one["id"] == test["id"] && one["status"] == "delivered").await;
        let shown = app.get(&narrow, &format!("{PATH}/{}/deliveries/{}", id(&webhook), id(&test))).await.ok(200);
        assert_eq!(shown["body"], json!(body), "a test is about nothing");
    })
    .await;
}

#[tokio::test]
async fn a_delivery_whose_rows_are_gone_says_so_and_one_of_another_webhook_is_not_found() {
    TestApp::each(to_loopback(), async |app| {
        let (org, key) = app.customer().await;
        let (one, other) = (
            make(app, &key, "https://hooks.example.com/", &["job.finished"]).await,
            make(app, &key, "https://hooks.example.com/", &["job.finished"]).await,
        );
        let job = submit(app, &key, &["nobody@null-mx.com"]).await;
        done(app, &key, &job).await;
        let put = async |bits: u128, kind: &str, job: JobId| {
            let message = NewDelivery {
                org: org.no,
                id: DeliveryId::from_bits(bits),
                event: EventId::from_bits(bits),
                kind: kind.into(),
                url: "https://hooks.example.com/".into(),
                content: DeliveryContent::Rows(vec![0]),
                job: Some(job),
                signer: id(&one).to_owned(),
                created_at: Millis(i64::MAX / 2),
            };
            assert!(app.store.write(|tx| outbox::put(tx, &message).scope_boxed()).await.unwrap());
            format!("deliveries/{}", message.id)
        };
        let no_match = put(1, "status.passed", job.parse().unwrap()).await;
        let no_job = put(2, "status.undeliverable", JobId::from_bits(7)).await;
        let deleted = put(3, "status.undeliverable", job.parse().unwrap()).await;
        let shown = app.get(&key, &format!("{PATH}/{}/{deleted}", id(&one))).await.ok(200);
        assert_ne!(shown["body"], Value::Null, "{shown}");
        let job: JobId = job.parse().unwrap();
        let delete = app.store.write(|tx| jobs::delete(tx, org.no, job, false, Millis(1)).scope_boxed());
        assert_eq!(delete.await.unwrap(), Ok(()));
        for path in [&no_match, &no_job, &deleted] {
            let shown = app.get(&key, &format!("{PATH}/{}/{path}", id(&one))).await.ok(200);
            assert_eq!((&shown["body"], &shown["missing_body"]), (&Value::Null, &json!("rows_gone")));
            app.get(&key, &format!("{PATH}/{}/{path}", id(&other))).await.error(404, "not_found");
        }
    })
    .await;
}
