//! Tests of two-factor authentication: codes count once, and the password alone is not enough.

use std::time::Duration;

use probity_access::people::totp;
use probity_account::role::MemberRole;
use probity_store::accounts::organization::OrgRecord;
use serde_json::{Value, json};

use super::browser::Browser;
use super::{PASSWORD, config, signed_in};
use crate::test_app::{TestApp, at_one_moment, pass};

const ANN: &str = "ann@example.com";
/// Longer than any code is valid.
const LATER: Duration = Duration::from_secs(95);

/// Decodes the displayed form of a secret.
fn decoded(secret: &str) -> Vec<u8> {
    let mut bits = 0_u64;
    let (mut held, mut bytes) = (0, Vec::new());
    for char in secret.bytes() {
        let five = if char.is_ascii_uppercase() { char - b'A' } else { char - b'2' + 26 };
        bits = bits << 5 | u64::from(five);
        held += 5;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).unwrap());
        }
    }
    bytes
}

async fn code(app: &TestApp, org: &OrgRecord, secret: &[u8], late: i64) -> String {
    totp::code(secret, totp::step(app.now(org).await) + late, 6)
}

/// Enables two-factor authentication. Returns the secret and the recovery codes.
pub(super) async fn turned_on(app: &TestApp, org: &OrgRecord, browser: &mut Browser<'_>) -> (Vec<u8>, Vec<String>) {
    let begun = browser.post("/app/second-factor", &json!({ "current": PASSWORD })).await.ok(200);
    let secret = decoded(begun["secret"].as_str().unwrap());
    assert_eq!(secret.len(), totp::SECRET_BYTES);
    assert!(begun["otpauth_uri"].as_str().unwrap().starts_with("otpauth://totp/Probity:ann%40example%2Ecom?secret="));
    let given = json!({ "code": code(app, org, &secret, 0).await });
    let confirmed = browser.post("/app/second-factor/confirm", &given).await.ok(200);
    let codes = confirmed["recovery_codes"].as_array().unwrap();
    assert_eq!(confirmed["session"]["recovery_codes_left"], codes.len());
    (secret, codes.iter().map(|code| code.as_str().unwrap().to_owned()).collect())
}

fn with_code(code: &str) -> Value {
    json!({ "email": ANN, "password": PASSWORD, "code": code })
}

#[tokio::test]
async fn a_second_factor_is_asked_for_beside_the_password() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        let (_, mut browser) = signed_in(app, &org, ANN, MemberRole::Contributor).await;
        browser.post("/app/second-factor", &json!({ "current": PASSWORD })).await.ok(200);
        Browser::new(app).sign_in(ANN, PASSWORD).await.ok(200);
        browser.post("/app/second-factor/confirm", &json!({ "code": "000000" })).await.error(401, "sign_in_failed");
        let mut copy = Browser::new(app);
        copy.cookies = browser.cookies.clone();
        // Before the next code begins, even on a slow machine.
        let (secret, codes) = at_one_moment(async {
            let (secret, codes) = turned_on(app, &org, &mut browser).await;
            let used = code(app, &org, &secret, 0).await;
            Browser::new(app).post("/app/sign-in", &with_code(&used)).await.error(401, "sign_in_failed");
            (secret, codes)
        })
        .await;
        assert_eq!(codes.len(), 10);
        assert!(!copy.is_in().await, "the session has another token");
        assert_eq!(browser.get("/app/session").await.ok(200)["two_factor"], json!(true));
        browser.post("/app/second-factor", &json!({ "current": PASSWORD })).await.error(409, "conflict");

        let mut other = Browser::new(app);
        other.sign_in(ANN, PASSWORD).await.error(401, "second_factor_required");
        assert!(!other.is_in().await);
        other.sign_in(ANN, "wrong horse battery staple").await.error(401, "sign_in_failed");
        pass(LATER).await;
        let fresh = code(app, &org, &secret, 0).await;
        other.post("/app/sign-in", &with_code(&fresh)).await.ok(200);
        Browser::new(app).post("/app/sign-in", &with_code(&fresh)).await.error(401, "sign_in_failed");
        let before = code(app, &org, &secret, -1).await;
        Browser::new(app).post("/app/sign-in", &with_code(&before)).await.error(401, "sign_in_failed");
    })
    .await;
}

#[tokio::test]
async fn a_session_alone_turns_nothing_on_and_guesses_nothing() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        let (_, mut browser) = signed_in(app, &org, ANN, MemberRole::Contributor).await;
        browser.post("/app/second-factor", &json!({})).await.error(400, "invalid_request");
        let begin = |current: &str| json!({ "current": current });
        browser.post("/app/second-factor", &begin("wrong horse battery staple")).await.error(401, "sign_in_failed");
        browser.post("/app/second-factor/confirm", &json!({ "code": "000000" })).await.error(404, "not_found");
        browser.post("/app/second-factor", &begin(PASSWORD)).await.ok(200);
        at_one_moment(async {
            // Codes and passwords share one counter, and the correct password does not reset the counter for codes.
            let mut statuses = Vec::new();
            for guess in 0..4 {
                let guess = json!({ "code": format!("{guess:06}") });
                statuses.push(browser.post("/app/second-factor/confirm", &guess).await.status);
                statuses.push(browser.post("/app/second-factor", &begin(PASSWORD)).await.status);
            }
            assert_eq!(statuses, [401, 200, 401, 200, 401, 200, 401, 429]);
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_code_of_recovery_takes_its_place_once() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        let (_, mut browser) = signed_in(app, &org, ANN, MemberRole::Contributor).await;
        let (_, codes) = turned_on(app, &org, &mut browser).await;
        Browser::new(app).post("/app/sign-in", &with_code(&codes[0].to_uppercase())).await.ok(200);
        Browser::new(app).post("/app/sign-in", &with_code(&codes[0])).await.error(401, "sign_in_failed");
        let left = browser.get("/app/session").await.ok(200)["recovery_codes_left"].clone();
        assert_eq!((codes.len(), left), (10, json!(9)));
        browser
            .delete("/app/second-factor", &json!({ "code": "aaaa-aaaa-aaaa-aaaa" }))
            .await
            .error(401, "sign_in_failed");
        let mut copy = Browser::new(app);
        copy.cookies = browser.cookies.clone();
        browser.delete("/app/second-factor", &json!({ "code": codes[1] })).await.ok(200);
        assert!(!copy.is_in().await, "the session has another token");
        let session = browser.get("/app/session").await.ok(200);
        assert_eq!((&session["two_factor"], &session["recovery_codes_left"]), (&json!(false), &Value::Null));
        browser.delete("/app/second-factor", &json!({ "code": codes[2] })).await.error(404, "not_found");
        Browser::new(app).sign_in(ANN, PASSWORD).await.ok(200);
    })
    .await;
}

#[tokio::test]
async fn a_link_does_not_take_the_place_of_a_second_factor() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        let (ann, mut browser) = signed_in(app, &org, ANN, MemberRole::Contributor).await;
        let (_, codes) = turned_on(app, &org, &mut browser).await;
        let path = format!("/app/link#{}", super::link(app, &ann).await);
        let mut other = Browser::new(app);
        let new = "a quite different password";
        other.post(&path, &json!({ "password": new })).await.error(401, "second_factor_required");
        other.post(&path, &json!({ "password": new, "code": "000000" })).await.error(401, "sign_in_failed");
        assert!(browser.is_in().await, "nothing of it has been done");
        other.post(&path, &json!({ "password": new, "code": codes[0] })).await.ok(200);
        // A member who has lost the second factor gets help from the operator.
        let token = app.admin.reset_link(&ann, true).await.unwrap();
        let path = format!("/app/link#{token}");
        let answer = Browser::new(app).post(&path, &json!({ "password": PASSWORD })).await.ok(200);
        assert_eq!(answer["session"]["two_factor"], json!(false));
    })
    .await;
}

#[tokio::test]
async fn guessing_codes_waits_like_guessing_passwords() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        let (_, mut browser) = signed_in(app, &org, ANN, MemberRole::Contributor).await;
        turned_on(app, &org, &mut browser).await;
        at_one_moment(async {
            let mut statuses = Vec::new();
            for guess in 0..8 {
                let mut other = Browser::new(app);
                // Attempts without a code do not reset the counter.
                statuses.push(other.post("/app/sign-in", &with_code(&format!("{guess:06}"))).await.status);
                other.sign_in(ANN, PASSWORD).await;
            }
            assert_eq!(statuses, [401, 401, 401, 401, 401, 401, 429, 429]);
            let mut statuses = Vec::new();
            for guess in 0..8 {
                statuses
                    .push(browser.delete("/app/second-factor", &json!({ "code": format!("{guess:06}") })).await.status);
            }
            assert_eq!(statuses, [401, 401, 401, 401, 401, 401, 429, 429], "also with a session");
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn guessing_codes_through_a_link_waits_too() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        let (ann, mut browser) = signed_in(app, &org, ANN, MemberRole::Contributor).await;
        turned_on(app, &org, &mut browser).await;
        let path = format!("/app/link#{}", super::link(app, &ann).await);
        at_one_moment(async {
            let mut statuses = Vec::new();
            let networks = ["2001:db8:1::1", "2001:db8:2::1", "2001:db8:3::1", "2001:db8:4::1"];
            for (guess, from) in networks.into_iter().cycle().take(8).enumerate() {
                let mut other = Browser::at(app, from);
                let guess = json!({ "password": PASSWORD, "code": format!("{guess:06}") });
                statuses.push(other.post(&path, &guess).await.status);
                // Attempts without a code do not reset the counter.
                other.post(&path, &json!({ "password": PASSWORD })).await;
            }
            assert_eq!(statuses, [401, 401, 401, 401, 401, 401, 429, 429]);
        })
        .await;
        assert!(browser.is_in().await);
    })
    .await;
}
