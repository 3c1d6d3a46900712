//! Opening a database, and what is set on each connection.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyPool, AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Row as _};

use tokio::sync::Semaphore;

use super::dialect::Dialect;
use super::outdated::Outdated;
use super::patience::Patience;
use super::reach::reach;
use super::{Inner, Store};
use crate::error::{Result, StoreError};
use crate::sealing::{Keys, Sealing};
use crate::wake::Address;

/// The oldest SQLite that is safe: before, a database in WAL mode could be damaged by concurrent checkpoints.
const SQLITE_MIN: i64 = 3_051_003;

/// Readers of a SQLite file. Each is a thread with a page cache of its own.
const SQLITE_READERS: u32 = 4;

/// Transactions on PostgreSQL that nobody waits for, at a time: fewer than there are connections by far. Those of one job wait
/// for each other anyway, at its row.
const POSTGRES_BULK: usize = 3;

/// A connection to PostgreSQL that was used within this time is taken without asking whether it is alive: that would be one more round
/// trip for each transaction. What is idle for longer may have outlived its server.
const POSTGRES_TRUSTED: Duration = Duration::from_secs(1);

/// For each connection to SQLite. WAL lets readers go on beside the writer; FULL syncs the log at each commit, so that a
/// power cut loses nothing that was acknowledged. `secure_delete` overwrites what is deleted: erased addresses leave no
/// remnants. A busy timeout beside them waits for another process, such as the command line beside a running service.
const SQLITE_SETTINGS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
     PRAGMA secure_delete = ON; PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY;";

/// For the connection that makes the file, before anything else: pages that are free can then be given back (`shrink.rs`). On a
/// file that is there it would change nothing and wait for whoever writes.
const SQLITE_NEW: &str = "PRAGMA auto_vacuum = INCREMENTAL;";

/// For the writer besides. The log goes back into the file every 16 MiB: that takes two more syncs than a commit, during
/// which all writers wait, and under load most of its pages are the same few.
const SQLITE_WRITER: &str = "PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 4000;";

/// Where the database is and how it is used.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// Which database.
    pub place: Place,
    /// Connections to PostgreSQL, at most.
    pub connections_max: u32,
    /// How long a request waits for a connection, and for SQLite's lock when another process has it, in milliseconds.
    pub acquire_timeout_ms: u64,
    /// How long PostgreSQL works on one statement at most, in milliseconds.
    pub statement_timeout_ms: u64,
    /// With what bodies are sealed that hold addresses; none where they lie there as they are.
    pub sealing: Option<Arc<dyn Sealing>>,
}

/// Where a database is.
#[derive(Clone)]
pub enum Place {
    /// A file; made where it is missing.
    Sqlite(PathBuf),
    /// A server, as `postgres://user:password@host:port/database`.
    Postgres(String),
}

impl std::fmt::Debug for Place {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite(path) => f.debug_tuple("Sqlite").field(path).finish(),
            Self::Postgres(_) => f.write_str("Postgres(..)"),
        }
    }
}

impl StoreConfig {
    /// The usual limits for a place.
    pub fn new(place: Place) -> Self {
        Self { place, connections_max: 10, acquire_timeout_ms: 3_000, statement_timeout_ms: 30_000, sealing: None }
    }
}

impl Store {
    /// Opens a database: makes a SQLite file that is missing, connects to PostgreSQL when it is first used. The tables are
    /// made by [`Store::migrate`].
    pub async fn open(config: &StoreConfig) -> Result<Self> {
        sqlx::any::install_default_drivers();
        match &config.place {
            Place::Sqlite(path) => {
                make_private(path);
                let options = connect_options(&sqlite_url(path)?)?;
                let settings: Arc<str> =
                    format!("PRAGMA busy_timeout = {}; {SQLITE_SETTINGS}", config.acquire_timeout_ms).into();
                let new = std::fs::metadata(path).is_ok_and(|file| file.len() == 0);
                check_file(&options, if new { SQLITE_NEW } else { "" }, &settings).await?;
                sqlite(&options, &settings, config)
            }
            Place::Postgres(url) => postgres(url, config),
        }
    }

    /// Opens a database that must be usable now: where PostgreSQL cannot be reached, the error says why.
    pub async fn connect(config: &StoreConfig) -> Result<Self> {
        let store = Self::open(config).await?;
        if let Place::Postgres(url) = &config.place {
            let patience = Duration::from_millis(config.acquire_timeout_ms);
            reach(&store.inner.writers, &connect_options(url)?, patience).await?;
        }
        Ok(store)
    }

    /// Opens a SQLite file that is there, and for this process alone: fails where another process has it open, be it idle, and
    /// keeps every other one out until it is closed.
    pub async fn open_alone(config: &StoreConfig) -> Result<Self> {
        let Place::Sqlite(path) = &config.place else {
            return Err(StoreError::corrupt("only a SQLite file can be kept from others"));
        };
        sqlx::any::install_default_drivers();
        if !path.is_file() {
            return Err(StoreError::NotFound);
        }
        let options = connect_options(&sqlite_url(path)?)?;
        // Before the file is read for the first time: a connection that has the log open already shares it with others
        // (sqlite.org/wal.html, section 8).
        let settings: Arc<str> = format!(
            "PRAGMA busy_timeout = {}; PRAGMA locking_mode = EXCLUSIVE; {SQLITE_SETTINGS}",
            config.acquire_timeout_ms
        )
        .into();
        check_file(&options, "", &settings).await?;
        let outdated = Arc::default();
        let pool = sqlite_pool(&options, &settings, config, (1, SQLITE_WRITER), &outdated);
        // The lock is the connection's, which the pool keeps.
        drop(pool.acquire().await?);
        assemble(Dialect::Sqlite, (pool.clone(), pool), outdated, config, None)
    }
}

/// Makes a file that is missing, for nobody but the service's user. SQLite gives its log the mode of the database, and tells
/// of a place that takes no files.
fn make_private(path: &Path) {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

fn sqlite(options: &AnyConnectOptions, settings: &Arc<str>, config: &StoreConfig) -> Result<Store> {
    let outdated = Arc::default();
    let writers = sqlite_pool(options, settings, config, (1, SQLITE_WRITER), &outdated);
    let readers = (SQLITE_READERS, "PRAGMA query_only = ON;");
    let readers = sqlite_pool(options, settings, config, readers, &Arc::default());
    assemble(Dialect::Sqlite, (readers, writers), outdated, config, None)
}

fn sqlite_pool(
    options: &AnyConnectOptions,
    settings: &Arc<str>,
    config: &StoreConfig,
    (connections, extra): (u32, &'static str),
    outdated: &Arc<Outdated>,
) -> AnyPool {
    let (settings, outdated) = (settings.clone(), outdated.clone());
    let pool = AnyPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(Duration::from_millis(config.acquire_timeout_ms))
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        // A full disk ends SQLite's transaction by itself (sqlite.org/lang_transaction.html, section 3); rolling it back
        // then fails, and the library counts it as open for ever: no other could begin on that connection. Nor could anybody
        // write on one that was opened while the file could only be read.
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

fn postgres(url: &str, config: &StoreConfig) -> Result<Store> {
    let options = connect_options(url)?;
    let acquire_max = Duration::from_millis(config.acquire_timeout_ms);
    let answer_max = acquire_max.saturating_add(Duration::from_millis(config.statement_timeout_ms));
    let settings = format!(
        "SET application_name = 'probity'; SET statement_timeout = {}; SET lock_timeout = 10000; \
         SET idle_in_transaction_session_timeout = 10000; SET TIME ZONE 'UTC';",
        config.statement_timeout_ms
    );
    let settings: Arc<str> = settings.into();
    let outdated = Arc::<Outdated>::default();
    let before = outdated.clone();
    let pool = AnyPoolOptions::new()
        .max_connections(config.connections_max.max(2))
        .acquire_timeout(acquire_max)
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
        // One on which nobody answers would keep its place in the pool until the system gives it up, minutes later.
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
    let server = Some((answer_max, Address::of(url)));
    assemble(Dialect::Postgres, (pool.clone(), pool), outdated, config, server)
}

/// Statements are never logged: arguments are not in them, but errors of a database quote values.
fn connect_options(url: &str) -> Result<AnyConnectOptions> {
    let options: AnyConnectOptions = url.parse().map_err(|_| {
        // The parser's message may quote the URL, which holds a password.
        StoreError::corrupt(
            "the database's URL cannot be read; it must be like postgres://user:password@host:5432/name, \
             with what is special in the password percent-encoded",
        )
    })?;
    Ok(options.disable_statement_logging())
}

#[cfg_attr(not(debug_assertions), expect(clippy::unnecessary_wraps, reason = "failpoints may be armed wrongly"))]
fn assemble(
    dialect: Dialect,
    (readers, writers): (AnyPool, AnyPool),
    outdated: Arc<Outdated>,
    config: &StoreConfig,
    server: Option<(Duration, Option<Address>)>,
) -> Result<Store> {
    let (patience, listen_at) = server.unzip();
    let inner = Inner {
        dialect,
        readers,
        writers,
        patience: Patience(patience),
        outdated,
        unwritable: AtomicBool::new(false),
        retries: AtomicU64::new(0),
        bulk: Semaphore::new(match dialect {
            Dialect::Sqlite => 1,
            Dialect::Postgres => POSTGRES_BULK,
        }),
        sheets: Arc::default(),
        keys: config.sealing.clone().map(|sealing| Arc::new(Keys::new(sealing))),
        listen_at: listen_at.flatten(),
        #[cfg(debug_assertions)]
        failpoints: Arc::new(super::failpoint::Failpoints::of_environment()?),
    };
    Ok(Store { inner: Arc::new(inner) })
}

/// Makes the file where it is missing, and says what is wrong with it: a pool would try again until its time is over, and then
/// tell of nothing but that. Refuses a SQLite with known damage, should somebody link one in.
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
