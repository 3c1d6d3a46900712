//! A SQLite file shrinks after deletions, and contains nothing of deleted data.

use std::path::{Path, PathBuf};

use probity_mail::time::Millis;
use probity_store::activity::events;
use probity_store::{DatabasePlace, ScopedFutureExt as _, Store, StoreConfig};
use sqlx::{ConnectOptions as _, Executor as _};

use crate::databases::{file_in, for_each_database, open};

/// Size of a page, which is also the maximum released at once, in bytes.
const PAGE: u64 = 4_096;
/// Rows of 1 KB each.
const ROWS: i64 = 20_000;
const TEXT: &str = "what-was-deleted";

fn log_of(file: &Path) -> PathBuf {
    PathBuf::from(format!("{}-wal", file.display()))
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |data| data.len())
}

/// Fills the file without the store.
async fn fill(file: &Path) {
    let mut other = sqlx::sqlite::SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    let insert = format!(
        "INSERT INTO event (org_no, event_no, at, kind, body) WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 \
         FROM c WHERE n < {ROWS}) SELECT 1, n, n, 'account_event', CAST('{TEXT}' || hex(randomblob(500)) AS BLOB) FROM c"
    );
    other.execute(sqlx::AssertSqlSafe(insert)).await.unwrap();
}

async fn purge(store: &Store) {
    while store.write(|tx| events::purge(tx, Millis(ROWS + 1), 500).scope_boxed()).await.unwrap() > 0 {}
}

#[tokio::test]
async fn a_file_shrinks_after_its_rows_are_gone() {
    let directory = tempfile::tempdir().unwrap();
    let file = file_in(&directory);
    let store = open(StoreConfig::new(DatabasePlace::Sqlite(file.clone()))).await;
    fill(&file).await;
    assert!(store.empty_log().await.unwrap());
    let full = length(&file);
    assert!(full > 20 << 20, "{full}");
    purge(&store).await;
    let mut slices = 0;
    while store.give_back(512).await.unwrap() > 0 {
        slices += 1;
    }
    assert!(store.empty_log().await.unwrap());
    // What remains is 1 MB of free space and the original content.
    let left = length(&file);
    assert!(left < 3 << 20, "{left} of {full}");
    assert!(
        u64::try_from(slices).unwrap() >= (full - left) / (512 * PAGE),
        "{slices} slices, none of more than 512 pages"
    );
    assert_eq!(length(&log_of(&file)), 0);
    store.close().await;
}

#[tokio::test]
async fn a_part_of_the_file_stays_free_for_what_comes_next() {
    let directory = tempfile::tempdir().unwrap();
    let file = file_in(&directory);
    let store = open(StoreConfig::new(DatabasePlace::Sqlite(file.clone()))).await;
    assert_eq!(store.give_back(512).await.unwrap(), 0, "nothing was deleted");
    fill(&file).await;
    // A tenth of the rows: less than an eighth of the file.
    store
        .write(|tx| events::purge(tx, Millis(ROWS + 1), u32::try_from(ROWS / 10).unwrap()).scope_boxed())
        .await
        .unwrap();
    assert_eq!(store.give_back(512).await.unwrap(), 0);
    store.close().await;
}

#[tokio::test]
async fn what_was_deleted_is_in_the_log_until_that_is_emptied() {
    let directory = tempfile::tempdir().unwrap();
    let file = file_in(&directory);
    let store = open(StoreConfig::new(DatabasePlace::Sqlite(file.clone()))).await;
    fill(&file).await;
    purge(&store).await;
    let holds = |path: &Path| {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(TEXT.len()).any(|window| window == TEXT.as_bytes())
    };
    assert!(holds(&log_of(&file)), "this is what emptying is for");
    assert!(store.empty_log().await.unwrap());
    assert!(!holds(&file) && length(&log_of(&file)) == 0);
    store.close().await;
}

#[tokio::test]
async fn a_reader_puts_the_emptying_off() {
    let directory = tempfile::tempdir().unwrap();
    let file = file_in(&directory);
    let store = open(StoreConfig::new(DatabasePlace::Sqlite(file.clone()))).await;
    let mut reader = sqlx::sqlite::SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    reader.execute("BEGIN; SELECT * FROM event").await.unwrap();
    fill(&file).await;
    assert!(!store.empty_log().await.unwrap());
    reader.execute("COMMIT").await.unwrap();
    assert!(store.empty_log().await.unwrap());
    store.close().await;
}

#[tokio::test]
async fn postgresql_sees_to_itself() {
    for_each_database(async |store| {
        assert_eq!(store.give_back(512).await.unwrap(), 0);
        assert!(store.empty_log().await.unwrap());
    })
    .await;
}
