//! Reports: what was verified, by period and by day.

use probity_account::api_key::KeyKind;
use probity_account::id::ConnId;
use probity_account::scope::Scope;
use probity_http::service::ServiceConfig;
use probity_mail::verdict::Reason;
use probity_store::usage::{self, Delta};
use probity_store::{OrgNo, ScopedFutureExt as _};
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
        ("usage?connection_id=x", 404, "not_found"),
        ("usage/daily?connection_id=conn_01h455vb4pex5vsknk084sn02q", 404, "not_found"),
        ("usage/daily?connection_id=%00", 404, "not_found"),
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

/// What was verified for a connection, as the work on its contacts will write it down.
async fn used(app: &TestApp, org: OrgNo, connection: Option<ConnId>, day: i64, reason: Reason, verified: i64) {
    let delta = Delta {
        org,
        day,
        source: "integration".into(),
        connection: connection.map(|id| id.to_string()),
        provider: None,
        reason,
        verified,
        // The books must go on adding up to what was spent.
        charged: 0,
    };
    app.store.write(|tx| usage::add(tx, std::slice::from_ref(&delta)).scope_boxed()).await.unwrap();
}

#[tokio::test]
async fn a_connection_has_reports_of_its_own() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let (other, _) = app.customer().await;
        let now = app.now(&org).await;
        let (today, ids) = (now.utc_day(), [1, 2, 3].map(|n| ConnId::new(now, [n; 10])));
        used(app, org.no, Some(ids[0]), today, Reason::Valid, 5).await;
        used(app, org.no, Some(ids[0]), today, Reason::Nonexistent, 2).await;
        used(app, org.no, Some(ids[1]), today - 1, Reason::Valid, 11).await;
        used(app, org.no, None, today, Reason::Valid, 100).await;
        used(app, other.no, Some(ids[2]), today, Reason::Valid, 1_000).await;

        let report =
            app.get(&key, &format!("/v1/reports/usage?period=this_week&connection_id={}", ids[0])).await.ok(200);
        assert_eq!((&report["total"], &report["connection_id"]), (&7.into(), &json!(ids[0])));
        assert_eq!((&report["statuses"]["passed"], &report["reasons"]["nonexistent"]), (&5.into(), &2.into()));
        let all = app.get(&key, "/v1/reports/usage?period=lifetime").await.ok(200);
        assert_eq!(all["total"], 118, "every connection and what has none");
        let days = app.get(&key, &format!("/v1/reports/usage/daily?days=2&connection_id={}", ids[1])).await.ok(200);
        let totals: Vec<_> = days["data"].as_array().unwrap().iter().map(|day| &day["total"]).collect();
        assert_eq!(totals, [11, 0]);
        for path in ["usage", "usage/daily"] {
            let foreign = app.get(&key, &format!("/v1/reports/{path}?connection_id={}", ids[2])).await;
            foreign.error(404, "not_found");
        }
    })
    .await;
}
