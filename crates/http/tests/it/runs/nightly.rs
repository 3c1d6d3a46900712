//! Nightly runs, which start automatically.

use std::time::Duration;

use probity_account::credits::CreditBucket;
use serde_json::{Value, json};

use super::{Customer, pass_and_rest, with_contacts};
use crate::test_app::{Call, pass};

const NOBODY: &str = "nobody@honest-mail.com";
const HOUR: Duration = Duration::from_hours(1);
const STEP: Duration = Duration::from_mins(10);

impl Customer<'_> {
    async fn runs(&self) -> Vec<Value> {
        self.get("runs").await["data"].as_array().unwrap().clone()
    }

    /// Lets time pass until there are this many runs, and the newest one has ended or waits.
    async fn night(&self, runs: usize, within: Duration) -> Value {
        for _ in 0..within.as_secs() / STEP.as_secs() {
            pass_and_rest(self.app, &self.key, &self.path, STEP).await;
            if self.runs().await.len() >= runs {
                break;
            }
        }
        for _ in 0..100 {
            let all = self.runs().await;
            assert!(all.len() <= runs, "{all:#?}");
            if all.len() == runs && !super::is_going(&all[0]) {
                return all[0].clone();
            }
            // Calls interrupted by a busy machine are repeated later.
            pass_and_rest(self.app, &self.key, &self.path, Duration::from_mins(1)).await;
        }
        panic!("no run: {:#?}", self.runs().await)
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn new_contacts_are_verified_every_night_and_acted_upon() {
    with_contacts(&["ann@honest-mail.com", NOBODY], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete", "autofloss": true })).await;
        let first = customer.night(1, 31 * HOUR).await;
        assert_eq!((&first["trigger"], &first["rows"]), (&json!("autofloss"), &json!(2)));
        assert_eq!((&first["state"], &first["held_by"]), (&json!("needs_confirmation"), &json!("first_run")));
        // A waiting run does not prevent the next night, which verifies new contacts only.
        acme.add(3, "user3@honest-mail.com", &[("news", "active")]);
        let second = customer.night(2, 25 * HOUR).await;
        assert_eq!((&second["rows"], &second["state"]), (&json!(1), &json!("finished")));
        customer.confirm(first["id"].as_str().unwrap(), 1).await.ok(200);
        customer.until(first["id"].as_str().unwrap(), "finished").await;
        assert_eq!(acme.ids(), [1, 3]);
        acme.add(4, "nobody4@honest-mail.com", &[("news", "active")]);
        let third = customer.night(3, 25 * HOUR).await;
        assert_eq!(
            (&third["rows"], &third["state"], &third["actions"]["done"]),
            (&json!(1), &json!("finished"), &json!(1))
        );
        assert_eq!(acme.ids(), [1, 3], "acted upon without anybody");
        assert_eq!(app.balance(&customer.org).await.spent.total(), 4);
        let job = app.get(&customer.key, &format!("/v1/jobs/{}", third["id"].as_str().unwrap())).await.ok(200);
        assert_eq!((&job["source"], &job["source_integration"]), (&json!("integration"), &json!("acme")));
        let timeline = app.get(&customer.key, "/v1/account/timeline").await.ok(200);
        assert_eq!(timeline["summary"]["jobs_by_trigger"], json!({ "autofloss": 3 }));
        customer.patch(json!({ "autofloss": false })).await;
        for _ in 0..30 {
            pass(HOUR).await;
        }
        assert_eq!(customer.runs().await.len(), 3);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_night_without_credits_is_made_up_once() {
    with_contacts(&["ann@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "autofloss": true })).await;
        let spend =
            json!({ "emails": (0..super::CREDITS).map(|n| format!("user{n}@honest-mail.com")).collect::<Vec<_>>() });
        app.send(Call::post("/v1/batch-verify", spend.to_string()).key(&customer.key)).await.ok(200);
        for _ in 0..3 * 24 {
            pass(HOUR).await;
        }
        assert_eq!(customer.runs().await.len(), 0, "nothing is read for nothing");
        app.admin.grant(&customer.org, CreditBucket::Prepaid, 5, None).await.unwrap();
        let run = customer.night(1, HOUR).await;
        assert_eq!((&run["state"], &run["rows"]), (&json!("finished"), &json!(1)));
    })
    .await;
}
