//! Platforms, and lists of connections.

use probity_account::api_key::KeyKind;
use serde_json::{Value, json};

use super::platform::TrialPlatform;
use super::{PATH, connect, place};
use crate::test_app::{Call, TestApp};

const ALL: &str = "/v1/integrations";

fn of_type<'a>(list: &'a Value, name: &str) -> &'a Value {
    list["data"].as_array().unwrap().iter().find(|one| one["type"] == name).unwrap()
}

#[tokio::test]
async fn platforms_are_shown_with_what_they_can_do() {
    let platform = TrialPlatform::start().await;
    let app = TestApp::with(platform.service()).await;
    let (_, key) = app.customer().await;
    let list = app.get(&key, ALL).await.ok(200);
    assert_eq!(list["pagination"], json!({"has_more": false, "next_cursor": null}));
    let types: Vec<_> = list["data"].as_array().unwrap().iter().map(|one| one["type"].as_str().unwrap()).collect();
    assert!(types.is_sorted() && ["brevo", "ghost", "mailman", "trial"].iter().all(|one| types.contains(one)));
    let expected = json!({
        "type": "trial", "connected": false, "connection_count": 0, "primary": null, "disconnected_count": 0,
        "platform": {
            "name": "Trial Mail",
            "credentials": [
                {"name": "url", "label": "URL", "kind": "url", "help": null, "choices": [], "optional": false},
                {"name": "api_key", "label": "API key", "kind": "secret", "help": "Settings, API", "choices": [],
                 "optional": false},
            ],
            "actions": [
                {"action": "unsubscribe", "note": "The contact stays in the account."},
                {"action": "update_tags", "note": null},
                {"action": "do_nothing", "note": null},
            ],
            "contacts": true, "lists": true, "fix_typos": false, "instafloss": false, "beta": true,
            "docs": "https://trial.example/docs", "checked": "2026-11-22, these tests",
        },
    });
    assert_eq!(of_type(&list, "trial"), &expected);
    let one = app.get(&key, &format!("{ALL}/trial")).await.ok(200);
    assert_eq!((&one["connections"], &one["disconnected_connections"]), (&json!([]), &json!([])));
    assert_eq!(one["platform"], expected["platform"]);
    // MailerLite sends events about new contacts, but cannot filter contacts by date.
    for (slug, is_sooner) in [("ghost", true), ("klaviyo", true), ("mailerlite", false), ("mailman", false)] {
        assert_eq!(of_type(&list, slug)["platform"]["instafloss"], is_sooner, "{slug}");
    }
    for (alias, canonical) in [("trial_mail", "trial"), ("kit", "convertkit"), ("sendinblue", "brevo")] {
        assert_eq!(app.get(&key, &format!("{ALL}/{alias}")).await.ok(200)["type"], canonical);
    }
    for unknown in ["nonsense", "Trial", "trial%2Fx"] {
        app.get(&key, &format!("{ALL}/{unknown}")).await.error(404, "not_found");
    }
    // The list has one page, but a page size of 0 is still invalid.
    app.get(&key, &format!("{ALL}?per_page=0")).await.error(400, "invalid_request");
    assert_eq!(app.get(&key, &format!("{ALL}?per_page=1")).await.ok(200), list);
    app.stop().await;
}

#[tokio::test]
async fn platforms_that_list_no_contacts_are_shown_and_not_connected() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    for slug in ["braze", "sendy"] {
        let all = format!("{ALL}/{slug}");
        let shown = app.get(&key, &all).await.ok(200);
        assert_eq!(shown["platform"]["contacts"], false, "{slug}");
        let body = json!({"credentials": {"url": "https://example.org", "api_key": "some-key"}});
        let answer = app.send(Call::post(format!("{all}/connections"), body.to_string()).key(&key)).await;
        answer.error(409, "conflict");
    }
    app.stop().await;
}

#[tokio::test]
async fn keys_see_the_connections_of_their_sort() {
    let platform = TrialPlatform::start().await;
    TestApp::each(platform.service(), async |app| {
        let (org, live) = app.customer().await;
        let test = app.key(&org, KeyKind::Test).await;
        let (first, second) = (connect(app, &live, &platform).await, connect(app, &live, &platform).await);
        let of_test = connect(app, &test, &platform).await;
        let shown = app.get(&live, "/v1/integrations/trial_mail").await.ok(200);
        assert_eq!(shown["connections"], json!([second, first]), "newest first");
        assert_eq!((&shown["connected"], &shown["connection_count"]), (&json!(true), &json!(2)));
        assert_eq!(app.get(&test, "/v1/integrations/trial").await.ok(200)["connections"], json!([of_test]));
        app.get(&test, &place(&first)).await.error(404, "not_found");
        app.get(&live, &place(&of_test)).await.error(404, "not_found");
        let other = place(&first).replace("trial", "brevo");
        app.get(&live, &other).await.error(404, "not_found");
        assert_eq!(app.get(&live, &place(&first).replace("trial", "trial_mail")).await.ok(200), first);

        app.send(Call::new("DELETE", place(&first)).key(&live)).await.ok(200);
        let list = app.get(&live, ALL).await.ok(200);
        let trial = of_type(&list, "trial");
        assert_eq!(trial["primary"], json!({"id": second["id"], "name": second["name"]}));
        assert_eq!((&trial["connection_count"], &trial["disconnected_count"]), (&json!(1), &json!(1)));
        assert_eq!(of_type(&list, "brevo")["connected"], false);
        let shown = app.get(&live, "/v1/integrations/trial").await.ok(200);
        let former = &shown["disconnected_connections"];
        let deleted = app.get(&live, &place(&first)).await.ok(200);
        let expected = json!([{
            "id": first["id"], "name": "Example Ltd", "status": "disconnected", "created_at": first["created_at"],
            "disconnected_at": deleted["disconnected_at"],
        }]);
        assert_eq!(former, &expected);
    })
    .await;
}

#[tokio::test]
async fn lists_of_the_account_are_read_at_the_platform() {
    let platform = TrialPlatform::start().await;
    let app = TestApp::with(platform.service()).await;
    let (_, key) = app.customer().await;
    let made = connect(&app, &key, &platform).await;
    let lists = app.get(&key, &format!("{}/lists", place(&made))).await.ok(200);
    let expected = json!([{"id": "7", "name": "News", "count": null}, {"id": "b", "name": "Old", "count": null}]);
    assert_eq!(lists["data"], expected);
    app.send(Call::new("DELETE", place(&made)).key(&key)).await.ok(200);
    app.get(&key, &format!("{}/lists", place(&made))).await.error(409, "conflict");
    app.get(&key, &format!("{PATH}/conn_01h455vb4pex5vsknk084sn02q/lists")).await.error(404, "not_found");
    app.stop().await;
}
