//! `/v1/webhooks`: made, changed, tried, told of rows and jobs, and told again.

use std::collections::BTreeMap;

use probity_core::api_key::KeyKind;
use probity_core::id::{DeliveryId, EventId};
use probity_core::time::Millis;
use probity_engine::egress::{Guard, GuardConfig};
use probity_server::service::ServiceConfig;
use probity_server::webhooks::sign::{Secret, signatures};
use probity_server::webhooks::{TEST, WebhookConfig};
use probity_store::ScopedFutureExt as _;
use probity_store::outbox::{self, Content, Delivery};
use serde_json::{Value, json};

use super::batch::{done, submit};
use crate::test_app::{Answer, Call, TestApp, real_moment};
use crate::webhooks::receivers::{Manner, Receiver};

const PATH: &str = "/v1/webhooks";

/// A service that may talk to loopback.
fn to_loopback() -> ServiceConfig {
    let allow_networks = vec!["127.0.0.0/8".parse().unwrap()];
    let egress = Guard::new(GuardConfig { allow_networks, ..GuardConfig::default() });
    ServiceConfig { webhooks: WebhookConfig { egress, ..WebhookConfig::default() }, ..ServiceConfig::default() }
}

async fn make(app: &TestApp, key: &str, url: &str, events: &[&str]) -> Value {
    let wanted = json!({"name": "Our CRM", "url": url, "events": events});
    app.send(Call::post(PATH, wanted.to_string()).key(key)).await.ok(201)
}

fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}

async fn patch(app: &TestApp, key: &str, webhook: &str, patch: Value) -> Answer {
    app.send(Call::patch(format!("{PATH}/{webhook}"), patch.to_string()).key(key)).await
}

async fn act(app: &TestApp, key: &str, method: &str, path: &str) -> Answer {
    app.send(Call::new(method, format!("{PATH}/{path}")).key(key)).await
}

async fn deliveries(app: &TestApp, key: &str, webhook: &str, query: &str) -> Vec<Value> {
    let page = app.get(key, &format!("{PATH}/{webhook}/deliveries{query}")).await.ok(200);
    page["data"].as_array().unwrap().clone()
}

/// Waits until a webhook's newest delivery stands as a test wants it.
async fn newest(app: &TestApp, key: &str, webhook: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..5_000 {
        if let Some(one) = deliveries(app, key, webhook, "?per_page=1").await.into_iter().find(|one| wanted(one)) {
            return one;
        }
        real_moment().await;
    }
    panic!("never so: {:?}", deliveries(app, key, webhook, "").await);
}

/// Head and body of a request.
fn parts(request: &str) -> (&str, Value) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    (head, serde_json::from_str(body).unwrap())
}

fn header<'a>(head: &'a str, name: &str) -> &'a str {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap()
}

#[tokio::test]
async fn a_webhook_is_made_shown_changed_and_deleted() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (_, key) = app.customer().await;
        let wanted = json!({
            "name": " Our CRM ", "url": "https://Hooks.Example.com/a#b",
            "events": ["job.finished", "reason.accept_all", "status.risky", "contact.tagged", "status.risky"],
        });
        let mut made = app.send(Call::post(PATH, wanted.to_string()).key(&key)).await.ok(201);
        let secret = made.as_object_mut().unwrap().remove("secret").unwrap();
        assert!(Secret::parse(secret.as_str().unwrap()).is_ok(), "{secret}");
        let events = json!(["status.risky", "reason.accept_all", "contact.tagged", "job.finished"]);
        let expected = json!({
            "id": made["id"], "name": "Our CRM", "url": "https://hooks.example.com/a", "events": events,
            "status": "active", "created_at": made["created_at"], "last_delivery_at": null,
        });
        assert_eq!(made, expected);
        let place = format!("{PATH}/{}", id(&made));
        assert_eq!(app.get(&key, &place).await.ok(200), made, "without its secret");
        assert_eq!(app.get(&key, PATH).await.ok(200)["data"], json!([made]));
        let change = json!({"url": "https://b.example/", "status": "disabled", "events": ["status.passed"]});
        let changed = patch(app, &key, id(&made), change).await.ok(200);
        assert_eq!((&changed["url"], &changed["status"]), (&"https://b.example/".into(), &"disabled".into()));
        assert_eq!((&changed["name"], &changed["events"]), (&"Our CRM".into(), &json!(["status.passed"])));
        assert_eq!(patch(app, &key, id(&made), json!({})).await.ok(200), changed);
        assert_eq!(patch(app, &key, id(&made), json!({"status": "active"})).await.ok(200)["status"], "active");
        let deleted = act(app, &key, "DELETE", id(&made)).await.ok(200);
        assert_eq!(deleted, json!({"id": made["id"], "deleted": true}));
        act(app, &key, "DELETE", id(&made)).await.error(404, "not_found");
        let timeline = app.get(&key, "/v1/account/timeline").await.ok(200);
        let kinds: Vec<&str> =
            timeline["events"].as_array().unwrap().iter().filter_map(|event| event["kind"].as_str()).collect();
        let of_webhooks: Vec<&str> = kinds.into_iter().filter(|kind| kind.starts_with("webhook_")).collect();
        let mut expected =
            ["webhook_created", "webhook_changed", "webhook_disabled", "webhook_enabled", "webhook_deleted"];
        expected.reverse();
        // Two of one transaction share their time; the newest first all the same.
        assert_eq!(of_webhooks, expected);
    })
    .await;
}

#[tokio::test]
async fn what_is_no_webhook_is_refused_by_the_name_of_its_field() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let good = json!({"name": "x", "url": "https://hooks.example.com/", "events": ["job.finished"]});
    let made = app.send(Call::post(PATH, good.to_string()).key(&key)).await.ok(201);
    for (field, value) in [
        ("name", json!("")),
        ("name", json!("a\u{7}")),
        ("name", json!(null)),
        ("url", json!("ftp://example.com/")),
        ("url", json!("http://127.0.0.1/")),
        ("url", json!("http://[::ffff:10.0.0.1]/")),
        ("url", json!("https://u:p@example.com/")),
        ("url", json!(null)),
        ("events", json!([])),
        ("events", json!(["status.passed", "status.valid"])),
        ("events", json!("job.finished")),
        ("events", json!(null)),
        ("colour", json!("red")),
    ] {
        let mut body = good.clone();
        body[field] = value.clone();
        let refused = app.send(Call::post(PATH, body.to_string()).key(&key)).await;
        assert!(refused.error(400, "invalid_request").contains(field), "{field}: {}", refused.text());
        let refused = patch(&app, &key, id(&made), json!({field: value})).await;
        assert!(refused.error(400, "invalid_request").contains(field), "{field}: {}", refused.text());
    }
    for value in [json!("off"), json!(null), json!(true)] {
        patch(&app, &key, id(&made), json!({"status": value})).await.error(400, "invalid_request");
    }
    patch(&app, &key, id(&made), json!({"id": "whk_x"})).await.error(400, "invalid_request");
    app.stop().await;
}

#[tokio::test]
async fn an_organization_has_fifty_and_a_repeated_request_makes_no_second() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let body = json!({"name": "x", "url": "https://hooks.example.com/", "events": ["job.finished"]}).to_string();
    let first = app.send(Call::post(PATH, body.clone()).key(&key).once("one")).await;
    first.ok(201);
    assert_eq!(app.send(Call::post(PATH, body.clone()).key(&key).once("one")).await.body, first.body);
    for _ in 1..50 {
        app.send(Call::post(PATH, body.clone()).key(&key)).await.ok(201);
    }
    for kind in [KeyKind::Live, KeyKind::Test] {
        let key = app.key(&org, kind).await;
        app.send(Call::post(PATH, body.clone()).key(&key)).await.error(409, "conflict");
    }
    let mut seen = 0;
    let mut next = String::new();
    loop {
        let page = app.get(&key, &format!("{PATH}?per_page=20&next={next}")).await.ok(200);
        seen += page["data"].as_array().unwrap().len();
        let Some(cursor) = page["pagination"]["next_cursor"].as_str() else { break };
        next = cursor.to_owned();
    }
    assert_eq!(seen, 50);
    app.stop().await;
}

#[tokio::test]
async fn live_and_test_keys_have_webhooks_of_their_own() {
    let app = TestApp::start().await;
    let (org, live) = app.customer().await;
    let test = app.key(&org, KeyKind::Test).await;
    let url = "https://hooks.example.com/";
    let (of_live, of_test) =
        (make(&app, &live, url, &["job.finished"]).await, make(&app, &test, url, &["job.finished"]).await);
    for (key, own, other) in [(&live, &of_live, &of_test), (&test, &of_test, &of_live)] {
        let listed = app.get(key, PATH).await.ok(200);
        assert_eq!(listed["data"].as_array().unwrap().len(), 1);
        assert_eq!(listed["data"][0]["id"], own["id"]);
        act(&app, key, "GET", id(other)).await.error(404, "not_found");
        act(&app, key, "DELETE", id(other)).await.error(404, "not_found");
        act(&app, key, "POST", &format!("{}/test", id(other))).await.error(404, "not_found");
    }
    // A test job is told to the test keys' webhook only.
    let job = submit(&app, &test, &["valid@sandbox.test"]).await;
    done(&app, &test, &job).await;
    assert_eq!(deliveries(&app, &live, id(&of_live), "").await, Vec::<Value>::new());
    assert_eq!(deliveries(&app, &test, id(&of_test), "").await[0]["request"]["job_id"], job);
    app.stop().await;
}

#[tokio::test]
async fn rows_and_the_end_of_a_job_are_told_under_the_names_that_were_asked_for() {
    TestApp::each(to_loopback(), async |app| {
        let (org, _) = app.customer().await;
        let key = app.key(&org, KeyKind::Test).await;
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
    let (org, _) = app.customer().await;
    let key = app.key(&org, KeyKind::Test).await;
    make(&app, &key, "https://hooks.example.com/", &["status.passed", "reason.nonexistent"]).await;
    let job = submit(&app, &key, &["canary-h3k5@sandbox.test", "valid@sandbox.test"]).await;
    done(&app, &key, &job).await;
    let rows = app.admin.list_deliveries(&org, None, 10).await.unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let probity_server::store::Content::Rows(indexes) = &row.content else { panic!("rows: {row:?}") };
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
        // Both secrets sign after a rotation; the message is the same event.
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
    })
    .await;
}

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
    assert_eq!(tried["last_attempt"]["error"], "the receiver could not be reached");
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
        // Nobody sends what is due in the far future.
        let waits = async |bits: u128| {
            let message = Delivery {
                org: org.no,
                id: DeliveryId::from_bits(bits),
                event: EventId::from_bits(bits),
                kind: TEST.into(),
                url: receiver.url(),
                content: Content::Bytes(b"{}".to_vec()),
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
        test(&other).await.ok(200);
    })
    .await;
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
