//! Tests every route with every kind of key and organization status against one table of expected responses.
//!
//! The routes come from the service's OpenAPI document, so a route that is missing from the table fails the test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::Request;
use jsonschema::Validator;
use probity_access::minting::KeyRequest;
use probity_account::api_key::KeyKind;
use probity_account::id::UserId;
use probity_account::scope::Scope;
use probity_mail::time::Millis;
use probity_store::ScopedFutureExt as _;
use probity_store::accounts::organization::{OrgRecord, OrgState};
use probity_store::accounts::users::{self, MemberRole, TeamMember, UserStatus};
use serde_json::{Value, json};

use crate::api::connections;
use crate::api::connections::platform::TrialPlatform;
use crate::runs::acme::Acme;
use crate::test_app::{Answer, BRAND, Call, TestApp};

/// Method, path, scope, and the status of a success.
pub(crate) type Route = (&'static str, &'static str, Option<Scope>, u16);

/// Routes that need a key: method, path, required scope (`None`: any key), status of a success.
pub(crate) const ROUTES: [Route; 74] = [
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
    ("GET", "/v1/changes", Some(Scope::ReadJobs), 200),
    ("GET", "/v1/organization", Some(Scope::ReadAccount), 200),
    ("GET", "/v1/organization/settings", Some(Scope::ReadAccount), 200),
    ("PATCH", "/v1/organization/settings", Some(Scope::WriteAccount), 200),
    ("GET", "/v1/organization/suppressions/{list}", Some(Scope::ReadAccount), 200),
    ("POST", "/v1/organization/suppressions/{list}", Some(Scope::WriteAccount), 200),
    ("DELETE", "/v1/organization/suppressions/{list}", Some(Scope::WriteAccount), 200),
    ("POST", "/v1/outcomes", Some(Scope::WriteAccount), 200),
    ("GET", "/v1/outcome-sources", Some(Scope::ReadAccount), 200),
    ("POST", "/v1/outcome-sources", Some(Scope::WriteAccount), 201),
    ("DELETE", "/v1/outcome-sources/{id}", Some(Scope::WriteAccount), 200),
    ("GET", "/v1/reports/usage", Some(Scope::ReadReports), 200),
    ("GET", "/v1/reports/usage/daily", Some(Scope::ReadReports), 200),
    ("GET", "/v1/reports/usage/breakdown", Some(Scope::ReadReports), 200),
    ("GET", "/v1/api-keys", Some(Scope::WriteKeys), 200),
    ("POST", "/v1/api-keys", Some(Scope::WriteKeys), 201),
    ("DELETE", "/v1/api-keys/{id}", Some(Scope::WriteKeys), 200),
    ("GET", "/v1/integrations", Some(Scope::ReadIntegrations), 200),
    ("GET", "/v1/integrations/{type}", Some(Scope::ReadIntegrations), 200),
    ("POST", "/v1/integrations/{type}/connections", Some(Scope::WriteIntegrations), 201),
    ("GET", "/v1/integrations/{type}/connections/{id}", Some(Scope::ReadIntegrations), 200),
    ("PATCH", "/v1/integrations/{type}/connections/{id}", Some(Scope::WriteIntegrations), 200),
    ("DELETE", "/v1/integrations/{type}/connections/{id}", Some(Scope::WriteIntegrations), 200),
    ("POST", "/v1/integrations/{type}/connections/{id}/test", Some(Scope::WriteIntegrations), 200),
    ("GET", "/v1/integrations/{type}/connections/{id}/lists", Some(Scope::ReadIntegrations), 200),
    ("GET", "/v1/integrations/{type}/connections/{id}/schedule", Some(Scope::ReadIntegrations), 200),
    ("GET", "/v1/integrations/{type}/connections/{id}/keywords/{kind}", Some(Scope::ReadIntegrations), 200),
    ("POST", "/v1/integrations/{type}/connections/{id}/keywords/{kind}", Some(Scope::WriteIntegrations), 201),
    (
        "DELETE",
        "/v1/integrations/{type}/connections/{id}/keywords/{kind}/{rule_id}",
        Some(Scope::WriteIntegrations),
        200,
    ),
    ("POST", "/v1/integrations/{type}/connections/{id}/sync", Some(Scope::WriteIntegrations), 200),
    ("GET", "/v1/integrations/{type}/connections/{id}/runs", Some(Scope::ReadIntegrations), 200),
    ("POST", "/v1/integrations/{type}/connections/{id}/runs", Some(Scope::WriteIntegrations), 201),
    ("GET", "/v1/integrations/{type}/connections/{id}/runs/{run_id}", Some(Scope::ReadIntegrations), 200),
    // There is no run to confirm.
    ("POST", "/v1/integrations/{type}/connections/{id}/runs/{run_id}/confirm", Some(Scope::WriteIntegrations), 409),
    ("POST", "/v1/integrations/{type}/connections/{id}/runs/{run_id}/cancel", Some(Scope::WriteIntegrations), 200),
    ("GET", "/v1/integrations/{type}/connections/{id}/review", Some(Scope::ReadIntegrations), 200),
    ("POST", "/v1/integrations/{type}/connections/{id}/review/decisions", Some(Scope::WriteIntegrations), 200),
    ("GET", "/v1/integrations/{type}/connections/{id}/review/download", Some(Scope::ReadIntegrations), 200),
    ("GET", "/v1/integrations/{type}/connections/{id}/{kind}", Some(Scope::ReadIntegrations), 200),
    ("POST", "/v1/integrations/{type}/connections/{id}/{kind}", Some(Scope::WriteIntegrations), 201),
    ("DELETE", "/v1/integrations/{type}/connections/{id}/{kind}/{rule_id}", Some(Scope::WriteIntegrations), 200),
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
    ("GET", "/v1/webhooks/{id}/deliveries/{delivery_id}", Some(Scope::ReadWebhooks), 200),
    ("POST", "/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver", Some(Scope::WriteWebhooks), 200),
    ("GET", "/v1/erasures", Some(Scope::WriteErasures), 200),
    ("POST", "/v1/erasures", Some(Scope::WriteErasures), 200),
    ("GET", "/v1/erasures/{id}", Some(Scope::WriteErasures), 200),
];

/// Kind of caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Live,
    Test,
    Pub,
    /// Key with only the route's scope.
    With,
    /// Key with every other scope.
    Without,
    Nobody,
    Garbage,
}

const EVERYBODY: [Who; 7] = [Who::Live, Who::Test, Who::Pub, Who::With, Who::Without, Who::Nobody, Who::Garbage];

/// Returns the expected status and error code (specification, sections 5 and 7; completion, "Keys and scopes" and
/// `GET /v1/organization`).
fn expected(who: Who, route: Route, stopped: bool) -> (u16, &'static str) {
    let (method, path, scope, good) = route;
    match (who, scope) {
        (Who::Nobody, _) => (401, "missing_api_key"),
        (Who::Garbage, _) => (401, "invalid_api_key"),
        (_, Some(_)) if stopped => (403, "forbidden_scope"),
        // There is only one team, and it has no sandbox.
        (Who::Pub | Who::Without, Some(_)) | (Who::Test, Some(Scope::WriteTeam)) => (403, "forbidden_scope"),
        // A new member would have more permissions than this key.
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
    let platform = TrialPlatform::start().await;
    let acme = Acme::start().await;
    TestApp::each(acme.config(platform.service()), async |app| {
        let mut described = Described::new(document(app).await);
        for status in OrgState::ALL {
            let org = app.org_in(status).await;
            for (method, path, scope, good) in ROUTES {
                for who in EVERYBODY {
                    let answer = ask(app, (&platform, &acme), &org, who, (method, path, scope)).await;
                    let place = format!("{who:?} {method} {path} of an organization that is {}", status.as_str());
                    let (status, code) = expected(who, (method, path, scope, good), status.is_stopped());
                    assert_eq!(answer.status, status, "{place}: {}", answer.text());
                    described.assert_fits(method, path, &answer, &place);
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

#[expect(clippy::too_many_lines, reason = "a table of requests")]
async fn ask(
    app: &TestApp,
    (platform, acme): (&TrialPlatform, &Acme),
    org: &OrgRecord,
    who: Who,
    (method, path, scope): (&str, &str, Option<Scope>),
) -> Answer {
    let key = match who {
        Who::Live => Some(app.key(org, KeyKind::Live).await),
        Who::Test => Some(app.key(org, KeyKind::Test).await),
        Who::Pub => Some(app.key(org, KeyKind::Pub).await),
        Who::With => Some(app.restricted(org, scope).await),
        Who::Without => Some(app.restricted(org, Scope::ALL.into_iter().filter(|each| Some(*each) != scope)).await),
        Who::Nobody => None,
        Who::Garbage => Some(format!("{BRAND}_live_garbage")),
    };
    let call = match (method, path) {
        ("GET", "/v1/verify") => Call::get("/v1/verify?email=nobody@null-mx.com"),
        ("POST", "/v1/api-keys") => {
            // A key can only create keys of its own permissions.
            let wish = match who {
                Who::Test => json!({"name": "made", "kind": "test"}),
                _ => json!({"name": "made", "kind": "rk", "scopes": ["write:keys"]}),
            };
            Call::post(path, wish.to_string())
        }
        ("DELETE", "/v1/api-keys/{id}") => {
            let kind = if who == Who::Test { KeyKind::Test } else { KeyKind::Pub };
            let (doomed, _) = app.new_key(org, KeyRequest::plain("doomed", kind)).await;
            Call::new(method, format!("/v1/api-keys/{}", doomed.id))
        }
        ("POST", "/v1/batch-verify") => Call::post(path, LIST),
        ("POST", "/v1/webhooks") => Call::post(path, WEBHOOK),
        (_, path) if path.starts_with("/v1/webhooks/{id}") => {
            let (webhook, delivery) = a_webhook(app, org, who).await;
            let path = path.replace("{id}", &webhook).replace("{delivery_id}", &delivery);
            if method == "PATCH" { Call::patch(path, r#"{"name": "ours"}"#) } else { Call::new(method, path) }
        }
        (_, path) if RUNS.iter().any(|part| path.contains(part)) => a_run(app, acme, org, who, (method, path)).await,
        (_, path) if path.starts_with("/v1/integrations/{type}") => {
            let (connection, rule) = a_connection(app, platform, org, who).await;
            let path = path.replace("{type}", "trial").replace("{kind}", "blacklist");
            let path = path.replace("{id}", &connection).replace("{rule_id}", &rule);
            match method {
                "PATCH" => Call::patch(path, r#"{"manual_mode": true}"#),
                "POST" if path.ends_with("/connections") => Call::post(path, platform.wish("good").to_string()),
                "POST" if path.ends_with("/blacklist") => Call::post(path, RULES),
                _ => Call::new(method, path),
            }
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
        ("POST", "/v1/outcomes") => {
            Call::post(path, r#"{"outcomes": [{"email": "ann@example.org", "outcome": "hard_bounce"}]}"#)
        }
        ("POST", "/v1/outcome-sources") => {
            a_source(app, org, who).await;
            Call::post(path, SOURCE)
        }
        ("DELETE", "/v1/outcome-sources/{id}") => {
            Call::new(method, path.replace("{id}", &a_source(app, org, who).await))
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

/// Shortest list to verify.
const LIST: &str = r#"{"emails": ["nobody@null-mx.com"]}"#;

/// Returns the ID of a job that this caller can see. A restricted organization has none, but its calls are rejected before the
/// lookup.
async fn a_job(app: &TestApp, org: &OrgRecord, who: Who) -> String {
    let kind = if who == Who::Test { KeyKind::Test } else { KeyKind::Live };
    let key = app.key(org, kind).await;
    let submitted = app.send(Call::post("/v1/batch-verify", LIST).key(&key)).await;
    submitted.json()["id"].as_str().unwrap_or("job_none").to_owned()
}

/// Returns the ID of an erasure that this caller can see.
async fn an_erasure(app: &TestApp, org: &OrgRecord, who: Who) -> String {
    let kind = if who == Who::Test { KeyKind::Test } else { KeyKind::Live };
    let key = app.key(org, kind).await;
    let asked = app.send(Call::post("/v1/erasures", LIST).key(&key)).await;
    asked.json()["id"].as_str().unwrap_or("era_none").to_owned()
}

/// Minimal source of outcomes.
const SOURCE: &str = r#"{"name": "letters", "service": "postmark"}"#;

/// Creates a source of outcomes that this caller can see, and returns its ID. Removes earlier ones to stay below the limit.
async fn a_source(app: &TestApp, org: &OrgRecord, who: Who) -> String {
    let kind = if who == Who::Test { KeyKind::Test } else { KeyKind::Live };
    let key = app.key(org, kind).await;
    let listed = app.get(&key, "/v1/outcome-sources").await.json();
    for old in listed["data"].as_array().into_iter().flatten() {
        let path = format!("/v1/outcome-sources/{}", old["id"].as_str().unwrap());
        app.send(Call::new("DELETE", path).key(&key)).await.ok(200);
    }
    let made = app.send(Call::post("/v1/outcome-sources", SOURCE).key(&key)).await;
    made.json()["id"].as_str().unwrap_or("osr_none").to_owned()
}

/// Minimal webhook. Its host does not exist, so nothing is ever sent.
const WEBHOOK: &str = r#"{"name": "crm", "url": "https://hooks.example.com/x", "events": ["job.finished"]}"#;

/// Creates a webhook that this caller can see, with a delivery. Removes earlier ones to stay below the limit.
async fn a_webhook(app: &TestApp, org: &OrgRecord, who: Who) -> (String, String) {
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

/// A rule of a connection.
const RULES: &str = r#"{"rules": [{"keyword": "example.org"}]}"#;

/// Returns the IDs of a connection that this caller can see, and of a rule on its blacklist.
async fn a_connection(app: &TestApp, platform: &TrialPlatform, org: &OrgRecord, who: Who) -> (String, String) {
    let kind = if who == Who::Test { KeyKind::Test } else { KeyKind::Live };
    let key = app.key(org, kind).await;
    let listed = app.get(&key, "/v1/integrations/trial").await.json();
    let connection = if let Value::String(id) = &listed["connections"][0]["id"] {
        id.clone()
    } else {
        let made = Call::post(connections::PATH, platform.wish("good").to_string());
        app.send(made.key(&key)).await.json()["id"].as_str().unwrap_or("conn_none").to_owned()
    };
    let rules = Call::post(format!("{}/{connection}/blacklist", connections::PATH), RULES);
    let rule = app.send(rules.key(&key)).await.json()["data"][0]["id"].as_str().unwrap_or("rule_none").to_owned();
    (connection, rule)
}

/// Parts of the paths of runs.
const RUNS: [&str; 3] = ["/runs", "/sync", "/review"];

/// Returns a call about runs of a connection that this caller can see. The connection has no contacts and no active run.
async fn a_run(app: &TestApp, acme: &Acme, org: &OrgRecord, who: Who, (method, path): (&str, &str)) -> Call {
    let kind = if who == Who::Test { KeyKind::Test } else { KeyKind::Live };
    let key = app.key(org, kind).await;
    let listed = app.get(&key, "/v1/integrations/acme").await.json();
    let all = "/v1/integrations/acme/connections";
    let connection = if let Value::String(id) = &listed["connections"][0]["id"] {
        id.clone()
    } else {
        let wish = json!({ "credentials": acme.credentials() });
        app.send(Call::post(all, wish.to_string()).key(&key)).await.json()["id"]
            .as_str()
            .unwrap_or("conn_none")
            .to_owned()
    };
    let of = format!("{all}/{connection}/runs");
    let cancel = async || {
        let runs = app.get(&key, &of).await.json();
        if let Value::String(id) = &runs["data"][0]["id"] {
            app.send(Call::new("POST", format!("{of}/{id}/cancel")).key(&key)).await;
        }
    };
    cancel().await;
    let mut run = "job_none".to_owned();
    if path.contains("{run_id}") || path.ends_with("/decisions") {
        if let Value::String(id) = &app.send(Call::post(&*of, "{}").key(&key)).await.json()["id"] {
            run.clone_from(id);
        }
        cancel().await;
    }
    let path = path.replace("{type}", "acme").replace("{id}", &connection).replace("{run_id}", &run);
    match method {
        "POST" if path.ends_with("/runs") => Call::post(path, "{}"),
        "POST" if path.ends_with("/confirm") => Call::post(path, r#"{"actions": 1}"#),
        "POST" if path.ends_with("/decisions") => {
            let decision = json!({ "run_id": run, "index": 0, "decision": "ignore" });
            Call::post(path, json!({ "decisions": [decision] }).to_string())
        }
        _ => Call::new(method, path),
    }
}

/// Creates a member without address and name.
async fn a_member(app: &TestApp, org: &OrgRecord) -> String {
    let user = TeamMember {
        org: org.no,
        id: UserId::new(Millis(0), fresh()),
        email: None,
        name: None,
        role: MemberRole::Contributor,
        is_primary: false,
        status: UserStatus::Active,
        created_at: Millis(0),
    };
    app.store.write(|tx| users::insert(tx, &user).scope_boxed()).await.unwrap();
    user.id.to_string()
}

/// Returns bytes that differ from call to call.
fn fresh() -> [u8; 10] {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let mut bytes = [0; 10];
    bytes[2..].copy_from_slice(&CALLS.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    bytes
}

/// Responses as described by the document.
struct Described {
    document: Value,
    /// Schemas of bodies, cached: parsing one takes longer than most calls.
    schemas: BTreeMap<String, Validator>,
}

impl Described {
    fn new(document: Value) -> Self {
        Self { document, schemas: BTreeMap::new() }
    }

    /// Asserts that the document describes the response: its status, and its body by schema.
    fn assert_fits(&mut self, method: &str, path: &str, answer: &Answer, place: &str) {
        let response = &self.document["paths"][path][method.to_lowercase()]["responses"][answer.status.to_string()];
        let kind = answer.header("content-type").unwrap().split(';').next().unwrap();
        let schema = &response["content"][kind]["schema"];
        assert!(schema.is_object(), "{place}: {} is not described", answer.status);
        if kind != "application/json" {
            return;
        }
        let validator = self.schemas.entry(schema.to_string()).or_insert_with(|| {
            let root = json!({"allOf": [schema], "components": self.document["components"]});
            jsonschema::draft202012::options().should_validate_formats(true).build(&root).unwrap()
        });
        let errors: Vec<String> = validator.iter_errors(&answer.json()).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{place}: {errors:#?} in {}", answer.text());
    }
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
        // A key in the request is ignored.
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

fn loopback() -> probity_http::edge::peer::Peer {
    probity_http::edge::peer::Peer((std::net::Ipv4Addr::LOCALHOST, 50_000).into())
}
