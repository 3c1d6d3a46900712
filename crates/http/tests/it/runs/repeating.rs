//! Consecutive runs: a completed action is not planned again, unless the contact or the effect has changed.

use serde_json::{Value, json};

use super::{Customer, with_contacts};
use crate::runs::acme::Acme;
use crate::test_app::{Call, TestApp};
use crate::webhooks::receivers::{Manner, Receiver, webhooks_to_loopback};

const ANN: &str = "ann@honest-mail.com";
const NOBODY: &str = "nobody@honest-mail.com";

/// Completes a run; returns the number of its actions.
async fn planned(customer: &Customer<'_>) -> i64 {
    let run = customer.whole_run().await;
    let actions = run["actions"].as_object().unwrap();
    actions.values().map(|number| number.as_i64().unwrap()).sum()
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_tag_is_planned_again_only_if_the_contact_or_the_tag_has_changed() {
    let acme = Acme::start().await;
    let config = probity_http::service::ServiceConfig { webhooks: webhooks_to_loopback(), ..super::plans() };
    TestApp::each(acme.config(config), async |app| {
        acme.clear();
        acme.add(1, ANN, &[("news", "active")]);
        acme.add(2, NOBODY, &[("news", "active")]);
        // The second contact of a mailbox.
        acme.add(3, "NOBODY@honest-mail.com", &[("news", "active")]);
        let customer = Customer::connected(app, &acme, json!({ "action": "update_tags" })).await;
        let mut receiver = Receiver::start(Manner::status(204)).await;
        let wanted = json!({ "name": "crm", "url": receiver.url(), "events": ["contact.tagged"] });
        app.send(Call::new("POST", "/v1/webhooks").json(&wanted).key(&customer.key)).await.ok(201);
        customer.whole_run().await;
        receiver.request().await;
        assert_eq!(planned(&customer).await, 0, "both have the tag");
        assert!(receiver.so_far().is_empty());
        acme.rename(3, "nobody3@honest-mail.com");
        assert_eq!(planned(&customer).await, 1, "another address");
        acme.touch(2, 4_000_000_000_000);
        assert_eq!(planned(&customer).await, 1, "changed at the platform since");
        acme.touch(2, 0);
        customer.patch(json!({ "tag": "bad" })).await;
        assert_eq!([planned(&customer).await, planned(&customer).await], [2, 0], "another tag");
        customer.patch(json!({ "action": "update_custom_fields", "field": "a" })).await;
        assert_eq!([planned(&customer).await, planned(&customer).await], [2, 0]);
        customer.patch(json!({ "field": "b" })).await;
        assert_eq!([planned(&customer).await, planned(&customer).await], [2, 0]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_bounced_contact_is_unsubscribed_once_and_again_only_from_other_lists() {
    with_contacts(&[], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "unsubscribe" })).await;
        // Like Ghost, which continues to show an unsubscribed contact as bounced.
        let shown = |lists: &[&str], state| {
            let lists: Vec<_> = lists.iter().map(|list| (*list, state)).collect();
            acme.add(1, "user1@honest-mail.com", &lists);
        };
        shown(&["news"], "bounced");
        customer.whole_run().await;
        shown(&["news"], "bounced");
        assert_eq!(planned(&customer).await, 0);
        shown(&["news", "offers"], "bounced");
        assert_eq!(planned(&customer).await, 1, "another list");
        acme.add(2, NOBODY, &[("news", "active")]);
        assert_eq!([planned(&customer).await, planned(&customer).await], [1, 0]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_dry_run_shows_what_replaces_a_correction_whose_address_is_taken() {
    with_contacts(&["user1@iclod.com", "user1@icloud.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete", "fix_typos": true })).await;
        customer.whole_run().await;
        let id = customer.start(true).await;
        let run = customer.until(&id, "needs_confirmation").await;
        let counts: Vec<(&Value, &Value)> =
            run["counts"].as_array().unwrap().iter().map(|one| (&one["action"], &one["planned"])).collect();
        assert_eq!(counts, [(&json!("delete"), &json!(1))]);
        customer.confirm(&id, 1).await.ok(200);
        customer.until(&id, "finished").await;
        assert_eq!(acme.ids(), [2]);
    })
    .await;
}
