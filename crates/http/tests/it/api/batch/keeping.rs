//! Tests that a packed job reads as before, and that nothing of its addresses remains after a purge.

use probity_mail::time::Millis;
use probity_store::{ScopedFutureExt as _, jobs};
use probity_telemetry::log_capture;

use super::*;
use crate::test_app::upkeep;

/// Addresses at the start of a list, where packing has no earlier row to refer to.
const CANARIES: [&str; 2] = ["kanarienvögelchen@käfig.example", "птичку@эхо.quiz"];
const DAY: Duration = Duration::from_hours(24);

/// Returns a list of more than one block.
fn list() -> Vec<String> {
    let rest = (0..1_198).map(|n| match n % 5 {
        0 => "valid@sandbox.test".to_owned(),
        1 => format!("no address {n}"),
        2 => "inbox_full@sandbox.test".to_owned(),
        _ => format!("someone{n}@catchall.sandbox.test"),
    });
    CANARIES.into_iter().map(str::to_owned).chain(rest).collect()
}

/// Returns whether every closed job is packed: no job could be claimed even if all leases had expired.
async fn all_packed(app: &TestApp, now: Millis) -> bool {
    let later = now + 3_600_000;
    app.store.write(|tx| jobs::claim_packing(tx, later, -7_200_000).scope_boxed()).await.unwrap().is_none()
}

/// Returns everything that a customer can read of a job's rows.
async fn read(app: &TestApp, key: &str, id: &str) -> Vec<String> {
    let mut texts: Vec<String> = rows(app, key, id, 333).await.iter().map(Value::to_string).collect();
    for query in ["format=csv", "format=csv&raw=true", "format=ndjson", "format=csv&status=risky"] {
        let file = app.get(key, &format!("/v1/batch-verify/{id}/download?{query}")).await;
        file.assert_status(200);
        texts.push(file.text().to_owned());
    }
    texts
}

/// Returns a finished job, with its rows read before it was packed.
async fn unpacked(app: &TestApp, key: &str, now: Millis) -> (String, Vec<String>) {
    let emails = list();
    for _ in 0..5 {
        let id = submit(app, key, &emails.iter().map(String::as_str).collect::<Vec<_>>()).await;
        done(app, key, &id).await;
        let before = read(app, key, &id).await;
        if !all_packed(app, now).await {
            return (id, before);
        }
    }
    panic!("every job was packed before it could be read");
}

/// Lets time pass in steps until a condition holds.
async fn when(step: Duration, what: &str, is_so: impl AsyncFn() -> bool) {
    for _ in 0..200 {
        pass(step).await;
        if is_so().await {
            return;
        }
    }
    panic!("never: {what}");
}

#[tokio::test]
async fn a_packed_job_reads_as_before_and_an_old_one_is_gone() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.tester().await;
        let now = app.now(&org).await;
        let (id, before) = unpacked(app, &key, now).await;
        assert!(CANARIES.iter().all(|canary| before.iter().any(|text| text.contains(canary))));
        when(Duration::from_secs(6), "packed", async || all_packed(app, now).await).await;
        assert!(read(app, &key, &id).await == before, "packed, something reads otherwise");
        let done = status(app, &key, &id).await;

        pass(29 * DAY).await;
        assert!(read(app, &key, &id).await == before, "it is kept for 30 days");
        let results = format!("/v1/batch-verify/{id}/results");
        when(DAY, "gone", async || app.get(&key, &results).await.status == 404).await;
        for path in [results, format!("/v1/batch-verify/{id}"), format!("/v1/batch-verify/{id}/download")] {
            let why = app.get(&key, &path).await.error(404, "not_found");
            assert!(why.contains("no longer stored"), "{path}: {why}");
        }
        // The job itself and its counts remain.
        assert_eq!(status(app, &key, &id).await, done);
        assert_eq!(app.get(&key, &format!("/v1/jobs/{id}")).await.ok(200)["id"], id.as_str());
    })
    .await;
}

#[tokio::test]
async fn on_the_day_after_no_file_holds_an_address() {
    let app = TestApp::start().await;
    let (_, key) = app.tester().await;
    let emails = list();
    let id = submit(&app, &key, &emails.iter().map(String::as_str).collect::<Vec<_>>()).await;
    done(&app, &key, &id).await;
    let held = || {
        let files = app.files();
        CANARIES.into_iter().filter(|text| files.iter().any(|(_, bytes)| log_capture::holds(bytes, text))).count()
    };
    // The canaries must be legible in a packed block; otherwise this test would prove nothing.
    assert_eq!(held(), CANARIES.len(), "what is kept is in the files");
    pass(31 * DAY).await;
    when(Duration::from_secs(6), "no address is left", async || held() == 0).await;
    app.get(&key, &format!("/v1/batch-verify/{id}/results")).await.error(404, "not_found");
    app.stop().await;
}

#[tokio::test]
async fn what_is_removed_because_it_is_old_is_counted() {
    let app = TestApp::start().await;
    let (_, key) = app.tester().await;
    let list = json!({ "emails": ["valid@sandbox.test"], "webhook_url": "http://hooks.example.org/" });
    app.send(Call::post("/v1/batch-verify", list.to_string()).key(&key).once("a list")).await.ok(200);
    for line in ["probity_idempotency_purged_total 1", "probity_deliveries_purged_total 1"] {
        let told = async || {
            let answer = app.send(Call::get("/metrics").from("127.0.0.1")).await;
            answer.text().lines().any(|one| one == line)
        };
        // Advancing a whole day interrupts tasks that wait for the database. Maintenance needs the seconds in between.
        let a_day_later = async || {
            pass(DAY).await;
            told().await
        };
        when(Duration::from_secs(6), line, a_day_later).await;
    }
    app.stop().await;
}

#[tokio::test]
async fn deliveries_go_as_early_as_their_organization_wishes() {
    let app = TestApp::start().await;
    let (_, key) = app.tester().await;
    let wish = Call::patch("/v1/organization/settings", r#"{"delivery_retention_days": 1}"#);
    app.send(wish.key(&key)).await.ok(200);
    let list = json!({ "emails": ["valid@sandbox.test"], "webhook_url": "http://hooks.example.org/" });
    app.send(Call::post("/v1/batch-verify", list.to_string()).key(&key)).await.ok(200);
    let gone = async || {
        let answer = app.send(Call::get("/metrics").from("127.0.0.1")).await;
        answer.text().lines().any(|one| one == "probity_deliveries_purged_total 1")
    };
    // The installation keeps deliveries for 30 days.
    for _ in 0..9 {
        pass(DAY).await;
        upkeep().await;
    }
    assert!(gone().await);
    let keep_ms = ServiceConfig::default().api.deliveries_keep_ms;
    assert!(app.admin.audit(keep_ms).await.unwrap().is_empty(), "it is not missed");
    app.stop().await;
}
