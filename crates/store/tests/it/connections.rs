//! Connections to email platforms.

mod hooks;
mod lifecycle;
mod reports;
mod rules;
mod runs;
mod schedule;
mod tokens;

use probity_account::connections::ConnectionSettings;
use probity_account::id::ConnId;
use probity_mail::time::Millis;
use probity_store::connections::connection::{self, StoredConnection};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};

use crate::organizations;

pub(crate) const NOW: Millis = Millis(1_800_000_000_000);
const MANY: i64 = 100;

pub(crate) async fn org(store: &Store, n: u8) -> OrgNo {
    organizations::add_nth(store, n, NOW).await
}

/// Returns the `n`th connection of an organization, to `ghost`, not yet stored.
pub(crate) fn nth(org: OrgNo, n: u8) -> StoredConnection {
    StoredConnection {
        org,
        id: ConnId::new(NOW, [n; 10]),
        test: false,
        provider: "ghost".to_owned(),
        name: format!("Größe {n}"),
        disconnected: None,
        account_tag: [n; 16],
        settings: ConnectionSettings::default(),
        blacklist_count: 0,
        whitelist_count: 0,
        watermark: None,
        trusted_at: None,
        created_at: NOW + i64::from(n),
        last_synced_at: None,
    }
}

pub(crate) async fn insert(store: &Store, connection: &StoredConnection) {
    assert!(insert_if_room(store, connection, MANY).await);
}

async fn insert_if_room(store: &Store, new: &StoredConnection, at_most: i64) -> bool {
    store.write(|tx| connection::insert(tx, new, b"sealed", at_most).scope_boxed()).await.unwrap()
}

async fn by_id(store: &Store, of: &StoredConnection) -> Result<StoredConnection, StoreError> {
    connection::by_id(&mut store.read().await?, of.org, of.id, of.test).await
}

async fn credentials(store: &Store, of: &StoredConnection) -> Option<Vec<u8>> {
    connection::credentials(&mut store.read().await.unwrap(), of.org, of.id).await.unwrap()
}

async fn delete(store: &Store, of: &StoredConnection, at: Millis) {
    store.write(|tx| connection::delete(tx, of.org, of.id, at).scope_boxed()).await.unwrap();
}
