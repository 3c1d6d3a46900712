//! Connections that end while their runs are in progress: nothing more is verified, and the rest of the hold comes back.

use serde_json::{Value, json};

use super::acme::Acme;
use super::{CREDITS, Customer, MINUTES, plans};
use crate::test_app::{Call, TestApp, pass};

/// Contacts of which no verdict is known before the test lets one through.
const WAITING: u32 = 20;

async fn verifying<'a>(app: &'a TestApp, acme: &'a Acme) -> (Customer<'a>, String) {
    acme.clear();
    for id in 1..=WAITING {
        acme.add(id, &format!("waits{id}@honest-mail.com"), &[("news", "active")]);
    }
    let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
    let id = customer.start(false).await;
    customer.until(&id, "verifying").await;
    assert_eq!(customer.credits().await, [CREDITS - i64::from(WAITING), i64::from(WAITING), 0]);
    (customer, id)
}

/// Asserts that a run was canceled for this reason, as the timeline says, and costs nothing, now and later.
async fn assert_dropped(customer: &Customer<'_>, id: &str, why: &str) {
    assert_eq!(customer.credits().await, [CREDITS, 0, 0]);
    customer.app.live.gate.add_permits(1_000);
    pass(MINUTES).await;
    let run = customer.run(id).await;
    assert_eq!((&run["state"], &run["fault"]), (&json!("cancelled"), &json!(why)), "{run:#}");
    assert_eq!(customer.credits().await, [CREDITS, 0, 0]);
    let timeline = customer.app.get(&customer.key, "/v1/account/timeline").await.ok(200);
    let of_run = timeline["events"].as_array().unwrap().iter().find(|event| event["job"]["id"] == id);
    assert_eq!(of_run.map(|event| &event["job"]["status"]), Some(&Value::from("cancelled")), "{timeline:#}");
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_run_ends_with_its_connection_and_the_rest_of_its_hold_comes_back() {
    let acme = Acme::start().await;
    TestApp::each(acme.config(plans()), async |app| {
        let (customer, id) = verifying(app, &acme).await;
        app.send(Call::new("DELETE", &*customer.path).key(&customer.key)).await.ok(200);
        assert_dropped(&customer, &id, "the connection was deleted").await;
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_run_ends_with_the_account_that_it_has_read_and_not_with_its_key() {
    let (acme, other) = (Acme::start().await, Acme::start().await);
    let mut config = acme.config(plans());
    config.platforms.hosts.0.push(other.address.to_string());
    TestApp::each(config, async |app| {
        let (customer, id) = verifying(app, &acme).await;
        customer.patch(json!({ "credentials": acme.credentials() })).await;
        assert_eq!(customer.run(&id).await["state"], "verifying");
        customer.patch(json!({ "credentials": other.credentials() })).await;
        assert_dropped(&customer, &id, "the connection got credentials of another account").await;
    })
    .await;
}
