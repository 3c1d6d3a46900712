//! Tests of sources of outcomes: sending services that post events to a URL.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use probity_access::secrets::hex;
use probity_account::api_key::KeyKind;
use probity_backend::outcomes::sns::SnsCertificate;
use probity_http::service::ServiceConfig;
use probity_service::app::ApiConfig;
use probity_store::accounts::organization::OrgState;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::test_app::{Call, TestApp, at_one_moment, pass};

const PATH: &str = "/v1/outcome-sources";
/// Beginning of a P-256 public key.
const P256: &str = "3059301306072a8648ce3d020106082a8648ce3d030107034200";

async fn make(app: &TestApp, key: &str, wish: Value) -> Value {
    app.send(Call::post(PATH, wish.to_string()).key(key)).await.ok(201)
}

/// Returns whether an address is on a suppression list.
async fn is_on(app: &TestApp, key: &str, list: &str, email: &str) -> bool {
    let shown = app.get(key, &format!("/v1/organization/suppressions/{list}?email={email}")).await.ok(200);
    shown["lookup"]["listed"] == true
}

#[tokio::test]
async fn a_source_is_made_used_and_deleted() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let made = make(app, &key, json!({"name": "Letters", "service": "postmark"})).await;
        let url = made["url"].as_str().unwrap().to_owned();
        assert!(url.starts_with(&format!("/hooks/outcomes/{}/", made["id"].as_str().unwrap())), "{url}");
        let event =
            json!({"RecordType": "SpamComplaint", "Email": "ann@example.org", "BouncedAt": "2026-11-20T08:00:00Z"});
        let post = |url: &str| Call::post(url, event.to_string());
        for wrong in [format!("{url}0"), url.replace("osr_0", "osr_1"), format!("/hooks/outcomes/x/{url}")] {
            app.send(post(&wrong)).await.error(404, "not_found");
        }
        assert!(!is_on(app, &key, "complained", "ann@example.org").await);
        app.send(post(&url)).await.ok(200);
        app.send(post(&url)).await.ok(200);
        assert!(is_on(app, &key, "complained", "ann@example.org").await);
        let listed = app.get(&key, PATH).await;
        assert!(!listed.text().contains("hooks"), "the URL is shown once");
        let listed = listed.ok(200);
        assert_eq!(
            (&listed["data"][0]["service"], &listed["data"][0]["name"]),
            (&json!("postmark"), &json!("Letters"))
        );
        assert!(listed["data"][0]["last_event_at"].is_string());

        let test = app.key(&org, KeyKind::Test).await;
        assert_eq!(app.get(&test, PATH).await.ok(200)["data"], json!([]));
        let gone = || Call::new("DELETE", format!("{PATH}/{}", made["id"].as_str().unwrap()));
        app.send(gone().key(&test)).await.error(404, "not_found");
        app.send(gone().key(&key)).await.ok(200);
        app.send(post(&url)).await.error(404, "not_found");
    })
    .await;
}

fn complaint(url: &str, email: &str) -> Call {
    Call::post(url, json!({"RecordType": "SpamComplaint", "Email": email}).to_string())
}

#[tokio::test]
async fn a_flood_is_told_when_to_come_again_and_leaves_room_to_others() {
    let api = ApiConfig { org_per_minute: 8, ..ApiConfig::default() };
    TestApp::each(ServiceConfig { api, ..ServiceConfig::default() }, async |app| {
        let (_, key) = app.customer().await;
        let wish = json!({"name": "Letters", "service": "postmark"});
        let made = [make(app, &key, wish.clone()).await, make(app, &key, wish).await];
        let urls = made.map(|made| made["url"].as_str().unwrap().to_owned());
        let refused = at_one_moment(async {
            for url in &urls {
                for _ in 0..4 {
                    app.send(complaint(url, "ann@example.org")).await.ok(200);
                }
            }
            app.send(complaint(&urls[0], "late@example.org")).await
        });
        let refused = refused.await;
        refused.error(429, "rate_limited");
        assert!(!is_on(app, &key, "complained", "late@example.org").await);
        pass(Duration::from_secs(refused.number("retry-after").unsigned_abs())).await;
        app.send(complaint(&urls[0], "late@example.org")).await.ok(200);
        assert!(is_on(app, &key, "complained", "late@example.org").await);
    })
    .await;
}

#[tokio::test]
async fn a_suspended_organization_stores_no_outcomes() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let made = make(app, &key, json!({"name": "Letters", "service": "postmark"})).await;
        let url = made["url"].as_str().unwrap();
        for status in [OrgState::Suspended, OrgState::Paused, OrgState::Banned] {
            app.admin.set_status(&org, status).await.unwrap();
            app.send(complaint(url, "ann@example.org")).await.error(403, "forbidden_scope");
        }
        app.admin.set_status(&org, OrgState::Active).await.unwrap();
        assert!(!is_on(app, &key, "complained", "ann@example.org").await);
        app.send(complaint(url, "ann@example.org")).await.ok(200);
        assert!(is_on(app, &key, "complained", "ann@example.org").await);
    })
    .await;
}

#[tokio::test]
async fn a_body_without_its_signature_stores_nothing() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random).unwrap();
    let head = (0..P256.len()).step_by(2).map(|at| u8::from_str_radix(&P256[at..at + 2], 16).unwrap());
    let public = STANDARD.encode(head.chain(pair.public_key().as_ref().iter().copied()).collect::<Vec<_>>());
    let made = make(&app, &key, json!({"name": "S", "service": "sendgrid", "signing_key": public})).await;
    let url = made["url"].as_str().unwrap();
    let event = |email: &str| {
        json!([{"email": email, "event": "bounce", "type": "bounce", "reason": "550 5.1.1 no such user", "status": "5.1.1"}]).to_string()
    };
    let signed = |body: &str| STANDARD.encode(pair.sign(&random, format!("1795161600{body}").as_bytes()).unwrap());
    let post = |body: String, signature: &str| {
        let call = Call::post(url, body).header("x-twilio-email-event-webhook-signature", signature);
        call.header("x-twilio-email-event-webhook-timestamp", "1795161600")
    };
    let good = event("ann@example.org");
    app.send(post(event("eve@example.org"), &signed(&good))).await.error(404, "not_found");
    app.send(Call::post(url, good.clone())).await.error(404, "not_found");
    app.send(post(good.clone(), &signed(&good))).await.ok(200);
    assert!(
        is_on(&app, &key, "bounced", "ann@example.org").await && !is_on(&app, &key, "bounced", "eve@example.org").await
    );

    let made = make(&app, &key, json!({"name": "M", "service": "mailgun", "signing_key": "secret"})).await;
    let url = made["url"].as_str().unwrap();
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, b"secret"), b"1795161600t");
    let tag = hex(tag.as_ref());
    let body = |tag: &str| {
        let event = json!({"event": "complained", "recipient": "bob@example.org", "timestamp": 1_795_161_600});
        json!({"signature": {"timestamp": "1795161600", "token": "t", "signature": tag}, "event-data": event})
            .to_string()
    };
    app.send(Call::post(url, body(&tag.replace(&tag[..1], "g")))).await.error(404, "not_found");
    assert!(!is_on(&app, &key, "complained", "bob@example.org").await);
    app.send(Call::post(url, body(&tag))).await.ok(200);
    assert!(is_on(&app, &key, "complained", "bob@example.org").await);
    app.send(Call::post(url, "x".repeat((1 << 20) + 1))).await.error(413, "payload_too_large");
    app.send(Call::post(url, "no json")).await.error(404, "not_found");
    app.send(Call::get(url)).await.error(405, "method_not_allowed");
    app.stop().await;
}

/// Notifications signed with the key of `sns/certificate.pem`: `openssl dgst -sha1 -sign` and `-sha256 -sign` over names and
/// values, one per line.
const NOTIFICATIONS: &str = include_str!("sns/notifications.json");
const CERTIFICATE: &[u8] = include_bytes!("sns/certificate.pem");
const TOPIC: &str = "arn:aws:sns:eu-central-1:123456789012:mail";

#[tokio::test]
async fn amazon_posts_signed_notifications_of_one_topic() {
    let notifications: Value = serde_json::from_str(NOTIFICATIONS).unwrap();
    let config = ServiceConfig::default();
    let at = notifications["bounce"]["SigningCertURL"].as_str().unwrap();
    config.sns_certificates.remember(at, SnsCertificate::parse(CERTIFICATE).unwrap());
    let app = TestApp::with(config).await;
    let (_, key) = app.customer().await;
    let made = make(&app, &key, json!({"name": "SES", "service": "ses", "signing_key": TOPIC})).await;
    let url = made["url"].as_str().unwrap();
    let post = |body: &Value| Call::post(url, body.to_string());
    let changed = |kind: &str, name: &str, value: &str| {
        let mut body = notifications[kind].clone();
        body[name] = value.into();
        body
    };
    let eve = notifications["bounce"]["Message"].as_str().unwrap().replace("ann@", "eve@");
    let signature = notifications["complaint"]["Signature"].as_str().unwrap();
    for forged in [
        changed("bounce", "Message", &eve),
        changed("bounce", "SignatureVersion", "2"),
        changed("complaint", "SignatureVersion", "1"),
        changed("bounce", "Signature", signature),
        changed("bounce", "Timestamp", "2026-11-21T08:00:01.000Z"),
        changed("complaint", "Subject", "other"),
        changed("bounce", "Type", "UnsubscribeConfirmation"),
        json!({}),
    ] {
        app.send(post(&forged)).await.error(404, "not_found");
    }
    // A certificate that is not cached must be fetched, and this network has no Amazon. SNS retries.
    let elsewhere = at.replace("0123456789abcdef", "fedcba9876543210");
    app.send(post(&changed("bounce", "SigningCertURL", &elsewhere))).await.error(503, "service_unavailable");
    assert!(app.get(&key, PATH).await.ok(200)["data"][0]["last_event_at"].is_null());

    app.send(post(&notifications["bounce"])).await.ok(200);
    app.send(post(&notifications["complaint"])).await.ok(200);
    assert!(is_on(&app, &key, "bounced", "ann@example.org").await);
    assert!(is_on(&app, &key, "complained", "bob@example.org").await);
    assert!(!is_on(&app, &key, "bounced", "eve@example.org").await);
    app.send(post(&notifications["subscription"])).await.error(503, "service_unavailable");

    let other = json!({"name": "SES", "service": "ses", "signing_key": TOPIC.replace("mail", "other")});
    let made = make(&app, &key, other).await;
    let call = Call::post(made["url"].as_str().unwrap(), notifications["bounce"].to_string());
    app.send(call).await.error(404, "not_found");
    app.stop().await;
}

#[tokio::test]
async fn what_is_no_source_is_refused() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let table = [
        (json!({"name": "S", "service": "sendgrid"}), "signing_key: is required"),
        (json!({"name": "S", "service": "sendgrid", "signing_key": "x"}), "signing_key: must be the verification key"),
        (json!({"name": "S", "service": "postmark", "signing_key": "x"}), "signing_key: must be omitted"),
        (json!({"name": "S", "service": "ses"}), "signing_key: is required"),
        (
            json!({"name": "S", "service": "ses", "signing_key": "mail"}),
            "signing_key: must be the ARN of the SNS topic",
        ),
        (json!({"name": "S", "service": "mailgun", "signing_key": " "}), "signing_key: must have 1 to 500 bytes"),
        (json!({"name": "S", "service": "smoke"}), "service: must be one of postmark"),
        (json!({"name": "", "service": "postmark"}), "name"),
        (json!({"service": "postmark"}), "name: is required"),
    ];
    for (wish, expected) in table {
        let message = app.send(Call::post(PATH, wish.to_string()).key(&key)).await.error(400, "invalid_request");
        assert!(message.starts_with(expected), "{message}");
    }
    for n in 0..20 {
        make(&app, &key, json!({"name": format!("S{n}"), "service": "sparkpost"})).await;
    }
    let full = Call::post(PATH, json!({"name": "S", "service": "sparkpost"}).to_string()).key(&key);
    app.send(full).await.error(409, "conflict");
    app.stop().await;
}
