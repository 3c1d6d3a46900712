//! Every route, with every kind of key, of an organization in every state: one table says what is answered.
//!
//! The routes come from the document that the service gives of itself, so a route that the table does not know fails here.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::Request;
use probity_account::api_key::KeyKind;
use probity_account::id::UserId;
use probity_account::scope::Scope;
use probity_http::service::ServiceConfig;
use probity_mail::time::Millis;
use probity_service::admin::NewKey;
use probity_store::ScopedFutureExt as _;
use probity_store::organization::{Org, OrgStatus};
use probity_store::users::{self, Role, User, UserStatus};
use serde_json::{Value, json};

use crate::test_app::{Answer, BRAND, Call, TestApp};

/// Method, path, scope, and the status where it works.
pub(crate) type Route = (&'static str, &'static str, Option<Scope>, u16);

/// A route under a key: method, path, the scope that it needs (none: any key), its good answer.
pub(crate) const ROUTES: [Route; 43] = [
    ("GET", "/v1/verify", Some(Scope::Verify), 200),
    ("GET", "/v1/check-key", None, 200),
    ("POST", "/v1/batch-verify", Some(Scope::WriteJobs), 200),
    ("GET", "/v1/batch-verify/{id}/status", Some(Scope::ReadJobs), 200),
    ("GET", "/v1/batch-verify/{id}/results", Some(Scope::ReadJobs), 200),
    ("GET", "/v1/batch-verify/{id}", Some(Scope::ReadJobs), 200),
    ("GET", "/v1/batch-verify/{id}/download", Some(Scope::ReadJobs), 200),
    ("POST", "/v1/batch-verify/{id}/cancel", Some(Scope::WriteJobs), 200),
    ("GET", "/v1/jobs", Some(Scope::ReadJobs), 200),
    ("GET", "/v1/jobs/{id}", Some(Scope::ReadJobs), 200),
    ("GET", "/v1/account", Some(Scope::ReadAccount), 200),
    ("PATCH", "/v1/account", Some(Scope::WriteAccount), 200),
    ("GET", "/v1/users", Some(Scope::ReadTeam), 200),
    ("POST", "/v1/users", Some(Scope::WriteTeam), 201),
    ("GET", "/v1/users/{id}", Some(Scope::ReadTeam), 200),
    ("PATCH", "/v1/users/{id}", Some(Scope::WriteTeam), 200),
    ("DELETE", "/v1/users/{id}", Some(Scope::WriteTeam), 200),
    ("GET", "/v1/account/timeline", Some(Scope::ReadJobs), 200),
    ("GET", "/v1/organization", Some(Scope::ReadAccount), 200),
    ("GET", "/v1/organization/settings", Some(Scope::ReadAccount), 200),
    ("PATCH", "/v1/organization/settings", Some(Scope::WriteAccount), 200),
    ("GET", "/v1/organization/suppressions/{list}", Some(Scope::ReadAccount), 200),
    ("POST", "/v1/organization/suppressions/{list}", Some(Scope::WriteAccount), 200),
    ("DELETE", "/v1/organization/suppressions/{list}", Some(Scope::WriteAccount), 200),
    ("GET", "/v1/reports/usage", Some(Scope::ReadReports), 200),
    ("GET", "/v1/reports/usage/daily", Some(Scope::ReadReports), 200),
    ("GET", "/v1/api-keys", Some(Scope::WriteKeys), 200),
    ("POST", "/v1/api-keys", Some(Scope::WriteKeys), 201),
    ("DELETE", "/v1/api-keys/{id}", Some(Scope::WriteKeys), 200),
    ("GET", "/v1/webhooks/callback-secret", Some(Scope::WriteWebhooks), 200),
    ("POST", "/v1/webhooks/callback-secret/rotate", Some(Scope::WriteWebhooks), 200),
    ("GET", "/v1/webhooks", Some(Scope::ReadWebhooks), 200),
    ("POST", "/v1/webhooks", Some(Scope::WriteWebhooks), 201),
    ("GET", "/v1/webhooks/{id}", Some(Scope::ReadWebhooks), 200),
    ("PATCH", "/v1/webhooks/{id}", Some(Scope::WriteWebhooks), 200),
    ("DELETE", "/v1/webhooks/{id}", Some(Scope::WriteWebhooks), 200),
    ("POST", "/v1/webhooks/{id}/rotate-secret", Some(Scope::WriteWebhooks), 200),
    ("POST", "/v1/webhooks/{id}/test", Some(Scope::WriteWebhooks), 200),
    ("GET", "/v1/webhooks/{id}/deliveries", Some(Scope::ReadWebhooks), 200),
    ("POST", "/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver", Some(Scope::WriteWebhooks), 200),
    ("GET", "/v1/erasures", Some(Scope::WriteErasures), 200),
    ("POST", "/v1/erasures", Some(Scope::WriteErasures), 200),
    ("GET", "/v1/erasures/{id}", Some(Scope::WriteErasures), 200),
];

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Live,
    Test,
    Pub,
    /// A key with the route's scope only.
    With,
    /// A key with every other scope.
    Without,
    Nobody,
    Garbage,
}

const EVERYBODY: [Who; 7] = [Who::Live, Who::Test, Who::Pub, Who::With, Who::Without, Who::Nobody, Who::Garbage];

/// What is answered (specification, sections 5 and 7; completion, "Keys and scopes" and `GET /v1/organization`).
fn expected(who: Who, route: Route, stopped: bool) -> (u16, &'static str) {
    let (method, path, scope, good) = route;
    match (who, scope) {
        (Who::Nobody, _) => (401, "missing_api_key"),
        (Who::Garbage, _) => (401, "invalid_api_key"),
        (_, Some(_)) if stopped => (403, "forbidden_scope"),
        // There is one team, which is no sandbox.
        (Who::Pub | Who::Without, Some(_)) | (Who::Test, Some(Scope::WriteTeam)) => (403, "forbidden_scope"),
        // Whoever joins may do more than this key.
        (Who::With, _) if (method, path) == ("POST", "/v1/users") => (403, "forbidden_scope"),
        _ => (good, ""),
    }
}

async fn document(app: &TestApp) -> Value {
    app.send(Call::get("/v1/openapi.json")).await.ok(200)
}

fn operations(document: &Value) -> impl Iterator<Item = (String, &String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, operation)| (method.to_uppercase(), path, operation))
    })
}

#[tokio::test]
async fn the_table_has_every_route_with_its_scope() {
    let app = TestApp::start().await;
    let document = document(&app).await;
    let described: BTreeSet<(String, String, String)> = operations(&document)
        .map(|(method, path, operation)| (method, path.clone(), operation["security"][0]["bearer"].to_string()))
        .collect();
    let scopes = |scope: Option<Scope>| scope.map_or(json!([]), |scope| json!([scope.as_str()])).to_string();
    let table = ROUTES.map(|(method, path, scope, _)| (method.to_owned(), path.to_owned(), scopes(scope)));
    assert_eq!(described, BTreeSet::from(table));
    app.stop().await;
}

#[tokio::test]
async fn every_key_gets_what_it_may_in_every_state_of_its_account() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let document = document(app).await;
        for status in OrgStatus::ALL {
            let org = app.org_in(status).await;
            for (method, path, scope, good) in ROUTES {
                for who in EVERYBODY {
                    let answer = ask(app, &org, who, method, path, scope).await;
                    let place = format!("{who:?} {method} {path} of an organization that is {}", status.as_str());
                    let (status, code) = expected(who, (method, path, scope, good), status.is_stopped());
                    assert_eq!(answer.status, status, "{place}: {}", answer.text());
                    assert_fits(&document, method, path, &answer, &place);
                    if !code.is_empty() {
                        assert_eq!(answer.json()["error"]["code"], code, "{place}");
                    }
                    let known = !matches!(who, Who::Nobody | Who::Garbage);
                    assert_eq!(answer.headers.contains_key("x-ratelimit-limit"), known, "{place}");
                }
            }
        }
    })
    .await;
}

async fn ask(app: &TestApp, org: &Org, who: Who, method: &str, path: &str, scope: Option<Scope>) -> Answer {
    let key = match who {
        Who::Live => Some(app.key(org, KeyKind::Live).await),
        Who::Test => Some(app.key(org, KeyKind::Test).await),
        Who::Pub => Some(app.key(org, KeyKind::Pub).await),
        Who::With => Some(app.restricted(org, scope).await),
        Who::Without => Some(app.restricted(org, Scope::ALL.iter().copied().filter(|each| Some(*each) != scope)).await),
        Who::Nobody => None,
        Who::Garbage => Some(format!("{BRAND}_live_garbage")),
    };
    let call = match (method, path) {
        ("GET", "/v1/verify") => Call::get("/v1/verify?email=nobody@null-mx.com"),
        ("POST", "/v1/api-keys") => {
            // Nobody can make more than they are.
            let wish = match who {
                Who::Test => json!({"name": "made", "kind": "test"}),
                _ => json!({"name": "made", "kind": "rk", "scopes": ["write:keys"]}),
            };
            Call::post(path, wish.to_string())
        }
        ("DELETE", "/v1/api-keys/{id}") => {
            let kind = if who == Who::Test { KeyKind::Test } else { KeyKind::Pub };
            let (doomed, _) = app.new_key(org, NewKey::plain("doomed", kind)).await;
            Call::new(method, format!("/v1/api-keys/{}", doomed.id))
        }
        ("POST", "/v1/batch-verify") => Call::post(path, LIST),
        ("POST", "/v1/webhooks") => Call::post(path, WEBHOOK),
        (_, path) if path.starts_with("/v1/webhooks/{id}") => {
            let (webhook, delivery) = a_webhook(app, org, who).await;
            let path = path.replace("{id}", &webhook).replace("{delivery_id}", &delivery);
            if method == "PATCH" { Call::patch(path, r#"{"name": "ours"}"#) } else { Call::new(method, path) }
        }
        ("PATCH", "/v1/organization/settings") => Call::patch(path, r#"{"retention_days": 90}"#),
        (_, "/v1/organization/suppressions/{list}") => {
            let path = path.replace("{list}", "bounced");
            match method {
                "GET" => Call::get(path + "?email=ann@example.org"),
                "POST" => Call::post(path, r#"{"emails": ["ann@example.org"]}"#),
                _ => Call::new(method, path + "?all=true"),
            }
        }
        ("POST", "/v1/users") => {
            let id = UserId::new(Millis(0), fresh());
            Call::post(path, json!({"email": format!("{id}@example.org"), "role": "contributor"}).to_string())
        }
        ("PATCH", "/v1/account") => Call::patch(path, r#"{"country": "DE"}"#),
        (_, "/v1/users/{id}") => {
            let path = path.replace("{id}", &a_member(app, org).await);
            if method == "PATCH" { Call::patch(path, r#"{"name": "Ann"}"#) } else { Call::new(method, path) }
        }
        ("POST", "/v1/erasures") => Call::post(path, LIST),
        (_, "/v1/erasures/{id}") => Call::get(path.replace("{id}", &an_erasure(app, org, who).await)),
        (_, path) if path.contains("{id}") => Call::new(method, path.replace("{id}", &a_job(app, org, who).await)),
        _ => Call::new(method, path),
    };
    match key {
        Some(key) => app.send(call.key(&key)).await,
        None => app.send(call).await,
    }
}

/// The shortest list to verify.
const LIST: &str = r#"{"emails": ["nobody@null-mx.com"]}"#;

/// A job that this caller would see. Of an organization that is stopped there is none; nobody gets as far as to miss it.
async fn a_job(app: &TestApp, org: &Org, who: Who) -> String {
    let kind = if who == Who::Test { KeyKind::Test } else { KeyKind::Live };
    let key = app.key(org, kind).await;
    let submitted = app.send(Call::post("/v1/batch-verify", LIST).key(&key)).await;
    submitted.json()["id"].as_str().unwrap_or("job_none").to_owned()
}

/// An erasure that this caller would see.
async fn an_erasure(app: &TestApp, org: &Org, who: Who) -> String {
    let kind = if who == Who::Test { KeyKind::Test } else { KeyKind::Live };
    let key = app.key(org, kind).await;
    let asked = app.send(Call::post("/v1/erasures", LIST).key(&key)).await;
    asked.json()["id"].as_str().unwrap_or("era_none").to_owned()
}

/// The least of a webhook. The name leads nowhere, so nothing is ever sent.
const WEBHOOK: &str = r#"{"name": "crm", "url": "https://hooks.example.com/x", "events": ["job.finished"]}"#;

/// A webhook that this caller would see, and a message to it. It is removed before there are too many of them.
async fn a_webhook(app: &TestApp, org: &Org, who: Who) -> (String, String) {
    let kind = if who == Who::Test { KeyKind::Test } else { KeyKind::Live };
    let key = app.key(org, kind).await;
    let id = |answer: Answer, none: &str| answer.json()["id"].as_str().unwrap_or(none).to_owned();
    let listed = app.get(&key, "/v1/webhooks").await.json();
    for old in listed["data"].as_array().into_iter().flatten() {
        app.send(Call::new("DELETE", format!("/v1/webhooks/{}", old["id"].as_str().unwrap())).key(&key)).await.ok(200);
    }
    let webhook = id(app.send(Call::post("/v1/webhooks", WEBHOOK).key(&key)).await, "whk_none");
    let tested = app.send(Call::new("POST", format!("/v1/webhooks/{webhook}/test")).key(&key)).await;
    (webhook, id(tested, "dlv_none"))
}

/// A member of whom nothing is known but that there is one.
async fn a_member(app: &TestApp, org: &Org) -> String {
    let user = User {
        org: org.no,
        id: UserId::new(Millis(0), fresh()),
        email: None,
        name: None,
        role: Role::Contributor,
        is_primary: false,
        status: UserStatus::Active,
        created_at: Millis(0),
    };
    app.store.write(|tx| users::insert(tx, &user).scope_boxed()).await.unwrap();
    user.id.to_string()
}

/// Bytes that no call before has got.
fn fresh() -> [u8; 10] {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let mut bytes = [0; 10];
    bytes[2..].copy_from_slice(&CALLS.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    bytes
}

/// The document describes the answer: its status, and its body by schema.
fn assert_fits(document: &Value, method: &str, path: &str, answer: &Answer, place: &str) {
    let response = &document["paths"][path][method.to_lowercase()]["responses"][answer.status.to_string()];
    let kind = answer.header("content-type").unwrap().split(';').next().unwrap();
    let schema = &response["content"][kind]["schema"];
    assert!(schema.is_object(), "{place}: {} is not described", answer.status);
    if kind != "application/json" {
        return;
    }
    let root = json!({"allOf": [schema], "components": document["components"]});
    let validator = jsonschema::draft202012::options().should_validate_formats(true).build(&root).unwrap();
    let errors: Vec<String> = validator.iter_errors(&answer.json()).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{place}: {errors:#?} in {}", answer.text());
}

#[tokio::test]
async fn what_stands_beside_the_api_needs_no_key() {
    let app = TestApp::start().await;
    for (path, status) in [
        ("/healthz", 200),
        ("/readyz", 200),
        ("/metrics", 200),
        ("/v1/openapi.json", 200),
        ("/docs", 200),
        ("/widget.js", 200),
    ] {
        let answer = app.send(Call::get(path).from("127.0.0.1")).await;
        assert_eq!(answer.status, status, "{path}");
        // A key that came along is not looked at.
        let request = Request::get(path)
            .header("host", "localhost")
            .header("authorization", "Bearer garbage")
            .extension(loopback());
        let with_key = app.send_request(request.body(axum::body::Body::empty()).unwrap()).await;
        assert_eq!(with_key.status, status, "{path}");
        assert!(!with_key.headers.contains_key("x-ratelimit-limit"), "{path}");
    }
    app.send(Call::get("/metrics").from("203.0.113.9")).await.error(404, "not_found");
    app.stop().await;
}

fn loopback() -> probity_http::peer::Peer {
    probity_http::peer::Peer((std::net::Ipv4Addr::LOCALHOST, 50_000).into())
}
