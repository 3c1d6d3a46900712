//! Tests of reports: usage by period and by day.

use probity_account::api_key::KeyKind;
use probity_account::id::ConnId;
use probity_account::scope::Scope;
use probity_http::service::ServiceConfig;
use probity_mail::verdict::Reason;
use probity_store::credits::usage::{self, UsageDelta};
use probity_store::{OrgNo, ScopedFutureExt as _};
use serde_json::json;

use super::batch::{done, submit};
use super::connections::platform::TrialPlatform;
use super::connections::{connect, place};
use crate::test_app::{Call, TestApp};

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
async fn usage_is_divided_by_who_caused_it_and_what_it_was() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let (_, stranger) = app.customer().await;
        app.get(&key, "/v1/verify?email=ann@honest-mail.com").await.ok(200);
        app.get(&key, "/v1/verify?email=x").await.ok(200);
        let id = submit(app, &key, &["ann@honest-mail.com", "info@honest-mail.com", "a@takes-all.com"]).await;
        done(app, &key, &id).await;
        let now = app.now(&org).await;
        let connection = ConnId::new(now, [1; 10]);
        used(app, org.no, Some(connection), now.utc_day(), Reason::Valid, 7).await;

        let keys = app.get(&key, "/v1/api-keys").await.ok(200);
        let reader = app.restricted(&org, [Scope::ReadReports]).await;
        let divided = async |by: &str| {
            let usage = app.get(&reader, &format!("/v1/reports/usage/breakdown?{by}")).await.ok(200);
            let parts = usage["parts"].as_array().unwrap();
            let today: Vec<_> = usage["days"].as_array().unwrap().last().unwrap()["parts"].as_array().unwrap().clone();
            assert_eq!(parts.iter().map(|part| part["verified"].clone()).collect::<Vec<_>>(), today, "{by}");
            let mut found: Vec<_> = parts
                .iter()
                .map(|part| (part["id"].as_str().unwrap_or("none").to_owned(), part["verified"].as_i64().unwrap()))
                .collect();
            found.sort();
            (usage["total"].as_i64().unwrap(), found)
        };
        let of = |id: &str, verified| (id.to_owned(), verified);
        assert_eq!(divided("").await, (12, vec![of("api", 5), of("integration", 7)]));
        let statuses = divided("by=status").await;
        assert_eq!((statuses.0, statuses.1.iter().map(|of| of.1).sum::<i64>()), (12, 12));
        assert!(statuses.1.iter().any(|of| of.0 == "passed" && of.1 >= 8), "{statuses:?}");
        let by_key = divided("by=key").await;
        let caused = by_key.1[0].0.clone();
        assert!(keys["data"].as_array().unwrap().iter().any(|key| key["id"] == caused.as_str()), "{caused}");
        assert_eq!(by_key, (12, vec![of(&caused, 5), of("none", 7)]));
        assert_eq!(divided(&format!("by=key&id={caused}")).await, (5, vec![of(&caused, 5)]));
        assert_eq!(divided("by=connection").await, (12, vec![of(&connection.to_string(), 7), of("none", 5)]));
        assert_eq!(divided("by=domain").await, (12, vec![of("honest-mail.com", 3), of("takes-all.com", 1)]));
        assert_eq!(divided("by=provider").await, (12, vec![of("none", 12)]));
        let named = app.get(&reader, "/v1/reports/usage/breakdown?by=key").await.ok(200);
        let named = named["parts"].as_array().unwrap().iter().find(|part| part["id"] == caused.as_str()).unwrap();
        assert!(named["name"].is_string() && named["charged"].is_i64(), "{named}");
        let foreign = format!("/v1/reports/usage/breakdown?by=key&id={caused}");
        assert_eq!(app.get(&stranger, &foreign).await.ok(200)["total"], 0);
        let all = app.get(&stranger, "/v1/reports/usage/breakdown?by=domain").await.ok(200);
        assert_eq!((all["parts"].as_array().unwrap().len(), all["days"].as_array().unwrap().len()), (0, 30));
    })
    .await;
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
        ("usage/breakdown?by=weather", 400, "invalid_request"),
        ("usage/breakdown?from=2026-02-30", 400, "invalid_request"),
        ("usage/breakdown?from=2026-02-02&to=2026-02-01", 400, "invalid_request"),
        ("usage/breakdown?from=2024-02-02&to=2026-02-01", 400, "invalid_request"),
    ] {
        app.get(&key, &format!("/v1/reports/{path}")).await.error(status, code);
    }
    let year = app.get(&key, "/v1/reports/usage/daily?days=366").await.ok(200);
    assert_eq!(year["data"].as_array().unwrap().len(), 366);
    app.stop().await;
}

/// Stores usage for a connection, as the cleaning of its contacts will store it.
async fn used(app: &TestApp, org: OrgNo, connection: Option<ConnId>, day: i64, reason: Reason, verified: i64) {
    let delta = UsageDelta {
        org,
        day,
        source: "integration".into(),
        connection: connection.map(|id| id.to_string()),
        key: None,
        domain: None,
        provider: None,
        reason,
        verified,
        // The ledger must still match the spent credits.
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

#[tokio::test]
async fn a_connection_has_reports_before_its_first_verification() {
    let platform = TrialPlatform::start().await;
    TestApp::each(platform.service(), async |app| {
        let (org, key) = app.customer().await;
        let (_, stranger) = app.customer().await;
        let test = app.key(&org, KeyKind::Test).await;
        let connection = connect(app, &key, &platform).await;
        let id = connection["id"].as_str().unwrap();
        let [sums, days] = ["usage", "usage/daily"].map(|path| format!("/v1/reports/{path}?connection_id={id}"));
        let report = app.get(&key, &sums).await.ok(200);
        assert_eq!((&report["total"], &report["connection_id"]), (&json!(0), &connection["id"]));
        let daily = app.get(&key, &days).await.ok(200);
        assert!(daily["data"].as_array().unwrap().iter().all(|day| day["total"] == 0), "{daily}");
        for path in [&sums, &days] {
            for other in [&stranger, &test] {
                app.get(other, path).await.error(404, "not_found");
            }
        }
        app.send(Call::new("DELETE", place(&connection)).key(&key)).await.ok(200);
        for path in [&sums, &days] {
            app.get(&key, path).await.ok(200);
        }
    })
    .await;
}
