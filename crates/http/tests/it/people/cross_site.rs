//! Tests that every changing route rejects requests from pages of other sites.

use probity_account::role::MemberRole;
use probity_http::person::routes::{PageAccess, routes};
use serde_json::{Value, json};

use super::browser::Browser;
use super::{config, signed_in};
use crate::test_app::{Call, TestApp};

/// Returns every changing route under `/app`: method, path, and whether it needs a session.
async fn changing(app: &TestApp) -> Vec<(String, String, bool)> {
    let document: Value = app.send(Call::get("/v1/openapi.json")).await.ok(200);
    let paths = document["paths"].as_object().unwrap();
    let api = paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().keys().map(move |method| (method.to_uppercase(), format!("/app{path}"), true))
    });
    let own = routes().map(|route| (route.method.into(), route.path.into(), route.access != PageAccess::Anybody));
    let all = own.chain(api).filter(|(method, ..)| method != "GET");
    all.map(|(method, path, session)| (method, path.replace("{id}", "x"), session)).collect()
}

/// Returns every GET route under `/app` that costs credits.
async fn costing(app: &TestApp) -> Vec<String> {
    let document: Value = app.send(Call::get("/v1/openapi.json")).await.ok(200);
    let paths = document["paths"].as_object().unwrap();
    let costs = |item: &Value| item["get"]["security"][0]["bearer"][0] == "verify";
    paths.iter().filter(|(_, item)| costs(item)).map(|(path, _)| format!("/app{path}")).collect()
}

/// Headers that a browser sends for a page of another site or its form.
const FOREIGN: [&[(&str, &str)]; 8] = [
    &[],
    &[("sec-fetch-site", "cross-site")],
    &[("sec-fetch-site", "same-site")],
    &[("sec-fetch-site", "none")],
    &[("sec-fetch-site", "cross-site"), ("origin", "https://verify.example.com")],
    &[("origin", "https://evil.example")],
    &[("origin", "https://verify.example.com:8443")],
    &[("origin", "null")],
];

#[tokio::test]
async fn what_comes_from_elsewhere_changes_nothing() {
    let mut of_a_name = config();
    of_a_name.api.public_url = Some("https://verify.example.com".into());
    let app = TestApp::with(of_a_name).await;
    let org = app.org("Example Ltd", 0).await;
    let (_, mut browser) = signed_in(&app, &org, "ann@example.com", MemberRole::Administrator).await;
    let routes = changing(&app).await;
    assert!(routes.len() >= 15, "{routes:?}");
    for (method, path, _) in &routes {
        for said in FOREIGN {
            let mut call = browser.bare(method, path).header("host", "verify.example.com");
            // Even if the other page had the CSRF token.
            call = call.header("x-csrf-token", browser.token.clone());
            for (name, value) in said {
                call = call.header(name, *value);
            }
            let answer = browser.send(call.json(&json!({}))).await;
            assert_eq!(
                answer.error(403, "cross_site_request"),
                "the request did not come from the dashboard; reload the page",
                "{method} {path} {said:?}"
            );
            assert!(!answer.headers.contains_key("set-cookie"), "{method} {path}");
        }
    }
    assert!(browser.is_in().await);
    app.stop().await;
}

#[tokio::test]
async fn without_the_token_of_the_session_nothing_changes() {
    let app = TestApp::with(config()).await;
    let org = app.org("Example Ltd", 0).await;
    let (_, mut browser) = signed_in(&app, &org, "ann@example.com", MemberRole::Administrator).await;
    let (_, other) = signed_in(&app, &org, "bob@example.com", MemberRole::Administrator).await;
    let mut earlier = Browser::new(&app);
    earlier.sign_in("ann@example.com", super::PASSWORD).await.ok(200);
    let changing = changing(&app).await.into_iter().filter(|(.., session)| *session);
    let costing = costing(&app).await;
    assert_eq!(costing, ["/app/v1/verify"]);
    let costing = costing.into_iter().map(|path| ("GET".to_owned(), path, true));
    for (method, path, _) in changing.chain(costing) {
        let tokens = [None, Some(String::new()), Some(other.token.clone()), Some(earlier.token.clone())];
        for token in tokens {
            let mut call = browser.bare(&method, &path).header("sec-fetch-site", "same-origin");
            if let Some(token) = &token {
                call = call.header("x-csrf-token", token.clone());
            }
            let answer = browser.send(call.json(&json!({}))).await;
            answer.error(403, "cross_site_request");
            assert!(!answer.headers.contains_key("set-cookie"), "{method} {path} {token:?}");
        }
        let call = Browser::new(&app).call(&method, &path).header("x-csrf-token", browser.token.clone());
        app.send(call.json(&json!({}))).await.error(401, "not_signed_in");
    }
    assert!(browser.is_in().await && earlier.is_in().await);
    app.stop().await;
}

#[tokio::test]
async fn a_link_elsewhere_spends_nothing() {
    let app = TestApp::with(config()).await;
    let org = app.org("Example Ltd", 10).await;
    let (_, mut browser) = signed_in(&app, &org, "ann@example.com", MemberRole::Administrator).await;
    let path = "/app/v1/verify?email=nobody@null-mx.com";
    for said in ["cross-site", "same-site", "none", "same-origin"] {
        let followed = browser.bare("GET", path).header("sec-fetch-site", said);
        browser.send(followed).await.error(403, "cross_site_request");
    }
    assert!(app.usage(&org).await.is_empty());
    browser.get(path).await.ok(200);
    assert_eq!(app.usage(&org).await.len(), 1);
    app.stop().await;
}

#[tokio::test]
async fn pages_of_ours_are_told_by_their_origin_where_the_connection_is_plain() {
    let app = TestApp::with(config()).await;
    let org = app.org("Example Ltd", 0).await;
    signed_in(&app, &org, "ann@example.com", MemberRole::Administrator).await;
    let sign_in = |origin: &str, host: &str| {
        let body = json!({ "email": "ann@example.com", "password": super::PASSWORD });
        Call::new("POST", "/app/sign-in").json(&body).header("origin", origin).header("host", host)
    };
    app.send(sign_in("http://localhost:8080", "localhost:8080")).await.ok(200);
    app.send(sign_in("https://verify.example.com", "verify.example.com")).await.ok(200);
    app.send(sign_in("http://localhost:8081", "localhost:8080")).await.error(403, "cross_site_request");
    app.stop().await;
}
