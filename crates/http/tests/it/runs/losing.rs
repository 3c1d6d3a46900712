//! Credentials that a platform no longer accepts: confirmed, reported to the owner, and planned actions wait.

use probity_access::mail::MailConfig;
use probity_account::id::UserId;
use probity_http::service::ServiceConfig;
use probity_store::ScopedFutureExt as _;
use probity_store::accounts::users;
use probity_store::activity::letters::{self, LetterKind};
use probity_store::connections::connection;
use serde_json::{Value, json};

use super::acme::Acme;
use super::{Customer, MINUTES, pass_and_rest, plans, with_contacts};
use crate::test_app::{Call, TestApp};
use crate::webhooks::receivers::{Manner, Receiver, webhooks_to_loopback};

impl Customer<'_> {
    /// Lets time pass until a run is in a state, after two refusals of the credentials.
    async fn after_refusals(&self, id: &str, state: &str) -> Value {
        for _ in 0..400 {
            if self.connection().await["status"] == "disconnected" {
                break;
            }
            pass_and_rest(self.app, &self.key, &self.path, MINUTES).await;
        }
        self.until(id, state).await
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_dead_key_ends_the_connection_after_two_refusals() {
    with_contacts(&["ann@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        // A bare 403 means overload.
        acme.fail_with("GET /v1/lists", 403, &[], "", false);
        acme.fail("GET /v1/", 401, 99);
        let id = customer.start(false).await;
        let run = customer.after_refusals(&id, "failed").await;
        assert!(run["fault"].as_str().unwrap().contains("401"), "{run}");
        let connection = customer.connection().await;
        assert_eq!(
            (&connection["status"], &connection["disconnected_reason"]),
            (&json!("disconnected"), &json!("credential"))
        );
        assert!(acme.asked("GET /v1/account").len() >= 3, "the test call confirmed it");
        let timeline = app.get(&customer.key, "/v1/account/timeline").await.ok(200);
        let changes =
            timeline["events"].as_array().unwrap().iter().filter(|event| event["type"] == "connection_change");
        let changes: Vec<_> = changes.map(|event| (&event["change"], &event["actor"]["type"])).collect();
        assert_eq!(changes[0], (&json!("disconnected"), &json!("system")));
        customer.post("runs", json!({})).await.error(409, "conflict");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_refusal_after_an_accepted_test_call_is_a_first_one() {
    with_contacts(&["ann@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        acme.fail("GET /v1/lists", 401, 4);
        acme.fail("GET /v1/account", 401, 1);
        for _ in 0..2 {
            acme.fail_with("GET /v1/account", 200, &[], "{\"name\":\"Acme of a test\"}", false);
        }
        acme.fail("GET /v1/account", 401, 1);
        let id = customer.start(false).await;
        for _ in 0..20 {
            pass_and_rest(app, &customer.key, &customer.path, MINUTES).await;
        }
        customer.until(&id, "finished").await;
        assert_eq!(customer.connection().await["status"], "active");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_right_that_the_key_lacks_is_shown_and_ends_the_run() {
    with_contacts(&["ann@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let before = acme.asked("GET /v1/lists").len();
        acme.fail("GET /v1/lists", 401, 99);
        let id = customer.start(false).await;
        let mut shown = Vec::new();
        for _ in 0..10 {
            let run = customer.run(&id).await;
            shown.extend(run["fault"].as_str().filter(|_| run["waits_until"].is_string()).map(str::to_owned));
            pass_and_rest(app, &customer.key, &customer.path, MINUTES / 8).await;
        }
        for _ in 0..4 {
            pass_and_rest(app, &customer.key, &customer.path, MINUTES).await;
        }
        let run = customer.until(&id, "failed").await;
        assert!(run["fault"].as_str().unwrap().contains("401"), "{run}");
        assert!(shown.iter().any(|fault| fault.contains("401")), "{shown:?}");
        assert_eq!(acme.asked("GET /v1/lists").len() - before, 5);
        assert_eq!(customer.connection().await["status"], "active");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn actions_wait_for_credentials_and_are_done_then() {
    with_contacts(&["ann@honest-mail.com", "nobody@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        acme.fail("GET /v1/", 401, 99);
        acme.fail("DELETE /v1/", 401, 99);
        customer.confirm(&id, 1).await.ok(200);
        let waiting = customer.after_refusals(&id, "needs_confirmation").await;
        assert_eq!((&waiting["actions"]["planned"], acme.ids().len()), (&json!(1), 2), "{waiting}");
        customer.confirm(&id, 1).await.error(409, "conflict");
        acme.recover();
        customer.patch(json!({ "credentials": acme.credentials() })).await;
        customer.confirm(&id, 1).await.ok(200);
        let run = customer.until(&id, "finished").await;
        assert_eq!((&run["actions"]["done"], acme.ids()), (&json!(1), vec![1]), "{run}");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn the_owner_and_webhooks_are_told_once() {
    let acme = Acme::start().await;
    // Nothing listens there, so the mail waits.
    let relay = "smtp://127.0.0.1:1".to_owned().into();
    let mail = MailConfig::new(&relay, "Probity <no-reply@example.com>", "https://verify.example.com").unwrap();
    let app =
        TestApp::with(acme.config(ServiceConfig { mail: Some(mail), webhooks: webhooks_to_loopback(), ..plans() }))
            .await;
    acme.add(1, "ann@honest-mail.com", &[("news", "active")]);
    let customer = Customer::connected(&app, &acme, json!({})).await;
    let org = customer.org.no;
    let addressed = app.store.write(|tx| {
        async {
            let owner: UserId = users::primary(tx, org).await?.id;
            users::set_email(tx, org, owner, "owner@example.org").await
        }
        .scope_boxed()
    });
    addressed.await.unwrap();
    let mut receiver = Receiver::start(Manner::status(204)).await;
    let wanted = json!({ "name": "crm", "url": receiver.url(), "events": ["connection.disconnected"] });
    app.send(Call::new("POST", "/v1/webhooks").json(&wanted).key(&customer.key)).await.ok(201);
    acme.fail("GET /v1/", 401, 99);
    let id = customer.start(false).await;
    customer.after_refusals(&id, "failed").await;
    let request = receiver.request().await;
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(
        (&body["type"], &body["data"]["disconnected_reason"]),
        (&json!("connection.disconnected"), &json!("credential"))
    );
    assert!(customer.path.ends_with(body["data"]["id"].as_str().unwrap()), "{body}");
    assert_eq!(receiver.so_far().len(), 0);
    let later = app.now(&customer.org).await + 3_600_000;
    let claim = async |later, run| {
        let kind = LetterKind::ConnectionLost;
        app.store.write(|tx| letters::claim(tx, kind, later, 1, run, 10).scope_boxed()).await.unwrap()
    };
    let claimed = claim(later, "a test").await;
    let told: Vec<_> = claimed.iter().map(|notice| notice.email.as_str()).collect();
    assert_eq!(told, ["owner@example.org"]);
    let lost = connection::lost(&mut app.store.read().await.unwrap(), customer.org.no).await.unwrap();
    assert_eq!(lost, [("Acme of a test".to_owned(), "acme".to_owned())]);
    acme.recover();
    customer.patch(json!({ "credentials": acme.credentials() })).await;
    assert_eq!(claim(later + 2, "another").await, []);
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_decision_after_other_credentials_is_refused() {
    with_contacts(&["ann@honest-mail.com", "nobody@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete", "manual_mode": true })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        // Whether these are of the same account is unknown.
        let mut other = acme.credentials();
        other["url"] = json!(format!("http://{}/", acme.address));
        customer.patch(json!({ "credentials": other })).await;
        let decide = |word: &str| json!({ "decisions": [{ "run_id": id, "index": 1, "decision": word }] });
        let refused = customer.post("review/decisions", decide("act")).await;
        assert!(refused.error(409, "conflict").contains("other credentials"), "{}", refused.text());
        customer.confirm(&id, 1).await.error(409, "conflict");
        assert_eq!(customer.post("review/decisions", decide("ignore")).await.ok(200)["decided"], 1);
    })
    .await;
}
