//! What an erasure would reach, counted before it is requested.

use std::time::Duration;

use probity_account::api_key::KeyKind;
use probity_account::role::MemberRole;
use probity_http::service::ServiceConfig;
use serde_json::json;

use super::everywhere::{SPELLED, parrot};
use super::{CANARY, done, list, rows, submit};
use crate::people::{self, signed_in};
use crate::test_app::{Call, PLENTY, TestApp, pass};
use crate::webhooks::receivers::webhooks_to_loopback;

const TRACES: &str = "/app/erasures/traces";

#[tokio::test]
async fn what_an_erasure_would_reach_is_counted_and_stays() {
    let config = ServiceConfig { webhooks: webhooks_to_loopback(), ..people::config() };
    TestApp::each(config, async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        let (_, mut bob) = signed_in(app, &org, "bob@example.com", MemberRole::Contributor).await;
        let key = app.key(&org, KeyKind::Live).await;
        let sought = json!({ "emails": [SPELLED] });
        let nothing = json!({ "lists": 0, "deliveries": 0, "next": null });
        assert_eq!(ann.post(TRACES, &sought).await.ok(200), nothing);

        let receiver = parrot().await;
        let told = json!({ "emails": [CANARY, "x", CANARY], "webhook_url": receiver.url() }).to_string();
        let first = submit(app, &key, Call::post("/v1/batch-verify", told)).await;
        let csv = format!("email\nann@honest-mail.com\nJo <{CANARY}>;\n");
        let second = submit(app, &key, Call::with_body("/v1/batch-verify", "text/csv", csv)).await;
        let third = submit(app, &key, list(&["ann@honest-mail.com"])).await;
        for id in [&first, &second, &third] {
            done(app, &key, id).await;
        }
        // The receiver's response is recorded after it was sent.
        let mut found = nothing.clone();
        for _ in 0..300 {
            found = ann.post(TRACES, &sought).await.ok(200);
            if found["deliveries"] == 1 {
                break;
            }
            pass(Duration::from_millis(500)).await;
        }
        assert_eq!(found, json!({ "lists": 2, "deliveries": 1, "next": null }));
        let none = ann.post(TRACES, &json!({ "emails": ["nobody@takes-all.com"] })).await.ok(200);
        assert_eq!(none, json!({ "lists": 0, "deliveries": 1, "next": null }));
        assert_eq!(ann.post(&format!("{TRACES}?mode=test"), &sought).await.ok(200), nothing);
        assert_eq!(rows(app, &key, &first).await[0]["email"], CANARY);
        assert_eq!(ann.get("/app/v1/erasures").await.ok(200)["data"], json!([]));

        ann.post(&format!("{TRACES}?next=x"), &sought).await.error(400, "invalid_request");
        let refused = ann.post(TRACES, &json!({ "emails": [] })).await;
        assert!(refused.error(400, "invalid_request").contains("emails"));
        bob.post(TRACES, &sought).await.error(403, "forbidden_scope");
    })
    .await;
}
