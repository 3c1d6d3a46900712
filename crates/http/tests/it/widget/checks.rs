//! Tests of one check: access, result and price.

use probity_account::api_key::KeyKind;
use probity_http::service::ServiceConfig;
use probity_mail::verdict::Reason;
use probity_store::accounts::organization::OrgState;
use probity_store::activity::reports;

use super::{ORIGIN, Visitor, public_key, readable_by};
use crate::test_app::{Call, TestApp};

#[tokio::test]
async fn a_visitor_learns_what_to_do_and_no_more() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let org = app.org("Shop", 100).await;
        let visitor = Visitor::new(app, &public_key(app, &org, None).await);
        let cases = [
            ("ann@honest-mail.com", "ok", None),
            ("nobody@honest-mail.com", "reject", None),
            ("full@honest-mail.com", "reject", None),
            ("nobody@null-mx.com", "reject", None),
            ("info@honest-mail.com", "ok", None),
            ("anyone@takes-all.com", "ok", None),
            ("ann@blocks-us.com", "ok", None),
            ("ann@gmial.com", "fix", Some("ann@gmail.com")),
        ];
        let mut nonce = visitor.nonce().await;
        for (email, result, suggestion) in cases {
            let answer = visitor.asks(email, &nonce).await;
            let mut said = answer.ok(200);
            assert_eq!((readable_by(&answer), answer.header("vary")), (Some(ORIGIN), Some("origin")), "{email}");
            assert_eq!(answer.header("cache-control"), Some("no-store"));
            // The response contains the nonce for the next check and the result, and nothing else.
            let next = said.as_object_mut().unwrap().remove("nonce").unwrap();
            nonce = next.as_str().unwrap().to_owned();
            let mut expected = serde_json::json!({"result": result});
            if let Some(suggestion) = suggestion {
                expected["suggestion"] = suggestion.into();
            }
            assert_eq!(said, expected, "{email}");
        }
        // Priced like live calls: a conclusive verdict costs one credit, any other is free.
        assert_eq!(app.balance(&org).await.spent.total(), 7);
        let mut conn = app.store.read().await.unwrap();
        let today = app.now(&org).await.utc_day();
        let sums = reports::by_source(&mut conn, org.no, today, "widget").await.unwrap();
        let (verified, charged): (Vec<_>, Vec<_>) = sums.iter().map(|sum| (sum.verified, sum.charged)).unzip();
        assert_eq!((verified.iter().sum::<i64>(), charged.iter().sum::<i64>()), (8, 7));
        assert!(sums.iter().any(|sum| (sum.of, sum.charged) == (Reason::FailedExchange, 0)));
    })
    .await;
}

#[tokio::test]
async fn only_listed_origins_may_ask_and_read() {
    let app = TestApp::start().await;
    let org = app.org("Shop", 100).await;
    let key = public_key(&app, &org, None).await;
    let visitor = Visitor::new(&app, &key);
    let nonce = visitor.nonce().await;
    for origin in [
        "https://evil.example",
        "http://shop.example.com",
        "https://shop.example.com:8443",
        "https://shop.example.com/",
        "https://SHOP.example.com",
        "https://shop.example.com.evil.example",
        "null",
        "",
        "*",
    ] {
        let stranger = Visitor { origin, ..visitor.clone() };
        for answer in [stranger.asks("ann@honest-mail.com", &nonce).await, stranger.asks_nonce().await] {
            answer.error(403, "domain_not_authorized");
            assert_eq!((readable_by(&answer), answer.header("vary")), (None, Some("origin")), "{origin}");
        }
    }
    // Without an origin, and with a key that has no origins.
    let target = format!("/v1/widget/verify?key={key}&nonce={nonce}&email=ann@honest-mail.com");
    let message = app.send(Call::get(&target)).await.error(403, "domain_not_authorized");
    assert!(message.contains("or none was sent"), "{message}");
    let unbound = Visitor::new(&app, &app.key(&org, KeyKind::Pub).await);
    unbound.asks_nonce().await.error(403, "domain_not_authorized");
    // Pages can read errors where they can read results.
    for (email, status) in [("", 400), ("ann@honest-mail.com", 409), ("panics@honest-mail.com", 500)] {
        let nonce = if status == 500 { visitor.nonce().await } else { "old".to_owned() };
        let answer = visitor.asks(email, &nonce).await;
        assert_eq!((answer.status, readable_by(&answer)), (status, Some(ORIGIN)), "{}", answer.text());
    }
    visitor.asks("ann@honest-mail.com", &nonce).await.ok(200);
    // No other path lets other origins read.
    let live = app.key(&org, KeyKind::Live).await;
    let elsewhere = Call::get("/v1/verify?email=ann@honest-mail.com").key(&live).header("origin", ORIGIN);
    assert_eq!(readable_by(&app.send(elsewhere).await), None);
    app.stop().await;
}

/// Browsers send no `Origin` with a GET to the page's own origin.
#[tokio::test]
async fn pages_of_the_service_itself_may_ask_if_the_key_lists_its_origin() {
    let mut config = ServiceConfig::default();
    config.api.public_url = Some(ORIGIN.into());
    let app = TestApp::with(config).await;
    let org = app.org("Shop", 100).await;
    let key = public_key(&app, &org, None).await;
    let target = format!("/v1/widget/nonce?key={key}");
    let from = |site: &'static str, host: &'static str| {
        app.send(Call::get(&target).header("sec-fetch-site", site).header("host", host))
    };
    let nonce = from("same-origin", "proxy.internal").await.ok(200)["nonce"].as_str().unwrap().to_owned();
    let verify = format!("/v1/widget/verify?key={key}&nonce={nonce}&email=ann@honest-mail.com");
    assert_eq!(app.send(Call::get(&verify).header("sec-fetch-site", "same-origin")).await.ok(200)["result"], "ok");
    for site in ["same-site", "cross-site", "none"] {
        from(site, "shop.example.com").await.error(403, "domain_not_authorized");
    }
    app.stop().await;
    // Without a public URL, the requested host counts.
    let app = TestApp::start().await;
    let org = app.org("Shop", 100).await;
    let target = format!("/v1/widget/nonce?key={}", public_key(&app, &org, None).await);
    for (host, status) in [("shop.example.com", 200), ("shop.example.com:443", 200), ("evil.example", 403)] {
        let call = Call::get(&target).header("sec-fetch-site", "same-origin").header("host", host);
        assert_eq!(app.send(call).await.status, status, "{host}");
    }
    app.stop().await;
}

#[tokio::test]
async fn keys_of_other_kinds_are_refused_here_and_public_ones_elsewhere() {
    let app = TestApp::start().await;
    let (org, live) = app.customer().await;
    for (key, status, code) in [
        (live, 403, "forbidden_scope"),
        (app.key(&org, KeyKind::Test).await, 403, "forbidden_scope"),
        (app.restricted(&org, [probity_account::scope::Scope::Verify]).await, 403, "forbidden_scope"),
        ("probity_pub_garbage".to_owned(), 401, "invalid_api_key"),
        (String::new(), 401, "missing_api_key"),
    ] {
        let visitor = Visitor::new(&app, &key);
        for answer in [visitor.asks("ann@honest-mail.com", "x").await, visitor.asks_nonce().await] {
            answer.error(status, code);
            assert_eq!(readable_by(&answer), None);
        }
    }
    // A key in the header is ignored.
    let public = public_key(&app, &org, None).await;
    let call = Call::get("/v1/widget/nonce").key(&public).header("origin", ORIGIN);
    app.send(call).await.error(401, "missing_api_key");
    for path in ["/v1/verify?email=ann@honest-mail.com", "/v1/jobs", "/v1/organization", "/v1/api-keys"] {
        app.get(&public, path).await.error(403, "forbidden_scope");
    }
    assert_eq!(app.balance(&org).await.spent.total(), 0);
    app.stop().await;
}

#[tokio::test]
async fn a_stopped_organization_has_no_widget() {
    let app = TestApp::start().await;
    for status in [OrgState::Suspended, OrgState::Paused, OrgState::Banned] {
        let org = app.org_in(status).await;
        let visitor = Visitor::new(&app, &public_key(&app, &org, None).await);
        let answer = visitor.asks_nonce().await;
        answer.error(403, "forbidden_scope");
        assert_eq!(readable_by(&answer), Some(ORIGIN));
    }
    app.stop().await;
}

#[tokio::test]
async fn other_methods_are_none_of_its_own() {
    let app = TestApp::start().await;
    for path in ["/v1/widget/verify", "/v1/widget/nonce"] {
        for method in ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
            let call = Call::new(method, path).header("origin", ORIGIN).header("access-control-request-method", "GET");
            let answer = app.send(call).await;
            answer.assert_status(405);
            assert_eq!((answer.header("allow"), readable_by(&answer)), (Some("GET"), None), "{method} {path}");
        }
    }
    app.stop().await;
}
