//! Tests of single sign-on, with a provider on loopback: admission, and every response that is refused.

mod proofs;
pub(super) mod provider;
mod refusals;
mod rules;
mod setup;

use std::sync::Arc;

use probity_account::plans::{EntitlementSet, Plan, Plans};
use probity_account::role::MemberRole;
use probity_http::service::ServiceConfig;
use probity_store::accounts::organization::OrgRecord;
use probity_store::accounts::users;
use serde_json::{Value, json};

use super::browser::Browser;
use super::{PASSWORD, config, link, member};
use crate::test_app::{Answer, TestApp};
use provider::{CLIENT, Provider, Records, SECRET};

const DOMAIN: &str = "acme-team.com";
const OWNER: &str = "owner@acme-team.com";
const BOB: &str = "bob@acme-team.com";

/// Provider, DNS records, and a configuration that reaches both.
struct Outside {
    provider: Provider,
    records: Arc<Records>,
}

impl Outside {
    async fn new() -> Self {
        Self { provider: Provider::start().await, records: Arc::default() }
    }

    fn config(&self) -> ServiceConfig {
        let mut config = config();
        let all = Plan { title: "All".into(), entitlements: EntitlementSet::ALL, seats: Some(4), ..Plan::bare("all") };
        let bare = Plan { title: "Bare".into(), entitlements: EntitlementSet::NONE, ..Plan::bare("bare") };
        config.api.plans = Plans::new([all, bare], "all", 0).unwrap().into();
        config.api.public_url = Some("https://verify.example.com/".into());
        config.api.hooks_url.clone_from(&config.api.public_url);
        config.webhooks.names = self.records.clone();
        config.platforms.hosts.0.push(self.provider.address.to_string());
        config
    }
}

/// Customer whose owner is signed in.
struct Customer<'a> {
    app: &'a TestApp,
    outside: &'a Outside,
    org: OrgRecord,
    owner: Browser<'a>,
}

impl<'a> Customer<'a> {
    /// Creates an organization on a plan.
    async fn new(app: &'a TestApp, outside: &'a Outside, plan: &str) -> Self {
        let plan = app.admin.plan(Some(plan)).unwrap().clone();
        let org = app.admin.create_org("Acme Ltd", plan).await.unwrap();
        let primary = users::primary(&mut app.store.read().await.unwrap(), org.no).await.unwrap();
        let mut owner = Browser::new(app);
        let given = json!({ "password": PASSWORD, "email": OWNER });
        let path = format!("/app/link#{}", link(app, &primary).await);
        owner.post(&path, &given).await.ok(200);
        Self { app, outside, org, owner }
    }

    /// Creates an organization with single sign-on at its proven domain, also for new members.
    async fn with_sso(app: &'a TestApp, outside: &'a Outside) -> Self {
        outside.provider.restore();
        let mut customer = Self::new(app, outside, "all").await;
        customer.set(json!({})).await.ok(200);
        customer.prove(DOMAIN).await.ok(200);
        customer
    }

    /// Sets single sign-on, with these changes.
    async fn set(&mut self, changes: Value) -> Answer {
        let mut given = json!({
            "current": PASSWORD, "issuer": self.outside.provider.issuer(), "client_id": CLIENT, "client_secret": SECRET,
            "domains": [DOMAIN], "required": false, "newcomer_role": "contributor", "trusts_email": false,
        });
        for (name, value) in changes.as_object().unwrap() {
            given[name] = value.clone();
        }
        let call = self.owner.call("PUT", "/app/sso").json(&given);
        self.owner.send(call).await
    }

    /// Publishes the record of a domain, and proves the domain.
    async fn prove(&mut self, domain: &str) -> Answer {
        let shown = self.owner.get("/app/sso").await.ok(200);
        let claimed = shown["domains"].as_array().unwrap().iter().find(|claimed| claimed["domain"] == domain).unwrap();
        let text = |field: &str| claimed[field].as_str().unwrap().to_owned();
        let record = vec!["v=spf1 -all".to_owned(), text("record_value")];
        self.outside.records.0.lock().unwrap().insert(text("record_name"), Ok(record));
        self.owner.post("/app/sso/domains", &json!({ "domain": domain })).await
    }

    /// Redirects a browser to the provider, and returns the path by which it returns.
    async fn go(&self, browser: &mut Browser<'_>, email: &str) -> String {
        let begun = browser.post("/app/sso/sign-in", &json!({ "email": email })).await.ok(200);
        self.outside.provider.sign_in(begun["location"].as_str().unwrap())
    }

    /// Signs a user in at the provider. Returns the final location of the browser.
    async fn sign_in(&self, browser: &mut Browser<'_>, email: &str) -> String {
        let path = self.go(browser, email).await;
        come_back(browser, &path).await
    }

    /// Signs Bob in from a new browser. Returns the code of the refusal, or an empty text.
    async fn refused(&self) -> String {
        let mut browser = Browser::new(self.app);
        let place = self.sign_in(&mut browser, BOB).await;
        assert_eq!(browser.is_in().await, place == "/", "{place}");
        place.trim_start_matches("/#/sign-in?sso=").trim_start_matches('/').to_owned()
    }

    /// Deletes single sign-on.
    async fn delete(&mut self) -> Answer {
        self.owner.delete("/app/sso", &json!({ "current": PASSWORD })).await
    }

    /// Returns kinds of account events with their actors, latest first.
    async fn events(&mut self) -> Vec<(String, String)> {
        let shown = self.owner.get("/app/v1/account/timeline").await.ok(200);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let of = |event: &Value| (text(&event["kind"]), text(&event["actor"]["type"]));
        shown["events"].as_array().unwrap().iter().map(of).collect()
    }

    /// Returns the number of members.
    async fn members(&mut self) -> usize {
        self.owner.get("/app/v1/users").await.ok(200)["data"].as_array().unwrap().len()
    }
}

/// Follows the provider's redirect back. Returns the location to which the service redirects.
async fn come_back(browser: &mut Browser<'_>, path: &str) -> String {
    // Like browsers: by a link of another site.
    let call = browser.bare("GET", path).header("sec-fetch-site", "cross-site");
    let answer = browser.send(call).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    let kept = browser.cookies.keys().any(|name| name.contains("sso"));
    assert!(!kept, "the cookie of the sign-in is gone");
    let place = answer.headers["location"].to_str().unwrap();
    place.strip_prefix("https://verify.example.com").unwrap().to_owned()
}

#[tokio::test]
async fn a_newcomer_becomes_a_member_and_signs_in_again() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut customer = Customer::with_sso(app, &outside).await;
        let mut browser = Browser::new(app);
        assert_eq!(customer.sign_in(&mut browser, BOB).await, "/");
        let session = browser.get("/app/session").await.ok(200);
        let user = &session["user"];
        assert_eq!(
            (&user["email"], &user["name"], &user["role"]),
            (&json!(BOB), &json!("Bob Lee"), &json!("contributor"))
        );
        assert_eq!(session["organization"]["id"], customer.org.id.to_string());
        assert_eq!(customer.members().await, 2);
        // The code was exchanged by the client, with the verifier.
        let find =
            |script: &mut provider::Script| script.seen.iter().find(|(path, _)| path == "/token").cloned().unwrap();
        let (_, exchanged) = outside.provider.change(find);
        assert!(exchanged.contains("authorization: Basic ") && exchanged.contains("&code_verifier="), "{exchanged}");
        assert!(exchanged.contains("code=c1") && !exchanged.contains("client_secret"), "{exchanged}");

        let mut again = Browser::new(app);
        assert_eq!(customer.sign_in(&mut again, " Bob@ACME-team.com ").await, "/");
        assert_eq!(again.get("/app/session").await.ok(200)["user"]["id"], user["id"]);
        assert_eq!(customer.members().await, 2);
        // Another address of the same account belongs to the same member.
        outside.provider.change(|script| script.claims = json!({ "email": "robert@acme-team.com" }));
        assert_eq!(customer.refused().await, "");
        assert_eq!(customer.members().await, 2);
        let events = customer.events().await;
        for kind in ["sso_changed", "domain_proven", "member_joined", "login"] {
            assert!(events.iter().any(|(seen, _)| seen == kind), "{kind}: {events:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_member_is_bound_at_the_first_sign_in() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut customer = Customer::with_sso(app, &outside).await;
        customer.set(json!({ "newcomer_role": null })).await.ok(200);
        assert_eq!(customer.refused().await, "no_member");
        let bob = member(app, &customer.org, BOB, MemberRole::Administrator).await;
        let mut browser = Browser::new(app);
        assert_eq!(customer.sign_in(&mut browser, BOB).await, "/");
        let session = browser.get("/app/session").await.ok(200);
        assert_eq!((&session["user"]["id"], &session["user"]["role"]), (&json!(bob.id), &json!("administrator")));
        // At the provider, the address now belongs to another user.
        outside.provider.change(|script| script.claims = json!({ "sub": "subject-2" }));
        assert_eq!(customer.refused().await, "other_account");
        // A provider may identify accounts differently for another client.
        let other = "another-client";
        outside.provider.change(|script| script.claims = json!({ "sub": "subject-2", "aud": other }));
        let client = json!({ "client_id": other, "newcomer_role": null });
        customer.set(client).await.ok(200);
        let mut again = Browser::new(app);
        let begun = again.post("/app/sso/sign-in", &json!({ "email": BOB })).await.ok(200);
        let location = begun["location"].as_str().unwrap().replace(other, CLIENT);
        assert_eq!(come_back(&mut again, &outside.provider.sign_in(&location)).await, "/");
        assert_eq!(again.get("/app/session").await.ok(200)["user"]["id"], json!(bob.id));
        outside.provider.change(|script| script.claims = json!({}));
        customer.set(json!({ "newcomer_role": null })).await.ok(200);
        let path = format!("/app/v1/users/{}", bob.id);
        let pause = customer.owner.call("PATCH", &path).json(&json!({ "status": "paused" }));
        customer.owner.send(pause).await.ok(200);
        assert!(!browser.is_in().await, "pausing ends access at once");
        assert_eq!(customer.refused().await, "paused");
        customer.owner.delete(&path, &json!({})).await.ok(200);
        assert_eq!(customer.refused().await, "no_member");
    })
    .await;
}

#[tokio::test]
async fn an_invitation_is_accepted_by_signing_in() {
    let outside = Outside::new().await;
    TestApp::each(outside.config(), async |app| {
        let mut customer = Customer::with_sso(app, &outside).await;
        let invite = json!({ "email": BOB, "role": "administrator" });
        let invited = customer.owner.post("/app/v1/users", &invite).await.ok(201);
        assert_eq!(customer.refused().await, "");
        let path = format!("/app/v1/users/{}", invited["id"].as_str().unwrap());
        let shown = customer.owner.get(&path).await.ok(200);
        assert_eq!((&shown["status"], &shown["role"]), (&json!("active"), &json!("administrator")));
        let token = invited["invitation_url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        Browser::new(app).get(&format!("/app/link#{token}")).await.error(404, "not_found");
    })
    .await;
}
