//! Contacts in several lists, which they leave one after the other: the state of contacts that have left only some when their run
//! is interrupted.

use serde_json::{Value, json};

use super::acme::Acme;
use super::guarding::let_pass;
use super::{Customer, with_contacts};
use crate::test_app::{Call, TestApp, real_moment};

const NOBODIES: [&str; 2] = ["nobody1@honest-mail.com", "nobody2@honest-mail.com"];
const PARTLY: &str = "done in some of the contact's lists, but not in all";

/// Starts a run whose first contact has left the first of its two lists, while the second contact is about to leave it.
async fn leaving<'a>(app: &'a TestApp, acme: &'a Acme) -> (Customer<'a>, String) {
    acme.add(1, NOBODIES[0], &[("news", "active"), ("offers", "active")]);
    let customer = Customer::connected(app, acme, json!({ "action": "unsubscribe" })).await;
    let id = customer.start(false).await;
    customer.until(&id, "needs_confirmation").await;
    acme.acting.forget_permits(usize::MAX);
    acme.acting.add_permits(1);
    customer.confirm(&id, 2).await.ok(200);
    while acme.asked("DELETE").len() < 2 {
        real_moment().await;
    }
    (customer, id)
}

/// Returns the states, messages and flags of a run's two contacts.
async fn shown(customer: &Customer<'_>, id: &str) -> [(Value, Value, bool); 2] {
    let run = customer.run(id).await;
    let rows = customer.app.get(&customer.key, &format!("/v1/batch-verify/{id}/results")).await.ok(200);
    [0, 1].map(|place: usize| {
        let example = &run["examples"][place];
        (example["state"].clone(), example["message"].clone(), rows["data"][place]["unsubscribed"] == true)
    })
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_contact_that_has_left_some_of_its_lists_is_shown_so_when_its_run_ends() {
    let done = || (json!("done"), Value::Null, true);
    with_contacts(&NOBODIES, async |app, acme| {
        let (customer, id) = leaving(app, acme).await;
        customer.post(&format!("runs/{id}/cancel"), json!({})).await.ok(200);
        let_pass(acme).await;
        assert_eq!(shown(&customer, &id).await, [(json!("ignored"), json!(PARTLY), true), done()]);
    })
    .await;
    with_contacts(&NOBODIES, async |app, acme| {
        let (customer, id) = leaving(app, acme).await;
        app.send(Call::new("DELETE", &*customer.path).key(&customer.key)).await.ok(200);
        let_pass(acme).await;
        assert_eq!(shown(&customer, &id).await, [(json!("ignored"), json!(PARTLY), true), done()]);
    })
    .await;
    with_contacts(&NOBODIES, async |app, acme| {
        let (customer, id) = leaving(app, acme).await;
        let rule = json!({ "rules": [{ "keyword": NOBODIES[0], "applies_to": { "email": true } }] });
        customer.post("keywords/whitelist", rule).await.ok(201);
        let_pass(acme).await;
        customer.until(&id, "finished").await;
        let why = format!("{PARTLY}: a whitelist rule matches it");
        assert_eq!(shown(&customer, &id).await, [(json!("ignored"), json!(why), true), done()]);
        assert_eq!(acme.contact(1).unwrap().lists["offers"], "active");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_contact_leaves_its_other_lists_when_its_run_goes_on() {
    with_contacts(&NOBODIES, async |app, acme| {
        let (customer, id) = leaving(app, acme).await;
        let rule = json!({ "rules": [{ "keyword": "someone@honest-mail.com", "applies_to": { "email": true } }] });
        customer.post("keywords/whitelist", rule).await.ok(201);
        let_pass(acme).await;
        customer.until(&id, "finished").await;
        let done = || (json!("done"), Value::Null, true);
        assert_eq!(shown(&customer, &id).await, [done(), done()]);
        assert_eq!(acme.contact(1).unwrap().lists["offers"], "left");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_contact_that_one_of_its_lists_refuses_to_let_go_is_shown_to_have_left_the_other() {
    with_contacts(&NOBODIES, async |app, acme| {
        let (customer, id) = leaving(app, acme).await;
        acme.fail("DELETE /v1/lists/offers/contacts/1", 423, 1);
        let_pass(acme).await;
        customer.until(&id, "finished").await;
        let (state, message, unsubscribed) = shown(&customer, &id).await[0].clone();
        assert_eq!((state, unsubscribed), (json!("refused"), true));
        assert!(message.as_str().unwrap().starts_with(PARTLY), "{message}");
    })
    .await;
}
