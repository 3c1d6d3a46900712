//! A whole service in the process of the test: a database of its own, the engine over a simulated internet for live keys, the
//! sandbox for test keys. No socket, and no time passes but where a test says so ([`pass`]).
//!
//! A test ends with [`TestApp::stop`], which looks into the books: no test may leave credits that do not add up.

mod answer;
mod world;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use http_body_util::BodyExt as _;
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use probity_core::api_key::KeyKind;
use probity_core::credits::Balance;
use probity_core::scope::Scope;
use probity_core::time::Millis;
use probity_core::verdict::Reason;
use probity_mailworld::MemoryNet;
use probity_server::admin::{Admin, NewKey, Plan};
use probity_server::instance::Instance;
use probity_server::ops::log::capture;
use probity_server::peer::Peer;
use probity_server::service::{Core, ServiceConfig, Verifiers};
use probity_server::store::Key;
use probity_store::orgs::{Org, OrgStatus};
use probity_store::{Place, Store, StoreConfig, credits, usage};
use probity_trialdb::{Database, postgres};
use secrecy::ExposeSecret as _;
use tempfile::TempDir;
use tower::ServiceExt as _;

pub(crate) use answer::Answer;
pub(crate) use world::{BURST, Rigged};

/// The brand of the keys.
pub(crate) const BRAND: &str = "probity";
/// The service's pepper.
pub(crate) const PEPPER: [u8; 32] = [7; 32];
/// Every character of ASCII.
static ALL: AsciiSet = every_ascii();
/// Credits that no test uses up.
pub(crate) const PLENTY: i64 = 1_000_000;

/// A service.
pub(crate) struct TestApp {
    core: Core,
    pub(crate) admin: Admin,
    /// The service's database, over connections of the test's own.
    pub(crate) store: Store,
    /// The same over the service's connections.
    pub(crate) service_store: Store,
    /// Who answers live keys.
    pub(crate) live: Arc<Rigged>,
    directory: TempDir,
    place: Place,
    database: Option<Database>,
}

/// A request.
pub(crate) struct Call {
    method: Method,
    target: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    peer: Option<SocketAddr>,
}

impl Call {
    pub(crate) fn new(method: &str, target: impl Into<String>) -> Self {
        let method = method.parse().unwrap();
        Self { method, target: target.into(), headers: Vec::new(), body: Vec::new(), peer: None }
    }

    pub(crate) fn get(target: impl Into<String>) -> Self {
        Self::new("GET", target)
    }

    /// A POST with a body that is JSON by its label.
    pub(crate) fn post(target: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::new("POST", target) }.header("content-type", "application/json")
    }

    /// A PATCH with a body that is JSON by its label.
    pub(crate) fn patch(target: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::new("PATCH", target) }.header("content-type", "application/json")
    }

    /// The same with a body that is JSON by its label.
    pub(crate) fn json(self, body: &serde_json::Value) -> Self {
        Self { body: body.to_string().into_bytes(), ..self }.header("content-type", "application/json")
    }

    /// A POST with a body of this kind.
    pub(crate) fn with_body(target: impl Into<String>, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::new("POST", target) }.header("content-type", kind)
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn key(self, key: &str) -> Self {
        self.header("authorization", format!("Bearer {key}"))
    }

    pub(crate) fn once(self, idempotency_key: &str) -> Self {
        self.header("idempotency-key", idempotency_key)
    }

    /// From where it comes. What comes from somewhere names its host.
    pub(crate) fn from(mut self, address: &str) -> Self {
        self.peer = Some(SocketAddr::new(address.parse().unwrap(), 50_000));
        self.header("host", "probity.example")
    }

    pub(crate) fn into_request(self) -> Request<Body> {
        let mut request = Request::builder().method(self.method).uri(self.target);
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        if let Some(peer) = self.peer {
            request = request.extension(Peer(peer));
        }
        request.body(Body::from(self.body)).unwrap()
    }
}

impl TestApp {
    /// A service on SQLite with the usual configuration.
    pub(crate) async fn start() -> Self {
        Self::with(ServiceConfig::default()).await
    }

    /// A service on SQLite.
    pub(crate) async fn with(config: ServiceConfig) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::Sqlite(file_in(directory.path()));
        Self::on(place, directory, None, config, None).await
    }

    /// Runs a test against a service on each database: SQLite always, PostgreSQL where its programs are found.
    pub(crate) async fn each(config: ServiceConfig, test: impl AsyncFn(&Self)) {
        let app = Self::with(config.clone()).await;
        test(&app).await;
        app.stop().await;
        let Some(cluster) = postgres() else { return };
        let database = cluster.create_database();
        let place = Place::Postgres(database.url().to_owned());
        let app = Self::on(place, tempfile::tempdir().unwrap(), Some(database), config, None).await;
        test(&app).await;
        app.stop().await;
    }

    /// A service on PostgreSQL, where its programs are found.
    pub(crate) async fn on_postgres(config: ServiceConfig) -> Option<Self> {
        let database = postgres()?.create_database();
        let place = Place::Postgres(database.url().to_owned());
        Some(Self::on(place, tempfile::tempdir().unwrap(), Some(database), config, None).await)
    }

    /// Another node on the same database, before the same mail servers.
    pub(crate) async fn beside(&self, config: ServiceConfig) -> Self {
        let net = Some(self.live.net.clone());
        Self::on(self.place.clone(), tempfile::tempdir().unwrap(), None, config, net).await
    }

    /// Asks the database behind the service's back; PostgreSQL only.
    pub(crate) fn sql(&self, statement: &str) -> String {
        self.database.as_ref().unwrap().query(statement).unwrap()
    }

    async fn on(
        place: Place,
        directory: TempDir,
        database: Option<Database>,
        config: ServiceConfig,
        net: Option<Arc<MemoryNet>>,
    ) -> Self {
        // Patient: on a busy machine, many tasks at once wait long for their turns.
        let opened = StoreConfig { acquire_timeout_ms: 60_000, ..StoreConfig::new(place.clone()) };
        let instance = Instance::open(&opened, &PEPPER).await.unwrap();
        instance.prepare().await.unwrap();
        let store = Store::open(&opened).await.unwrap();
        let live = Arc::new(Rigged::new(net, config.node.sources.first().copied().flatten()));
        let verifiers = Verifiers { live: live.clone(), sandbox: crate::sandbox::verifier() };
        let admin = Admin::new(instance.clone(), BRAND);
        let service_store = instance.store().clone();
        let core = Core::start(instance, &config, verifiers);
        Self { core, admin, store, service_store, live, directory, place, database }
    }

    /// Stops the service, and checks the books that it leaves.
    pub(crate) async fn stop(self) {
        self.core.stop().await;
        let wrong = credits::audit(&mut self.store.read().await.unwrap()).await.unwrap();
        assert!(wrong.is_empty(), "the books do not agree: {wrong:#?}");
        self.store.close().await;
    }

    /// Waits until no credit is held any more: what a call that went away has left is released behind its back.
    pub(crate) async fn settled(&self) {
        for _ in 0..500 {
            let mut held = 0;
            for org in self.admin.list_orgs().await.unwrap() {
                held += self.balance(&org).await.held.total();
            }
            if held == 0 {
                return;
            }
            real_moment().await;
        }
        panic!("credits stay held");
    }

    /// The bytes of all files of a SQLite database, the log of recent writes included.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
    }

    /// Asserts that none of these texts is in the database's files, in whatever form.
    #[track_caller]
    pub(crate) fn assert_files_without(&self, texts: &[&str]) {
        let files = self.files();
        assert!(files.iter().any(|(_, bytes)| bytes.len() > 10_000), "a database");
        for (path, bytes) in files {
            for text in texts {
                assert!(!capture::holds(&bytes, text), "{} holds {text}", path.display());
            }
        }
    }

    // Accounts

    /// An organization with so many prepaid credits.
    pub(crate) async fn org(&self, name: &str, initial: i64) -> Org {
        self.admin.create_org(name, Plan::Metered { initial }).await.unwrap()
    }

    /// An organization that stands so from its first request on.
    pub(crate) async fn org_in(&self, status: OrgStatus) -> Org {
        let org = self.org(status.as_str(), PLENTY).await;
        self.admin.set_status(&org, status).await.unwrap()
    }

    pub(crate) async fn key(&self, org: &Org, kind: KeyKind) -> String {
        self.new_key(org, NewKey::plain(kind.as_str(), kind)).await.1
    }

    /// A key with chosen scopes.
    pub(crate) async fn restricted(&self, org: &Org, scopes: impl IntoIterator<Item = Scope>) -> String {
        let wanted = NewKey { scopes: Some(scopes.into_iter().collect()), ..NewKey::plain("rk", KeyKind::Rk) };
        self.new_key(org, wanted).await.1
    }

    pub(crate) async fn new_key(&self, org: &Org, wanted: NewKey) -> (Key, String) {
        let (key, secret) = self.admin.create_key(org, wanted).await.unwrap();
        (key, secret.expose_secret().to_owned())
    }

    /// An organization with plenty of credits, and its live key.
    pub(crate) async fn customer(&self) -> (Org, String) {
        let org = self.org("Example Ltd", PLENTY).await;
        let key = self.key(&org, KeyKind::Live).await;
        (org, key)
    }

    /// The service's clock, as the organization's newest key tells it.
    pub(crate) async fn now(&self, org: &Org) -> Millis {
        self.new_key(org, NewKey::plain("clock", KeyKind::Pub)).await.0.created_at
    }

    pub(crate) async fn balance(&self, org: &Org) -> Balance {
        self.admin.balance(org).await.unwrap()
    }

    /// Verified addresses and their price by reason, of all time.
    pub(crate) async fn usage(&self, org: &Org) -> Vec<(Reason, i64, i64)> {
        let mut conn = self.store.read().await.unwrap();
        let sums = usage::by_reason(&mut conn, org.no, 0, i64::MAX, None).await.unwrap();
        sums.into_iter().map(|sum| (sum.of, sum.verified, sum.charged)).collect()
    }

    // Requests

    pub(crate) async fn send(&self, call: Call) -> Answer {
        self.send_request(call.into_request()).await
    }

    /// Sends a request, and asserts what holds for every answer.
    pub(crate) async fn send_request(&self, request: Request<Body>) -> Answer {
        let (to_head, path) = (request.method() == Method::HEAD, request.uri().path().to_owned());
        let response = self.core.routes.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let answer = Answer { status: parts.status.as_u16(), headers: parts.headers, body };
        answer.assert_common(to_head, &path);
        answer
    }

    pub(crate) async fn get(&self, key: &str, target: &str) -> Answer {
        self.send(Call::get(target).key(key)).await
    }

    pub(crate) async fn verify(&self, key: &str, email: &str) -> Answer {
        self.get(key, &format!("/v1/verify?email={email}")).await
    }
}

const fn every_ascii() -> AsciiSet {
    let mut set = CONTROLS.add(b' ');
    let mut byte = b'!';
    while byte < 0x7f {
        set = set.add(byte);
        byte += 1;
    }
    set
}

/// Where the database lies in a directory.
pub(crate) fn file_in(directory: &Path) -> PathBuf {
    directory.join("probity.db")
}

/// A text percent-encoded from its first byte to its last, as some clients do it.
pub(crate) fn every_byte_encoded(text: &str) -> String {
    percent_encode(text.as_bytes(), &ALL).to_string()
}

/// Lets time pass for the service: by steps, between which what has become due is done.
pub(crate) async fn pass(time: Duration) {
    const STEPS: u32 = 8;
    for _ in 0..STEPS {
        tokio::time::pause();
        tokio::time::advance(time / STEPS + Duration::from_millis(1)).await;
        tokio::time::resume();
        real_moment().await;
    }
}

/// Lets some rounds of upkeep be done.
pub(crate) async fn upkeep() {
    for _ in 0..15 {
        pass(Duration::from_secs(6)).await;
    }
}

/// Lets tasks run, and threads beside this one, for a moment that is no step of any test.
pub(crate) async fn real_moment() {
    tokio::time::sleep(Duration::from_millis(4)).await;
}
