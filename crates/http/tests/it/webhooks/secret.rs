//! Tests of the callback secret in the API: creation, display, rotation and authorization.

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use probity_access::minting::KeyRequest;
use probity_backend::nodes::instance::Instance;
use probity_backend::webhooks::sign::Secret;
use probity_http::service::{Core, ServiceConfig, Verifiers};
use probity_store::{DatabasePlace, StoreConfig};
use secrecy::ExposeSecret as _;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::staff::{Plan, Staff};

const PATH: &str = "/v1/webhooks/callback-secret";
const ROTATE: &str = "/v1/webhooks/callback-secret/rotate";

struct Api {
    core: Core,
    live: String,
    restricted: String,
    other: String,
    _directory: tempfile::TempDir,
}

async fn start() -> Api {
    let directory = tempfile::tempdir().unwrap();
    let place = DatabasePlace::Sqlite(directory.path().join("probity.db"));
    let instance = Instance::open(&StoreConfig::new(place), &[1; 32]).await.unwrap();
    instance.prepare().await.unwrap();
    let verifier = crate::sandbox::verifier();
    let verifiers = Verifiers { live: verifier.clone(), sandbox: verifier };
    let admin = Staff::open(&instance, &ServiceConfig::default(), &verifiers);
    let first = admin.first_start("First", Plan::Unlimited).await.unwrap().unwrap();
    let org = admin.list_orgs().await.unwrap().remove(0);
    let scopes = Some(vec![probity_account::scope::Scope::Verify].into_iter().collect());
    let wanted = KeyRequest { scopes, ..KeyRequest::plain("narrow", probity_account::api_key::KeyKind::Rk) };
    let (_, restricted) = admin.create_key(&org, wanted).await.unwrap();
    let second = admin.create_org("Second", Plan::Unlimited).await.unwrap();
    let wanted = KeyRequest::plain("other", probity_account::api_key::KeyKind::Live);
    let (_, other) = admin.create_key(&second, wanted).await.unwrap();
    Api {
        core: Core::start(instance, &ServiceConfig::default(), verifiers),
        live: first.live.expose_secret().to_owned(),
        restricted,
        other,
        _directory: directory,
    }
}

async fn ask(routes: &Router, method: Method, path: &str, key: &str, repeat: Option<&str>) -> (StatusCode, Value) {
    let mut request = Request::builder().method(method).uri(path).header("authorization", format!("Bearer {key}"));
    if let Some(repeat) = repeat {
        request = request.header("idempotency-key", repeat);
    }
    let response = routes.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
#[ignore = "thorough"]
async fn the_secret_is_made_once_and_rotated() {
    let api = start().await;
    let get = async |key: &str| ask(&api.core.routes, Method::GET, PATH, key, None).await;
    let rotate = async |key: &str, repeat| ask(&api.core.routes, Method::POST, ROTATE, key, repeat).await;
    let (status, first) = get(&api.live).await;
    assert_eq!(status, StatusCode::OK);
    let text = first["secret"].as_str().unwrap();
    assert_eq!(Secret::parse(text).unwrap().text(), text);
    assert_eq!(first, serde_json::json!({ "secret": text }), "there was none before it");
    assert_eq!(get(&api.live).await.1, first);
    assert_ne!(get(&api.other).await.1["secret"], first["secret"], "each organization has its own");

    let (status, rotated) = rotate(&api.live, Some("once")).await;
    assert_eq!(status, StatusCode::OK);
    assert_ne!(rotated["secret"], first["secret"]);
    assert!(rotated["previous_until"].as_str().unwrap().ends_with('Z'));
    assert_eq!(get(&api.live).await.1, rotated);
    assert_eq!(rotate(&api.live, Some("once")).await.1, rotated, "repeated by its key, it is done once");
    assert_ne!(rotate(&api.live, None).await.1["secret"], rotated["secret"]);

    for (status, body) in [get(&api.restricted).await, rotate(&api.restricted, None).await] {
        assert_eq!((status, body["error"]["code"].as_str()), (StatusCode::FORBIDDEN, Some("forbidden_scope")));
    }
    api.core.stop().await;
}
