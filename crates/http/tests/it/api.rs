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
use connections::platform::TrialPlatform;

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

/// Calls without a body.
const BODILESS: [&str; 8] = [
    "/v1/batch-verify/job_01h455vb4pex5vsknk084sn02q/cancel",
    "/v1/integrations/ghost/connections/conn_01h455vb4pex5vsknk084sn02q/test",
    "/v1/integrations/ghost/connections/conn_01h455vb4pex5vsknk084sn02q/sync",
    "/v1/integrations/ghost/connections/conn_01h455vb4pex5vsknk084sn02q/runs/job_01h455vb4pex5vsknk084sn02q/cancel",
    "/v1/webhooks/whk_01h455vb4pex5vsknk084sn02q/rotate-secret",
    "/v1/webhooks/whk_01h455vb4pex5vsknk084sn02q/test",
    "/v1/webhooks/whk_01h455vb4pex5vsknk084sn02q/deliveries/dlv_01h455vb4pex5vsknk084sn02q/redeliver",
    "/v1/webhooks/callback-secret/rotate",
];

#[tokio::test]
async fn a_body_that_is_not_needed_is_checked_all_the_same() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    for path in BODILESS {
        let refused = [
            (Call::with_body(path, "text/plain", "{}"), 415, "unsupported_media_type"),
            (Call::new("POST", path).bytes("{}"), 415, "unsupported_media_type"),
            (Call::post(path, vec![b' '; (1 << 20) + 1]), 413, "payload_too_large"),
            (Call::post(path, "{"), 400, "invalid_request"),
        ];
        for (call, status, code) in refused {
            app.send(call.key(&key)).await.error(status, code);
        }
        let rotates = path.ends_with("callback-secret/rotate");
        for call in [Call::new("POST", path), Call::post(path, "{}")] {
            app.send(call.key(&key)).await.assert_status(if rotates { 200 } else { 404 });
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn a_list_with_one_page_refuses_the_cursors_and_sizes_that_others_refuse() {
    let platform = TrialPlatform::start().await;
    let app = TestApp::with(platform.service()).await;
    let (_, key) = app.customer().await;
    let lists = format!("{}/lists", connections::place(&connections::connect(&app, &key, &platform).await));
    for list in ["/v1/integrations", "/v1/outcome-sources", "/v1/reports/usage/daily", lists.as_str()] {
        let whole = app.get(&key, list).await.ok(200);
        for query in ["next=&cursor=", "per_page=1", "per_page=1000"] {
            assert_eq!(app.get(&key, &format!("{list}?{query}")).await.ok(200), whole, "{list}?{query}");
        }
        for (query, field) in [
            ("next=x", "next"),
            ("cursor=x", "cursor"),
            ("next=&cursor=x", "cursor"),
            ("per_page=0", "per_page"),
            ("per_page=x", "per_page"),
        ] {
            let message = app.get(&key, &format!("{list}?{query}")).await.error(400, "invalid_request");
            assert!(message.starts_with(&format!("{field}: ")), "{list}?{query}: {message}");
        }
    }
    app.stop().await;
}
