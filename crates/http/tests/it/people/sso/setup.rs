//! Setting single sign-on: permissions, refusals, and that the secret stays secret.

use probity_account::role::MemberRole;
use probity_contract::error::Code;
use probity_service::accounts::people::sso::setup::remove_sso;
use serde_json::{Value, json};

use super::{BOB, Customer, DOMAIN, Outside, SECRET};
use crate::people::browser::Browser;
use crate::people::signed_in;
use crate::test_app::TestApp;

#[tokio::test]
async fn the_owner_sets_it_and_nobody_sees_the_secret() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut customer = Customer::new(app, &outside, "all").await;
        assert_eq!(customer.owner.get("/app/sign-in").await.ok(200)["sso"], false);
        let shown = customer.owner.get("/app/sso").await.ok(200);
        assert_eq!(shown["redirect_uri"], "https://verify.example.com/app/sso/callback");
        assert_eq!((&shown["provider"], &shown["obstacle"]), (&json!(null), &json!(null)));
        customer.owner.post("/app/sso/test", &json!({})).await.error(404, "not_found");
        customer.delete().await.error(404, "not_found");
        customer.set(json!({ "current": "not the password" })).await.error(401, "sign_in_failed");
        let set = customer.set(json!({})).await;
        assert!(!set.text().contains(SECRET), "{}", set.text());
        assert_eq!(Browser::new(app).get("/app/sign-in").await.ok(200)["sso"], true);
        let set = set.ok(200);
        assert_eq!(set["provider"]["newcomer_role"], "contributor");
        let domain = &set["domains"][0];
        assert_eq!((&domain["domain"], &domain["proven_at"]), (&json!(DOMAIN), &json!(null)));
        assert_eq!(domain["record_name"], "_probity.acme-team.com");
        if app.files().iter().any(|(_, bytes)| bytes.len() > 10_000) {
            app.assert_files_without(&[SECRET]);
        }
        // Without a proof, the domain has no effect.
        customer.owner.post("/app/sso/domains", &json!({ "domain": DOMAIN })).await.error(409, "conflict");
        customer.owner.post("/app/sso/domains", &json!({ "domain": "other-team.com" })).await.error(404, "not_found");
        Browser::new(app).post("/app/sso/sign-in", &json!({ "email": BOB })).await.error(404, "not_found");
        assert!(customer.prove(DOMAIN).await.ok(200)["domains"][0]["proven_at"].is_string());
        // The secret stays if it is omitted, but not for another provider.
        customer.set(json!({ "client_secret": null })).await.ok(200);
        assert_eq!(customer.refused().await, "");
        for changed in [
            json!({ "client_secret": null, "client_id": "x" }),
            json!({ "client_secret": "", "issuer": "https://id.example.net" }),
        ] {
            customer.set(changed).await.error(400, "invalid_request");
        }
    })
    .await;
}

#[tokio::test]
async fn others_cannot_change_it() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut customer = Customer::with_sso(app, &outside).await;
        let (_, mut administrator) =
            signed_in(app, &customer.org, "ann@elsewhere-team.com", MemberRole::Administrator).await;
        let (_, mut contributor) =
            signed_in(app, &customer.org, "con@elsewhere-team.com", MemberRole::Contributor).await;
        administrator.get("/app/sso").await.ok(200);
        administrator.post("/app/sso/test", &json!({})).await.ok(200);
        contributor.get("/app/sso").await.error(403, "forbidden_scope");
        let whole = json!({
            "current": super::PASSWORD, "issuer": "https://evil.example", "client_id": "x", "client_secret": "y",
            "domains": [DOMAIN], "required": true, "newcomer_role": null, "trusts_email": true,
        });
        for browser in [&mut administrator, &mut contributor] {
            let call = browser.call("PUT", "/app/sso").json(&whole);
            browser.send(call).await.error(403, "forbidden_scope");
            browser.delete("/app/sso", &json!({ "current": super::PASSWORD })).await.error(403, "forbidden_scope");
            browser.post("/app/sso/domains", &json!({ "domain": DOMAIN })).await.error(403, "forbidden_scope");
        }
        assert_eq!(customer.refused().await, "");
        customer.owner.get("/app/sso?mode=test").await.error(400, "invalid_request");
    })
    .await;
}

#[tokio::test]
async fn deleting_needs_the_owners_password_and_the_operator_none() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut customer = Customer::with_sso(app, &outside).await;
        for (given, status, code) in [
            (json!({}), 400, "invalid_request"),
            (json!({ "current": "" }), 400, "invalid_request"),
            (json!({ "current": "not the password" }), 401, "sign_in_failed"),
        ] {
            customer.owner.delete("/app/sso", &given).await.error(status, code);
        }
        assert_eq!(customer.refused().await, "", "it stands");
        assert_eq!(customer.delete().await.ok(200)["deleted"], true);
        assert_eq!(customer.owner.get("/app/sso").await.ok(200)["provider"], json!(null));
        customer.set(json!({})).await.ok(200);
        app.admin.act(&customer.org, async |app, staff| remove_sso(app, staff).await).await.unwrap();
        let again = app.admin.act(&customer.org, async |app, staff| remove_sso(app, staff).await).await;
        assert_eq!(again.err().unwrap().code(), Code::NotFound);
        let deleted: Vec<_> = customer.events().await.into_iter().filter(|(kind, _)| kind == "sso_deleted").collect();
        assert_eq!(deleted.iter().map(|(_, actor)| actor.as_str()).collect::<Vec<_>>(), ["staff", "user"]);
    })
    .await;
}

#[tokio::test]
async fn wrong_settings_name_their_field() {
    let outside = Outside::new().await;
    let app = TestApp::with(outside.config()).await;
    let mut customer = Customer::new(&app, &outside, "all").await;
    let many: Vec<String> = (0..21).map(|no| format!("team-{no}.com")).collect();
    let wrong: [(&str, Value); 13] = [
        ("issuer", json!("http://id.example.com")),
        ("issuer", json!("javascript:alert(1)")),
        ("issuer", json!("https://user:pw@id.example.com")),
        ("issuer", json!("")),
        ("client_id", json!(" ")),
        ("client_secret", json!("käse")),
        ("newcomer_role", json!("owner")),
        ("domains", json!([])),
        ("domains", json!(["gmail.com"])),
        ("domains", json!(["com"])),
        ("domains", json!(["not a domain"])),
        ("domains", json!(["mailinator.com"])),
        ("domains", json!(many)),
    ];
    for (field, value) in wrong {
        let refused = customer.set(json!({ field: value })).await;
        assert!(refused.text().contains(&format!("\"{field}: ")), "{field} {value}: {}", refused.text());
        refused.error(400, "invalid_request");
    }
    let set = customer.set(json!({ "domains": [" @ACME-Team.com", "acme-team.com", "bücher-team.de"] })).await.ok(200);
    let names: Vec<_> = set["domains"].as_array().unwrap().iter().map(|domain| domain["domain"].clone()).collect();
    assert_eq!(names, ["acme-team.com", "xn--bcher-team-9db.de"]);
    app.stop().await;
}

#[tokio::test]
async fn plan_and_public_url_are_needed() {
    let outside = Outside::new().await;
    let app = TestApp::with(outside.config()).await;
    let mut bare = Customer::new(&app, &outside, "bare").await;
    assert_eq!(bare.owner.get("/app/sso").await.ok(200)["obstacle"], "plan");
    bare.set(json!({})).await.error(403, "forbidden_scope");
    app.stop().await;
    let mut config = outside.config();
    config.api.hooks_url = None;
    let app = TestApp::with(config).await;
    let mut customer = Customer::new(&app, &outside, "all").await;
    let shown = customer.owner.get("/app/sso").await.ok(200);
    assert_eq!((&shown["obstacle"], &shown["redirect_uri"]), (&json!("public_url"), &json!(null)));
    customer.set(json!({})).await.error(409, "conflict");
    app.stop().await;
}

#[tokio::test]
async fn only_domains_are_told_apart() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let customer = Customer::with_sso(app, &outside).await;
        let mut browser = Browser::new(app);
        for email in [BOB, "nobody@acme-team.com", super::OWNER] {
            assert!(customer.go(&mut browser, email).await.starts_with("/app/sso/callback?"), "{email}");
        }
        browser.post("/app/sso/sign-in", &json!({ "email": "bob@another-team.com" })).await.error(404, "not_found");
        browser.post("/app/sso/sign-in", &json!({ "email": "bob" })).await.error(400, "invalid_request");
    })
    .await;
}
