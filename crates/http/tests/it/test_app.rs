//! Complete service in the test's process: its own database, the engine on a simulated internet for live keys, and the sandbox
//! for test keys. It has no socket, and time passes only if a test calls [`pass`].
//!
//! A test ends with [`TestApp::stop`], which audits the ledger: credits must add up after every test.

mod answer;
mod call;
mod migrated;
mod world;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use axum::response::Response;
use http_body_util::BodyExt as _;
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use probity_access::minting::KeyRequest;
use probity_access::secrets::sealing::{MASTER_KEY_BYTES, MasterKey};
use probity_account::api_key::KeyKind;
use probity_account::credits::Balance;
use probity_account::scope::Scope;
use probity_backend::nodes::instance::Instance;
use probity_engine::clock::EngineClock;
use probity_http::edge::shell::ShellConfig;
use probity_http::service::{Core, ServiceConfig, Verifiers};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_mailworld::MemoryNet;
use probity_service::store::{Sealing, StoredKey};
use probity_store::accounts::organization::{OrgRecord, OrgState};
use probity_store::activity::reports;
use probity_store::{DatabasePlace, Store, StoreConfig, credits};
use probity_telemetry::log_capture;
use probity_trialdb::{TrialDatabase, scratch_directory};
use tempfile::TempDir;
use tower::ServiceExt as _;

use crate::staff::{Plan, Staff};

pub(crate) use answer::Answer;
pub(crate) use call::Call;
pub(crate) use world::{BURST, Rigged};

/// Brand of API keys.
pub(crate) const BRAND: &str = "probity";
pub(crate) const PEPPER: [u8; 32] = [7; 32];
static ALL: AsciiSet = every_ascii();

thread_local! {
    /// Databases of the services that a test has started; each test has its own thread.
    static STORES: RefCell<Vec<Store>> = const { RefCell::new(Vec::new()) };
}

/// Noon in the middle of a month, in UTC: 2027-03-17. No day, week or month ends during a run of the tests.
const BEGINNING: Millis = Millis(1_805_284_800_000);
/// Number of credits that no test exhausts.
pub(crate) const PLENTY: i64 = 1_000_000;

/// Service under test.
pub(crate) struct TestApp {
    core: Core,
    pub(crate) admin: Staff,
    /// Service's database, over connections of the test.
    pub(crate) store: Store,
    /// Service's database, over the service's own connections.
    pub(crate) service_store: Store,
    /// Verifier of live keys.
    pub(crate) live: Arc<Rigged>,
    directory: TempDir,
    place: DatabasePlace,
    database: Option<TrialDatabase>,
}

/// Parts that a node shares with others.
#[derive(Default)]
struct Shared {
    net: Option<Arc<MemoryNet>>,
    sealing: Option<Arc<dyn Sealing>>,
}

impl TestApp {
    /// Starts a service on SQLite with the default configuration.
    pub(crate) async fn start() -> Self {
        Self::with(ServiceConfig::default()).await
    }

    /// Starts a service on SQLite.
    pub(crate) async fn with(config: ServiceConfig) -> Self {
        let directory = scratch_directory();
        let place = migrated::sqlite(directory.path()).await;
        Self::on(place, directory, None, config, Shared::default()).await
    }

    /// Starts a service on SQLite that encrypts everything with addresses.
    pub(crate) async fn sealed(config: ServiceConfig, master_key: [u8; MASTER_KEY_BYTES]) -> Self {
        let directory = scratch_directory();
        let place = migrated::sqlite(directory.path()).await;
        let shared = Shared { net: None, sealing: Some(Arc::new(MasterKey::of(&master_key))) };
        Self::on(place, directory, None, config, shared).await
    }

    /// Restarts the service on its database, from now on with a master key.
    pub(crate) async fn sealed_from_here(self, config: ServiceConfig, master_key: [u8; MASTER_KEY_BYTES]) -> Self {
        let Self { core, store, live, directory, place, database, .. } = self;
        core.stop().await;
        STORES.take();
        store.close().await;
        let shared = Shared { net: Some(live.net.clone()), sealing: Some(Arc::new(MasterKey::of(&master_key))) };
        Self::on(place, directory, database, config, shared).await
    }

    /// Restarts the service on its database.
    pub(crate) async fn restarted(self, config: ServiceConfig) -> Self {
        let Self { core, store, live, directory, place, database, .. } = self;
        core.stop().await;
        STORES.take();
        store.close().await;
        let shared = Shared { net: Some(live.net.clone()), sealing: None };
        Self::on(place, directory, database, config, shared).await
    }

    /// Runs a test on each database: always on SQLite, and on PostgreSQL if it is installed.
    pub(crate) async fn each(config: ServiceConfig, test: impl AsyncFn(&Self)) {
        let app = Self::with(config.clone()).await;
        test(&app).await;
        app.stop().await;
        let Some(app) = Self::on_postgres(config).await else { return };
        test(&app).await;
        app.stop().await;
    }

    /// Starts a service on PostgreSQL if it is installed.
    pub(crate) async fn on_postgres(config: ServiceConfig) -> Option<Self> {
        Some(Self::on_database(migrated::postgres().await?, config).await)
    }

    /// Starts a service on an existing PostgreSQL database.
    pub(crate) async fn on_database(database: TrialDatabase, config: ServiceConfig) -> Self {
        let place = DatabasePlace::Postgres(database.url().to_owned());
        Self::on(place, scratch_directory(), Some(database), config, Shared::default()).await
    }

    /// Starts another node on the same database, with the same mail servers.
    pub(crate) async fn beside(&self, config: ServiceConfig) -> Self {
        let shared = Shared { net: Some(self.live.net.clone()), sealing: None };
        Self::on(self.place.clone(), scratch_directory(), None, config, shared).await
    }

    /// Opens connections to the service's database that encrypt with a master key. The service need not have it.
    pub(crate) async fn sealing_store(&self, master_key: [u8; MASTER_KEY_BYTES]) -> Store {
        let sealing = Some(Arc::new(MasterKey::of(&master_key)) as _);
        Store::open(&StoreConfig { sealing, ..StoreConfig::new(self.place.clone()) }).await.unwrap()
    }

    /// Runs a statement without the service. Only for PostgreSQL.
    pub(crate) fn sql(&self, statement: &str) -> String {
        self.database.as_ref().unwrap().query(statement).unwrap()
    }

    async fn on(
        place: DatabasePlace,
        directory: TempDir,
        database: Option<TrialDatabase>,
        mut config: ServiceConfig,
        shared: Shared,
    ) -> Self {
        let Shared { net, sealing } = shared;
        // Busy machines respond late.
        if config.shell.deadline == ShellConfig::default().deadline {
            config.shell.deadline = Duration::from_mins(15);
        }
        EngineClock::pretend(BEGINNING);
        // Long timeout: on a busy machine, many tasks wait long for a connection.
        let opened = StoreConfig { acquire_timeout_ms: 60_000, sealing, ..StoreConfig::new(place.clone()) };
        let instance = Instance::open(&opened, &PEPPER).await.unwrap();
        instance.prepare().await.unwrap();
        let store = Store::open(&opened).await.unwrap();
        // Tests control the service's time, which a database server cannot follow.
        for store in [instance.store(), &store] {
            store.failpoints().go_by_callers_clock();
        }
        let live = Arc::new(Rigged::new(net, config.node.sources.first().copied().flatten()));
        let verifiers = Verifiers { live: live.clone(), sandbox: crate::sandbox::verifier() };
        let admin = Staff::open(&instance, &config, &verifiers);
        let service_store = instance.store().clone();
        STORES.with_borrow_mut(|stores| stores.extend([service_store.clone(), store.clone()]));
        let core = Core::start(instance, &config, verifiers);
        Self { core, admin, store, service_store, live, directory, place, database }
    }

    /// Stops the service and audits its ledger.
    pub(crate) async fn stop(self) {
        self.core.stop().await;
        STORES.take();
        let wrong = credits::audit(&mut self.store.read().await.unwrap()).await.unwrap();
        assert!(wrong.is_empty(), "the books do not agree: {wrong:#?}");
        self.store.close().await;
    }

    /// Waits until no job holds credits.
    pub(crate) async fn settled(&self) {
        for _ in 0..5_000 {
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

    /// Returns the contents of all files of a SQLite database, including the write-ahead log.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
    }

    /// Asserts that the database's files contain none of these texts in any form.
    #[track_caller]
    pub(crate) fn assert_files_without(&self, texts: &[&str]) {
        let files = self.files();
        assert!(files.iter().any(|(_, bytes)| bytes.len() > 10_000), "a database");
        for (path, bytes) in files {
            for text in texts {
                assert!(!log_capture::holds(&bytes, text), "{} holds {text}", path.display());
            }
        }
    }

    // Accounts

    /// Creates an organization with this number of prepaid credits.
    pub(crate) async fn org(&self, name: &str, initial: i64) -> OrgRecord {
        self.admin.create_org(name, Plan::Metered { initial }).await.unwrap()
    }

    /// Creates an organization with this status.
    pub(crate) async fn org_in(&self, status: OrgState) -> OrgRecord {
        let org = self.org(status.as_str(), PLENTY).await;
        self.admin.set_status(&org, status).await.unwrap()
    }

    pub(crate) async fn key(&self, org: &OrgRecord, kind: KeyKind) -> String {
        self.new_key(org, KeyRequest::plain(kind.as_str(), kind)).await.1
    }

    /// Creates a key with chosen scopes.
    pub(crate) async fn restricted(&self, org: &OrgRecord, scopes: impl IntoIterator<Item = Scope>) -> String {
        let wanted = KeyRequest { scopes: Some(scopes.into_iter().collect()), ..KeyRequest::plain("rk", KeyKind::Rk) };
        self.new_key(org, wanted).await.1
    }

    pub(crate) async fn new_key(&self, org: &OrgRecord, wanted: KeyRequest) -> (StoredKey, String) {
        self.admin.create_key(org, wanted).await.unwrap()
    }

    /// Creates an organization with plenty of credits and a live key.
    pub(crate) async fn customer(&self) -> (OrgRecord, String) {
        let org = self.org("Example Ltd", PLENTY).await;
        let key = self.key(&org, KeyKind::Live).await;
        (org, key)
    }

    /// Creates an organization with plenty of credits and a test key.
    pub(crate) async fn tester(&self) -> (OrgRecord, String) {
        let org = self.org("Example Ltd", PLENTY).await;
        let key = self.key(&org, KeyKind::Test).await;
        (org, key)
    }

    /// Returns the service's time, which is the creation time of a new key.
    pub(crate) async fn now(&self, org: &OrgRecord) -> Millis {
        self.new_key(org, KeyRequest::plain("clock", KeyKind::Pub)).await.0.created_at
    }

    pub(crate) async fn balance(&self, org: &OrgRecord) -> Balance {
        self.admin.balance(org).await.unwrap()
    }

    /// Returns the number of verified addresses and the credits charged, by reason, of all time.
    pub(crate) async fn usage(&self, org: &OrgRecord) -> Vec<(Reason, i64, i64)> {
        let mut conn = self.store.read().await.unwrap();
        let sums = reports::by_reason(&mut conn, org.no, 0, i64::MAX, None).await.unwrap();
        sums.into_iter().map(|sum| (sum.of, sum.verified, sum.charged)).collect()
    }

    // Requests

    pub(crate) async fn send(&self, call: Call) -> Answer {
        self.send_request(call.into_request()).await
    }

    /// Sends a request and asserts the properties of every response.
    pub(crate) async fn send_request(&self, request: Request<Body>) -> Answer {
        let (to_head, path) = (request.method() == Method::HEAD, request.uri().path().to_owned());
        let response = self.core.routes.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let answer = Answer { status: parts.status.as_u16(), headers: parts.headers, body };
        answer.assert_common(to_head, &path);
        answer
    }

    /// Sends a request with a streaming response.
    pub(crate) async fn open(&self, call: Call) -> Response {
        self.core.routes.clone().oneshot(call.into_request()).await.unwrap()
    }

    /// Sends a request to the separate listener of the operator's API.
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

/// Returns the path of the database in a directory.
pub(crate) fn file_in(directory: &Path) -> PathBuf {
    directory.join("probity.db")
}

/// Percent-encodes every byte of a text, as some clients do.
pub(crate) fn every_byte_encoded(text: &str) -> String {
    percent_encode(text.as_bytes(), &ALL).to_string()
}

/// Advances the service's time in steps. Due work is done between them, however long that takes.
pub(crate) async fn pass(time: Duration) {
    const STEPS: u32 = 8;
    rest().await;
    for _ in 0..STEPS {
        step(time / STEPS + Duration::from_millis(1)).await;
    }
}

/// Advances the service's time in one step, while no call is in progress that the step could cut short.
pub(crate) async fn advance(time: Duration) {
    rest().await;
    step(time).await;
}

async fn step(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
    rest().await;
}

/// Waits until the services of this thread are idle until the next timer: no connection to a database is in use, and no task
/// takes one in several rounds of the runtime. Gives up if the test holds one.
async fn rest() {
    const QUIET_ROUNDS: usize = 5;
    const ROUNDS_MAX: usize = 1_000;
    let mut quiet = 0;
    for _ in 0..ROUNDS_MAX {
        // Each round lets every ready task run.
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
        let is_idle = |store: &Store| {
            let used = store.pool_use();
            used.open == used.idle
        };
        quiet = if STORES.with_borrow(|stores| stores.iter().all(is_idle)) { quiet + 1 } else { 0 };
        if quiet == QUIET_ROUNDS {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    eprintln!("a connection stays in use");
}

/// Runs a future while the service's clock stands still.
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

/// Lets several maintenance rounds run.
pub(crate) async fn upkeep() {
    for _ in 0..15 {
        advance(Duration::from_secs(6)).await;
    }
}

/// Lets tasks and other threads run for a moment of real time.
pub(crate) async fn real_moment() {
    tokio::time::sleep(Duration::from_millis(4)).await;
}
