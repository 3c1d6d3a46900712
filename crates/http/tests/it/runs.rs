//! Runs of connections, with a platform on loopback: contacts read, verified, held and changed.

pub(crate) mod acme;
mod acting;
mod braking;
mod breaking;
mod changes;
mod doubting;
mod dropping;
mod fixing;
mod guarding;
mod hooked;
mod leaving;
mod losing;
mod nightly;
mod polling;
mod reading;
mod repeating;
mod reporting;
mod reviewing;
mod telling;
mod tokens;
mod year;

use std::time::Duration;

use probity_account::api_key::KeyKind;
use probity_account::credits::{CreditBucket, Split};
use probity_account::plans::{EntitlementSet, Plan, Plans};
use probity_http::service::ServiceConfig;
use probity_service::app::ApiConfig;
use probity_store::accounts::organization::OrgRecord;
use serde_json::{Value, json};

use crate::test_app::{Answer, Call, TestApp, advance, real_moment};
use acme::Acme;

const CREDITS: i64 = 1_000;

fn plans() -> ServiceConfig {
    plans_with(EntitlementSet::ALL)
}

/// Returns one plan with these entitlements.
fn plans_with(entitlements: EntitlementSet) -> ServiceConfig {
    let all = Plan { title: "All".into(), entitlements, ..Plan::bare("all") };
    let plans = Plans::new([all], "all", 0).unwrap().into();
    ServiceConfig { api: ApiConfig { plans, ..ApiConfig::default() }, ..ServiceConfig::default() }
}

/// A customer with a connection to the platform.
struct Customer<'a> {
    app: &'a TestApp,
    org: OrgRecord,
    key: String,
    /// Path of the connection.
    path: String,
}

impl<'a> Customer<'a> {
    /// Connects with these settings.
    async fn connected(app: &'a TestApp, acme: &'a Acme, settings: Value) -> Self {
        Self::of_kind(app, acme, KeyKind::Live, settings).await
    }

    async fn of_kind(app: &'a TestApp, acme: &'a Acme, kind: KeyKind, settings: Value) -> Self {
        let plan = app.admin.plan(Some("all")).unwrap().clone();
        let org = app.admin.create_org("Example Ltd", plan).await.unwrap();
        app.admin.grant(&org, CreditBucket::Prepaid, CREDITS, None).await.unwrap();
        let key = app.key(&org, kind).await;
        let body = json!({ "credentials": acme.credentials() });
        let made = app.send(Call::new("POST", "/v1/integrations/acme/connections").json(&body).key(&key)).await.ok(201);
        let path = format!("/v1/integrations/acme/connections/{}", made["id"].as_str().unwrap());
        let customer = Self { app, org, key, path };
        customer.patch(settings).await;
        customer
    }

    /// Connects to the same account again.
    async fn again(&self, acme: &Acme, settings: Value) -> Self {
        let body = json!({ "credentials": acme.credentials() });
        let call = Call::new("POST", "/v1/integrations/acme/connections").json(&body).key(&self.key);
        let made = self.app.send(call).await.ok(201);
        let path = format!("/v1/integrations/acme/connections/{}", made["id"].as_str().unwrap());
        let second = Self { app: self.app, org: self.org.clone(), key: self.key.clone(), path };
        second.patch(settings).await;
        second
    }

    async fn patch(&self, settings: Value) {
        self.app.send(Call::new("PATCH", &*self.path).json(&settings).key(&self.key)).await.ok(200);
    }

    async fn post(&self, rest: &str, body: Value) -> Answer {
        self.app.send(Call::new("POST", format!("{}/{rest}", self.path)).json(&body).key(&self.key)).await
    }

    async fn get(&self, rest: &str) -> Value {
        self.app.get(&self.key, &format!("{}/{rest}", self.path)).await.ok(200)
    }

    /// Starts a run; returns its ID.
    async fn start(&self, dry: bool) -> String {
        let started = self.post("runs", json!({ "dry_run": dry })).await.ok(201);
        assert_eq!(started["state"], "reading");
        started["id"].as_str().unwrap().to_owned()
    }

    async fn connection(&self) -> Value {
        self.app.get(&self.key, &self.path).await.ok(200)
    }

    async fn start_and_cancel(&self) {
        let id = self.start(false).await;
        self.post(&format!("runs/{id}/cancel"), json!({})).await.ok(200);
    }

    /// Returns the available, held and spent credits.
    async fn credits(&self) -> [i64; 3] {
        let balance = self.app.balance(&self.org).await;
        [balance.available, balance.held, balance.spent].map(Split::total)
    }

    async fn run(&self, id: &str) -> Value {
        self.get(&format!("runs/{id}")).await
    }

    /// Waits until a run is in a state.
    async fn until(&self, id: &str, state: &str) -> Value {
        self.until_one_of(id, &[state]).await
    }

    async fn until_one_of(&self, id: &str, states: &[&str]) -> Value {
        for _ in 0..2_500 {
            let run = self.run(id).await;
            if states.iter().any(|state| run["state"] == *state) {
                return run;
            }
            let may_end = states.iter().any(|state| is_over(&json!({ "state": state })));
            assert!(!is_over(&run) || may_end, "{run:#}");
            real_moment().await;
        }
        panic!("never {states:?}: {:#}", self.run(id).await)
    }

    async fn confirm(&self, id: &str, actions: i64) -> Answer {
        self.post(&format!("runs/{id}/confirm"), json!({ "actions": actions })).await
    }

    /// Completes a run, and confirms it if necessary.
    async fn whole_run(&self) -> Value {
        let id = self.start(false).await;
        let run = self.until_one_of(&id, &["needs_confirmation", "finished"]).await;
        if run["state"] == "finished" {
            return run;
        }
        self.confirm(&id, run["actions"]["planned"].as_i64().unwrap()).await.ok(200);
        self.until(&id, "finished").await
    }
}

fn is_over(run: &Value) -> bool {
    ["finished", "failed", "cancelled"].iter().any(|state| run["state"] == *state)
}

/// Lets time pass, the last of it in steps in which due work starts. Then waits until the newest run of a connection waits for
/// its platform, or for nothing: on a busy machine, a call in progress would time out if time went on.
async fn pass_and_rest(app: &TestApp, key: &str, path: &str, time: Duration) {
    const STEPS: u32 = 8;
    const STEP: Duration = Duration::from_secs(2);
    advance(time.saturating_sub(STEPS * STEP)).await;
    for _ in 0..STEPS {
        advance(STEP).await;
    }
    for _ in 0..1_000 {
        let runs = app.get(key, &format!("{path}/runs?per_page=1")).await.ok(200);
        if !is_at_work(&runs["data"][0]) {
            break;
        }
        real_moment().await;
    }
}

fn is_going(run: &Value) -> bool {
    ["reading", "verifying", "acting"].iter().any(|state| run["state"] == *state)
}

/// Returns whether a run is doing anything but waiting for its platform or a user.
fn is_at_work(run: &Value) -> bool {
    is_going(run) && run["waits_until"].is_null()
}

/// Runs a test with a platform that has these contacts on one list, and a service that can connect it.
async fn with_contacts(emails: &[&str], test: impl AsyncFn(&TestApp, &Acme)) {
    with_contacts_on(plans(), emails, test).await;
}

/// Does the same for customers with these plans.
async fn with_contacts_on(plans: ServiceConfig, emails: &[&str], test: impl AsyncFn(&TestApp, &Acme)) {
    let acme = Acme::start().await;
    let fill = || {
        acme.clear();
        for (id, email) in (1..).zip(emails) {
            acme.add(id, email, &[("news", "active")]);
        }
    };
    TestApp::each(acme.config(plans), async |app| {
        fill();
        test(app, &acme).await;
    })
    .await;
}

/// Long enough for everything that is retried within minutes.
const MINUTES: Duration = Duration::from_mins(2);
