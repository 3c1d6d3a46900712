//! Tests of methods and paths that the OpenAPI document does not describe.

use std::collections::BTreeSet;

use probity_access::minting::KeyRequest;
use probity_account::api_key::KeyKind;

use crate::test_app::{Call, TestApp, every_byte_encoded};

#[tokio::test]
async fn head_is_get_without_a_body() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    for (path, status) in [
        ("/v1/organization", 200),
        ("/v1/check-key", 200),
        ("/v1/api-keys", 200),
        ("/v1/reports/usage", 200),
        ("/v1/reports/usage?period=never", 400),
        ("/v1/unknown", 404),
    ] {
        let (head, get) = (app.send(Call::new("HEAD", path).key(&key)).await, app.get(&key, path).await);
        assert_eq!((head.status, get.status), (status, status), "{path}");
        for name in ["content-type", "content-length"] {
            assert_eq!(head.header(name), get.header(name), "{path}");
        }
        assert_eq!(head.headers.contains_key("x-ratelimit-limit"), status != 404, "{path}");
    }
    app.send(Call::new("HEAD", "/v1/organization")).await.assert_status(401);
    app.stop().await;
}

#[tokio::test]
async fn head_never_buys_a_verdict() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    for path in ["/v1/verify?email=jo@example.com", "/v1/verify"] {
        let answer = app.send(Call::new("HEAD", path).key(&key)).await;
        answer.assert_status(405);
        assert_eq!(answer.header("allow"), Some("GET"));
    }
    let balance = app.balance(&org).await;
    assert_eq!((balance.spent.total(), balance.held.total()), (0, 0));
    app.get(&key, "/v1/verify?email=no-address").await.ok(200);
    assert_eq!(app.balance(&org).await.spent.total(), 1, "the verdict has its price");
    app.stop().await;
}

#[tokio::test]
async fn other_methods_are_refused_and_no_other_site_is_let_in() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let routes = [
        ("/v1/verify", ["GET"].as_slice()),
        ("/v1/check-key", &["GET", "HEAD"]),
        ("/v1/organization", &["GET", "HEAD"]),
        ("/v1/api-keys", &["GET", "HEAD", "POST"]),
        ("/v1/api-keys/key_01h455vb4pex5vsknk084sn02q", &["DELETE"]),
        ("/v1/openapi.json", &["GET", "HEAD"]),
        ("/healthz", &["GET", "HEAD"]),
    ];
    for (path, allowed) in routes {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            if allowed.contains(&method) {
                continue;
            }
            let preflight = Call::new(method, path)
                .header("origin", "https://evil.example")
                .header("access-control-request-method", "GET");
            for call in [Call::new(method, path).key(&key), preflight] {
                let answer = app.send(call).await;
                answer.error(405, "method_not_allowed");
                let told: BTreeSet<&str> = answer.header("allow").unwrap().split(',').map(str::trim).collect();
                assert_eq!(told, allowed.iter().copied().collect(), "{method} {path}");
                assert!(answer.headers.keys().all(|name| !name.as_str().starts_with("access-control")));
            }
        }
    }
    let page = Call::get("/v1/organization").key(&key).header("origin", "https://evil.example");
    assert!(app.send(page).await.headers.keys().all(|name| !name.as_str().starts_with("access-control")));
    app.stop().await;
}

#[tokio::test]
async fn unknown_paths_are_not_found_and_nothing_redirects() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    for path in [
        "/app",
        "/assets",
        "/v1",
        "/v1/",
        "/v2/verify",
        "/verify",
        "/v1/verify/",
        "/v1//verify",
        "/v1/verify%2F",
        "/v1/./verify",
        "/v1/x/../verify",
        "/V1/verify",
        "/v1/organization/",
        "/v1/api-keys/",
        "/v1/api-keys//",
        "/v1/api-keys/a/b",
        "/docs/",
        "/docs/../v1/verify",
        "/healthz/",
    ] {
        for method in ["GET", "POST", "DELETE"] {
            let answer = app.send(Call::new(method, format!("{path}?email=no-address")).key(&key)).await;
            answer.error(404, "not_found");
            assert!(!answer.headers.contains_key("location"));
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn ids_are_one_segment_however_they_are_encoded() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let delete = |id: &str| Call::new("DELETE", format!("/v1/api-keys/{id}")).key(&key);
    for id in [
        "%2F",
        "a%2Fb",
        "%2e%2e",
        "..%2F..%2Forganization",
        "%00",
        "%ff",
        "%C3%A9",
        "key_",
        "key",
        "key_01h455vb4pex5vsknk084sn02",
        "key_01h455vb4pex5vsknk084sn02qq",
        "KEY_01h455vb4pex5vsknk084sn02q",
        "org_01h455vb4pex5vsknk084sn02q",
        "key_zzzzzzzzzzzzzzzzzzzzzzzzzz",
        "key_01h455vb4pex5vsknk084sn02q",
        "0",
        "-1",
        "'--",
    ] {
        app.send(delete(id)).await.error(404, "not_found");
    }
    let (doomed, _) = app.new_key(&org, KeyRequest::plain("doomed", KeyKind::Live)).await;
    let encoded = every_byte_encoded(&doomed.id.to_string());
    assert_eq!(app.send(delete(&encoded)).await.ok(200)["id"], doomed.id.to_string());
    app.stop().await;
}
