//! The databases that every test of the store runs against.

use std::any::Any;
use std::path::PathBuf;

use probity_store::nodes::instance;
use probity_store::{DatabasePlace, Result, ScopedFutureExt as _, Store, StoreConfig};
use probity_trialdb::scratch_directory;

/// Runs a test against an empty, migrated database of each kind: SQLite always, PostgreSQL where its programs are found.
pub(crate) async fn for_each_database(test: impl AsyncFn(Store)) {
    on_sqlite(&test).await;
    on_postgres(&test).await;
}

/// The first half of [`for_each_database`].
pub(crate) async fn on_sqlite(test: &impl AsyncFn(Store)) {
    run(sqlite().await, test).await;
}

/// The second half.
pub(crate) async fn on_postgres(test: &impl AsyncFn(Store)) {
    if let Some(database) = postgres().await {
        run(database, test).await;
    }
}

/// An empty, migrated database, gone when it is dropped.
pub(crate) struct Database {
    pub(crate) store: Store,
    _place: Box<dyn Any + Send>,
}

/// One in a file of SQLite.
pub(crate) async fn sqlite() -> Database {
    let directory = scratch_directory();
    let store = open(patient(DatabasePlace::Sqlite(file_in(&directory)))).await;
    Database { store, _place: Box::new(directory) }
}

/// One of PostgreSQL, where its programs are found.
pub(crate) async fn postgres() -> Option<Database> {
    let database = probity_trialdb::postgres()?.create_database();
    let store = open(patient(DatabasePlace::Postgres(database.url().to_owned()))).await;
    Some(Database { store, _place: Box::new(database) })
}

async fn run(database: Database, test: &impl AsyncFn(Store)) {
    eprintln!("on {:?}", database.store.dialect());
    test(database.store.clone()).await;
    database.store.close().await;
}

/// On a busy machine, many tasks at once wait long for their turns.
fn patient(place: DatabasePlace) -> StoreConfig {
    StoreConfig { acquire_timeout_ms: 60_000, ..StoreConfig::new(place) }
}

/// A migrated store.
pub(crate) async fn open(config: StoreConfig) -> Store {
    let store = Store::open(&config).await.unwrap();
    store.migrate().await.unwrap();
    store
}

/// A configuration that gives up after half a second, so that tests of what is missing are short.
pub(crate) fn impatient(place: DatabasePlace) -> StoreConfig {
    StoreConfig { acquire_timeout_ms: 500, ..StoreConfig::new(place) }
}

/// The file for a database in a directory.
pub(crate) fn file_in(directory: &tempfile::TempDir) -> PathBuf {
    directory.path().join("probity.db")
}

/// Sets a text in a transaction: the smallest write.
pub(crate) async fn write_something(store: &Store) -> Result<String> {
    store.write(|tx| instance::set_once(tx, "something", "x").scope_boxed()).await
}
