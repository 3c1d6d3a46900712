//! Tests of `GET /v1/account/timeline`: events, counts, and contents that must never appear.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use futures_util::future::join_all;
use probity_access::minting::KeyRequest;
use probity_account::api_key::KeyKind;
use probity_account::credits::CreditBucket;
use probity_http::service::ServiceConfig;
use probity_store::accounts::organization::OrgState;
use probity_store::activity::events::{self, AccountChange, AccountEventKind};
use probity_store::activity::timeline;
use probity_store::{ScopedFutureExt as _, StoreError};
use probity_telemetry::log_capture::holds;
use serde_json::{Value, json};

use super::batch::{done, submit};
use crate::test_app::{Answer, Call, TestApp, upkeep};

async fn timeline(app: &TestApp, key: &str, query: &str) -> Answer {
    app.get(key, &format!("/v1/account/timeline?{query}")).await
}

#[tokio::test]
async fn jobs_are_events_with_their_start() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let key_id = app.admin.list_keys(&org).await.unwrap()[0].id.to_string();
    let made = timeline(&app, &key, "").await.ok(200);
    let only = |account_events: u64| {
        json!({
            "jobs": 0, "jobs_by_trigger": {}, "settings_changes": 0, "account_events": account_events, "truncated": false,
        })
    };
    assert_eq!(made["summary"], only(1));
    let made = &made["events"][0];
    assert_eq!(
        *made,
        json!({
            "type": "account_event", "at": made["at"], "kind": "key_created", "subject": {"type": "api_key", "id": key_id},
            "actor": {"type": "staff"},
        })
    );

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
            "id": finished, "status": "completed", "source": "api", "name": null, "source_integration": null,
            "started_at": event["job"]["started_at"], "finished_at": event["job"]["finished_at"],
            "results": {"total": 2, "passed": 1, "failed": 1},
        },
    });
    assert_eq!(*event, expected);
    assert!(event["at"].is_string() && event["job"]["finished_at"].is_string());
    let test = app.key(&org, KeyKind::Test).await;
    assert_eq!(timeline(&app, &test, "").await.ok(200)["summary"], only(2), "test keys have their own jobs");
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
    // Plus the creation of the key.
    let account = "account_event";
    made.push(account.to_owned());
    for (query, shown, truncated) in
        [("limit=2", 2, true), ("limit=3", 3, true), ("limit=4", 4, false), ("days=90&limit=200", 4, false)]
    {
        let page = timeline(&app, &key, query).await.ok(200);
        let events: Vec<&str> = page["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["job"]["id"].as_str().unwrap_or(it["type"].as_str().unwrap()))
            .collect();
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

async fn settings(app: &TestApp, key: &str, body: Value) {
    app.send(Call::patch("/v1/organization/settings", body.to_string()).key(key)).await.ok(200);
}

/// Returns the events without their times, newest first.
async fn events_of(app: &TestApp, key: &str) -> Vec<Value> {
    let shown = timeline(app, key, "").await.ok(200);
    let mut events = shown["events"].as_array().unwrap().clone();
    let times: Vec<String> = events.iter().map(|event| event["at"].as_str().unwrap().to_owned()).collect();
    assert!(times.is_sorted_by(|newer, older| newer >= older), "{times:?}");
    for event in &mut events {
        event.as_object_mut().unwrap().remove("at");
    }
    events
}

#[tokio::test]
async fn what_is_done_to_an_account_is_told_once() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let key_id = app.admin.list_keys(&org).await.unwrap()[0].id;
        let one = json!({"ignored_reasons": ["spam"], "retention_days": 30});
        settings(app, &key, one.clone()).await;
        settings(app, &key, one).await;
        settings(app, &key, json!({"retention_days": null, "delivery_retention_days": 7})).await;
        let wanted = json!({"name": "made", "kind": "live"}).to_string();
        let made = app.send(Call::post("/v1/api-keys", wanted).key(&key)).await.ok(201);
        let made_id = made["id"].clone();
        let made = format!("/v1/api-keys/{}", made["id"].as_str().unwrap());
        for _ in 0..2 {
            app.send(Call::new("DELETE", made.clone()).key(&key)).await.ok(200);
        }
        app.send(Call::new("POST", "/v1/webhooks/callback-secret/rotate").key(&key)).await.ok(200);
        app.admin.grant(&org, CreditBucket::Prepaid, 5, None).await.unwrap();
        app.admin.adjust(&org, CreditBucket::Prepaid, -5).await.unwrap();
        let statuses = [OrgState::Paused, OrgState::Banned, OrgState::UnderReview, OrgState::Active];
        for status in statuses {
            app.admin.set_status(&org, status).await.unwrap();
        }
        let (revoked, _) = app.new_key(&org, KeyRequest::plain("b", KeyKind::Test)).await;
        for _ in 0..2 {
            app.admin.revoke_key(&org, &revoked.id.to_string()).await.unwrap();
        }
        let by_key = json!({"type": "api_key", "id": key_id});
        let about = |kind: &str, id: &Value, actor: &Value| {
            json!({"type": "account_event", "kind": kind, "subject": {"type": "api_key", "id": id}, "actor": actor})
        };
        let revoked_id = json!(revoked.id);
        let account =
            |kind: &str, actor: &Value| json!({"type": "account_event", "kind": kind, "actor": actor});
        let staff = json!({"type": "staff"});
        let change = |setting: &str, before: Value, after: Value| {
            json!({
                "type": "settings_change", "setting": format!("organization.{setting}"), "before": before, "after": after,
                "actor": by_key,
            })
        };
        let expected = [
            about("key_revoked", &revoked_id, &staff),
            about("key_created", &revoked_id, &staff),
            account("hold_lifted", &staff),
            account("hold", &staff),
            account("credits_adjusted", &staff),
            account("credits_granted", &staff),
            account("callback_secret_rotated", &by_key),
            about("key_revoked", &made_id, &by_key),
            about("key_created", &made_id, &by_key),
            change("retention_days", json!(30), json!(null)),
            change("delivery_retention_days", json!(null), json!(7)),
            change("retention_days", json!(null), json!(30)),
            change("ignored_reasons", json!([]), json!(["spam"])),
            about("key_created", &json!(key_id), &staff),
        ];
        let shown = events_of(app, &key).await;
        assert_eq!(shown.len(), expected.len(), "{shown:#?}");
        for event in &expected {
            let count = |events: &[Value]| events.iter().filter(|one| *one == event).count();
            assert_eq!(count(&shown), count(&expected), "{event} in {shown:#?}");
        }
        let summary = timeline(app, &key, "").await.ok(200)["summary"].clone();
        assert_eq!((&summary["settings_changes"], &summary["account_events"]), (&json!(4), &json!(10)));
        let (_, stranger) = app.customer().await;
        assert_eq!(events_of(app, &stranger).await.len(), 1, "others see nothing of it");
    })
    .await;
}

#[tokio::test]
async fn one_word_of_many_is_told_by_its_name() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let words = |first: usize| -> Value { (first..first + 150).map(|n| Value::from(format!("banned-{n}"))).collect() };
    settings(&app, &key, json!({ "banned_words": words(0) })).await;
    settings(&app, &key, json!({ "banned_words": words(1) })).await;
    let newest = events_of(&app, &key).await.remove(0);
    assert_eq!((&newest["before"], &newest["after"]), (&words(0), &words(1)));
    app.stop().await;
}

#[tokio::test]
async fn a_change_that_fails_is_not_told() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let hold = [AccountChange::Account(AccountEventKind::Hold, None)];
    let failed = app.store.write(|tx| {
        async {
            events::add(tx, org.no, org.created_at, None, &hold).await?;
            Err::<(), _>(StoreError::NotFound)
        }
        .scope_boxed()
    });
    assert!(matches!(failed.await, Err(StoreError::NotFound)));
    let refused = Call::patch("/v1/organization/settings", r#"{"retention_days": 1, "banned_words": [""]}"#);
    app.send(refused.key(&key)).await.error(400, "invalid_request");
    assert_eq!(events_of(&app, &key).await.len(), 1, "the key");
    app.stop().await;
}

#[tokio::test]
async fn nothing_personal_and_no_secret_stands_in_a_timeline() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let canary = "canary-t5y6u7i8";
    let words = [format!("{canary}@example.com"), "192.0.2.77".into(), "2001:db8::77".into()];
    for word in &words {
        settings(&app, &key, json!({"banned_words": ["casino", word], "role_words": [word]})).await;
    }
    let named = json!({"name": canary, "kind": "live"}).to_string();
    let call = Call::post("/v1/api-keys", named).header("user-agent", canary).from("198.51.100.9");
    let secret = app.send(call.key(&key)).await.ok(201)["secret"].as_str().unwrap().to_owned();
    let rotated = app.send(Call::new("POST", "/v1/webhooks/callback-secret/rotate").key(&key)).await.ok(200);
    let job = submit(&app, &key, &[&format!("{canary}@honest-mail.com")]).await;
    done(&app, &key, &job).await;
    app.admin.set_status(&org, OrgState::UnderReview).await.unwrap();
    let shown = timeline(&app, &key, "limit=200").await;
    let canaries = [
        canary,
        "192.0.2.77",
        "2001:db8::77",
        "198.51.100.9",
        "example.com",
        "honest-mail",
        "Example Ltd",
        &key[key.len() - 20..],
        &secret[secret.len() - 20..],
        rotated["secret"].as_str().unwrap(),
    ];
    let found = canaries.iter().find(|canary| holds(&shown.body, canary));
    assert_eq!(found, None, "{}", shown.text());
    assert!(shown.text().matches("\"redacted\"").count() >= 6, "{}", shown.text());
    app.stop().await;
}

#[tokio::test]
async fn who_looks_back_often_keeps_nobody_from_reading() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let (_, other) = app.customer().await;
    let now = app.now(&org).await;
    let many = vec![AccountChange::Account(AccountEventKind::CreditsGranted, None); 20_000];
    app.store.write(|tx| events::add(tx, org.no, now - 60_000, None, &many).scope_boxed()).await.unwrap();
    // Both keys are cached from here on.
    app.get(&other, "/v1/organization").await.ok(200);
    app.get(&key, "/v1/organization").await.ok(200);
    let looked_back = AtomicUsize::new(0);
    let looking = join_all((0..16).map(async |_| {
        let counted = timeline(&app, &key, "").await.ok(200)["summary"]["account_events"].clone();
        looked_back.fetch_add(1, Relaxed);
        counted
    }));
    let another = async {
        tokio::task::yield_now().await;
        app.get(&other, "/v1/organization").await.ok(200);
        looked_back.load(Relaxed)
    };
    let (counted, before) = tokio::join!(looking, another);
    assert!(counted.iter().all(|counted| counted.as_u64() >= Some(20_000)), "{counted:?}");
    assert!(before <= 2, "{before} of them were answered before another customer");
    app.stop().await;
}

#[tokio::test]
async fn events_are_kept_for_four_hundred_days() {
    const DAY_MS: i64 = 86_400_000;
    let app = TestApp::start().await;
    let (org, _) = app.customer().await;
    let now = app.now(&org).await;
    let grant = [AccountChange::Account(AccountEventKind::CreditsGranted, None)];
    for days in [399, 401] {
        app.store.write(|tx| events::add(tx, org.no, now - days * DAY_MS, None, &grant).scope_boxed()).await.unwrap();
    }
    upkeep().await;
    let mut conn = app.store.read().await.unwrap();
    let old = timeline::newest_events(&mut conn, org.no, now - 500 * DAY_MS, now - 300 * DAY_MS, 10).await.unwrap();
    assert_eq!(old.iter().map(|event| event.at).collect::<Vec<_>>(), [now - 399 * DAY_MS]);
    drop(conn);
    app.stop().await;
}
