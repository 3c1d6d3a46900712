//! Tests of `/v1/batch-verify`: from a list to its rows, progress, price and cancellation.

mod callback;
mod download;
mod held;
mod keeping;
mod lists;
mod pacing;
mod stopped;

use std::collections::BTreeSet;
use std::time::Duration;

use axum::http::HeaderValue;
use futures_util::future::join_all;
use probity_account::api_key::KeyKind;
use probity_http::service::ServiceConfig;
use serde_json::{Value, json};

use crate::test_app::{Answer, Call, PLENTY, TestApp, pass, real_moment};

/// Submits a list as JSON. Returns the job's ID.
pub(super) async fn submit(app: &TestApp, key: &str, emails: &[&str]) -> String {
    let answer = post(app, key, &json!({ "emails": emails }).to_string()).await;
    answer.ok(200)["id"].as_str().unwrap().to_owned()
}

pub(super) async fn post(app: &TestApp, key: &str, body: &str) -> Answer {
    app.send(Call::post("/v1/batch-verify", body).key(key)).await
}

pub(super) async fn status(app: &TestApp, key: &str, id: &str) -> Value {
    app.get(key, &format!("/v1/batch-verify/{id}/status")).await.ok(200)
}

/// Waits until the job's status satisfies `wanted`.
async fn until(app: &TestApp, key: &str, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..5_000 {
        let status = status(app, key, id).await;
        if wanted(&status) {
            return status;
        }
        real_moment().await;
    }
    panic!("the job never came so far: {}", status(app, key, id).await);
}

pub(super) async fn done(app: &TestApp, key: &str, id: &str) -> Value {
    until(app, key, id, |status| status["processed"] == true).await
}

async fn cancel(app: &TestApp, key: &str, id: &str) -> Answer {
    app.send(Call::new("POST", format!("/v1/batch-verify/{id}/cancel")).key(key)).await
}

/// Returns all rows of a job, read page by page.
async fn rows(app: &TestApp, key: &str, id: &str, per_page: usize) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut next = String::new();
    loop {
        let page = app.get(key, &format!("/v1/batch-verify/{id}/results?per_page={per_page}{next}")).await.ok(200);
        assert!(page.get("pagination").is_none(), "{page}");
        let data = page["data"].as_array().unwrap();
        assert!(data.len() <= per_page);
        rows.extend(data.iter().cloned());
        match page.get("next") {
            None => return rows,
            Some(cursor) => {
                assert_eq!(data.len(), per_page, "a page that is not the last is full");
                next = format!("&next={}", cursor.as_str().unwrap());
            }
        }
    }
}

fn reasons(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["reason"].as_str().unwrap_or("")).collect()
}

#[tokio::test]
async fn a_list_is_verified_once_each_and_answered_row_by_row() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let emails = [
            "ann@honest-mail.com",
            "no address",
            " ANN@Honest-Mail.com ",
            "nobody@null-mx.com",
            "ann@honest-mail.com",
            "info@honest-mail.com",
            "no address",
            "ann@bücher-kva.invalid",
        ];
        let id = submit(app, &key, &emails).await;
        let status = done(app, &key, &id).await;
        let counters = json!({
            "id": id, "processed": true, "status": "completed", "numImported": 8, "emailsProcessed": 8, "numPassed": 3,
            "numFailed": 5, "numUndeliverable": 4, "numUnknown": 0, "numRisky": 1,
        });
        assert_eq!(status, counters);
        let rows = rows(app, &key, &id, 3).await;
        assert_eq!(rows.iter().map(|row| row["email"].as_str().unwrap()).collect::<Vec<_>>(), emails);
        let expected = ["valid", "invalid", "valid", "illegitimate", "valid", "role_based", "invalid", "invalid"];
        assert_eq!(reasons(&rows), expected);
        let fields: BTreeSet<&str> = "email domain processed passed reason status completed_at index suggestion fixed \
            deleted unsubscribed updated tagged"
            .split_whitespace()
            .collect();
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(row.as_object().unwrap().keys().map(String::as_str).collect::<BTreeSet<_>>(), fields);
            assert_eq!((&row["index"], &row["processed"]), (&json!(index), &json!(true)));
            let domain = if row["reason"] == "invalid" { "" } else { emails[index].trim().split_once('@').unwrap().1 };
            assert_eq!(row["domain"], domain.to_lowercase());
            for written in ["fixed", "deleted", "unsubscribed", "updated", "tagged"] {
                assert_eq!(row[written], false);
            }
        }
        // Five different addresses, four of them known without a probe. All verdicts are conclusive, so each costs a credit.
        assert_eq!(app.balance(&org).await.spent.total(), 5);
        assert_eq!(app.usage(&org).await.iter().map(|(_, verified, charged)| verified + charged).sum::<i64>(), 10);
    })
    .await;
}

#[tokio::test]
async fn rows_are_shown_while_the_job_runs_and_a_cancel_credits_the_rest_back() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let emails = ["waits1@honest-mail.com", "ann@honest-mail.com", "waits2@honest-mail.com", "ann@honest-mail.com"];
        let id = submit(app, &key, &emails).await;
        let begun = until(app, &key, &id, |status| status["status"] == "processing").await;
        assert_eq!((&begun["numImported"], &begun["processed"]), (&json!(4), &json!(false)));
        // Settling a part takes a moment.
        for _ in 0..50 {
            if status(app, &key, &id).await["emailsProcessed"] == 2 {
                break;
            }
            pass(Duration::from_secs(2)).await;
        }
        let partly = rows(app, &key, &id, 1_000).await;
        assert_eq!(reasons(&partly), ["", "valid", "", "valid"]);
        assert_eq!(partly[0], json!({"email": emails[0], "processed": false, "index": 0}));
        let job = app.get(&key, &format!("/v1/jobs/{id}")).await.ok(200);
        assert_eq!((&job["status"], &job["results"]), (&json!("processing"), &Value::Null));
        let balance = app.balance(&org).await;
        assert_eq!((balance.held.total(), balance.spent.total()), (2, 1));

        let call = || Call::new("POST", format!("/v1/batch-verify/{id}/cancel")).key(&key).once("cancel it");
        let first = app.send(call()).await;
        assert_eq!(first.ok(200), json!({"status": "success"}));
        let balance = app.balance(&org).await;
        assert_eq!(
            [balance.available, balance.held, balance.spent].map(probity_account::credits::Split::total),
            [PLENTY - 1, 0, 1]
        );
        let replayed = app.send(call()).await;
        assert_eq!((replayed.header("idempotent-replayed"), &replayed.body), (Some("true"), &first.body));
        assert_eq!(cancel(app, &key, &id).await.ok(200), json!({"status": "success"}), "it is cancelled, again");

        // Verdicts that arrive now are too late.
        app.live.gate.add_permits(2);
        pass(Duration::from_secs(4)).await;
        let over = status(app, &key, &id).await;
        assert_eq!(
            (&over["status"], &over["processed"], &over["emailsProcessed"]),
            (&json!("cancel"), &json!(true), &json!(2))
        );
        assert_eq!(rows(app, &key, &id, 2).await, partly);
        let job = app.get(&key, &format!("/v1/jobs/{id}")).await.ok(200);
        assert_eq!((&job["status"], &job["results"]), (&json!("cancelled"), &Value::Null));
        assert_eq!(app.balance(&org).await.spent.total(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_completed_job_cannot_be_cancelled() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let id = submit(&app, &key, &["ann@honest-mail.com"]).await;
    done(&app, &key, &id).await;
    assert_eq!(cancel(&app, &key, &id).await.ok(200), json!({"status": "error"}));
    assert_eq!(status(&app, &key, &id).await["status"], "completed");
    assert_eq!(app.balance(&org).await.spent.total(), 1);
    let labelled = |kind: &str, body: &str| {
        let call = Call::post(format!("/v1/batch-verify/{id}/cancel"), body).key(&key);
        if kind.is_empty() {
            call
        } else {
            Call::new("POST", format!("/v1/batch-verify/{id}/cancel")).key(&key).header("content-type", kind)
        }
    };
    assert_eq!(app.send(labelled("", "{}")).await.ok(200), json!({"status": "error"}));
    app.send(labelled("", "{")).await.error(400, "invalid_request");
    assert_eq!(app.send(labelled("text/plain", "")).await.status, 200, "nothing needs no label");
    app.stop().await;
}

#[tokio::test]
async fn one_key_makes_one_job_however_often_it_is_sent() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let body = json!({"emails": ["ann@honest-mail.com", "nobody@null-mx.com"]}).to_string();
        let call = || Call::post("/v1/batch-verify", body.clone()).key(&key).once("a list");
        let answers = join_all((0..100).map(|_| app.send(call()))).await;
        let ids: BTreeSet<String> =
            answers.iter().filter(|answer| answer.status == 200).map(|answer| answer.text().to_owned()).collect();
        assert_eq!(ids.len(), 1, "{ids:?}");
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            answer.error(409, "idempotency_in_progress");
        }
        assert_eq!(app.send(call()).await.header("idempotent-replayed"), Some("true"));
        let other = Call::post("/v1/batch-verify", r#"{"emails": ["x"]}"#).key(&key).once("a list");
        app.send(other).await.error(422, "idempotency_key_reused");
        let jobs = app.get(&key, "/v1/jobs").await.ok(200);
        assert_eq!(jobs["data"].as_array().unwrap().len(), 1);
        done(app, &key, jobs["data"][0]["id"].as_str().unwrap()).await;
        assert_eq!(app.balance(&org).await.spent.total(), 2);
    })
    .await;
}

#[tokio::test]
async fn what_is_not_accepted_costs_nothing_and_leaves_nothing() {
    let config = ServiceConfig::default();
    let api = probity_service::app::ApiConfig { batch_rows_max: 3, batch_body_max: 4_096, ..config.api.clone() };
    let app = TestApp::with(ServiceConfig { api, ..config }).await;
    let (org, key) = app.customer().await;
    let cases = [
        (json!({}).to_string(), 400, "emails"),
        (json!({"emails": []}).to_string(), 400, "emails"),
        (json!({"emails": "a@b.example"}).to_string(), 400, "emails"),
        (json!({"emails": ["a@b.example", 7]}).to_string(), 400, "emails[1]"),
        (json!({"emails": ["a@b.example", "x".repeat(1_025)]}).to_string(), 400, "emails[1]"),
        ("{\"emails\": [".to_owned(), 400, ""),
        (json!({"emails": ["a", "b", "c", "d"]}).to_string(), 413, ""),
        (json!({"emails": ["x".repeat(5_000)]}).to_string(), 413, ""),
    ];
    for (body, status, field) in cases {
        let answer = post(&app, &key, &body).await;
        let code = if status == 400 { "invalid_request" } else { "payload_too_large" };
        let message = answer.error(status, code);
        assert!(message.contains(field), "{body}: {message}");
    }
    let labelled = Call::post("/v1/batch-verify", "a").key(&key);
    let plain = Call::new("POST", "/v1/batch-verify").key(&key).header("content-type", "text/plain");
    assert_eq!(app.send(labelled).await.status, 400);
    assert!([400, 415].contains(&app.send(plain).await.status));
    let poor = app.org("Poor Ltd", 1).await;
    let poor_key = app.key(&poor, KeyKind::Live).await;
    post(&app, &poor_key, r#"{"emails": ["a", "b"]}"#).await.error(402, "insufficient_credits");
    for key in [&key, &poor_key] {
        assert_eq!(app.get(key, "/v1/jobs").await.ok(200)["data"], json!([]));
    }
    assert_eq!(app.balance(&org).await.available.total(), PLENTY);
    assert_eq!(app.balance(&poor).await.available.total(), 1);
    app.stop().await;
}

#[tokio::test]
async fn test_keys_and_live_keys_see_their_own_jobs_and_others_see_none() {
    let app = TestApp::start().await;
    let (org, live) = app.customer().await;
    let test = app.key(&org, KeyKind::Test).await;
    let (_, stranger) = app.customer().await;
    let of_live = submit(&app, &live, &["ann@honest-mail.com"]).await;
    let of_test = submit(&app, &test, &["valid@sandbox.test", "inbox_full@sandbox.test"]).await;
    done(&app, &test, &of_test).await;
    done(&app, &live, &of_live).await;
    let seen = rows(&app, &test, &of_test, 10).await;
    assert_eq!(reasons(&seen), ["valid", "inbox_full"]);
    assert_eq!(seen[0]["domain"], "sandbox.test");
    assert_eq!(app.balance(&org).await.spent.total(), 1, "what a test key does is free");
    assert_eq!(app.usage(&org).await.iter().map(|(_, verified, _)| verified).sum::<i64>(), 1);

    let foreign = [(&live, &of_test), (&test, &of_live), (&stranger, &of_live), (&stranger, &of_test)];
    let unknown = ["job_01h455vb4pex5vsknk084sn02q", "job_x", "x", "%00", "%ff", "a%2Fb"].map(str::to_owned);
    let paths = [
        "/v1/batch-verify/{}",
        "/v1/batch-verify/{}/status",
        "/v1/batch-verify/{}/results",
        "/v1/batch-verify/{}/download",
        "/v1/jobs/{}",
    ];
    let missing = app.get(&live, &paths[4].replace("{}", &unknown[0])).await.without_request();
    let named = foreign.into_iter().chain(unknown.iter().map(|id| (&live, id)));
    for (key, id) in named {
        for path in paths {
            let answer = app.get(key, &path.replace("{}", id)).await;
            answer.error(404, "not_found");
            // The deprecated route adds its header; nothing else differs.
            let (status, mut headers, body) = answer.without_request();
            headers.retain(|(name, _)| name != "deprecation");
            assert_eq!((status, headers, body), missing, "{path} {id}");
        }
        cancel(&app, key, id).await.error(404, "not_found");
    }
    for (key, id) in [(&live, &of_live), (&test, &of_test)] {
        let listed = app.get(key, "/v1/jobs").await.ok(200);
        assert_eq!(listed["data"].as_array().unwrap().iter().map(|job| &job["id"]).collect::<Vec<_>>(), [id]);
    }
    app.stop().await;
}

#[tokio::test]
async fn the_deprecated_pages_are_the_same_without_places() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let id = submit(&app, &key, &["ann@honest-mail.com", "nobody@null-mx.com", "x"]).await;
    done(&app, &key, &id).await;
    let (now, before) = (format!("/v1/batch-verify/{id}/results"), format!("/v1/batch-verify/{id}"));
    let mut next = String::new();
    for _ in 0..2 {
        let mut new = app.get(&key, &format!("{now}?per_page=2{next}")).await.ok(200);
        let old = app.get(&key, &format!("{before}?per_page=2{next}")).await;
        assert_eq!(old.headers.get("deprecation"), Some(&HeaderValue::from_static("true")));
        for row in new["data"].as_array_mut().unwrap() {
            row.as_object_mut().unwrap().remove("index").unwrap();
        }
        assert_eq!(old.ok(200), new);
        next = format!("&next={}", new["next"].as_str().unwrap_or_default());
    }
    assert_eq!(next, "&next=");
    app.stop().await;
}
