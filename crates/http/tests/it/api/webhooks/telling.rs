//! Tests of the events about rows and jobs that webhooks receive, and of their signatures.

use std::collections::BTreeMap;

use probity_backend::webhooks::sign::{Secret, signatures};
use serde_json::{Value, json};

use super::{PATH, act, deliveries, id, make, newest, patch, to_loopback};
use crate::api::batch::{done, submit};
use crate::test_app::{TestApp, real_moment};
use crate::webhooks::independent;
use crate::webhooks::receivers::{Manner, Receiver};

/// Splits a request into head and body.
fn parts(request: &str) -> (&str, Value) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    (head, serde_json::from_str(body).unwrap())
}

fn header<'a>(head: &'a str, name: &str) -> &'a str {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap()
}

#[tokio::test]
async fn rows_and_the_end_of_a_job_are_told_under_the_names_that_were_asked_for() {
    TestApp::each(to_loopback(), async |app| {
        let (_, key) = app.tester().await;
        let mut receiver = Receiver::start(Manner::status(204)).await;
        let events = ["status.undeliverable", "reason.valid", "status.risky", "job.finished"];
        let webhook = make(app, &key, &receiver.url(), &events).await;
        let mut list: Vec<String> = (0..230).map(|n| format!("nobody-{n}@sandbox.test")).collect();
        list.push("valid@sandbox.test".into());
        list.push("nobody-7@sandbox.test".into());
        let list: Vec<&str> = list.iter().map(String::as_str).collect();
        let job = submit(app, &key, &list).await;
        done(app, &key, &job).await;
        let mut told: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let mut missing = 232;
        while missing > 0 {
            let request = receiver.request().await;
            let (head, body) = parts(&request);
            assert!(header(head, "webhook-id").starts_with("evt_"));
            missing -= body["data"]["rows"].as_array().map_or(1, Vec::len);
            told.entry(body["type"].as_str().unwrap().to_owned()).or_default().push(body["data"].clone());
        }
        assert_eq!(told.keys().collect::<Vec<_>>(), ["job.finished", "reason.valid", "status.undeliverable"]);
        let shown = app.get(&key, &format!("/v1/jobs/{job}")).await.ok(200);
        assert_eq!(told["job.finished"], [shown]);
        let results = app.get(&key, &format!("/v1/batch-verify/{job}/results?per_page=1000")).await.ok(200);
        assert_eq!(told["reason.valid"], [json!({"job_id": job, "rows": [results["data"][230]]})]);
        let mut rows: Vec<Value> = Vec::new();
        for data in &told["status.undeliverable"] {
            let some = data["rows"].as_array().unwrap();
            assert!((1..=100).contains(&some.len()), "{}", some.len());
            assert_eq!(data["job_id"], job);
            rows.extend(some.iter().cloned());
        }
        rows.sort_by_key(|row| row["index"].as_i64());
        assert_eq!(rows, results["data"].as_array().unwrap()[..230], "each address once, by its first row");
        let logged = newest(app, &key, id(&webhook), |one| one["status"] == "delivered").await;
        assert_eq!(logged["last_attempt"]["status"], 204);
        assert!(app.get(&key, &format!("{PATH}/{}", id(&webhook))).await.ok(200)["last_delivery_at"].is_string());
    })
    .await;
}

#[tokio::test]
async fn nothing_of_an_address_lies_in_the_outbox() {
    let app = TestApp::start().await;
    let (org, key) = app.tester().await;
    make(&app, &key, "https://hooks.example.com/", &["status.passed", "reason.nonexistent"]).await;
    let job = submit(&app, &key, &["canary-h3k5@sandbox.test", "valid@sandbox.test"]).await;
    done(&app, &key, &job).await;
    let rows = app.admin.list_deliveries(&org, None, 10).await.unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let probity_store::webhooks::outbox::DeliveryContent::Rows(indexes) = &row.content else {
            panic!("rows: {row:?}")
        };
        assert_eq!(indexes.len(), 1);
        assert!(!format!("{row:?}").contains("canary"));
    }
    app.stop().await;
}

#[tokio::test]
async fn a_test_and_a_repetition_arrive_signed_by_the_webhooks_secret() {
    TestApp::each(to_loopback(), async |app| {
        let (_, key) = app.customer().await;
        let mut receiver =
            Receiver::start(Manner::Say("HTTP/1.1 200 x\r\ncontent-length: 6\r\n\r\nok\x1b[0m".into())).await;
        let webhook = make(app, &key, &receiver.url(), &["job.finished"]).await;
        let sent = act(app, &key, "POST", &format!("{}/test", id(&webhook))).await.ok(200);
        assert_eq!(
            (&sent["type"], &sent["status"], &sent["last_attempt"]),
            (&"test".into(), &"waiting".into(), &Value::Null)
        );
        let request = receiver.request().await;
        let (head, body) = parts(&request);
        assert_eq!((&body["type"], &body["data"]), (&"test".into(), &json!({"webhook_id": webhook["id"]})));
        let raw = request.split_once("\r\n\r\n").unwrap().1;
        let timestamp = header(head, "webhook-timestamp").parse().unwrap();
        let secret = Secret::parse(webhook["secret"].as_str().unwrap()).unwrap();
        let event = header(head, "webhook-id").to_owned();
        let signed = |secrets: &[Secret], timestamp, raw: &str| signatures(secrets, &event, timestamp, raw.as_bytes());
        assert_eq!(header(head, "webhook-signature"), signed(std::slice::from_ref(&secret), timestamp, raw));
        let logged = newest(app, &key, id(&webhook), |one| one["status"] == "delivered").await;
        assert_eq!(logged["request"]["headers"]["webhook-id"], event);
        assert_eq!(logged["last_attempt"]["answer"], "ok\\u{1b}[0m");
        assert_eq!((&logged["attempts"], &logged["next_attempt_at"]), (&1.into(), &Value::Null));
        assert_eq!((&logged["last_attempt"]["url"], &logged["earlier_attempts"]), (&json!(receiver.url()), &json!([])));
        // After a rotation, both secrets sign; the delivery is the same event.
        let rotated = act(app, &key, "POST", &format!("{}/rotate-secret", id(&webhook))).await.ok(200);
        let fresh = Secret::parse(rotated["secret"].as_str().unwrap()).unwrap();
        assert!(rotated["previous_until"].is_string() && fresh != secret);
        let again = format!("{}/deliveries/{}/redeliver", id(&webhook), id(&sent));
        assert_eq!(act(app, &key, "POST", &again).await.ok(200)["status"], "waiting");
        let request = receiver.request().await;
        let (head, _) = parts(&request);
        assert_eq!(header(head, "webhook-id"), event);
        let timestamp = header(head, "webhook-timestamp").parse().unwrap();
        let raw = request.split_once("\r\n\r\n").unwrap().1;
        assert_eq!(header(head, "webhook-signature"), signed(&[fresh, secret], timestamp, raw));
        // The earlier attempt stays in the log.
        let before = logged["last_attempt"].clone();
        let logged = newest(app, &key, id(&webhook), |one| one["last_attempt"]["at"] != before["at"]).await;
        assert_eq!((&logged["attempts"], &logged["earlier_attempts"]), (&1.into(), &json!([before])));
    })
    .await;
}

/// Runs only if `PROBITY_WEBHOOKS_PYTHON` names a Python with the package `standardwebhooks`.
#[tokio::test]
async fn an_independent_library_accepts_subscriptions_also_while_both_secrets_sign() {
    let Some(python) = std::env::var_os("PROBITY_WEBHOOKS_PYTHON") else { return };
    let app = TestApp::with(to_loopback()).await;
    let (_, key) = app.customer().await;
    let mut receiver = Receiver::start(Manner::status(200)).await;
    let webhook = make(&app, &key, &receiver.url(), &["job.finished"]).await;
    let first = webhook["secret"].as_str().unwrap();
    let test = format!("{}/test", id(&webhook));
    act(&app, &key, "POST", &test).await.ok(200);
    independent::accepts(&python, first, &receiver.request().await);
    let rotated = act(&app, &key, "POST", &format!("{}/rotate-secret", id(&webhook))).await.ok(200);
    let list = submit(&app, &key, &["nobody@null-mx.com"]).await;
    done(&app, &key, &list).await;
    let request = receiver.request().await;
    assert!(request.contains("\"job.finished\""), "{request}");
    for secret in [first, rotated["secret"].as_str().unwrap()] {
        independent::accepts(&python, secret, &request);
    }
    app.stop().await;
}

#[tokio::test]
async fn gone_disables_at_once_and_what_waits_is_cancelled() {
    TestApp::each(to_loopback(), async |app| {
        let (_, key) = app.customer().await;
        let receiver = Receiver::start(Manner::status(410)).await;
        let webhook = make(app, &key, &receiver.url(), &["job.finished", "status.undeliverable"]).await;
        let job = submit(app, &key, &["no address"]).await;
        done(app, &key, &job).await;
        let place = format!("{PATH}/{}", id(&webhook));
        for _ in 0..5_000 {
            if app.get(&key, &place).await.ok(200)["status"] == "disabled" {
                break;
            }
            real_moment().await;
        }
        assert_eq!(app.get(&key, &place).await.ok(200)["status"], "disabled");
        let timeline = app.get(&key, "/v1/account/timeline").await.ok(200);
        let events = timeline["events"].as_array().unwrap();
        let disabled: Vec<&Value> = events.iter().filter(|event| event["kind"] == "webhook_disabled").collect();
        assert_eq!(disabled.len(), 1);
        assert_eq!(disabled[0]["actor"], json!({"type": "system"}));
        let told = deliveries(app, &key, id(&webhook), "").await.len();
        let next = submit(app, &key, &["no address"]).await;
        done(app, &key, &next).await;
        assert_eq!(deliveries(app, &key, id(&webhook), "").await.len(), told, "it is told nothing any more");
        assert_eq!(patch(app, &key, id(&webhook), json!({"status": "active"})).await.ok(200)["status"], "active");
    })
    .await;
}
