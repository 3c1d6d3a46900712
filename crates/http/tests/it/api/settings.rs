//! Tests of `/v1/organization/settings`: values, errors, and their effect, which is limited to lists.

use std::time::Duration;

use probity_account::api_key::KeyKind;
use probity_account::scope::Scope;
use probity_http::service::ServiceConfig;
use probity_mail::verdict::Reason;
use probity_service::app::ApiConfig;
use serde_json::{Value, json};

use super::batch::{done, submit};
use crate::test_app::{Answer, Call, TestApp, pass};

const SETTINGS: &str = "/v1/organization/settings";

async fn patch(app: &TestApp, key: &str, body: &Value) -> Answer {
    app.send(Call::patch(SETTINGS, body.to_string()).key(key)).await
}

async fn set(app: &TestApp, key: &str, body: Value) -> Value {
    patch(app, key, &body).await.ok(200)
}

/// Submits a list. Returns the job's ID, and status and reason of each row.
async fn verdicts(app: &TestApp, key: &str, emails: &[&str]) -> (String, Vec<String>) {
    let id = submit(app, key, emails).await;
    done(app, key, &id).await;
    let page = app.get(key, &format!("/v1/batch-verify/{id}/results?per_page=1000")).await.ok(200);
    let text = |row: &Value| format!("{} {}", row["status"].as_str().unwrap(), row["reason"].as_str().unwrap());
    (id, page["data"].as_array().unwrap().iter().map(text).collect())
}

fn nothing() -> Value {
    json!({
        "ignored_reasons": [], "ignored_statuses": [], "banned_words": [], "role_words": [],
        "retention_days": null, "delivery_retention_days": null, "rate_limit_per_minute": null, "time_zone": null,
    })
}

#[tokio::test]
async fn a_patch_changes_what_it_names() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (_, key) = app.customer().await;
        let (_, other) = app.customer().await;
        assert_eq!(app.get(&key, SETTINGS).await.ok(200), nothing());
        let words = json!([" Casino ", "Größe", "Casino", "'; DROP TABLE org; --", "\u{1}"]);
        let all = json!({
            "ignored_reasons": ["unverified", "complainers", "unverified"], "ignored_statuses": ["unknown", "undeliverable"],
            "banned_words": words, "role_words": ["x".repeat(64)], "retention_days": 3650, "delivery_retention_days": 30,
            "rate_limit_per_minute": 20_000, "time_zone": "europe/berlin",
        });
        let mut expected = json!({
            "ignored_reasons": ["complainers", "unverified"], "ignored_statuses": ["undeliverable", "unknown"],
            "banned_words": ["Casino", "Größe", "'; DROP TABLE org; --", "\u{1}"], "role_words": ["x".repeat(64)],
            "retention_days": 3650, "delivery_retention_days": 30, "rate_limit_per_minute": 20_000,
            "time_zone": "Europe/Berlin",
        });
        assert_eq!(set(app, &key, all).await, expected);
        assert_eq!(app.get(&key, SETTINGS).await.ok(200), expected);
        assert_eq!(set(app, &key, json!({})).await, expected, "what is left out stays");
        expected["banned_words"] = json!(["one"]);
        expected["retention_days"] = Value::Null;
        assert_eq!(set(app, &key, json!({"banned_words": ["one"], "retention_days": null})).await, expected);
        let cleared: Value = nothing().as_object().unwrap().keys().map(|name| (name.clone(), Value::Null)).collect();
        assert_eq!(set(app, &key, cleared).await, nothing());
        assert_eq!(app.get(&other, SETTINGS).await.ok(200), nothing());
    })
    .await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_by_name_and_changes_nothing() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let many = vec!["casino"; 1_001];
    let refused = [
        ("surprise", json!({"surprise": 1})),
        ("ignored_reasons[1]", json!({"ignored_reasons": ["spam", "invalid"]})),
        ("ignored_reasons[0]", json!({"ignored_reasons": ["complained"]})),
        ("ignored_reasons", json!({"ignored_reasons": "spam"})),
        ("ignored_statuses[0]", json!({"ignored_statuses": ["passed"]})),
        ("ignored_statuses[0]", json!({"ignored_statuses": [1]})),
        ("banned_words", json!({"banned_words": many})),
        ("banned_words[0]", json!({"banned_words": ["x".repeat(65)]})),
        ("banned_words[1]", json!({"banned_words": ["a", " \t "]})),
        ("role_words[0]", json!({"role_words": [null]})),
        ("retention_days", json!({"retention_days": 0})),
        ("retention_days", json!({"retention_days": 3651})),
        ("retention_days", json!({"retention_days": 1.5})),
        ("retention_days", json!({"retention_days": "30"})),
        ("delivery_retention_days", json!({"delivery_retention_days": 0})),
        ("delivery_retention_days: must be a whole number from 1 to 30", json!({"delivery_retention_days": 31})),
        ("rate_limit_per_minute", json!({"rate_limit_per_minute": 0})),
        ("rate_limit_per_minute", json!({"rate_limit_per_minute": 20_001})),
        ("time_zone", json!({"time_zone": "Mars/Olympus_Mons"})),
        ("the body", json!([])),
    ];
    for (field, mut body) in refused {
        if let Some(fields) = body.as_object_mut() {
            fields.entry("retention_days").or_insert(json!(7));
        }
        let message = patch(&app, &key, &body).await.error(400, "invalid_request");
        assert!(message.starts_with(field), "{body}: {message}");
    }
    let nul = app.send(Call::patch(SETTINGS, r#"{"banned_words": ["a\u0000"]}"#).key(&key)).await;
    nul.error(400, "invalid_request");
    app.send(Call::new("PATCH", SETTINGS).key(&key)).await.error(400, "invalid_request");
    assert_eq!(app.get(&key, SETTINGS).await.ok(200), nothing());
    app.stop().await;
}

#[tokio::test]
async fn an_organization_can_only_lower_its_limit() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let limit = async |key: &str| app.get(key, "/v1/jobs").await.number("x-ratelimit-limit");
    assert_eq!(limit(&key).await, 10_000, "the key's is the narrower one");
    set(&app, &key, json!({"rate_limit_per_minute": 50})).await;
    assert_eq!(limit(&key).await, 50);
    let another = app.key(&org, KeyKind::Live).await;
    assert_eq!(limit(&another).await, 50, "it is that of all keys");
    set(&app, &key, json!({"rate_limit_per_minute": null})).await;
    assert_eq!(limit(&key).await, 10_000);
    app.stop().await;
}

#[tokio::test]
async fn a_limit_of_ones_own_never_holds_back_the_route_that_raises_it() {
    let api = ApiConfig { org_per_minute: 30, ..ApiConfig::default() };
    TestApp::each(ServiceConfig { api, ..ServiceConfig::default() }, async |app| {
        let (_, key) = app.customer().await;
        set(app, &key, json!({"rate_limit_per_minute": 1})).await;
        // Requests used before the change stay used.
        while app.get(&key, "/v1/jobs").await.status != 429 {}
        let answer = app.get(&key, SETTINGS).await;
        assert_eq!(answer.ok(200)["rate_limit_per_minute"], 1);
        assert_eq!(answer.number("x-ratelimit-limit"), 30, "the operator's");
        app.get(&key, "/v1/jobs").await.error(429, "rate_limited");
        set(app, &key, json!({"rate_limit_per_minute": null})).await;
        pass(Duration::from_mins(1)).await;
        app.get(&key, "/v1/jobs").await.ok(200);
        // The operator's limit applies to this route, too.
        set(app, &key, json!({"rate_limit_per_minute": 29})).await;
        let mut refused = false;
        for _ in 0..60 {
            refused |= app.get(&key, SETTINGS).await.status == 429;
        }
        assert!(refused);
    })
    .await;
}

#[tokio::test]
async fn ignored_findings_let_the_next_one_stand() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (_, key) = app.tester().await;
        let emails = [
            "valid@sandbox.test",
            "inbox_full@sandbox.test",
            "complained@sandbox.test",
            "info@sandbox.test",
            "info@catchall.sandbox.test",
            "available@sandbox.test",
            "casino-fan@catchall.sandbox.test",
            "lighthouse2@catchall.sandbox.test",
            "no address",
        ];
        let raw = [
            "passed valid",
            "undeliverable inbox_full",
            "risky complained",
            "risky role_based",
            "risky role_based",
            "risky available",
            "unknown accept_all",
            "unknown accept_all",
            "undeliverable invalid",
        ];
        assert_eq!(verdicts(app, &key, &emails).await.1, raw);
        set(
            app,
            &key,
            json!({
                "ignored_reasons": ["inbox_full", "complainers", "role_based", "accept_all"], "banned_words": ["casino"],
                "role_words": ["lighthouse"],
            }),
        )
        .await;
        let (id, after) = verdicts(app, &key, &emails).await;
        let expected = [
            "passed valid",
            "passed valid",
            "passed valid",
            "passed valid",
            "passed valid",
            "risky available",
            "risky banned_words",
            "passed valid",
            "undeliverable invalid",
        ];
        assert_eq!(after, expected);
        let status = app.get(&key, &format!("/v1/batch-verify/{id}/status")).await.ok(200);
        assert_eq!((&status["numPassed"], &status["numRisky"]), (&json!(6), &json!(2)));
        let reasons = app.get(&key, &format!("/v1/jobs/{id}")).await.ok(200)["results"]["reasons"].clone();
        assert_eq!((&reasons["banned_words"], &reasons["accept_all"]), (&json!(1), &json!(0)), "{reasons}");

        set(app, &key, json!({"ignored_reasons": ["role_based"], "ignored_statuses": ["risky"]})).await;
        let after = verdicts(app, &key, &emails).await.1;
        assert_eq!(&after[3..6], ["passed valid", "unknown accept_all", "passed valid"]);
        assert_eq!(&after[6..8], ["unknown accept_all", "unknown accept_all"], "words are ignored with their status");
        set(app, &key, json!({"ignored_reasons": [], "ignored_statuses": null, "role_words": ["casino-fan"]})).await;
        let after = verdicts(app, &key, &emails).await.1;
        assert_eq!(&after[6..8], ["risky banned_words", "unknown accept_all"]);
    })
    .await;
}

#[tokio::test]
async fn the_price_and_live_calls_are_those_of_the_raw_verdict() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let all = json!({
        "ignored_statuses": ["undeliverable", "risky", "unknown"], "banned_words": ["ann"], "role_words": ["user1"],
    });
    set(&app, &key, all).await;
    // The price follows the unchanged verdict: the inconclusive one is free although it is reported as `valid`, and the others
    // cost a credit.
    let emails = ["ann@blocks-us.com", "full@honest-mail.com", "info@honest-mail.com", "nobody@null-mx.com"];
    assert_eq!(verdicts(&app, &key, &emails).await.1, ["passed valid"; 4]);
    assert_eq!(app.usage(&org).await, [(Reason::Valid, 4, 3)]);
    assert_eq!(app.balance(&org).await.spent.total(), 3);

    for (email, reason) in [
        ("full@honest-mail.com", "inbox_full"),
        ("ann@honest-mail.com", "valid"),
        ("user1@honest-mail.com", "valid"),
        ("info@honest-mail.com", "role_based"),
        ("no-address", "invalid"),
    ] {
        assert_eq!(app.verify(&key, email).await.reason(), reason, "{email}");
    }
    app.stop().await;
}

#[tokio::test]
async fn scopes_are_those_of_the_account() {
    let app = TestApp::start().await;
    let (org, _) = app.customer().await;
    let reader = app.restricted(&org, [Scope::ReadAccount]).await;
    let writer = app.restricted(&org, [Scope::WriteAccount]).await;
    patch(&app, &reader, &json!({"retention_days": 7})).await.error(403, "forbidden_scope");
    app.get(&writer, SETTINGS).await.error(403, "forbidden_scope");
    set(&app, &writer, json!({"retention_days": 7})).await;
    assert_eq!(app.get(&reader, SETTINGS).await.ok(200)["retention_days"], 7);
    app.stop().await;
}
