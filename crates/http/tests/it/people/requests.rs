//! Tests of the log of requests: it shows requests of programs to their developers, without personal data.

use probity_account::api_key::KeyKind;
use probity_account::role::MemberRole;
use serde_json::{Value, json};

use super::browser::Browser;
use super::{config, signed_in};
use crate::test_app::{Call, PLENTY, TestApp, real_moment};

/// Reads the log until it has this many entries.
async fn logged(browser: &mut Browser<'_>, query: &str, entries: usize) -> Vec<Value> {
    for _ in 0..5_000 {
        let page = browser.get(&format!("/app/requests{query}")).await.ok(200);
        let rows = page["data"].as_array().unwrap();
        if rows.len() >= entries {
            return rows.clone();
        }
        real_moment().await;
    }
    panic!("the log does not have {entries} entries");
}

fn routes(rows: &[Value]) -> Vec<String> {
    let mut routes: Vec<_> = rows
        .iter()
        .map(|row| format!("{} {} {}", row["method"], row["route"], row["status"]).replace('"', ""))
        .collect();
    routes.sort();
    routes
}

#[tokio::test]
async fn requests_of_keys_are_logged_by_route_for_their_organization() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let other = app.org("Another Ltd", PLENTY).await;
        let (key, test) = (app.key(&org, KeyKind::Live).await, app.key(&org, KeyKind::Test).await);
        let stranger = app.key(&other, KeyKind::Live).await;
        app.get(&key, "/v1/verify?email=ann@honest-mail.com").await.ok(200);
        let refused = app.get(&key, "/v1/verify").await;
        refused.error(400, "invalid_request");
        let id = refused.json()["error"]["request_id"].clone();
        app.get(&key, "/v1/jobs/job_00000000000000000000000000").await.error(404, "not_found");
        app.send(Call::new("DELETE", "/v1/verify").key(&key)).await.error(405, "method_not_allowed");
        app.get("no key", "/v1/verify?email=bob@honest-mail.com").await.error(401, "invalid_api_key");
        app.get(&test, "/v1/verify?email=valid@sandbox.test").await.ok(200);
        app.get(&stranger, "/v1/organization").await.ok(200);

        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let rows = logged(&mut ann, "", 3).await;
        let expected = ["GET /v1/jobs/{id} 404", "GET /v1/verify 200", "GET /v1/verify 400"];
        assert_eq!(routes(&rows), expected);
        let shown = Value::from(rows.clone()).to_string();
        assert!(!shown.contains("ann@") && !shown.contains("job_0") && !shown.contains("email"), "{shown}");
        assert!(rows.iter().all(|row| row["key_id"] == rows[0]["key_id"] && row["took_ms"].is_i64()));
        let failed = rows.iter().find(|row| row["status"] == 400).unwrap();
        assert_eq!(failed["id"], id);
        let tests = logged(&mut ann, "?mode=test", 1).await;
        assert_eq!(routes(&tests), ["GET /v1/verify 200"]);

        let refused = routes(&logged(&mut ann, "?status=refused", 2).await);
        assert_eq!(refused, [expected[0], expected[2]]);
        assert_eq!(routes(&logged(&mut ann, "?status=succeeded&method=GET", 1).await), ["GET /v1/verify 200"]);
        assert_eq!(routes(&logged(&mut ann, "?route=/v1/jobs/%7Bid%7D", 1).await), ["GET /v1/jobs/{id} 404"]);
        let of_key = format!("?key_id={}", rows[0]["key_id"].as_str().unwrap());
        assert_eq!(logged(&mut ann, &of_key, 3).await.len(), 3);
        let none = ann.get("/app/requests?status=broken").await.ok(200);
        assert_eq!(none["data"], json!([]));
        let first = ann.get("/app/requests?per_page=2").await.ok(200);
        let next = first["pagination"]["next_cursor"].as_str().unwrap();
        let rest = ann.get(&format!("/app/requests?per_page=2&next={next}")).await.ok(200);
        assert_eq!(rest["data"].as_array().unwrap().len(), 1);
        ann.get(&format!("/app/requests?per_page=2&status=refused&next={next}")).await.error(400, "invalid_request");
        for wrong in ["status=404", "method=TRACE", "next=x"] {
            ann.get(&format!("/app/requests?{wrong}")).await.error(400, "invalid_request");
        }
        Browser::new(app).get("/app/requests").await.error(401, "not_signed_in");
    })
    .await;
}
