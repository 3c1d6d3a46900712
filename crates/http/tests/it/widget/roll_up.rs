//! Tests of the job that sums up a day of the widget.

use std::time::Duration;

use probity_account::api_key::KeyKind;
use probity_account::role::MemberRole;
use probity_http::service::ServiceConfig;
use probity_store::credits::audit;
use probity_store::failpoint::{ArmedFailpoint, Failpoint, FailpointAction, FailpointSide};
use probity_store::widget;
use serde_json::Value;

use super::{Visitor, public_key};
use crate::people;
use crate::test_app::{TestApp, pass, upkeep};

const DAY: Duration = Duration::from_hours(24);

/// Lets a day pass, then maintenance rounds until the day is summed up, then some more, which must add nothing.
async fn next_day(app: &TestApp, live: &str) -> Value {
    pass(DAY).await;
    pass(Duration::from_mins(11)).await;
    for _ in 0..200 {
        let listed = app.get(live, "/v1/jobs?source=widget").await.ok(200);
        if listed["data"][0].is_object() {
            upkeep().await;
            return app.get(live, "/v1/jobs?source=widget").await.ok(200)["data"].clone();
        }
        pass(Duration::from_secs(6)).await;
    }
    panic!("nobody sums the day up");
}

#[tokio::test]
async fn a_day_becomes_one_job_without_addresses() {
    TestApp::each(people::config(), async |app| {
        let org = app.org("Shop", 100).await;
        let live = app.key(&org, KeyKind::Live).await;
        let keys = [public_key(app, &org, None).await, public_key(app, &org, None).await];
        for (key, email) in [
            (&keys[0], "ann@honest-mail.com"),
            (&keys[1], "nobody@honest-mail.com"),
            (&keys[1], "anyone@takes-all.com"),
            (&keys[0], "ann@blocks-us.com"),
        ] {
            Visitor::new(app, key).checks(email).await.ok(200);
        }
        app.verify(&live, "ann@honest-mail.com").await.ok(200);
        upkeep().await;
        let listed = app.get(&live, "/v1/jobs").await.ok(200);
        assert_eq!(listed["data"].as_array().unwrap().len(), 0, "the day is not over");
        let listed = next_day(app, &live).await;
        let [job] = &listed.as_array().unwrap()[..] else { panic!("one job: {listed}") };
        assert_eq!((&job["status"], &job["source"]), (&"completed".into(), &"widget".into()));
        let results = &job["results"];
        let counts =
            ["total", "processed", "passed", "failed", "undeliverable", "risky", "unknown"].map(|n| &results[n]);
        assert_eq!(counts, [4, 4, 1, 3, 1, 0, 2], "{results}");
        let id = job["id"].as_str().unwrap();
        let whole = app.get(&live, &format!("/v1/jobs/{id}")).await.ok(200);
        let reasons = &whole["results"]["reasons"];
        let three = ["nonexistent", "accept_all", "failed_exchange"].map(|reason| &reasons[reason]);
        assert_eq!(three, [1, 1, 1], "{reasons}");
        // No credits were held for the job, so none were released.
        let (_, mut ann) = people::signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let progress = ann.get(&format!("/app/jobs/{id}/progress")).await.ok(200);
        assert_eq!((&progress["rows"], &progress["credits"]), (&4.into(), &Value::Null));
        // The job has no rows.
        let message = app.get(&live, &format!("/v1/batch-verify/{id}/results")).await.error(404, "not_found");
        assert!(message.contains("widget"), "{message}");
        let timeline = app.get(&live, "/v1/account/timeline").await.ok(200);
        let events = timeline["events"].as_array().unwrap();
        let event = events.iter().find(|event| event["job"]["id"] == id).unwrap();
        assert_eq!((&event["trigger"], &event["actor"]["type"]), (&"cron".into(), &"system".into()));
        assert!(event["source_action"].as_str().unwrap().starts_with("widget.daily.20"), "{event}");
        // Reports count each check once.
        let report = app.get(&live, "/v1/reports/usage?period=lifetime").await.ok(200);
        assert_eq!(report["total"], 5, "{report}");
        assert_eq!(audit::everything(&app.store).await.unwrap(), []);
        let left = widget::days_over(&mut app.store.read().await.unwrap(), i64::MAX, 10).await.unwrap();
        assert_eq!(left, []);
    })
    .await;
}

#[tokio::test]
async fn of_two_nodes_one_records_the_day() {
    let Some(app) = TestApp::on_postgres(ServiceConfig::default()).await else { return };
    let beside = app.beside(ServiceConfig::default()).await;
    let org = app.org("Shop", 100).await;
    let live = app.key(&org, KeyKind::Live).await;
    let key = public_key(&app, &org, None).await;
    Visitor::new(&app, &key).checks("ann@honest-mail.com").await.ok(200);
    Visitor::new(&beside, &key).checks("nobody@honest-mail.com").await.ok(200);
    let listed = next_day(&app, &live).await;
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed[0]["results"]["total"], 2);
    beside.stop().await;
    app.stop().await;
}

/// After a failure, or a commit with an unknown outcome, the retry records the day once.
#[tokio::test]
async fn whatever_fails_once_the_day_is_recorded_once() {
    let statements =
        ["credits::widget::CLOSE", "activity::reports::BY_SOURCE", "jobs::summed::RECORD", "jobs::summed::REASON"];
    let commit = "commit/webhooks::LISTENERS";
    let mut points: Vec<Failpoint> = statements
        .iter()
        .chain([&commit])
        .flat_map(|name| {
            [FailpointSide::Before, FailpointSide::After].map(|when| Failpoint { name: (*name).to_owned(), when })
        })
        .collect();
    // The last point is never armed, for comparison.
    points.push(Failpoint { name: "credits::widget::CLOSE".into(), when: FailpointSide::Before });
    TestApp::each(ServiceConfig::default(), async |app| {
        let failpoints = app.service_store.failpoints();
        for (n, point) in points.iter().enumerate() {
            let (org, live) = app.customer().await;
            let key = public_key(app, &org, None).await;
            Visitor::new(app, &key).checks("ann@honest-mail.com").await.ok(200);
            let armed = n + 1 < points.len();
            if armed {
                failpoints.arm(ArmedFailpoint { point: point.clone(), nth: 1, action: FailpointAction::Error });
            }
            let jobs = next_day(app, &live).await;
            assert_eq!(failpoints.disarm(), usize::from(armed), "{point}");
            assert_eq!(
                (jobs.as_array().unwrap().len(), &jobs[0]["results"]["total"]),
                (1, &1.into()),
                "{point}: {jobs}"
            );
        }
        assert_eq!(audit::everything(&app.store).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn a_day_on_which_nothing_was_verified_has_no_job() {
    let app = TestApp::start().await;
    let org = app.org("Poor", 0).await;
    let live = app.key(&org, KeyKind::Live).await;
    Visitor::new(&app, &public_key(&app, &org, None).await)
        .checks("ann@honest-mail.com")
        .await
        .error(429, "rate_limited");
    // The day's nonces are still purged.
    pass(DAY).await;
    pass(Duration::from_mins(11)).await;
    let marks = async || widget::days_over(&mut app.store.read().await.unwrap(), i64::MAX, 10).await.unwrap();
    while !marks().await.is_empty() {
        pass(Duration::from_secs(6)).await;
    }
    let listed = app.get(&live, "/v1/jobs").await.ok(200);
    assert_eq!(listed["data"].as_array().unwrap().len(), 0, "{listed}");
    app.stop().await;
}
