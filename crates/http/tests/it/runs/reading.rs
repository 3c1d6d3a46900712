//! Reading: every contact once, for any behavior of the platform; and the results of a run.

use std::time::Duration;

use probity_account::api_key::KeyKind;
use probity_account::credits::CreditBucket;
use serde_json::{Value, json};

use super::acme::Acme;
use super::{Customer, plans, with_contacts};
use crate::test_app::{Call, TestApp, pass, real_moment};

const NOBODY: &str = "nobody@honest-mail.com";

#[tokio::test]
#[ignore = "thorough"]
async fn a_dry_run_shows_what_would_happen_and_changes_nothing() {
    let emails = ["ann@honest-mail.com", NOBODY, "x@null-mx.com", "info@honest-mail.com", "user1@honest-mail.com"];
    with_contacts(&emails, async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(true).await;
        let run = customer.until(&id, "needs_confirmation").await;
        assert_eq!((&run["held_by"], &run["dry_run"], &run["rows"]), (&json!("dry_run"), &json!(true), &json!(5)));
        assert_eq!(run["actions"], json!({ "planned": 2, "due": 0, "done": 0, "failed": 0, "ignored": 0 }));
        let reasons: Vec<&Value> = run["counts"].as_array().unwrap().iter().map(|one| &one["reason"]).collect();
        assert_eq!(reasons, ["illegitimate", "nonexistent"]);
        let example = &run["examples"][0];
        assert_eq!((&example["email"], &example["contact_id"]), (&json!(NOBODY), &json!("2")));
        assert_eq!((&example["action"], &example["state"]), (&json!("delete"), &json!("planned")));
        assert_eq!(acme.ids(), [1, 2, 3, 4, 5]);
        // A run is a job.
        let job = app.get(&customer.key, &format!("/v1/jobs/{id}")).await.ok(200);
        assert_eq!((&job["source"], &job["source_integration"]), (&json!("integration"), &json!("acme")));
        assert_eq!((&job["status"], &job["results"]["total"]), (&json!("completed"), &json!(5)));
        let connection = customer.connection().await;
        assert!(connection["last_synced_at"].is_string(), "{connection}");
        assert_eq!(app.balance(&customer.org).await.spent.total(), 5);
        let usage = format!("/v1/reports/usage?connection_id={}", connection["id"].as_str().unwrap());
        assert_eq!(app.get(&customer.key, &usage).await.ok(200)["total"], 5);
        let timeline = app.get(&customer.key, "/v1/account/timeline").await.ok(200);
        let events = timeline["events"].as_array().unwrap();
        let job = events.iter().find(|event| event["type"] == "job").unwrap();
        assert_eq!((&job["trigger"], &job["job"]["source_integration"]), (&json!("api"), &json!("acme")));
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn contacts_of_several_lists_are_verified_once() {
    with_contacts(&[], async |app, acme| {
        for id in 1..=8 {
            acme.add(id, &format!("user{id}@honest-mail.com"), &[("news", "active"), ("offers", "active")]);
        }
        acme.add(9, "nobody@honest-mail.com", &[("news", "left"), ("offers", "active")]);
        acme.add(10, "gone@honest-mail.com", &[("news", "left")]);
        // A contact with only a telephone number.
        acme.add(12, "", &[("news", "active")]);
        // Two contacts with one mailbox.
        acme.add(11, "Nobody@Honest-Mail.com", &[("news", "active")]);
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        let run = customer.until(&id, "needs_confirmation").await;
        assert_eq!((&run["rows"], &run["contacts"], &run["skipped"]), (&json!(10), &json!(20), &json!(1)));
        assert_eq!(run["held_by"], "first_run");
        assert_eq!(run["actions"]["planned"], 2, "each contact of a mailbox has its action");
        assert_eq!(app.balance(&customer.org).await.spent.total(), 9, "a mailbox costs one credit");
        customer.post(&format!("runs/{id}/cancel"), json!({})).await.ok(200);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn reading_goes_on_after_overload_and_outages() {
    let emails: Vec<String> = (1..=9).map(|n| format!("user{n}@honest-mail.com")).collect();
    let emails: Vec<&str> = emails.iter().map(String::as_str).collect();
    with_contacts(&emails, async |app, acme| {
        let customer = Customer::connected(app, acme, json!({})).await;
        acme.fail_with("GET /v1/lists/news/contacts?", 429, &[("retry-after", "7")], "{}", false);
        acme.fail("GET /v1/lists/news/contacts?after=3", 503, 2);
        let id = customer.start(false).await;
        for _ in 0..40 {
            if customer.run(&id).await["state"] == "finished" {
                break;
            }
            pass(Duration::from_secs(8)).await;
        }
        let run = customer.until(&id, "finished").await;
        assert_eq!((&run["rows"], &run["fault"]), (&json!(9), &Value::Null));
        let pages = acme.asked("GET /v1/lists/news/contacts");
        assert_eq!(pages.len(), 3 + 3, "{pages:?}");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_page_that_cannot_be_read_ends_the_run_without_a_trace() {
    with_contacts(&["ann@honest-mail.com", NOBODY], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        // More often than the run retries, even if a busy machine loses its lease and the run restarts.
        for _ in 0..100 {
            acme.fail_with("GET /v1/lists/news/contacts", 200, &[], "{\"contacts\": 7}", false);
        }
        let id = customer.start(false).await;
        for _ in 0..40 {
            if customer.run(&id).await["state"] == "failed" {
                break;
            }
            pass(Duration::from_secs(20)).await;
        }
        let run = customer.until(&id, "failed").await;
        assert!(run["fault"].is_string() && run["finished_at"].is_string(), "{run}");
        assert_eq!(customer.connection().await["last_synced_at"], Value::Null);
        let jobs = app.get(&customer.key, "/v1/jobs").await.ok(200);
        assert_eq!(jobs["data"], json!([]), "it was no job yet");
        assert_eq!(app.balance(&customer.org).await.held.total(), 0);
        customer.start(false).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn one_page_that_cannot_be_read_is_asked_for_again() {
    with_contacts(&["ann@honest-mail.com", NOBODY], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        acme.fail_with("GET /v1/lists/news/contacts", 200, &[], "<html>one moment", false);
        acme.fail_with("GET /v1/lists/news/contacts", 200, &[], "{\"contacts\": [{", false);
        let id = customer.start(false).await;
        for _ in 0..20 {
            pass(Duration::from_secs(20)).await;
        }
        let run = customer.until(&id, "needs_confirmation").await;
        assert_eq!((&run["rows"], &run["contacts"]), (&json!(2), &json!(2)), "{run:#}");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_run_without_credits_says_so() {
    let emails: Vec<String> = (0..=super::CREDITS).map(|n| format!("user{n}@honest-mail.com")).collect();
    let emails: Vec<&str> = emails.iter().map(String::as_str).collect();
    with_contacts(&emails, async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        let run = customer.until(&id, "failed").await;
        assert_eq!(run["fault"], "the run needs 1001 credits, and 1000 are available");
        assert_eq!(app.balance(&customer.org).await.available.total(), super::CREDITS);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_run_needs_a_credit_for_each_address_and_not_for_each_contact() {
    const ADDRESSES: i64 = 30;
    const CONTACTS: u32 = 100;
    with_contacts(&[], async |app, acme| {
        for id in 1..=CONTACTS {
            acme.add(id, &format!("User{}@honest-mail.com", i64::from(id) % ADDRESSES), &[("news", "active")]);
        }
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let too_many = super::CREDITS - (ADDRESSES - 1);
        app.admin.adjust(&customer.org, CreditBucket::Prepaid, -too_many).await.unwrap();
        let id = customer.start(false).await;
        let run = customer.until(&id, "failed").await;
        assert!(run["fault"].as_str().unwrap().ends_with("30 credits, and 29 are available"), "{run:#}");
        app.admin.grant(&customer.org, CreditBucket::Prepaid, 1, None).await.unwrap();
        let id = customer.start(false).await;
        let run = customer.until(&id, "finished").await;
        assert_eq!(run["rows"], CONTACTS);
        assert_eq!(customer.credits().await, [0, 0, ADDRESSES]);
        // With credits for all contacts, the rest comes back.
        app.admin.grant(&customer.org, CreditBucket::Prepaid, CONTACTS.into(), None).await.unwrap();
        let id = customer.start(false).await;
        customer.until(&id, "finished").await;
        assert_eq!(customer.credits().await, [i64::from(CONTACTS) - ADDRESSES, 0, 2 * ADDRESSES]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn pages_that_never_end_are_read_until_the_credits_would_not_do() {
    const PAGES: usize = 2_000;
    let acme = Acme::start().await;
    TestApp::each(acme.config(plans()), async |app| {
        acme.clear();
        for page in 0..PAGES {
            let of_page = |n| json!({ "id": format!("{page}.{n}"), "email": format!("u{page}.{n}@honest-mail.com"), "state": "active" });
            let body = json!({ "contacts": [of_page(0), of_page(1), of_page(2)], "next": page.to_string() }).to_string();
            acme.fail_with("GET /v1/lists/news/contacts", 200, &[], &body, false);
        }
        acme.add(1, "ann@honest-mail.com", &[("news", "active")]);
        let customer = Customer::connected(app, &acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        for _ in 0..600 {
            if customer.run(&id).await["state"] == "failed" {
                break;
            }
            pass(Duration::from_millis(100)).await;
        }
        let run = customer.until(&id, "failed").await;
        let fault = run["fault"].as_str().unwrap();
        assert!(fault.contains("needs at least") && fault.contains("and 1000 are available"), "{fault}");
        assert!(acme.asked("GET /v1/lists/news/contacts").len() < PAGES);
        let balance = app.balance(&customer.org).await;
        assert_eq!((balance.available.total(), balance.held.total()), (super::CREDITS, 0));
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_connection_has_one_run_and_each_request_one_effect() {
    with_contacts(&["ann@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        acme.gate.forget_permits(usize::MAX);
        let start = || Call::new("POST", format!("{}/runs", customer.path)).json(&json!({})).key(&customer.key);
        let first = app.send(start().once("one")).await.ok(201);
        let again = app.send(start().once("one")).await.ok(201);
        assert_eq!(first["id"], again["id"], "a repetition starts nothing");
        customer.post("runs", json!({})).await.error(409, "conflict");
        let before = customer.post("sync", json!({})).await.ok(200);
        assert_eq!(before["status"], "active", "a run that is going is not started again");
        assert_eq!(customer.get("runs").await["data"].as_array().unwrap().len(), 1);
        let id = first["id"].as_str().unwrap();
        let cancelled = customer.post(&format!("runs/{id}/cancel"), json!({})).await.ok(200);
        assert_eq!(cancelled["state"], "cancelled");
        acme.gate.add_permits(1_000);
        customer.post("sync", json!({})).await.ok(200);
        let runs = customer.get("runs").await;
        assert_eq!(runs["data"].as_array().unwrap().len(), 2);
        let second = runs["data"][0]["id"].as_str().unwrap();
        customer.until(second, "finished").await;
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn runs_of_others_are_not_found() {
    with_contacts(&["ann@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({})).await;
        let id = customer.start(false).await;
        customer.until(&id, "finished").await;
        let (_, other) = app.customer().await;
        let test = app.key(&customer.org, KeyKind::Test).await;
        for key in [other, test] {
            app.get(&key, &format!("{}/runs", customer.path)).await.error(404, "not_found");
            app.get(&key, &format!("{}/runs/{id}", customer.path)).await.error(404, "not_found");
            app.get(&key, &format!("{}/review", customer.path)).await.error(404, "not_found");
            for act in ["confirm", "cancel"] {
                let call =
                    Call::new("POST", format!("{}/runs/{id}/{act}", customer.path)).json(&json!({ "actions": 1 }));
                app.send(call.key(&key)).await.error(404, "not_found");
            }
        }
        let second = Customer::connected(app, acme, json!({})).await;
        for list in ["runs", "review"] {
            customer.start_and_cancel().await;
            let page = customer.get("runs?per_page=1").await;
            let cursor = page["pagination"]["next_cursor"].as_str().unwrap();
            let misplaced = app.get(&second.key, &format!("{}/{list}?next={cursor}", second.path)).await;
            misplaced.error(400, "invalid_request");
        }
        let foreign = format!("{}/runs/{id}", second.path);
        app.get(&second.key, &foreign).await.error(404, "not_found");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_chosen_list_that_does_not_exist_ends_the_run() {
    with_contacts(&["ann@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "lists": ["news", "zzz999"] })).await;
        let id = customer.start(false).await;
        let run = customer.until(&id, "failed").await;
        assert_eq!(run["fault"], "Acme Mail has no list zzz999; choose the lists of the connection again");
        assert!(acme.asked("GET /v1/lists/").is_empty(), "nothing is read");
        customer.patch(json!({ "lists": ["news"] })).await;
        let id = customer.start(false).await;
        assert_eq!(customer.until(&id, "finished").await["rows"], 1);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_test_key_runs_against_the_sandbox_and_never_acts() {
    let acme = Acme::start().await;
    acme.add(1, "valid@sandbox.test", &[("news", "active")]);
    acme.add(2, "nonexistent@sandbox.test", &[("news", "active")]);
    let app = TestApp::with(acme.config(plans())).await;
    let customer = Customer::of_kind(&app, &acme, KeyKind::Test, json!({ "action": "delete" })).await;
    let id = customer.start(false).await;
    let run = customer.until(&id, "needs_confirmation").await;
    assert_eq!((&run["actions"]["planned"], &run["held_by"]), (&json!(1), &json!("dry_run")));
    customer.confirm(&id, 1).await.error(409, "conflict");
    let act = json!({ "decisions": [{ "run_id": id, "index": 1, "decision": "act" }] });
    customer.post("review/decisions", act).await.error(409, "conflict");
    assert_eq!(acme.ids(), [1, 2]);
    assert!(acme.asked("DELETE").is_empty());
    assert_eq!(app.balance(&customer.org).await.spent.total(), 0);
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_stop_leaves_the_run_to_the_next_node() {
    let acme = Acme::start().await;
    for id in 1..=30 {
        acme.add(id, &format!("user{id}@honest-mail.com"), &[("news", "active")]);
    }
    let app = TestApp::with(acme.config(plans())).await;
    let customer = Customer::connected(&app, &acme, json!({})).await;
    acme.gate.forget_permits(usize::MAX);
    let id = customer.start(false).await;
    acme.gate.add_permits(4);
    while acme.asked("GET /v1/lists/news/contacts").len() < 4 {
        real_moment().await;
    }
    let (org, key, path) = (customer.org.clone(), customer.key.clone(), customer.path.clone());
    let app = app.restarted(acme.config(plans())).await;
    acme.gate.add_permits(1_000);
    let customer = Customer { app: &app, org, key, path };
    let run = customer.until(&id, "finished").await;
    assert_eq!((&run["rows"], &run["contacts"]), (&json!(30), &json!(30)));
    let pages = acme.asked("GET /v1/lists/news/contacts").len();
    assert!((10..=12).contains(&pages), "what was stored is not read again, but for two on their way: {pages}");
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn what_the_platform_reports_suppresses_once() {
    with_contacts(&["ann@honest-mail.com"], async |app, acme| {
        acme.add(2, "user2@honest-mail.com", &[("news", "bounced")]);
        acme.add(3, "user3@honest-mail.com", &[("news", "complained")]);
        let customer = Customer::connected(app, acme, json!({})).await;
        let look = async |list: &str, email: &str| {
            let path = format!("/v1/organization/suppressions/{list}?email={email}");
            app.get(&customer.key, &path).await.ok(200)["lookup"]["listed"] == true
        };
        let id = customer.start(true).await;
        customer.until(&id, "finished").await;
        // Platforms stop writing to contacts for many reasons; only a complaint comes from the reader.
        assert!(!look("bounced", "user2@honest-mail.com").await && look("complained", "user3@honest-mail.com").await);
        // The next run does not list an address again that the customer removed, because its state is the same.
        let path = "/v1/organization/suppressions/complained?all=true";
        app.send(Call::new("DELETE", path).key(&customer.key)).await.ok(200);
        let id = customer.start(true).await;
        customer.until(&id, "finished").await;
        assert!(!look("complained", "user3@honest-mail.com").await);
    })
    .await;
}
