//! Tests of links to a list's summary, for viewers without an account.

use probity_account::role::MemberRole;
use serde_json::{Value, json};

use super::browser::Browser;
use super::lists::{EMAILS, list, patch};
use super::{config, signed_in};
use crate::test_app::{Answer, Call, PLENTY, TestApp, real_moment};

/// Returns the response to a viewer without an account.
async fn shown(app: &TestApp, token: &str) -> Answer {
    app.send(Call::get("/app/shared").header("x-link-token", token)).await
}

async fn share(browser: &mut Browser<'_>, path: &str, body: Value) -> String {
    let made = browser.post(&format!("{path}/link"), &body).await.ok(200);
    made["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_link_shows_figures_and_no_addresses() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let (path, progress) = list(&mut ann, &EMAILS).await;
        patch(&mut ann, &path, json!({"name": "Kunden"})).await.ok(200);
        assert_eq!(ann.get(&format!("{path}/link")).await.ok(200), json!({"link": null}));
        let token = share(&mut ann, &path, json!({})).await;
        let answer = shown(app, &token).await;
        assert_eq!(answer.header("x-robots-tag"), Some("noindex"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let summary = answer.ok(200);
        for same in
            ["rows", "repeated", "processed", "passed", "undeliverable", "risky", "unknown", "reasons", "providers"]
        {
            assert_eq!(summary[same], progress[same], "{same}");
        }
        assert_eq!((&summary["name"], &summary["test"]), (&Value::Null, &json!(false)));
        let text = summary.to_string();
        for secret in ["@", "honest-mail", "Kunden", path.rsplit('/').next().unwrap(), "credits", "Example Ltd"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        let link = ann.get(&format!("{path}/link")).await.ok(200);
        assert_eq!((&link["link"]["named"], link.get("token")), (&json!(false), None), "{link}");

        let named = share(&mut ann, &path, json!({"named": true, "days": 90})).await;
        shown(app, &token).await.error(404, "not_found");
        assert_eq!(shown(app, &named).await.ok(200)["name"], "Kunden");
        for refused in [json!({"days": 0}), json!({"days": 91}), json!({"days": "7"}), json!({"token": "x"})] {
            ann.post(&format!("{path}/link"), &refused).await.error(400, "invalid_request");
        }
        for wrong in ["", "x", &named[1..]] {
            shown(app, wrong).await.error(404, "not_found");
        }
    })
    .await;
}

#[tokio::test]
async fn a_link_ends_with_its_revocation_and_with_its_list_and_the_timeline_says_so() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        let other = app.org("Other Ltd", PLENTY).await;
        let (_, mut eve) = signed_in(app, &other, "eve@example.com", MemberRole::Administrator).await;
        let (path, _) = list(&mut ann, &EMAILS).await;
        let at = format!("{path}/link");
        eve.get(&at).await.error(404, "not_found");
        eve.post(&at, &json!({})).await.error(404, "not_found");
        let token = share(&mut ann, &path, json!({})).await;
        eve.delete(&at, &json!({})).await.error(404, "not_found");
        shown(app, &token).await.ok(200);
        for _ in 0..2 {
            assert_eq!(ann.delete(&at, &json!({})).await.ok(200), json!({"link": null}));
        }
        shown(app, &token).await.error(404, "not_found");
        let events = ann.get("/app/v1/account/timeline").await.ok(200);
        let kinds: Vec<&Value> = events["events"].as_array().unwrap().iter().map(|event| &event["kind"]).collect();
        assert_eq!(kinds.iter().filter(|kind| **kind == "list_unshared").count(), 1, "{kinds:?}");
        let shared = events["events"].as_array().unwrap().iter().find(|event| event["kind"] == "list_shared").unwrap();
        assert_eq!(shared["subject"], json!({"type": "job", "id": path.rsplit('/').next().unwrap()}));

        let token = share(&mut ann, &path, json!({})).await;
        ann.delete(&path, &json!({})).await.ok(200);
        shown(app, &token).await.error(404, "not_found");
    })
    .await;
}

#[tokio::test]
async fn a_link_ends_when_an_address_of_its_list_is_erased() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        let (path, _) = list(&mut ann, &EMAILS).await;
        let (others, _) = list(&mut ann, &["carl@honest-mail.com"]).await;
        let token = share(&mut ann, &path, json!({})).await;
        let of_others = share(&mut ann, &others, json!({})).await;
        let asked = ann.post("/app/v1/erasures", &json!({"emails": [EMAILS[3]]})).await.ok(200);
        let erasure = format!("/app/v1/erasures/{}", asked["id"].as_str().unwrap());
        for _ in 0..5_000 {
            if ann.get(&erasure).await.ok(200)["status"] == "completed" {
                shown(app, &token).await.error(404, "not_found");
                shown(app, &of_others).await.ok(200);
                return;
            }
            real_moment().await;
        }
        panic!("the erasure does not end");
    })
    .await;
}
