//! Languages of members: set by their pages, and used in mail.

use std::time::Duration;

use probity_account::role::MemberRole;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::browser::Browser;
use super::forgotten::mailing;
use super::signed_in;
use crate::mail::{after, until_measured};
use crate::test_app::{PLENTY, TestApp};

async fn tell(browser: &mut Browser<'_>, language: &str) {
    let call = browser.call("PATCH", "/app/account").json(&json!({ "language": language }));
    browser.send(call).await.ok(200);
}

async fn recorded(browser: &mut Browser<'_>) -> Value {
    browser.get("/app/session").await.ok(200)["user"]["language"].clone()
}

#[tokio::test]
async fn mail_is_in_the_language_that_a_page_has_told() {
    let (config, seen) = mailing().await;
    let seen = Mutex::new(seen);
    TestApp::each(config, async |app| {
        let mut seen = seen.lock().await;
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        assert_eq!(recorded(&mut ann).await, Value::Null);
        let events = async |ann: &mut Browser<'_>| ann.get("/app/v1/account/timeline").await.ok(200)["events"].clone();
        let before = events(&mut ann).await;
        for language in ["de", "fr"] {
            tell(&mut ann, language).await;
            assert_eq!(recorded(&mut ann).await, language);
        }
        assert_eq!(events(&mut ann).await, before, "a page tells it by itself");
        let unknown = ann.call("PATCH", "/app/account").json(&json!({ "language": "xx" }));
        ann.send(unknown).await.error(400, "invalid_request");

        // Invited users have no language yet: the mail has the inviter's language, unless the invitation names another.
        for (nth, (language, subject)) in
            [(Value::Null, "Votre invitation"), (json!("de"), "Ihre Einladung"), (Value::Null, "Votre invitation")]
                .into_iter()
                .enumerate()
        {
            let mut body = json!({ "email": format!("b{nth}@example.com"), "role": "contributor" });
            if !language.is_null() {
                body["language"] = language;
            }
            ann.post("/app/v1/users", &body).await.ok(201);
            let mail = after(Duration::from_secs(6), &mut seen).await;
            assert!(mail.contains(subject) && mail.contains(&format!("To: b{nth}@example.com")), "{mail}");
            until_measured(app, "sent", u32::try_from(nth).unwrap() + 1).await;
        }
        let refused = json!({ "email": "c@example.com", "role": "contributor", "language": "DE" });
        let answer = ann.post("/app/v1/users", &refused).await;
        let message = answer.error(400, "invalid_request");
        assert!(message.contains("must be one of en, de, fr, es"), "{message}");

        // A request without a language uses the member's own.
        Browser::new(app).post("/app/forgotten-password", &json!({ "email": "ann@example.com" })).await.ok(200);
        let mail = after(Duration::from_secs(6), &mut seen).await;
        assert!(mail.contains("Choisissez un nouveau mot de passe pour Probity"), "{mail}");
        until_measured(app, "sent", 4).await;
    })
    .await;
}
