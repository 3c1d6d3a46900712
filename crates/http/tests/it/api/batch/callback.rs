//! Tests of job callbacks and their allowed URLs.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use probity_backend::outbound::{Names, Unresolved};
use probity_backend::webhooks::WebhookConfig;
use probity_engine::net::BoxFuture;
use probity_http::service::ServiceConfig;
use serde_json::{Value, json};

use super::post;
use crate::test_app::{Call, TestApp};
use crate::webhooks::receivers::{Manner, Receiver, webhooks_to_loopback};

#[tokio::test]
async fn a_finished_job_tells_its_callback_in_its_own_words() {
    TestApp::each(ServiceConfig { webhooks: webhooks_to_loopback(), ..ServiceConfig::default() }, async |app| {
        let (_, key) = app.tester().await;
        let mut receiver = Receiver::start(Manner::status(204)).await;
        let body = json!({ "emails": ["valid@sandbox.test", "x"], "webhook_url": receiver.url() });
        let id = post(app, &key, &body.to_string()).await.ok(200)["id"].as_str().unwrap().to_owned();
        let told = receiver.request().await;
        let (head, told) = told.split_once("\r\n\r\n").unwrap();
        for name in ["webhook-id: evt_", "webhook-timestamp: ", "webhook-signature: v1,"] {
            assert!(head.to_lowercase().contains(name), "{name}");
        }
        let shown = app.get(&key, &format!("/v1/jobs/{id}")).await.ok(200);
        assert_eq!(serde_json::from_str::<Value>(told).unwrap(), shown);
        assert_eq!(shown["results"]["reasons"]["invalid"], 1);
    })
    .await;
}

#[tokio::test]
async fn a_callback_into_private_networks_is_refused_and_leaves_nothing() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    for url in ["http://127.0.0.1/", "http://0x7f.1/", "http://[::ffff:10.0.0.1]/", "ftp://example.org/"] {
        let body = json!({ "emails": ["valid@sandbox.test"], "webhook_url": url });
        let answer = post(&app, &key, &body.to_string()).await;
        assert!(answer.error(400, "invalid_request").contains("webhook_url"), "{url}");
    }
    assert_eq!(app.get(&key, "/v1/jobs").await.ok(200)["data"], json!([]));
    app.stop().await;
}

#[tokio::test]
async fn a_callback_in_the_query_belongs_to_what_is_repeated() {
    let app = TestApp::start().await;
    let (_, key) = app.tester().await;
    let to = async |url: &str| {
        let target = format!("/v1/batch-verify?webhook_url={url}");
        app.send(Call::with_body(target, "text/csv", "valid@sandbox.test\n").key(&key).once("a list")).await
    };
    let first = to("http://one.example.org/").await;
    first.ok(200);
    assert_eq!(to("http://one.example.org/").await.body, first.body);
    to("http://two.example.org/").await.error(422, "idempotency_key_reused");
    app.stop().await;
}

/// Host name that does not resolve at first, and later leads into a private network.
#[derive(Default)]
struct Turned(AtomicBool);

impl Names for Turned {
    fn addresses<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Unresolved>> {
        let turned = self.0.load(Ordering::Relaxed);
        Box::pin(
            async move { if turned { Ok(vec![Ipv4Addr::new(10, 0, 0, 1).into()]) } else { Err(Unresolved::Name) } },
        )
    }
}

#[tokio::test]
async fn a_repetition_is_answered_as_before_whatever_its_url_leads_to_by_now() {
    let names = Arc::new(Turned::default());
    let webhooks = WebhookConfig { names: names.clone(), ..WebhookConfig::default() };
    let app = TestApp::with(ServiceConfig { webhooks, ..ServiceConfig::default() }).await;
    let (_, key) = app.tester().await;
    let list = json!({ "emails": ["valid@sandbox.test"], "webhook_url": "http://hooks.example.org/" });
    let repeat = async |once: &str| {
        let call = Call::post("/v1/batch-verify", list.to_string());
        app.send(call.key(&key).once(once)).await
    };
    let first = repeat("a list").await;
    first.ok(200);
    names.0.store(true, Ordering::Relaxed);
    assert_eq!(repeat("a list").await.body, first.body);
    assert!(repeat("another").await.error(400, "invalid_request").contains("webhook_url"));
    names.0.store(false, Ordering::Relaxed);
    repeat("another").await.ok(200);
    app.stop().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_body_comes_after_its_key() {
    let app = TestApp::start().await;
    let (_, key) = app.tester().await;
    let send = async |kind: &str, body: &str| {
        app.send(Call::with_body("/v1/batch-verify", kind, body).key(&key).once("a list")).await
    };
    send("application/json", r#"{"emails": [1], "more": "a@example.org"}"#).await.error(400, "invalid_request");
    send("text/csv", "valid@sandbox.test\n").await.ok(200);
    send("application/json", r#"{"emails": [1], "more": "a@example.org"}"#).await.error(422, "idempotency_key_reused");
    assert_eq!(app.get(&key, "/v1/jobs").await.ok(200)["data"].as_array().unwrap().len(), 1);
    app.stop().await;
}

#[tokio::test]
async fn an_empty_callback_is_refused_wherever_it_is_given() {
    let app = TestApp::start().await;
    let (_, key) = app.tester().await;
    let json = |path: &str, body: Value| Call::post(path, body.to_string());
    let emails = ["valid@sandbox.test"];
    let calls = [
        json("/v1/batch-verify", json!({ "emails": emails, "webhook_url": "" })),
        json("/v1/batch-verify", json!({ "emails": emails, "webhookUrl": "" })),
        json("/v1/batch-verify", json!({ "emails": emails, "webhook_url": "", "webhookUrl": "https://example.org/" })),
        Call::with_body("/v1/batch-verify?webhook_url=", "text/csv", "valid@sandbox.test\n"),
        json("/v1/erasures", json!({ "emails": emails, "webhook_url": "" })),
    ];
    for call in calls {
        let message = app.send(call.key(&key)).await.error(400, "invalid_request");
        assert!(message.starts_with("webhook_url: must be a URL"), "{message}");
    }
    assert_eq!(app.get(&key, "/v1/jobs").await.ok(200)["data"], json!([]));
    app.stop().await;
}
