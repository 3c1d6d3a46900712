//! Opening, migrating and opening again.

use probity_store::{Place, SchemaState, Store, StoreConfig};

#[tokio::test]
async fn a_new_file_is_migrated_once() {
    let directory = tempfile::tempdir().unwrap();
    let config = StoreConfig::new(Place::Sqlite(directory.path().join("pro bity#1?.db")));
    let store = Store::open(&config).await.unwrap();
    assert_eq!(store.schema_state().await.unwrap(), SchemaState::Behind(1));
    assert_eq!(store.migrate().await.unwrap(), 1);
    assert_eq!(store.migrate().await.unwrap(), 0);
    assert_eq!(store.schema_state().await.unwrap(), SchemaState::Current);
    store.ping().await.unwrap();
    store.close().await;
    let again = Store::open(&config).await.unwrap();
    assert_eq!(again.schema_state().await.unwrap(), SchemaState::Current);
}
