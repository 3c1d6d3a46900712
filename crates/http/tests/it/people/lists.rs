//! Tests of members' acts on a list: name and tag it, download parts of it, verify its unknown rows again, delete it.

use probity_account::role::MemberRole;
use serde_json::{Value, json};

use super::browser::Browser;
use super::{config, signed_in};
use crate::test_app::{Answer, PLENTY, TestApp, real_moment};

pub(super) const EMAILS: [&str; 6] = [
    "ann@honest-mail.com",
    "Ann@honest-mail.com",
    "nobody@honest-mail.com",
    "bob@other-mail.example",
    "carl@honest-mail.com",
    "no address",
];

async fn closed(browser: &mut Browser<'_>, id: &str) -> Value {
    for _ in 0..5_000 {
        let progress = browser.get(&format!("/app/jobs/{id}/progress")).await.ok(200);
        if progress["over"] == true {
            return progress;
        }
        real_moment().await;
    }
    panic!("the list does not end");
}

/// Submits a list and waits for its end. Returns its path and progress.
pub(super) async fn list(browser: &mut Browser<'_>, emails: &[&str]) -> (String, Value) {
    let answer = browser.post("/app/v1/batch-verify", &json!({ "emails": emails })).await.ok(200);
    let id = answer["id"].as_str().unwrap().to_owned();
    let progress = closed(browser, &id).await;
    (format!("/app/jobs/{id}"), progress)
}

pub(super) async fn patch(browser: &mut Browser<'_>, path: &str, body: Value) -> Answer {
    browser.send(browser.call("PATCH", path).json(&body)).await
}

#[tokio::test]
async fn a_list_is_named_and_tagged_by_members_of_its_organization() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let other = app.org("Other Ltd", PLENTY).await;
        let (_, mut eve) = signed_in(app, &other, "eve@example.com", MemberRole::Administrator).await;
        let (path, progress) = list(&mut ann, &EMAILS).await;
        assert_eq!((&progress["name"], &progress["tags"]), (&Value::Null, &json!([])));
        assert_eq!((&progress["rows"], &progress["repeated"]), (&json!(6), &json!(1)));

        let named =
            patch(&mut ann, &path, json!({"name": " Kunden 2026 ", "tags": ["Q4", "Q4", "Shop"]})).await.ok(200);
        assert_eq!((&named["name"], &named["tags"]), (&json!("Kunden 2026"), &json!(["Q4", "Shop"])));
        let tagged = patch(&mut ann, &path, json!({"tags": []})).await.ok(200);
        assert_eq!((&tagged["name"], &tagged["tags"]), (&json!("Kunden 2026"), &json!([])));
        let nameless = patch(&mut ann, &path, json!({"name": null})).await.ok(200);
        assert_eq!(nameless["name"], Value::Null);
        for refused in [json!({"name": ""}), json!({"name": "a\nb"}), json!({"tags": [""]}), json!({"title": "x"})] {
            patch(&mut ann, &path, refused).await.error(400, "invalid_request");
        }
        patch(&mut eve, &path, json!({"name": "Mine"})).await.error(404, "not_found");
        eve.delete(&path, &json!({})).await.error(404, "not_found");
        for act in ["finish", "verify-unknown"] {
            eve.post(&format!("{path}/{act}"), &json!({})).await.error(404, "not_found");
        }
        eve.get(&format!("{path}/domains")).await.error(404, "not_found");
    })
    .await;
}

#[tokio::test]
async fn a_part_of_a_list_is_found_and_taken_away_alike() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let (path, progress) = list(&mut ann, &EMAILS).await;
        patch(&mut ann, &path, json!({"name": "kunden/größe.CSV"})).await.ok(200);
        let download = path.replace("/app/jobs/", "/app/v1/batch-verify/");
        for query in
            ["status=passed,undeliverable", "domain=Honest-Mail.com", "q=ANN", "q=ann&status=passed", "status=passed"]
        {
            let rows = ann.get(&format!("{path}/rows?{query}")).await.ok(200);
            let rows: Vec<_> = rows["data"].as_array().unwrap().iter().map(|row| row["index"].to_string()).collect();
            assert!(!rows.is_empty() && rows.len() < EMAILS.len() || query.contains(','), "{query}");
            let file = ann.get(&format!("{download}/download?{query}")).await;
            let file = String::from_utf8(file.body.to_vec()).unwrap();
            let taken: Vec<_> = file.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().to_owned()).collect();
            assert_eq!(taken, rows, "{query}");
        }
        for (query, name) in [
            ("", "kunden-größe.verified.csv"),
            ("?status=passed&format=ndjson", "kunden-größe.deliverable.ndjson"),
            ("?status=passed&rows=1", "kunden-größe.deliverable.1.csv"),
        ] {
            let file = ann.get(&format!("{download}/download{query}")).await;
            let named = file.header("content-disposition").unwrap();
            let whole = named.rsplit("UTF-8''").next().unwrap();
            let decoded = percent_encoding::percent_decode_str(whole).decode_utf8().unwrap();
            assert_eq!(decoded, name);
        }
        for refused in ["status=good", "status=passed,good", "domain=a%20b", "rows=..%2f"] {
            ann.get(&format!("{download}/download?{refused}")).await.error(400, "invalid_request");
        }
        let domains = ann.get(&format!("{path}/domains")).await.ok(200);
        assert_eq!(
            (&domains["data"][0]["domain"], &domains["data"][0]["processed"]),
            (&json!("honest-mail.com"), &json!(4))
        );
        assert_eq!((&domains["scanned"], &domains["other_domains"]), (&json!(6), &json!(0)));
        let passed: i64 =
            domains["data"].as_array().unwrap().iter().map(|share| share["passed"].as_i64().unwrap()).sum();
        assert_eq!(json!(passed), progress["passed"]);
    })
    .await;
}

#[tokio::test]
async fn unknown_rows_are_verified_again_as_a_list_of_the_same_name() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let (path, progress) = list(&mut ann, &EMAILS).await;
        patch(&mut ann, &path, json!({"name": "Kunden", "tags": ["Q4"]})).await.ok(200);
        let again = ann.post(&format!("{path}/verify-unknown"), &json!({})).await;
        if progress["unknown"] == 0 {
            again.error(409, "conflict");
            return;
        }
        let id = again.ok(200)["id"].as_str().unwrap().to_owned();
        let repeated = closed(&mut ann, &id).await;
        assert_eq!(
            (&repeated["name"], &repeated["tags"], &repeated["rows"]),
            (&json!("Kunden"), &json!(["Q4"]), &progress["unknown"])
        );
    })
    .await;
}

#[tokio::test]
async fn a_list_that_is_over_is_deleted_and_one_that_runs_is_not() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let answer = ann.post("/app/v1/batch-verify", &json!({"emails": ["waits@honest-mail.com"]})).await.ok(200);
        let path = format!("/app/jobs/{}", answer["id"].as_str().unwrap());
        ann.delete(&path, &json!({})).await.error(409, "conflict");
        ann.post(&format!("{path}/verify-unknown"), &json!({})).await.error(409, "conflict");
        assert_eq!(ann.post(&format!("{path}/finish"), &json!({})).await.ok(200)["hurried"], true);
        app.live.gate.add_permits(1);
        closed(&mut ann, path.rsplit('/').next().unwrap()).await;
        ann.post(&format!("{path}/finish"), &json!({})).await.error(409, "conflict");
        assert_eq!(ann.delete(&path, &json!({})).await.ok(200)["deleted"], true);
        for gone in ["/progress", "/rows", "/domains"] {
            ann.get(&format!("{path}{gone}")).await.error(404, "not_found");
        }
        assert_eq!(ann.get("/app/v1/jobs").await.ok(200)["data"], json!([]));
        app.settled().await;
    })
    .await;
}

#[tokio::test]
async fn lists_are_shown_with_their_names_while_they_run() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let (path, progress) = list(&mut ann, &EMAILS).await;
        patch(&mut ann, &path, json!({"name": "Kunden", "tags": ["Q4"]})).await.ok(200);
        let shown = ann.get("/app/lists?status=completed").await.ok(200);
        let first = &shown["data"][0];
        assert_eq!((&first["name"], &first["tags"]), (&json!("Kunden"), &json!(["Q4"])));
        for count in ["rows", "processed", "passed", "undeliverable", "risky", "unknown"] {
            assert_eq!(first[count], progress[count], "{count}");
        }
        assert_eq!(ann.get("/app/lists?source=widget").await.ok(200)["data"], json!([]));
        ann.get("/app/lists?status=over").await.error(400, "invalid_request");
    })
    .await;
}

#[tokio::test]
async fn without_a_relay_no_mail_is_promised() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let (path, _) = list(&mut ann, &EMAILS).await;
        let mail = ann.get(&format!("{path}/mail")).await.ok(200);
        assert_eq!(mail, json!({"possible": false, "requested": false}));
        ann.send(ann.call("PUT", &format!("{path}/mail")).json(&json!({}))).await.error(409, "conflict");
    })
    .await;
}

#[tokio::test]
async fn lists_are_found_by_their_names_and_tags() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        for (name, tags) in
            [("Öffnungen 2026.csv", json!(["Q4", "Shop"])), ("offers", json!(["Q4"])), ("Q4 offers", json!([]))]
        {
            let (path, _) = list(&mut ann, &EMAILS).await;
            patch(&mut ann, &path, json!({"name": name, "tags": tags})).await.ok(200);
        }
        list(&mut ann, &EMAILS).await;
        let names = |found: &Value| -> Vec<String> {
            found["data"]
                .as_array()
                .unwrap()
                .iter()
                .map(|of| of["name"].as_str().unwrap_or_default().to_owned())
                .collect()
        };
        for (query, expected) in [
            ("q=%C3%B6FFN", vec!["Öffnungen 2026.csv"]),
            ("q=q4", vec!["Q4 offers", "offers", "Öffnungen 2026.csv"]),
            ("tag=Q4", vec!["offers", "Öffnungen 2026.csv"]),
            ("tag=Q4&q=shop", vec!["Öffnungen 2026.csv"]),
            ("tag=q4", vec![]),
            ("q=nothing", vec![]),
            ("q=offers&status=cancelled", vec![]),
        ] {
            assert_eq!(names(&ann.get(&format!("/app/lists?{query}")).await.ok(200)), expected, "{query}");
        }
        let first = ann.get("/app/lists?q=q4&per_page=2").await.ok(200);
        assert_eq!(names(&first), ["Q4 offers", "offers"]);
        let next = first["pagination"]["next_cursor"].as_str().unwrap();
        let second = ann.get(&format!("/app/lists?q=q4&per_page=2&next={next}")).await.ok(200);
        assert_eq!(
            (names(&second), &second["pagination"]["next_cursor"]),
            (vec!["Öffnungen 2026.csv".to_owned()], &Value::Null)
        );
        ann.get(&format!("/app/lists?q=other&next={next}")).await.error(400, "invalid_request");
        ann.get(&format!("/app/lists?q={}", "a".repeat(321))).await.error(400, "invalid_request");
    })
    .await;
}
