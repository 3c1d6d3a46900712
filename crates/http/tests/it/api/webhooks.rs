//! Tests of `/v1/webhooks`: creation, display, change and deletion, separately for live and test keys.

mod bodies;
mod deliveries;
mod telling;

use probity_account::api_key::KeyKind;
use probity_backend::webhooks::sign::Secret;
use probity_http::service::ServiceConfig;
use serde_json::{Value, json};

use super::batch::{done, submit};
use crate::test_app::{Answer, Call, TestApp, real_moment};
use crate::webhooks::receivers::webhooks_to_loopback;

const PATH: &str = "/v1/webhooks";

/// Returns the configuration of a service whose webhooks can use loopback.
fn to_loopback() -> ServiceConfig {
    ServiceConfig { webhooks: webhooks_to_loopback(), ..ServiceConfig::default() }
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

/// Waits until a webhook's newest delivery satisfies `wanted`.
async fn newest(app: &TestApp, key: &str, webhook: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..5_000 {
        if let Some(one) = deliveries(app, key, webhook, "?per_page=1").await.into_iter().find(|one| wanted(one)) {
            return one;
        }
        real_moment().await;
    }
    panic!("never so: {:?}", deliveries(app, key, webhook, "").await);
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
        // Two events of one transaction have the same time, but the newer one still comes first.
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
    // A test job sends events only to the test key's webhook.
    let job = submit(&app, &test, &["valid@sandbox.test"]).await;
    done(&app, &test, &job).await;
    assert_eq!(deliveries(&app, &live, id(&of_live), "").await, Vec::<Value>::new());
    assert_eq!(deliveries(&app, &test, id(&of_test), "").await[0]["request"]["job_id"], job);
    app.stop().await;
}
