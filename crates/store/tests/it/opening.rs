//! Opening, migrating and reopening, with errors for places without a database of ours.

use std::error::Error as _;
use std::path::Path;

use probity_store::{DatabasePlace, SchemaState, Store, StoreConfig, StoreError};
use probity_trialdb::postgres;

use crate::databases::{file_in, impatient};

/// Returns the number of migrations in the source.
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
    is_migrated_once(&StoreConfig::new(DatabasePlace::Sqlite(directory.path().join("pro bity#1?.db")))).await;
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    is_migrated_once(&StoreConfig::new(DatabasePlace::Postgres(database.url().to_owned()))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_start_together_migrate_once() {
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    let config = StoreConfig::new(DatabasePlace::Postgres(database.url().to_owned()));
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

/// Formats the error and all its sources in one line.
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
    // Files cannot be created there, not even by root.
    for place in ["/proc/probity.db", "/nonexistent/probity.db"] {
        let error = Store::open(&impatient(DatabasePlace::Sqlite(place.into()))).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
        assert!(told(&error).contains("unable to open database file"), "{}", told(&error));
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let file = file_in(&directory);
    std::fs::write(&file, "a shopping list, longer than the header of a database: ".repeat(50)).unwrap();
    let error = Store::open(&impatient(DatabasePlace::Sqlite(file.clone()))).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error:?}");
    assert!(told(&error).contains("file is not a database"), "{}", told(&error));
    assert!(std::fs::read(&file).unwrap().starts_with(b"a shopping list"), "it is left as it is");
}

#[tokio::test]
async fn a_url_that_cannot_be_read_is_told_without_its_password() {
    let place = DatabasePlace::Postgres("postgres://probity:s3cret@host:port/name".into());
    assert!(!format!("{place:?}").contains("s3cret"));
    let error = Store::open(&impatient(place)).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error:?}");
    assert!(!format!("{error:?} {}", told(&error)).contains("s3cret"));
}

#[tokio::test]
async fn a_server_that_cannot_be_used_is_told_without_the_password() {
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    let with = |from: &str, to: &str| database.url().replace(from, to);
    let user_and_password = database.url().split("//").nth(1).unwrap().split('@').next().unwrap().to_owned();
    let port = database.url().rsplit_once(':').unwrap().1.split('/').next().unwrap().to_owned();
    let host = format!("PostgreSQL at 127.0.0.1:{port}, database ");
    let cases = [
        (
            with(&user_and_password, "postgres:s3cret"),
            format!("{host}{:?}: password authentication failed", database.name()),
        ),
        (
            with(&user_and_password, "nobody:s3cret"),
            format!("{host}{:?}: password authentication failed", database.name()),
        ),
        (with(database.name(), "missing"), format!("{host}\"missing\": database \"missing\" does not exist")),
        (
            "postgres://x:s3cret@127.0.0.1:1/x".into(),
            "PostgreSQL at 127.0.0.1:1, database \"x\": Connection refused".into(),
        ),
        ("postgres://x:s3cret@no.invalid/x".into(), "PostgreSQL at no.invalid, database \"x\": ".into()),
    ];
    for (url, told_so) in cases {
        let is_ours = url.contains(&port);
        let place = DatabasePlace::Postgres(url);
        // A running server refuses immediately, as far as a busy machine allows.
        let config = if is_ours { StoreConfig::new(place) } else { impatient(place) };
        let error = Store::connect(&config).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
        assert!(told(&error).contains(&told_so), "{}", told(&error));
        assert!(
            !told(&error).contains("s3cret") && !told(&error).contains("timed out while waiting"),
            "{}",
            told(&error)
        );
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_told() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://x:s3cret@{}/x", silent.local_addr().unwrap());
    let error = Store::connect(&impatient(DatabasePlace::Postgres(url))).await.unwrap_err();
    assert!(told(&error).ends_with("no response within 500 ms"), "{}", told(&error));
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_and_its_log_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let store =
        Store::open(&StoreConfig::new(DatabasePlace::Sqlite(directory.path().join("probity.db")))).await.unwrap();
    store.migrate().await.unwrap();
    let files: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(Result::unwrap).collect();
    assert!(files.len() > 1, "the log is there");
    for file in files {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0, "{:?}", file.path());
    }
}
