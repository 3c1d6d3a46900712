//! Connections are created once the platform accepts the credentials, which are never shown.

use std::time::Duration;

use probity_account::api_key::KeyKind;
use probity_telemetry::log_capture::{Capture, holds};
use serde_json::json;
use tracing_subscriber::filter::LevelFilter;

use super::platform::{CLOSED, SECRET, TrialPlatform};
use super::{PATH, connection_event, happened, place};
use crate::test_app::{Answer, Call, TestApp, pass};

async fn create(app: &TestApp, key: &str, wish: &serde_json::Value) -> Answer {
    app.send(Call::post(PATH, wish.to_string()).key(key)).await
}

#[tokio::test]
async fn a_connection_is_made_and_shown_without_its_credentials() {
    let mut platform = TrialPlatform::start().await;
    TestApp::each(platform.service(), async |app| {
        let (_, key) = app.customer().await;
        let answer = create(app, &key, &platform.wish("good")).await;
        let made = answer.ok(201);
        let checks = [
            "disposable",
            "nonexistent",
            "deactivated",
            "inbox_full",
            "bounced",
            "banned_words",
            "role_based",
            "complainers",
            "spam",
            "failed_exchange",
            "unverified",
            "accept_all",
        ];
        let normal = ["nonexistent", "deactivated", "bounced", "complainers"];
        let checks: serde_json::Map<_, _> =
            checks.iter().map(|name| ((*name).to_owned(), json!(normal.contains(name)))).collect();
        let expected = json!({
            "id": made["id"], "type": "trial", "name": "Example Ltd", "status": "active",
            "created_at": made["created_at"], "last_synced_at": null, "disconnected_at": null,
            "disconnected_reason": null,
            "settings": {
                "aggressiveness": "normal", "manual_mode": false, "unconfirmed_contacts": 3, "unconfirmed_percent": 10,
                "autofloss": false, "decay_protection": false, "decay_days": 30,
                "instafloss": false, "action": null, "checks": checks, "tag": "probity-{status}", "field": "probity",
                "fix_typos": false, "lists": [], "blacklist_count": 0, "whitelist_count": 0,
            },
        });
        assert_eq!(made, expected);
        assert!(!holds(&answer.body, SECRET));
        assert_eq!(app.get(&key, &place(&made)).await.ok(200), made);
        assert_eq!(happened(app, &key, &made).await, [connection_event("connected")]);
        let named = json!({"credentials": platform.credentials("good"), "name": " News "});
        assert_eq!(create(app, &key, &named).await.ok(201)["name"], "News");
        let of_mail = create(app, &key, &platform.wish("mail")).await.ok(201);
        assert_eq!(of_mail["name"], "Trial Mail", "an account that is called by an address");
    })
    .await;
    assert!(platform.receiver.so_far().iter().all(|request| request.starts_with("GET /api/account ")));
}

#[tokio::test]
async fn what_the_platform_refuses_names_the_field() {
    let platform = TrialPlatform::start().await;
    let app = TestApp::with(platform.service()).await;
    let (_, key) = app.customer().await;
    let (url, api_key) = (platform.url(), format!("good-{SECRET}"));
    for (credentials, field) in [
        (platform.credentials("wrong"), "credentials.api_key"),
        (platform.credentials("page"), "credentials.url"),
        (json!({"url": format!("{url}/elsewhere"), "api_key": api_key}), "credentials.api_key"),
        (json!({"url": url}), "credentials.api_key"),
        (json!({"url": url, "api_key": " "}), "credentials.api_key"),
        (json!({"url": url, "api_key": "a\nb"}), "credentials.api_key"),
        (json!({"url": "nonsense", "api_key": api_key}), "credentials.url"),
        (json!({"url": format!("http://{CLOSED}"), "api_key": api_key}), "credentials.url"),
        (json!({"url": "https://192.168.0.1", "api_key": api_key}), "credentials.url"),
        (json!({"url": url, "api_key": api_key, "token": "x"}), "credentials.token"),
        (json!({"url": url, "api_key": 7}), "credentials.api_key"),
    ] {
        let answer = create(&app, &key, &json!({"credentials": credentials})).await;
        let message = answer.error(400, "invalid_request");
        assert!(message.starts_with(&format!("{field}: ")), "{message} is about {field}");
        assert!(!holds(&answer.body, SECRET), "{message}");
    }
    for wrong in [json!({}), json!({"credentials": null}), json!({"credentials": [1]}), json!({"name": "x"})] {
        create(&app, &key, &wrong).await.error(400, "invalid_request");
    }
    let unnamed = json!({"credentials": platform.credentials("good"), "name": ""});
    assert!(create(&app, &key, &unnamed).await.error(400, "invalid_request").starts_with("name: "));
    let path = PATH.replace("trial", "nonsense");
    app.send(Call::post(path, platform.wish("good").to_string()).key(&key)).await.error(404, "not_found");
    assert_eq!(app.get(&key, "/v1/integrations/trial").await.ok(200)["connection_count"], 0);
    app.stop().await;
}

#[tokio::test]
async fn a_platform_that_says_nothing_may_say_more_later() {
    let platform = TrialPlatform::start().await;
    let app = TestApp::with(platform.service()).await;
    let (_, key) = app.customer().await;
    let busy = create(&app, &key, &platform.wish("busy")).await;
    busy.error(503, "service_unavailable");
    assert!((7..=8).contains(&busy.number("retry-after")), "{busy:?}");
    create(&app, &key, &platform.wish("broken")).await.error(503, "service_unavailable");
    let hanging = async { create(&app, &key, &platform.wish("hang")).await };
    let (silent, ()) = tokio::join!(hanging, async {
        for _ in 0..4 {
            pass(Duration::from_secs(5)).await;
        }
    });
    let message = silent.error(503, "service_unavailable");
    assert_eq!(message, "Trial Mail did not answer in time");
    app.stop().await;
}

#[tokio::test]
async fn a_repeated_request_makes_one_connection() {
    let mut platform = TrialPlatform::start().await;
    let app = TestApp::with(platform.service()).await;
    let (_, key) = app.customer().await;
    let wish = platform.wish("good").to_string();
    let first = app.send(Call::post(PATH, wish.clone()).key(&key).once("connect")).await.ok(201);
    let again = app.send(Call::post(PATH, wish).key(&key).once("connect")).await;
    assert_eq!((again.ok(201), again.header("idempotent-replayed")), (first.clone(), Some("true")));
    assert_eq!(platform.receiver.so_far().len(), 1, "the platform is asked once");
    let other = Call::post(PATH, platform.wish("mail").to_string());
    app.send(other.key(&key).once("connect")).await.error(422, "idempotency_key_reused");
    assert_eq!(app.get(&key, "/v1/integrations/trial").await.ok(200)["connections"], json!([first]));
    app.stop().await;
}

#[tokio::test]
async fn credentials_are_in_no_file_and_no_log() {
    let (captured, _recording) = Capture::start(LevelFilter::TRACE);
    let platform = TrialPlatform::start().await;
    let app = TestApp::with(platform.service()).await;
    let (org, key) = app.customer().await;
    for manner in ["good", "wrong", "busy", "broken", "page"] {
        create(&app, &key, &platform.wish(manner)).await;
    }
    let once = Call::post(PATH, platform.wish("good").to_string()).key(&key).once("connect");
    let made = app.send(once).await.ok(201);
    app.send(Call::new("POST", format!("{}/test", place(&made))).key(&key)).await.ok(200);
    app.get(&key, &format!("{}/lists", place(&made))).await.ok(200);
    app.assert_files_without(&[SECRET]);
    let test = app.key(&org, KeyKind::Test).await;
    for shown in [
        app.get(&key, "/v1/integrations").await,
        app.get(&key, "/v1/integrations/trial").await,
        app.get(&test, "/v1/account/timeline").await,
        app.send(Call::get("/metrics").from("127.0.0.1")).await,
    ] {
        assert!(!holds(&shown.body, SECRET));
    }
    app.stop().await;
    captured.assert_without(&[SECRET]);
}
