//! Causes and reads every kind of event: the timeline must not reveal identities or locations.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use probity_account::api_key::KeyKind;
use probity_account::credits::CreditBucket;
use probity_account::plans::{EntitlementSet, Plan, Plans, Refill};
use probity_account::role::MemberRole;
use probity_service::accounts::people::sso::domains::release_domain;
use probity_store::accounts::organization::{OrgRecord, OrgState};
use probity_store::accounts::users;
use probity_store::accounts::users::profile::IdentityCheck;
use probity_store::activity::events::AccountEventKind;
use probity_telemetry::log_capture::holds;
use serde_json::{Value, json};

use super::browser::Browser;
use super::second_factor::turned_on;
use super::sso::provider::Records;
use super::{PASSWORD, config, link, signed_in};
use crate::test_app::{Call, TestApp, pass};

const ANN: &str = "ann@example.com";
const ADDRESS: &str = "10.20.30.40";
const AGENT: &str = "canary-agent/7";
const REASON: &str = "canary-reason of canary-staff";
const PAYMENT: &str = "canary-vat-4111111111111111";

/// Client with an API key, and the secrets that it received.
struct Server<'a> {
    app: &'a TestApp,
    key: String,
    /// Secrets and links from responses.
    told: Vec<String>,
}

impl Server<'_> {
    async fn does(&mut self, method: &str, path: &str, body: Value) -> Value {
        let call = Call::new(method, path).json(&body).key(&self.key).header("user-agent", AGENT).from(ADDRESS);
        let answer = self.app.send(call).await;
        assert!((200..300).contains(&answer.status), "{method} {path}: {}", answer.text());
        let answer = answer.json();
        for field in ["secret", "invitation_url"] {
            self.told.extend(answer[field].as_str().map(str::to_owned));
        }
        answer
    }

    /// Creates a resource. Returns its path.
    async fn makes(&mut self, path: &str, body: Value) -> String {
        format!("{path}/{}", self.does("POST", path, body).await["id"].as_str().unwrap())
    }
}

/// Performs the acts of members in a browser and with their links.
async fn people(app: &TestApp, org: &OrgRecord, server: &mut Server<'_>) {
    let (_, mut browser) = signed_in(app, org, ANN, MemberRole::Administrator).await;
    let (_, codes) = turned_on(app, org, &mut browser).await;
    browser.delete("/app/second-factor", &json!({ "code": codes[0] })).await.ok(200);
    let mut elsewhere = Browser::at(app, ADDRESS);
    let call = elsewhere.call("POST", "/app/sign-in").json(&json!({ "email": ANN, "password": PASSWORD }));
    elsewhere.send(call.header("user-agent", AGENT)).await.ok(200);
    let key = server.makes("/v1/api-keys", json!({ "name": "canary-page", "kind": "live" })).await;
    let path = key.replacen("/v1/api-keys/", "/app/keys/", 1);
    browser.send(browser.call("PATCH", &path).json(&json!({ "name": "canary-renamed" }))).await.ok(200);
    let rotated = browser.post(&format!("{path}/rotate"), &json!({ "overlap_hours": 1 })).await.ok(201);
    server.told.push(rotated["secret"].as_str().unwrap().to_owned());
    let list = browser.post("/app/v1/batch-verify", &json!({ "emails": ["canary@honest-mail.com"] })).await.ok(200);
    let path = format!("/app/jobs/{}/link", list["id"].as_str().unwrap());
    let shared = browser.post(&path, &json!({ "named": true })).await.ok(200);
    server.told.push(shared["token"].as_str().unwrap().to_owned());
    browser.delete(&path, &json!({})).await.ok(200);
    browser.delete("/app/sessions", &json!({})).await.ok(200);
    server.told.extend(codes);
    server.told.extend(browser.cookies.into_values().chain(elsewhere.cookies.into_values()));

    let wish = json!({ "email": "bob@example.com", "name": "canary-bob", "role": "contributor" });
    let member = server.makes("/v1/users", wish).await;
    let token = server.told.last().unwrap().rsplit_once('/').unwrap().1.to_owned();
    let given = json!({ "password": PASSWORD, "name": "canary-robert" });
    Browser::at(app, ADDRESS).post(&format!("/app/link#{token}"), &given).await.ok(200);
    server.does("PATCH", &member, json!({ "name": "canary-bert" })).await;
    server.does("DELETE", &member, json!({})).await;
}

/// Performs the acts of an owner about single sign-on.
async fn owner(app: &TestApp, org: &OrgRecord, records: &Records, server: &mut Server<'_>) {
    let primary = users::primary(&mut app.store.read().await.unwrap(), org.no).await.unwrap();
    let mut browser = Browser::at(app, ADDRESS);
    let given = json!({ "password": PASSWORD, "email": "canary-owner@example.com" });
    browser.post(&format!("/app/link#{}", link(app, &primary).await), &given).await.ok(200);
    let given = json!({
        "current": PASSWORD, "issuer": "https://canary-id.example", "client_id": "canary-client",
        "client_secret": "canary-client-secret-of-the-owner", "domains": ["canary-team.com"], "required": true,
        "newcomer_role": "contributor", "trusts_email": true,
    });
    let call = browser.call("PUT", "/app/sso").json(&given);
    let set = browser.send(call).await.ok(200);
    let domain = |field: &str| set["domains"][0][field].as_str().unwrap().to_owned();
    records.0.lock().unwrap().insert(domain("record_name"), Ok(vec![domain("record_value")]));
    browser.post("/app/sso/domains", &json!({ "domain": "canary-team.com" })).await.ok(200);
    records.0.lock().unwrap().clear();
    pass(Duration::from_hours(24)).await;
    browser.sign_in("canary-owner@example.com", PASSWORD).await.ok(200);
    // The record is looked up once a day.
    for _ in 0..500 {
        if browser.get("/app/sso").await.ok(200)["domains"][0]["counts_until"].is_string() {
            break;
        }
        pass(Duration::from_secs(6)).await;
    }
    let release = async |app: &_, staff: &_| release_domain(app, staff, "canary-team.com").await;
    app.admin.act(org, release).await.unwrap();
    browser.delete("/app/sso", &json!({ "current": PASSWORD })).await.ok(200);
    server.told.push(domain("record_value"));
    server.told.extend(browser.cookies.into_values());
}

/// Performs the acts of servers with keys.
async fn servers(server: &mut Server<'_>) {
    let key = server.makes("/v1/api-keys", json!({ "name": "canary-key", "kind": "live" })).await;
    server.does("DELETE", &key, json!({})).await;
    server.does("POST", "/v1/webhooks/callback-secret/rotate", json!({})).await;
    let events = ["job.finished"];
    let hook = json!({ "name": "canary-hook", "url": "https://canary-hook.example.com/canary", "events": events });
    let hook = server.makes("/v1/webhooks", hook).await;
    for change in [json!({ "name": "canary-other" }), json!({ "status": "disabled" }), json!({ "status": "active" })] {
        server.does("PATCH", &hook, change).await;
    }
    server.does("POST", &format!("{hook}/rotate-secret"), json!({})).await;
    server.does("DELETE", &hook, json!({})).await;
    let person = json!({ "name": "canary-ann", "phone": "+49 30 canary", "vat_id": PAYMENT });
    server.does("PATCH", "/v1/account", person).await;
    let words = json!({ "banned_words": ["casino", ANN, ADDRESS], "retention_days": 30 });
    server.does("PATCH", "/v1/organization/settings", words).await;
    let emails = json!({ "emails": ["canary@honest-mail.com"] });
    server.does("POST", "/v1/batch-verify", emails.clone()).await;
    server.does("POST", "/v1/erasures", emails).await;
}

/// Performs the acts of the operator.
async fn staff(app: &TestApp, org: &OrgRecord) {
    app.admin.grant(org, CreditBucket::Prepaid, 5, None).await.unwrap();
    app.admin.adjust(org, CreditBucket::Prepaid, -4).await.unwrap();
    app.admin.hold(org, OrgState::Paused, Some(REASON)).await.unwrap();
    app.admin.set_status(org, OrgState::Active).await.unwrap();
    let change = serde_json::from_value(json!({ "plan": "other" })).unwrap();
    app.admin.change_org(org, change).await.unwrap();
    let (_, ann) = app.admin.people(ANN).await.unwrap().remove(0);
    app.admin.set_identity(&ann, Some(IdentityCheck::Verified)).await.unwrap();
}

/// Returns the kinds of a timeline's account events.
fn kinds(shown: &Value) -> BTreeSet<String> {
    let events = shown["events"].as_array().unwrap();
    events.iter().filter_map(|event| event["kind"].as_str()).map(str::to_owned).collect()
}

#[tokio::test]
async fn every_kind_of_event_is_told_and_none_says_who_or_where() {
    let mut config = config();
    let refill = Some(Refill { credits: 10, times: 1 });
    let little =
        Plan { monthly: 100, refill, low_balance: Some(50), entitlements: EntitlementSet::ALL, ..Plan::bare("little") };
    let other = Plan { name: "other".into(), title: "Other".into(), refill: None, ..little.clone() };
    config.api.plans = Plans::new([little, other], "little", 0).unwrap().into();
    config.api.hooks_url = Some("https://verify.example.com".into());
    let records = Arc::new(Records::default());
    config.webhooks.names = records.clone();
    TestApp::each(config, async |app| {
        let org = app.admin.create_org("Example Ltd", app.admin.plan(None).unwrap().clone()).await.unwrap();
        let key = app.key(&org, KeyKind::Live).await;
        let told = vec![key.clone()];
        let mut server = Server { app, key, told };
        let read = async |key: &str| app.get(key, "/v1/account/timeline?limit=200").await;
        app.admin.adjust(&org, CreditBucket::Subscription, -100).await.unwrap();
        // The balance is checked periodically.
        for _ in 0..500 {
            if kinds(&read(&server.key).await.ok(200)).contains("low_balance") {
                break;
            }
            pass(Duration::from_secs(1)).await;
        }
        app.verify(&server.key, "no-address").await.ok(200);
        people(app, &org, &mut server).await;
        owner(app, &org, &records, &mut server).await;
        servers(&mut server).await;
        staff(app, &org).await;

        let every: BTreeSet<String> = AccountEventKind::ALL.map(|kind| kind.as_str().to_owned()).into();
        let shown = read(&server.key).await;
        assert_eq!(kinds(&shown.ok(200)), every, "each kind that there is needs a cause in this test");
        let types: BTreeSet<_> =
            shown.ok(200)["events"].as_array().unwrap().iter().map(|event| event["type"].to_string()).collect();
        assert_eq!(types.len(), 3, "{types:?}");
        let canaries = ["canary", "example", "honest-mail", ADDRESS, "Mozilla", PASSWORD, "4111", "+49"];
        for canary in canaries.into_iter().map(str::to_owned).chain(server.told.iter().map(|secret| tail(secret))) {
            assert!(!holds(&shown.body, &canary), "{canary} in {}", shown.text());
        }
    })
    .await;
}

/// Returns the end of a secret, which is most of it.
fn tail(secret: &str) -> String {
    secret[secret.len().saturating_sub(16)..].to_owned()
}
