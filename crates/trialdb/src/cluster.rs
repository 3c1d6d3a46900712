//! One instance: how it is made, stopped, started again and paused.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::Pid;

use crate::database::Database;
use crate::installation::{Installation, run};
use crate::processes;
use crate::watchdog::Watchdog;

/// The superuser that tests connect as.
const USER: &str = "postgres";
/// The database that `initdb` makes, from which others are created.
const MAINTENANCE: &str = "postgres";
/// Ports to choose from. They are below those that Linux gives to outgoing connections (32768 and up), one of which
/// could otherwise take the port while the server is down.
const FIRST_PORT: u16 = 20_000;
const PORTS: u16 = 12_000;
/// How many ports are tried before the start has failed.
const PORT_ATTEMPTS: u32 = 20;
/// How long `pg_ctl` waits for a start, with the recovery in it, or a stop.
const TIMEOUT: &str = "--timeout=60";
/// Room for the pools of many tests at once; everything else is as PostgreSQL has it.
const SETTINGS: &str = "-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=300";
/// Gives up what only matters when the machine itself fails. A commit survives the death of the server in any case.
const FAST_SETTINGS: &str = "-c fsync=off -c full_page_writes=off";

/// How an instance shall be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setup {
    fast: bool,
}

impl Setup {
    /// Without fsync and full-page writes: faster, and as good as long as the machine does not fail.
    #[must_use]
    pub fn fast(self) -> Self {
        Self { fast: true }
    }

    /// Starts an instance; `None` where PostgreSQL is missing.
    ///
    /// # Panics
    ///
    /// Where it is present and does not start, and where it is missing and `PROBITY_REQUIRE_PG=1`.
    pub fn start(self) -> Option<Cluster> {
        let instance = Instance::start(Installation::find()?, self);
        Some(Cluster { instance: Arc::new(instance) })
    }
}

/// A running instance. It ends when the last clone of it, and the last [`Database`] in it, are dropped, or with the
/// process.
#[derive(Clone, Debug)]
pub struct Cluster {
    instance: Arc<Instance>,
}

impl Cluster {
    /// An instance for one test, which may stop it; with fsync. `None` where PostgreSQL is missing.
    pub fn private() -> Option<Self> {
        Setup::default().start()
    }

    /// Where to connect for a database, as `postgres://user:password@127.0.0.1:port/name`.
    pub fn url(&self, database: &str) -> String {
        self.instance.url(database)
    }

    /// A new, empty database.
    pub fn create_database(&self) -> Database {
        self.new_database(&[])
    }

    /// A copy of a database of this instance, to which nobody may be connected (the server waits 5 seconds for it).
    pub fn clone_of(&self, template: &Database) -> Database {
        self.new_database(&[&format!("--template={}", template.name())])
    }

    fn new_database(&self, options: &[&str]) -> Database {
        let name = format!("trial_{}", self.instance.databases.fetch_add(1, Ordering::Relaxed));
        let mut createdb = self.instance.client("createdb");
        run(createdb.arg(format!("--maintenance-db={MAINTENANCE}")).args(options).arg(&name))
            .unwrap_or_else(|error| panic!("cannot create a database: {error}"));
        Database::new(Arc::clone(&self.instance), name)
    }

    /// Stops the server as a crash would, without a checkpoint: the next start recovers. A paused one is resumed for it.
    pub fn stop_immediate(&self) {
        self.resume();
        run(self.instance.pg_ctl("stop").args(["--mode=immediate", TIMEOUT]))
            .unwrap_or_else(|error| panic!("PostgreSQL does not stop: {error}"));
    }

    /// Starts the stopped server at the same port, and waits until it takes connections.
    pub fn start_again(&self) {
        self.instance.launch(self.instance.port).unwrap_or_else(|error| panic!("PostgreSQL does not start: {error}"));
    }

    /// Stops the time of the server: connections stay, and get no answers, until [`resume`](Self::resume).
    pub fn pause(&self) {
        processes::pause(self.instance.postmaster().expect("a server that shall be paused runs"));
    }

    /// Lets a paused server go on. Without effect on one that runs or is stopped.
    pub fn resume(&self) {
        if let Some(postmaster) = self.instance.postmaster() {
            processes::resume(postmaster);
        }
    }

    /// The number of the server's first process; `None` while it is stopped.
    pub fn postmaster_pid(&self) -> Option<i32> {
        self.instance.postmaster().map(|pid| pid.as_raw_nonzero().get())
    }

    /// The directory of everything that the instance has on disk; `log` in it is what the server says.
    pub fn directory(&self) -> &Path {
        &self.instance.directory
    }
}

/// What a cluster and its databases share.
#[derive(Debug)]
pub(crate) struct Instance {
    installation: &'static Installation,
    directory: PathBuf,
    password: String,
    setup: Setup,
    port: u16,
    databases: AtomicU32,
    _watchdog: Watchdog,
}

impl Instance {
    fn start(installation: &'static Installation, setup: Setup) -> Self {
        let directory =
            directory_for(installation).unwrap_or_else(|error| panic!("no directory for PostgreSQL: {error}"));
        let watchdog = Watchdog::set(installation, directory.path()).expect("/bin/sh runs");
        // From here on the watchdog removes it.
        let directory = directory.keep();
        let password = password();
        let databases = AtomicU32::new(1);
        let mut instance = Self { installation, directory, password, setup, port: 0, databases, _watchdog: watchdog };
        instance.initialize().unwrap_or_else(|error| panic!("cannot make a data directory: {error}"));
        for _ in 0..PORT_ATTEMPTS {
            instance.port = FIRST_PORT + u16::from_le_bytes(random()) % PORTS;
            match instance.launch(instance.port) {
                Ok(()) => return instance,
                Err(error) if error.contains("could not bind") => {}
                Err(error) => panic!("PostgreSQL does not start: {error}"),
            }
        }
        panic!("none of {PORT_ATTEMPTS} ports was free");
    }

    /// Fills the data directory. What `initdb` writes is not synced: only a failure of the machine could lose it.
    fn initialize(&self) -> Result<(), String> {
        let secret = self.directory.join("password");
        fs::write(&secret, &self.password)
            .and_then(|()| fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)))
            .and_then(|()| self.installation.account.give(&secret))
            .map_err(|error| format!("{}: {error}", secret.display()))?;
        let mut initdb = self.installation.command("initdb");
        initdb.args(["--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync", "--username", USER]);
        initdb.arg("--pwfile").arg(&secret).arg("--pgdata").arg(self.data());
        run(&mut initdb).map(drop)
    }

    /// Starts the server and waits until it takes connections; the error holds what it wrote to its log.
    fn launch(&self, port: u16) -> Result<(), String> {
        let log = self.directory.join("log");
        let before = fs::read(&log).map_or(0, |text| text.len());
        let fast = if self.setup.fast { FAST_SETTINGS } else { "" };
        let mut start = self.pg_ctl("start");
        start.arg(TIMEOUT).arg("--log").arg(&log).arg("--options").arg(format!("-p {port} {SETTINGS} {fast}"));
        run(&mut start).map(drop).map_err(|error| {
            let said = fs::read(&log).unwrap_or_default();
            error + &String::from_utf8_lossy(said.get(before..).unwrap_or_default())
        })
    }

    fn pg_ctl(&self, action: &str) -> Command {
        let mut command = self.installation.command("pg_ctl");
        command.arg(action).arg("--wait").arg("--pgdata").arg(self.data());
        command
    }

    /// A program that connects as the superuser.
    pub(crate) fn client(&self, program: &str) -> Command {
        let mut command = self.installation.command(program);
        command.env("PGHOST", "127.0.0.1").env("PGPORT", self.port.to_string());
        // Seconds; the smallest that libpq takes is 2. A paused server must not hold a test for ever.
        command.env("PGCONNECT_TIMEOUT", "10").env("PGSSLMODE", "disable");
        command.env("PGUSER", USER).env("PGPASSWORD", &self.password);
        command
    }

    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://{USER}:{}@127.0.0.1:{}/{database}", self.password, self.port)
    }

    /// The first process, as its file in the data directory says: the server removes that when it stops.
    pub(crate) fn postmaster(&self) -> Option<Pid> {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        Pid::from_raw(file.lines().next()?.parse().ok()?)
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }
}

/// An empty directory that belongs to the account of the server.
fn directory_for(installation: &Installation) -> std::io::Result<tempfile::TempDir> {
    let directory = tempfile::Builder::new().prefix("probity-pg-").tempdir_in(installation.account.temporary())?;
    installation.account.give(directory.path())?;
    Ok(directory)
}

fn password() -> String {
    random::<16>().iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    })
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system has entropy");
    bytes
}
