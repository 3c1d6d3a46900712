//! Moving from SQLite to PostgreSQL: all or nothing, and never two databases that are served.

use std::path::Path;

use probity_account::id::{NodeId, OrgId};
use probity_mail::time::Millis;
use probity_store::accounts::organization::{self, OrgRecord};
use probity_store::credits;
use probity_store::database::moving::{MoveError, MoveOutcome, move_to, moved_at, take_back};
use probity_store::nodes::{self, StoredNode};
use probity_store::{DatabasePlace, Result, ScopedFutureExt as _, Store, StoreConfig, StoreError};
use probity_trialdb::{TrialDatabase, postgres};
use tempfile::TempDir;

use crate::databases::{file_in, impatient, open, write_something};
use crate::organizations;

const NOW: Millis = Millis(1_800_000_000_000);

/// A source with an organization, and an empty target.
struct Pair {
    directory: TempDir,
    database: TrialDatabase,
    target: Store,
}

impl Pair {
    /// Returns `None` without PostgreSQL.
    async fn new() -> Option<Self> {
        let database = postgres()?.create_database();
        let directory = tempfile::tempdir().unwrap();
        let source = open(StoreConfig::new(DatabasePlace::Sqlite(file_in(&directory)))).await;
        add_org(&source, 1).await.unwrap();
        source.close().await;
        let target = open(StoreConfig::new(DatabasePlace::Postgres(database.url().to_owned()))).await;
        Some(Self { directory, database, target })
    }

    async fn source(&self) -> Store {
        Store::open_alone(&impatient(DatabasePlace::Sqlite(file_in(&self.directory)))).await.unwrap()
    }

    async fn moved(&self, now: Millis) -> std::result::Result<MoveOutcome, MoveError> {
        let source = self.source().await;
        let moved = move_to(&source, &self.target, now, &|_, _| ()).await;
        source.close().await;
        moved
    }

    async fn mark(&self) -> Option<Millis> {
        let source = self.source().await;
        let mark = moved_at(&mut source.read().await.unwrap()).await.unwrap();
        source.close().await;
        mark
    }

    /// Counts committed rows. Needs a second thread: a task rolls back a dropped transaction.
    fn count(&self, table: &str) -> String {
        self.database.query(&format!("SELECT COUNT(*) FROM {table}")).unwrap()
    }
}

async fn add_org(store: &Store, n: u8) -> Result<()> {
    let org = OrgRecord { name: Some("Müller & Söhne".into()), ..organizations::nth(n, NOW) };
    organizations::add_with(store, &org, 70).await
}

async fn sql_in(store: &Path, statement: &str) {
    use sqlx::{ConnectOptions as _, Executor as _};
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(store);
    options.connect().await.unwrap().execute(sqlx::AssertSqlSafe(statement.to_owned())).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thorough"]
async fn what_is_moved_stands_there_and_the_source_is_marked() {
    let Some(pair) = Pair::new().await else { return };
    assert_eq!(pair.mark().await, None);
    let MoveOutcome::Done(copied) = pair.moved(NOW).await.unwrap() else { panic!("it was moved for the first time") };
    let rows = |table: &str| copied.iter().find(|copied| copied.table == table).map(|copied| copied.rows);
    assert_eq!(
        (rows("org"), rows("ledger"), rows("hold"), rows("_sqlx_migrations")),
        (Some(1), Some(1), Some(0), None)
    );
    let mut conn = pair.target.read().await.unwrap();
    let org = organization::by_id(&mut conn, OrgId::new(NOW, [1; 10])).await.unwrap();
    assert_eq!(org.name.as_deref(), Some("Müller & Söhne"));
    assert_eq!(credits::balance(&mut conn, org.no).await.unwrap().available.total(), 70);
    assert_eq!(moved_at(&mut conn).await.unwrap(), None, "the target is to be served");
    assert_eq!(pair.mark().await, Some(NOW));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thorough"]
async fn once_more_says_that_it_was_moved_before() {
    let Some(pair) = Pair::new().await else { return };
    pair.moved(NOW).await.unwrap();
    assert_eq!(pair.moved(NOW + 1).await.unwrap(), MoveOutcome::Before(NOW));
    assert_eq!(pair.mark().await, Some(NOW));
    assert_eq!(pair.count("org"), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thorough"]
async fn a_move_that_broke_between_the_two_commits_is_done_again() {
    let Some(pair) = Pair::new().await else { return };
    sql_in(&file_in(&pair.directory), "INSERT INTO instance VALUES ('moved_to_at', '5')").await;
    assert!(matches!(pair.moved(NOW).await.unwrap(), MoveOutcome::Done(_)));
    assert_eq!(pair.mark().await, Some(NOW));
    assert_eq!(pair.database.query("SELECT value FROM instance WHERE name LIKE 'moved%'").unwrap(), NOW.0.to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thorough"]
async fn a_database_that_has_organizations_is_left_alone() {
    let Some(pair) = Pair::new().await else { return };
    add_org(&pair.target, 2).await.unwrap();
    let error = pair.moved(NOW).await.unwrap_err();
    assert!(matches!(error, MoveError::Occupied), "{error:?}");
    assert_eq!((pair.count("org").as_str(), pair.mark().await), ("1", None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thorough"]
async fn a_database_that_somebody_works_in_is_left_alone() {
    let Some(pair) = Pair::new().await else { return };
    let other = Store::open(&StoreConfig::new(DatabasePlace::Postgres(pair.database.url().to_owned()))).await.unwrap();
    let error = other
        .write(|tx| {
            async {
                probity_store::nodes::instance::set_once(tx, "x", "y").await?;
                let error = pair.moved(NOW).await.unwrap_err();
                assert!(matches!(error, MoveError::InUse), "{error:?}");
                Ok(())
            }
            .scope_boxed()
        })
        .await;
    error.unwrap();
    assert_eq!(pair.mark().await, None);
    other.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thorough"]
async fn a_move_that_breaks_leaves_nothing() {
    let cases = [
        // PostgreSQL does not allow NUL in text.
        ("INSERT INTO usage_day VALUES (1, 1, 'a' || char(0), '', 'valid', 1, 0)", "usage_day"),
        ("UPDATE account SET available = available + 1", "discrepancies"),
    ];
    for (statement, told) in cases {
        let Some(pair) = Pair::new().await else { return };
        sql_in(&file_in(&pair.directory), statement).await;
        let error = pair.moved(NOW).await.unwrap_err();
        assert!(error.to_string().contains(told), "{error:?}");
        assert_eq!((pair.count("org").as_str(), pair.count("instance").as_str()), ("0", "0"), "{told}");
        assert_eq!(pair.mark().await, None, "{told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thorough"]
async fn a_move_that_is_broken_off_leaves_nothing() {
    let Some(pair) = Pair::new().await else { return };
    let source = pair.source().await;
    let arrived = tokio::sync::Notify::new();
    let told = |table: &str, rows: u64| {
        if table == "org" && rows == 1 {
            arrived.notify_one();
        }
    };
    tokio::select! {
        biased;
        () = arrived.notified() => {}
        moved = move_to(&source, &pair.target, NOW, &told) => panic!("{moved:?}"),
    }
    source.close().await;
    // The dropped transaction had locked the table.
    assert_eq!((pair.count("org").as_str(), pair.count("instance").as_str()), ("0", "0"));
    assert_eq!(pair.mark().await, None);
    assert!(matches!(pair.moved(NOW).await.unwrap(), MoveOutcome::Done(_)));
}

fn node(n: u8, seen_at: Millis) -> StoredNode {
    let text = |text: &str| text.to_owned();
    StoredNode {
        id: NodeId::new(NOW, [n; 10]),
        hostname: text("mail"),
        process: String::new(),
        roles: text("api"),
        version: text("0.1.0"),
        sources: text("192.0.2.1"),
        chunks: 0,
        imports: 0,
        started_at: seen_at,
        seen_at,
        egress: String::new(),
        ahead_ms: 0,
    }
}

async fn add_node(store: &Store, node: &StoredNode) {
    let added = store.write(|tx| {
        async {
            nodes::beat(tx, node).await?;
            nodes::take(tx, "source:192.0.2.1", node.id, node.seen_at, node.seen_at + 30_000).await.map(drop)
        }
        .scope_boxed()
    });
    added.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thorough"]
async fn nodes_stay_where_they_were() {
    let Some(pair) = Pair::new().await else { return };
    let source = pair.source().await;
    add_node(&source, &node(1, NOW)).await;
    source.close().await;
    add_node(&pair.target, &node(2, NOW - 3_600_000)).await;
    let MoveOutcome::Done(copied) = pair.moved(NOW).await.unwrap() else { panic!("it was moved for the first time") };
    assert!(copied.iter().all(|copied| !["node", "lease"].contains(&copied.table.as_str())), "{copied:?}");
    let mut conn = pair.target.read().await.unwrap();
    let ids: Vec<_> = nodes::all(&mut conn).await.unwrap().into_iter().map(|node| node.id).collect();
    assert_eq!(ids, [node(2, NOW).id]);
    assert_eq!(nodes::leases(&mut conn).await.unwrap()[0].holder, ids[0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thorough"]
async fn a_database_that_a_node_serves_is_left_alone() {
    let Some(pair) = Pair::new().await else { return };
    add_node(&pair.target, &node(2, NOW - 10_000)).await;
    let error = pair.moved(NOW).await.unwrap_err();
    assert!(matches!(error, MoveError::InUse), "{error:?}");
    assert_eq!((pair.count("org").as_str(), pair.mark().await), ("0", None));
    assert!(matches!(pair.moved(NOW + 60_000).await.unwrap(), MoveOutcome::Done(_)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thorough"]
async fn a_database_without_its_tables_is_left_alone() {
    let Some(pair) = Pair::new().await else { return };
    pair.database.query("DROP TABLE event").unwrap();
    pair.moved(NOW).await.unwrap_err();
    assert_eq!((pair.count("org").as_str(), pair.mark().await), ("0", None));
    let Some(pair) = Pair::new().await else { return };
    pair.database.query("ALTER TABLE ledger RENAME COLUMN prepaid TO rest").unwrap();
    let error = pair.moved(NOW).await.unwrap_err();
    assert!(error.to_string().contains("table ledger"), "{error:?}");
    assert_eq!((pair.count("org").as_str(), pair.mark().await), ("0", None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thorough"]
async fn a_file_that_another_has_open_is_not_taken() {
    let directory = tempfile::tempdir().unwrap();
    let path = file_in(&directory);
    let config = impatient(DatabasePlace::Sqlite(path.clone()));
    let idle = open(config.clone()).await;
    write_something(&idle).await.unwrap();
    let error = Store::open_alone(&config).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    idle.close().await;
    let alone = Store::open_alone(&config).await.unwrap();
    let error = Store::open(&config).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    write_something(&alone).await.unwrap();
    alone.close().await;
    Store::open(&config).await.unwrap().close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thorough"]
async fn no_file_is_made_to_be_moved() {
    let directory = tempfile::tempdir().unwrap();
    let path = file_in(&directory);
    let error = Store::open_alone(&impatient(DatabasePlace::Sqlite(path.clone()))).await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound), "{error:?}");
    assert!(!path.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thorough"]
async fn a_mark_is_taken_back() {
    let Some(pair) = Pair::new().await else { return };
    pair.moved(NOW).await.unwrap();
    let source = pair.source().await;
    assert!(take_back(&source).await.unwrap());
    assert!(!take_back(&source).await.unwrap());
    source.close().await;
    assert_eq!(pair.mark().await, None);
    let error = pair.moved(NOW).await.unwrap_err();
    assert!(matches!(error, MoveError::Occupied), "what was served since is not overwritten: {error:?}");
}
