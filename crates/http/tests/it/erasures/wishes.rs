//! Tests of erasure requests: limits, reach, and the counts in the receipt.

use futures_util::future::join_all;
use probity_account::api_key::KeyKind;
use probity_account::id::ErasureId;
use probity_http::service::ServiceConfig;
use probity_store::ScopedFutureExt as _;
use probity_store::accounts::organization::OrgRecord;
use probity_store::privacy::erasures::{self, NewErasure};
use probity_store::webhooks::outbox::{self, OutboxState};
use serde_json::json;

use super::{CANARY, completed, config, done, erase, list, rows, submit, when};
use crate::test_app::{Call, TestApp};
use crate::webhooks::receivers::{Manner, Receiver};

#[tokio::test]
async fn an_erasure_reaches_what_is_older_and_of_its_own_only() {
    let beside = tempfile::tempdir().unwrap();
    let path = beside.path().join("erasures");
    TestApp::each(config(path), async |app| {
        let ((org, live), (_, foreign)) = (app.customer().await, app.customer().await);
        let test = app.key(&org, KeyKind::Test).await;
        let keys = [&live, &test, &foreign];
        let mut before = Vec::new();
        for key in keys {
            before.push(submit(app, key, list(&[CANARY, "valid@sandbox.test"])).await);
        }
        for (key, id) in keys.into_iter().zip(&before) {
            done(app, key, id).await;
        }
        let email = async |at: usize| rows(app, keys[at], &before[at]).await[0]["email"].clone();
        let first = erase(app, &test, &[CANARY]).await;
        // Submitted in the same millisecond, but later.
        let later = submit(app, &test, list(&[CANARY])).await;
        completed(app, &test, &first).await;
        assert_eq!([email(0).await, email(1).await, email(2).await], [CANARY, "erased", CANARY]);
        done(app, &test, &later).await;
        assert_eq!(rows(app, &test, &later).await[0]["email"], CANARY);
        app.get(&live, &format!("/v1/erasures/{first}")).await.error(404, "not_found");
        let second = erase(app, &live, &[CANARY]).await;
        completed(app, &live, &second).await;
        assert_eq!([email(0).await, email(2).await], ["erased", CANARY]);
        assert_eq!(rows(app, &test, &later).await[0]["email"], CANARY);
        let again = erase(app, &live, &[CANARY]).await;
        assert_eq!(completed(app, &live, &again).await["removed"], json!({}), "it is counted once");
        assert!(app.admin.audit(ServiceConfig::default().api.deliveries_keep_ms).await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_wish_is_refused_that_names_nothing_to_erase() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let many = vec!["a@example.org"; 1_001];
    let long = "a".repeat(1_025);
    let cases = [
        (json!({}), "emails"),
        (json!({ "emails": [] }), "emails"),
        (json!({ "emails": many }), "emails"),
        (json!({ "emails": ["a@example.org", " "] }), "emails[1]"),
        (json!({ "emails": [long] }), "emails[0]"),
        (json!({ "emails": ["a@example.org", 7] }), "emails"),
        (json!({ "emails": ["a@example.org"], "webhook_url": "http://10.0.0.1/" }), "webhook_url"),
    ];
    for (body, field) in cases {
        let refused = app.send(Call::post("/v1/erasures", body.to_string()).key(&key)).await;
        assert!(refused.error(400, "invalid_request").contains(field), "{}", refused.text());
    }
    assert_eq!(app.get(&key, "/v1/erasures").await.ok(200)["data"], json!([]));
    app.stop().await;
}

/// Stores open erasure requests for live jobs.
async fn open(app: &TestApp, org: &OrgRecord, count: u8) {
    // Such requests are not completed within seconds, because all nodes must learn of them first.
    let at = app.now(org).await;
    let requested = app.store.write(|tx| {
        async {
            for n in 0..count {
                let (id, tags) = (ErasureId::new(at, [n; 10]), vec![[n; 16]]);
                let new = NewErasure { org: org.no, id, test: false, tags, webhook_url: None, requested_at: at };
                erasures::request(tx, &new, at).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    requested.await.unwrap();
}

#[tokio::test]
async fn so_many_erasures_may_be_open_and_no_more_however_many_are_wished_at_once() {
    let beside = tempfile::tempdir().unwrap();
    let path = beside.path().join("erasures");
    TestApp::each(config(path), async |app| {
        let ((org, live), (_, foreign)) = (app.customer().await, app.customer().await);
        let test = app.key(&org, KeyKind::Test).await;
        open(app, &org, 98).await;
        let wish = async |key: &str| {
            app.send(Call::post("/v1/erasures", json!({ "emails": [CANARY] }).to_string()).key(key)).await
        };
        let answers = join_all((0..12).map(|_| wish(&live))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 2);
        for full in answers.iter().filter(|answer| answer.status != 200) {
            full.error(409, "conflict");
            assert_eq!(full.headers["retry-after"], "60");
        }
        wish(&test).await.ok(200);
        wish(&foreign).await.ok(200);
    })
    .await;
}

/// Tests with a receiver that accepts deliveries and returns empty responses.
async fn what_nobody_answered_is_not_counted(app: TestApp) {
    let (org, key) = app.customer().await;
    let mut receiver = Receiver::start(Manner::status(204)).await;
    for _ in 0..3 {
        let body = json!({ "emails": ["ann@honest-mail.com"], "webhook_url": receiver.url() }).to_string();
        let id = submit(&app, &key, Call::post("/v1/batch-verify", body)).await;
        done(&app, &key, &id).await;
        receiver.request().await;
    }
    let state = Some(OutboxState::Delivered);
    when("recorded", async || {
        outbox::page(&mut app.store.read().await.unwrap(), org.no, state, None, 10).await.unwrap().len() == 3
    })
    .await;
    let id = erase(&app, &key, &[CANARY]).await;
    assert_eq!(completed(&app, &key, &id).await["removed"], json!({}));
    app.stop().await;
}

#[tokio::test]
async fn an_empty_answer_is_nothing_that_was_erased() {
    let beside = tempfile::tempdir().unwrap();
    let config = |name: &str| config(beside.path().join(name));
    what_nobody_answered_is_not_counted(TestApp::with(config("plain")).await).await;
    what_nobody_answered_is_not_counted(TestApp::sealed(config("sealed"), [3; 32]).await).await;
}
