//! Tests of the retention, number and owners of uploaded files.

use axum::body::{Body, Bytes};
use futures_util::{StreamExt as _, stream};
use probity_account::role::MemberRole;
use probity_backend::uploads::UploadsConfig;
use probity_mail::time::Millis;
use probity_store::ScopedFutureExt as _;
use probity_store::accounts::settings::{self, OrgSettings};
use probity_store::uploads::{self, UploadNo};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{put, put_up, with_ann};
use crate::people::browser::Browser;
use crate::people::{config, signed_in};
use crate::test_app::{PLENTY, TestApp, pass, real_moment, upkeep};

/// Returns the number of an upload's row blocks in the database.
async fn blocks(app: &TestApp, id: &str) -> usize {
    let no = UploadNo::of_id(id.parse().unwrap());
    let mut conn = app.store.read().await.unwrap();
    let mut found = 0;
    for org in app.admin.list_orgs().await.unwrap() {
        found += uploads::blocks(&mut conn, org.no, no, 0, 1_000).await.unwrap().len();
    }
    found
}

#[tokio::test]
async fn a_file_is_kept_no_longer_than_jobs_and_each_change_restarts_its_time() {
    with_ann(config(), PLENTY, async |app, browser| {
        let (view, place) = put_up(browser, "name=l", "name,email\nA,ann@honest-mail.com\n").await;
        let hours = |view: &Value| {
            let at = |field: &str| view[field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
            (at("expires_at").as_second() - at("created_at").as_second()) / 3_600
        };
        assert_eq!(hours(&view), 7 * 24);
        let org = app.admin.list_orgs().await.unwrap()[0].no;
        let short = OrgSettings { retention_days: Some(1), ..OrgSettings::default() };
        app.store.write(|tx| settings::write(tx, org, &short, Millis(0)).scope_boxed()).await.unwrap();
        assert_eq!(hours(&browser.get(&place).await.ok(200)), 24);
        assert_eq!(hours(&browser.get("/app/uploads").await.ok(200)["data"][0]), 24);
        // A member with regular activity stays signed in.
        let later = async |browser: &mut Browser<'_>, times: usize| {
            for _ in 0..times {
                pass(std::time::Duration::from_hours(5)).await;
                browser.get("/app/session").await.ok(200);
            }
            upkeep().await;
        };
        later(browser, 4).await;
        let call = browser.call("PATCH", &place).json(&json!({ "column": 0 }));
        assert_eq!(hours(&browser.send(call).await.ok(200)), 20 + 24);
        later(browser, 4).await;
        browser.get(&place).await.ok(200);
        later(browser, 1).await;
        browser.get(&place).await.error(404, "not_found");
    })
    .await;
}

#[tokio::test]
async fn what_breaks_off_is_seen_by_nobody_and_swept() {
    with_ann(config(), PLENTY, async |app, browser| {
        for end in [Err(std::io::Error::other("gone")), Ok(Bytes::new())] {
            let rows = Bytes::from("user@honest-mail.com,1\n".repeat(100_000));
            let broken = end.is_err();
            let body = Body::from_stream(stream::iter([Ok(Bytes::from("email,n\n")), Ok(rows), end]));
            let mut request = browser.call("POST", "/app/uploads?name=l").into_request();
            *request.body_mut() = body;
            let answer = app.send_request(request).await;
            assert_eq!(answer.status == 201, !broken, "{}", answer.text());
        }
        let all = browser.get("/app/uploads").await.ok(200);
        assert_eq!(all["data"].as_array().unwrap().len(), 1);
        let id = all["data"][0]["id"].as_str().unwrap().to_owned();
        browser.delete(&format!("/app/uploads/{id}"), &json!({})).await.ok(200);
        upkeep().await;
        assert_eq!(blocks(app, &id).await, 0);
    })
    .await;
}

#[tokio::test]
async fn what_is_replaced_leaves_nothing() {
    let mut one = config();
    one.api.uploads = UploadsConfig { at_once: 1, ..UploadsConfig::default() };
    with_ann(one, PLENTY, async |app, browser| {
        let id = |view: &Value| view["id"].as_str().unwrap().to_owned();
        let (first, place) = put_up(browser, "name=first", "name,email\nA,ann@honest-mail.com\n").await;
        let instead = format!("name=second&replaces={}", id(&first));
        // An unreadable file replaces nothing, even if all slots are taken.
        put(browser, &instead, "%PDF-1.7\n").await.error(400, "invalid_request");
        put(browser, "name=second", "ann@honest-mail.com\n").await.error(409, "conflict");
        browser.get(&place).await.ok(200);
        let (second, place) = put_up(browser, &instead, "user1@honest-mail.com\n").await;
        let all = browser.get("/app/uploads").await.ok(200);
        assert_eq!((all["data"].as_array().unwrap().len(), &all["data"][0]["id"]), (1, &second["id"]));
        upkeep().await;
        assert_eq!((blocks(app, &id(&first)).await, blocks(app, &id(&second)).await), (0, 1));
        let mut conn = app.store.read().await.unwrap();
        let org = app.admin.list_orgs().await.unwrap()[0].no;
        let left = uploads::of_org(&mut conn, (org, false), Millis(i64::MAX), UploadNo(i64::MIN), 10).await.unwrap();
        assert_eq!(left, [UploadNo::of_id(id(&second).parse().unwrap())], "its record is gone, too");
        drop(conn);
        for (replaces, status, code) in [(id(&first), 404, "not_found"), ("x".to_owned(), 400, "invalid_request")] {
            put(browser, &format!("name=l&replaces={replaces}"), "ann@honest-mail.com\n").await.error(status, code);
        }
        // A file with a job stays for the downloads of the job.
        let job = browser.post(&format!("{place}/start"), &json!({})).await.ok(200);
        put_up(browser, &format!("name=third&replaces={}", id(&second)), "ann@honest-mail.com\n").await;
        // It has no slot to give either.
        put(browser, &format!("name=fourth&replaces={}", id(&second)), "ann@honest-mail.com\n")
            .await
            .error(409, "conflict");
        app.settled().await;
        let download = format!("/app/v1/batch-verify/{}/download?columns=original", job["id"].as_str().unwrap());
        browser.get(&download).await.assert_status(200);
    })
    .await;
}

/// Closing a page drops its request and the upload: its slot is free long before maintenance would remove it.
#[tokio::test]
async fn what_is_abandoned_takes_no_place() {
    let mut one = config();
    one.api.uploads = UploadsConfig { at_once: 1, ..UploadsConfig::default() };
    with_ann(one, PLENTY, async |app, browser| {
        let (read, is_read) = oneshot::channel();
        let rows = Bytes::from("email,n\n".to_owned() + &"user@honest-mail.com,1\n".repeat(100_000));
        let rest = stream::once(async {
            read.send(()).unwrap();
            std::future::pending::<Result<Bytes, std::io::Error>>().await
        });
        let mut request = browser.call("POST", "/app/uploads?name=l").into_request();
        *request.body_mut() = Body::from_stream(stream::iter([Ok(rows)]).chain(rest));
        tokio::select! {
            answer = app.send_request(request) => panic!("it never ends: {answer:?}"),
            begun = is_read => begun.unwrap(),
        }
        for _ in 0..5_000 {
            if put(browser, "name=l", "ann@honest-mail.com\n").await.status == 201 {
                return;
            }
            real_moment().await;
        }
        panic!("its place was never free");
    })
    .await;
}

#[tokio::test]
async fn uploads_are_bounded_in_number_size_and_rows_and_kept_for_days() {
    let mut few = config();
    few.api.uploads = UploadsConfig { body_max: 4_096, at_once: 2, keep_days: 7 };
    few.api.batch_rows_max = 3;
    with_ann(few, PLENTY, async |app, browser| {
        put(browser, "name=l", vec![b'x'; 5_000]).await.error(413, "payload_too_large");
        for file in ["a@x.org\nb@x.org\nc@x.org\nd@x.org\n", "email\na@x.org\nb@x.org\nc@x.org\nd@x.org\n"] {
            let answer = put(browser, "name=l", file).await;
            answer.error(413, "payload_too_large");
            let said = (answer.header("x-upload-fault"), answer.header("x-upload-fault-number"));
            assert_eq!(said, (Some("too_many_rows"), Some("3")));
        }
        // The header is not one of them.
        for file in ["email\na@x.org\nb@x.org\nc@x.org\n", "n,email\n1,a@x.org\n2,b@x.org\n3,c@x.org\n"] {
            let full = put(browser, "name=l", file).await.ok(201);
            assert_eq!(full["counts"]["distinct"], 3);
            browser.delete(&format!("/app/uploads/{}", full["id"].as_str().unwrap()), &json!({})).await.ok(200);
        }
        // A rejected upload does not count.
        let mut id = String::new();
        for _ in 0..2 {
            let view = put(browser, "name=l", "a@x.org\n").await.ok(201);
            view["id"].as_str().unwrap().clone_into(&mut id);
        }
        assert_eq!(blocks(app, &id).await, 1);
        put(browser, "name=l", "a@x.org\n").await.error(409, "conflict");
        pass(std::time::Duration::from_hours(7 * 24 + 1)).await;
        upkeep().await;
        assert_eq!(blocks(app, &id).await, 0);
    })
    .await;
}

#[tokio::test]
async fn files_of_others_are_not_there() {
    let app = TestApp::with(config()).await;
    let (org, other) = (app.org("Example Ltd", PLENTY).await, app.org("Other Ltd", PLENTY).await);
    let (_, mut ann) = signed_in(&app, &org, "ann@example.com", MemberRole::Administrator).await;
    let (_, mut bob) = signed_in(&app, &other, "bob@example.com", MemberRole::Administrator).await;
    let (_, place) = put_up(&mut ann, "name=l", "ann@honest-mail.com\n").await;
    let unknown = "/app/uploads/upl_00000000000000000000000000".to_owned();
    for end in ["", "/forecast"] {
        let there = bob.get(&format!("{place}{end}")).await;
        assert_eq!(there.without_request(), bob.get(&format!("{unknown}{end}")).await.without_request());
        there.error(404, "not_found");
    }
    bob.post(&format!("{place}/start"), &json!({})).await.error(404, "not_found");
    bob.delete(&place, &json!({})).await.error(404, "not_found");
    let call = bob.call("PATCH", &place).json(&json!({ "header": true }));
    bob.send(call).await.error(404, "not_found");
    assert_eq!(bob.get("/app/uploads").await.ok(200)["data"], json!([]));
    ann.get(&place).await.ok(200);
    app.stop().await;
}

#[tokio::test]
async fn an_erased_address_is_in_no_file_that_was_put_up() {
    let app = TestApp::with(config()).await;
    let org = app.org("Example Ltd", PLENTY).await;
    let (_, mut browser) = signed_in(&app, &org, "ann@example.com", MemberRole::Administrator).await;
    let erased = "kanarie.7h2k@takes-all.com";
    let files = [
        format!(
            "name,email,note\nA,{erased},\nB,ann@honest-mail.com,see <Kanarie.7h2k@TAKES-ALL.com>\nC,user1@honest-mail.com,\n"
        ),
        format!("{erased},1\nann@honest-mail.com,2\n"),
        "{\"id\":1,\"mail\":\"kanarie.7h2k\\u0040takes-all.com\"}\n{\"id\":2,\"mail\":\"ann@honest-mail.com\"}\n"
            .to_owned(),
    ];
    let mut places = Vec::new();
    for file in &files {
        places.push(put_up(&mut browser, "name=kanarie", file.as_str()).await.1);
    }
    let asked = browser.call("POST", "/app/v1/erasures").json(&json!({ "emails": [erased] }));
    let answer = browser.send(asked).await;
    assert!((200..300).contains(&answer.status), "{}", answer.text());
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    // A job of a file that the erasure has not reached yet would be newer than the erasure.
    let refused = browser.post(&format!("{}/start", places[1]), &json!({})).await;
    refused.error(503, "service_unavailable");
    assert_eq!(refused.header("retry-after"), Some("5"));
    let mut status = Value::Null;
    for _ in 0..600 {
        status = browser.get(&format!("/app/v1/erasures/{id}")).await.ok(200);
        if status["status"] == "completed" {
            break;
        }
        pass(std::time::Duration::from_millis(500)).await;
    }
    assert_eq!(status["status"], "completed", "{status}");
    let shown = async |browser: &mut Browser<'_>, place: &String| browser.get(place).await.ok(200);
    let first = shown(&mut browser, &places[0]).await;
    assert_eq!(first["preview"], json!([["", "", ""], ["", "", ""], ["C", "user1@honest-mail.com", ""]]));
    assert_eq!(
        (&first["rows"], &first["counts"]["empty"], &first["counts"]["addresses"]),
        (&json!(3), &json!(2), &json!(1))
    );
    let second = shown(&mut browser, &places[1]).await;
    assert_eq!(second["preview"], json!([["", ""], ["ann@honest-mail.com", "2"]]));
    let third = shown(&mut browser, &places[2]).await;
    assert_eq!(third["preview"], json!([["", ""], ["2", "ann@honest-mail.com"]]));
    assert!(status.to_string().contains("upload_block"), "the receipt names it: {status}");
    browser.post(&format!("{}/start", places[1]), &json!({})).await.ok(200);
    // The database's files contain no trace of it either.
    app.assert_files_without(&["kanarie.7h2k"]);
    app.stop().await;
}
