//! Sends an address through everything that the service does, erases it, and searches every file for it.

use std::path::{Path, PathBuf};

use probity_http::service::ServiceConfig;
use probity_telemetry::log_capture::Capture;
use probity_trialdb::Cluster;
use serde_json::{Value, json};
use tracing_subscriber::filter::LevelFilter;

use super::{
    CANARY, MISTYPED, SUGGESTED, WAITING, assert_erased, completed, config, done, erase, found_in, is_in, list, rows,
    status, submit, when,
};
use crate::test_app::{Call, TestApp};
use crate::webhooks::receivers::{Manner, Receiver};

/// Another spelling of the canary's mailbox.
pub(super) const SPELLED: &str = "kanarie.7h2k@TAKES-ALL.com";
const ERASED: [&str; 3] = [CANARY, WAITING, SUGGESTED];

/// Starts a receiver that returns the body it receives.
pub(super) async fn parrot() -> Receiver {
    let manner = Manner::ByRequest(|request| {
        let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Manner::Say(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()))
    });
    Receiver::start(manner).await
}

/// Jobs with the canaries, submitted in every format.
struct Jobs {
    json: String,
    csv: String,
    lines: String,
    /// Job with an address that gets no verdict.
    open: String,
}

async fn push_through(app: &TestApp, key: &str, receiver: &Receiver) -> Jobs {
    for _ in 0..2 {
        app.verify(key, &format!("{CANARY}&explain=true")).await.ok(200);
    }
    let hook = json!({ "name": "crm", "url": receiver.url(), "events": ["status.unknown", "job.finished"] });
    app.send(Call::post("/v1/webhooks", hook.to_string()).key(key)).await.ok(201);
    let all = [CANARY, "ann@honest-mail.com", SPELLED, MISTYPED, "no address"];
    let body = json!({ "emails": all, "webhook_url": receiver.url() }).to_string();
    let once = || Call::post("/v1/batch-verify", body.clone()).once("a list");
    let jobs = Jobs {
        json: submit(app, key, once()).await,
        csv: submit(
            app,
            key,
            Call::with_body("/v1/batch-verify", "text/csv", format!("email\n{CANARY}\nJo <{CANARY}>;\n")),
        )
        .await,
        lines: {
            let body = format!("{{\"email\":\"{CANARY}\"}}\n");
            submit(app, key, Call::with_body("/v1/batch-verify", "application/x-ndjson", body)).await
        },
        open: submit(app, key, list(&[CANARY, WAITING, "waits-other@honest-mail.com"])).await,
    };
    assert_eq!(submit(app, key, once()).await, jobs.json, "replayed");
    for id in [&jobs.json, &jobs.csv, &jobs.lines] {
        done(app, key, id).await;
    }
    when("half done", async || status(app, key, &jobs.open).await["emailsProcessed"] == 1).await;
    when("told", async || {
        let log = app.get(key, "/v1/webhooks").await.ok(200);
        let id = log["data"][0]["id"].as_str().unwrap().to_owned();
        let log = app.get(key, &format!("/v1/webhooks/{id}/deliveries")).await.ok(200);
        log["data"].to_string().contains(CANARY)
    })
    .await;
    jobs
}

/// Asserts that customers see the addresses as erased.
async fn assert_shown_erased(app: &TestApp, key: &str, jobs: &Jobs) {
    let shown = rows(app, key, &jobs.json).await;
    assert_erased(&shown[0], 0, "unknown", "accept_all");
    assert_erased(&shown[2], 2, "unknown", "accept_all");
    assert_eq!((&shown[1]["email"], &shown[1]["reason"]), (&"ann@honest-mail.com".into(), &"valid".into()));
    assert_eq!((&shown[3]["email"], &shown[3]["suggestion"]), (&MISTYPED.into(), &"".into()));
    assert_eq!(shown[4]["email"], "no address");
    for format in ["csv", "ndjson"] {
        let file = app.get(key, &format!("/v1/batch-verify/{}/download?format={format}", jobs.json)).await;
        assert!(file.text().contains("erased") && !file.text().contains("7h2k"), "{}", file.text());
    }
    let of_unknown = app.get(key, &format!("/v1/batch-verify/{}/download?format=csv&status=unknown", jobs.json)).await;
    assert_eq!(of_unknown.text().matches("erased,,true,,unknown,accept_all,,,").count(), 2, "{}", of_unknown.text());
    for id in [&jobs.csv, &jobs.lines] {
        assert_erased(&rows(app, key, id).await[0], 0, "unknown", "accept_all");
    }
}

#[tokio::test]
async fn an_erased_address_is_in_no_answer_and_no_file() {
    let (capture, _guard) = Capture::start(LevelFilter::TRACE);
    let beside = tempfile::tempdir().unwrap();
    let app = TestApp::with(config(beside.path().join("erasures"))).await;
    let ((_, key), (_, foreign)) = (app.customer().await, app.customer().await);
    let mut receiver = parrot().await;
    let jobs = push_through(&app, &key, &receiver).await;
    let theirs = submit(&app, &foreign, list(&["other.6z3w@takes-all.com", "ann@honest-mail.com"])).await;
    done(&app, &foreign, &theirs).await;
    let database = app.files()[0].0.parent().unwrap().to_owned();
    let mut there = ERASED.to_vec();
    there.sort_unstable();
    assert_eq!(found_in(&database, &ERASED), there, "before: else this test would show nothing");
    assert_eq!(app.verify(&key, &format!("{CANARY}&explain=true")).await.ok(200)["evidence"]["source"], "cache");

    let body = json!({ "emails": [SPELLED, WAITING, CANARY, SUGGESTED, "ann@honest-mail.com.invalid"], "webhook_url": receiver.url() });
    let asked = || Call::post("/v1/erasures", body.to_string()).key(&key).once("erase");
    let id = app.send(asked()).await.ok(200)["id"].as_str().unwrap().to_owned();
    assert_eq!(app.send(asked()).await.ok(200)["id"], id.as_str(), "wished once");
    let receipt = completed(&app, &key, &id).await;
    assert_eq!(receipt["addresses"], 4, "each once: {receipt}");
    let removed = &receipt["removed"];
    assert_eq!(removed["job_block"], 7, "{receipt}");
    assert!(removed["chunk"].as_u64() >= Some(1) && removed["outbox"].as_u64() >= Some(1), "{receipt}");

    // The pending probe is dropped, and the row is settled free of charge.
    app.live.gate.add_permits(100);
    done(&app, &key, &jobs.open).await;
    let shown = rows(&app, &key, &jobs.open).await;
    assert_erased(&shown[0], 0, "unknown", "accept_all");
    assert_erased(&shown[1], 1, "unknown", "unverified");
    assert_eq!(shown[2]["email"], "waits-other@honest-mail.com");
    assert_shown_erased(&app, &key, &jobs).await;
    let told = loop {
        let request = receiver.request().await;
        if request.contains("\"addresses\"") {
            break request;
        }
    };
    assert_eq!(serde_json::from_str::<Value>(told.split_once("\r\n\r\n").unwrap().1).unwrap(), receipt);
    let timeline = app.get(&key, "/v1/account/timeline").await.ok(200);
    assert!(timeline.to_string().contains("\"erasure\""), "{timeline}");
    let log = app.get(&key, "/v1/erasures").await.ok(200);
    assert_eq!(log["data"], json!([receipt]));
    assert_eq!(app.get(&foreign, "/v1/erasures").await.ok(200)["data"], json!([]));
    assert_eq!(rows(&app, &foreign, &theirs).await[0]["email"], "other.6z3w@takes-all.com");

    assert_eq!(found_in(&database, &ERASED), [""; 0]);
    assert_eq!(found_in(beside.path(), &ERASED), [""; 0], "nor do tombstones tell it");
    assert_eq!(found_in(&database, &["ann@honest-mail.com"]), ["ann@honest-mail.com"], "the search works still");
    assert_eq!(app.verify(&key, &format!("{CANARY}&explain=true")).await.ok(200)["evidence"]["source"], "smtp");
    assert!(app.admin.audit(ServiceConfig::default().api.deliveries_keep_ms).await.unwrap().is_empty());
    app.stop().await;
    capture.assert_without(&ERASED);
}

/// Returns the files below a directory that contain a text.
fn files_with(directory: &Path, text: &str) -> Vec<PathBuf> {
    let (mut found, mut left) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if std::fs::read(&path).is_ok_and(|bytes| is_in(&bytes, text)) {
                found.push(path);
            }
        }
    }
    found
}

#[tokio::test]
async fn postgresqls_files_hold_no_erased_address_once_they_are_rewritten() {
    const NEEDLE: &str = "kanarie.3v6q@takes-all.com";
    let Some(cluster) = Cluster::private() else { return };
    let beside = tempfile::tempdir().unwrap();
    let app = TestApp::on_database(cluster.create_database(), config(beside.path().join("erasures"))).await;
    let (_, key) = app.customer().await;
    let id = submit(&app, &key, list(&[NEEDLE, "ann@honest-mail.com"])).await;
    done(&app, &key, &id).await;
    app.sql("CHECKPOINT");
    let data = |text: &str| files_with(cluster.directory(), text);
    assert!(data(NEEDLE).iter().any(|path| path.components().any(|part| part.as_os_str() == "base")), "before");
    let erased = erase(&app, &key, &[NEEDLE]).await;
    completed(&app, &key, &erased).await;
    // Follows docs/operations.md. In addition, WAL segments are removed instead of recycled.
    for statement in [
        "ALTER SYSTEM SET wal_recycle = off",
        "SELECT pg_reload_conf()",
        "VACUUM FULL job_block, chunk, result_part, result_block, outbox, outbox_attempt, upload, upload_block, idempotency",
        "SELECT pg_switch_wal()",
        "CHECKPOINT",
        "SELECT pg_switch_wal()",
        "CHECKPOINT",
    ] {
        app.sql(statement);
    }
    assert_eq!(data(NEEDLE), [""; 0].map(PathBuf::from));
    assert_ne!(data("ann@honest-mail.com"), [""; 0].map(PathBuf::from), "the search works still");
    assert_erased(&rows(&app, &key, &id).await[0], 0, "unknown", "accept_all");
    app.stop().await;
}
