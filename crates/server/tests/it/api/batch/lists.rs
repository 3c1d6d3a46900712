//! Lists in other forms than JSON, and pages of many rows.

use super::*;

#[tokio::test]
async fn lists_may_be_csv_or_lines_of_json() {
    let app = TestApp::start().await;
    let (org, _) = app.customer().await;
    let key = app.key(&org, KeyKind::Test).await;
    let csv = "name,Email\r\n\"Lee, Jo\",valid@sandbox.test\r\nAnn,inbox_full@sandbox.test\r\n";
    let lines = "{\"email\": \"valid@sandbox.test\"}\n{\"email\": \"inbox_full@sandbox.test\", \"n\": 1}\n";
    for (kind, body) in [("text/csv", csv), ("application/x-ndjson", lines)] {
        let call = Call::with_body("/v1/batch-verify", kind, body).key(&key);
        let id = app.send(call).await.ok(200)["id"].as_str().unwrap().to_owned();
        done(&app, &key, &id).await;
        let rows = rows(&app, &key, &id, 100).await;
        assert_eq!(reasons(&rows), ["valid", "inbox_full"], "{kind}");
        assert_eq!(rows[0]["email"], "valid@sandbox.test");
    }
    app.stop().await;
}

#[tokio::test]
async fn pages_of_any_size_show_each_row_once_across_blocks() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, _) = app.customer().await;
        let key = app.key(&org, KeyKind::Test).await;
        // No address, so that nothing is asked; every seventh is one that stands before.
        let emails: Vec<String> = (0..2_500).map(|n| format!("row {}", if n % 7 == 6 { n - 6 } else { n })).collect();
        let id = submit(app, &key, &emails.iter().map(String::as_str).collect::<Vec<_>>()).await;
        done(app, &key, &id).await;
        for per_page in [999, 1_000, 77] {
            let rows = rows(app, &key, &id, per_page).await;
            assert_eq!(rows.iter().map(|row| row["email"].as_str().unwrap()).collect::<Vec<_>>(), emails);
            assert!(rows.iter().zip(0..).all(|(row, n)| row["index"] == n && row["reason"] == "invalid"));
        }
        let target = |query: &str| format!("/v1/batch-verify/{id}/results?{query}");
        for (query, size) in [("", 100), ("per_page=5000", 1_000), ("per_page=1", 1)] {
            assert_eq!(app.get(&key, &target(query)).await.ok(200)["data"].as_array().unwrap().len(), size, "{query}");
        }
        for query in ["per_page=0", "per_page=-1", "per_page=x", "per_page=1.5", "next=x"] {
            app.get(&key, &target(query)).await.error(400, "invalid_request");
        }
        // A cursor of another job, though of the same organization, leads nowhere.
        let next = app.get(&key, &target("per_page=10")).await.ok(200)["next"].as_str().unwrap().to_owned();
        let other = submit(app, &key, &["a", "b"]).await;
        app.get(&key, &format!("/v1/batch-verify/{other}/results?next={next}")).await.error(400, "invalid_request");
    })
    .await;
}
