//! Connections are tested, deleted, and reconnected with other credentials.

use std::time::Duration;

use probity_http::service::ServiceConfig;
use probity_service::app::ApiConfig;
use serde_json::{Value, json};

use super::platform::{SECRET, TrialPlatform};
use super::{PATH, connect, connection_event, happened, patch, place};
use crate::test_app::{Answer, Call, TestApp, at_one_moment, pass, upkeep};

async fn test(app: &TestApp, key: &str, connection: &Value) -> Answer {
    app.send(Call::new("POST", format!("{}/test", place(connection))).key(key)).await
}

#[tokio::test]
async fn a_test_says_whether_the_platform_accepts_the_credentials() {
    let platform = TrialPlatform::start().await;
    let app = TestApp::with(platform.service()).await;
    let (_, key) = app.customer().await;
    let made = connect(&app, &key, &platform).await;
    let tested = test(&app, &key, &made).await.ok(200);
    let expected =
        json!({"id": made["id"], "type": "trial", "credential_valid": true, "tested_at": tested["tested_at"]});
    assert_eq!(tested, expected);
    let once = || Call::new("POST", format!("{}/test", place(&made))).key(&key).once("test");
    let first = app.send(once()).await.ok(200);
    assert_eq!(app.send(once()).await.ok(200), first);
    app.send(Call::new("DELETE", place(&made)).key(&key)).await.ok(200);
    let tested = test(&app, &key, &made).await.ok(200);
    assert_eq!(
        (&tested["credential_valid"], &tested["reason"]),
        (&json!(false), &json!("the connection has no credentials"))
    );
    app.stop().await;
}

#[tokio::test]
async fn nobody_tries_credentials_all_the_time() {
    let mut platform = TrialPlatform::start().await;
    let api = ApiConfig { org_per_minute: 2_000, ..ApiConfig::default() };
    let app = TestApp::with(platform.service_with(ServiceConfig { api, ..ServiceConfig::default() })).await;
    let (_, key) = app.customer().await;
    let made = connect(&app, &key, &platform).await;
    let test = async || app.send(Call::new("POST", format!("{}/test", place(&made))).key(&key)).await;
    let create = || Call::post(PATH, platform.wish("wrong").to_string()).key(&key);
    at_one_moment(async {
        for _ in 0..9 {
            app.send(create()).await.error(400, "invalid_request");
            test().await.ok(200);
        }
        test().await.ok(200);
        test().await.error(429, "rate_limited");
        app.send(create()).await.error(429, "rate_limited");
        app.get(&key, &format!("{}/lists", place(&made))).await.error(429, "rate_limited");
    })
    .await;
    app.get(&key, &place(&made)).await.ok(200);
    assert_eq!(platform.receiver.so_far().len(), 20, "the platform is spared");
    app.stop().await;
}

#[tokio::test]
async fn a_deleted_connection_has_no_credentials_and_can_be_reconnected() {
    let platform = TrialPlatform::start().await;
    TestApp::each(platform.service(), async |app| {
        let (_, key) = app.customer().await;
        let made = connect(app, &key, &platform).await;
        patch(app, &key, &made, &json!({"manual_mode": true})).await.ok(200);
        let delete = async || app.send(Call::new("DELETE", place(&made)).key(&key)).await.ok(200);
        let deleted = delete().await;
        let at = deleted["disconnected_at"].clone();
        let expected = json!({"id": made["id"], "type": "trial", "status": "disconnected", "disconnected_at": at});
        assert_eq!(deleted, expected);
        assert_eq!(delete().await, expected, "deleting again changes nothing");
        let shown = app.get(&key, &place(&made)).await.ok(200);
        assert_eq!((&shown["status"], &shown["disconnected_reason"]), (&json!("disconnected"), &json!("deleted")));
        assert_eq!(shown["settings"]["manual_mode"], true);
        let back = patch(app, &key, &made, &json!({"credentials": platform.credentials("good")})).await.ok(200);
        assert_eq!((&back["status"], &back["disconnected_at"]), (&json!("active"), &json!(null)));
        assert_eq!(back["settings"]["manual_mode"], true);
        assert_eq!(test(app, &key, &made).await.ok(200)["credential_valid"], true);
        let events = happened(app, &key, &made).await;
        let of_connection: Vec<_> = events.into_iter().filter(|event| event["type"] == "connection_change").collect();
        assert_eq!(of_connection, ["connected", "disconnected", "reconnected"].map(connection_event));
    })
    .await;
}

#[tokio::test]
async fn a_deleted_connection_is_gone_after_90_days() {
    let platform = TrialPlatform::start().await;
    TestApp::each(platform.service(), async |app| {
        let (_, key) = app.customer().await;
        let (deleted, kept) = (connect(app, &key, &platform).await, connect(app, &key, &platform).await);
        app.send(Call::new("DELETE", place(&deleted)).key(&key)).await.ok(200);
        pass(Duration::from_hours(89 * 24)).await;
        upkeep().await;
        app.get(&key, &place(&deleted)).await.ok(200);
        pass(Duration::from_hours(2 * 24)).await;
        upkeep().await;
        app.get(&key, &place(&deleted)).await.error(404, "not_found");
        app.get(&key, &place(&kept)).await.ok(200);
    })
    .await;
}

#[tokio::test]
async fn another_organization_reaches_nothing() {
    let platform = TrialPlatform::start().await;
    let app = TestApp::with(platform.service()).await;
    let ((_, key), (_, stranger)) = (app.customer().await, app.customer().await);
    let made = connect(&app, &key, &platform).await;
    test(&app, &stranger, &made).await.error(404, "not_found");
    app.send(Call::new("DELETE", place(&made)).key(&stranger)).await.error(404, "not_found");
    patch(&app, &stranger, &made, &json!({"name": "Mine"})).await.error(404, "not_found");
    assert_eq!(app.get(&key, &place(&made)).await.ok(200), made);
    assert_eq!(app.get(&stranger, "/v1/integrations/trial").await.ok(200)["connections"], json!([]));
    app.assert_files_without(&[SECRET]);
    app.stop().await;
}
