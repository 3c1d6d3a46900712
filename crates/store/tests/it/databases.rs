//! Databases against which every test of the store runs.

use std::any::Any;
use std::path::PathBuf;

use probity_store::nodes::instance;
use probity_store::{DatabasePlace, Result, ScopedFutureExt as _, Store, StoreConfig};
use probity_trialdb::scratch_directory;

/// Runs a test against an empty, migrated database of each kind: SQLite always, PostgreSQL if it is installed.
pub(crate) async fn for_each_database(test: impl AsyncFn(Store)) {
    on_sqlite(&test).await;
    on_postgres(&test).await;
}

/// SQLite part of [`for_each_database`].
pub(crate) async fn on_sqlite(test: &impl AsyncFn(Store)) {
    run(sqlite().await, test).await;
}

/// PostgreSQL part of [`for_each_database`].
pub(crate) async fn on_postgres(test: &impl AsyncFn(Store)) {
    if let Some(database) = postgres().await {
        run(database, test).await;
    }
}

/// Empty, migrated database, removed on drop.
pub(crate) struct Database {
    pub(crate) store: Store,
    _place: Box<dyn Any + Send>,
}

/// Creates a SQLite database in a file.
pub(crate) async fn sqlite() -> Database {
    let directory = scratch_directory();
    let store = open(patient(DatabasePlace::Sqlite(file_in(&directory)))).await;
    Database { store, _place: Box::new(directory) }
}

/// Creates a PostgreSQL database, if it is installed.
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

/// Long timeouts, because many concurrent tasks wait long on a busy machine.
fn patient(place: DatabasePlace) -> StoreConfig {
    StoreConfig { acquire_timeout_ms: 60_000, ..StoreConfig::new(place) }
}

/// Opens a migrated store.
pub(crate) async fn open(config: StoreConfig) -> Store {
    let store = Store::open(&config).await.unwrap();
    store.migrate().await.unwrap();
    store
}

/// Short timeouts of half a second, for tests of unavailable databases.
pub(crate) fn impatient(place: DatabasePlace) -> StoreConfig {
    StoreConfig { acquire_timeout_ms: 500, ..StoreConfig::new(place) }
}

/// Returns the path of a database in a directory.
pub(crate) fn file_in(directory: &tempfile::TempDir) -> PathBuf {
    directory.path().join("probity.db")
}

/// Sets a text in a transaction: the smallest write.
pub(crate) async fn write_something(store: &Store) -> Result<String> {
    store.write(|tx| instance::set_once(tx, "something", "x").scope_boxed()).await
}
