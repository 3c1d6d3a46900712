//! Reports: what was verified, by period and by day.

use probity_core::api_key::KeyKind;
use probity_core::scope::Scope;
use serde_json::json;

use super::batch::{done, submit};
use crate::test_app::TestApp;

#[tokio::test]
async fn a_report_counts_live_calls_and_each_address_of_a_list_once() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    app.get(&key, "/v1/verify?email=ann@honest-mail.com").await.ok(200);
    app.get(&key, "/v1/verify?email=x").await.ok(200);
    let id = submit(&app, &key, &["x", "x", "info@honest-mail.com", "a@takes-all.com"]).await;
    done(&app, &key, &id).await;
    let test = app.key(&org, KeyKind::Test).await;
    app.get(&test, "/v1/verify?email=valid@sandbox.test").await.ok(200);

    let reader = app.restricted(&org, [Scope::ReadReports]).await;
    let statuses = json!({"passed": 1, "failed": 4, "undeliverable": 2, "risky": 1, "unknown": 1});
    for period in ["", "?period=this_week", "?period=this_month", "?period=this_year", "?period=lifetime"] {
        let report = app.get(&reader, &format!("/v1/reports/usage{period}")).await.ok(200);
        assert_eq!(
            (&report["total"], &report["statuses"], &report["connection_id"]),
            (&5.into(), &statuses, &json!(null))
        );
        let reasons = report["reasons"].as_object().unwrap();
        assert_eq!(reasons.len(), 16);
        assert_eq!([&reasons["invalid"], &reasons["role_based"], &reasons["accept_all"]], [2, 1, 1]);
        assert_eq!(report["range"].is_null(), period.ends_with("lifetime"), "{period}");
        assert!(report["range"]["start"].as_str() <= report["range"]["end"].as_str());
    }
    let days = app.get(&reader, "/v1/reports/usage/daily?days=3").await.ok(200);
    let days = days["data"].as_array().unwrap();
    assert_eq!(days.len(), 3);
    assert_eq!((&days[2]["total"], &days[2]["statuses"]), (&5.into(), &statuses));
    assert_eq!((&days[0]["total"], &days[0]["statuses"]["failed"]), (&0.into(), &0.into()));
    assert!(days[0]["date"].as_str() < days[1]["date"].as_str());
    app.stop().await;
}

#[tokio::test]
async fn wishes_that_no_report_can_meet_are_refused() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    for (path, status, code) in [
        ("usage?period=last_week", 400, "invalid_request"),
        ("usage?period=lifetime&connection_id=conn_01h455vb4pex5vsknk084sn02q", 400, "invalid_request"),
        ("usage?connection_id=conn_01h455vb4pex5vsknk084sn02q", 404, "not_found"),
        ("usage/daily?days=0", 400, "invalid_request"),
        ("usage/daily?days=367", 400, "invalid_request"),
        ("usage/daily?days=x", 400, "invalid_request"),
    ] {
        app.get(&key, &format!("/v1/reports/{path}")).await.error(status, code);
    }
    let year = app.get(&key, "/v1/reports/usage/daily?days=366").await.ok(200);
    assert_eq!(year["data"].as_array().unwrap().len(), 366);
    app.stop().await;
}
