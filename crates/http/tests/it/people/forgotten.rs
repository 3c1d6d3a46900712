//! Tests of forgotten passwords: the mailed link, and that responses do not reveal whose address it is.

use std::time::Duration;

use probity_access::mail::MailConfig;
use probity_account::role::MemberRole;
use probity_http::service::ServiceConfig;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::sync::mpsc::UnboundedReceiver;

use super::browser::Browser;
use super::{PASSWORD, config, link, signed_in};
use crate::mail::{after, relay, until_measured};
use crate::test_app::{PLENTY, TestApp, at_one_moment, pass};

const PATH: &str = "/app/forgotten-password";
/// Password that replaces the forgotten one.
const NEW: &str = "another horse, another battery";
const MINUTE: Duration = Duration::from_mins(1);

/// Returns the configuration of a service with a relay, and the mail that the relay accepts.
pub(super) async fn mailing() -> (ServiceConfig, UnboundedReceiver<String>) {
    let (address, seen) = relay(&[]).await;
    let url = format!("smtp://{address}").into();
    let mail = MailConfig::new(&url, "Probity <no-reply@example.com>", "https://verify.example.com").unwrap();
    (ServiceConfig { mail: Some(mail), ..config() }, seen)
}

/// Returns the path of the link in a mail.
fn path(mail: &str) -> String {
    let (_, secret) = mail.split_once("https://verify.example.com/#/link/").expect(mail);
    format!("/app/link#{}", &secret[..43])
}

/// Waits until the nth mail, which goes to Ann, is recorded: if time passed before, it would be sent again.
async fn mailed(nth: u32, app: &TestApp, seen: &mut UnboundedReceiver<String>) -> String {
    let mail = after(Duration::from_secs(6), seen).await;
    assert!(mail.contains("To: ann@example.com\r\n"), "{mail}");
    until_measured(app, "sent", nth).await;
    mail
}

#[tokio::test]
async fn a_forgotten_password_is_replaced_by_a_mailed_link_once() {
    let (config, seen) = mailing().await;
    let seen = Mutex::new(seen);
    TestApp::each(config, async |app| {
        let mut seen = seen.lock().await;
        let org = app.org("Example Ltd", PLENTY).await;
        let (ann, mut left_open) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        let mut browser = Browser::new(app);
        assert_eq!(
            browser.get("/app/sign-in").await.ok(200),
            json!({ "sends_mail": true, "sso": false, "https_url": null })
        );
        let ask = json!({ "email": " Ann@Example.com ", "language": "de" });
        let known = browser.post(PATH, &ask).await.ok(200);
        let unknown = browser.post(PATH, &json!({ "email": "nobody@example.com" })).await.ok(200);
        assert_eq!((&known, &known["works_minutes"]), (&unknown, &json!(60)));

        let mail = mailed(1, app, &mut seen).await;
        assert!(mail.contains("bei Example Ltd auf Probity wurde ein neues Passwort angefordert"), "{mail}");
        let shown = browser.get(&path(&mail)).await.ok(200);
        assert_eq!((&shown["kind"], &shown["email"]), (&json!("password"), &json!("ann@example.com")));
        // An immediate second request sends no second mail.
        browser.post(PATH, &ask).await.ok(200);
        pass(MINUTE).await;
        assert!(seen.try_recv().is_err());

        assert!(left_open.is_in().await);
        browser.post(&path(&mail), &json!({ "password": NEW })).await.ok(200);
        assert!(browser.is_in().await && !left_open.is_in().await);
        browser.post(&path(&mail), &json!({ "password": PASSWORD })).await.error(404, "not_found");
        left_open.sign_in("ann@example.com", PASSWORD).await.error(401, "sign_in_failed");
        left_open.sign_in("ann@example.com", NEW).await.ok(200);
        let events = browser.get("/app/v1/account/timeline").await.ok(200)["events"].clone();
        let by_system = |event: &&Value| event["kind"] == "reset_link_created" && event["actor"]["type"] == "system";
        let made: Vec<_> = events.as_array().unwrap().iter().filter(by_system).collect();
        assert_eq!(made.len(), 1, "the second request made no link: {events}");
        assert_eq!(made[0]["subject"]["id"], ann.id.to_string(), "{events}");
    })
    .await;
}

#[tokio::test]
async fn asking_ends_no_link_that_somebody_has_and_each_ends_in_an_hour() {
    let (config, seen) = mailing().await;
    let seen = Mutex::new(seen);
    TestApp::each(config, async |app| {
        let mut seen = seen.lock().await;
        let org = app.org("Example Ltd", PLENTY).await;
        let (ann, _) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let mut browser = Browser::new(app);
        let ask = json!({ "email": "ann@example.com" });
        browser.post(PATH, &ask).await.ok(200);
        let first = path(&mailed(1, app, &mut seen).await);
        pass(11 * MINUTE).await;
        browser.post(PATH, &ask).await.ok(200);
        let second = path(&mailed(2, app, &mut seen).await);
        assert_eq!(first, second, "the same again, for longer");
        pass(51 * MINUTE).await;
        browser.get(&first).await.ok(200);
        pass(10 * MINUTE).await;
        browser.get(&first).await.error(404, "not_found");
        // It does not end the operator's link either, whose lifetime is unchanged.
        let of_operator = format!("/app/link#{}", link(app, &ann).await);
        browser.post(PATH, &ask).await.ok(200);
        let mail = mailed(3, app, &mut seen).await;
        let third = path(&mail);
        assert_ne!(first, third);
        pass(11 * MINUTE).await;
        browser.post(PATH, &ask).await.ok(200);
        let again = mailed(4, app, &mut seen).await;
        assert_eq!(path(&again), third);
        let id = |mail: &str| mail.lines().find(|line| line.starts_with("Message-ID: ")).map(str::to_owned);
        assert_ne!(id(&mail), id(&again), "a mailbox would drop it as one that it has");
        pass(61 * MINUTE).await;
        browser.get(&of_operator).await.ok(200);
        browser.sign_in("ann@example.com", PASSWORD).await.ok(200);
    })
    .await;
}

#[tokio::test]
async fn a_member_gets_few_links_in_a_day() {
    let (config, seen) = mailing().await;
    let seen = Mutex::new(seen);
    TestApp::each(config, async |app| {
        let mut seen = seen.lock().await;
        let org = app.org("Example Ltd", PLENTY).await;
        signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let mut browser = Browser::new(app);
        let ask = json!({ "email": "ann@example.com" });
        for nth in 1..=5 {
            browser.post(PATH, &ask).await.ok(200);
            mailed(nth, app, &mut seen).await;
            pass(11 * MINUTE).await;
        }
        browser.post(PATH, &ask).await.ok(200);
        pass(11 * MINUTE).await;
        assert!(seen.try_recv().is_err());
        pass(60 * MINUTE).await;
        browser.post(PATH, &ask).await.ok(200);
        mailed(6, app, &mut seen).await;
    })
    .await;
}

#[tokio::test]
async fn who_asks_again_and_again_waits_whosever_the_address_is() {
    let (config, _seen) = mailing().await;
    TestApp::each(config, async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        for email in ["ann@example.com", "nobody@example.com"] {
            let mut browser = Browser::new(app);
            at_one_moment(async {
                for _ in 0..6 {
                    browser.post(PATH, &json!({ "email": email })).await.ok(200);
                }
                browser.post(PATH, &json!({ "email": email })).await.error(429, "rate_limited");
            })
            .await;
            browser.sign_in("ann@example.com", PASSWORD).await.ok(200);
        }
        let mut browser = Browser::new(app);
        browser.post(PATH, &json!({ "email": "no address" })).await.error(400, "invalid_request");
        browser.post(PATH, &json!({ "email": "a@example.com", "language": "xx" })).await.error(400, "invalid_request");
    })
    .await;
}

#[tokio::test]
async fn a_server_without_a_relay_says_so() {
    TestApp::each(config(), async |app| {
        let mut browser = Browser::new(app);
        assert_eq!(
            browser.get("/app/sign-in").await.ok(200),
            json!({ "sends_mail": false, "sso": false, "https_url": null })
        );
        browser.post(PATH, &json!({ "email": "ann@example.com" })).await.error(409, "conflict");
    })
    .await;
}
