//! Automatic actions and confirmations: after changed settings, and for runs started by a key.

use serde_json::json;

use super::guarding::{NOBODIES, actions};
use super::{CREDITS, Customer, with_contacts};
use crate::test_app::Call;

#[tokio::test]
#[ignore = "thorough"]
async fn settings_that_ask_for_more_than_was_confirmed_wait_for_a_person() {
    let more = [
        json!({ "action": "delete" }),
        json!({ "checks": { "accept_all": true } }),
        json!({ "aggressiveness": "aggressive" }),
        json!({ "fix_typos": true }),
    ];
    for change in more {
        with_contacts(&NOBODIES, async |app, acme| {
            let customer = Customer::connected(app, acme, json!({ "action": "unsubscribe" })).await;
            customer.whole_run().await;
            acme.add(5, "nobody5@honest-mail.com", &[("news", "active")]);
            customer.patch(change.clone()).await;
            let id = customer.start(false).await;
            let run = customer.until(&id, "needs_confirmation").await;
            assert_eq!((&run["held_by"], actions(&run)), (&json!("first_run"), [0, 0, 1]), "{change}: {run:#}");
            assert_eq!(acme.contact(5).unwrap().lists["news"], "active", "{change}");
            customer.confirm(&id, 1).await.ok(200);
            customer.until(&id, "finished").await;
        })
        .await;
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn settings_that_ask_for_no_more_than_was_confirmed_act_at_once() {
    let no_more = [
        json!({ "checks": { "bounced": false } }),
        json!({ "tag": "other", "name": "Other", "decay_days": 60 }),
        json!({ "action": "unsubscribe", "aggressiveness": "normal", "lists": [] }),
    ];
    for change in no_more {
        with_contacts(&NOBODIES, async |app, acme| {
            acme.add(9, "user9@honest-mail.com", &[("news", "active")]);
            let customer = Customer::connected(app, acme, json!({ "action": "unsubscribe" })).await;
            customer.whole_run().await;
            acme.add(5, "nobody5@honest-mail.com", &[("news", "active")]);
            customer.patch(change.clone()).await;
            let id = customer.start(false).await;
            let run = customer.until(&id, "finished").await;
            assert_eq!((&run["held_by"], actions(&run)), (&json!(null), [1, 0, 0]), "{change}: {run:#}");
        })
        .await;
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_run_that_was_confirmed_late_is_no_leave_for_what_was_asked_for_since() {
    with_contacts(&NOBODIES, async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "update_tags" })).await;
        let earlier = customer.start(true).await;
        customer.until(&earlier, "needs_confirmation").await;
        customer.patch(json!({ "action": "delete" })).await;
        customer.confirm(&earlier, 4).await.ok(200);
        customer.until(&earlier, "finished").await;
        let later = customer.start(false).await;
        let run = customer.until(&later, "needs_confirmation").await;
        assert_eq!((&run["held_by"], acme.ids()), (&json!("first_run"), vec![1, 2, 3, 4]), "{run:#}");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_run_that_a_key_starts_waits_if_it_would_change_many_contacts() {
    with_contacts(&NOBODIES[..1], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "unsubscribe" })).await;
        customer.whole_run().await;
        acme.add(2, "user2@honest-mail.com", &[("news", "active")]);
        for id in 3..=6 {
            acme.add(id, &format!("user{id}@null-mx.com"), &[("news", "active")]);
        }
        let id = customer.start(false).await;
        let run = customer.until(&id, "needs_confirmation").await;
        let reason = "4 of 5 contacts would be unsubscribed, deleted or corrected; a run that no person started may \
                      change 3 without confirmation";
        assert_eq!((&run["held_by"], &run["held_reason"]), (&json!("too_many_actions"), &json!(reason)), "{run:#}");
        customer.confirm(&id, 4).await.ok(200);
        customer.until(&id, "finished").await;
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_list_is_not_emptied_without_a_person_however_short_it_is() {
    with_contacts(&[NOBODIES[0], "user1@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        customer.whole_run().await;
        assert_eq!(acme.ids(), [2]);
        acme.rename(2, NOBODIES[1]);
        let id = customer.start(false).await;
        let run = customer.until(&id, "needs_confirmation").await;
        let reason = "1 of 1 contacts would be unsubscribed, deleted or corrected; no other contact of the connection would be left";
        assert_eq!((&run["held_by"], &run["held_reason"]), (&json!("too_many_actions"), &json!(reason)), "{run:#}");
        customer.confirm(&id, 1).await.ok(200);
        customer.until(&id, "finished").await;
        assert_eq!((acme.ids(), customer.credits().await), (vec![], [CREDITS - 3, 0, 3]));
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn contacts_that_have_left_are_none_that_remain() {
    with_contacts(&[NOBODIES[0], "user1@honest-mail.com", "user2@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        customer.whole_run().await;
        acme.remove(3);
        acme.rename(2, NOBODIES[1]);
        let id = customer.start(false).await;
        let run = customer.until(&id, "needs_confirmation").await;
        assert_eq!((&run["held_by"], acme.ids()), (&json!("too_many_actions"), vec![2]), "{run:#}");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_customer_chooses_how_much_runs_may_change_by_themselves() {
    with_contacts(&NOBODIES[..1], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "unsubscribe" })).await;
        for (id, email) in [(2, "user2@honest-mail.com"), (3, "user3@honest-mail.com")] {
            acme.add(id, email, &[("news", "active")]);
        }
        customer.patch(json!({ "unconfirmed_contacts": 0, "unconfirmed_percent": 0 })).await;
        customer.whole_run().await;
        acme.add(4, NOBODIES[1], &[("news", "active")]);
        let id = customer.start(false).await;
        let run = customer.until(&id, "needs_confirmation").await;
        assert_eq!(run["held_by"], "too_many_actions", "{run:#}");
        assert!(run["held_reason"].as_str().unwrap().contains("may change 0 without"), "{run:#}");
        customer.confirm(&id, 1).await.ok(200);
        customer.until(&id, "finished").await;
        // More than was confirmed: a person sees the first run.
        customer.patch(json!({ "unconfirmed_percent": 50 })).await;
        acme.add(5, NOBODIES[2], &[("news", "active")]);
        let id = customer.start(false).await;
        assert_eq!(customer.until(&id, "needs_confirmation").await["held_by"], "first_run");
        customer.confirm(&id, 1).await.ok(200);
        customer.until(&id, "finished").await;
        acme.add(6, NOBODIES[3], &[("news", "active")]);
        let id = customer.start(false).await;
        assert_eq!(actions(&customer.until(&id, "finished").await), [1, 0, 0]);
        for wrong in [json!({ "unconfirmed_contacts": 1_001 }), json!({ "unconfirmed_percent": 101 })] {
            app.send(Call::new("PATCH", customer.path.clone()).json(&wrong).key(&customer.key))
                .await
                .error(400, "invalid_request");
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn rules_by_which_runs_act_on_more_contacts_wait_for_a_person() {
    let rule = |keyword: &str| json!({ "rules": [{ "keyword": keyword, "applies_to": { "email": true } }] });
    for kind in ["blacklist", "whitelist"] {
        with_contacts(&NOBODIES, async |app, acme| {
            let customer = Customer::connected(app, acme, json!({ "action": "unsubscribe" })).await;
            acme.add(5, "user5@honest-mail.com", &[("news", "active")]);
            acme.add(6, "nobody6@honest-mail.com", &[("news", "active")]);
            let kept = customer.post("keywords/whitelist", rule("nobody6@honest-mail.com")).await.ok(201);
            customer.whole_run().await;
            if kind == "blacklist" {
                customer.post("keywords/blacklist", rule("user5@honest-mail.com")).await.ok(201);
            } else {
                let path = format!("{}/keywords/whitelist/{}", customer.path, kept["data"][0]["id"].as_str().unwrap());
                app.send(Call::new("DELETE", path).key(&customer.key)).await.ok(200);
            }
            let id = customer.start(false).await;
            let run = customer.until(&id, "needs_confirmation").await;
            assert_eq!((&run["held_by"], actions(&run)), (&json!("first_run"), [0, 0, 1]), "{kind}: {run:#}");
            let states = [5, 6].map(|id| acme.contact(id).unwrap().lists["news"].clone());
            assert_eq!(states, ["active", "active"], "{kind}");
            customer.confirm(&id, 1).await.ok(200);
            customer.until(&id, "finished").await;
            acme.add(7, "nobody7@honest-mail.com", &[("news", "active")]);
            let id = customer.start(false).await;
            assert_eq!(actions(&customer.until(&id, "finished").await), [1, 0, 0], "{kind}: trusted again");
        })
        .await;
    }
}
