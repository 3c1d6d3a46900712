//! Tests of the operator's API: access, every route, and that customers see no more of it than `staff`.

mod bans;
mod credits;
mod customers;

use probity_account::plans::{Entitlement, Plan, Plans};
use probity_http::openapi::operations;
use probity_http::operator::{OperatorConfig, document};
use probity_http::service::ServiceConfig;
use probity_service::app::ApiConfig;
use serde_json::{Value, json};

use crate::test_app::{Answer, Call, TestApp, at_one_moment};

const KEY: &str = "an operator's key of more than 32 characters";
const ORGS: &str = "/admin/v1/organizations";

fn config(apart: bool) -> ServiceConfig {
    let team = Plan {
        title: "Team".into(),
        monthly: 1_000,
        seats: Some(2),
        entitlements: [Entitlement::Sso].into_iter().collect(),
        ..Plan::bare("team")
    };
    let plans = Plans::new([team], "metered", 7).unwrap().into();
    ServiceConfig {
        api: ApiConfig { plans, public_url: Some("https://verify.example".into()), ..ApiConfig::default() },
        operator: Some(OperatorConfig { key: KEY.to_owned().into(), apart }),
        ..ServiceConfig::default()
    }
}

async fn get(app: &TestApp, path: &str) -> Answer {
    described("GET", path, app.get(KEY, path).await)
}

async fn post(app: &TestApp, path: &str, body: Value) -> Answer {
    described("POST", path, app.send(Call::post(path, body.to_string()).key(KEY)).await)
}

async fn patch(app: &TestApp, path: &str, body: Value) -> Answer {
    described("PATCH", path, app.send(Call::patch(path, body.to_string()).key(KEY)).await)
}

/// Returns the response, after checking that the document describes its status if it describes the route.
fn described(method: &str, path: &str, answer: Answer) -> Answer {
    let path = path.split('?').next().unwrap();
    let is_of = |template: &str| {
        let (asked, parts) = (path.split('/'), template.split('/'));
        asked.clone().count() == parts.clone().count()
            && asked.zip(parts).all(|(asked, part)| asked == part || part.starts_with('{'))
    };
    let document = document(None);
    for (template, of, operation) in operations(&document) {
        if of == method && is_of(template) {
            let status = answer.status.to_string();
            assert!(operation.responses.responses.contains_key(&status), "{method} {template} answers {status}");
        }
    }
    answer
}

/// Creates a customer on a plan. Returns the path of its organization and its first key.
async fn customer(app: &TestApp, plan: &str) -> (String, String) {
    let made = post(app, ORGS, json!({"name": "Example Ltd", "plan": plan, "first_key": true})).await.ok(201);
    (format!("{ORGS}/{}", made["organization"]["id"].as_str().unwrap()), made["key"].as_str().unwrap().to_owned())
}

/// Returns every route, with IDs that exist.
fn routes(org: &str, user: &str) -> Vec<(&'static str, String)> {
    let document = document(None);
    let all = operations(&document).map(|(path, method, _)| (path.to_owned(), method)).collect::<Vec<_>>();
    let fill = |path: &str| path.replace("/organizations/{id}", &org[ORGS.len() - 14..]).replace("{user_id}", user);
    all.into_iter().map(|(path, method)| (method, fill(&path))).collect()
}

#[tokio::test]
async fn only_the_operators_key_opens_anything() {
    TestApp::each(config(false), async |app| {
        let (org, live) = customer(app, "team").await;
        let people = get(app, &format!("{org}/users")).await.ok(200);
        let user = people["data"][0]["id"].as_str().unwrap().to_owned();
        let all = routes(&org, &user);
        assert_eq!(all.len(), 12);
        for (method, path) in all {
            let ask = async |key: Option<&str>| {
                let call = Call::new(method, path.clone()).json(&json!({}));
                app.send(key.into_iter().fold(call, Call::key)).await
            };
            ask(None).await.error(401, "missing_api_key");
            for key in [live.as_str(), "an operator's key of more than 32 characterz", &KEY[1..], "x"] {
                ask(Some(key)).await.error(401, "invalid_api_key");
            }
            let answer = ask(Some(KEY)).await;
            assert!([200, 201, 400].contains(&answer.status), "{method} {path}: {}", answer.text());
            assert_eq!(answer.header("cache-control"), Some("no-store"), "{method} {path}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
            let in_query = Call::new(method, format!("{path}?api_key={live}")).json(&json!({}));
            app.send(in_query).await.error(401, "missing_api_key");
        }
        // The key gives access to nothing else, and a request without it learns nothing.
        app.get(KEY, "/v1/organization").await.error(401, "invalid_api_key");
        get(app, "/admin/v1/nothing").await.error(404, "not_found");
        app.get(&live, "/admin/v1/nothing").await.error(401, "invalid_api_key");
        let description = get(app, "/admin/v1/openapi.json").await.ok(200);
        assert_eq!(description["info"]["title"], "Probity operator API");
        assert_eq!(description["servers"], json!([{"url": "https://verify.example"}]));
    })
    .await;
}

#[tokio::test]
async fn without_a_key_and_elsewhere_there_is_nothing() {
    let app = TestApp::start().await;
    app.get(KEY, ORGS).await.error(404, "not_found");
    app.stop().await;
    let app = TestApp::with(config(true)).await;
    app.get(KEY, ORGS).await.error(404, "not_found");
    assert_eq!(app.send_apart(Call::get(ORGS).key(KEY)).await.status, 200);
    assert_eq!(app.send_apart(Call::get(ORGS)).await.status, 401);
    assert_eq!(app.send_apart(Call::get("/v1/organization").key(KEY)).await.status, 404);
    let description = app.send_apart(Call::get("/admin/v1/openapi.json").key(KEY)).await.ok(200);
    assert_eq!(description["servers"], json!([{"url": "/"}]), "not where customers reach the service");
    app.stop().await;
}

#[tokio::test]
async fn who_guesses_has_to_wait_and_the_operator_has_not() {
    let app = TestApp::with(config(false)).await;
    let ask = async |key: &str, from: &str| app.send(Call::get("/admin/v1/plans").key(key).from(from)).await;
    at_one_moment(async {
        for _ in 0..10 {
            ask("guess", "192.0.2.1").await.error(401, "invalid_api_key");
        }
        ask("guess", "192.0.2.1").await.error(429, "rate_limited");
    })
    .await;
    ask("guess", "192.0.2.2").await.error(401, "invalid_api_key");
    ask(KEY, "192.0.2.1").await.ok(200);
    // Customers are counted separately.
    let (_, live) = app.customer().await;
    app.send(Call::get("/v1/organization").key(&live).from("192.0.2.1")).await.ok(200);
    app.send(Call::get("/v1/organization").key("x").from("192.0.2.1")).await.error(401, "invalid_api_key");
    app.stop().await;
}

#[tokio::test]
async fn a_link_lets_somebody_in_again() {
    let app = TestApp::with(config(false)).await;
    let (org, _) = customer(&app, "team").await;
    let (other, _) = customer(&app, "team").await;
    let people = get(&app, &format!("{org}/users")).await.ok(200);
    let owner = &people["data"][0];
    assert_eq!((&owner["is_primary"], &owner["email"]), (&json!(true), &Value::Null));
    let path = |org: &str| format!("{org}/users/{}/reset-link", owner["id"].as_str().unwrap());
    let link = app.send(Call::new("POST", path(&org)).key(KEY)).await.ok(201);
    assert!(link["url"].as_str().unwrap().contains("/#/link/"));
    post(&app, &path(&org), json!({"without_second_factor": true})).await.ok(201);
    post(&app, &path(&other), json!({})).await.error(404, "not_found");
    app.stop().await;
}

#[tokio::test]
async fn the_plans_are_those_of_the_configuration() {
    let app = TestApp::with(config(false)).await;
    let plans = get(&app, "/admin/v1/plans").await.ok(200);
    let names: Vec<_> = plans["data"].as_array().unwrap().iter().map(|plan| plan["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["metered", "team", "unlimited"]);
    assert_eq!(plans["data"][0]["is_default"], true);
    assert_eq!(plans["data"][1]["monthly_credits"], 1_000);
    app.stop().await;
}

/// Compares with the committed document. With `UPDATE_OPENAPI=1` in the environment, rewrites it instead.
#[test]
fn the_description_is_the_committed_one() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi-operator.json");
    let now = format!("{:#}\n", serde_json::to_value(document(None)).unwrap());
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == now, "if the change is meant: UPDATE_OPENAPI=1 cargo test -p probity-http operator");
    for (path, method, operation) in operations(&document(None)) {
        let operation = serde_json::to_value(operation).unwrap();
        for field in ["summary", "description", "operationId"] {
            assert!(operation[field].as_str().is_some_and(|text| !text.is_empty()), "{method} {path}: {field}");
        }
        assert!(operation["responses"]["401"].is_object(), "{method} {path}");
    }
}
