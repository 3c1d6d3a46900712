//! Contacts in doubt: only a decision about each of them lets a run act, whoever has confirmed the run.

use serde_json::{Value, json};

use super::guarding::actions;
use super::{CREDITS, Customer, with_contacts};

const NOBODY: &str = "nobody@honest-mail.com";

async fn decide(customer: &Customer<'_>, run: &str, index: &Value, word: &str) {
    let decisions = json!({ "decisions": [{ "run_id": run, "index": index, "decision": word }] });
    assert_eq!(customer.post("review/decisions", decisions).await.ok(200)["decided"], 1);
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_contact_without_one_clear_address_waits_for_a_decision() {
    let unclear = ["5", "nobody@honest-mail.com, ann@honest-mail.com", "x\u{0}@null-mx.com"];
    with_contacts(&[NOBODY, unclear[0], unclear[1], unclear[2], "ann..lee@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        let run = customer.until(&id, "needs_confirmation").await;
        assert_eq!(actions(&run), [0, 0, 5], "all are shown: {run:#}");
        customer.confirm(&id, 5).await.ok(200);
        let run = customer.until(&id, "needs_confirmation").await;
        assert_eq!((actions(&run), acme.ids()), ([2, 0, 3], vec![2, 3, 4]), "{run:#}");
        assert!(run["fault"].as_str().unwrap().contains("in doubt"), "{run:#}");
        let review = customer.get("review").await;
        for (shown, email) in review["data"].as_array().unwrap().iter().zip(unclear) {
            assert_eq!(
                (&shown["email"], &shown["doubt"]),
                (&json!(email), &json!("the contact has no single address"))
            );
        }
        customer.confirm(&id, 3).await.error(409, "conflict");
        decide(&customer, &id, &review["data"][0]["index"], "act").await;
        customer.until(&id, "needs_confirmation").await;
        decide(&customer, &id, &review["data"][1]["index"], "ignore").await;
        decide(&customer, &id, &review["data"][2]["index"], "ignore").await;
        let run = customer.until(&id, "finished").await;
        assert_eq!((actions(&run), acme.ids()), ([3, 2, 0], vec![3, 4]), "{run:#}");
        // The connection is trusted now, and no run acts upon them by itself either.
        let id = customer.start(false).await;
        let run = customer.until(&id, "needs_confirmation").await;
        assert_eq!((actions(&run), &run["held_by"], acme.ids()), ([0, 0, 2], &Value::Null, vec![3, 4]), "{run:#}");
        assert_eq!(customer.credits().await, [CREDITS - 7, 0, 7]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_contact_that_somebody_subscribes_again_waits_for_a_decision() {
    // 2027-05-03.
    const MAY: i64 = 1_809_302_400_000;
    with_contacts(&[NOBODY, "nobody2@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "unsubscribe" })).await;
        customer.whole_run().await;
        acme.set_state(1, "active");
        acme.touch(1, MAY);
        acme.add(3, "nobody3@honest-mail.com", &[("news", "active")]);
        acme.add(4, "user4@honest-mail.com", &[("news", "active")]);
        let id = customer.start(false).await;
        let run = customer.until(&id, "needs_confirmation").await;
        assert_eq!(actions(&run), [1, 0, 1], "the others are acted upon at once: {run:#}");
        assert_eq!(acme.contact(1).unwrap().lists["news"], "active");
        let review = customer.get("review").await;
        let waits = &review["data"][0];
        assert_eq!(waits["doubt"], "subscribed again at the platform on 2027-05-03", "{review:#}");
        // Whatever the connection does now, the decision of a person stands.
        customer.patch(json!({ "action": "delete" })).await;
        let later = customer.start(false).await;
        let run = customer.until(&later, "needs_confirmation").await;
        assert_eq!(actions(&run), [0, 0, 1], "{run:#}");
        customer.confirm(&later, 1).await.error(409, "conflict");
        let review = customer.get("review").await;
        decide(&customer, &later, &review["data"][0]["index"], "act").await;
        customer.until(&later, "finished").await;
        assert_eq!(acme.ids(), [2, 3, 4]);
    })
    .await;
}
