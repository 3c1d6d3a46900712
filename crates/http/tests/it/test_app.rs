//! A whole service in the process of the test: a database of its own, the engine over a simulated internet for live keys, the
//! sandbox for test keys. No socket, and no time passes but where a test says so ([`pass`]).
//!
//! A test ends with [`TestApp::stop`], which looks into the books: no test may leave credits that do not add up.

mod answer;
mod call;
mod world;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use axum::response::Response;
use http_body_util::BodyExt as _;
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use probity_account::api_key::KeyKind;
use probity_account::credits::Balance;
use probity_account::scope::Scope;
use probity_http::service::{Core, ServiceConfig, Verifiers};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_mailworld::MemoryNet;
use probity_service::admin::{Admin, NewKey, Plan};
use probity_service::instance::Instance;
use probity_service::ops::log::capture;
use probity_service::sealing::{MASTER_KEY_BYTES, MasterKey};
use probity_service::store::{Key, Sealing};
use probity_store::organization::{Org, OrgStatus};
use probity_store::{Place, Store, StoreConfig, credits, reports};
use probity_trialdb::{Database, postgres};
use secrecy::ExposeSecret as _;
use tempfile::TempDir;
use tower::ServiceExt as _;

pub(crate) use answer::Answer;
pub(crate) use call::Call;
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

/// What a node has in common with others.
#[derive(Default)]
struct Shared {
    net: Option<Arc<MemoryNet>>,
    sealing: Option<Arc<dyn Sealing>>,
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
        Self::on(place, directory, None, config, Shared::default()).await
    }

    /// A service on SQLite that seals what holds addresses.
    pub(crate) async fn sealed(config: ServiceConfig, master_key: [u8; MASTER_KEY_BYTES]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::Sqlite(file_in(directory.path()));
        let shared = Shared { net: None, sealing: Some(Arc::new(MasterKey::of(&master_key))) };
        Self::on(place, directory, None, config, shared).await
    }

    /// Starts the service again, on its database and from here on with a master key.
    pub(crate) async fn sealed_from_here(self, config: ServiceConfig, master_key: [u8; MASTER_KEY_BYTES]) -> Self {
        let Self { core, store, live, directory, place, database, .. } = self;
        core.stop().await;
        store.close().await;
        let shared = Shared { net: Some(live.net.clone()), sealing: Some(Arc::new(MasterKey::of(&master_key))) };
        Self::on(place, directory, database, config, shared).await
    }

    /// Runs a test against a service on each database: SQLite always, PostgreSQL where its programs are found.
    pub(crate) async fn each(config: ServiceConfig, test: impl AsyncFn(&Self)) {
        let app = Self::with(config.clone()).await;
        test(&app).await;
        app.stop().await;
        let Some(cluster) = postgres() else { return };
        let database = cluster.create_database();
        let place = Place::Postgres(database.url().to_owned());
        let app = Self::on(place, tempfile::tempdir().unwrap(), Some(database), config, Shared::default()).await;
        test(&app).await;
        app.stop().await;
    }

    /// A service on PostgreSQL, where its programs are found.
    pub(crate) async fn on_postgres(config: ServiceConfig) -> Option<Self> {
        let database = postgres()?.create_database();
        let place = Place::Postgres(database.url().to_owned());
        Some(Self::on(place, tempfile::tempdir().unwrap(), Some(database), config, Shared::default()).await)
    }

    /// A service on a database of PostgreSQL.
    pub(crate) async fn on_database(database: Database, config: ServiceConfig) -> Self {
        let place = Place::Postgres(database.url().to_owned());
        Self::on(place, tempfile::tempdir().unwrap(), Some(database), config, Shared::default()).await
    }

    /// Another node on the same database, before the same mail servers.
    pub(crate) async fn beside(&self, config: ServiceConfig) -> Self {
        let shared = Shared { net: Some(self.live.net.clone()), sealing: None };
        Self::on(self.place.clone(), tempfile::tempdir().unwrap(), None, config, shared).await
    }

    /// Connections to the service's database that seal under a master key; the service need not have it.
    pub(crate) async fn sealing_store(&self, master_key: [u8; MASTER_KEY_BYTES]) -> Store {
        let sealing = Some(Arc::new(MasterKey::of(&master_key)) as _);
        Store::open(&StoreConfig { sealing, ..StoreConfig::new(self.place.clone()) }).await.unwrap()
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
        shared: Shared,
    ) -> Self {
        let Shared { net, sealing } = shared;
        // Patient: on a busy machine, many tasks at once wait long for their turns.
        let opened = StoreConfig { acquire_timeout_ms: 60_000, sealing, ..StoreConfig::new(place.clone()) };
        let instance = Instance::open(&opened, &PEPPER).await.unwrap();
        instance.prepare().await.unwrap();
        let store = Store::open(&opened).await.unwrap();
        // Tests own time; a server does not know.
        for store in [instance.store(), &store] {
            store.failpoints().go_by_callers_clock();
        }
        let live = Arc::new(Rigged::new(net, config.node.sources.first().copied().flatten()));
        let verifiers = Verifiers { live: live.clone(), sandbox: crate::sandbox::verifier() };
        let admin = Admin::new(instance.clone(), BRAND).with_plans(config.api.plans.clone());
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

    /// Waits until no job holds a credit any more.
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

    /// An organization with plenty of credits, and its test key.
    pub(crate) async fn tester(&self) -> (Org, String) {
        let org = self.org("Example Ltd", PLENTY).await;
        let key = self.key(&org, KeyKind::Test).await;
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
        let sums = reports::by_reason(&mut conn, org.no, 0, i64::MAX, None).await.unwrap();
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

    /// Sends a request whose answer goes on for long.
    pub(crate) async fn open(&self, call: Call) -> Response {
        self.core.routes.clone().oneshot(call.into_request()).await.unwrap()
    }

    /// Sends a request to the addresses that the operator's API has of its own.
    pub(crate) async fn send_apart(&self, call: Call) -> Answer {
        let response = self.core.operator.clone().oneshot(call.into_request()).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer { status: parts.status.as_u16(), headers: parts.headers, body }
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

/// Runs something while the service's clock stands still, however long it takes.
pub(crate) async fn at_one_moment<T>(during: impl Future<Output = T>) -> T {
    let (end, ended) = std::sync::mpsc::channel::<()>();
    // A paused clock jumps to the next timer whenever the runtime is idle, unless a blocking task runs.
    let busy = tokio::task::spawn_blocking(move || ended.recv().is_err());
    tokio::time::pause();
    let outcome = during.await;
    tokio::time::resume();
    drop(end);
    assert!(busy.await.unwrap());
    outcome
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
