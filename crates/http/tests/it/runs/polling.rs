//! Polls: new contacts are verified within the promised time, and polls that find nothing leave no trace.

use std::time::Duration;

use probity_account::credits::CreditBucket;
use probity_espworld::{EspOptions, EspState, EspVendor, EspWorld};
use probity_store::accounts::organization::OrgRecord;
use serde_json::{Value, json};

use super::plans;
use crate::test_app::{Call, TestApp, pass, real_moment};

/// A customer of a simulated platform whose new contacts are verified at once.
pub(super) struct Polled<'a> {
    pub(super) app: &'a TestApp,
    pub(super) world: &'a EspWorld,
    pub(super) org: OrgRecord,
    pub(super) key: String,
    pub(super) path: String,
}

impl<'a> Polled<'a> {
    pub(super) async fn connected(app: &'a TestApp, world: &'a EspWorld) -> Self {
        let plan = app.admin.plan(Some("all")).unwrap().clone();
        let org: OrgRecord = app.admin.create_org("Example Ltd", plan).await.unwrap();
        app.admin.grant(&org, CreditBucket::Prepaid, 1_000, None).await.unwrap();
        let key = app.key(&org, probity_account::api_key::KeyKind::Live).await;
        world.clock().advance(app.now(&org).await.0 - world.clock().now());
        let all = format!("/v1/integrations/{}/connections", world.vendor().slug());
        let body = json!({ "credentials": world.credentials() });
        let made = app.send(Call::new("POST", &*all).json(&body).key(&key)).await.ok(201);
        let polled = Self { app, world, org, path: format!("{all}/{}", made["id"].as_str().unwrap()), key };
        polled.patch(json!({ "instafloss": true })).await;
        polled
    }

    pub(super) async fn patch(&self, body: Value) {
        self.app.send(Call::new("PATCH", &*self.path).json(&body).key(&self.key)).await.ok(200);
    }

    pub(super) async fn get(&self, rest: &str) -> Value {
        self.app.get(&self.key, &format!("{}/{rest}", self.path)).await.ok(200)
    }

    pub(super) async fn minutes(&self, minutes: u64) {
        for _ in 0..minutes {
            self.pass(Duration::from_mins(1)).await;
        }
    }

    /// Lets time pass for the service and the platform.
    pub(super) async fn pass(&self, time: Duration) {
        pass(time).await;
        // The service's time also advances while this machine is busy.
        self.world.clock().advance(self.app.now(&self.org).await.0 - self.world.clock().now());
    }

    /// Waits until the newest run is in this state.
    async fn until(&self, state: &str) -> Value {
        for _ in 0..15_000 {
            let newest = self.get("runs").await["data"][0].clone();
            if newest["state"] == state {
                return newest;
            }
            real_moment().await;
        }
        panic!("{:#}", self.get("runs").await)
    }

    /// Waits until the newest run needs confirmation, and confirms it. Returns the run as it waited.
    async fn confirm_waiting(&self) -> Value {
        let run = self.until("needs_confirmation").await;
        let path = format!("{}/runs/{}/confirm", self.path, run["id"].as_str().unwrap());
        let planned = json!({ "actions": run["actions"]["planned"] });
        self.app.send(Call::new("POST", path).json(&planned).key(&self.key)).await.ok(200);
        run
    }

    /// Waits until there are this many runs, which have ended.
    async fn runs(&self, number: usize) -> Vec<Value> {
        for _ in 0..15_000 {
            let all = self.get("runs").await["data"].as_array().unwrap().clone();
            if all.len() == number && all.iter().all(|run| run["state"] == "finished") {
                return all;
            }
            real_moment().await;
        }
        panic!("{:#}", self.get("runs").await)
    }
}

async fn world(vendor: EspVendor) -> EspWorld {
    let domains = vec!["honest-mail.com".to_owned()];
    EspWorld::open(vendor, EspOptions { contacts: 30, lists: 1, domains, ..EspOptions::new(7) }).await.unwrap()
}

async fn with(vendor: EspVendor, test: impl AsyncFn(Polled<'_>)) {
    let world = world(vendor).await;
    let mut config = plans();
    config.platforms.hosts.0.push(world.host().to_owned());
    let app = TestApp::with(config).await;
    test(Polled::connected(&app, &world).await).await;
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn new_contacts_are_verified_within_the_promise() {
    with(EspVendor::Ghost, async |polled| {
        let promise = polled.get("schedule").await;
        assert_eq!(
            (&promise["instafloss"]["method"], &promise["instafloss"]["within_s"]),
            (&json!("polling"), &json!(600))
        );
        assert_eq!((&promise["runs"][0]["trigger"], &promise["time_zone"]), (&json!("instafloss"), &json!("UTC")));
        polled.minutes(25).await;
        // A poll exists while it reads, and ignores older contacts.
        polled.runs(0).await;
        let add = |email: &str, state| polled.world.account(|account| account.add(email, state, &[1]));
        add("user4711@honest-mail.com", EspState::Subscribed);
        add("user4712@honest-mail.com", EspState::Unsubscribed);
        polled.minutes(10).await;
        let runs = polled.runs(1).await;
        assert_eq!((&runs[0]["trigger"], &runs[0]["rows"]), (&json!("instafloss"), &json!(1)));
        polled.minutes(30).await;
        polled.runs(1).await;
        let measured = polled.get("schedule").await["instafloss"].clone();
        assert_eq!(measured["measured"], 1, "{measured}");
        // Real time counts, too, on a busy machine.
        assert!(measured["longest_s"].as_i64().unwrap() <= 660, "{measured}");
        add("user4713@honest-mail.com", EspState::Subscribed);
        polled.minutes(10).await;
        assert_eq!(polled.runs(2).await[0]["rows"], 1);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn polls_share_one_brake_until_a_person_confirms_them() {
    with(EspVendor::Ghost, async |polled| {
        let add = |from: u32, to: u32| {
            for n in from..to {
                polled.world.account(|account| account.add(&format!("u{n}@null-mx.com"), EspState::Subscribed, &[1]));
            }
        };
        polled.patch(json!({ "action": "unsubscribe", "aggressiveness": "normal", "instafloss": false })).await;
        polled.world.account(|account| account.add("user1@honest-mail.com", EspState::Subscribed, &[1]));
        add(0, 1);
        let start = Call::new("POST", format!("{}/runs", polled.path)).json(&json!({})).key(&polled.key);
        polled.app.send(start).await.ok(201);
        polled.confirm_waiting().await;
        polled.runs(1).await;
        polled.patch(json!({ "instafloss": true })).await;
        add(1, 4);
        polled.minutes(10).await;
        assert_eq!(polled.runs(2).await[0]["actions"]["done"], 3);
        add(4, 6);
        polled.minutes(10).await;
        let held = polled.confirm_waiting().await;
        assert_eq!((&held["held_by"], &held["actions"]["planned"]), (&json!("too_many_actions"), &json!(2)));
        let reason = "2 of 2 contacts would be unsubscribed, deleted or corrected, 5 of 5 counted with earlier runs \
                      that nobody confirmed; together, they may change 3 without confirmation";
        assert_eq!(held["held_reason"], reason);
        polled.runs(3).await;
        // Whoever confirmed has seen all of them.
        add(6, 9);
        polled.minutes(10).await;
        assert_eq!(polled.runs(4).await[0]["actions"]["done"], 3);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_platform_without_dates_is_polled_after_a_complete_run() {
    with(EspVendor::Mailman, async |polled| {
        polled.minutes(20).await;
        assert_eq!(polled.get("schedule").await["runs"][0]["waits_for"], "first_run");
        let start = Call::new("POST", format!("{}/runs", polled.path)).json(&json!({})).key(&polled.key);
        polled.app.send(start).await.ok(201);
        polled.runs(1).await;
        polled.minutes(90).await;
        polled.world.account(|account| account.add("user4711@honest-mail.com", EspState::Subscribed, &[1]));
        polled.minutes(30).await;
        let runs = polled.runs(2).await;
        assert_eq!((&runs[0]["trigger"], &runs[0]["rows"]), (&json!("instafloss"), &json!(1)));
    })
    .await;
}
