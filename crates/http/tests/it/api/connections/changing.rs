//! Changes of settings, names and credentials of connections, and their events in the timeline.

use probity_account::plans::{Entitlement, EntitlementSet, Plan, Plans};
use probity_http::service::ServiceConfig;
use probity_service::app::ApiConfig;
use serde_json::{Value, json};

use super::platform::TrialPlatform;
use super::{connect, connection_event, happened, patch, place};
use crate::test_app::TestApp;

fn setting_event(setting: &str, before: &Value, after: &Value) -> Value {
    json!({"type": "settings_change", "setting": format!("connection.{setting}"), "before": before, "after": after})
}

#[tokio::test]
async fn settings_change_field_by_field() {
    let platform = TrialPlatform::start().await;
    TestApp::each(platform.service(), async |app| {
        let (_, key) = app.customer().await;
        let made = connect(app, &key, &platform).await;
        assert_eq!(patch(app, &key, &made, &json!({})).await.ok(200), made);
        let change = json!({"manual_mode": true, "action": "update_tags", "name": "News", "lists": ["7", "b", "7"]});
        let changed = patch(app, &key, &made, &change).await.ok(200);
        assert_eq!(changed["name"], "News");
        let settings = &changed["settings"];
        assert_eq!((&settings["manual_mode"], &settings["action"]), (&json!(true), &json!("update_tags")));
        assert_eq!(settings["lists"], json!(["7", "b"]));
        assert_eq!(app.get(&key, &place(&made)).await.ok(200), changed);
        let expected = [
            connection_event("connected"),
            connection_event("renamed"),
            setting_event("action", &json!(null), &json!("update_tags")),
            setting_event("lists", &json!([]), &json!(["7", "b"])),
            setting_event("manual_mode", &json!(false), &json!(true)),
        ];
        assert_eq!(happened(app, &key, &made).await, expected);
        let cleared = patch(app, &key, &made, &json!({"action": null, "autofloss": true})).await.ok(200);
        assert_eq!((&cleared["settings"]["action"], &cleared["settings"]["autofloss"]), (&json!(null), &json!(true)));
    })
    .await;
}

#[tokio::test]
async fn checks_and_presets_follow_each_other() {
    let platform = TrialPlatform::start().await;
    let app = TestApp::with(platform.service()).await;
    let (_, key) = app.customer().await;
    let made = connect(&app, &key, &platform).await;
    let change = async |change: Value| {
        let settings = patch(&app, &key, &made, &change).await.ok(200)["settings"].take();
        let checks = settings["checks"].as_object().unwrap();
        let open: Vec<String> =
            checks.iter().filter(|(_, is_open)| **is_open == true).map(|(name, _)| name.clone()).collect();
        (settings["aggressiveness"].as_str().unwrap().to_owned(), open)
    };
    let (name, open) = change(json!({"aggressiveness": "aggressive"})).await;
    assert_eq!((name.as_str(), open.len()), ("aggressive", 9));
    let (name, open) = change(json!({"checks": {"disposable": false}})).await;
    assert_eq!((name.as_str(), open.len()), ("custom", 8));
    let (name, again) = change(json!({"aggressiveness": "custom"})).await;
    assert_eq!((name.as_str(), &again), ("custom", &open));
    let (name, open) = change(json!({"aggressiveness": "normal", "checks": {"accept_all": true}})).await;
    assert_eq!(name, "custom");
    assert_eq!(open, ["accept_all", "bounced", "complainers", "deactivated", "nonexistent"]);
    let (name, open) = change(json!({"aggressiveness": "normal"})).await;
    assert_eq!((name.as_str(), open.len()), ("normal", 4));
    app.stop().await;
}

#[tokio::test]
async fn senseless_changes_are_refused_whole() {
    let platform = TrialPlatform::start().await;
    let app = TestApp::with(platform.service()).await;
    let (_, key) = app.customer().await;
    let made = connect(&app, &key, &platform).await;
    let impossible = patch(&app, &key, &made, &json!({"action": "delete"})).await.error(400, "invalid_request");
    assert_eq!(
        impossible,
        "action: must be one of unsubscribe, update_tags, do_nothing: Trial Mail does not support delete"
    );
    for (change, field) in [
        (json!({"action": "destroy"}), "action"),
        (json!({"aggressiveness": "fierce"}), "aggressiveness"),
        (json!({"aggressiveness": null}), "aggressiveness"),
        (json!({"checks": {"invalid": true}}), "checks.invalid"),
        (json!({"checks": {"spam": null}}), "checks.spam"),
        (json!({"checks": [true]}), "checks"),
        (json!({"manual_mode": "yes"}), "manual_mode"),
        (json!({"tag": "{verdict}"}), "tag"),
        (json!({"tag": ""}), "tag"),
        (json!({"tag": "x".repeat(61)}), "tag"),
        (json!({"field": "a b"}), "field"),
        (json!({"field": ""}), "field"),
        (json!({"field": "First_Name"}), "field"),
        (json!({"fix_typos": true}), "fix_typos"),
        (json!({"lists": ["a", ""]}), "lists[1]"),
        (json!({"name": "\u{202e}x"}), "name"),
        (json!({"blacklist_count": 7}), "blacklist_count"),
        (json!({"credentials": {}}), "credentials.url"),
    ] {
        let all = change.as_object().unwrap().clone().into_iter().chain([("manual_mode".to_owned(), json!(true))]);
        let change: serde_json::Map<_, _> =
            if field == "manual_mode" { change.as_object().unwrap().clone() } else { all.collect() };
        let message = patch(&app, &key, &made, &change.into()).await.error(400, "invalid_request");
        assert!(message.starts_with(&format!("{field}: ")), "{message} is about {field}");
    }
    assert_eq!(app.get(&key, &place(&made)).await.ok(200), made);
    app.stop().await;
}

#[tokio::test]
async fn the_plan_says_what_may_be_set() {
    let missing: EntitlementSet = [
        Entitlement::Autofloss,
        Entitlement::DecayBasic,
        Entitlement::Instafloss,
        Entitlement::UpdateTags,
        Entitlement::Exclusions,
    ]
    .into_iter()
    .collect();
    let little = Plan { entitlements: EntitlementSet::ALL.without(missing), ..Plan::bare("little") };
    let plans = Plans::new([little], "little", 0).unwrap().into();
    let platform = TrialPlatform::start().await;
    let api = ApiConfig { plans, ..ApiConfig::default() };
    let app = TestApp::with(platform.service_with(ServiceConfig { api, ..ServiceConfig::default() })).await;
    let plan = app.admin.plan(Some("little")).unwrap().clone();
    let org = app.admin.create_org("Example Ltd", plan).await.unwrap();
    let key = app.key(&org, probity_account::api_key::KeyKind::Live).await;
    let made = connect(&app, &key, &platform).await;
    for (change, name) in [
        (json!({"autofloss": true}), "autofloss"),
        (json!({"decay_protection": true}), "decay_basic"),
        (json!({"decay_protection": true, "decay_days": 90}), "decay_basic"),
        (json!({"instafloss": true}), "instafloss"),
        (json!({"action": "update_tags"}), "update_tags"),
    ] {
        let message = patch(&app, &key, &made, &change).await.error(403, "forbidden_scope");
        assert_eq!(message, format!("the organization's plan does not include `{name}`; choose a plan that does"));
    }
    patch(&app, &key, &made, &json!({"autofloss": false, "action": "unsubscribe"})).await.ok(200);
    let rules =
        crate::test_app::Call::post(format!("{}/keywords/whitelist", place(&made)), r#"{"rules": [{"keyword": "a"}]}"#);
    app.send(rules.key(&key)).await.error(403, "forbidden_scope");
    app.stop().await;
}

#[tokio::test]
async fn new_credentials_reconnect_once_the_platform_accepts_them() {
    let platform = TrialPlatform::start().await;
    TestApp::each(platform.service(), async |app| {
        let (_, key) = app.customer().await;
        let made = connect(app, &key, &platform).await;
        let wrong = json!({"credentials": platform.credentials("wrong"), "name": "Other"});
        let message = patch(app, &key, &made, &wrong).await.error(400, "invalid_request");
        assert!(message.starts_with("credentials.api_key: "), "{message}");
        assert_eq!(app.get(&key, &place(&made)).await.ok(200), made, "nothing changes");
        let right = json!({"credentials": platform.credentials("mail")});
        assert_eq!(patch(app, &key, &made, &right).await.ok(200), made);
        assert_eq!(happened(app, &key, &made).await, [connection_event("connected"), connection_event("reconnected")]);
    })
    .await;
}
