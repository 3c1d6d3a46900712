//! Uploads whose request is dropped before its outcome is known, and counts of earlier versions.

use probity_account::id::UploadId;
use probity_mail::time::Millis;
use probity_store::uploads::{self, ArrivedUpload, ColumnChoice, ColumnContent, NewUpload, UploadNo};
use probity_store::{DatabasePlace, OrgNo, Result, ScopedFutureExt as _, Store, StoreConfig, StoreError};
use sqlx::{Connection as _, PgConnection, SqliteConnection};

use crate::connections::org;
use crate::databases::{file_in, for_each_database, open};

const NOW: Millis = Millis(1_800_000_000_000);

fn id(number: u8) -> UploadId {
    UploadId::new(NOW, [number; 10])
}

async fn begin(store: &Store, org: OrgNo, number: u8) -> UploadNo {
    let new = NewUpload { org, id: id(number), test: false, source: "csv", user: None, at: NOW };
    store.write(|tx| uploads::begin(tx, &new, 10).scope_boxed()).await.unwrap()
}

async fn finish(store: &Store, (org, no): (OrgNo, UploadNo), replaces: Option<UploadNo>) -> Result<()> {
    let choice = ColumnChoice { column: Some(0), header: false };
    let content = ColumnContent { addresses: 1, domains: b"x.org".into(), ..ColumnContent::default() };
    let arrived = ArrivedUpload { about: b"", rows: 1, size: 1, choice, content: Some(&content), replaces };
    store.write(|tx| uploads::finish(tx, org, no, &arrived, NOW).scope_boxed()).await
}

async fn abandon(store: &Store, (org, no): (OrgNo, UploadNo)) -> bool {
    store.write(|tx| uploads::mark_abandoned(tx, org, no).scope_boxed()).await.unwrap()
}

async fn is_there(store: &Store, org: OrgNo, number: u8) -> bool {
    uploads::by_id(&mut store.read().await.unwrap(), org, id(number), false).await.is_ok()
}

#[tokio::test]
async fn an_upload_that_has_arrived_cannot_be_abandoned_and_one_that_was_cannot_arrive() {
    for_each_database(async |store| {
        let org = org(&store, 1).await;
        let first = begin(&store, org, 1).await;
        finish(&store, (org, first), None).await.unwrap();
        let second = begin(&store, org, 2).await;
        finish(&store, (org, second), Some(first)).await.unwrap();
        assert!(!abandon(&store, (org, second)).await, "the one that it replaced is gone");
        assert!(is_there(&store, org, 2).await && !is_there(&store, org, 1).await);

        let third = begin(&store, org, 3).await;
        assert!(abandon(&store, (org, third)).await);
        assert!(matches!(finish(&store, (org, third), Some(second)).await, Err(StoreError::NotFound)));
        assert!(is_there(&store, org, 2).await, "nothing has replaced it");
    })
    .await;
}

/// Removes the record that counts of earlier versions were dropped.
const FORGET: &str = "DELETE FROM _sqlx_migrations WHERE version = 42";

/// Upgrades a database with an upload of an earlier version, which `forget` derives from a current one.
async fn upgrade(place: DatabasePlace, forget: impl AsyncFnOnce()) {
    let store = open(StoreConfig::new(place)).await;
    let org = org(&store, 1).await;
    let no = begin(&store, org, 1).await;
    finish(&store, (org, no), None).await.unwrap();
    let content = async || uploads::by_id(&mut store.read().await.unwrap(), org, id(1), false).await.unwrap().content;
    assert_eq!(content().await.map(|found| found.addresses), Some(1));
    forget().await;
    assert_eq!(store.migrate().await.unwrap(), 1);
    assert_eq!(content().await, None, "a recount is due");
    store.close().await;
}

#[tokio::test]
async fn an_upgrade_counts_the_columns_of_uploads_again() {
    let directory = tempfile::tempdir().unwrap();
    let file = file_in(&directory);
    let url = format!("sqlite://{}", file.display());
    upgrade(DatabasePlace::Sqlite(file), async || {
        let mut connection = SqliteConnection::connect(&url).await.unwrap();
        sqlx::raw_sql(FORGET).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    })
    .await;
    let Some(cluster) = probity_trialdb::postgres() else { return };
    let database = cluster.create_database();
    upgrade(DatabasePlace::Postgres(database.url().to_owned()), async || {
        let mut connection = PgConnection::connect(database.url()).await.unwrap();
        sqlx::raw_sql(FORGET).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    })
    .await;
}
