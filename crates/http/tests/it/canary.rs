//! Follows secrets and personal data through everything that the service does. They must appear in no log, metric or document,
//! and no key may be readable in the database.

use axum::body::Body;
use axum::http::Request;
use probity_access::minting::KeyRequest;
use probity_account::api_key::{self, KeyKind};
use probity_telemetry::log_capture::{Capture, holds};
use serde_json::json;
use tracing_subscriber::filter::LevelFilter;

use crate::test_app::{Answer, BRAND, Call, TestApp};
use crate::widget::{Visitor, public_key};

/// Texts that occur nowhere else.
const LOCAL: &str = "canary-q7w8e9r0";
const NAME: &str = "Canary-name-z3x4c5";
const IDEMPOTENCY_KEY: &str = "canary-once-p1o2i3";
const STRAY: &str = "canary-stray-m5n6b7";

/// Keys with which canaries are sent.
struct Keys {
    key: String,
    test: String,
    /// Key of an organization without credits.
    poor: String,
    /// Key that does not exist.
    unknown: String,
}

/// Sends the canaries as addresses. Returns the responses that must not repeat them.
async fn push_through_verify(app: &TestApp, keys: &Keys) -> Vec<Answer> {
    let Keys { key, test, poor, unknown } = keys;
    let mut quiet = Vec::new();
    for domain in ["honest-mail.com", "takes-all.com", "greylists.com", "blocks-us.com", "null-mx.com", "no-domain"] {
        for kind in [key, test] {
            app.verify(kind, &format!("{LOCAL}@{domain}&explain=true")).await.ok(200);
        }
        quiet.push(app.verify(poor, &format!("{LOCAL}@{domain}")).await);
        quiet.push(app.verify(key, &format!("{LOCAL}@{domain}&timeout={STRAY}")).await);
        quiet.push(app.verify(unknown, &format!("{LOCAL}@{domain}")).await);
        quiet.push(app.send(Call::get(format!("/v1/verify?email={LOCAL}@{domain}&api_key={unknown}"))).await);
    }
    app.verify(key, &format!("{LOCAL}@stays-silent.com&timeout=0.1")).await.ok(200);
    let panicked = app.verify(key, &format!("panics-{LOCAL}@honest-mail.com")).await;
    panicked.error(500, "server_error");
    quiet.extend([panicked, app.verify(key, &format!("{LOCAL}{}", "x".repeat(1_024))).await]);
    quiet
}

/// Sends the canaries like visitors of a page with the widget. Returns the responses that must not repeat them.
async fn push_through_widget(app: &TestApp, public: &str, other: &str) -> Vec<Answer> {
    let visitor = Visitor::new(app, public);
    let mut quiet = Vec::new();
    for domain in ["honest-mail.com", "takes-all.com", "blocks-us.com", "null-mx.com"] {
        let email = format!("{LOCAL}@{domain}");
        visitor.checks(&email).await.ok(200);
        quiet.push(visitor.asks(&email, STRAY).await);
        quiet.push(Visitor { origin: "https://evil.example", ..visitor.clone() }.asks(&email, STRAY).await);
        quiet.push(Visitor::new(app, other).asks(&email, STRAY).await);
    }
    quiet.push(visitor.checks(&format!("panics-{LOCAL}@honest-mail.com")).await);
    quiet.push(visitor.checks(&format!("{LOCAL}{}", "x".repeat(1_024))).await);
    quiet.push(app.send(Call::get(format!("/widget.js/{STRAY}?key={public}&email={LOCAL}"))).await);
    quiet
}

/// Creates a key with canaries. Returns the responses that must not repeat them, and the key's secret.
async fn push_through_keys(app: &TestApp, key: &str) -> (Vec<Answer>, String) {
    let post = |body: String| Call::post("/v1/api-keys", body).key(key);
    let good = json!({"name": NAME, "kind": "live"}).to_string();
    let made = app.send(post(good.clone()).once(IDEMPOTENCY_KEY)).await.ok(201);
    app.send(post(good).once(IDEMPOTENCY_KEY)).await.ok(201);
    let mut quiet = vec![app.send(post(format!("{{\"name\":\"{STRAY}\",")).once(IDEMPOTENCY_KEY)).await];
    for body in [
        format!("{{\"name\":\"{STRAY}\","),
        format!("\"{STRAY}\""),
        json!({"name": STRAY, "kind": STRAY}).to_string(),
        json!({"name": STRAY, "kind": "rk", "scopes": [STRAY]}).to_string(),
        json!({"name": STRAY, "kind": "pub", "allowed_origins": [STRAY]}).to_string(),
        json!({"name": STRAY, "kind": "live", "expires_at": STRAY}).to_string(),
        json!({"name": STRAY, "kind": "live", "rate_limit_per_minute": STRAY}).to_string(),
    ] {
        quiet.push(app.send(post(body)).await);
    }
    let id = made["id"].as_str().unwrap();
    app.send(Call::new("DELETE", format!("/v1/api-keys/{id}")).key(key)).await.ok(200);
    (quiet, made["secret"].as_str().unwrap().to_owned())
}

/// Sends the canaries as parameters, paths, headers and methods. Returns the responses, which must not repeat them.
async fn push_beside_routes(app: &TestApp, Keys { key, unknown, .. }: &Keys) -> Vec<Answer> {
    let mut quiet = Vec::new();
    for target in [
        format!("/v1/check-key?api_key={unknown}"),
        format!("/v1/check-key?public_key={STRAY}"),
        format!("/v1/api-keys?next={STRAY}"),
        format!("/v1/api-keys?per_page={STRAY}"),
        format!("/v1/{STRAY}?api_key={unknown}"),
        format!("/v1/verify/{STRAY}"),
    ] {
        quiet.push(app.get(key, &target).await);
    }
    quiet.push(app.send(Call::new("DELETE", format!("/v1/api-keys/{STRAY}")).key(key)).await);
    let strange = Request::builder().method(STRAY).uri("/v1/verify").header("user-agent", STRAY).header(STRAY, LOCAL);
    quiet.push(app.send_request(strange.body(Body::empty()).unwrap()).await);
    quiet
}

#[tokio::test]
async fn nothing_that_clients_send_is_in_logs_metrics_documents_or_errors() {
    let (capture, _guard) = Capture::start(LevelFilter::TRACE);
    let app = TestApp::start().await;
    let (org, _) = app.customer().await;
    let keys = Keys {
        key: app.new_key(&org, KeyRequest::plain(NAME, KeyKind::Live)).await.1,
        test: app.key(&org, KeyKind::Test).await,
        poor: app.key(&app.org("Poor", 0).await, KeyKind::Live).await,
        unknown: api_key::mint(BRAND, KeyKind::Live, [42; 32]),
    };
    let mut quiet = push_through_verify(&app, &keys).await;
    let public = public_key(&app, &org, None).await;
    quiet.extend(push_through_widget(&app, &public, &keys.unknown).await);
    let (more, made) = push_through_keys(&app, &keys.key).await;
    quiet.extend(more);
    quiet.extend(push_beside_routes(&app, &keys).await);
    let Keys { key, test, poor, unknown } = &keys;
    // Even a part of a key must not appear.
    let [secrets @ .., public] = [key, test, poor, unknown, &made, &public].map(|secret| &secret[secret.len() - 30..]);
    let stored_nowhere = [&[LOCAL, IDEMPOTENCY_KEY, STRAY], secrets.as_slice()].concat();
    // A public key is stored, because its owner may view it again.
    let canaries = [&[NAME, public], stored_nowhere.as_slice()].concat();
    for answer in quiet {
        assert!(answer.status >= 400, "{answer:?}");
        let shown = format!("{:?}", answer.headers);
        let repeated = canaries.iter().find(|canary| holds(&answer.body, canary) || holds(shown.as_bytes(), canary));
        assert_eq!(repeated, None, "{}", answer.text());
    }
    for path in ["/metrics", "/v1/openapi.json", "/docs", "/readyz", "/healthz"] {
        let answer = app.send(Call::get(path).from("127.0.0.1")).await;
        answer.assert_status(200);
        let found = canaries.iter().find(|canary| holds(&answer.body, canary));
        assert_eq!(found, None, "{path}");
    }
    app.settled().await;
    app.assert_files_without(&stored_nowhere);
    assert!(app.files().iter().any(|(_, bytes)| holds(bytes, NAME)), "names of keys are kept, so the search works");
    app.stop().await;
    assert!(capture.text().contains("probity_http::access"));
    assert!(capture.text().contains("/v1/verify"), "routes are logged");
    capture.assert_without(&canaries);
    capture.assert_without(&["127.0.0.1", "203.0.113.9"]);
}
