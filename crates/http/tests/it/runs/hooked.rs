//! Webhooks of platforms: registered, trusted only with proof, and harmless otherwise.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use probity_account::api_key::KeyKind;
use probity_backend::connections::PlatformConfig;
use probity_espworld::{EspFaults, EspNotice, EspOptions, EspState, EspVendor, EspWorld};
use probity_http::service::ServiceConfig;
use probity_store::ScopedFutureExt as _;
use probity_store::connections::connection;
use serde_json::{Value, json};

use super::acme::Acme;
use super::polling::Polled;
use super::{Customer, plans};
use crate::test_app::{Answer, Call, TestApp, pass, real_moment};

const PUBLIC: &str = "https://verify.example.com";
const SECOND: Duration = Duration::from_secs(1);

/// Webhook parts missing in the file of Acme.
const OF_ACME: &str = r#"
[contacts.since]
overlap = "10m"
created = { query = { since = "{since|unix_ms}" } }

[hook]
scope = "account"
body = "json"
contact = { id = "/id" }
proof = { kind = "path" }
confirm = true
remove = { delete = "/webhooks/{hook.id}" }

[hook.register]
request = { post = "/webhooks", json = { url = "{hook.url}" } }
id = "/id"
"#;

impl Polled<'_> {
    fn hooks(&self) -> Vec<String> {
        self.world.account(|account| account.hooks().iter().map(|hook| hook.url.clone()).collect())
    }

    async fn webhook(&self) -> Value {
        self.get("schedule").await["instafloss"]["webhook"].clone()
    }

    /// Waits until the platform has no webhook.
    async fn unhooked(&self) {
        for _ in 0..600 {
            if self.hooks().is_empty() {
                return;
            }
            self.pass(SECOND).await;
        }
        panic!("{:?} stay", self.hooks());
    }

    /// Waits until the platform has this many webhooks, and the service has finished its work on them.
    async fn registered(&self, number: usize) -> Vec<String> {
        for _ in 0..600 {
            self.pass(SECOND).await;
            if self.hooks().len() == number && self.webhook().await["state"] == "registered" {
                return self.hooks();
            }
        }
        panic!("{:?} {:#}", self.hooks(), self.webhook().await)
    }

    /// Removes the platform's first webhook, as somebody else would.
    fn unhook(&self) {
        self.world.account(|account| {
            let id = account.hooks()[0].id;
            account.remove_hook(id)
        });
    }

    async fn hours(&self, hours: u64) {
        for _ in 0..hours {
            self.pass(Duration::from_hours(1)).await;
        }
    }

    /// Adds a subscriber; returns the event that the platform sends.
    fn add(&self, email: &str) -> Vec<EspNotice> {
        let number = self.world.account(|account| account.add(email, EspState::Subscribed, &[1]));
        self.world.notices(number)
    }

    async fn post(&self, notice: &EspNotice) -> Answer {
        let target = notice.url.strip_prefix(PUBLIC).unwrap();
        let call = Call::new("POST", target).bytes(notice.body.clone());
        let name = |name: &str| -> &'static str { String::leak(name.to_lowercase()) };
        let call = notice.headers.iter().fold(call, |call, (header, value)| call.header(name(header), value));
        self.app.send(call).await
    }

    /// Returns the number of runs that found contacts. A poll that is still reading may vanish.
    async fn found(&self) -> usize {
        let runs = self.get("runs").await;
        runs["data"].as_array().unwrap().iter().filter(|run| run["state"] == "finished").count()
    }

    /// Lets seconds pass until this many runs have found contacts; returns the seconds.
    async fn seconds_until(&self, runs: usize) -> u64 {
        for second in 0..240 {
            if self.found().await == runs {
                return second;
            }
            self.pass(SECOND).await;
            real_moment().await;
        }
        panic!("{:#}", self.get("runs").await)
    }

    /// Waits for the end of the first poll, which needs no event.
    async fn begun(&self) {
        for _ in 0..240 {
            if self.get("schedule").await["runs"][0]["last_run_at"] != Value::Null {
                return;
            }
            self.pass(SECOND).await;
        }
        panic!("{:#}", self.get("schedule").await)
    }
}

/// Returns a service that platforms can reach, and that reaches this one by a changed file with its address.
fn service(world: &EspWorld) -> ServiceConfig {
    let base = |text: &str| {
        let base = text.lines().find(|line| line.starts_with("base = ")).unwrap();
        text.replace(base, &format!("base = {:?}", world.base()))
    };
    changed(world, "mailchimp", base)
}

/// Returns a service with a changed file of a platform.
fn changed(world: &EspWorld, slug: &str, change: impl Fn(&str) -> String) -> ServiceConfig {
    described(world.host(), &change(&text_of(&format!("../connectors/data/{slug}.toml"))))
}

/// Returns a file below the directory of this crate.
fn text_of(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// Returns a service that platforms can reach, and that reaches this one.
fn described(host: &str, file: &str) -> ServiceConfig {
    let mut config = plans();
    config.api.hooks_url = Some(PUBLIC.to_owned());
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("platform.toml"), file).unwrap();
    let catalog = config.platforms.catalog.with_directory(directory.path()).unwrap();
    config.platforms = PlatformConfig { catalog: Arc::new(catalog), ..config.platforms };
    config.platforms.hosts.0.push(host.to_owned());
    config
}

async fn with(vendor: EspVendor, test: impl AsyncFn(Polled<'_>)) {
    let world = world(vendor, 1).await;
    let app = TestApp::with(service(&world)).await;
    test(Polled::connected(&app, &world).await).await;
    app.stop().await;
}

async fn world(vendor: EspVendor, lists: u32) -> EspWorld {
    let domains = vec!["honest-mail.com".to_owned()];
    EspWorld::open(vendor, EspOptions { contacts: 30, lists, domains, ..EspOptions::new(7) }).await.unwrap()
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_new_contact_is_verified_seconds_after_its_event() {
    for vendor in [EspVendor::Ghost, EspVendor::Activecampaign, EspVendor::Mautic] {
        with(vendor, async |polled| {
            let hooks = polled.registered(1).await;
            let promise = polled.get("schedule").await["instafloss"].clone();
            assert_eq!((&promise["method"], &promise["within_s"]), (&json!("webhook"), &json!(60)), "{vendor:?}");
            assert!(hooks[0].starts_with(&format!("{PUBLIC}/hooks/conn_")), "{vendor:?}");
            assert_eq!(promise["webhook"]["last_event_at"], Value::Null);
            polled.begun().await;
            for (n, email) in ["user4711@honest-mail.com", "user4712@honest-mail.com"].into_iter().enumerate() {
                let notices = polled.add(email);
                assert_eq!(polled.post(&notices[0]).await.ok(200), json!({}), "{vendor:?}");
                let seconds = polled.seconds_until(n + 1).await;
                assert!(seconds <= 15, "{vendor:?}: {seconds} s");
            }
            let promise = polled.get("schedule").await["instafloss"].clone();
            assert_eq!(promise["measured"], 2);
            assert_ne!(promise["webhook"]["last_event_at"], Value::Null);
        })
        .await;
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn forged_doubled_and_lost_events_do_no_harm() {
    with(EspVendor::Ghost, async |polled| {
        polled.registered(1).await;
        polled.begun().await;
        let real = polled.add("user4711@honest-mail.com").remove(0);
        let mut forgeries = vec![real.clone(), real.clone(), real.clone(), real.clone()];
        forgeries[0].body.push(b' ');
        forgeries[1].headers.clear();
        forgeries[2].url.pop();
        forgeries[3].url = forgeries[3].url.replace("/hooks/conn_0", "/hooks/conn_7");
        for forged in &forgeries {
            assert_eq!(polled.post(forged).await.error(404, "not_found"), "not found; check the path and the ID");
        }
        let metrics = polled.app.send(Call::get("/metrics").from("127.0.0.1")).await;
        for (platform, number) in [("ghost", 3), ("unknown", 1)] {
            let line = format!("probity_platform_events_total{{platform=\"{platform}\",outcome=\"refused\"}} {number}");
            assert!(metrics.text().lines().any(|one| one == line), "{line}");
        }
        polled.pass(SECOND * 20).await;
        assert_eq!(polled.found().await, 0);
        assert_eq!(polled.webhook().await["last_event_at"], Value::Null);
        // Polls are ten seconds apart, regardless of the number of events.
        for _ in 0..60 {
            polled.post(&real).await.ok(200);
        }
        polled.seconds_until(1).await;
        for _ in 0..20 {
            polled.post(&real).await.ok(200);
            polled.pass(SECOND).await;
        }
        assert_eq!(polled.found().await, 1);
        let calls = polled.world.ledger().total();
        for _ in 0..600 {
            polled.post(&real).await.ok(200);
        }
        polled.pass(SECOND * 9).await;
        assert!(polled.world.ledger().total() - calls <= 6, "a flood of events asks the platform once");
        // A lost event: the contact is found by polling.
        polled.add("user4712@honest-mail.com");
        polled.minutes(11).await;
        polled.seconds_until(2).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_webhook_that_somebody_removed_is_registered_again_within_the_hour() {
    with(EspVendor::Ghost, async |polled| {
        let before = polled.registered(1).await;
        polled.minutes(120).await;
        assert_eq!(polled.hooks(), before, "one that stands stays as it is");
        let notice = polled.add("user4711@honest-mail.com").remove(0);
        polled.unhook();
        // In small steps, so that no call times out.
        polled.minutes(60).await;
        let after = polled.registered(1).await;
        assert_ne!(before, after);
        assert_eq!(polled.post(&notice).await.error(404, "not_found"), "not found; check the path and the ID");
        let runs = polled.found().await;
        polled.post(&polled.add("user4712@honest-mail.com")[0]).await.ok(200);
        polled.seconds_until(runs + 1).await;
        // An event proves that the webhook is valid.
        polled.hours(23).await;
        assert_eq!(polled.hooks(), after);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn webhooks_are_removed_with_the_polls_and_with_the_connection() {
    with(EspVendor::Ghost, async |polled| {
        let first = polled.registered(1).await;
        polled.patch(json!({ "instafloss": false })).await;
        polled.unhooked().await;
        assert_eq!(polled.webhook().await["state"], "off");
        polled.patch(json!({ "instafloss": true })).await;
        assert_ne!(polled.registered(1).await, first);
        let notice = polled.add("user4711@honest-mail.com").remove(0);
        polled.app.send(Call::new("DELETE", &*polled.path).key(&polled.key)).await.ok(200);
        assert_eq!(polled.hooks().len(), 0);
        assert_eq!(polled.post(&notice).await.error(404, "not_found"), "not found; check the path and the ID");
        // Its settings stay, and so does the request for events.
        let mut again = json!(polled.world.credentials());
        polled.patch(json!({ "credentials": again })).await;
        let before = polled.registered(1).await;
        // It is unknown whether other credentials belong to the same account.
        again["url"] = json!(format!("{}/", polled.world.origin()));
        polled.patch(json!({ "credentials": again })).await;
        for _ in 0..10 {
            polled.pass(SECOND).await;
        }
        assert_ne!(polled.registered(1).await, before);
    })
    .await;
}

impl<'a> Customer<'a> {
    /// Connects to a platform that makes this webhook.
    async fn hooked(app: &'a TestApp, acme: &'a Acme, made: &str) -> Self {
        acme.fail_with("POST /v1/webhooks", 200, &[], &json!({ "id": made }).to_string(), false);
        let customer = Self::connected(app, acme, json!({ "instafloss": true })).await;
        customer.until_hooked().await;
        customer
    }

    async fn promise(&self) -> Value {
        self.get("schedule").await["instafloss"].clone()
    }

    async fn until_hooked(&self) {
        for _ in 0..600 {
            if self.promise().await["webhook"]["state"] == "registered" {
                return;
            }
            pass(SECOND).await;
        }
        panic!("{:#}", self.promise().await)
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn no_minute_is_promised_while_a_removed_webhook_is_missing() {
    let acme = Acme::start().await;
    let look = "remove = { delete = \"/webhooks/{hook.id}\" }\nlook = { get = \"/webhooks/{hook.id}\" }\n";
    let file =
        text_of("tests/it/runs/acme.toml") + &OF_ACME.replace("remove = { delete = \"/webhooks/{hook.id}\" }\n", look);
    let app = TestApp::with(described(&acme.address.to_string(), &file)).await;
    let customer = Customer::hooked(&app, &acme, "w1").await;
    assert_eq!(customer.promise().await["within_s"], 60);
    let looks = acme.asked("GET /v1/webhooks/w1").len();
    // The platform does not say whether it stands.
    acme.fail("GET /v1/webhooks/w1", 503, 1);
    for _ in 0..60 {
        pass(Duration::from_mins(1)).await;
    }
    assert_eq!(acme.asked("GET /v1/webhooks/w1").len(), looks + 1, "once an hour");
    assert_eq!(customer.promise().await["within_s"], 60);
    acme.fail("GET /v1/webhooks/w1", 404, 1);
    acme.fail("POST /v1/webhooks", 503, 1_000);
    for _ in 0..60 {
        pass(Duration::from_mins(1)).await;
    }
    let promise = customer.promise().await;
    assert_eq!(
        (&promise["method"], &promise["webhook"]["state"]),
        (&json!("polling"), &json!("failed")),
        "{promise:#}"
    );
    assert_eq!(promise["within_s"], promise["without_event_s"]);
    acme.recover();
    acme.fail_with("POST /v1/webhooks", 200, &[], "{\"id\":\"w2\"}", false);
    for _ in 0..60 {
        pass(Duration::from_mins(1)).await;
    }
    customer.until_hooked().await;
    assert_eq!(customer.promise().await["method"], "webhook");
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_connection_is_deleted_before_its_webhook_is_removed() {
    let acme = Acme::start().await;
    let file = text_of("tests/it/runs/acme.toml") + OF_ACME;
    let app = TestApp::with(described(&acme.address.to_string(), &file)).await;
    acme.fail_with("DELETE /v1/webhooks/w1", 200, &[], "{}", false);
    let customer = Customer::hooked(&app, &acme, "w1").await;
    acme.acting.forget_permits(usize::MAX);
    let deletion = app.send(Call::new("DELETE", &*customer.path).key(&customer.key));
    let meanwhile = async {
        while acme.asked("DELETE /v1/webhooks/w1").is_empty() {
            real_moment().await;
        }
        let status = customer.connection().await["status"].clone();
        acme.acting.add_permits(1_000);
        status
    };
    let (deleted, status) = tokio::join!(deletion, meanwhile);
    deleted.ok(200);
    assert_eq!(status, "disconnected", "its runs act no more while the platform is slow");
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn each_list_has_a_webhook_where_the_platform_wants_that() {
    let world = world(EspVendor::Mailchimp, 2).await;
    let app = TestApp::with(service(&world)).await;
    let polled = Polled::connected(&app, &world).await;
    let hooks = polled.registered(2).await;
    assert_eq!(hooks[0], hooks[1], "one URL");
    // Mailchimp checks the URL first.
    let target = hooks[0].strip_prefix(PUBLIC).unwrap();
    app.send(Call::get(target)).await.ok(200);
    app.send(Call::get(&target[..target.len() - 1])).await.error(404, "not_found");
    let number = world.account(|account| account.add("user4711@honest-mail.com", EspState::Subscribed, &[1, 2]));
    let notices = world.notices(number);
    assert_eq!(notices.len(), 2);
    for notice in &notices {
        polled.post(notice).await.ok(200);
    }
    polled.seconds_until(1).await;
    polled.patch(json!({ "instafloss": false })).await;
    polled.unhooked().await;
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn without_a_public_url_or_webhooks_polls_stay() {
    let world = world(EspVendor::Ghost, 1).await;
    let mut config = service(&world);
    config.api.hooks_url = None;
    let app = TestApp::with(config).await;
    let polled = Polled::connected(&app, &world).await;
    polled.minutes(2).await;
    assert_eq!(polled.webhook().await["state"], "no_public_url");
    assert_eq!(polled.get("schedule").await["instafloss"]["method"], "polling");
    app.stop().await;
    with(EspVendor::Mailman, async |polled| {
        polled.minutes(2).await;
        assert_eq!(polled.webhook().await["state"], "unsupported");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn what_is_too_large_is_refused_before_it_is_read() {
    with(EspVendor::Ghost, async |polled| {
        polled.registered(1).await;
        let mut notice = polled.add("user4711@honest-mail.com").remove(0);
        notice.body = vec![b' '; (64 << 10) + 1];
        polled.post(&notice).await.error(413, "payload_too_large");
        let target = notice.url.strip_prefix(PUBLIC).unwrap();
        polled.app.send(Call::new("PUT", target)).await.error(405, "method_not_allowed");
    })
    .await;
}

/// Lets ten minutes pass; returns the maximum number of webhooks at the platform.
async fn most_hooks(polled: &Polled<'_>) -> usize {
    let mut most = 0;
    for _ in 0..120 {
        polled.pass(SECOND * 5).await;
        real_moment().await;
        most = most.max(polled.hooks().len());
    }
    most
}

#[tokio::test]
#[ignore = "thorough"]
async fn registrations_without_a_response_are_made_less_and_less_often() {
    with(EspVendor::Ghost, async |polled| {
        polled.world.disturb(EspFaults { lost_replies: 1_000, max: 100_000, ..EspFaults::none() });
        // After 0, 1, 3 and 7 minutes.
        let most = most_hooks(&polled).await;
        assert!((2..=5).contains(&most), "{most}");
        assert_eq!(polled.webhook().await["state"], "failed");
        polled.world.disturb(EspFaults::none());
        let lost = polled.hooks().len();
        // In steps that no call exceeds: a longer one would interrupt a registration, and the platform would keep it.
        for _ in 0..400 {
            if polled.webhook().await["state"] == "registered" {
                break;
            }
            polled.pass(SECOND * 5).await;
            real_moment().await;
        }
        assert_eq!(polled.webhook().await["state"], "registered");
        // The last earlier registration may have received its response.
        assert!((lost..=lost + 1).contains(&polled.hooks().len()), "{lost} {:?}", polled.hooks());
        assert_eq!(polled.webhook().await["fault"], Value::Null);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_registration_whose_later_call_fails_is_removed_before_the_next() {
    let world = world(EspVendor::Ghost, 1).await;
    let then = "[hook.register]\nthen = [{ put = \"/webhooks/{hook.id}/start/\" }]\n";
    let app = TestApp::with(changed(&world, "ghost", |text| text.replace("[hook.register]\n", then))).await;
    let polled = Polled::connected(&app, &world).await;
    assert_eq!(most_hooks(&polled).await, 1);
    assert_eq!(polled.webhook().await["state"], "failed");
    polled.patch(json!({ "instafloss": false })).await;
    polled.unhooked().await;
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_test_connection_registers_nothing() {
    let world = world(EspVendor::Ghost, 1).await;
    let app = TestApp::with(service(&world)).await;
    let mut polled = Polled::connected(&app, &world).await;
    polled.registered(1).await;
    polled.patch(json!({ "instafloss": false })).await;
    polled.key = app.key(&polled.org, KeyKind::Test).await;
    let body = json!({ "credentials": world.credentials() });
    let all = "/v1/integrations/ghost/connections";
    let made = app.send(Call::new("POST", all).json(&body).key(&polled.key)).await.ok(201);
    polled.path = format!("{all}/{}", made["id"].as_str().unwrap());
    polled.patch(json!({ "instafloss": true })).await;
    for _ in 0..20 {
        polled.pass(SECOND).await;
        real_moment().await;
    }
    assert_eq!(polled.hooks().len(), 0);
    assert_eq!(polled.webhook().await["state"], "off");
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_webhook_that_is_no_longer_wanted_is_removed_once_its_connection_is_back() {
    with(EspVendor::Ghost, async |polled| {
        polled.registered(1).await;
        let (org, now) = (polled.org.no, polled.app.now(&polled.org).await);
        let id = polled.path.rsplit('/').next().unwrap().parse().unwrap();
        let lost = polled.app.store.write(|tx| connection::disconnect(tx, org, id, now).scope_boxed());
        assert!(lost.await.unwrap());
        polled.patch(json!({ "instafloss": false })).await;
        for _ in 0..10 {
            polled.pass(SECOND).await;
        }
        assert_eq!(polled.hooks().len(), 1);
        polled.patch(json!({ "credentials": polled.world.credentials() })).await;
        polled.unhooked().await;
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn lists_that_are_chosen_later_have_webhooks_at_once() {
    let world = world(EspVendor::Mailchimp, 2).await;
    let app = TestApp::with(service(&world)).await;
    let polled = Polled::connected(&app, &world).await;
    let before = polled.registered(2).await;
    polled.patch(json!({ "lists": [world.list_id(1)] })).await;
    assert_eq!(polled.webhook().await["state"], "pending");
    assert_ne!(polled.registered(1).await, before[..1]);
    polled.patch(json!({ "lists": [] })).await;
    polled.registered(2).await;
    app.stop().await;
}
