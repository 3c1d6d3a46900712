//! Opens a database and configures each connection.

pub(crate) mod migrate;
mod reach;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyPool, AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Row as _};
use tokio::sync::Semaphore;

use super::attached::StoreAttachments;
use super::open::migrate::SchemaMigration;
use super::open::reach::reach;
use super::outdated::Outdated;
use super::patience::Patience;
use super::sql::dialect::SqlDialect;
use super::{Inner, Store};
use crate::error::{Result, StoreError};

/// Oldest safe SQLite: in earlier ones, concurrent checkpoints could damage a database in WAL mode.
const SQLITE_MIN: i64 = 3_051_003;

/// Readers of a SQLite file. Each is a thread with its own page cache.
const SQLITE_READERS: u32 = 4;

/// Concurrent background transactions on PostgreSQL: far fewer than its connections. Those of one job wait for each other anyway,
/// on its row.
const POSTGRES_BULK: usize = 3;

/// A PostgreSQL connection used within this time is taken without a check, which would cost one more round trip per transaction. A
/// connection idle for longer may have outlived its server.
const POSTGRES_TRUSTED: Duration = Duration::from_secs(1);

/// Settings of each SQLite connection. WAL lets readers run beside the writer. FULL syncs the log at each commit, so a power cut
/// loses nothing acknowledged. `secure_delete` overwrites deleted data: erased addresses leave no remnants. In addition, a busy
/// timeout waits for other processes, such as the command line beside a running service.
const SQLITE_SETTINGS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
     PRAGMA secure_delete = ON; PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY;";

/// For the connection that creates the file, before anything else: free pages can then be returned (`shrink.rs`). On an existing
/// file it would change nothing, and wait for writers.
const SQLITE_NEW: &str = "PRAGMA auto_vacuum = INCREMENTAL;";

/// Additional settings of the writer. The log is written back into the file every 16 MiB. That takes two more syncs than a commit,
/// while all writers wait, and under load most of its pages are the same few.
const SQLITE_WRITER: &str = "PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 4000;";

/// Maximum of each resource.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseLimits {
    /// Connections to PostgreSQL.
    pub connections: u32,
    /// Wait for a connection, and for SQLite's lock while another process has it.
    pub acquire: Duration,
    /// Time of one statement on PostgreSQL.
    pub statement: Duration,
}

/// Location of a database.
#[derive(Clone)]
pub enum DatabasePlace {
    /// A file, created if missing.
    Sqlite(PathBuf),
    /// A server, as `postgres://user:password@host:port/database`.
    Postgres(String),
}

impl std::fmt::Debug for DatabasePlace {
    /// Omits the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite(path) => f.debug_tuple("Sqlite").field(path).finish(),
            Self::Postgres(_) => f.write_str("Postgres(..)"),
        }
    }
}

/// What a database is opened with.
pub trait DatabaseSetup {
    fn place(&self) -> &DatabasePlace;
    fn limits(&self) -> DatabaseLimits;
    /// Values that all connections carry for other modules.
    fn attached(&self) -> StoreAttachments;
    /// Every migration, in order.
    fn migrations(&self) -> &'static [SchemaMigration];
    /// Whether a statement has this name; failpoints are named after statements.
    fn is_statement(name: &str) -> bool;
}

impl Store {
    /// Opens a database: creates a missing SQLite file; connects to PostgreSQL on first use. [`Store::migrate`] creates the tables.
    pub async fn open(setup: &impl DatabaseSetup) -> Result<Self> {
        sqlx::any::install_default_drivers();
        match setup.place() {
            DatabasePlace::Sqlite(path) => {
                make_private(path);
                let options = connect_options(&sqlite_url(path)?)?;
                let busy_ms = setup.limits().acquire.as_millis();
                let settings: Arc<str> = format!("PRAGMA busy_timeout = {busy_ms}; {SQLITE_SETTINGS}").into();
                let new = std::fs::metadata(path).is_ok_and(|file| file.len() == 0);
                check_file(&options, if new { SQLITE_NEW } else { "" }, &settings).await?;
                sqlite(&options, &settings, setup)
            }
            DatabasePlace::Postgres(url) => postgres(url, setup),
        }
    }

    /// Opens a database that must be usable now: if PostgreSQL is unreachable, the error says why.
    pub async fn connect(setup: &impl DatabaseSetup) -> Result<Self> {
        let store = Self::open(setup).await?;
        if let DatabasePlace::Postgres(url) = setup.place() {
            reach(&store.inner.writers, &connect_options(url)?, setup.limits().acquire).await?;
        }
        Ok(store)
    }

    /// Opens an existing SQLite file exclusively. Fails if another process has it open, even idle, and locks out all others until
    /// it is closed.
    pub async fn open_alone(setup: &impl DatabaseSetup) -> Result<Self> {
        let DatabasePlace::Sqlite(path) = setup.place() else {
            return Err(StoreError::corrupt("only a SQLite file can be kept from others"));
        };
        sqlx::any::install_default_drivers();
        if !path.is_file() {
            return Err(StoreError::NotFound);
        }
        let options = connect_options(&sqlite_url(path)?)?;
        // Set before the first read: a connection that already has the log open shares it with others (sqlite.org/wal.html, section
        // 8).
        let busy_ms = setup.limits().acquire.as_millis();
        let settings: Arc<str> =
            format!("PRAGMA busy_timeout = {busy_ms}; PRAGMA locking_mode = EXCLUSIVE; {SQLITE_SETTINGS}").into();
        check_file(&options, "", &settings).await?;
        let outdated = Arc::default();
        let pool = sqlite_pool(&options, &settings, setup.limits(), (1, SQLITE_WRITER), &outdated);
        // The lock belongs to the connection, which stays in the pool.
        drop(pool.acquire().await?);
        assemble(SqlDialect::Sqlite, (pool.clone(), pool), outdated, None, setup)
    }
}

/// Creates a missing file, readable by the service's user only. SQLite gives its log the mode of the database, and reports a place
/// that accepts no files.
fn make_private(path: &Path) {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

fn sqlite(options: &AnyConnectOptions, settings: &Arc<str>, setup: &impl DatabaseSetup) -> Result<Store> {
    let limits = setup.limits();
    let outdated = Arc::default();
    let writers = sqlite_pool(options, settings, limits, (1, SQLITE_WRITER), &outdated);
    let readers = (SQLITE_READERS, "PRAGMA query_only = ON;");
    let readers = sqlite_pool(options, settings, limits, readers, &Arc::default());
    assemble(SqlDialect::Sqlite, (readers, writers), outdated, None, setup)
}

fn sqlite_pool(
    options: &AnyConnectOptions,
    settings: &Arc<str>,
    limits: DatabaseLimits,
    (connections, extra): (u32, &'static str),
    outdated: &Arc<Outdated>,
) -> AnyPool {
    let (settings, outdated) = (settings.clone(), outdated.clone());
    let pool = AnyPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(limits.acquire)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        // A full disk makes SQLite end its transaction (sqlite.org/lang_transaction.html, section 3). The rollback then fails, and
        // the library counts the transaction as open forever, so the connection can begin no other. A connection opened while the
        // file was read-only can never write either.
        .before_acquire(move |connection, meta| {
            let usable = !outdated.covers(meta.age) && !connection.is_in_transaction();
            Box::pin(std::future::ready(Ok(usable)))
        })
        .after_connect(move |connection, _| {
            let settings = settings.clone();
            Box::pin(async move {
                connection.execute(sqlx::raw_sql(AssertSqlSafe(settings))).await?;
                connection.execute(sqlx::raw_sql(extra)).await?;
                Ok(())
            })
        });
    pool.connect_lazy_with(options.clone())
}

/// The path as a URL: percent-encoded, because `?` and `#` end a URL's path.
fn sqlite_url(path: &Path) -> Result<String> {
    let text = path.to_str().ok_or_else(|| StoreError::corrupt("the path of the database is no UTF-8"))?;
    let mut url = "sqlite://".to_owned();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url.push_str("?mode=rwc");
    Ok(url)
}

fn postgres(url: &str, setup: &impl DatabaseSetup) -> Result<Store> {
    let limits = setup.limits();
    let options = connect_options(url)?;
    let answer_max = limits.acquire.saturating_add(limits.statement);
    let settings = format!(
        "SET application_name = 'probity'; SET statement_timeout = {}; SET lock_timeout = 10000; \
         SET idle_in_transaction_session_timeout = 10000; SET TIME ZONE 'UTC';",
        limits.statement.as_millis()
    );
    let settings: Arc<str> = settings.into();
    let outdated = Arc::<Outdated>::default();
    let before = outdated.clone();
    let pool = AnyPoolOptions::new()
        .max_connections(limits.connections.max(2))
        .acquire_timeout(limits.acquire)
        .idle_timeout(Duration::from_mins(10))
        .max_lifetime(Duration::from_mins(30))
        .test_before_acquire(false)
        .before_acquire(move |connection, used| {
            let usable = !before.covers(used.age);
            Box::pin(async move {
                if usable && used.idle_for > POSTGRES_TRUSTED {
                    connection.ping().await?;
                }
                Ok(usable)
            })
        })
        // A connection without response would keep its place in the pool until the system closes it, minutes later. The library
        // pings once more after this, always and without a limit; that ping alone would wait so long.
        .after_release(move |connection, _| {
            Box::pin(async move {
                let answered = tokio::time::timeout(answer_max, connection.ping()).await;
                answered.unwrap_or(Err(sqlx::Error::PoolTimedOut)).map(|()| true)
            })
        })
        .after_connect(move |connection, _| {
            let settings = settings.clone();
            Box::pin(async move {
                connection.execute(sqlx::raw_sql(AssertSqlSafe(settings))).await?;
                Ok(())
            })
        })
        .connect_lazy_with(options);
    assemble(SqlDialect::Postgres, (pool.clone(), pool), outdated, Some(answer_max), setup)
}

/// Statements are never logged: they contain no arguments, but database errors quote values.
fn connect_options(url: &str) -> Result<AnyConnectOptions> {
    let options: AnyConnectOptions = url.parse().map_err(|_| {
        // The parser's message may quote the URL, which holds a password.
        StoreError::corrupt(
            "the database URL is not valid: it must look like postgres://user:password@host:5432/name, with special \
             characters in the password percent-encoded",
        )
    })?;
    Ok(options.disable_statement_logging())
}

#[cfg_attr(not(feature = "failpoints"), expect(clippy::unnecessary_wraps, reason = "failpoints may be armed wrongly"))]
fn assemble<S: DatabaseSetup>(
    dialect: SqlDialect,
    (readers, writers): (AnyPool, AnyPool),
    outdated: Arc<Outdated>,
    patience: Option<Duration>,
    setup: &S,
) -> Result<Store> {
    let inner = Inner {
        dialect,
        readers,
        writers,
        patience: Patience(patience),
        outdated,
        unwritable: AtomicBool::new(false),
        retries: AtomicU64::new(0),
        bulk: Semaphore::new(match dialect {
            SqlDialect::Sqlite => 1,
            SqlDialect::Postgres => POSTGRES_BULK,
        }),
        attached: Arc::new(setup.attached()),
        migrations: setup.migrations(),
        #[cfg(feature = "failpoints")]
        failpoints: Arc::new(super::failpoint::of_environment(S::is_statement)?),
    };
    Ok(Store { inner: Arc::new(inner) })
}

/// Creates the file if missing, and reports any problem with it: a pool would retry until its timeout, and then report only the
/// timeout. Rejects SQLite versions with known corruption bugs, in case one is linked in.
async fn check_file(options: &AnyConnectOptions, first: &'static str, settings: &Arc<str>) -> Result<()> {
    let mut connection = options.connect().await?;
    connection.execute(sqlx::raw_sql(first)).await?;
    connection.execute(sqlx::raw_sql(AssertSqlSafe(settings.clone()))).await?;
    let version: String = connection.fetch_one("SELECT sqlite_version() AS version").await?.try_get("version")?;
    connection.close().await?;
    let parts: Vec<i64> = version.split('.').filter_map(|part| part.parse().ok()).collect();
    match parts[..] {
        [major, minor, patch, ..] if major * 1_000_000 + minor * 1_000 + patch >= SQLITE_MIN => Ok(()),
        _ => Err(StoreError::corrupt(format!("SQLite {version} is too old; 3.51.3 or newer is needed"))),
    }
}
