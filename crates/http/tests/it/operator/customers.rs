//! Tests of customers: creation, search, change and restriction.

use serde_json::{Value, json};

use super::{KEY, ORGS, config, customer, described, get, patch, post};
use crate::test_app::{Call, TestApp};

#[tokio::test]
async fn a_customer_is_made_found_and_changed() {
    TestApp::each(config(false), async |app| {
        let made = post(app, ORGS, json!({"name": " Ärzte GmbH ", "plan": "team", "seats": 3})).await.ok(201);
        assert_eq!(made["key"], Value::Null);
        assert!(made["link"]["url"].as_str().unwrap().starts_with("https://verify.example/#/link/"));
        let organization = &made["organization"];
        assert_eq!((&organization["name"], &organization["plan"]), (&json!("Ärzte GmbH"), &json!("team")));
        assert_eq!(organization["seats"], json!({"own": 3, "effective": 3}));
        assert_eq!(organization["entitlements"], json!(["sso"]));
        assert!(organization["renews_at"].is_string());
        for n in 0..4 {
            post(app, ORGS, json!({"name": format!("Other {n}")})).await.ok(201);
        }
        let found = get(app, &format!("{ORGS}?name=%C3%A4rz")).await.ok(200);
        assert_eq!((&found["data"], found["data"].as_array().unwrap().len()), (&json!([organization]), 1));
        let (mut names, mut next) = (Vec::new(), String::new());
        loop {
            let page = get(app, &format!("{ORGS}?name=other&per_page=3&next={next}")).await.ok(200);
            names.extend(page["data"].as_array().unwrap().iter().map(|org| org["name"].clone()));
            match page["pagination"]["next_cursor"].as_str() {
                Some(cursor) => cursor.clone_into(&mut next),
                None => break,
            }
        }
        assert_eq!(names, ["Other 0", "Other 1", "Other 2", "Other 3"]);
        get(app, &format!("{ORGS}?name=more&next={next}")).await.error(400, "invalid_request");

        let path = format!("{ORGS}/{}", organization["id"].as_str().unwrap());
        let wish = json!({
            "name": "Doctors", "plan": "metered", "seats": null, "rate_limit_per_minute": 60, "low_balance": 5,
            "entitlements": {"sso": false, "webhooks": null, "autofloss": true},
        });
        let changed = patch(app, &path, wish).await.ok(200);
        assert_eq!(changed, get(app, &path).await.ok(200));
        assert_eq!(changed["credits"]["subscription"]["available"], changed["credits"]["total"]);
        assert!(changed["credits"]["prepaid"]["held"].is_number(), "{changed}");
        assert_eq!((&changed["name"], &changed["plan"]), (&json!("Doctors"), &json!("metered")));
        assert_eq!(changed["seats"], json!({"own": null, "effective": null}));
        assert_eq!(changed["rate_limit_per_minute"], json!({"own": 60, "effective": 60}));
        assert_eq!(changed["own_entitlements"], json!({"sso": false, "autofloss": true}));
        for (wrong, field) in [
            (json!({"plan": "gone"}), "plan"),
            (json!({"name": " "}), "name"),
            (json!({"name": null}), "name"),
            (json!({"plan": null}), "plan"),
            (json!({"seats": 0}), "seats"),
            (json!({"entitlements": {"all": true}}), "entitlements"),
            (json!({"status": "banned"}), "status"),
        ] {
            assert!(patch(app, &path, wrong).await.error(400, "invalid_request").contains(field), "{field}");
        }
        get(app, &format!("{ORGS}/org_01h455vb4pex5vsknk084sn02q")).await.error(404, "not_found");
    })
    .await;
}

#[tokio::test]
async fn a_customer_is_made_once_for_an_idempotency_key() {
    TestApp::each(config(false), async |app| {
        let make = async |name: &str, key: &str| {
            let body = json!({"name": name, "first_key": true}).to_string();
            described("POST", ORGS, app.send(Call::post(ORGS, body).key(KEY).once(key)).await)
        };
        let both = tokio::join!(make("Example Ltd", "one"), make("Example Ltd", "one"));
        for answer in [&both.0, &both.1] {
            assert!([201, 409].contains(&answer.status), "{}", answer.text());
        }
        let replayed = make("Example Ltd", "one").await;
        assert_eq!(replayed.header("idempotent-replayed"), Some("true"));
        let first = [both.0, both.1].into_iter().find(|answer| answer.status == 201).unwrap();
        assert_eq!(replayed.ok(201), first.ok(201), "with its link and its key");
        make("Another Ltd", "one").await.error(422, "idempotency_key_reused");
        make(" ", "two").await.error(400, "invalid_request");
        make("Another Ltd", "two").await.ok(201);
        let all = get(app, ORGS).await.ok(200);
        let names: Vec<_> = all["data"].as_array().unwrap().iter().map(|org| org["name"].as_str().unwrap()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        let live = replayed.ok(201)["key"].as_str().unwrap().to_owned();
        app.get(&live, "/v1/organization").await.ok(200);
    })
    .await;
}

#[tokio::test]
async fn a_hold_stops_the_api_and_its_reason_stays_with_the_operator() {
    let app = TestApp::with(config(false)).await;
    let (org, key) = customer(&app, "team").await;
    let hold = async |status: &str| {
        let body = json!({"status": status, "reason": "chargeback by Ann, clerk 7"});
        post(&app, &format!("{org}/hold"), body).await
    };
    for status in ["active", "needs_identity_verification", "stopped"] {
        hold(status).await.error(400, "invalid_request");
    }
    app.get(&key, "/v1/organization").await.ok(200);
    assert_eq!(hold("suspended").await.ok(200)["hold_reason"], "chargeback by Ann, clerk 7");
    // Takes effect at once, although the key is cached.
    app.get(&key, "/v1/organization").await.error(403, "forbidden_scope");
    assert_eq!(post(&app, &format!("{org}/lift"), json!({})).await.ok(200)["hold_reason"], Value::Null);
    app.get(&key, "/v1/organization").await.ok(200);
    hold("under_review").await.ok(200);
    assert_eq!(app.get(&key, "/v1/organization").await.ok(200)["status"], "under_review");
    post(&app, &format!("{org}/credits/grants"), json!({"bucket": "prepaid", "amount": 1, "reference": "R-77"}))
        .await
        .ok(200);
    patch(&app, &org, json!({"plan": "metered", "seats": 4})).await.ok(200);
    let timeline = app.get(&key, "/v1/account/timeline").await.ok(200);
    let text = timeline.to_string();
    for hidden in ["Ann", "clerk", "R-77", KEY] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
    let events = timeline["events"].as_array().unwrap();
    let kinds: Vec<_> = events.iter().filter_map(|event| event["kind"].as_str()).collect();
    for kind in ["plan_change", "credits_granted", "hold_lifted", "hold", "key_created"] {
        assert!(kinds.contains(&kind), "{kind}: {text}");
    }
    let staff = json!({"type": "staff"});
    assert!(events.iter().all(|event| event["actor"]["type"] == staff["type"]), "{text}");
    assert!(events.iter().any(|event| event["setting"] == "organization.seats" && event["after"] == 4), "{text}");
    app.stop().await;
}
