//! Misspelled addresses: corrected only to deliverable ones, and otherwise treated like others.

use serde_json::json;

use super::{Customer, with_contacts};
use crate::test_app::pass;

const SETTINGS: &str = r#"{"action": "delete", "fix_typos": true}"#;

#[tokio::test]
#[ignore = "thorough"]
async fn a_misspelt_address_is_corrected_to_one_that_is_deliverable() {
    with_contacts(&["ann@iclod.com", "nobody@iclod.com", "user1@icloud.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, serde_json::from_str(SETTINGS).unwrap()).await;
        let id = customer.start(false).await;
        let run = customer.until(&id, "needs_confirmation").await;
        let examples = run["examples"].as_array().unwrap();
        assert_eq!((&examples[0]["action"], &examples[0]["suggestion"]), (&json!("fix"), &json!("ann@icloud.com")));
        let instead = (&examples[1]["action"], &examples[1]["suggestion"]);
        assert_eq!(instead, (&json!("delete"), &json!(null)), "its suggestion does not exist");
        customer.confirm(&id, 2).await.ok(200);
        customer.until(&id, "finished").await;
        assert_eq!(acme.ids(), [1, 3]);
        assert_eq!(acme.contact(1).unwrap().email, "ann@icloud.com");
        let rows = app.get(&customer.key, &format!("/v1/batch-verify/{id}/results")).await.ok(200);
        assert_eq!((&rows["data"][0]["fixed"], &rows["data"][1]["deleted"]), (&json!(true), &json!(true)));
        assert_eq!(app.balance(&customer.org).await.spent.total(), 3, "suggestions cost nothing");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_contact_whose_right_address_is_there_already_is_deleted_by_the_next_run_that_sees_it() {
    with_contacts(&["user1@iclod.com", "user1@icloud.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, serde_json::from_str(SETTINGS).unwrap()).await;
        let run = customer.whole_run().await;
        assert_eq!((&run["examples"][0]["state"], &run["actions"]["failed"]), (&json!("taken"), &json!(1)));
        assert_eq!(acme.ids(), [1, 2], "whose address it is shows when the contact is read again");
        let second = customer.start(false).await;
        let run = customer.until(&second, "finished").await;
        assert_eq!(acme.ids(), [2]);
        assert_eq!(acme.asked("PUT").len(), 1, "it is not corrected again");
        let counts: Vec<_> =
            run["counts"].as_array().unwrap().iter().map(|one| (&one["action"], &one["done"])).collect();
        assert_eq!(counts, [(&json!("delete"), &json!(1))]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_corrected_contact_stays_if_the_answer_was_lost_and_the_repetition_says_that_the_address_is_taken() {
    with_contacts(&["ann@iclod.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, serde_json::from_str(SETTINGS).unwrap()).await;
        // The platform corrects the address, but its response is lost; the retry finds the new address taken, by the contact
        // itself.
        acme.fail_with("PUT /v1/contacts/1", 502, &[], "", true);
        // A lagging replica still shows the wrong address.
        for _ in 0..2 {
            acme.fail_with("GET /v1/contacts/1", 200, &[], "{\"email\":\"ann@iclod.com\"}", false);
        }
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        customer.confirm(&id, 1).await.ok(200);
        while acme.asked("PUT").len() < 2 {
            pass(std::time::Duration::from_secs(5)).await;
        }
        customer.until(&id, "finished").await;
        assert_eq!(acme.contact(1).unwrap().email, "ann@icloud.com");
        let second = customer.start(false).await;
        customer.until(&second, "finished").await;
        assert_eq!(acme.contact(1).unwrap().email, "ann@icloud.com", "nobody is deleted");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_correction_whose_answer_was_lost_is_found_done() {
    with_contacts(&["ann@iclod.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, serde_json::from_str(SETTINGS).unwrap()).await;
        acme.fail_with("PUT /v1/contacts/1", 502, &[], "", true);
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        customer.confirm(&id, 1).await.ok(200);
        while acme.asked("GET /v1/contacts/1").len() < 2 {
            pass(std::time::Duration::from_secs(5)).await;
        }
        let run = customer.until(&id, "finished").await;
        assert_eq!((&run["examples"][0]["state"], acme.asked("PUT").len()), (&json!("done"), 1), "{run:#}");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_contact_that_is_only_tagged_otherwise_stays_if_its_right_address_is_taken() {
    with_contacts(&["user1@iclod.com", "user1@icloud.com"], async |app, acme| {
        let settings = json!({ "action": "update_tags", "fix_typos": true });
        let customer = Customer::connected(app, acme, settings).await;
        let run = customer.whole_run().await;
        assert_eq!((&run["examples"][0]["state"], &run["actions"]["failed"]), (&json!("taken"), &json!(1)));
        assert_eq!(acme.ids(), [1, 2]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn nothing_is_corrected_unless_the_customer_wishes_it() {
    with_contacts(&["ann@iclod.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "update_tags" })).await;
        customer.whole_run().await;
        assert_eq!(acme.contact(1).unwrap().email, "ann@iclod.com");
        assert!(acme.asked("PUT").is_empty());
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn nothing_is_corrected_while_the_connection_has_no_action() {
    for action in [json!(null), json!("do_nothing")] {
        with_contacts(&["ann@iclod.com"], async |app, acme| {
            let customer = Customer::connected(app, acme, json!({ "action": action, "fix_typos": true })).await;
            let id = customer.start(false).await;
            let run = customer.until(&id, "finished").await;
            assert_eq!(run["actions"]["planned"], 0, "{run:#}");
            assert_eq!(acme.contact(1).unwrap().email, "ann@iclod.com");
        })
        .await;
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_planned_correction_is_dropped_with_the_action() {
    with_contacts(&["ann@iclod.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, serde_json::from_str(SETTINGS).unwrap()).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        customer.patch(json!({ "action": "do_nothing" })).await;
        customer.confirm(&id, 1).await.ok(200);
        let run = customer.until(&id, "finished").await;
        assert_eq!((&run["actions"]["done"], &run["actions"]["ignored"]), (&json!(0), &json!(1)), "{run:#}");
        assert_eq!(acme.contact(1).unwrap().email, "ann@iclod.com");
    })
    .await;
}
