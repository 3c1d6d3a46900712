//! Answers from which nothing follows while a run acts.

use std::time::Duration;

use serde_json::json;

use super::{CREDITS, Customer, with_contacts};
use crate::test_app::pass;

const ANN: &str = "ann@honest-mail.com";
const NOBODY: &str = "nobody@honest-mail.com";

#[tokio::test]
#[ignore = "thorough"]
async fn a_broken_answer_to_an_action_is_waited_for_and_settles_nothing() {
    with_contacts(&[ANN, NOBODY], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        for body in ["{}", "{\"message\": \"o", "<html>one moment"].into_iter().cycle().take(6) {
            acme.fail_with("DELETE /v1/contacts/2", 200, &[], body, false);
        }
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        customer.confirm(&id, 1).await.ok(200);
        for _ in 0..60 {
            pass(Duration::from_secs(20)).await;
            assert_ne!(customer.run(&id).await["state"], "needs_confirmation", "it is confirmed");
        }
        let run = customer.until(&id, "finished").await;
        assert_eq!((&run["actions"]["done"], acme.ids()), (&json!(1), vec![1]), "{run:#}");
        assert_eq!(acme.asked("DELETE").len(), 7);
        let balance = app.balance(&customer.org).await;
        assert_eq!((balance.available.total(), balance.held.total()), (CREDITS - 2, 0));
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_path_that_is_not_there_is_no_missing_contact() {
    with_contacts(&[ANN, NOBODY], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        acme.fail_with("DELETE /v1/contacts/2", 404, &[], "{\"message\": \"no such path\"}", false);
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        customer.confirm(&id, 1).await.ok(200);
        let run = customer.until(&id, "finished").await;
        assert_eq!((&run["actions"]["failed"], &run["actions"]["done"]), (&json!(1), &json!(0)), "{run:#}");
        assert_eq!(acme.ids(), [1, 2]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_contact_that_the_platform_fails_at_stops_no_other() {
    for request in ["GET /v1/contacts/", "DELETE /v1/contacts/"] {
        with_contacts(&[ANN, NOBODY, "nobody3@honest-mail.com", "nobody4@honest-mail.com"], async |app, acme| {
            let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
            let id = customer.start(false).await;
            customer.until(&id, "needs_confirmation").await;
            // One after the other, as of a kind that the platform cannot handle.
            for id in [2, 3] {
                acme.fail(&format!("{request}{id}"), 500, 99);
            }
            customer.confirm(&id, 3).await.ok(200);
            for _ in 0..10 {
                pass(Duration::from_secs(20)).await;
            }
            let run = customer.until(&id, "finished").await;
            assert_eq!((&run["actions"]["done"], &run["actions"]["failed"]), (&json!(1), &json!(2)), "{run:#}");
            assert_eq!(acme.ids(), [1, 2, 3], "{request}");
            assert_eq!(acme.asked(&format!("{request}3")).len(), 1, "the failure is known");
        })
        .await;
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn an_outage_is_no_contacts_fault() {
    with_contacts(&[ANN, NOBODY, "nobody3@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        acme.fail("GET /v1/contacts/", 503, 9);
        customer.confirm(&id, 2).await.ok(200);
        for _ in 0..40 {
            pass(Duration::from_mins(1)).await;
        }
        let run = customer.until(&id, "finished").await;
        assert_eq!((&run["actions"]["done"], acme.ids()), (&json!(2), vec![1]), "{run:#}");
    })
    .await;
}
