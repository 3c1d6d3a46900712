//! Rules of single sign-on: when it is required, seats, and isolation of organizations.

use probity_account::role::MemberRole;
use probity_store::accounts::organization::OrgState;
use serde_json::json;

use super::{BOB, Customer, DOMAIN, OWNER, Outside};
use crate::people::browser::Browser;
use crate::people::{PASSWORD, link, member, signed_in};
use crate::test_app::TestApp;

#[tokio::test]
async fn members_who_must_use_it_have_no_other_way_in_but_the_owner_has() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut customer = Customer::with_sso(app, &outside).await;
        let (bob, mut left_open) = signed_in(app, &customer.org, BOB, MemberRole::Contributor).await;
        let (_, mut guest) = signed_in(app, &customer.org, "guest@elsewhere-team.com", MemberRole::Contributor).await;
        let mut browser = Browser::new(app);
        browser.sign_in(BOB, PASSWORD).await.ok(200);
        customer.set(json!({ "required": true })).await.ok(200);
        browser.sign_in(BOB, PASSWORD).await.error(403, "sso_required");
        // A client without the password learns nothing.
        browser.sign_in(BOB, "a wrong password of mine").await.error(401, "sign_in_failed");
        let path = format!("/app/link#{}", link(app, &bob).await);
        browser.post(&path, &json!({ "password": PASSWORD })).await.error(403, "sso_required");
        assert!(left_open.is_in().await, "sessions go on");
        assert_eq!(customer.sign_in(&mut browser, BOB).await, "/");

        Browser::new(app).sign_in(OWNER, PASSWORD).await.ok(200);
        guest.sign_in("guest@elsewhere-team.com", PASSWORD).await.ok(200);
        // Without the domain, or without the provider, the password works again.
        customer.set(json!({ "required": true, "domains": ["other-team.com"] })).await.ok(200);
        Browser::new(app).sign_in(BOB, PASSWORD).await.ok(200);
        customer.set(json!({ "required": true })).await.ok(200);
        Browser::new(app).sign_in(BOB, PASSWORD).await.ok(200);
        customer.prove(DOMAIN).await.ok(200);
        Browser::new(app).sign_in(BOB, PASSWORD).await.error(403, "sso_required");
        customer.delete().await.ok(200);
        Browser::new(app).sign_in(BOB, PASSWORD).await.ok(200);
    })
    .await;
}

#[tokio::test]
async fn without_a_seat_nobody_new_gets_in() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut customer = Customer::with_sso(app, &outside).await;
        for name in ["x", "y", "z"] {
            member(app, &customer.org, &format!("{name}@acme-team.com"), MemberRole::Contributor).await;
        }
        assert_eq!(customer.refused().await, "seats");
        assert_eq!(customer.members().await, 4);
        outside.provider.change(|script| script.claims = json!({ "email": "x@acme-team.com" }));
        assert_eq!(customer.refused().await, "", "members have their seats");
    })
    .await;
}

#[tokio::test]
async fn a_stopped_organization_admits_nobody_new() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut customer = Customer::with_sso(app, &outside).await;
        for status in [OrgState::Suspended, OrgState::Paused, OrgState::Banned] {
            app.admin.set_status(&customer.org, status).await.unwrap();
            assert_eq!(customer.refused().await, "no_member", "{status:?}");
        }
        app.admin.set_status(&customer.org, OrgState::Active).await.unwrap();
        assert_eq!(customer.members().await, 1);
        assert_eq!(customer.refused().await, "");
    })
    .await;
}

#[tokio::test]
async fn a_provider_opens_its_own_organization_only() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut other = Customer::new(app, &outside, "all").await;
        let (_, _) = signed_in(app, &other.org, BOB, MemberRole::Administrator).await;
        let mut customer = Customer::with_sso(app, &outside).await;
        let mut browser = Browser::new(app);
        assert_eq!(customer.sign_in(&mut browser, BOB).await, "/");
        let session = browser.get("/app/session").await.ok(200);
        assert_eq!(session["organization"]["id"], customer.org.id.to_string());
        assert_eq!(session["user"]["role"], "contributor");
        customer.set(json!({ "required": true })).await.ok(200);
        // The requirement of one organization does not affect the account at another.
        Browser::new(app).sign_in(BOB, PASSWORD).await.ok(200);
        // The domain is proven for one of them.
        other.set(json!({})).await.ok(200);
        other.prove(DOMAIN).await.error(409, "conflict");
        assert_eq!(other.owner.get("/app/sso").await.ok(200)["domains"][0]["proven_at"], json!(null));
        customer.delete().await.ok(200);
        other.prove(DOMAIN).await.ok(200);
        let mut browser = Browser::new(app);
        assert_eq!(other.sign_in(&mut browser, BOB).await, "/");
        assert_eq!(browser.get("/app/session").await.ok(200)["organization"]["id"], other.org.id.to_string());
    })
    .await;
}
