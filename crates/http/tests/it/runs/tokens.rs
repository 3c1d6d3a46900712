//! Platforms that exchange credentials for an access token: one exchange at a time, storage of a replaced refresh token, and
//! refusals that disconnect.

use std::path::Path;
use std::sync::Arc;

use probity_account::api_key::KeyKind;
use probity_account::connections::{StoredToken, TokenTurn};
use probity_account::credits::CreditBucket;
use probity_backend::connections::PlatformConfig;
use probity_espworld::{EspOptions, EspVendor, EspWorld};
use probity_http::service::ServiceConfig;
use probity_mail::time::DAY_MS;
use probity_store::connections::connection::{self, AccountTag};
use probity_store::connections::tokens;
use probity_store::{OrgNo, ScopedFutureExt as _};
use serde_json::{Value, json};

use super::{MINUTES, pass_and_rest, plans};
use crate::test_app::{Call, TestApp, pass, real_moment};

const VENDORS: [EspVendor; 2] = [EspVendor::ConstantContact, EspVendor::Phplist];

async fn world(vendor: EspVendor) -> EspWorld {
    EspWorld::open(vendor, options()).await.unwrap()
}

/// Returns a simulated platform whose calls take this long.
async fn slow_world(latency_ms: u64) -> EspWorld {
    let options = EspOptions { is_real_time: true, latency_ms, ..options() };
    EspWorld::open(EspVendor::ConstantContact, options).await.unwrap()
}

fn options() -> EspOptions {
    EspOptions {
        contacts: 30,
        lists: 1,
        domains: vec!["honest-mail.com".to_owned()],
        is_limited: false,
        ..EspOptions::new(3)
    }
}

/// Returns an address at which nothing listens.
async fn nowhere() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().to_string()
}

/// Returns the service's configuration, with the platform at its simulation.
fn config(world: &EspWorld) -> ServiceConfig {
    config_with(world, world.origin())
}

/// Does the same, with Constant Contact's exchanges elsewhere.
fn config_with(world: &EspWorld, exchanges: &str) -> ServiceConfig {
    let mut config = plans();
    let name = format!("{}.toml", world.vendor().slug());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../connectors/data").join(&name);
    let text = std::fs::read_to_string(file).unwrap();
    let text = text.replace("https://api.cc.email", world.origin());
    let text = text.replace("https://authz.constantcontact.com", exchanges);
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(name), text).unwrap();
    let catalog = config.platforms.catalog.with_directory(directory.path()).unwrap();
    config.platforms = PlatformConfig { catalog: Arc::new(catalog), ..config.platforms };
    config.platforms.hosts.0.push(world.host().to_owned());
    config
}

/// A customer whose plan includes connections.
struct Owner<'a> {
    app: &'a TestApp,
    world: &'a EspWorld,
    org: OrgNo,
    key: String,
}

impl<'a> Owner<'a> {
    async fn new(app: &'a TestApp, world: &'a EspWorld) -> Self {
        let plan = app.admin.plan(Some("all")).unwrap().clone();
        let org = app.admin.create_org("Example Ltd", plan).await.unwrap();
        app.admin.grant(&org, CreditBucket::Prepaid, 1_000, None).await.unwrap();
        Self { app, world, org: org.no, key: app.key(&org, KeyKind::Live).await }
    }

    fn all(&self) -> String {
        format!("/v1/integrations/{}/connections", self.world.vendor().slug())
    }

    async fn connect(&self, credentials: &Value) -> crate::test_app::Answer {
        let body = json!({ "credentials": credentials });
        self.app.send(Call::new("POST", self.all()).json(&body).key(&self.key)).await
    }

    /// Connects, and returns the path of the connection.
    async fn connected(&self) -> String {
        let made = self.connect(&json!(self.world.credentials())).await.ok(201);
        format!("{}/{}", self.all(), made["id"].as_str().unwrap())
    }

    async fn post(&self, path: &str) -> Value {
        self.app.send(Call::new("POST", path).json(&json!({})).key(&self.key)).await.ok(200)
    }

    /// Returns the tag of a connection's account, and its tokens.
    async fn stored(&self, path: &str) -> (AccountTag, StoredToken) {
        let id = path.rsplit('/').next().unwrap().parse().unwrap();
        let mut conn = self.app.store.read().await.unwrap();
        let tag = connection::by_id(&mut conn, self.org, id, false).await.unwrap().account_tag;
        let stored = tokens::of_account(&mut conn, self.org, &tag).await.unwrap().unwrap();
        (tag, stored)
    }

    /// Runs once, and returns the run.
    async fn run(&self, path: &str) -> Value {
        let started = self.app.send(Call::new("POST", format!("{path}/runs")).json(&json!({})).key(&self.key)).await;
        let id = started.ok(201)["id"].as_str().unwrap().to_owned();
        for _ in 0..2_000 {
            let run = self.app.get(&self.key, &format!("{path}/runs/{id}")).await.ok(200);
            if ["finished", "failed"].iter().any(|state| run["state"] == *state) {
                return run;
            }
            pass(std::time::Duration::from_secs(1)).await;
            real_moment().await;
        }
        panic!("the run does not end");
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_token_serves_until_the_platform_refuses_it() {
    for (vendor, on_postgres) in VENDORS.into_iter().flat_map(|vendor| [(vendor, false), (vendor, true)]) {
        // A separate simulation each, because an entered refresh token works only once.
        let world = world(vendor).await;
        let config = config(&world);
        let app = if on_postgres { TestApp::on_postgres(config).await } else { Some(TestApp::with(config).await) };
        let Some(app) = app else { continue };
        let owner = Owner::new(&app, &world).await;
        let path = owner.connected().await;
        assert_eq!(owner.run(&path).await["state"], "finished");
        assert_eq!(owner.post(&format!("{path}/test")).await["credential_valid"], true);
        assert_eq!(world.tokens_given(), 1, "{}", vendor.slug());
        // A run exchanges the credentials again, and so does a test.
        world.end_access();
        assert_eq!(owner.run(&path).await["state"], "finished");
        world.end_access();
        assert_eq!(owner.post(&format!("{path}/test")).await["credential_valid"], true);
        assert_eq!(world.tokens_given(), 3, "{}", vendor.slug());
        // The platform no longer accepts the entered refresh token; the one that it returned is stored.
        world.end_access();
        let second = owner.connected().await;
        assert_eq!(owner.run(&second).await["state"], "finished");
        assert_eq!(world.tokens_given(), 4, "{}", vendor.slug());
        app.stop().await;
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn refused_credentials_are_not_stored_and_name_their_fields() {
    let world = world(EspVendor::ConstantContact).await;
    TestApp::each(config(&world), async |app| {
        let owner = Owner::new(app, &world).await;
        let answer = owner.connect(&json!(world.wrong_credentials())).await;
        let error = answer.error(400, "invalid_request");
        assert!(error.contains("refresh_token"), "{error}");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn revoked_access_disconnects_after_two_refusals() {
    for vendor in VENDORS {
        let world = world(vendor).await;
        let app = TestApp::with(config(&world)).await;
        let owner = Owner::new(&app, &world).await;
        let path = owner.connected().await;
        world.end_access();
        world.revoke();
        let started = app.send(Call::new("POST", format!("{path}/runs")).json(&json!({})).key(&owner.key)).await;
        started.ok(201);
        let mut connection = Value::Null;
        for _ in 0..400 {
            connection = app.get(&owner.key, &path).await.ok(200);
            if connection["status"] == "disconnected" {
                break;
            }
            pass_and_rest(&app, &owner.key, &path, MINUTES).await;
        }
        assert_eq!(
            (&connection["status"], &connection["disconnected_reason"]),
            (&json!("disconnected"), &json!("credential")),
            "{}",
            vendor.slug()
        );
        app.stop().await;
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn nodes_that_need_a_token_at_once_exchange_one() {
    let world = world(EspVendor::ConstantContact).await;
    let config = config(&world);
    let Some(app) = TestApp::on_postgres(config.clone()).await else { return };
    let other = app.beside(config).await;
    let owner = Owner::new(&app, &world).await;
    let path = owner.connected().await;
    for round in 1..=5 {
        let before = world.tokens_given();
        world.end_access();
        let call = || Call::new("POST", format!("{path}/test")).json(&json!({})).key(&owner.key);
        let nodes = [&app, &other, &app, &other, &app, &other];
        let answers = futures_util::future::join_all(nodes.map(|node| node.send(call()))).await;
        for answer in answers {
            assert_eq!(answer.ok(200)["credential_valid"], true);
        }
        assert_eq!(world.tokens_given() - before, 1, "round {round}");
    }
    other.stop().await;
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_stop_waits_for_an_exchange_so_that_the_replaced_refresh_token_is_stored() {
    let world = slow_world(300).await;
    let config = config(&world);
    let app = TestApp::with(config.clone()).await;
    let owner = Owner::new(&app, &world).await;
    let path = owner.connected().await;
    let call = Call::get(format!("{path}/lists")).key(&owner.key);
    let again = Call::get(format!("{path}/lists")).key(&owner.key);
    world.end_access();
    let exchanging = async {
        while owner.stored(&path).await.1.claimed_until.is_none() {
            real_moment().await;
        }
    };
    // The caller leaves during the exchange.
    tokio::select! {
        _ = app.send(call) => panic!("no exchange was seen"),
        () = exchanging => {}
    }
    let app = app.restarted(config).await;
    app.send(again).await.ok(200);
    assert_eq!(world.tokens_given(), 2);
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn lists_are_read_with_another_token_after_the_platform_has_ended_one() {
    for vendor in VENDORS {
        let world = world(vendor).await;
        let app = TestApp::with(config(&world)).await;
        let owner = Owner::new(&app, &world).await;
        let path = owner.connected().await;
        world.end_access();
        let lists = app.get(&owner.key, &format!("{path}/lists")).await.ok(200);
        assert_eq!(lists["data"].as_array().unwrap().len(), 1, "{lists}");
        world.end_access();
        world.revoke();
        app.get(&owner.key, &format!("{path}/lists")).await.error(409, "conflict");
        app.stop().await;
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_mistyped_address_is_named() {
    let world = world(EspVendor::Phplist).await;
    let mut config = config(&world);
    let nowhere = nowhere().await;
    config.platforms.hosts.0.push(nowhere.clone());
    let app = TestApp::with(config).await;
    let owner = Owner::new(&app, &world).await;
    let mut credentials = json!(world.credentials());
    let typed = credentials["url"].as_str().unwrap().replace(world.host(), &nowhere);
    credentials["url"] = json!(typed);
    let error = owner.connect(&credentials).await.error(400, "invalid_request");
    assert!(error.contains("accepts no connection"), "{error}");
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn calls_beyond_the_limit_exchange_nothing() {
    let world = world(EspVendor::Phplist).await;
    let mut config = config(&world);
    config.api.org_per_minute = 1_000;
    let app = TestApp::with(config).await;
    let owner = Owner::new(&app, &world).await;
    let path = owner.connected().await;
    let lists = format!("{path}/lists");
    let mut counted = 0;
    while app.get(&owner.key, &lists).await.status == 200 {
        counted += 1;
        assert!(counted < 100, "no limit");
    }
    let (tag, stored) = owner.stored(&path).await;
    let version = Some(stored.version);
    let now = stored.exchanged_at;
    app.store.write(|tx| tokens::claim(tx, (owner.org, &tag), version, now).scope_boxed()).await.unwrap();
    app.store.write(|tx| tokens::release(tx, (owner.org, &tag), stored.version + 1).scope_boxed()).await.unwrap();
    app.get(&owner.key, &lists).await.error(429, "rate_limited");
    assert_eq!(world.tokens_given(), 1);
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_token_serves_to_its_end_while_the_platform_gives_no_other_one() {
    let world = world(EspVendor::ConstantContact).await;
    let app = TestApp::with(config(&world)).await;
    let owner = Owner::new(&app, &world).await;
    let path = owner.connected().await;
    let (tag, stored) = owner.stored(&path).await;
    let (org, key, version) = (owner.org, owner.key.clone(), Some(stored.version));
    let place = (org, &tag);
    let at = stored.exchanged_at;
    let turn = app.store.write(|tx| tokens::claim(tx, place, version, at).scope_boxed()).await.unwrap();
    let TokenTurn::Yours(claimed) = turn else { panic!("{turn:?}") };
    let (sealed, end) = (stored.tokens.unwrap(), at + 120_000);
    let what = (sealed.as_slice(), end);
    // A token that is valid for a day, of which two minutes remain.
    let kept = app.store.write(|tx| tokens::store(tx, place, claimed.version, what, at + -DAY_MS).scope_boxed());
    kept.await.unwrap();
    let nowhere = nowhere().await;
    let mut elsewhere = config_with(&world, &format!("http://{nowhere}"));
    elsewhere.platforms.hosts.0.push(nowhere);
    let app = app.restarted(elsewhere).await;
    for _ in 0..2 {
        app.get(&key, &format!("{path}/lists")).await.ok(200);
    }
    assert_eq!(world.tokens_given(), 1);
    pass(MINUTES).await;
    app.get(&key, &format!("{path}/lists")).await.error(503, "service_unavailable");
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn credentials_are_tried_for_15_seconds_and_an_exchange_goes_on() {
    let world = slow_world(9_000).await;
    let app = TestApp::with(config(&world)).await;
    let owner = Owner::new(&app, &world).await;
    let seconds = async |count| {
        for _ in 0..count {
            pass(std::time::Duration::from_secs(1)).await;
        }
    };
    let credentials = json!(world.credentials());
    let (answer, ()) = tokio::join!(owner.connect(&credentials), seconds(16));
    answer.error(503, "service_unavailable");
    let (answer, ()) = tokio::join!(owner.connect(&credentials), seconds(12));
    answer.ok(201);
    assert_eq!(world.tokens_given(), 1);
    app.stop().await;
}
