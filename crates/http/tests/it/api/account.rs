//! Tests of `/v1/account`: its owner, changes, and their events in the timeline.

use std::time::Duration;

use probity_http::service::ServiceConfig;
use probity_store::ScopedFutureExt as _;
use probity_store::accounts::users::profile::{self, IdentityCheck};
use probity_store::accounts::users::{self, MemberRole, TeamMember, UserStatus};
use serde_json::{Value, json};

use super::users::{key_of, member};
use crate::test_app::{Answer, Call, TestApp};

const ACCOUNT: &str = "/v1/account";

async fn patch(app: &TestApp, key: &str, body: &Value) -> Answer {
    app.send(Call::patch(ACCOUNT, body.to_string()).key(key)).await
}

#[tokio::test]
async fn a_key_of_nobody_shows_the_primary_user() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let owner = users::primary(&mut app.store.read().await.unwrap(), org.no).await.unwrap();
        let mut expected = json!({
            "id": owner.id, "name": null, "email": "", "email_verified": false, "two_factor_enabled": false,
            "identity_verified": null, "phone": null, "organization": null, "vat_id": null, "country": null,
            "address": null, "created_at": owner.created_at.to_rfc3339(),
            "notifications": {
                "after_flossing": true, "weekly_report": true, "monthly_report": true, "payment_receipts": true,
            },
        });
        assert_eq!(app.get(&key, ACCOUNT).await.ok(200), expected);
        for state in IdentityCheck::ALL {
            let known = app.store.write(|tx| profile::set_identity(tx, org.no, owner.id, Some(state)).scope_boxed());
            known.await.unwrap();
            expected["identity_verified"] = state.as_str().into();
            assert_eq!(app.get(&key, ACCOUNT).await.ok(200), expected);
        }
    })
    .await;
}

#[tokio::test]
async fn a_key_of_a_person_is_about_that_person() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let ann = member(&app, &org, 1, UserStatus::Active).await;
    let (_, theirs) = key_of(&app, &ann).await;
    let changed = patch(&app, &theirs, &json!({"name": "Ann", "phone": "+49 30 1"})).await.ok(200);
    assert_eq!((&changed["id"], &changed["email"]), (&json!(ann.id), &json!(ann.email)));
    assert_eq!(app.get(&theirs, ACCOUNT).await.ok(200), changed);
    let owner = app.get(&key, ACCOUNT).await.ok(200);
    assert_eq!((&owner["name"], &owner["phone"]), (&Value::Null, &Value::Null));
    assert_eq!(app.get(&key, &format!("/v1/users/{}", ann.id)).await.ok(200)["name"], "Ann");
    app.stop().await;
}

#[tokio::test]
async fn a_name_and_a_role_that_are_given_at_once_both_stay() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, _) = app.customer().await;
        let ann = member(app, &org, 1, UserStatus::Active).await;
        let (_, theirs) = key_of(app, &ann).await;
        // A change to a member locks the team, reads the member, and takes its time.
        let raising = app.service_store.write(|tx| {
            async {
                users::lock_team(tx, ann.org).await?;
                let standing = users::by_id(tx, ann.org, ann.id).await?;
                tokio::time::sleep(Duration::from_millis(400)).await;
                users::write(tx, &TeamMember { role: MemberRole::Administrator, ..standing }).await
            }
            .scope_boxed()
        });
        let naming = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            patch(app, &theirs, &json!({"name": "Ann"})).await.ok(200)
        };
        let (raised, _) = tokio::join!(raising, naming);
        raised.unwrap();
        let after = users::by_id(&mut app.store.read().await.unwrap(), ann.org, ann.id).await.unwrap();
        assert_eq!((after.role, after.name.as_deref()), (MemberRole::Administrator, Some("Ann")));
    })
    .await;
}

#[tokio::test]
async fn a_patch_merges_and_null_clears() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (_, key) = app.customer().await;
        let mut expected = app.get(&key, ACCOUNT).await.ok(200);
        let lines = |line1: Value, city: Value| {
            json!({"line1": line1, "line2": null, "city": city, "state": null, "postal_code": null, "country": null})
        };
        let (null, berlin) = (Value::Null, json!("Größe 1, Berlin"));
        for (body, field, value) in [
            (json!({"name": " Ann Lee "}), "name", json!("Ann Lee")),
            (json!({"phone": "+49 30 123"}), "phone", json!("+49 30 123")),
            (json!({"organization": "Größe & Söhne"}), "organization", json!("Größe & Söhne")),
            (json!({"vat_id": "DE1"}), "vat_id", json!("DE1")),
            (json!({"country": "DE"}), "country", json!("DE")),
            (json!({"address": {"line1": "1 Street"}}), "address", lines(json!("1 Street"), null.clone())),
            (json!({"address": {"city": berlin}}), "address", lines(json!("1 Street"), berlin.clone())),
            (json!({"address": {"line1": null}}), "address", lines(null.clone(), berlin)),
            (json!({"address": {"city": null}}), "address", null.clone()),
            (json!({"address": {"line1": "2"}}), "address", lines(json!("2"), null.clone())),
            (json!({"address": null}), "address", null.clone()),
            (json!({"phone": null}), "phone", null.clone()),
            (json!({"vat_id": null}), "vat_id", null),
            (json!({}), "country", json!("DE")),
        ] {
            expected[field] = value;
            assert_eq!(patch(app, &key, &body).await.ok(200), expected, "{body}");
            assert_eq!(app.get(&key, ACCOUNT).await.ok(200), expected, "{body}");
        }
        for (body, wishes) in [
            (json!({"weekly_report": false, "payment_receipts": false}), [true, false, true, false]),
            (json!({"monthly_report": false, "weekly_report": true}), [true, true, false, false]),
            (json!({"payment_receipts": null}), [true, true, false, true]),
            (Value::Null, [true; 4]),
        ] {
            let shown = patch(app, &key, &json!({"notifications": body})).await.ok(200)["notifications"].clone();
            let names = ["after_flossing", "weekly_report", "monthly_report", "payment_receipts"];
            assert_eq!(names.map(|name| shown[name].as_bool().unwrap()), wishes, "{body}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_written_is_refused_by_name_and_changes_nothing() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let before = app.get(&key, ACCOUNT).await.ok(200);
    for (field, mut body) in [
        ("email", json!({"email": "ann@example.org"})),
        ("id", json!({"id": "usr_1"})),
        ("email_verified", json!({"email_verified": true})),
        ("two_factor_enabled", json!({"two_factor_enabled": true})),
        ("identity_verified", json!({"identity_verified": "verified"})),
        ("created_at", json!({"created_at": null})),
        ("surprise", json!({"surprise": 1})),
        ("name", json!({"name": null})),
        ("name", json!({"name": ""})),
        ("name", json!({"name": 7})),
        ("phone", json!({"phone": " "})),
        ("vat_id", json!({"vat_id": "x".repeat(201)})),
        ("country", json!({"country": "a\tb"})),
        ("address", json!({"address": "1 Street"})),
        ("address", json!({"address": ["1 Street"]})),
        ("address", json!({"address": []})),
        ("notifications", json!({"notifications": [null, null]})),
        ("address.street", json!({"address": {"street": "1 Street"}})),
        ("address.city", json!({"address": {"city": ["Berlin"]}})),
        ("notifications.weekly_report", json!({"notifications": {"weekly_report": 1}})),
        ("notifications.daily", json!({"notifications": {"daily": true}})),
        ("the body", json!([])),
    ] {
        if let Some(fields) = body.as_object_mut() {
            fields.entry("organization").or_insert(json!("Example Ltd"));
        }
        let message = patch(&app, &key, &body).await.error(400, "invalid_request");
        assert!(message.starts_with(field), "{body}: {message}");
    }
    assert_eq!(app.get(&key, ACCOUNT).await.ok(200), before);
    app.stop().await;
}

#[tokio::test]
async fn the_timeline_tells_which_fields_were_changed_and_not_what_they_hold() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let body = json!({
        "name": "Canary Lee", "phone": "canary 1", "organization": "Canary Ltd", "vat_id": "CANARY1", "country": "Canary",
        "address": {"city": "Canary City"}, "notifications": {"weekly_report": false},
    });
    patch(&app, &key, &body).await.ok(200);
    patch(&app, &key, &body).await.ok(200);
    let shown = app.get(&key, "/v1/account/timeline").await;
    assert!(!shown.text().to_lowercase().contains("canary"), "{}", shown.text());
    let shown = shown.ok(200);
    assert_eq!(shown["summary"]["settings_changes"], 7, "the same again is no change");
    let events = shown["events"].as_array().unwrap();
    let mut settings: Vec<&str> = events.iter().filter_map(|event| event["setting"].as_str()).collect();
    settings.sort_unstable();
    let fields = ["address", "country", "name", "notifications", "organization", "phone", "vat_id"];
    assert_eq!(settings, fields.map(|field| format!("account.{field}")));
    assert!(events.iter().filter(|event| event["setting"].is_string()).all(|event| event["after"] == "redacted"));
    app.stop().await;
}
