//! Tests of the API with a session: the same routes, with the scopes of the member's role.

use probity_account::api_key::KeyKind;
use probity_account::role::MemberRole;
use probity_account::scope::Scope;
use probity_store::accounts::organization::OrgState;
use serde_json::{Value, json};

use super::browser::Browser;
use super::{config, signed_in};
use crate::matrix::ROUTES;
use crate::test_app::{Call, PLENTY, TestApp, at_one_moment};

/// Returns every route of the API with its required scope.
async fn routes(app: &TestApp) -> Vec<(String, String, Option<Scope>)> {
    let document: Value = app.send(Call::get("/v1/openapi.json")).await.ok(200);
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let scope = operation["security"][0]["bearer"][0].as_str();
            let scope = scope.map(|name| Scope::from_name(name).unwrap());
            routes.push((method.to_uppercase(), path.replace("{id}", "x"), scope));
        }
    }
    routes
}

#[tokio::test]
async fn a_role_opens_what_its_scopes_say_and_a_stopped_account_nothing() {
    TestApp::each(config(), async |app| {
        let all = routes(app).await;
        assert_eq!(all.len(), ROUTES.len());
        for status in OrgState::ALL {
            let org = app.org_in(OrgState::Active).await;
            for role in MemberRole::ALL {
                let email = format!("{}@{}.example", role.as_str(), status.as_str().replace('_', "-"));
                let (_, mut browser) = signed_in(app, &org, &email, role).await;
                app.admin.set_status(&org, status).await.unwrap();
                for (method, path, scope) in &all {
                    // Bodies are invalid on purpose: the error shows whether the request passed the guard.
                    let call = browser.call(method, &format!("/app{path}"));
                    let answer = browser.send(call).await;
                    let allowed = scope.is_none_or(|scope| role.scopes().contains(scope) && !status.is_stopped());
                    let place = format!("{} {method} {path}, {}: {}", role.as_str(), status.as_str(), answer.text());
                    assert_eq!(answer.status == 403, !allowed, "{place}");
                    assert_ne!(answer.status, 401, "{place}");
                    assert!(answer.headers.contains_key("x-ratelimit-limit"), "{place}");
                }
                assert!(browser.is_in().await, "also where the account is stopped");
                let code = browser.get("/app/sessions").await.status;
                assert_eq!(code, if status.is_stopped() { 403 } else { 200 });
                browser.post("/app/sign-out", &json!({})).await.ok(200);
                app.admin.set_status(&org, OrgState::Active).await.unwrap();
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_cookie_opens_nothing_under_v1_and_a_key_nothing_under_app() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let key = app.key(&org, KeyKind::Live).await;
        let (_, mut browser) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        for (method, path, _) in routes(app).await {
            let call = browser.call(&method, &path);
            browser.send(call).await.error(401, "missing_api_key");
            let call = Call::new(&method, format!("/app{path}")).header("sec-fetch-site", "same-origin").key(&key);
            app.send(call).await.error(401, "not_signed_in");
        }
        // With a key and a cookie, `/v1` responds as if the cookie were absent.
        let other = app.org("Other Ltd", PLENTY).await;
        let call = browser.call("GET", "/v1/organization").key(&app.key(&other, KeyKind::Live).await);
        assert_eq!(browser.send(call).await.ok(200)["name"], "Other Ltd");
        assert_eq!(browser.get("/app/v1/organization").await.ok(200)["name"], "Example Ltd");
    })
    .await;
}

#[tokio::test]
async fn what_a_person_does_is_told_as_theirs() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (ann, mut browser) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        let list = json!({ "emails": ["nobody@null-mx.com"] });
        let submitted = browser.call("POST", "/app/v1/batch-verify").json(&list).once("page-1");
        let id = browser.send(submitted).await.ok(200)["id"].clone();
        let again = browser.call("POST", "/app/v1/batch-verify").json(&list).once("page-1");
        let again = browser.send(again).await;
        assert_eq!((&again.ok(200)["id"], again.header("idempotent-replayed")), (&id, Some("true")));
        let job = browser.get(&format!("/app/v1/jobs/{}", id.as_str().unwrap())).await.ok(200);
        assert_eq!(job["source"], "input");
        browser.get("/app/v1/verify?email=nobody@null-mx.com").await.ok(200);
        let made = browser.post("/app/v1/api-keys", &json!({ "name": "By Ann", "kind": "live" })).await.ok(201);
        browser.delete(&format!("/app/v1/api-keys/{}", made["id"].as_str().unwrap()), &json!({})).await.ok(200);

        let timeline = browser.get("/app/v1/account/timeline").await.ok(200);
        let events = timeline["events"].as_array().unwrap();
        let by_ann = json!({ "type": "user", "id": ann.id });
        let job = events.iter().find(|event| event["type"] == "job").unwrap();
        assert_eq!((&job["trigger"], &job["actor"]), (&json!("manual"), &by_ann));
        for kind in ["login", "password_changed", "key_created", "key_revoked"] {
            let event = events.iter().find(|event| event["kind"] == kind).unwrap_or_else(|| panic!("{kind}"));
            assert_eq!(event["actor"], by_ann, "{kind}");
        }
        assert_eq!(timeline["summary"]["jobs_by_trigger"], json!({ "manual": 1 }));
    })
    .await;
}

#[tokio::test]
async fn people_change_what_is_their_own_whatever_their_role() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        let (_, mut browser) = signed_in(app, &org, "bob@example.com", MemberRole::Contributor).await;
        let mut patch = async |path: &str, body: Value| {
            let call = browser.call("PATCH", path).json(&body);
            browser.send(call).await
        };
        let own = json!({ "name": "Bob", "phone": "+49 30 1", "notifications": { "weekly_report": false } });
        patch("/app/v1/account", own.clone()).await.error(403, "forbidden_scope");
        let changed = patch("/app/account", own).await.ok(200);
        assert_eq!((&changed["name"], &changed["phone"]), (&json!("Bob"), &json!("+49 30 1")));
        assert_eq!(changed["email"], "bob@example.com");
        let told = &changed["notifications"];
        assert_eq!((&told["weekly_report"], &told["monthly_report"]), (&json!(false), &json!(true)));
        for (field, body) in [
            ("vat_id", json!({ "vat_id": "DE1" })),
            ("organization", json!({ "organization": "Other" })),
            ("role", json!({ "role": "administrator" })),
            ("name", json!({ "name": null })),
        ] {
            let message = patch("/app/account", body).await.error(400, "invalid_request");
            assert!(message.starts_with(field), "{message}");
        }
        assert_eq!(browser.get("/app/session").await.ok(200)["user"]["role"], "contributor");
        assert_eq!(browser.get("/app/v1/account").await.ok(200), changed);
    })
    .await;
}

#[tokio::test]
async fn limits_hold_for_a_session_and_for_all_of_its_organization() {
    let mut slow = config();
    (slow.api.key_per_minute, slow.api.org_per_minute) = (6, 10);
    TestApp::each(slow, async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let (_, mut bob) = signed_in(app, &org, "bob@example.com", MemberRole::Contributor).await;
        at_one_moment(async {
            let mut passed = 0;
            for _ in 0..8 {
                passed += u32::from(ann.get("/app/v1/jobs").await.status == 200);
            }
            assert_eq!(passed, 6);
            ann.get("/app/session").await.error(429, "rate_limited");
            passed = 0;
            for _ in 0..8 {
                passed += u32::from(bob.get("/app/v1/jobs").await.status == 200);
            }
            assert_eq!(passed, 4, "what is left of the organization's");
            let key = app.key(&org, KeyKind::Live).await;
            app.get(&key, "/v1/jobs").await.error(429, "rate_limited");
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn people_cannot_look_at_a_key_that_they_do_not_name() {
    let app = TestApp::with(config()).await;
    let org = app.org("Example Ltd", PLENTY).await;
    let key = app.key(&org, KeyKind::Live).await;
    let (_, mut browser) = signed_in(&app, &org, "ann@example.com", MemberRole::Contributor).await;
    browser.get("/app/v1/check-key").await.error(400, "invalid_request");
    assert_eq!(browser.get(&format!("/app/v1/check-key?api_key={key}")).await.ok(200)["name"], "live");
    assert!(!Browser::new(&app).is_in().await);
    app.stop().await;
}

#[tokio::test]
async fn the_limit_of_an_organizations_keys_does_not_hold_back_its_people() {
    let app = TestApp::with(config()).await;
    let (org, key) = app.customer().await;
    let (_, mut browser) = signed_in(&app, &org, "owner@example.com", MemberRole::Administrator).await;
    let patch = Call::patch("/v1/organization/settings", json!({"rate_limit_per_minute": 1}).to_string());
    app.send(patch.key(&key)).await.ok(200);
    while app.get(&key, "/v1/jobs").await.status != 429 {}
    for path in ["/app/v1/organization/settings", "/app/v1/jobs", "/app/sessions"] {
        browser.get(path).await.ok(200);
    }
    app.stop().await;
}
