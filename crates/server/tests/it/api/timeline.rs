//! `GET /v1/account/timeline`: what happened, how it is counted, and what never stands in it.

use probity_core::api_key::KeyKind;
use serde_json::{Value, json};

use super::batch::{done, submit};
use crate::test_app::{Answer, TestApp};

async fn timeline(app: &TestApp, key: &str, query: &str) -> Answer {
    app.get(key, &format!("/v1/account/timeline?{query}")).await
}

#[tokio::test]
async fn jobs_are_events_with_their_start() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let empty = timeline(&app, &key, "").await.ok(200);
    let none =
        json!({"jobs": 0, "jobs_by_trigger": {}, "settings_changes": 0, "account_events": 0, "truncated": false});
    assert_eq!((&empty["summary"], &empty["events"]), (&none, &json!([])));

    let finished = submit(&app, &key, &["ann@honest-mail.com", "x"]).await;
    done(&app, &key, &finished).await;
    let waiting = submit(&app, &key, &["waits@honest-mail.com"]).await;
    let shown = timeline(&app, &key, "").await;
    assert!(!shown.text().contains("honest-mail"), "no address");
    let shown = shown.ok(200);
    assert_eq!(shown["summary"]["jobs"], 2);
    assert_eq!(shown["summary"]["jobs_by_trigger"], json!({"api": 2}));
    assert_eq!(shown["events"][0]["job"]["id"], waiting);
    assert_eq!(shown["events"][0]["job"]["results"], Value::Null);
    let event = &shown["events"][1];
    let keys = app.admin.list_keys(&org).await.unwrap();
    let expected = json!({
        "type": "job", "at": event["job"]["started_at"], "trigger": "api", "trigger_explicit": true,
        "source_action": "api.batch_verify", "actor": {"type": "api_key", "id": keys[0].id},
        "job": {
            "id": finished, "status": "completed", "source": "api", "source_integration": null,
            "started_at": event["job"]["started_at"], "finished_at": event["job"]["finished_at"],
            "results": {"total": 2, "passed": 1, "failed": 1},
        },
    });
    assert_eq!(*event, expected);
    assert!(event["at"].is_string() && event["job"]["finished_at"].is_string());
    let test = app.key(&org, KeyKind::Test).await;
    assert_eq!(timeline(&app, &test, "").await.ok(200)["summary"], none, "test keys have their own");
    app.live.gate.add_permits(1);
    done(&app, &key, &waiting).await;
    app.stop().await;
}

#[tokio::test]
async fn the_window_is_counted_whole_however_few_events_are_shown() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let mut made = Vec::new();
    for _ in 0..3 {
        let id = submit(&app, &key, &["x"]).await;
        done(&app, &key, &id).await;
        made.insert(0, id);
    }
    for (query, shown, truncated) in [("limit=2", 2, true), ("limit=3", 3, false), ("days=90&limit=200", 3, false)] {
        let page = timeline(&app, &key, query).await.ok(200);
        let events: Vec<&str> =
            page["events"].as_array().unwrap().iter().map(|it| it["job"]["id"].as_str().unwrap()).collect();
        assert_eq!(events, made[..shown]);
        assert_eq!(
            (&page["summary"]["jobs"], &page["summary"]["truncated"]),
            (&json!(3), &json!(truncated)),
            "{query}"
        );
    }
    for days in [1, 30, 90] {
        let query = if days == 30 { String::new() } else { format!("days={days}") };
        let window = timeline(&app, &key, &query).await.ok(200)["window"].clone();
        let at = |name: &str| window[name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond();
        assert_eq!((&window["days"], at("until") - at("since")), (&json!(days), days * 86_400_000));
    }
    let refused =
        ["days=0", "days=91", "days=1.5", "days=x", "days=", "days=-1", "limit=0", "limit=201", "limit=x", "limit=1e2"];
    for query in refused {
        let message = timeline(&app, &key, query).await.error(400, "invalid_request");
        assert!(message.starts_with(query.split('=').next().unwrap()), "{message}");
    }
    app.stop().await;
}
