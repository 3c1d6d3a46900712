//! Tests of `GET /v1/check-key`.

use probity_access::minting::KeyRequest;
use probity_account::api_key::KeyKind;
use probity_account::credits::CreditBucket;
use serde_json::json;

use crate::test_app::{Call, TestApp};

#[tokio::test]
async fn a_key_is_told_its_name_its_organization_and_what_is_left() {
    let app = TestApp::start().await;
    let org = app.org("Example Ltd", 20).await;
    app.admin.grant(&org, CreditBucket::Subscription, 5, None).await.unwrap();
    let (_, key) = app.new_key(&org, KeyRequest::plain("Sign-up form", KeyKind::Live)).await;
    let expected = json!({
        "name": "Sign-up form", "organization": "Example Ltd", "planType": "metered", "freeMatches": 5, "extraCredits": 20,
    });
    for query in ["", "?check_plan=true", "?check_credits=1&get_token=false", "?check_plan=&get_token=x", "?api_key="] {
        assert_eq!(app.get(&key, &format!("/v1/check-key{query}")).await.ok(200), expected, "{query}");
    }
    // Without a bearer token, the key in the query is the caller.
    let answer = app.send(Call::get(format!("/v1/check-key?api_key={key}"))).await;
    assert_eq!((answer.ok(200), answer.header("deprecation")), (expected, Some("true")));
    app.verify(&key, "no-address").await.ok(200);
    let left = app.get(&key, "/v1/check-key").await.ok(200);
    assert_eq!((&left["freeMatches"], &left["extraCredits"]), (&4.into(), &20.into()));
    app.stop().await;
}

#[tokio::test]
async fn another_key_of_the_organization_can_be_named() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let now = app.now(&org).await;
    let named = |name: &str, kind| KeyRequest::plain(name, kind);
    let (_, public) = app.new_key(&org, named("Widget", KeyKind::Pub)).await;
    let (_, second) = app.new_key(&org, named("Second", KeyKind::Live)).await;
    let (_, expired) = app.new_key(&org, KeyRequest { expires_at: Some(now), ..named("Expired", KeyKind::Live) }).await;
    let (revoked, revoked_secret) = app.new_key(&org, named("Revoked", KeyKind::Live)).await;
    app.admin.revoke_key(&org, &revoked.id.to_string()).await.unwrap();
    for (query, name) in [
        (format!("api_key={second}"), "Second"),
        (format!("public_key={public}"), "Widget"),
        (format!("api_key={public}"), "Widget"),
        (format!("api_key={second}&public_key={public}"), "Widget"),
    ] {
        let answer = app.get(&key, &format!("/v1/check-key?{query}")).await;
        assert_eq!(answer.ok(200)["name"], name);
        assert!(!answer.headers.contains_key("deprecation"), "the caller came with a token");
    }
    for text in [&expired, &revoked_secret, &"unknown".to_owned(), &"x".repeat(3_000)] {
        app.get(&key, &format!("/v1/check-key?api_key={text}")).await.error(404, "not_found");
    }
    app.get(&key, "/v1/check-key?public_key=%ff").await.error(400, "invalid_request");
    app.stop().await;
}

#[tokio::test]
async fn a_widgets_key_learns_nothing_about_its_organization() {
    let app = TestApp::start().await;
    let org = app.org("Example Ltd", 20).await;
    let (_, public) = app.new_key(&org, KeyRequest::plain("Widget", KeyKind::Pub)).await;
    let expected = json!({"name": "Widget", "organization": "", "planType": "", "freeMatches": 0, "extraCredits": 0});
    for call in [
        Call::get("/v1/check-key").key(&public),
        Call::get(format!("/v1/check-key?api_key={public}")),
        Call::get(format!("/v1/check-key?public_key={public}")).key(&public),
    ] {
        assert_eq!(app.send(call).await.ok(200), expected);
    }
    app.stop().await;
}
