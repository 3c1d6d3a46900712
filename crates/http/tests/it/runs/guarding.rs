//! Changes while a run acts or waits: contacts that a user, a rule or a later check has spared since are not changed, and actions
//! that the platform performed are shown as done.

use std::time::Duration;

use probity_store::accounts::organization::OrgState;
use serde_json::{Value, json};

use super::acme::Acme;
use super::{CREDITS, Customer, with_contacts};
use crate::test_app::{Call, TestApp, pass, real_moment};

pub(super) const NOBODIES: [&str; 4] =
    ["nobody1@honest-mail.com", "nobody2@honest-mail.com", "nobody3@honest-mail.com", "nobody4@honest-mail.com"];

/// Starts a run whose first deletion is in progress until [`Acme::acting`] lets it pass.
async fn acting<'a>(app: &'a TestApp, acme: &'a Acme) -> (Customer<'a>, String) {
    let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
    let id = customer.start(false).await;
    customer.until(&id, "needs_confirmation").await;
    acme.acting.forget_permits(usize::MAX);
    customer.confirm(&id, 4).await.ok(200);
    while acme.asked("DELETE").is_empty() {
        real_moment().await;
    }
    (customer, id)
}

/// Lets the platform respond, and waits until nothing more happens.
pub(super) async fn let_pass(acme: &Acme) {
    acme.acting.add_permits(1_000);
    for _ in 0..20 {
        pass(Duration::from_secs(5)).await;
    }
}

pub(super) fn actions(run: &Value) -> [i64; 3] {
    ["done", "ignored", "planned"].map(|state| run["actions"][state].as_i64().unwrap())
}

/// Waits until a run shows these actions, while the service's clock hardly advances.
async fn until_actions(customer: &Customer<'_>, id: &str, are_wanted: impl Fn([i64; 3]) -> bool) {
    for _ in 0..2_500 {
        if are_wanted(actions(&customer.run(id).await)) {
            return;
        }
        real_moment().await;
    }
    panic!("{:#}", customer.run(id).await);
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_canceled_run_finishes_the_call_that_is_under_way_and_shows_what_it_did() {
    with_contacts(&NOBODIES, async |app, acme| {
        let (customer, id) = acting(app, acme).await;
        customer.post(&format!("runs/{id}/cancel"), json!({})).await.ok(200);
        let_pass(acme).await;
        assert_eq!(acme.ids(), [2, 3, 4]);
        let run = customer.run(&id).await;
        assert_eq!((actions(&run), &run["state"]), ([1, 3, 0], &json!("cancelled")), "{run:#}");
        assert_eq!(run["examples"][0]["state"], "done");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_contact_that_unsubscribes_before_the_act_is_not_deleted() {
    with_contacts(&NOBODIES, async |app, acme| {
        // Once it has left one of its lists, it still receives the mail of the other.
        acme.add(5, "nobody5@honest-mail.com", &[("news", "active"), ("offers", "active")]);
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        acme.add(5, "nobody5@honest-mail.com", &[("news", "left"), ("offers", "active")]);
        acme.set_state(2, "left");
        customer.confirm(&id, 5).await.ok(200);
        let run = customer.until(&id, "finished").await;
        assert_eq!((actions(&run), acme.ids()), ([4, 1, 0], vec![2]), "{run:#}");
        assert_eq!(run["examples"][1]["message"], "changed at the platform");
        assert_eq!(customer.credits().await, [CREDITS - 5, 0, 5]);
    })
    .await;
}

/// The same, with the platform silent after the first deletion.
async fn silenced<'a>(app: &'a TestApp, acme: &'a Acme) -> (Customer<'a>, String) {
    let (customer, id) = acting(app, acme).await;
    acme.gate.forget_permits(usize::MAX);
    acme.acting.add_permits(1_000);
    while acme.ids().len() == 4 {
        real_moment().await;
    }
    (customer, id)
}

#[tokio::test]
#[ignore = "thorough"]
async fn what_is_done_is_shown_while_the_next_call_waits() {
    with_contacts(&NOBODIES, async |app, acme| {
        let (customer, id) = silenced(app, acme).await;
        pass(Duration::from_secs(3)).await;
        until_actions(&customer, &id, |actions| actions[0] == 1).await;
        acme.gate.add_permits(1_000);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn what_is_done_is_shown_although_the_run_is_canceled_while_the_next_call_waits() {
    with_contacts(&NOBODIES, async |app, acme| {
        let (customer, id) = silenced(app, acme).await;
        customer.post(&format!("runs/{id}/cancel"), json!({})).await.ok(200);
        pass(Duration::from_secs(10)).await;
        until_actions(&customer, &id, |actions| actions == [1, 3, 0]).await;
        acme.gate.add_permits(1_000);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_deleted_connection_acts_no_more() {
    with_contacts(&NOBODIES, async |app, acme| {
        let (customer, id) = acting(app, acme).await;
        app.send(Call::new("DELETE", &*customer.path).key(&customer.key)).await.ok(200);
        let_pass(acme).await;
        assert_eq!(acme.ids(), [2, 3, 4]);
        let run = customer.run(&id).await;
        assert_eq!((actions(&run), &run["state"]), ([1, 3, 0], &json!("cancelled")), "{run:#}");
        assert_eq!(run["fault"], "the connection was deleted");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_whitelist_rule_holds_from_the_next_call_on() {
    with_contacts(&NOBODIES, async |app, acme| {
        let (customer, id) = acting(app, acme).await;
        let rule = json!({ "rules": [{ "keyword": NOBODIES[1], "applies_to": { "email": true } }] });
        customer.post("keywords/whitelist", rule).await.ok(201);
        let_pass(acme).await;
        let run = customer.until(&id, "finished").await;
        assert_eq!((acme.ids(), actions(&run)), (vec![2], [3, 1, 0]), "{run:#}");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn settings_that_ask_for_nothing_more_hold_from_the_next_call_on() {
    with_contacts(&NOBODIES, async |app, acme| {
        let (customer, id) = acting(app, acme).await;
        customer.patch(json!({ "action": "do_nothing" })).await;
        let_pass(acme).await;
        let run = customer.until(&id, "finished").await;
        assert_eq!((acme.ids(), actions(&run)), (vec![2, 3, 4], [1, 3, 0]), "{run:#}");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_field_or_a_tag_that_is_no_longer_chosen_is_not_written() {
    let changes = [
        (json!({ "action": "update_custom_fields", "field": "Region" }), json!({ "field": "probity" })),
        (json!({ "action": "update_tags", "tag": "old" }), json!({ "tag": "new" })),
    ];
    for (before, after) in changes {
        with_contacts(&NOBODIES[..1], async |app, acme| {
            acme.fill(1, "Region", "North");
            let customer = Customer::connected(app, acme, before.clone()).await;
            let id = customer.start(true).await;
            customer.until(&id, "needs_confirmation").await;
            customer.patch(after.clone()).await;
            customer.confirm(&id, 1).await.ok(200);
            let run = customer.until(&id, "finished").await;
            assert_eq!(actions(&run), [0, 1, 0], "{after}: {run:#}");
            let contact = acme.contact(1).unwrap();
            assert_eq!((&contact.fields["Region"], contact.tags.len()), (&json!("North"), 0), "{after}");
        })
        .await;
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_run_that_manual_mode_interrupts_carries_out_single_decisions() {
    with_contacts(&NOBODIES, async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        customer.whole_run().await;
        for (id, email) in (5..).zip(&NOBODIES[..3]) {
            acme.add(id, email, &[("news", "active")]);
        }
        acme.add(9, "user9@honest-mail.com", &[("news", "active")]);
        let before = acme.asked("DELETE").len();
        acme.acting.forget_permits(usize::MAX);
        let id = customer.start(false).await;
        while acme.asked("DELETE").len() == before {
            real_moment().await;
        }
        customer.patch(json!({ "manual_mode": true })).await;
        let_pass(acme).await;
        let run = customer.until(&id, "needs_confirmation").await;
        assert_eq!((actions(&run), &run["held_by"]), ([1, 0, 2], &json!("manual_mode")), "{run:#}");
        let act = json!({ "decisions": [{ "run_id": id, "index": 2, "decision": "act" }] });
        customer.post("review/decisions", act).await.ok(200);
        let_pass(acme).await;
        let run = customer.until(&id, "needs_confirmation").await;
        assert_eq!((acme.ids(), actions(&run)), (vec![6, 9], [2, 0, 1]), "{run:#}");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_check_that_was_closed_since_the_verdict_holds_its_contacts_back() {
    with_contacts(&[NOBODIES[0], "x@null-mx.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        customer.patch(json!({ "checks": { "nonexistent": false } })).await;
        customer.confirm(&id, 2).await.ok(200);
        let run = customer.until(&id, "finished").await;
        assert_eq!((acme.ids(), actions(&run)), (vec![1], [1, 1, 0]), "an illegitimate domain needs no check");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn an_erased_contact_is_not_touched_while_the_erasure_is_on_its_way() {
    with_contacts(&NOBODIES, async |app, acme| {
        let (customer, id) = acting(app, acme).await;
        app.admin.erase(&customer.org, NOBODIES[2]).await.unwrap();
        let_pass(acme).await;
        let run = customer.until(&id, "finished").await;
        assert_eq!((acme.ids(), actions(&run)), (vec![3], [3, 1, 0]), "{run:#}");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_paused_organization_acts_no_more_until_it_is_active() {
    with_contacts(&NOBODIES, async |app, acme| {
        let (customer, id) = acting(app, acme).await;
        app.admin.set_status(&customer.org, OrgState::Paused).await.unwrap();
        let_pass(acme).await;
        assert_eq!(acme.ids(), [2, 3, 4]);
        app.admin.set_status(&customer.org, OrgState::Active).await.unwrap();
        let_pass(acme).await;
        let run = customer.until(&id, "finished").await;
        assert_eq!((acme.ids(), actions(&run)), (vec![], [4, 0, 0]), "{run:#}");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_newer_run_replaces_one_that_waits() {
    with_contacts(&NOBODIES, async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let earlier = customer.start(true).await;
        let run = customer.until(&earlier, "needs_confirmation").await;
        assert_eq!(run["held_reason"], "a dry run: 4 actions are planned for 4 contacts");
        acme.remove(4);
        let later = customer.start(false).await;
        let run = customer.until(&later, "needs_confirmation").await;
        let reason =
            "no run was confirmed with the connection's present settings and rules: 3 actions are planned for 3 contacts";
        assert_eq!(run["held_reason"], reason);
        let replaced = customer.run(&earlier).await;
        assert_eq!((&replaced["state"], &replaced["held_reason"]), (&json!("cancelled"), &json!(null)));
        assert_eq!((&replaced["fault"], actions(&replaced)), (&json!("a newer run replaced it"), [0, 4, 0]));
        customer.confirm(&earlier, 4).await.error(409, "conflict");
        assert_eq!(customer.get("review").await["data"].as_array().unwrap().len(), 3);
        customer.confirm(&later, 3).await.ok(200);
        customer.until(&later, "finished").await;
        assert!(acme.ids().is_empty());
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_run_does_nothing_to_a_contact_that_a_later_run_has_seen_with_another_address() {
    with_contacts(&NOBODIES, async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "unsubscribe" })).await;
        let earlier = customer.start(false).await;
        customer.until(&earlier, "needs_confirmation").await;
        acme.rename(2, "ann@honest-mail.com");
        acme.gate.forget_permits(usize::MAX);
        acme.gate.add_permits(1);
        let later = customer.start(false).await;
        // A page is stored while the next one is requested.
        while customer.run(&later).await["contacts"] == 0 {
            real_moment().await;
        }
        customer.post(&format!("runs/{later}/cancel"), json!({})).await.ok(200);
        acme.gate.add_permits(1_000);
        customer.confirm(&earlier, 4).await.ok(200);
        let run = customer.until(&earlier, "finished").await;
        assert_eq!(actions(&run), [3, 1, 0], "{run:#}");
        assert_eq!(run["examples"][1]["message"], "the contact has another address now", "{run:#}");
        assert_eq!(acme.contact(2).unwrap().lists["news"], "active");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_run_does_nothing_to_a_contact_that_another_connection_to_the_account_corrected() {
    with_contacts(&["user1@iclod.com", NOBODIES[0]], async |app, acme| {
        let first = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let second = first.again(acme, json!({ "action": "unsubscribe", "fix_typos": true })).await;
        let id = first.start(true).await;
        first.until(&id, "needs_confirmation").await;
        second.whole_run().await;
        assert_eq!(acme.contact(1).unwrap().email, "user1@icloud.com");
        first.confirm(&id, 2).await.ok(200);
        let run = first.until(&id, "finished").await;
        // The other one has unsubscribed since, for all that this connection knows.
        assert_eq!((acme.ids(), actions(&run)), (vec![1, 2], [0, 2, 0]), "{run:#}");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn nothing_is_done_to_a_contact_that_changed_at_the_platform_after_the_run_read_it() {
    for (action, corrected) in [("delete", 1), ("unsubscribe", 1), ("delete", 2)] {
        with_contacts(&["user1@iclod.com", NOBODIES[0], NOBODIES[1]], async |app, acme| {
            let customer = Customer::connected(app, acme, json!({ "action": action, "fix_typos": true })).await;
            let id = customer.start(true).await;
            customer.until(&id, "needs_confirmation").await;
            acme.rename(corrected, "ann@honest-mail.com");
            let before = acme.contact(corrected);
            acme.remove(3);
            customer.confirm(&id, 3).await.ok(200);
            let run = customer.until(&id, "finished").await;
            // A removed contact is in the requested state.
            assert_eq!((acme.contact(corrected), actions(&run)), (before, [2, 1, 0]), "{action}: {run:#}");
            let example = &run["examples"][usize::try_from(corrected - 1).unwrap()];
            assert_eq!(
                (&example["state"], &example["message"]),
                (&json!("ignored"), &json!("changed at the platform"))
            );
        })
        .await;
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_contact_that_changes_its_address_while_it_is_read_waits_for_the_next_run() {
    with_contacts(&[], async |app, acme| {
        acme.add(1, NOBODIES[0], &[("news", "active"), ("offers", "active")]);
        acme.add(2, NOBODIES[1], &[("news", "active"), ("offers", "active")]);
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        acme.gate.forget_permits(usize::MAX);
        acme.gate.add_permits(1);
        let id = customer.start(false).await;
        while acme.asked("GET /v1/lists/news").is_empty() || acme.gate.available_permits() > 0 {
            real_moment().await;
        }
        acme.rename(1, "ann@honest-mail.com");
        acme.gate.add_permits(1_000);
        customer.until(&id, "needs_confirmation").await;
        customer.confirm(&id, 2).await.ok(200);
        let run = customer.until(&id, "finished").await;
        assert_eq!((acme.ids(), actions(&run)), (vec![1], [1, 1, 0]), "{run:#}");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_verdict_of_yesterday_unsubscribes_nobody() {
    with_contacts(&[NOBODIES[0]], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "unsubscribe" })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        pass(Duration::from_hours(30)).await;
        let before = app.live.timeouts.lock().unwrap().len();
        customer.confirm(&id, 1).await.ok(200);
        customer.until(&id, "finished").await;
        assert_eq!(app.live.timeouts.lock().unwrap().len() - before, 1, "it was verified again");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn an_address_is_corrected_only_if_both_verdicts_still_hold() {
    with_contacts(&["ann@iclod.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete", "fix_typos": true })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        pass(Duration::from_hours(30)).await;
        let before = app.live.timeouts.lock().unwrap().len();
        customer.confirm(&id, 1).await.ok(200);
        customer.until(&id, "finished").await;
        assert_eq!(app.live.timeouts.lock().unwrap().len() - before, 2, "the address and the suggested one");
        assert_eq!(acme.contact(1).unwrap().email, "ann@icloud.com");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_deleted_connection_is_read_no_further() {
    with_contacts(&[], async |app, acme| {
        for id in 1..=30 {
            acme.add(id, &format!("user{id}@honest-mail.com"), &[("news", "active")]);
        }
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        acme.gate.forget_permits(usize::MAX);
        acme.gate.add_permits(2);
        let id = customer.start(false).await;
        while acme.asked("GET /v1/lists/news").len() < 2 {
            real_moment().await;
        }
        app.send(Call::new("DELETE", &*customer.path).key(&customer.key)).await.ok(200);
        pass(Duration::from_secs(2)).await;
        acme.gate.add_permits(1_000);
        let run = customer.until(&id, "cancelled").await;
        assert_eq!(run["fault"], "the connection was deleted");
        assert_eq!(customer.credits().await, [CREDITS, 0, 0]);
        assert!(acme.asked("GET /v1/lists/news").len() <= 4, "{:?}", acme.asked("GET"));
    })
    .await;
}
