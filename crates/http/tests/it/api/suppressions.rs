//! Tests of suppression lists: additions, removals, and their effect, which is limited to lists.

use probity_account::api_key::KeyKind;
use probity_account::scope::Scope;
use probity_http::service::ServiceConfig;
use serde_json::{Value, json};

use super::batch::{done, submit};
use crate::test_app::{Answer, Call, TestApp};

fn path(list: &str) -> String {
    format!("/v1/organization/suppressions/{list}")
}

async fn add(app: &TestApp, key: &str, list: &str, emails: &[&str]) -> Value {
    let body = json!({ "emails": emails }).to_string();
    app.send(Call::post(path(list), body).key(key)).await.ok(200)
}

async fn remove(app: &TestApp, key: &str, list: &str, body: &Value) -> Answer {
    app.send(Call::new("DELETE", path(list)).json(body).key(key)).await
}

/// Returns the number of addresses on the list, and whether this one is listed.
async fn look(app: &TestApp, key: &str, list: &str, email: &str) -> (i64, bool) {
    let shown = app.get(key, &format!("{}?email={email}", path(list))).await.ok(200);
    let lookup = &shown["lookup"];
    assert_eq!((&shown["list"], &lookup["email"]), (&json!(list), &json!(email)));
    assert_eq!(lookup["listed"] == true, lookup["since"].is_string());
    (shown["count"].as_i64().unwrap(), lookup["listed"].as_bool().unwrap())
}

/// Returns status and reason of each row of a job.
async fn verdicts(app: &TestApp, key: &str, emails: &[&str]) -> Vec<String> {
    let id = submit(app, key, emails).await;
    done(app, key, &id).await;
    let page = app.get(key, &format!("/v1/batch-verify/{id}/results?per_page=1000")).await.ok(200);
    let text = |row: &Value| format!("{} {}", row["status"].as_str().unwrap(), row["reason"].as_str().unwrap());
    page["data"].as_array().unwrap().iter().map(text).collect()
}

#[tokio::test]
async fn a_name_before_an_address_hides_nothing() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (_, key) = app.customer().await;
        let added = add(app, &key, "bounced", &["Ann <ann@honest-mail.com>", "ann@honest-mail.com", "<<<>>>"]).await;
        assert_eq!((&added["added"], &added["invalid"]), (&json!(1), &json!(1)));
        let emails = ["\"Lee, Ann\" <Ann@honest-mail.com>", "Bob <user1@honest-mail.com>"];
        assert_eq!(verdicts(app, &key, &emails).await, ["risky bounced", "passed valid"]);
    })
    .await;
}

#[tokio::test]
async fn addresses_are_counted_and_known_again_and_never_told() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (_, key) = app.customer().await;
        let (_, other) = app.customer().await;
        let empty = json!({"list": "spam", "count": 0, "changed_at": null, "lookup": null});
        assert_eq!(app.get(&key, &path("spam")).await.ok(200), empty);
        let added = add(app, &key, "spam", &["Ann@example.org", "ann@EXAMPLE.org", "bob@example.org", "x"]).await;
        let expected = json!({
            "list": "spam", "submitted": 4, "added": 2, "present": 1, "invalid": 1, "count": 2,
        });
        assert_eq!(added, expected);
        let again = add(app, &key, "spam", &["ann@example.org", "eve@example.org"]).await;
        assert_eq!((&again["added"], &again["present"], &again["count"]), (&json!(1), &json!(1), &json!(3)));

        assert_eq!(look(app, &key, "spam", "ANN@example.org").await, (3, true));
        assert_eq!(look(app, &key, "spam", "nobody@example.org").await, (3, false));
        assert_eq!(look(app, &key, "spam", "x").await, (3, false));
        assert_eq!(look(app, &key, "bounced", "ann@example.org").await, (0, false), "each list is its own");
        for empty in ["email=", "email", "email=%20%09"] {
            let message = app.get(&key, &format!("{}?{empty}", path("spam"))).await.error(400, "invalid_request");
            assert_eq!(message, "email: must not be empty", "{empty}");
        }
        assert_eq!(look(app, &other, "spam", "ann@example.org").await, (0, false), "and each organization's");

        let removed =
            remove(app, &key, "spam", &json!({"emails": ["Eve@example.org", "nobody@example.org", "x"]})).await;
        assert_eq!(removed.ok(200), json!({"list": "spam", "removed": 1, "invalid": 1, "count": 2}));
        let all = app.send(Call::new("DELETE", path("spam") + "?all=true").key(&key)).await.ok(200);
        assert_eq!(all, json!({"list": "spam", "removed": 2, "invalid": 0, "count": 0}));
        assert_eq!(look(app, &key, "spam", "ann@example.org").await, (0, false));
    })
    .await;
}

#[tokio::test]
async fn a_list_comes_in_as_a_batch_does_and_once_for_each_key() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (_, key) = app.customer().await;
        // More than one step, so that only the last step can store the response.
        let many: Vec<String> = (0..25_000).map(|n| format!("u{n}@example.org")).collect();
        let csv = || {
            Call::with_body(path("bounced"), "text/csv", format!("email\n{}\n", many.join("\n")))
                .key(&key)
                .once("import")
        };
        let added = app.send(csv()).await.ok(200);
        assert_eq!(
            (&added["submitted"], &added["added"], &added["count"]),
            (&json!(25_000), &json!(25_000), &json!(25_000))
        );
        let replayed = app.send(csv()).await;
        assert_eq!(replayed.headers["idempotent-replayed"], "true");
        assert_eq!(replayed.ok(200), added);
        let lines = Call::with_body(
            path("bounced"),
            "application/x-ndjson",
            "{\"email\":\"n@example.org\"}\n\"u1@example.org\"\n",
        );
        app.send(lines.key(&key).once("import")).await.error(422, "idempotency_key_reused");
        // Errors of the body come second.
        let faulty = Call::with_body(path("bounced"), "application/x-ndjson", "{\"email\": 1}\n").key(&key);
        app.send(faulty.once("import")).await.error(422, "idempotency_key_reused");
        let faulty = Call::with_body(path("bounced"), "application/x-ndjson", "{\"email\": 1}\n").key(&key);
        app.send(faulty).await.error(400, "invalid_request");
        let lines = Call::with_body(
            path("bounced"),
            "application/x-ndjson",
            "{\"email\":\"n@example.org\"}\n\"u1@example.org\"\n",
        );
        let added = app.send(lines.key(&key)).await.ok(200);
        assert_eq!((&added["added"], &added["present"], &added["count"]), (&json!(1), &json!(1), &json!(25_001)));
        let all = app.send(Call::new("DELETE", path("bounced") + "?all=true").key(&key)).await.ok(200);
        assert_eq!(all["removed"], 25_001);
    })
    .await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    add(&app, &key, "complained", &["ann@example.org"]).await;
    for body in [json!({"emails": []}), json!({"emails": [1]}), json!({"emails": "a@b.c"}), json!({})] {
        app.send(Call::post(path("complained"), body.to_string()).key(&key)).await.error(400, "invalid_request");
        remove(&app, &key, "complained", &body).await.error(400, "invalid_request");
    }
    let long = json!({"emails": ["ann@example.org", "x".repeat(1_025)]});
    let message = remove(&app, &key, "complained", &long).await.error(400, "invalid_request");
    assert!(message.starts_with("emails[1]"), "{message}");
    remove(&app, &key, "complained", &json!({"emails": vec!["a"; 10_001]})).await.error(400, "invalid_request");
    remove(&app, &key, "complained?all=true", &json!({"emails": ["a@b.c"]})).await.error(400, "invalid_request");
    app.send(Call::new("DELETE", path("complained")).key(&key)).await.error(400, "invalid_request");
    app.send(Call::new("DELETE", path("complained") + "?all=maybe").key(&key)).await.error(400, "invalid_request");
    app.send(Call::with_body(path("complained"), "text/plain", "a@b.c").key(&key))
        .await
        .error(415, "unsupported_media_type");
    for list in ["complainers", "nonexistent", "SPAM", "%00"] {
        app.get(&key, &path(list)).await.error(404, "not_found");
        app.send(Call::post(path(list), r#"{"emails": ["a@b.c"]}"#).key(&key)).await.error(404, "not_found");
    }
    let reader = app.restricted(&org, [Scope::ReadAccount]).await;
    assert_eq!(look(&app, &reader, "complained", "ann@example.org").await, (1, true));
    app.stop().await;
}

#[tokio::test]
async fn batches_find_what_is_listed_and_live_calls_do_not() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        add(app, &key, "spam", &["ann@honest-mail.com", "gone@honest-mail.com"]).await;
        add(app, &key, "complained", &["Info@honest-mail.com", "any@takes-all.com"]).await;
        add(app, &key, "bounced", &["ann@honest-mail.com", "user1@honest-mail.com"]).await;
        let emails = [
            "Ann@HONEST-mail.com",
            "gone@honest-mail.com",
            "info@honest-mail.com",
            "any@takes-all.com",
            "user1@honest-mail.com",
            "user2@honest-mail.com",
            "x",
        ];
        let expected = [
            "risky spam",
            "undeliverable nonexistent",
            "risky complained",
            "risky complained",
            "risky bounced",
            "passed valid",
            "undeliverable invalid",
        ];
        assert_eq!(verdicts(app, &key, &emails).await, expected);
        let balance = app.balance(&org).await;
        assert_eq!((balance.held.total(), balance.spent.total()), (0, 7), "a listed address costs what it would cost");
        assert_eq!(app.get(&key, "/v1/verify?email=ann@honest-mail.com").await.ok(200)["reason"], "valid");

        // Ignored reasons in the settings let the next finding count.
        let wishes = r#"{"ignored_reasons": ["spam", "complainers"]}"#;
        app.send(Call::patch("/v1/organization/settings", wishes).key(&key)).await.ok(200);
        let expected = [
            "risky bounced",
            "undeliverable nonexistent",
            "risky role_based",
            "unknown accept_all",
            "risky bounced",
            "passed valid",
            "undeliverable invalid",
        ];
        assert_eq!(verdicts(app, &key, &emails).await, expected);

        app.send(Call::new("DELETE", path("bounced") + "?all=true").key(&key)).await.ok(200);
        assert_eq!(verdicts(app, &key, &["ann@honest-mail.com"]).await, ["passed valid"]);
    })
    .await;
}

#[tokio::test]
async fn test_jobs_see_the_lists_too_and_the_timeline_tells_numbers() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let test = app.key(&org, KeyKind::Test).await;
    add(&app, &test, "bounced", &["valid@sandbox.test"]).await;
    assert_eq!(verdicts(&app, &test, &["valid@sandbox.test"]).await, ["risky bounced"]);
    add(&app, &key, "bounced", &["valid@sandbox.test"]).await;
    add(&app, &key, "bounced", &["ann@example.org", "bob@example.org"]).await;
    let timeline = app.get(&key, "/v1/account/timeline").await;
    assert!(!timeline.text().contains("ann@") && !timeline.text().contains("sandbox.test"), "{}", timeline.text());
    let timeline = timeline.json();
    let changes = timeline["events"].as_array().unwrap().iter().filter(|event| event["type"] == "settings_change");
    let told: Vec<_> = changes.map(|event| (&event["setting"], &event["before"], &event["after"])).collect();
    let setting = json!("organization.suppressions.bounced");
    assert_eq!(
        told,
        [(&setting, &json!(1), &json!(3)), (&setting, &json!(0), &json!(1))],
        "what changed nothing is no event"
    );
    app.stop().await;
}
