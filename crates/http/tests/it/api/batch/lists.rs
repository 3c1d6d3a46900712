//! Tests of lists in other formats than JSON, and of pages with many rows.

use super::*;

#[tokio::test]
async fn lists_may_be_csv_or_lines_of_json() {
    let app = TestApp::start().await;
    let (_, key) = app.tester().await;
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
async fn rows_of_csv_without_an_address_are_named() {
    let app = TestApp::start().await;
    let (_, key) = app.tester().await;
    let csv = "name,email\nAnn,valid@sandbox.test\nBob,\nname,email\n";
    let answer = app.send(Call::with_body("/v1/batch-verify", "text/csv", csv).key(&key)).await;
    assert_eq!(answer.header("x-rows-without-address"), Some("2"));
    assert_eq!(answer.header("x-first-line-without-address"), Some("3"));
    let id = answer.ok(200)["id"].as_str().unwrap().to_owned();
    done(&app, &key, &id).await;
    assert_eq!(reasons(&rows(&app, &key, &id, 100).await), ["valid"]);
    let beside = "email,other\nvalid@sandbox.test,inbox_full@sandbox.test\n";
    let answer = app.send(Call::with_body("/v1/batch-verify", "text/csv", beside).key(&key)).await;
    assert_eq!(answer.header("x-addresses-in-other-columns"), Some("1"));
    let none = Call::with_body("/v1/batch-verify", "text/csv", "email\nAnn\n").key(&key);
    app.send(none).await.error(400, "invalid_request");
    app.stop().await;
}

#[tokio::test]
async fn a_list_has_the_name_it_came_with_and_unknown_fields_are_named() {
    let app = TestApp::start().await;
    let (_, key) = app.tester().await;
    let named = async |id: &str| {
        let job = app.get(&key, &format!("/v1/jobs/{id}")).await.ok(200);
        let timeline = app.get(&key, "/v1/account/timeline").await.ok(200);
        let event = timeline["events"].as_array().unwrap().iter().find(|event| event["job"]["id"] == id).unwrap();
        assert_eq!(event["job"]["name"], job["name"]);
        job["name"].clone()
    };
    let id = |answer: &Answer| answer.ok(200)["id"].as_str().unwrap().to_owned();
    let body = json!({ "emails": ["valid@sandbox.test"], "name": " Spring ", "nmae": "x", "ü\n": {"name": 1}, "webhook_url": null });
    let answer = post(&app, &key, &body.to_string()).await;
    assert_eq!(answer.header("x-ignored-fields"), Some("nmae, \\u{fc}\\n"));
    assert_eq!(named(&id(&answer)).await, "Spring");
    let csv = Call::with_body("/v1/batch-verify?name=Autumn", "text/csv", "valid@sandbox.test\n").key(&key);
    assert_eq!(named(&id(&app.send(csv).await)).await, "Autumn");
    let answer = post(&app, &key, r#"{"name": null, "emails": ["valid@sandbox.test"]}"#).await;
    assert_eq!((answer.header("x-ignored-fields"), named(&id(&answer)).await), (None, serde_json::Value::Null));
    for (name, what) in [
        (json!(7), "name: must be a string or null"),
        (json!("a".repeat(201)), "name: may have at most 200 characters"),
        (json!("a".repeat(801)), "name: may have at most 200 characters"),
        (json!("a\nb"), "name: must be one line"),
        (json!(" "), "name: must not be empty"),
    ] {
        let body = json!({ "emails": ["valid@sandbox.test"], "name": name });
        let message = post(&app, &key, &body.to_string()).await.error(400, "invalid_request");
        assert!(message.starts_with(what), "{message}");
    }
    app.stop().await;
}

#[tokio::test]
async fn a_list_in_utf_16_is_refused_before_anything_is_charged() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let text = "\u{feff}email\r\nvalid@sandbox.test\r\n";
    let body: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let credits = async || app.get(&key, "/v1/organization").await.ok(200)["credits"].clone();
    let before = credits().await;
    for path in ["/v1/batch-verify", "/v1/organization/suppressions/bounced"] {
        let refused = app.send(Call::with_body(path, "text/csv", body.clone()).key(&key)).await;
        refused.error(400, "invalid_request");
    }
    assert_eq!(credits().await, before);
    assert_eq!(app.get(&key, "/v1/jobs").await.ok(200)["data"], serde_json::json!([]));
    let list = app.get(&key, "/v1/organization/suppressions/bounced").await;
    assert_eq!(list.ok(200)["count"], 0);
    app.stop().await;
}

#[tokio::test]
async fn pages_of_any_size_show_each_row_once_across_blocks() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (_, key) = app.tester().await;
        // No row is an address, so nothing is probed. Every seventh row repeats an earlier one.
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
        // The cursor of another job is invalid, even within the same organization.
        let next = app.get(&key, &target("per_page=10")).await.ok(200)["next"].as_str().unwrap().to_owned();
        let other = submit(app, &key, &["a", "b"]).await;
        app.get(&key, &format!("/v1/batch-verify/{other}/results?next={next}")).await.error(400, "invalid_request");
    })
    .await;
}
