//! The databases that every test of the store runs against.

use std::path::PathBuf;

use probity_store::{Place, Result, ScopedFutureExt as _, Store, StoreConfig, instance};
use probity_trialdb::postgres;

/// Runs a test against an empty, migrated database of each kind: SQLite always, PostgreSQL where its programs are found.
pub async fn for_each_database(test: impl AsyncFn(Store)) {
    let (store, _directory) = sqlite().await;
    println!("on {:?}", store.dialect());
    test(store.clone()).await;
    store.close().await;
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    let store = open(Place::Postgres(database.url().to_owned())).await;
    println!("on {:?}", store.dialect());
    test(store.clone()).await;
    store.close().await;
}

/// A store on a new SQLite file, and the directory that holds it.
pub async fn sqlite() -> (Store, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let store = open(Place::Sqlite(file_in(&directory))).await;
    (store, directory)
}

/// Where [`sqlite`] puts the file.
pub fn file_in(directory: &tempfile::TempDir) -> PathBuf {
    directory.path().join("probity.db")
}

/// A migrated store that gives up soon.
pub async fn open(place: Place) -> Store {
    let store = Store::open(&impatient(place)).await.unwrap();
    store.migrate().await.unwrap();
    store
}

/// A configuration that gives up after half a second, so that tests of what is missing are short.
pub fn impatient(place: Place) -> StoreConfig {
    StoreConfig { acquire_timeout_ms: 500, ..StoreConfig::new(place) }
}

/// Sets a text in a transaction: the smallest write.
pub async fn write_something(store: &Store) -> Result<String> {
    store.write(|tx| instance::set_once(tx, "something", "x").scope_boxed()).await
}
