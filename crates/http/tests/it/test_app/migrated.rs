//! Databases with all tables: copies of one for each kind that is migrated once. Migrating takes longer than most tests.

use std::fs;
use std::path::Path;

use probity_store::{DatabasePlace, Store, StoreConfig};
use probity_trialdb::{TrialDatabase, scratch_directory};
use tokio::sync::OnceCell;

use super::file_in;

/// Writes a SQLite database to a directory.
pub(super) async fn sqlite(directory: &Path) -> DatabasePlace {
    static TEMPLATE: OnceCell<Vec<u8>> = OnceCell::const_new();
    let template = TEMPLATE.get_or_init(async || {
        let directory = scratch_directory();
        let file = file_in(directory.path());
        migrate(DatabasePlace::Sqlite(file.clone())).await;
        // The database is a single file once all connections are closed.
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        fs::read(file).unwrap()
    });
    let file = file_in(directory);
    fs::write(&file, template.await).unwrap();
    DatabasePlace::Sqlite(file)
}

/// Creates a PostgreSQL database if PostgreSQL is installed.
pub(super) async fn postgres() -> Option<TrialDatabase> {
    static TEMPLATE: OnceCell<TrialDatabase> = OnceCell::const_new();
    let cluster = probity_trialdb::postgres()?;
    let template = TEMPLATE.get_or_init(async || {
        let database = cluster.create_database();
        migrate(DatabasePlace::Postgres(database.url().to_owned())).await;
        database
    });
    Some(cluster.clone_of(template.await))
}

async fn migrate(place: DatabasePlace) {
    let store = Store::open(&StoreConfig::new(place)).await.unwrap();
    store.migrate().await.unwrap();
    store.close().await;
}
