//! Responses of providers and browsers that start no session.

use std::time::Duration;

use serde_json::{Value, json};

use super::provider::Said;
use super::{BOB, Customer, DOMAIN, OWNER, Outside, come_back};
use crate::people::PASSWORD;
use crate::people::browser::Browser;
use crate::test_app::{TestApp, at_one_moment, pass};

const DOCUMENT: &str = "/.well-known/openid-configuration";

#[tokio::test]
async fn what_a_token_says_must_fit() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut customer = Customer::with_sso(app, &outside).await;
        for (claims, word) in [
            (json!({ "nonce": "of another request" }), "stale"),
            (json!({ "exp": 1_700_000_000 }), "stale"),
            (json!({ "aud": "another client" }), "token"),
            (json!({ "aud": ["another", super::CLIENT] }), "token"),
            (json!({ "iss": "https://another.example" }), "token"),
            (json!({ "email": null }), "no_email"),
            (json!({ "email": "nobody" }), "domain"),
            (json!({ "email_verified": false }), "unverified"),
            (json!({ "email_verified": null }), "unverified"),
            (json!({ "email": "bob@another-team.com" }), "domain"),
            (json!({ "email": "bob@sub.acme-team.com" }), "domain"),
            (json!({ "email": "bob@acme-team.com.evil.example" }), "domain"),
        ] {
            outside.provider.change(|script| script.claims = claims.clone());
            assert_eq!(customer.refused().await, word, "{claims}");
        }
        outside.provider.restore();
        customer.owner.post("/app/sso/test", &json!({})).await.ok(200);
        for header in
            [json!({ "alg": "none" }), json!({ "alg": "HS256" }), json!({ "kid": "another" }), json!({ "crit": [] })]
        {
            outside.provider.change(|script| script.header = header.clone());
            assert_eq!(customer.refused().await, "token", "{header}");
        }
        assert_eq!(customer.members().await, 1);
        // The organization can declare that its provider does not send the claim.
        outside.provider.restore();
        outside.provider.change(|script| script.claims = json!({ "email_verified": null }));
        customer.set(json!({ "trusts_email": true })).await.ok(200);
        customer.owner.post("/app/sso/test", &json!({})).await.ok(200);
        assert_eq!(customer.refused().await, "");
    })
    .await;
}

#[tokio::test]
async fn an_answer_is_for_the_browser_that_began_and_comes_once() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut customer = Customer::with_sso(app, &outside).await;
        let mut browser = Browser::new(app);
        let path = customer.go(&mut browser, BOB).await;
        let kept = browser.cookies.clone();
        let stale = "/#/sign-in?sso=stale";
        // An attacker's link: without a sign-in in progress, and during another one.
        assert_eq!(come_back(&mut Browser::new(app), &path).await, stale);
        let mut other = Browser::new(app);
        customer.go(&mut other, BOB).await;
        assert_eq!(come_back(&mut other, &path).await, stale);
        for wrong in [
            "/app/sso/callback",
            "/app/sso/callback?code=c1",
            "/app/sso/callback?state=&code=c1",
            &format!("{path}&state=x"),
        ] {
            let mut browser = Browser::new(app);
            browser.cookies.clone_from(&kept);
            assert_eq!(come_back(&mut browser, wrong).await, stale, "{wrong}");
        }
        let exchanged = outside.provider.requests("/token");
        assert_eq!(exchanged, 0, "nothing of it reached the provider");

        let path = customer.go(&mut browser, BOB).await;
        let kept = browser.cookies.clone();
        assert_eq!(come_back(&mut browser, &path).await, "/");
        let mut thief = Browser::new(app);
        thief.cookies = kept;
        assert_eq!(come_back(&mut thief, &path).await, stale);
        assert!(browser.is_in().await && !thief.is_in().await);
        assert_eq!(outside.provider.requests("/token"), 1);

        let mut slow = Browser::new(app);
        let path = customer.go(&mut slow, BOB).await;
        pass(Duration::from_mins(10)).await;
        assert_eq!(come_back(&mut slow, &path).await, stale);
        // The settings must be the same as at the start.
        let mut before = Browser::new(app);
        let path = customer.go(&mut before, BOB).await;
        customer.set(json!({})).await.ok(200);
        assert_eq!(come_back(&mut before, &path).await, stale);
        let path = customer.go(&mut before, BOB).await;
        customer.delete().await.ok(200);
        assert_eq!(come_back(&mut before, &path).await, "/#/sign-in?sso=off");
        // New settings after a deletion are different ones.
        customer.set(json!({})).await.ok(200);
        customer.prove(DOMAIN).await.ok(200);
        let path = customer.go(&mut before, BOB).await;
        customer.delete().await.ok(200);
        pass(Duration::from_secs(1)).await;
        customer.set(json!({})).await.ok(200);
        customer.prove(DOMAIN).await.ok(200);
        assert_eq!(come_back(&mut before, &path).await, stale);
    })
    .await;
}

#[tokio::test]
async fn providers_may_decline_and_answers_name_their_provider() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let customer = Customer::with_sso(app, &outside).await;
        let ended = async |more: &str| {
            let mut browser = Browser::new(app);
            let path = customer.go(&mut browser, BOB).await.replace("code=c1", more);
            come_back(&mut browser, &path).await.replace("/#/sign-in?sso=", "")
        };
        assert_eq!(ended("error=access_denied").await, "declined");
        assert_eq!(ended("x=y").await, "stale");
        assert_eq!(ended("code=c1&iss=https%3A%2F%2Fanother.example").await, "token");
        assert_eq!(ended(&format!("code=c1&iss={}", outside.provider.issuer())).await, "/");
        for (said, word) in [
            (Said::Status(400, ""), "client"),
            (Said::Status(503, ""), "unreachable"),
            (Said::Status(302, "location: http://127.0.0.1:1/\r\n"), "unreachable"),
            (Said::Endless, "document"),
        ] {
            outside.provider.change(|script| script.said.insert("/token", said));
            assert_eq!(ended("code=c1").await, word);
        }
    })
    .await;
}

#[tokio::test]
async fn a_provider_that_fails_keeps_no_network_from_passwords() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut customer = Customer::with_sso(app, &outside).await;
        let office = "203.0.113.7";
        let mut browser = Browser::at(app, office);
        outside.provider.change(|script| script.said.insert("/token", Said::Status(503, "")));
        let path = customer.go(&mut browser, BOB).await;
        let kept = browser.cookies.clone();
        assert_eq!(come_back(&mut browser, &path).await, "/#/sign-in?sso=unreachable");
        for _ in 0..40 {
            browser.cookies.clone_from(&kept);
            assert_eq!(come_back(&mut browser, &path).await, "/#/sign-in?sso=stale");
        }
        outside.provider.change(|script| script.said.insert(DOCUMENT, Said::Status(503, "")));
        customer.owner.post("/app/sso/test", &json!({})).await.ok(200);
        for _ in 0..40 {
            let begun = browser.post("/app/sso/sign-in", &json!({ "email": BOB })).await;
            begun.error(503, "service_unavailable");
        }
        Browser::at(app, office).sign_in(OWNER, PASSWORD).await.ok(200);
        // Clients that try many domains are slowed down.
        let unknown = json!({ "email": "bob@another-team.com" });
        let tried = at_one_moment(async {
            for _ in 0..40 {
                let answer = browser.post("/app/sso/sign-in", &unknown).await;
                if answer.status != 404 {
                    return answer.status;
                }
            }
            404
        });
        assert_eq!(tried.await, 429);
    })
    .await;
}

#[tokio::test]
async fn a_new_key_is_fetched_once() {
    let outside = Outside::new().await;
    let app = TestApp::with(outside.config()).await;
    let customer = Customer::with_sso(&app, &outside).await;
    assert_eq!(customer.refused().await, "");
    outside.provider.change(|script| script.roll("second"));
    // The first keys are too new to be fetched again.
    assert_eq!(customer.refused().await, "token");
    assert_eq!(outside.provider.requests("/keys"), 1);
    pass(Duration::from_mins(1)).await;
    assert_eq!(customer.refused().await, "");
    assert_eq!((outside.provider.requests("/keys"), outside.provider.requests(DOCUMENT)), (2, 1));
    outside.provider.change(|script| script.header = json!({ "kid": "made up" }));
    for _ in 0..3 {
        assert_eq!(customer.refused().await, "token");
    }
    assert_eq!(outside.provider.requests("/keys"), 2, "tokens with made-up keys cause no requests");
    // A new key may have the name of the old one.
    outside.provider.change(|script| script.header = json!({}));
    outside.provider.change(|script| script.roll("second"));
    assert_eq!(customer.refused().await, "token");
    pass(Duration::from_mins(1)).await;
    assert_eq!(customer.refused().await, "");
    assert_eq!(outside.provider.requests("/keys"), 3);
    app.stop().await;
}

#[tokio::test]
async fn a_provider_that_cannot_be_used_is_told() {
    let outside = Outside::new().await;
    let app = TestApp::with(outside.config()).await;
    let mut customer = Customer::with_sso(&app, &outside).await;
    let tested = async |customer: &mut Customer<'_>| {
        let tested = at_one_moment(customer.owner.post("/app/sso/test", &json!({}))).await.ok(200);
        assert_eq!(tested["works"], json!(tested["fault"].is_null()));
        tested["fault"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(tested(&mut customer).await, "");
    for (path, said, word) in [
        (DOCUMENT, Said::Status(404, ""), "no_document"),
        (DOCUMENT, Said::Status(302, "location: http://127.0.0.1:1/\r\n"), "no_document"),
        (DOCUMENT, Said::Status(200, ""), "document"),
        (DOCUMENT, Said::Endless, "document"),
        ("/keys", Said::Status(500, ""), "no_document"),
        ("/keys", Said::Status(200, ""), "keys"),
        ("/keys", Said::Endless, "document"),
    ] {
        outside.provider.restore();
        outside.provider.change(|script| script.said.insert(path, said));
        assert_eq!(tested(&mut customer).await, word, "{path}");
    }
    let documents: [(Value, &str); 4] = [
        (json!({ "issuer": "https://another.example" }), "issuer_differs"),
        (json!({ "token_endpoint": "http://10.0.0.1/token" }), "endpoint"),
        (json!({ "jwks_uri": "https://127.0.0.1:9/keys" }), "blocked"),
        (json!({ "id_token_signing_alg_values_supported": ["HS256", "none"] }), "no_algorithm"),
    ];
    for (document, word) in documents {
        outside.provider.restore();
        outside.provider.change(|script| script.document = document);
        assert_eq!(tested(&mut customer).await, word);
    }
    // The difference is shown, and is none if it is only a slash.
    outside.provider.restore();
    outside.provider.change(|script| script.document = json!({ "issuer": "https://another.example/x" }));
    let differs = at_one_moment(customer.owner.post("/app/sso/test", &json!({}))).await.ok(200);
    assert_eq!(differs["named"], "https://another.example/x");
    let slashed = format!("{}/", outside.provider.issuer());
    outside.provider.change(|script| script.document = json!({ "issuer": slashed }));
    assert_eq!(tested(&mut customer).await, "");
    assert_eq!(customer.refused().await, "");
    outside.provider.restore();
    outside.provider.change(|script| script.said.insert(DOCUMENT, Said::Nothing));
    let nothing = json!({});
    let waiting = customer.owner.post("/app/sso/test", &nothing);
    let (waited, ()) = tokio::join!(waiting, pass(Duration::from_secs(6)));
    assert_eq!(waited.ok(200)["fault"], "timed_out");
    // A recent failure is not repeated for each visitor.
    let before = outside.provider.requests(DOCUMENT);
    let mut visitor = Browser::new(&app);
    visitor.post("/app/sso/sign-in", &json!({ "email": BOB })).await.error(503, "service_unavailable");
    assert_eq!(outside.provider.requests(DOCUMENT), before);
    for inside in ["https://127.0.0.1:9", "https://10.0.0.1", "https://169.254.169.254", "https://localhost"] {
        customer.set(json!({ "issuer": inside })).await.ok(200);
        assert_eq!(tested(&mut customer).await, "blocked", "{inside}");
    }
    app.stop().await;
}
