//! The word that a job is finished, and where it may go.

use probity_core::api_key::KeyKind;
use probity_engine::egress::{Guard, GuardConfig};
use probity_server::service::ServiceConfig;
use probity_server::webhooks::WebhookConfig;
use serde_json::{Value, json};

use super::post;
use crate::test_app::{Call, TestApp};
use crate::webhooks::receivers::{Manner, Receiver};

#[tokio::test]
async fn a_finished_job_tells_its_callback_in_its_own_words() {
    let egress = egress_to_loopback();
    let webhooks = WebhookConfig { egress, ..WebhookConfig::default() };
    TestApp::each(ServiceConfig { webhooks, ..ServiceConfig::default() }, async |app| {
        let (org, _) = app.customer().await;
        let key = app.key(&org, KeyKind::Test).await;
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

fn egress_to_loopback() -> Guard {
    let allow_networks = vec!["127.0.0.0/8".parse().unwrap()];
    Guard::new(GuardConfig { allow_networks, ..GuardConfig::default() })
}

#[tokio::test]
async fn a_callback_in_the_query_belongs_to_what_is_repeated() {
    let app = TestApp::start().await;
    let (org, _) = app.customer().await;
    let key = app.key(&org, KeyKind::Test).await;
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
