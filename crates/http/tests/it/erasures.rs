//! Tests of erasure: requests, their reach, and that nothing remains.

mod everywhere;
mod tombstones;
mod traces;
mod wishes;

use std::path::{Path, PathBuf};
use std::time::Duration;

use probity_http::service::ServiceConfig;
use probity_telemetry::log_capture::holds;
use serde_json::{Value, json};

use crate::test_app::{Call, TestApp, pass};
use crate::webhooks::receivers::webhooks_to_loopback;

/// Address that gets a verdict at once.
const CANARY: &str = "kanarie.7h2k@takes-all.com";
/// Address that gets no verdict.
const WAITING: &str = "waits-kanarie.5p8d@honest-mail.com";
/// Address that is never submitted, but suggested for [`MISTYPED`].
const SUGGESTED: &str = "kanarie.9x4m@gmail.com";
const MISTYPED: &str = "kanarie.9x4m@gmial.com";

/// Returns whether these bytes contain a text in any form.
fn is_in(bytes: &[u8], text: &str) -> bool {
    let utf16: Vec<u16> = text.encode_utf16().collect();
    let wide = |of: fn(u16) -> [u8; 2]| utf16.iter().copied().flat_map(of).collect::<Vec<u8>>();
    let forms = [wide(u16::to_le_bytes), wide(u16::to_be_bytes)];
    holds(bytes, text) || forms.iter().any(|form| bytes.windows(form.len()).any(|part| part == form))
}

fn found_in(directory: &Path, texts: &[&'static str]) -> Vec<&'static str> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        found.extend(texts.iter().copied().filter(|text| is_in(&bytes, text)));
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn config(tombstones: PathBuf) -> ServiceConfig {
    ServiceConfig { webhooks: webhooks_to_loopback(), tombstones: Some(tombstones), ..ServiceConfig::default() }
}

/// Lets time pass until a condition holds.
async fn when(what: &str, is_so: impl AsyncFn() -> bool) {
    for _ in 0..300 {
        if is_so().await {
            return;
        }
        pass(Duration::from_millis(500)).await;
    }
    panic!("never: {what}");
}

async fn submit(app: &TestApp, key: &str, call: Call) -> String {
    app.send(call.key(key)).await.ok(200)["id"].as_str().unwrap().to_owned()
}

fn list(emails: &[&str]) -> Call {
    Call::post("/v1/batch-verify", json!({ "emails": emails }).to_string())
}

async fn status(app: &TestApp, key: &str, id: &str) -> Value {
    app.get(key, &format!("/v1/batch-verify/{id}/status")).await.ok(200)
}

async fn done(app: &TestApp, key: &str, id: &str) {
    when("done", async || status(app, key, id).await["processed"] == true).await;
}

async fn rows(app: &TestApp, key: &str, id: &str) -> Vec<Value> {
    let page = app.get(key, &format!("/v1/batch-verify/{id}/results")).await.ok(200);
    page["data"].as_array().unwrap().clone()
}

async fn erase(app: &TestApp, key: &str, emails: &[&str]) -> String {
    let asked = Call::post("/v1/erasures", json!({ "emails": emails }).to_string());
    let answer = app.send(asked.key(key)).await.ok(200);
    assert_eq!(answer["success"], true);
    answer["id"].as_str().unwrap().to_owned()
}

async fn receipt(app: &TestApp, key: &str, id: &str) -> Value {
    app.get(key, &format!("/v1/erasures/{id}")).await.ok(200)
}

async fn completed(app: &TestApp, key: &str, id: &str) -> Value {
    when("erased", async || receipt(app, key, id).await["status"] == "completed").await;
    receipt(app, key, id).await
}

fn assert_erased(row: &Value, index: usize, status: &str, reason: &str) {
    let expected = json!({ "email": "erased", "index": index, "processed": true, "status": status, "reason": reason });
    assert_eq!(*row, expected);
}
