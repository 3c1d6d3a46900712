//! Tests of `/v1/jobs`: list, filters, and a finished job.

use serde_json::{Value, json};

use super::batch::{done, submit};
use crate::test_app::{Answer, TestApp};

async fn list(app: &TestApp, key: &str, query: &str) -> Answer {
    app.get(key, &format!("/v1/jobs?{query}")).await
}

fn ids(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_finished_job_shows_its_rows_by_reason() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let emails = ["ann@honest-mail.com", "x", "info@honest-mail.com", "x", "a@takes-all.com"];
    let id = submit(&app, &key, &emails).await;
    done(&app, &key, &id).await;
    let job = app.get(&key, &format!("/v1/jobs/{id}")).await.ok(200);
    let results =
        json!({"total": 5, "processed": 5, "passed": 1, "failed": 4, "undeliverable": 2, "risky": 1, "unknown": 1});
    let reasons = job["results"]["reasons"].as_object().unwrap();
    assert_eq!(reasons.len(), 16);
    for (reason, n) in reasons {
        let expected = match reason.as_str() {
            "invalid" => 2,
            "role_based" | "accept_all" => 1,
            _ => 0,
        };
        assert_eq!(n, expected, "{reason}");
    }
    let mut listed = list(&app, &key, "").await.ok(200)["data"][0].clone();
    assert_eq!(listed["results"], results);
    assert!(listed["finished_at"].as_str() >= listed["created_at"].as_str());
    listed["results"]["reasons"] = job["results"]["reasons"].clone();
    assert_eq!(listed, job);
    let rest = json!({"id": id, "status": "completed", "source": "api", "name": null, "source_integration": null,
        "created_at": job["created_at"], "finished_at": job["finished_at"], "results": job["results"]});
    assert_eq!(job, rest);
    app.stop().await;
}

#[tokio::test]
async fn jobs_are_listed_newest_first_in_pages_of_their_filters() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let mut made = Vec::new();
    for _ in 0..5 {
        let id = submit(&app, &key, &["x"]).await;
        done(&app, &key, &id).await;
        made.insert(0, id);
    }
    let waiting = submit(&app, &key, &["waits@honest-mail.com"]).await;
    let mut seen = Vec::new();
    let mut next = String::new();
    loop {
        let page = list(&app, &key, &format!("status=completed&per_page=2{next}")).await.ok(200);
        seen.extend(ids(&page));
        let cursor = &page["pagination"]["next_cursor"];
        assert_eq!(page["pagination"]["has_more"], cursor.is_string());
        match cursor.as_str() {
            Some(cursor) => {
                // The cursor is bound to its filters.
                list(&app, &key, &format!("per_page=2&next={cursor}")).await.error(400, "invalid_request");
                next = format!("&cursor={cursor}");
            }
            None => break,
        }
    }
    assert_eq!(seen, made);
    assert_eq!(list(&app, &key, "").await.ok(200)["data"].as_array().unwrap().len(), 6);

    let at = app.get(&key, &format!("/v1/jobs/{}", made[2])).await.ok(200)["created_at"].as_str().unwrap().to_owned();
    let from = ids(&list(&app, &key, &format!("created_after={at}")).await.ok(200));
    let ever = ids(&list(&app, &key, "created_before=9999-12-31T23:59:59Z").await.ok(200));
    assert_eq!(ever, ids(&list(&app, &key, "").await.ok(200)));
    let before = ids(&list(&app, &key, &format!("created_before={}", at.replace('Z', "%2B00:00"))).await.ok(200));
    assert!(from.contains(&made[2]) && from.contains(&waiting) && !before.contains(&made[2]));
    assert_eq!(from.len() + before.len(), 6, "each job is on one side");
    assert_eq!(ids(&list(&app, &key, "source=csv").await.ok(200)), Vec::<String>::new());
    assert_eq!(list(&app, &key, "source=api&status=").await.ok(200)["data"].as_array().unwrap().len(), 6);
    for query in [
        "status=done",
        "source=elsewhere",
        "created_after=yesterday",
        "created_before=2026-01-01",
        "per_page=0",
        "next=x",
    ] {
        let message = list(&app, &key, query).await.error(400, "invalid_request");
        assert!(message.starts_with(query.split('=').next().unwrap()), "{message}");
    }
    app.live.gate.add_permits(1);
    done(&app, &key, &waiting).await;
    app.stop().await;
}
