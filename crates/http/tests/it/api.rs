//! Tests of the API's resources against the specification.

mod account;
mod batch;
mod check_key;
pub(crate) mod connections;
mod jobs;
mod keys;
mod organization;
mod outcome_sources;
mod outcomes;
mod reports;
mod settings;
mod suppressions;
mod timeline;
pub(crate) mod users;
mod verify;
mod webhooks;

use serde_json::Value;

use crate::test_app::{Call, TestApp};

#[tokio::test]
async fn an_empty_body_needs_no_content_type_on_any_route() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let document: Value = app.send(Call::get("/v1/openapi.json")).await.ok(200);
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys().filter(|method| ["post", "put", "patch"].contains(&&***method)) {
            let path = path.replace("{list}", "spam").replace("{id}", "x").replace("{delivery_id}", "x");
            let path = path.replace("{type}", "ghost").replace("{kind}", "whitelist");
            let answer = app.send(Call::new(&method.to_uppercase(), &*path).key(&key)).await;
            assert!([200, 400, 404].contains(&answer.status), "{method} {path}: {}", answer.text());
        }
    }
    for path in ["/v1/batch-verify", "/v1/organization/suppressions/spam"] {
        for call in [Call::new("POST", path), Call::new("POST", path).once("a list")] {
            let message = app.send(call.key(&key)).await.error(400, "invalid_request");
            assert_eq!(message, "emails: is required", "{path}");
        }
        let list = Call::new("POST", path).bytes("a@example.org");
        app.send(list.key(&key)).await.error(415, "unsupported_media_type");
    }
    app.stop().await;
}
