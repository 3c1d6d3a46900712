//! Tests of a machine that cannot probe mail servers: live lists wait, lists of the sandbox do not.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use probity_account::api_key::KeyKind;
use probity_account::role::MemberRole;
use probity_backend::nodes::asking::Essential;
use probity_backend::nodes::egress::{Check, Checkup};
use probity_engine::net::BoxFuture;
use probity_http::service::ServiceConfig;
use probity_service::operator::first_start::OPERATORS;
use probity_store::ScopedFutureExt as _;
use probity_store::nodes::instance;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{done, status, submit};
use crate::people::signed_in;
use crate::test_app::{TestApp, pass};

/// Time in which a node that cannot probe checks again.
const CHECKED_AGAIN: Duration = Duration::from_secs(61);
/// Time in which a list would be verified.
const LONG: Duration = Duration::from_secs(30);

/// Machine whose checkup results are set by the test.
struct Machine {
    found: Mutex<Vec<Check>>,
    /// Each permit lets a checkup end.
    gate: Semaphore,
}

impl Machine {
    fn new(found: Vec<Check>, checkups: usize) -> Arc<Self> {
        Arc::new(Self { found: Mutex::new(found), gate: Semaphore::new(checkups) })
    }

    fn config(self: &Arc<Self>) -> ServiceConfig {
        ServiceConfig { checkup: Some(self.clone()), ..ServiceConfig::default() }
    }

    fn is_now(&self, found: Vec<Check>) {
        *self.found.lock().unwrap() = found;
    }
}

impl Checkup for Machine {
    fn config_file(&self) -> &Path {
        Path::new("/etc/probity/probity.toml")
    }

    fn checks(&self) -> BoxFuture<'_, Vec<Check>> {
        self.essentials()
    }

    fn essentials(&self) -> BoxFuture<'_, Vec<Check>> {
        Box::pin(async {
            self.gate.acquire().await.expect("the gate stays").forget();
            self.found.lock().unwrap().clone()
        })
    }
}

fn resolver(check: fn(&'static str, &'static str) -> Check) -> Check {
    check("resolver of this system", "as scripted").about(Essential::Resolver)
}

fn port(check: fn(&'static str, &'static str) -> Check) -> Check {
    check("port 25 outbound", "as scripted").about(Essential::Port)
}

fn reverse(check: fn(&'static str, &'static str) -> Check) -> Check {
    check("reverse name", "as scripted").about(Essential::ReverseName)
}

fn ok(name: &'static str, found: &'static str) -> Check {
    Check::ok(name, found)
}

fn fail(name: &'static str, found: &'static str) -> Check {
    Check::fail(name, found, "mend it").with_config("[probe]\nport = 25")
}

/// Asserts that no row of a list has a verdict.
async fn waits(app: &TestApp, key: &str, id: &str) {
    let now = status(app, key, id).await;
    assert_eq!(now["status"], "starting", "{now}");
}

#[tokio::test]
async fn live_lists_wait_for_whatever_is_missing_and_the_sandbox_for_nothing() {
    for missing in [
        vec![resolver(fail), port(fail), reverse(ok)],
        vec![resolver(ok), port(fail), reverse(ok)],
        vec![resolver(ok), port(ok), reverse(fail)],
    ] {
        let machine = Machine::new(missing, 100);
        let app = TestApp::with(machine.config()).await;
        let (org, live) = app.customer().await;
        let test = app.key(&org, KeyKind::Test).await;
        // The second address needs no probe.
        let held = submit(&app, &live, &["ann@honest-mail.com", "no address"]).await;
        let free = submit(&app, &test, &["valid@sandbox.test"]).await;
        assert_eq!(done(&app, &test, &free).await["numPassed"], 1);
        pass(LONG).await;
        waits(&app, &live, &held).await;

        machine.is_now(vec![resolver(ok), port(ok), reverse(ok)]);
        pass(CHECKED_AGAIN).await;
        let done = done(&app, &live, &held).await;
        assert_eq!((&done["numPassed"], &done["numUndeliverable"]), (&json!(1), &json!(1)), "{done}");
        app.stop().await;
    }
}

#[tokio::test]
async fn pages_are_told_what_is_missing_and_a_list_waits_for_the_first_checkup() {
    let machine = Machine::new(vec![resolver(ok), port(fail)], 0);
    let app = TestApp::with(machine.config()).await;
    let (org, live) = app.customer().await;
    let (_, mut ann) = signed_in(&app, &org, "ann@example.com", MemberRole::Administrator).await;
    let held = submit(&app, &live, &["ann@honest-mail.com"]).await;
    pass(LONG).await;
    waits(&app, &live, &held).await;
    let unknown = json!({ "reachable": null, "missing": null, "data": null });
    assert_eq!(ann.get("/app/egress").await.ok(200), unknown);

    machine.gate.add_permits(100);
    pass(LONG).await;
    let closed = json!({ "reachable": false, "missing": "port", "data": null });
    assert_eq!(ann.get("/app/egress").await.ok(200), closed);
    waits(&app, &live, &held).await;

    machine.is_now(vec![resolver(ok), port(ok)]);
    pass(CHECKED_AGAIN).await;
    done(&app, &live, &held).await;
    pass(LONG).await;
    let open = json!({ "reachable": true, "missing": null, "data": null });
    assert_eq!(ann.get("/app/egress").await.ok(200), open);
    app.stop().await;
}

#[tokio::test]
async fn whoever_runs_the_installation_has_it_checked_again() {
    // Time for a checkup that was asked for, and for its report.
    const REPORTED: Duration = Duration::from_secs(12);
    let machine = Machine::new(vec![resolver(ok), port(fail)], 100);
    let app = TestApp::with(machine.config()).await;
    let org = app.org("Operator", 0).await;
    let id = org.id.to_string();
    app.store.write(|tx| instance::set_once(tx, OPERATORS, &id).scope_boxed()).await.unwrap();
    let (_, mut ann) = signed_in(&app, &org, "ann@example.com", MemberRole::Administrator).await;
    pass(LONG).await;
    let checkup = ann.get("/app/egress").await.ok(200)["data"][0]["state"]["checkup"].clone();
    assert_eq!(checkup["config_file"], "/etc/probity/probity.toml");
    let lines: Vec<_> = checkup["checks"].as_array().unwrap().iter().map(|check| &check["config"]).collect();
    assert_eq!(lines, [&Value::Null, &json!("[probe]\nport = 25")], "{checkup}");
    machine.is_now(vec![resolver(ok), port(ok)]);
    pass(REPORTED).await;
    assert_eq!(ann.get("/app/egress").await.ok(200)["missing"], "port");
    ann.post("/app/egress", &json!({})).await.ok(200);
    pass(REPORTED).await;
    assert_eq!(ann.get("/app/egress").await.ok(200)["reachable"], true);
    app.stop().await;
}

#[tokio::test]
async fn a_list_that_its_owner_finishes_early_does_not_wait() {
    let machine = Machine::new(vec![resolver(ok), port(fail)], 100);
    let app = TestApp::with(machine.config()).await;
    let (org, live) = app.customer().await;
    let (_, mut ann) = signed_in(&app, &org, "ann@example.com", MemberRole::Administrator).await;
    let held = submit(&app, &live, &["ann@honest-mail.com"]).await;
    pass(LONG).await;
    waits(&app, &live, &held).await;
    let finished: Value = ann.post(&format!("/app/jobs/{held}/finish"), &json!({})).await.ok(200);
    assert_eq!(finished["hurried"], true, "{finished}");
    done(&app, &live, &held).await;
    app.stop().await;
}
