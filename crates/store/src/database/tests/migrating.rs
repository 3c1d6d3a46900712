//! Migrations of several programs on one database: each is applied once, and a program rejects what it does not know.

use probity_trialdb::postgres;

use crate::db::{DatabaseLimits, DatabaseSetup, SchemaMigration, StoreAttachments};
use crate::{DatabasePlace, SchemaState, Store, StoreConfig, StoreError};

const PART: SchemaMigration = (3, "part", "CREATE TABLE part (n BIGINT NOT NULL PRIMARY KEY)");
const FIRST: SchemaMigration = (5, "first", "CREATE TABLE first (n BIGINT NOT NULL PRIMARY KEY, body {bytes})");
const SECOND: SchemaMigration = (7, "second", "ALTER TABLE first ADD COLUMN more BIGINT NOT NULL DEFAULT 3");
const OTHER_FIRST: SchemaMigration = (5, "first", "CREATE TABLE first (n BIGINT)");
const OTHER_SECOND: SchemaMigration = (7, "second", "CREATE TABLE second (n BIGINT)");

/// A program with these migrations.
struct Program(StoreConfig, &'static [SchemaMigration]);

impl DatabaseSetup for Program {
    fn place(&self) -> &DatabasePlace {
        self.0.place()
    }

    fn limits(&self) -> DatabaseLimits {
        self.0.limits()
    }

    fn attached(&self) -> StoreAttachments {
        self.0.attached()
    }

    fn migrations(&self) -> &'static [SchemaMigration] {
        self.1
    }

    fn is_statement(name: &str) -> bool {
        StoreConfig::is_statement(name)
    }
}

/// Schema before the program with these migrations migrates, and what it reports of that: the number of migrations or the reason.
async fn migrated(
    place: &DatabasePlace,
    migrations: &'static [SchemaMigration],
) -> (SchemaState, Result<usize, String>) {
    let store = Store::open(&Program(StoreConfig::new(place.clone()), migrations)).await.unwrap();
    let state = store.schema_state().await.unwrap();
    let migrated = match store.migrate().await {
        Ok(applied) => {
            assert_eq!(store.schema_state().await.unwrap(), SchemaState::Current);
            Ok(applied)
        }
        Err(StoreError::Corrupt(source)) => {
            assert_eq!(store.schema_state().await.unwrap(), state, "nothing has changed");
            Err(source.to_string())
        }
        Err(error) => panic!("{error:?}"),
    };
    store.close().await;
    (state, migrated)
}

/// Runs a test on an empty database of each kind.
async fn for_each_database(test: impl AsyncFn(DatabasePlace)) {
    let directory = tempfile::tempdir().unwrap();
    test(DatabasePlace::Sqlite(directory.path().join("probity.db"))).await;
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    test(DatabasePlace::Postgres(database.url().to_owned())).await;
}

#[tokio::test]
async fn a_further_migration_is_applied_once_and_its_text_never_changes() {
    for_each_database(async |place| {
        assert_eq!(migrated(&place, &[FIRST]).await, (SchemaState::Behind(1), Ok(1)));
        assert_eq!(migrated(&place, &[FIRST, SECOND]).await, (SchemaState::Behind(1), Ok(1)));
        assert_eq!(migrated(&place, &[FIRST, SECOND]).await, (SchemaState::Current, Ok(0)));
        let (state, refused) = migrated(&place, &[FIRST, OTHER_SECOND]).await;
        assert!(state == SchemaState::Current && refused.as_ref().unwrap_err().contains("modified"), "{refused:?}");
        assert_eq!(migrated(&place, &[OTHER_FIRST, SECOND]).await, (SchemaState::Current, Ok(0)));
    })
    .await;
}

#[tokio::test]
async fn a_database_of_a_newer_program_is_refused() {
    for_each_database(async |place| {
        assert_eq!(migrated(&place, &[FIRST, SECOND]).await, (SchemaState::Behind(2), Ok(2)));
        let (state, refused) = migrated(&place, &[FIRST]).await;
        assert!(state == SchemaState::Ahead && refused.as_ref().unwrap_err().contains("newer version"), "{refused:?}");
    })
    .await;
}

#[tokio::test]
async fn parts_of_the_first_migration_are_as_good_as_it_if_they_are_complete() {
    for_each_database(async |place| {
        assert_eq!(migrated(&place, &[PART]).await, (SchemaState::Behind(1), Ok(1)));
        let (state, refused) = migrated(&place, &[FIRST, SECOND]).await;
        let told = refused.unwrap_err();
        assert!(state == SchemaState::Behind(2) && told.contains("the release before this one"), "{told}");
        assert_eq!(migrated(&place, &[PART, FIRST]).await, (SchemaState::Behind(1), Ok(1)));
        assert_eq!(migrated(&place, &[OTHER_FIRST]).await, (SchemaState::Current, Ok(0)));
        assert_eq!(migrated(&place, &[OTHER_FIRST, SECOND]).await, (SchemaState::Behind(1), Ok(1)));
    })
    .await;
}
