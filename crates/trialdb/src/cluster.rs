//! One instance: creation, stop, restart and pause.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::Pid;

use crate::database::TrialDatabase;
use crate::installation::{Installation, run};
use crate::memory;
use crate::processes;
use crate::watchdog::Watchdog;

/// Superuser of the tests' connections.
const USER: &str = "postgres";
/// Database that `initdb` creates, used to create others.
const MAINTENANCE: &str = "postgres";
/// Start of the port range. The ports are below those that Linux uses for outgoing connections (32768 and up), which could
/// otherwise occupy the port while the server is down.
const FIRST_PORT: u16 = 20_000;
const PORTS: u16 = 12_000;
/// Ports tried before the start fails.
const PORT_ATTEMPTS: u32 = 20;
/// Time limit of `pg_ctl` for a stop, or a start including recovery, in seconds.
const TIMEOUT: &str = "--timeout=60";
/// Connections for the pools of many concurrent tests; other settings are PostgreSQL's defaults.
const SETTINGS: &str = "-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=300";
/// Turns off what only matters if the machine itself fails. A commit survives the server's death in any case. Little of the log is
/// kept, because it may be in memory.
const FAST_SETTINGS: &str = "-c fsync=off -c full_page_writes=off -c max_wal_size=256MB";

/// Options of an instance.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setup {
    fast: bool,
}

impl Setup {
    /// Turns off fsync and full-page writes, and keeps the files in memory if there is plenty: faster, and safe unless the machine
    /// fails.
    #[must_use]
    pub fn fast(self) -> Self {
        Self { fast: true }
    }

    /// Starts an instance; `None` if PostgreSQL is missing.
    ///
    /// # Panics
    ///
    /// If PostgreSQL does not start, or is missing and `PROBITY_REQUIRE_PG=1`.
    pub fn start(self) -> Option<Cluster> {
        let instance = ClusterInstance::start(Installation::find()?, self);
        Some(Cluster { instance: Arc::new(instance) })
    }
}

/// A running instance. It ends with the process, or when its last clone and the last [`TrialDatabase`] in it are dropped.
#[derive(Clone, Debug)]
pub struct Cluster {
    instance: Arc<ClusterInstance>,
}

impl Cluster {
    /// Starts an instance for one test, which may stop it; with fsync. `None` if PostgreSQL is missing.
    pub fn private() -> Option<Self> {
        Setup::default().start()
    }

    /// Returns the URL of a database: `postgres://user:password@127.0.0.1:port/name`.
    pub fn url(&self, database: &str) -> String {
        self.instance.url(database)
    }

    /// Creates an empty database.
    pub fn create_database(&self) -> TrialDatabase {
        self.new_database(&[])
    }

    /// Copies a database of this instance, which must have no connections (the server waits 5 s for that).
    pub fn clone_of(&self, template: &TrialDatabase) -> TrialDatabase {
        self.new_database(&[&format!("--template={}", template.name())])
    }

    fn new_database(&self, options: &[&str]) -> TrialDatabase {
        let name = format!("trial_{}", self.instance.databases.fetch_add(1, Ordering::Relaxed));
        let mut createdb = self.instance.client("createdb");
        createdb.arg(format!("--maintenance-db={MAINTENANCE}")).args(options);
        if self.instance.installation.major >= 15 {
            // Otherwise the server writes each page into its log. Earlier versions know no other way.
            createdb.arg("--strategy=file_copy");
        }
        run(createdb.arg(&name)).unwrap_or_else(|error| panic!("cannot create a database: {error}"));
        TrialDatabase::new(Arc::clone(&self.instance), name)
    }

    /// Stops the server as a crash would, without a checkpoint: the next start recovers. Resumes a paused server first.
    pub fn stop_immediate(&self) {
        self.resume();
        run(self.instance.pg_ctl("stop").args(["--mode=immediate", TIMEOUT]))
            .unwrap_or_else(|error| panic!("PostgreSQL does not stop: {error}"));
    }

    /// Starts the stopped server on the same port, and waits until it accepts connections.
    pub fn start_again(&self) {
        self.instance.launch(self.instance.port).unwrap_or_else(|error| panic!("PostgreSQL does not start: {error}"));
    }

    /// Pauses the server: connections stay open without responses, until [`resume`](Self::resume).
    pub fn pause(&self) {
        processes::pause(self.instance.postmaster().expect("a server that shall be paused runs"));
    }

    /// Resumes a paused server. Has no effect on a running or stopped one.
    pub fn resume(&self) {
        if let Some(postmaster) = self.instance.postmaster() {
            processes::resume(postmaster);
        }
    }

    /// Process ID of the postmaster; `None` while the server is stopped.
    pub fn postmaster_pid(&self) -> Option<i32> {
        self.instance.postmaster().map(|pid| pid.as_raw_nonzero().get())
    }

    /// Directory of all files of the instance; the server's log is `log`.
    pub fn directory(&self) -> &Path {
        &self.instance.directory
    }
}

/// State shared by a cluster and its databases.
#[derive(Debug)]
pub(crate) struct ClusterInstance {
    installation: &'static Installation,
    directory: PathBuf,
    password: String,
    setup: Setup,
    port: u16,
    databases: AtomicU32,
    _watchdog: Watchdog,
}

impl ClusterInstance {
    fn start(installation: &'static Installation, setup: Setup) -> Self {
        let directory =
            directory_for(installation, setup).unwrap_or_else(|error| panic!("no directory for PostgreSQL: {error}"));
        let watchdog = Watchdog::set(installation, directory.path()).expect("/bin/sh runs");
        // From here on, the watchdog removes the directory.
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

    /// Creates the data directory, without syncing: only a failure of the machine could lose it.
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

    /// Starts the server and waits until it accepts connections; the error contains the server's log.
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

    /// Returns a client command that connects as the superuser.
    pub(crate) fn client(&self, program: &str) -> Command {
        let mut command = self.installation.client(program);
        command.env("PGHOST", "127.0.0.1").env("PGPORT", self.port.to_string());
        // Seconds; libpq's minimum is 2. A paused server must not block a test forever.
        command.env("PGCONNECT_TIMEOUT", "10").env("PGSSLMODE", "disable");
        command.env("PGUSER", USER).env("PGPASSWORD", &self.password);
        command
    }

    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://{USER}:{}@127.0.0.1:{}/{database}", self.password, self.port)
    }

    /// Process ID of the postmaster, from its file in the data directory, which the server removes when it stops.
    pub(crate) fn postmaster(&self) -> Option<Pid> {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        Pid::from_raw(file.lines().next()?.parse().ok()?)
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }
}

/// Creates an empty directory owned by the server's account.
fn directory_for(installation: &Installation, setup: Setup) -> std::io::Result<tempfile::TempDir> {
    let memory = memory::directory().filter(|_| setup.fast);
    let parent = memory.map_or_else(|| installation.account.temporary(), Path::to_owned);
    let directory = tempfile::Builder::new().prefix("probity-pg-").tempdir_in(parent)?;
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
