//! Tests of API keys: which ones are accepted, and that a rejection reveals nothing about the key.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use probity_access::minting::KeyRequest;
use probity_account::api_key::{self, Checksum, KeyKind};
use probity_http::service::ServiceConfig;
use probity_store::failpoint::FailpointSide;

use crate::test_app::{BRAND, Call, TestApp, every_byte_encoded, pass};

const ROUTE: &str = "/v1/organization";
const SUNSET: &str = "Tue, 01 Jun 2027 00:00:00 GMT";

/// Returns one invalid key of every class.
async fn bad_keys(app: &TestApp) -> Vec<(&'static str, String)> {
    let (org, good) = app.customer().await;
    let now = app.admin.list_keys(&org).await.unwrap()[0].created_at;
    let expiring = KeyRequest { expires_at: Some(now), ..KeyRequest::plain("expired", KeyKind::Live) };
    let (revoked, revoked_secret) = app.new_key(&org, KeyRequest::plain("revoked", KeyKind::Live)).await;
    app.admin.revoke_key(&org, &revoked.id.to_string()).await.unwrap();
    let mut mistyped = good.clone().into_bytes();
    let last = mistyped.last_mut().unwrap();
    *last = if *last == b'0' { b'1' } else { b'0' };
    vec![
        ("unknown", api_key::mint(BRAND, KeyKind::Live, [9; 32])),
        ("unknown, of another brand", api_key::mint("other", KeyKind::Live, [9; 32])),
        ("unknown, of another form", "sk_9f8e7d6c5b4a".to_owned()),
        ("mistyped", String::from_utf8(mistyped).unwrap()),
        ("in other case", good.to_uppercase()),
        ("cut", good[..good.len() - 1].to_owned()),
        ("lengthened", format!("{good}0")),
        ("expired", app.new_key(&org, expiring).await.1),
        ("revoked", revoked_secret),
        ("long", "x".repeat(4_000)),
        ("a single character", "x".to_owned()),
        ("quoted", "'OR'1'='1".to_owned()),
    ]
}

#[tokio::test]
async fn every_class_of_bad_key_gets_the_same_answer() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let bad = bad_keys(app).await;
        let first = app.get(&bad[0].1, ROUTE).await.without_request();
        for (class, key) in &bad {
            let answer = app.get(key, ROUTE).await;
            answer.error(401, "invalid_api_key");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
            assert!(!answer.headers.contains_key("x-ratelimit-limit"), "{class}");
            assert_eq!(answer.without_request(), first, "{class}");
        }
        let in_query = |key: &str| Call::get(format!("{ROUTE}?api_key={key}"));
        let first = app.send(in_query(&bad[0].1)).await.without_request();
        for (class, key) in &bad {
            let answer = app.send(in_query(key)).await;
            answer.error(401, "invalid_api_key");
            assert_eq!(answer.without_request(), first, "{class}");
        }
    })
    .await;
}

/// A key that cannot be valid by its form alone is rejected without a lookup. Its sender has no key of ours and learns only the
/// documented checksum rule. Every other key costs the same statements, whether it exists or not.
#[tokio::test]
async fn every_bad_key_of_a_sound_form_costs_the_same_statements() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, _) = app.customer().await;
        let kinds = [KeyKind::Live, KeyKind::Rk, KeyKind::Test, KeyKind::Pub];
        let mut bad = bad_keys(app).await;
        for (n, kind) in (1..).zip(kinds) {
            bad.push((kind.as_str(), api_key::mint(BRAND, kind, [n; 32])));
            let (made, secret) = app.new_key(&org, KeyRequest::plain("revoked", kind)).await;
            app.admin.revoke_key(&org, &made.id.to_string()).await.unwrap();
            bad.push(("revoked, of another kind", secret));
        }
        for (class, key) in &bad {
            let mut seen = Vec::new();
            // Twice: a rejection is not cached.
            for _ in 0..2 {
                app.service_store.failpoints().trace();
                app.get(key, ROUTE).await.error(401, "invalid_api_key");
                let traced = app.service_store.failpoints().traced();
                let asked = traced.into_iter().filter(|(point, _)| point.when == FailpointSide::Before);
                let asked = asked.filter(|(point, _)| {
                    point.name.starts_with("accounts::keys::") || point.name.starts_with("accounts::organization::")
                });
                seen.push(asked.map(|(point, times)| (point.name, times)).collect::<Vec<_>>());
            }
            let looked = match api_key::check(key) {
                Checksum::Bad => vec![],
                _ => vec![("accounts::keys::BY_HASH".to_owned(), 1)],
            };
            assert_eq!(seen, [looked.clone(), looked], "{class}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_missing_key_is_not_an_invalid_one() {
    let app = TestApp::start().await;
    let missing = [
        Call::get(ROUTE),
        Call::get(format!("{ROUTE}?api_key=")),
        Call::get(format!("{ROUTE}?api_key")),
        Call::get(format!("{ROUTE}?API_KEY=x")),
        Call::get(ROUTE).header("authorization", ""),
        Call::get(ROUTE).header("authorization", "Bearer"),
        Call::get(ROUTE).header("authorization", "Bearer  "),
        Call::get(ROUTE).header("authorization", "Basic eDp5"),
        Call::get(ROUTE).header("x-api-key", "x"),
    ];
    for call in missing {
        app.send(call).await.error(401, "missing_api_key");
    }
    let malformed = [
        Call::get(ROUTE).header("authorization", "Bearer a b"),
        Call::get(format!("{ROUTE}?api_key=%zz")),
        Call::get(format!("{ROUTE}?api_key=%00")),
        Call::get(format!("{ROUTE}?api_key=%C3%A9")),
    ];
    for call in malformed {
        app.send(call).await.error(401, "invalid_api_key");
    }
    let bytes = Request::get(ROUTE).header("authorization", b"Bearer \xc3\xa9".as_slice());
    app.send_request(bytes.body(Body::empty()).unwrap()).await.error(401, "invalid_api_key");
    app.stop().await;
}

#[tokio::test]
async fn a_key_in_the_query_works_and_is_on_its_way_out() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let encoded = every_byte_encoded(&key);
    for call in [
        Call::get(format!("{ROUTE}?api_key={key}")),
        Call::get(format!("{ROUTE}?x=y&api_key={key}&api_key=second")),
        Call::get(format!("{ROUTE}?api_key={encoded}")),
        Call::get(format!("{ROUTE}?api_key={key}")).header("authorization", "Basic eDp5"),
        Call::get(format!("{ROUTE}?api_key={key}")).header("authorization", "Bearer "),
    ] {
        let answer = app.send(call).await;
        answer.ok(200);
        assert_eq!((answer.header("deprecation"), answer.header("sunset")), (Some("true"), Some(SUNSET)));
    }
    let failed = app.send(Call::get(format!("/v1/verify?api_key={key}"))).await;
    failed.error(400, "invalid_request");
    assert_eq!((failed.header("deprecation"), failed.header("sunset")), (Some("true"), Some(SUNSET)));
    app.stop().await;
}

#[tokio::test]
async fn the_bearer_token_wins() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let good = app.get(&key, &format!("{ROUTE}?api_key=garbage")).await;
    good.ok(200);
    assert!(!good.headers.contains_key("deprecation") && !good.headers.contains_key("sunset"));
    app.get("garbage", &format!("{ROUTE}?api_key={key}")).await.error(401, "invalid_api_key");
    for scheme in ["bearer", "BEARER", "Bearer "] {
        app.send(Call::get(ROUTE).header("authorization", format!("{scheme} {key}"))).await.ok(200);
    }
    app.stop().await;
}

#[tokio::test]
async fn a_key_ends_when_it_expires_or_is_revoked() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let now = app.admin.list_keys(&org).await.unwrap()[0].created_at;
    let wanted = KeyRequest { expires_at: Some(now + 3_600_000), ..KeyRequest::plain("for an hour", KeyKind::Live) };
    let (_, for_an_hour) = app.new_key(&org, wanted).await;
    app.get(&for_an_hour, ROUTE).await.ok(200);
    pass(Duration::from_mins(50)).await;
    app.get(&for_an_hour, ROUTE).await.ok(200);
    pass(Duration::from_mins(10)).await;
    app.get(&for_an_hour, ROUTE).await.error(401, "invalid_api_key");

    // Revocation through the API takes effect at once; outside of the service, within one second.
    let (doomed, secret) = app.new_key(&org, KeyRequest::plain("doomed", KeyKind::Live)).await;
    app.get(&secret, ROUTE).await.ok(200);
    app.send(Call::new("DELETE", format!("/v1/api-keys/{}", doomed.id)).key(&key)).await.ok(200);
    app.get(&secret, ROUTE).await.error(401, "invalid_api_key");
    let (doomed, secret) = app.new_key(&org, KeyRequest::plain("doomed", KeyKind::Live)).await;
    app.get(&secret, ROUTE).await.ok(200);
    app.admin.revoke_key(&org, &doomed.id.to_string()).await.unwrap();
    pass(Duration::from_secs(1)).await;
    app.get(&secret, ROUTE).await.error(401, "invalid_api_key");
    app.stop().await;
}
