//! Opening, migrating and opening again; and what is said of places that hold no database of ours.

use std::error::Error as _;
use std::path::Path;

use probity_store::{Place, SchemaState, Store, StoreConfig, StoreError};
use probity_trialdb::postgres;

use crate::databases::{file_in, impatient};

/// How many migrations the source has.
fn migrations() -> usize {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    std::fs::read_dir(directory).unwrap().count()
}

async fn is_migrated_once(config: &StoreConfig) {
    let store = Store::open(config).await.unwrap();
    assert_eq!(store.schema_state().await.unwrap(), SchemaState::Behind(migrations()));
    assert_eq!(store.migrate().await.unwrap(), migrations());
    assert_eq!(store.migrate().await.unwrap(), 0);
    assert_eq!(store.schema_state().await.unwrap(), SchemaState::Current);
    store.ping().await.unwrap();
    assert!(store.pool_use().open >= 1);
    store.close().await;
    let again = Store::open(config).await.unwrap();
    assert_eq!(again.schema_state().await.unwrap(), SchemaState::Current);
    again.close().await;
}

#[tokio::test]
async fn a_new_database_is_migrated_once() {
    let directory = tempfile::tempdir().unwrap();
    is_migrated_once(&StoreConfig::new(Place::Sqlite(directory.path().join("pro bity#1?.db")))).await;
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    is_migrated_once(&StoreConfig::new(Place::Postgres(database.url().to_owned()))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_start_together_migrate_once() {
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    let config = StoreConfig::new(Place::Postgres(database.url().to_owned()));
    let nodes = (0..4).map(|_| {
        let config = config.clone();
        tokio::spawn(async move {
            let store = Store::open(&config).await.unwrap();
            let applied = store.migrate().await.unwrap();
            assert_eq!(store.schema_state().await.unwrap(), SchemaState::Current);
            store.close().await;
            applied
        })
    });
    let applied = futures_util::future::try_join_all(nodes.collect::<Vec<_>>()).await.unwrap();
    assert_eq!(applied.iter().sum::<usize>(), migrations(), "{applied:?}");
    assert_eq!(database.query("SELECT COUNT(*) FROM _sqlx_migrations").unwrap(), migrations().to_string());
}

/// The error and all that it comes from, in one line.
fn told(error: &StoreError) -> String {
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        told = format!("{told}: {error}");
        source = error.source();
    }
    told
}

#[tokio::test]
async fn a_directory_that_takes_no_files_is_told() {
    // Nobody can make files there, not even root.
    for place in ["/proc/probity.db", "/nonexistent/probity.db"] {
        let error = Store::open(&impatient(Place::Sqlite(place.into()))).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
        assert!(told(&error).contains("unable to open database file"), "{}", told(&error));
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let file = file_in(&directory);
    std::fs::write(&file, "a shopping list, longer than the header of a database: ".repeat(50)).unwrap();
    let error = Store::open(&impatient(Place::Sqlite(file.clone()))).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error:?}");
    assert!(told(&error).contains("file is not a database"), "{}", told(&error));
    assert!(std::fs::read(&file).unwrap().starts_with(b"a shopping list"), "it is left as it is");
}

#[tokio::test]
async fn a_url_that_cannot_be_read_is_told_without_its_password() {
    let place = Place::Postgres("postgres://probity:s3cret@host:port/name".into());
    assert!(!format!("{place:?}").contains("s3cret"));
    let error = Store::open(&impatient(place)).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error:?}");
    assert!(!format!("{error:?} {}", told(&error)).contains("s3cret"));
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_and_its_log_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&StoreConfig::new(Place::Sqlite(directory.path().join("probity.db")))).await.unwrap();
    store.migrate().await.unwrap();
    let files: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(Result::unwrap).collect();
    assert!(files.len() > 1, "the log is there");
    for file in files {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0, "{:?}", file.path());
    }
}
