//! Tests of `GET /v1/organization`.

use std::collections::BTreeSet;

use probity_account::api_key::KeyKind;
use probity_account::scope::Scope;
use serde_json::{Value, json};

use crate::staff::Plan;
use crate::test_app::TestApp;

#[tokio::test]
async fn every_field_is_there_and_says_what_is_so() {
    let app = TestApp::start().await;
    let org = app.org("Example Ltd", 20).await;
    let key = app.restricted(&org, [Scope::ReadAccount]).await;
    let mut shown = app.get(&key, "/v1/organization").await.ok(200);
    let taken = |shown: &mut Value, name: &str| shown.as_object_mut().unwrap().remove(name).unwrap();
    let entitlements = taken(&mut shown, "entitlements");
    let names: BTreeSet<&str> = entitlements.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "webhooks",
        "instafloss",
        "typo_fixer",
        "exclusions",
        "update_tags",
        "sso",
        "autofloss",
        "decay_basic",
        "decay_custom",
    ];
    assert_eq!(names, BTreeSet::from(expected));
    assert!(entitlements.as_object().unwrap().values().all(Value::is_boolean));
    let usage = taken(&mut shown, "usage");
    assert_eq!(usage["current_period_total"], 0);
    let day = |value: &Value| value.as_str().unwrap()[8..].to_owned();
    assert_eq!(day(&usage["current_period_start"]), "01T00:00:00.000Z");
    assert_eq!(day(&usage["current_period_end"]), "01T00:00:00.000Z");
    assert!(usage["current_period_start"].as_str() < usage["current_period_end"].as_str());
    assert_eq!(usage.as_object().unwrap().len(), 3);
    let seats = taken(&mut shown, "seats");
    assert_eq!((&seats["used"], seats["limit"].as_i64().is_some_and(|limit| limit >= 1)), (&1.into(), true));
    let created_at = taken(&mut shown, "created_at");
    assert!(created_at.as_str().unwrap().ends_with('Z') && created_at.as_str().unwrap().len() == 24, "{created_at}");
    assert_eq!(
        shown,
        json!({
            "name": "Example Ltd", "email": null, "plan": "metered", "plan_id": null, "status": "active",
            "credits": {"prepaid": 20, "subscription": 0, "total": 20},
            "trial": {"active": false, "started_at": null, "ends_at": null},
        })
    );
    app.stop().await;
}

#[tokio::test]
async fn credits_are_there_until_their_verdict_is() {
    let app = TestApp::start().await;
    let org = app.org("Ten", 10).await;
    let key = app.key(&org, KeyKind::Live).await;
    let shown = async || app.get(&key, "/v1/organization").await.ok(200)["credits"]["total"].clone();
    let waiting = app.verify(&key, "waits@honest-mail.com");
    let looking = async {
        app.live.asked(1).await;
        assert_eq!(shown().await, 10);
        app.live.gate.add_permits(1);
    };
    tokio::join!(waiting, looking).0.ok(200);
    assert_eq!(shown().await, 9);
    app.stop().await;
}

#[tokio::test]
async fn an_unlimited_plan_shows_credits_that_do_not_end() {
    let app = TestApp::start().await;
    let org = app.admin.create_org("Own", Plan::Unlimited).await.unwrap();
    let key = app.key(&org, KeyKind::Live).await;
    app.verify(&key, "no-address").await.ok(200);
    let shown = app.get(&key, "/v1/organization").await.ok(200);
    assert_eq!(shown["plan"], "unlimited");
    let total = shown["credits"]["total"].as_i64().unwrap();
    // JavaScript reads numbers as doubles, which are inexact above 2^53.
    assert!((1_000_000_000..1 << 53).contains(&total), "{total}");
    app.stop().await;
}
