//! Tests of the test mode of pages: it shows and changes data of test keys, and leaves live data untouched.

use std::time::Duration;

use probity_account::api_key::KeyKind;
use probity_account::role::MemberRole;
use serde_json::{Value, json};

use super::browser::Browser;
use super::uploads::{put, put_up};
use super::{config, signed_in};
use crate::test_app::{PLENTY, TestApp, pass, real_moment};

/// Waits for the end of a test list; returns its progress.
async fn ended(browser: &mut Browser<'_>, id: &str) -> Value {
    for _ in 0..5_000 {
        let progress = browser.get(&format!("/app/jobs/{id}/progress?mode=test")).await.ok(200);
        if progress["over"] == true {
            return progress;
        }
        real_moment().await;
    }
    panic!("the list does not end");
}

#[tokio::test]
async fn test_mode_asks_the_sandbox_and_spends_nothing() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 1).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        for _ in 0..3 {
            let verdict = ann.get("/app/v1/verify?mode=test&email=inbox_full@sandbox.test").await.ok(200);
            assert_eq!(verdict["reason"], "inbox_full");
        }
        let call = json!({ "emails": ["valid@sandbox.test", "nobody@sandbox.test"] });
        let job = ann.post("/app/v1/batch-verify?mode=test", &call).await.ok(200);
        let id = job["id"].as_str().unwrap();
        let seen = ended(&mut ann, id).await;
        assert_eq!((app.balance(&org).await.available.total(), app.usage(&org).await), (1, vec![]));
        assert_eq!((&seen["passed"], &seen["undeliverable"]), (&json!(1), &json!(1)));
        ann.get(&format!("/app/jobs/{id}/progress")).await.error(404, "not_found");
        assert_eq!(ann.get("/app/lists?mode=live").await.ok(200)["data"], json!([]));
        assert_eq!(ann.get("/app/lists?mode=test").await.ok(200)["data"][0]["id"], id);
        assert_eq!(ann.get("/app/lookup?q=sandbox.test").await.ok(200)["data"], json!([]));
        let found = ann.get("/app/lookup?mode=test&q=valid@sandbox.test").await.ok(200);
        assert_eq!(found["data"][0]["job"], id);
        // Test keys see the same data.
        let key = app.key(&org, KeyKind::Test).await;
        assert_eq!(app.get(&key, "/v1/jobs").await.ok(200)["data"][0]["id"], id);
        ann.get("/app/lists?mode=sandbox").await.error(400, "invalid_request");
    })
    .await;
}

#[tokio::test]
async fn a_file_belongs_to_the_mode_in_which_it_came() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let (view, place) = put_up(&mut ann, "name=demo.csv&mode=test", "email\nvalid@sandbox.test\n").await;
        assert_eq!(ann.get("/app/uploads").await.ok(200)["data"], json!([]));
        assert_eq!(ann.get("/app/uploads?mode=test").await.ok(200)["data"][0]["id"], view["id"]);
        ann.get(&place).await.error(404, "not_found");
        ann.post(&format!("{place}/start"), &json!({})).await.error(404, "not_found");
        ann.delete(&place, &Value::Null).await.error(404, "not_found");

        let job = ann.post(&format!("{place}/start?mode=test"), &json!({})).await.ok(200);
        let id = job["id"].as_str().unwrap();
        ended(&mut ann, id).await;
        let of_job = format!("/app/uploads?job={id}");
        assert_eq!(ann.get(&of_job).await.ok(200)["data"], json!([]));
        assert_eq!(ann.get(&format!("{of_job}&mode=test")).await.ok(200)["data"][0]["id"], view["id"]);
        let download = format!("/app/v1/batch-verify/{id}/download?columns=original&mode=test");
        let file = String::from_utf8(ann.get(&download).await.body.to_vec()).unwrap();
        assert!(file.contains("valid@sandbox.test") && file.contains("passed"), "{file}");
        assert_eq!(app.balance(&org).await.available.total(), PLENTY);
        assert_eq!(put(&mut ann, "name=live.csv", "email\nann@honest-mail.com\n").await.status, 201);
        assert_eq!(ann.get("/app/uploads").await.ok(200)["data"].as_array().unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn an_erasure_of_one_mode_leaves_files_of_the_other() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        let file = "email,name\nvalid@sandbox.test,Canary\n";
        let (_, live) = put_up(&mut ann, "name=live.csv", file).await;
        let (_, test) = put_up(&mut ann, "name=test.csv&mode=test", file).await;
        let test = format!("{test}?mode=test");
        let wish = json!({ "emails": ["valid@sandbox.test"] });
        let wished = ann.post("/app/v1/erasures?mode=test", &wish).await;
        let id = wished.json()["id"].as_str().unwrap().to_owned();
        let mut turns = 0;
        while ann.get(&format!("/app/v1/erasures/{id}?mode=test")).await.ok(200)["status"] != "completed" {
            turns += 1;
            assert!(turns < 300, "never erased");
            pass(Duration::from_millis(500)).await;
        }
        assert_eq!(ann.get(&live).await.ok(200)["preview"][0][1], "Canary");
        assert_eq!(ann.get(&test).await.ok(200)["preview"][0][1], "");
    })
    .await;
}

#[tokio::test]
async fn what_has_no_test_data_refuses_the_test_mode() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        let name = ann.call("PATCH", "/app/organization?mode=test").json(&json!({ "name": "Test Ltd" }));
        app.send(name).await.error(400, "invalid_request");
        let settings =
            ann.call("PATCH", "/app/v1/organization/settings?mode=test").json(&json!({ "retention_days": 7 }));
        app.send(settings).await.error(400, "invalid_request");
        for path in ["/app/v1/organization", "/app/v1/api-keys", "/app/v1/account", "/app/session"] {
            ann.get(&format!("{path}?mode=test")).await.error(400, "invalid_request");
            assert!(ann.get(&format!("{path}?mode=live")).await.status < 300, "{path}");
        }
        assert_eq!(ann.get("/app/session").await.ok(200)["organization"]["name"], "Example Ltd");
        for path in ["/app/v1/account/timeline", "/app/v1/webhooks", "/app/v1/integrations", "/app/v1/erasures"] {
            assert_eq!(ann.get(&format!("{path}?mode=test")).await.status, 200, "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn files_of_one_mode_take_no_room_of_the_other() {
    let mut config = config();
    config.api.uploads.at_once = 1;
    TestApp::each(config, async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        put_up(&mut ann, "name=test.csv&mode=test", "email\nvalid@sandbox.test\n").await;
        put_up(&mut ann, "name=live.csv", "email\nann@honest-mail.com\n").await;
        for query in ["name=more.csv&mode=test", "name=more.csv"] {
            assert_eq!(put(&mut ann, query, "email\nann@honest-mail.com\n").await.status, 409, "{query}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_forecast_of_a_test_list_needs_no_credits_and_no_provider() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let file = "email\nann@gmail.com\nvalid@sandbox.test\n";
        let (_, test) = put_up(&mut ann, "name=demo.csv&mode=test", file).await;
        let forecast = ann.get(&format!("{test}/forecast?mode=test")).await.ok(200);
        let free = json!({ "held": 0, "low": 0, "high": 0, "available": 0, "enough": true });
        assert_eq!(forecast["credits"], free);
        let at_once =
            json!({ "low_s": 0, "high_s": 0, "slowest": null, "addresses": 0, "per_minute": 0, "sources": 0 });
        assert_eq!(forecast["time"], at_once);
        let (_, live) = put_up(&mut ann, "name=live.csv", file).await;
        assert_eq!(ann.get(&format!("{live}/forecast")).await.ok(200)["credits"]["enough"], false);
    })
    .await;
}

#[tokio::test]
async fn a_test_list_is_a_first_step_and_no_single_address() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let job = json!({ "emails": ["valid@sandbox.test"] });
        let job = ann.post("/app/v1/batch-verify?mode=test", &job).await.ok(200);
        ended(&mut ann, job["id"].as_str().unwrap()).await;
        let done = ann.get("/app/first-steps").await.ok(200)["done"].clone();
        assert_eq!(done, json!(["named", "listed"]));
    })
    .await;
}

#[tokio::test]
async fn lists_in_progress_are_counted_by_mode() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let none = json!({ "lists": 0, "connections": 0 });
        assert_eq!(ann.get("/app/changes/counts?mode=test").await.ok(200), none);
        // Its mail server asks for a minute's wait, which does not pass by itself.
        let job = json!({ "emails": ["valid@greylist.sandbox.test"] });
        let job = ann.post("/app/v1/batch-verify?mode=test", &job).await.ok(200);
        assert_eq!(ann.get("/app/changes/counts?mode=test").await.ok(200)["lists"], 1);
        assert_eq!(ann.get("/app/changes/counts").await.ok(200), none);
        let cancel = format!("/app/v1/batch-verify/{}/cancel?mode=test", job["id"].as_str().unwrap());
        ann.post(&cancel, &json!({})).await.ok(200);
        ended(&mut ann, job["id"].as_str().unwrap()).await;
        assert_eq!(ann.get("/app/changes/counts?mode=test").await.ok(200), none);
    })
    .await;
}

#[tokio::test]
async fn members_may_try_the_sandbox_without_test_mode() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 1).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        for _ in 0..2 {
            let verdict = ann.get("/app/v1/verify?email=valid@sandbox.test").await.ok(200);
            assert_eq!((&verdict["reason"], &verdict["meta"]), (&json!("valid"), &json!("")));
        }
        assert_eq!((app.balance(&org).await.available.total(), app.usage(&org).await), (1, vec![]));
        let key = app.key(&org, KeyKind::Live).await;
        assert_eq!(app.verify(&key, "valid@sandbox.test").await.ok(200)["meta"], "sandbox_name");
    })
    .await;
}

#[tokio::test]
async fn first_steps_are_what_the_organization_has() {
    TestApp::each(config(), async |app| {
        let org = app.org("My organization", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        let nothing = json!({ "done": [] });
        assert_eq!(ann.get("/app/first-steps").await.ok(200), nothing);
        let name = |name: &str| ann.call("PATCH", "/app/organization").json(&json!({ "name": name }));
        let (good, bad) = (name("Morning Letter"), name(" "));
        assert_eq!(app.send(good).await.ok(200), json!({ "name": "Morning Letter" }));
        app.send(bad).await.error(400, "invalid_request");
        assert_eq!(ann.get("/app/session").await.ok(200)["organization"]["name"], "Morning Letter");
        ann.get("/app/v1/verify?email=ann@honest-mail.com").await.ok(200);
        ann.post("/app/v1/api-keys", &json!({ "name": "Shop", "kind": "test" })).await.ok(201);
        ann.post("/app/v1/batch-verify?mode=test", &json!({ "emails": ["valid@sandbox.test"] })).await.ok(200);
        app.settled().await;
        let all = json!({ "done": ["named", "verified", "listed", "keyed"] });
        assert_eq!(ann.get("/app/first-steps").await.ok(200), all);
        let (_, mut bob) = signed_in(app, &org, "bob@example.com", MemberRole::Contributor).await;
        let name = bob.call("PATCH", "/app/organization").json(&json!({ "name": "Bob Ltd" }));
        bob.send(name).await.error(403, "forbidden_scope");
    })
    .await;
}
