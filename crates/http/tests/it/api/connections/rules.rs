//! Keyword rules: added whole or not at all, once, and erased with the addresses that they name.

use std::time::Duration;

use probity_account::role::MemberRole;
use serde_json::{Value, json};

use super::platform::TrialPlatform;
use super::{connect, connection_event, happened, place};
use crate::people::{self, signed_in};
use crate::test_app::{Answer, Call, TestApp, pass};

fn list(connection: &Value, kind: &str) -> String {
    format!("{}/keywords/{kind}", place(connection))
}

async fn add(app: &TestApp, key: &str, path: &str, rules: &Value) -> Answer {
    app.send(Call::post(path, json!({ "rules": rules }).to_string()).key(key)).await
}

async fn counts(app: &TestApp, key: &str, connection: &Value) -> (i64, i64) {
    let settings = app.get(key, &place(connection)).await.ok(200)["settings"].take();
    (settings["blacklist_count"].as_i64().unwrap(), settings["whitelist_count"].as_i64().unwrap())
}

#[tokio::test]
async fn rules_are_added_listed_and_deleted() {
    let platform = TrialPlatform::start().await;
    TestApp::each(platform.service(), async |app| {
        let (_, key) = app.customer().await;
        let made = connect(app, &key, &platform).await;
        let black = list(&made, "blacklist");
        let rules = json!([
            {"keyword": " Example.org ", "match": "exact", "applies_to": {"domain": true}},
            {"keyword": "sale", "match": "contains", "applies_to": {"localpart": true, "email": false}},
            {"keyword": "ann@example.org"},
        ]);
        let added = add(app, &key, &black, &rules).await.ok(201)["data"].take();
        let parts = |localpart, domain, email| json!({"localpart": localpart, "domain": domain, "email": email});
        let expected = json!([
            {"id": added[0]["id"], "keyword": "Example.org", "match": "exact", "applies_to": parts(false, true, false)},
            {"id": added[1]["id"], "keyword": "sale", "match": "contains", "applies_to": parts(true, false, false)},
            {"id": added[2]["id"], "keyword": "ann@example.org", "match": "exact", "applies_to": parts(true, true, true)},
        ]);
        assert_eq!(added, expected);
        let again = json!([
            {"keyword": "EXAMPLE.ORG", "applies_to": {"domain": true}},
            {"keyword": "new"},
            {"keyword": "New"},
        ]);
        let again = add(app, &key, &black, &again).await.ok(201)["data"].take();
        assert_eq!((&again[0], &again[1]), (&added[0], &again[2]), "none is there twice");
        assert_eq!(counts(app, &key, &made).await, (4, 0));

        let first = app.get(&key, &format!("{black}?per_page=3")).await.ok(200);
        assert_eq!((&first["data"][0], &first["pagination"]["has_more"]), (&again[1], &json!(true)), "newest first");
        let next = first["pagination"]["next_cursor"].as_str().unwrap();
        let rest = app.get(&key, &format!("{black}?next={next}")).await.ok(200);
        assert_eq!((rest["data"].as_array().unwrap().len(), &rest["pagination"]["has_more"]), (1, &json!(false)));
        app.get(&key, &format!("{}?next={next}", list(&made, "whitelist"))).await.error(400, "invalid_request");
        assert_eq!(app.get(&key, &list(&made, "whitelist")).await.ok(200)["data"], json!([]));

        let id = added[1]["id"].as_str().unwrap();
        let delete = async |path: String| app.send(Call::new("DELETE", path).key(&key)).await;
        delete(format!("{}/{id}", list(&made, "whitelist"))).await.error(404, "not_found");
        assert_eq!(delete(format!("{black}/{id}")).await.ok(200), json!({"deleted": true, "id": id}));
        delete(format!("{black}/{id}")).await.error(404, "not_found");
        delete(format!("{black}/nonsense")).await.error(404, "not_found");
        assert_eq!(counts(app, &key, &made).await, (3, 0));
        let counted = |before: i64, after: i64| {
            json!({"type": "settings_change", "setting": "connection.blacklist_count", "before": before, "after": after})
        };
        let expected = [connection_event("connected"), counted(0, 3), counted(3, 4), counted(4, 3)];
        assert_eq!(happened(app, &key, &made).await, expected, "no event has a keyword");
    })
    .await;
}

#[tokio::test]
async fn the_short_path_is_the_same_list() {
    let platform = TrialPlatform::start().await;
    let app = TestApp::with(platform.service()).await;
    let (_, key) = app.customer().await;
    let made = connect(&app, &key, &platform).await;
    let short = format!("{}/whitelist", place(&made));
    let added = add(&app, &key, &short, &json!([{"keyword": "ann"}])).await.ok(201)["data"].take();
    assert_eq!(app.get(&key, &list(&made, "whitelist")).await.ok(200)["data"], added);
    assert_eq!(app.get(&key, &short).await.ok(200)["data"], added);
    let path = format!("{short}/{}", added[0]["id"].as_str().unwrap());
    app.send(Call::new("DELETE", path).key(&key)).await.ok(200);
    for unknown in ["keywords/greylist", "greylist", "keywords"] {
        app.get(&key, &format!("{}/{unknown}", place(&made))).await.error(404, "not_found");
    }
    app.stop().await;
}

#[tokio::test]
async fn one_wrong_rule_keeps_all_out() {
    let platform = TrialPlatform::start().await;
    let app = TestApp::with(platform.service()).await;
    let (_, key) = app.customer().await;
    let made = connect(&app, &key, &platform).await;
    let white = list(&made, "whitelist");
    for (rule, field) in [
        (json!({"keyword": " "}), "rules[1].keyword"),
        (json!({"keyword": "x".repeat(256)}), "rules[1].keyword"),
        (json!({"keyword": "a\u{7}"}), "rules[1].keyword"),
        (json!({"keyword": "a", "applies_to": {}}), "rules[1].applies_to"),
        (json!({"keyword": "a", "applies_to": null}), "rules[1].applies_to"),
        (json!({"keyword": "a", "applies_to": {"domain": false}}), "rules[1].applies_to"),
        (json!({"keyword": "a", "applies_to": {"name": true}}), "rules[1].applies_to.name"),
        (json!({"keyword": "a", "match": "begins"}), "rules[1].match"),
        (json!({"match": "exact"}), "rules[1].keyword"),
    ] {
        let message = add(&app, &key, &white, &json!([{"keyword": "good"}, rule])).await.error(400, "invalid_request");
        assert!(message.starts_with(&format!("{field}: ")), "{message} is about {field}");
    }
    let many = |count: usize| (0..count).map(|n| json!({"keyword": format!("a{n}")})).collect::<Vec<_>>().into();
    for rules in [json!([]), many(1_001)] {
        let message = add(&app, &key, &white, &rules).await.error(400, "invalid_request");
        assert_eq!(message, "rules: must have 1 to 1000 rules");
    }
    assert_eq!(counts(&app, &key, &made).await, (0, 0));
    assert_eq!(add(&app, &key, &white, &many(1_000)).await.ok(201)["data"].as_array().unwrap().len(), 1_000);
    let page = app.get(&key, &white).await.ok(200);
    assert_eq!(page["data"].as_array().unwrap().len(), 50, "the size of a page unless it is asked for");
    app.stop().await;
}

#[tokio::test]
async fn repeated_requests_add_rules_once() {
    let platform = TrialPlatform::start().await;
    let app = TestApp::with(platform.service()).await;
    let (_, key) = app.customer().await;
    let made = connect(&app, &key, &platform).await;
    let call = || Call::post(list(&made, "blacklist"), r#"{"rules": [{"keyword": "ann"}]}"#).key(&key).once("rules");
    let first = app.send(call()).await.ok(201);
    let again = app.send(call()).await;
    assert_eq!((again.ok(201), again.header("idempotent-replayed")), (first, Some("true")));
    assert_eq!(counts(&app, &key, &made).await, (1, 0));
    app.stop().await;
}

#[tokio::test]
async fn pages_try_rules_on_an_address() {
    let platform = TrialPlatform::start().await;
    let mut config = platform.service();
    config.api.people = people::config().api.people;
    TestApp::each(config, async |app| {
        let (org, key) = app.customer().await;
        let made = connect(app, &key, &platform).await;
        let white = json!([{"keyword": "example.org", "applies_to": {"domain": true}}]);
        add(app, &key, &list(&made, "whitelist"), &white).await.ok(201);
        let black =
            json!([{"keyword": "sale", "match": "contains"}, {"keyword": "ann", "applies_to": {"localpart": true}}]);
        add(app, &key, &list(&made, "blacklist"), &black).await.ok(201);

        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let path = format!("/app/connections/trial/{}/rules/trial", made["id"].as_str().unwrap());
        for (email, list, keywords) in [
            ("bob@example.com", None, &[][..]),
            ("ANN@example.com", Some("blacklist"), &["ann"]),
            (" sales@Example.org ", Some("whitelist"), &["example.org", "sale"]),
        ] {
            let tried = ann.post(&path, &json!({ "email": email })).await.ok(200);
            assert_eq!(tried["decided_by"], json!(list), "{email}");
            let rules = tried["rules"].as_array().unwrap();
            let mut found: Vec<_> = rules.iter().map(|rule| rule["keyword"].as_str().unwrap()).collect();
            found.sort_unstable();
            assert_eq!(found, keywords, "{email}");
        }
        ann.post(&path, &json!({"email": " "})).await.error(400, "invalid_request");
        let stranger = app.org("Other Ltd", 0).await;
        let (_, mut eve) = signed_in(app, &stranger, "eve@example.com", MemberRole::Administrator).await;
        eve.post(&path, &json!({"email": "ann@example.com"})).await.error(404, "not_found");
    })
    .await;
}

#[tokio::test]
async fn keywords_are_encrypted_and_erased() {
    let platform = TrialPlatform::start().await;
    let app = TestApp::sealed(platform.service(), [3; 32]).await;
    let (_, key) = app.customer().await;
    let made = connect(&app, &key, &platform).await;
    let rules = json!([{"keyword": "Canary-k2j4@example.org"}, {"keyword": "canary-k2j4@example.com"}]);
    add(&app, &key, &list(&made, "whitelist"), &rules).await.ok(201);
    app.assert_files_without(&["canary-k2j4", "Canary-k2j4"]);
    let wish = r#"{"emails": ["canary-k2j4@EXAMPLE.org"]}"#;
    let erasure = app.send(Call::post("/v1/erasures", wish).key(&key)).await.ok(200)["id"].clone();
    let receipt = format!("/v1/erasures/{}", erasure.as_str().unwrap());
    let mut shown = app.get(&key, &receipt).await.ok(200);
    for _ in 0..300 {
        if shown["status"] == "completed" {
            break;
        }
        pass(Duration::from_millis(500)).await;
        shown = app.get(&key, &receipt).await.ok(200);
    }
    assert_eq!(shown["removed"]["connection_rule"], 1, "{shown}");
    let left = app.get(&key, &list(&made, "whitelist")).await.ok(200)["data"].take();
    assert_eq!((left.as_array().unwrap().len(), &left[0]["keyword"]), (1, &json!("canary-k2j4@example.com")));
    assert_eq!(counts(&app, &key, &made).await, (0, 1));
    app.stop().await;
}
