//! Tests that a ban stops jobs before its response is sent.

use probity_store::credits::audit;
use probity_store::failpoint::{ArmedFailpoint, Failpoint, FailpointAction, FailpointSide};
use serde_json::json;

use super::{config, customer, post};
use crate::test_app::{Call, TestApp, real_moment};

#[tokio::test]
async fn a_ban_has_stopped_all_jobs_when_it_answers_and_no_other_hold_stops_any() {
    TestApp::each(config(false), async |app| {
        let (org, key) = customer(app, "team").await;
        let list = json!({"emails": ["waits@honest-mail.com"]}).to_string();
        let id = app.send(Call::post("/v1/batch-verify", list).key(&key)).await.ok(200)["id"].clone();
        let path = format!("/v1/batch-verify/{}/status", id.as_str().unwrap());
        let status = async || app.get(&key, &path).await.ok(200)["status"].clone();
        while status().await != "processing" {
            real_moment().await;
        }
        let left = async || app.get(&key, "/v1/organization").await.ok(200)["credits"]["total"].clone();
        for (hold, expected) in [
            ("suspended", "processing"),
            ("paused", "processing"),
            ("under_review", "processing"),
            ("banned", "force_stop"),
            ("banned", "force_stop"),
        ] {
            post(app, &format!("{org}/hold"), json!({"status": hold})).await.ok(200);
            post(app, &format!("{org}/lift"), json!({})).await.ok(200);
            assert_eq!(status().await, expected, "{hold}");
            assert_eq!(left().await, if expected == "processing" { 999 } else { 1_000 }, "{hold}");
        }
    })
    .await;
}

/// If stopping jobs fails, the ban returns an error and can be repeated.
#[tokio::test]
async fn a_ban_that_broke_off_is_repeated() {
    let app = TestApp::with(config(false)).await;
    let (org, key) = customer(&app, "team").await;
    let list = json!({"emails": ["waits@honest-mail.com"]}).to_string();
    app.send(Call::post("/v1/batch-verify", list).key(&key)).await.ok(200);
    let point = Failpoint { name: "jobs::close::CLOSE".into(), when: FailpointSide::Before };
    app.service_store.failpoints().arm(ArmedFailpoint { point, nth: 1, action: FailpointAction::Error });
    let ban = async || post(&app, &format!("{org}/hold"), json!({"status": "banned"})).await;
    ban().await.error(503, "service_unavailable");
    app.get(&key, "/v1/organization").await.error(403, "forbidden_scope");
    ban().await.ok(200);
    assert_eq!(app.service_store.failpoints().disarm(), 1);
    assert_eq!(audit::everything(&app.store).await.unwrap(), []);
    app.stop().await;
}
