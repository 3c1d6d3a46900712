//! Tests of renaming and rotating keys on pages.

use std::time::Duration;

use probity_account::role::MemberRole;
use serde_json::{Value, json};

use super::{config, signed_in};
use crate::test_app::{PLENTY, TestApp, pass};

fn id_of(key: &Value) -> String {
    key["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_key_gets_another_name_and_stays_the_same() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        let made = ann.post("/app/v1/api-keys", &json!({ "name": "Shop", "kind": "live" })).await.ok(201);
        let path = format!("/app/keys/{}", id_of(&made));
        let name = |name: &str| ann.call("PATCH", &path).json(&json!({ "name": name }));
        let (good, again, bad) = (name("Web shop"), name("Web shop"), name(" "));
        for call in [good, again] {
            let renamed = app.send(call).await.ok(200);
            assert_eq!((&renamed["name"], &renamed["id"]), (&json!("Web shop"), &made["id"]));
        }
        app.send(bad).await.error(400, "invalid_request");
        let secret = made["secret"].as_str().unwrap();
        assert_eq!(app.get(secret, "/v1/check-key").await.ok(200)["name"], "Web shop");
        let events = ann.get("/app/v1/account/timeline").await.ok(200)["events"].clone();
        let renamed = events.as_array().unwrap().iter().filter(|event| event["kind"] == "key_renamed");
        assert_eq!(renamed.map(|event| event["subject"]["id"].clone()).collect::<Vec<_>>(), [made["id"].clone()]);

        let other = app.org("Another", PLENTY).await;
        let (_, mut bea) = signed_in(app, &other, "bea@example.com", MemberRole::Administrator).await;
        let call = bea.call("PATCH", &path).json(&json!({ "name": "Mine" }));
        bea.send(call).await.error(404, "not_found");
        let (_, mut bob) = signed_in(app, &org, "bob@example.com", MemberRole::Contributor).await;
        let call = bob.call("PATCH", &path).json(&json!({ "name": "Mine" }));
        bob.send(call).await.error(403, "forbidden_scope");
    })
    .await;
}

#[tokio::test]
async fn a_successor_has_the_same_rights_and_the_old_key_works_until_the_overlap_ends() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        let wish = json!({ "name": "Shop", "kind": "rk", "scopes": ["verify"], "rate_limit_per_minute": 60 });
        let old = ann.post("/app/v1/api-keys", &wish).await.ok(201);
        let path = format!("/app/keys/{}/rotate", id_of(&old));
        let rotated = ann.post(&path, &json!({ "overlap_hours": 24 })).await.ok(201);
        for same in ["name", "kind", "scopes", "rate_limit_per_minute", "expires_at", "allowed_origins"] {
            assert_eq!(rotated[same], old[same], "{same}");
        }
        assert_ne!(rotated["id"], old["id"]);
        assert_eq!(rotated["replaces"]["id"], old["id"]);
        assert!(rotated["replaces"]["expires_at"].is_string());
        assert!(rotated["replaces"]["secret"].is_null());
        assert_eq!((&rotated["replaces"]["replaced_by"], &rotated["replaced_by"]), (&rotated["id"], &json!(null)));
        // A second successor would end with the overlap.
        let again = ann.post(&path, &json!({ "overlap_hours": 24 })).await.error(409, "conflict");
        assert!(again.contains("rotate its successor"), "{again}");
        let next = format!("/app/keys/{}/rotate", id_of(&rotated));
        let latest = ann.post(&next, &json!({ "overlap_hours": 48 })).await.ok(201);
        assert_eq!(latest["expires_at"], json!(null));
        let keys = ann.get("/app/v1/api-keys").await.ok(200)["data"].as_array().unwrap().len();
        assert_eq!(keys, 3);
        let works = async |key: &Value| app.get(key["secret"].as_str().unwrap(), "/v1/check-key").await;
        works(&old).await.ok(200);
        works(&rotated).await.ok(200);
        pass(Duration::from_mins(24 * 60 + 1)).await;
        works(&old).await.error(401, "invalid_api_key");
        works(&rotated).await.ok(200);
        pass(Duration::from_hours(24)).await;
        works(&rotated).await.error(401, "invalid_api_key");
        works(&latest).await.ok(200);
    })
    .await;
}

#[tokio::test]
async fn a_rotation_without_overlap_ends_the_old_key_at_once_and_happens_once() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        let wish = json!({ "name": "Form", "kind": "pub", "allowed_origins": ["https://a.example"] });
        let old = ann.post("/app/v1/api-keys", &wish).await.ok(201);
        let path = format!("/app/keys/{}/rotate", id_of(&old));
        for wrong in [json!({ "overlap_hours": 721 }), json!({ "overlap_hours": -1 }), json!({})] {
            ann.post(&path, &wrong).await.error(400, "invalid_request");
        }
        let rotated = ann.post(&path, &json!({ "overlap_hours": 0 })).await.ok(201);
        assert_eq!((&rotated["public_key"], &rotated["secret"]), (&rotated["secret"], &rotated["public_key"]));
        app.get(old["secret"].as_str().unwrap(), "/v1/check-key").await.error(401, "invalid_api_key");
        ann.post(&path, &json!({ "overlap_hours": 24 })).await.error(409, "conflict");
        let keys = ann.get("/app/v1/api-keys").await.ok(200)["data"].as_array().unwrap().len();
        assert_eq!(keys, 2);
        let (_, mut bob) = signed_in(app, &org, "bob@example.com", MemberRole::Contributor).await;
        bob.post(&path, &json!({ "overlap_hours": 0 })).await.error(403, "forbidden_scope");
    })
    .await;
}
