//! Uploads: what becomes of one whose request is dropped before it knows whether it has arrived.

use probity_account::id::UploadId;
use probity_mail::time::Millis;
use probity_store::uploads::{self, ArrivedUpload, ColumnChoice, ColumnContent, NewUpload, UploadNo};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, StoreError};

use crate::connections::org;
use crate::databases::for_each_database;

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
