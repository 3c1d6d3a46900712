//! Acting: confirmed actions are performed once, unless a rule or the brake forbids them.

use std::time::Duration;

use probity_account::plans::{Entitlement, EntitlementSet};
use probity_account::scope::Scope;
use serde_json::{Value, json};

use super::acme::Acme;
use super::{CREDITS, Customer, plans, plans_with, with_contacts, with_contacts_on};
use crate::test_app::{Call, TestApp, pass, real_moment};

const ANN: &str = "ann@honest-mail.com";
const NOBODY: &str = "nobody@honest-mail.com";

/// Returns the rows of a run by index.
async fn rows(customer: &Customer<'_>, id: &str) -> Vec<Value> {
    let path = format!("/v1/batch-verify/{id}/results");
    customer.app.get(&customer.key, &path).await.ok(200)["data"].as_array().unwrap().clone()
}

/// Returns what the timeline says about a run, newest first: changes by the customer's key, with their numbers of contacts.
async fn noted(customer: &Customer<'_>, id: &str) -> Vec<(String, Value)> {
    let timeline = customer.app.get(&customer.key, "/v1/account/timeline").await.ok(200);
    let events = timeline["events"].as_array().unwrap().iter().filter(|event| event["run_id"] == id);
    let noted = |event: &Value| {
        assert_eq!((&event["provider"], &event["actor"]["type"]), (&json!("acme"), &json!("api_key")));
        (event["change"].as_str().unwrap().to_owned(), event["contacts"].clone())
    };
    events.map(noted).collect()
}

#[tokio::test]
#[ignore = "thorough"]
async fn the_confirmed_number_is_what_is_done() {
    with_contacts(&[ANN, NOBODY, "x@null-mx.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        customer.confirm(&id, 1).await.error(409, "conflict");
        assert!(acme.asked("DELETE").is_empty());
        let call = || {
            let path = format!("{}/runs/{id}/confirm", customer.path);
            // Some languages write whole numbers like this.
            Call::new("POST", path).json(&json!({ "actions": 2.0 })).key(&customer.key).once("confirm")
        };
        app.send(call()).await.ok(200);
        app.send(call()).await.ok(200);
        customer.confirm(&id, 2).await.error(409, "conflict");
        let run = customer.until(&id, "finished").await;
        assert_eq!(run["actions"], json!({ "planned": 0, "due": 0, "done": 2, "failed": 0, "ignored": 0 }));
        assert_eq!(acme.ids(), [1]);
        assert_eq!(acme.asked("DELETE").len(), 2);
        let rows = rows(&customer, &id).await;
        let deleted: Vec<&Value> = rows.iter().map(|row| &row["deleted"]).collect();
        assert_eq!(deleted, [false, true, true]);
        assert!(rows[1]["completed_at"].as_str() > rows[0]["completed_at"].as_str());
        assert!(run["confirmed_at"].is_string());
        let confirmed_by = &customer.get(&format!("runs/{id}")).await["confirmed_by"];
        assert_eq!((&confirmed_by["type"], confirmed_by["id"].is_string()), (&json!("api_key"), true));
        assert_eq!(
            noted(&customer, &id).await,
            [("run_confirmed".to_owned(), json!(2)), ("run_started".to_owned(), Value::Null)]
        );
        // Trusted from now on.
        acme.add(9, "nowhere@honest-mail.com", &[("news", "active")]);
        let second = customer.start(false).await;
        let run = customer.until(&second, "finished").await;
        assert_eq!((&run["actions"]["done"], &run["held_by"]), (&json!(1), &Value::Null));
        assert_eq!(acme.ids(), [1]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn each_list_of_a_contact_is_left() {
    with_contacts(&[], async |app, acme| {
        acme.add(1, NOBODY, &[("news", "active"), ("offers", "active"), ("third", "left")]);
        acme.add(2, ANN, &[("news", "active")]);
        let customer = Customer::connected(app, acme, json!({ "action": "unsubscribe" })).await;
        customer.whole_run().await;
        let left = acme.contact(1).unwrap().lists;
        assert!(left.values().all(|state| state == "left"), "{left:?}");
        assert_eq!(acme.asked("DELETE").len(), 2, "it had left the third list before");
        assert_eq!(acme.contact(2).unwrap().lists["news"], "active");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_contact_that_one_list_rejects_as_invalid_stays_in_the_others() {
    with_contacts(&[], async |app, acme| {
        acme.add(1, NOBODY, &[("news", "active"), ("offers", "active")]);
        acme.add(2, "nowhere@honest-mail.com", &[("offers", "active")]);
        let customer = Customer::connected(app, acme, json!({ "action": "unsubscribe" })).await;
        acme.fail("DELETE /v1/lists/news/", 400, 1);
        customer.whole_run().await;
        assert_eq!(acme.contact(1).unwrap().lists["offers"], "active");
        assert_eq!(acme.contact(2).unwrap().lists["offers"], "left");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn tags_and_fields_name_the_verdict() {
    with_contacts(&[ANN, NOBODY, "x@null-mx.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "update_tags", "tag": "p-{reason}" })).await;
        customer.whole_run().await;
        assert_eq!(acme.contact(2).unwrap().tags, ["p-nonexistent"]);
        assert_eq!(acme.contact(3).unwrap().tags, ["p-illegitimate"]);
        assert!(acme.contact(1).unwrap().tags.is_empty());
        customer.patch(json!({ "action": "update_custom_fields", "field": "VERDICT" })).await;
        acme.fill(2, "CITY", "Ulm");
        let run = customer.whole_run().await;
        assert_eq!(acme.contact(2).unwrap().fields["VERDICT"], "undeliverable: nonexistent");
        assert_eq!(run["examples"][0]["before"], json!({ "CITY": "Ulm" }));
        assert_eq!(acme.asked("POST /v1/tags").len(), 2, "a tag is made once");
        let rows = rows(&customer, run["id"].as_str().unwrap()).await;
        assert_eq!(
            (&rows[1]["updated"], &rows[1]["tagged"], &rows[0]["updated"]),
            (&json!(true), &json!(false), &json!(false))
        );
        // Someone deletes the tags at the platform. The next run needs them again.
        acme.delete_tags();
        customer.patch(json!({ "action": "update_tags" })).await;
        customer.whole_run().await;
        assert_eq!(acme.contact(2).unwrap().tags, ["p-nonexistent"]);
        assert_eq!(acme.asked("POST /v1/tags").len(), 4);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn whitelisted_contacts_are_never_touched_and_blacklisted_ones_are() {
    with_contacts(&[ANN, NOBODY, "keep@honest-mail.com", "user1@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let rule = |keyword: &str| json!({ "rules": [{ "keyword": keyword, "applies_to": { "email": true } }] });
        customer.post("keywords/whitelist", rule("KEEP@honest-mail.com")).await.ok(201);
        customer.post("keywords/blacklist", rule("user1@honest-mail.com")).await.ok(201);
        let id = customer.start(false).await;
        let run = customer.until(&id, "needs_confirmation").await;
        assert_eq!(run["actions"]["planned"], 2, "{run:#}");
        let shown = rows(&customer, &id).await;
        assert_eq!((&shown[3]["reason"], &shown[3]["status"]), (&json!("blacklisted"), &json!("risky")));
        assert_eq!(shown[2]["reason"], "nonexistent", "a whitelisted contact keeps its verdict");
        // A later rule applies, too.
        customer.post("keywords/whitelist", rule(NOBODY)).await.ok(201);
        customer.confirm(&id, 2).await.ok(200);
        let run = customer.until(&id, "finished").await;
        assert_eq!((&run["actions"]["done"], &run["actions"]["ignored"]), (&json!(1), &json!(1)));
        assert_eq!(acme.ids(), [1, 2, 3]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_name_before_the_address_hides_no_contact_from_the_rules() {
    with_contacts(&["CEO <nobody1@honest-mail.com>", "CEO <nobody2@honest-mail.com>"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let rule = |keyword: &str| json!({ "rules": [{ "keyword": keyword, "applies_to": { "email": true } }] });
        customer.post("keywords/whitelist", rule("nobody1@honest-mail.com")).await.ok(201);
        let id = customer.start(false).await;
        let run = customer.until(&id, "needs_confirmation").await;
        assert_eq!(run["actions"]["planned"], 1, "{run:#}");
        customer.post("keywords/whitelist", rule("nobody2@honest-mail.com")).await.ok(201);
        customer.confirm(&id, 1).await.ok(200);
        let run = customer.until(&id, "finished").await;
        assert_eq!((&run["actions"]["done"], &run["actions"]["ignored"]), (&json!(0), &json!(1)), "{run:#}");
        assert_eq!(acme.ids(), [1, 2]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_lost_answer_is_repeated_and_told_of_once() {
    for lags in [true, false] {
        with_contacts(&[ANN, NOBODY], async |app, acme| {
            let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
            // The platform deletes, but its response is lost.
            acme.fail_with("DELETE /v1/contacts/2", 502, &[], "", true);
            // A lagging replica still shows the contact.
            for _ in 0..if lags { 2 } else { 0 } {
                acme.fail_with("GET /v1/contacts/2", 200, &[], &json!({ "email": NOBODY }).to_string(), false);
            }
            let id = customer.start(false).await;
            customer.until(&id, "needs_confirmation").await;
            customer.confirm(&id, 1).await.ok(200);
            while acme.asked("DELETE").is_empty() {
                real_moment().await;
            }
            for _ in 0..20 {
                pass(Duration::from_secs(5)).await;
            }
            let run = customer.until(&id, "finished").await;
            assert_eq!(run["actions"]["done"], 1, "gone is as wanted");
            assert_eq!(acme.asked("DELETE").len(), if lags { 2 } else { 1 });
            assert_eq!(rows(&customer, &id).await[1]["deleted"], true);
        })
        .await;
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn what_the_platform_refuses_stays_with_the_contact() {
    with_contacts(&[NOBODY, "x@null-mx.com", "y@null-mx.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        acme.fail("DELETE /v1/contacts/1", 423, 1);
        acme.fail_with("DELETE /v1/contacts/2", 422, &[], "{\"message\":\"what is x@null-mx.com?\"}", false);
        let run = customer.whole_run().await;
        assert_eq!((&run["actions"]["done"], &run["actions"]["failed"]), (&json!(1), &json!(2)));
        let examples = run["examples"].as_array().unwrap();
        let states: Vec<&Value> = examples.iter().map(|one| &one["state"]).collect();
        assert_eq!(states, ["refused", "parked", "done"]);
        let message = examples[1]["message"].as_str().unwrap();
        assert!(message.contains("422") && !message.contains("null-mx"), "{message}");
        assert_eq!(acme.ids(), [1, 2]);
        assert_eq!(acme.asked("DELETE").len(), 3, "neither is repeated");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_platform_that_understands_nothing_brings_the_run_back_to_a_person() {
    let emails: Vec<String> = (0..9).map(|n| format!("nobody{n}@honest-mail.com")).collect();
    let emails: Vec<&str> = emails.iter().map(String::as_str).collect();
    with_contacts(&emails, async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        acme.fail("DELETE", 422, 5);
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        customer.confirm(&id, 9).await.ok(200);
        let run = customer.until(&id, "needs_confirmation").await;
        assert_eq!((&run["actions"]["planned"], &run["actions"]["failed"]), (&json!(4), &json!(5)));
        assert!(run["fault"].as_str().unwrap().contains("422"), "{run}");
        customer.confirm(&id, 4).await.ok(200);
        let run = customer.until(&id, "finished").await;
        assert_eq!(run["actions"]["done"], 4);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn of_a_batch_only_the_contact_that_the_platform_rejects_is_left() {
    let acme = Acme::start().await;
    TestApp::each(acme.config_of_batches(plans()), async |app| {
        acme.clear();
        for id in 1..=20 {
            acme.add(id, &format!("nobody{id}@honest-mail.com"), &[("news", "active")]);
        }
        let customer = Customer::connected(app, &acme, json!({ "action": "delete" })).await;
        for (id, status) in [(10, 422), (11, 422), (15, 422)] {
            acme.fail_with(&format!("GET /v1/contacts/{id}"), status, &[], "{\"message\":\"scripted\"}", false);
        }
        let run = customer.whole_run().await;
        assert_eq!((&run["actions"]["done"], &run["actions"]["failed"]), (&json!(17), &json!(3)), "{run:#}");
        assert_eq!(acme.ids(), [10, 11, 15]);
        assert_eq!(acme.asked("GET /v1/contacts/").len(), 20, "each is read once");
        assert_eq!(acme.asked("POST /v1/contacts/deletions").len(), 1);
        assert_eq!(customer.credits().await, [CREDITS - 20, 0, 20]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_person_decides_contact_by_contact() {
    let [first, second, fourth] = ["nobody0@honest-mail.com", "nobody1@honest-mail.com", "nobody3@honest-mail.com"];
    with_contacts(&[first, second, "CEO <nobody2@honest-mail.com>", fourth], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete", "manual_mode": true })).await;
        let id = customer.start(false).await;
        let run = customer.until(&id, "needs_confirmation").await;
        assert_eq!(run["held_by"], "manual_mode");
        let review = customer.get("review?per_page=3").await;
        assert_eq!(review["data"].as_array().unwrap().len(), 3);
        assert_eq!(
            (&review["data"][0]["email"], &review["data"][0]["contact_id"]),
            (&json!("nobody0@honest-mail.com"), &json!("1"))
        );
        let next = review["pagination"]["next_cursor"].as_str().unwrap();
        let rest = customer.get(&format!("review?per_page=3&next={next}")).await;
        assert_eq!(rest["data"][0]["index"], 3);
        let decide = |index: i32, word: &str| json!({ "run_id": id, "index": f64::from(index), "decision": word });
        let decisions = [decide(0, "act"), decide(1, "ignore"), decide(2, "whitelist")];
        let decided = customer.post("review/decisions", json!({ "decisions": decisions })).await.ok(200);
        assert_eq!(decided["decided"], 3);
        let run = customer.until(&id, "needs_confirmation").await;
        assert_eq!((&run["actions"]["done"], &run["actions"]["planned"]), (&json!(1), &json!(1)));
        assert_eq!(acme.ids(), [2, 3, 4]);
        let rules = customer.get("keywords/whitelist").await;
        assert_eq!(rules["data"][0]["keyword"], "nobody2@honest-mail.com");
        let timeline = app.get(&customer.key, "/v1/account/timeline").await.ok(200);
        let events = timeline["events"].as_array().unwrap();
        let last = events.iter().find(|event| event["type"] == "settings_change").unwrap();
        let change = (&last["setting"], &last["before"], &last["after"]);
        assert_eq!(change, (&json!("connection.whitelist_count"), &json!(0), &json!(1)));
        assert_eq!(
            noted(&customer, &id).await[..2],
            [("contacts_kept".to_owned(), json!(2)), ("actions_approved".to_owned(), json!(1))]
        );
        customer.post("review/decisions", json!({ "decisions": [] })).await.error(400, "invalid_request");
        let twice = json!({ "decisions": [decide(3, "act"), decide(3, "ignore")] });
        customer.post("review/decisions", twice).await.error(400, "invalid_request");
        let before = json!({ "decisions": [decide(-1, "act")] });
        customer.post("review/decisions", before).await.error(400, "invalid_request");
        // The next run skips the whitelisted contact.
        customer.patch(json!({ "manual_mode": false })).await;
        customer.post(&format!("runs/{id}/cancel"), json!({})).await.ok(200);
        customer.post(&format!("runs/{id}/cancel"), json!({})).await.ok(200);
        assert_eq!(
            noted(&customer, &id).await[..2],
            [("run_cancelled".to_owned(), json!(1)), ("contacts_kept".to_owned(), json!(2))]
        );
        customer.whole_run().await;
        assert_eq!(acme.ids(), [3]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn only_actions_that_wait_for_a_decision_make_whitelist_rules() {
    with_contacts(&[ANN, NOBODY, "x@null-mx.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete", "manual_mode": true })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        let decide = async |index: i32, word: &str| {
            let decisions = json!({ "decisions": [{ "run_id": id, "index": index, "decision": word }] });
            let decided = customer.post("review/decisions", decisions).await.ok(200);
            let rules = customer.get("keywords/whitelist").await;
            let reason = decided["unchanged_decisions"][0]["reason"].as_str().unwrap_or("decided").to_owned();
            assert_eq!(decided["decided"].as_i64().unwrap() + decided["unchanged"].as_i64().unwrap(), 1, "{decided}");
            (reason, rules["data"].as_array().unwrap().len())
        };
        let told = |reason: &str, rules| (reason.to_owned(), rules);
        assert_eq!(decide(1, "ignore").await, told("decided", 0));
        for (index, reason) in [(0, "no_action"), (1, "decided_before"), (99, "no_action")] {
            assert_eq!(decide(index, "whitelist").await, told(reason, 0));
        }
        assert_eq!(decide(2, "whitelist").await, told("decided", 1));
        customer.until(&id, "finished").await;
        assert_eq!(decide(1, "whitelist").await, told("run_not_waiting", 1));
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_wrong_verdict_is_corrected_on_a_plan_without_rules_too() {
    let plans = plans_with(EntitlementSet::ALL.without([Entitlement::Exclusions].into_iter().collect()));
    with_contacts_on(plans, &[NOBODY], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        let rules = json!({ "rules": [{ "keyword": NOBODY }] });
        customer.post("keywords/whitelist", rules).await.error(403, "forbidden_scope");
        let decisions = json!({ "decisions": [{ "run_id": id, "index": 0, "decision": "whitelist" }] });
        assert_eq!(customer.post("review/decisions", decisions).await.ok(200)["decided"], 1);
        assert_eq!(customer.connection().await["settings"]["whitelist_count"], 1);
        customer.until(&id, "finished").await;
        assert_eq!(acme.ids(), [1]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn the_job_of_a_run_is_canceled_only_by_those_who_may_change_integrations() {
    with_contacts(&[NOBODY], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        let cancel = || Call::new("POST", format!("/v1/batch-verify/{id}/cancel"));
        let jobs = app.restricted(&customer.org, [Scope::WriteJobs]).await;
        app.send(cancel().key(&jobs)).await.error(403, "forbidden_scope");
        let both = app.restricted(&customer.org, [Scope::WriteJobs, Scope::WriteIntegrations]).await;
        assert_eq!(app.send(cancel().key(&both)).await.ok(200)["status"], "error", "the job is complete");
        customer.until(&id, "needs_confirmation").await;
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_full_whitelist_decides_nothing() {
    with_contacts(&["nobody1@honest-mail.com", "nobody2@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        for thousand in 0..10 {
            let rules: Vec<_> = (0..1_000).map(|n| json!({ "keyword": format!("{thousand}-{n}.example") })).collect();
            customer.post("keywords/whitelist", json!({ "rules": rules })).await.ok(201);
        }
        let decide = |index: i32, word: &str| json!({ "run_id": id, "index": index, "decision": word });
        let decisions = [decide(0, "act"), decide(1, "whitelist")];
        customer.post("review/decisions", json!({ "decisions": decisions })).await.error(409, "conflict");
        let run = customer.run(&id).await;
        assert_eq!((&run["actions"]["planned"], acme.ids()), (&json!(2), vec![1, 2]), "{run:#}");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn old_verdicts_are_asked_again_before_a_delete() {
    with_contacts(&[NOBODY, "x@null-mx.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        pass(Duration::from_hours(30)).await;
        let before = app.live.timeouts.lock().unwrap().len();
        customer.confirm(&id, 2).await.ok(200);
        let run = customer.until(&id, "finished").await;
        assert_eq!(run["actions"]["done"], 2);
        assert_eq!(app.live.timeouts.lock().unwrap().len() - before, 2, "each was verified again");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn nothing_is_done_once_the_connection_is_gone() {
    with_contacts(&[NOBODY], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        app.send(Call::new("DELETE", &*customer.path).key(&customer.key)).await.ok(200);
        customer.confirm(&id, 1).await.error(409, "conflict");
        let act = json!({ "decisions": [{ "run_id": id, "index": 0, "decision": "act" }] });
        customer.post("review/decisions", act).await.error(409, "conflict");
        // Credentials of the same account reconnect it, and the run can be confirmed.
        customer.patch(json!({ "credentials": acme.credentials() })).await;
        customer.confirm(&id, 1).await.ok(200);
        customer.until(&id, "finished").await;
        assert!(acme.ids().is_empty());
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn reported_bounces_are_findings() {
    with_contacts(&[], async |app, acme| {
        acme.add(1, "user1@honest-mail.com", &[("news", "bounced")]);
        acme.add(2, "user2@honest-mail.com", &[("news", "active")]);
        acme.add(3, "user3@honest-mail.com", &[("news", "bounced"), ("offers", "active")]);
        acme.add(4, "user4@honest-mail.com", &[("news", "active"), ("offers", "bounced")]);
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let run = customer.whole_run().await;
        assert_eq!(run["examples"][0]["reason"], "bounced");
        assert_eq!(acme.ids(), [2, 3, 4]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_bounce_that_is_reported_of_one_contact_touches_no_other_contact_with_its_address() {
    with_contacts(&[], async |app, acme| {
        acme.add(1, "user1@honest-mail.com", &[("news", "bounced")]);
        acme.add(2, "User1@Honest-Mail.com", &[("news", "active")]);
        acme.add(3, "USER1@honest-mail.com", &[("news", "bounced")]);
        acme.add(4, NOBODY, &[("news", "bounced")]);
        acme.add(5, "Nobody@honest-mail.com", &[("news", "active")]);
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let run = customer.whole_run().await;
        assert_eq!(acme.ids(), [2], "a mailbox that does not exist is a fact about all of its contacts: {run:#}");
    })
    .await;
}
