//! External effects of a run: webhooks, downloads, erasures.

use std::collections::BTreeMap;

use probity_http::service::ServiceConfig;
use probity_store::accounts::organization::OrgState;
use serde_json::{Value, json};

use super::{Customer, plans, with_contacts};
use crate::runs::acme::Acme;
use crate::test_app::{Call, TestApp, pass, real_moment};
use crate::webhooks::receivers::{Manner, Receiver, webhooks_to_loopback};

const ANN: &str = "ann@honest-mail.com";

#[tokio::test]
#[ignore = "thorough"]
async fn webhooks_are_told_of_contacts_once_they_are_changed() {
    let acme = Acme::start().await;
    let config = ServiceConfig { webhooks: webhooks_to_loopback(), ..plans() };
    TestApp::each(acme.config(config), async |app| {
        acme.clear();
        acme.add(1, ANN, &[("news", "active")]);
        acme.add(2, "nobody@honest-mail.com", &[("news", "active")]);
        // The second contact of a mailbox.
        acme.add(3, "NOBODY@honest-mail.com", &[("news", "active")]);
        acme.add(4, "x@null-mx.com", &[("news", "active")]);
        acme.fail("DELETE /v1/contacts/4", 423, 1);
        let customer = Customer::connected(app, &acme, json!({ "action": "delete" })).await;
        let mut receiver = Receiver::start(Manner::status(204)).await;
        let events = ["contact.deleted", "contact.fixed", "job.finished"];
        let wanted = json!({ "name": "crm", "url": receiver.url(), "events": events });
        app.send(Call::new("POST", "/v1/webhooks").json(&wanted).key(&customer.key)).await.ok(201);
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        let mut told: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let mut take = |request: String| {
            let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
            told.entry(body["type"].as_str().unwrap().to_owned()).or_default().push(body["data"].clone());
        };
        take(receiver.request().await);
        customer.confirm(&id, 3).await.ok(200);
        customer.until(&id, "finished").await;
        take(receiver.request().await);
        for request in receiver.so_far() {
            take(request);
        }
        assert_eq!(told.keys().collect::<Vec<_>>(), ["contact.deleted", "job.finished"]);
        let finished = &told["job.finished"][0];
        assert_eq!((&finished["source"], &finished["source_integration"]), (&json!("integration"), &json!("acme")));
        let deleted = &told["contact.deleted"][0];
        assert_eq!(deleted["job_id"], id);
        let rows: Vec<_> =
            deleted["rows"].as_array().unwrap().iter().map(|row| (&row["index"], &row["deleted"])).collect();
        assert_eq!(rows, [(&json!(1), &json!(true)), (&json!(2), &json!(true))]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn webhooks_are_told_of_a_contact_by_the_run_that_changed_it_only() {
    let acme = Acme::start().await;
    let config = ServiceConfig { webhooks: webhooks_to_loopback(), ..plans() };
    TestApp::each(acme.config(config), async |app| {
        acme.clear();
        acme.add(1, "nobody@honest-mail.com", &[("news", "active")]);
        let customer = Customer::connected(app, &acme, json!({ "action": "delete" })).await;
        let mut receiver = Receiver::start(Manner::status(204)).await;
        let wanted = json!({ "name": "crm", "url": receiver.url(), "events": ["contact.deleted"] });
        app.send(Call::new("POST", "/v1/webhooks").json(&wanted).key(&customer.key)).await.ok(201);
        let earlier = customer.start(false).await;
        customer.until(&earlier, "needs_confirmation").await;
        acme.add(2, "x@null-mx.com", &[("news", "active")]);
        let second = customer.again(&acme, json!({ "action": "delete" })).await;
        let later = second.start(false).await;
        second.until(&later, "needs_confirmation").await;
        for (customer, id, actions, row) in [(&customer, &earlier, 1, 0), (&second, &later, 2, 1)] {
            customer.confirm(id, actions).await.ok(200);
            let run = customer.until(id, "finished").await;
            assert_eq!(run["actions"]["done"], actions, "{run:#}");
            let request = receiver.request().await;
            let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
            let rows: Vec<_> = body["data"]["rows"].as_array().unwrap().iter().map(|row| &row["index"]).collect();
            assert_eq!((&body["data"]["job_id"], rows), (&json!(id), vec![&json!(row)]), "{body:#}");
        }
        assert!(receiver.so_far().is_empty());
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_download_of_a_run_says_what_was_done() {
    with_contacts(&[ANN, "nobody@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "unsubscribe" })).await;
        let run = customer.whole_run().await;
        let id = run["id"].as_str().unwrap();
        let file = app.get(&customer.key, &format!("/v1/batch-verify/{id}/download?format=csv")).await;
        let lines: Vec<&str> = file.text().lines().collect();
        assert!(lines[0].ends_with(",index,fixed,deleted,unsubscribed,updated,tagged"), "{}", lines[0]);
        assert!(lines[1].ends_with(",0,false,false,false,false,false"), "{}", lines[1]);
        assert!(lines[2].ends_with(",1,false,false,true,false,false"), "{}", lines[2]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn nothing_is_done_to_a_contact_whose_address_was_erased() {
    with_contacts(&[ANN, "nobody@honest-mail.com", "nobody2@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        let erasure = app.admin.erase(&customer.org, "nobody@honest-mail.com").await.unwrap();
        for _ in 0..500 {
            let shown = app.get(&customer.key, &format!("/v1/erasures/{}", erasure.id)).await.ok(200);
            if shown["status"] == "completed" {
                assert_eq!(shown["removed"]["contact_block"], 1, "{shown}");
                break;
            }
            pass(std::time::Duration::from_secs(1)).await;
        }
        let run = customer.run(&id).await;
        assert_eq!((&run["actions"]["planned"], &run["actions"]["ignored"]), (&json!(1), &json!(1)));
        assert_eq!(run["examples"].as_array().unwrap().len(), 1);
        customer.confirm(&id, 1).await.ok(200);
        customer.until(&id, "finished").await;
        assert_eq!(acme.ids(), [1, 2]);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_ban_ends_runs_and_a_pause_holds_them() {
    let acme = Acme::start().await;
    for id in 1..=9 {
        acme.add(id, &format!("user{id}@honest-mail.com"), &[("news", "active")]);
    }
    let app = TestApp::with(acme.config(plans())).await;
    let customer = Customer::connected(&app, &acme, json!({})).await;
    acme.gate.forget_permits(usize::MAX);
    let id = customer.start(false).await;
    app.admin.set_status(&customer.org, OrgState::Banned).await.unwrap();
    acme.gate.add_permits(1);
    for _ in 0..40 {
        pass(std::time::Duration::from_secs(6)).await;
    }
    acme.gate.add_permits(1_000);
    app.admin.set_status(&customer.org, OrgState::Active).await.unwrap();
    let run = customer.run(&id).await;
    assert_eq!(run["state"], "cancelled");
    real_moment().await;
    assert!(acme.asked("GET /v1/lists/news").len() <= 2);
    app.stop().await;
}
