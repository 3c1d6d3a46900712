//! Backup of SQLite installations: copies a database, examines copies and prepares them for use.
//!
//! A database that is damaged, was moved, or belongs to a newer version or another pepper is refused. A prepared copy contains
//! no
//! address whose erasure was completed.

use std::path::Path;

use probity_access::secrets::PEPPER_BYTES;
use probity_contract::error::Detail;
use probity_store::credits::audit::{self, AuditDiscrepancy};
use probity_store::database::moving;
use probity_store::{SchemaState, Store, StoreConfig, StoreError};

use crate::nodes::instance::{Instance, OpenError};
use crate::privacy::erasures;

/// Reason why a copy cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum BackupFailed {
    /// Another process has the database open.
    #[error("the database is in use; stop the service, and close every other program that has it open")]
    InUse(#[source] StoreError),
    /// The database cannot be read or written.
    #[error("the database cannot be used")]
    Store(#[from] StoreError),
    /// The copy belongs to another installation, or this program cannot open it.
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// The copy contains erased addresses, and repeating their erasure failed.
    #[error("cannot repeat completed erasures")]
    Erasures(#[source] Detail),
}

/// Result of examining a copy.
#[derive(Debug)]
pub struct Examined {
    /// Violated invariants. `None` if the tables have an older schema, which only that version can check.
    pub discrepancies: Option<Vec<AuditDiscrepancy>>,
    /// Number of repeated erasures.
    pub erased_again: usize,
}

/// Copies a database, which may be in use, into an empty file.
pub async fn copy(from: &StoreConfig, to: &Path) -> Result<(), BackupFailed> {
    let store = Store::connect(from).await?;
    let copied = async {
        if store.schema_state().await? == SchemaState::Ahead {
            return Err(OpenError::Ahead.into());
        }
        if let SchemaState::Current = store.schema_state().await?
            && let Some(at) = moving::moved_at(&mut store.read().await?).await?
        {
            return Err(OpenError::Moved(at).into());
        }
        store.copy_into(to).await.map_err(BackupFailed::from)
    };
    let copied = copied.await;
    store.close().await;
    copied
}

/// Examines a copy. With a tombstone file, first prepares it for use: upgrades it, and repeats the erasures that only the file has.
pub async fn examine(
    at: &StoreConfig,
    pepper: &[u8; PEPPER_BYTES],
    tombstones: Option<&Path>,
    deliveries_keep_ms: i64,
) -> Result<Examined, BackupFailed> {
    let instance = Instance::open(at, pepper).await?;
    let examined = async {
        let faults = instance.store.faults().await?;
        if !faults.is_empty() {
            return Err(BackupFailed::Damaged(faults.join("; ")));
        }
        // An upgraded copy would differ from the database that was copied.
        if tombstones.is_none() && instance.store.schema_state().await? != SchemaState::Current {
            return Ok(Examined { discrepancies: None, erased_again: 0 });
        }
        instance.prepare().await?;
        let erased_again = match tombstones {
            Some(file) => erasures::restore(&instance, file).await.map_err(BackupFailed::Erasures)?,
            None => 0,
        };
        let since = instance.clock.now() - deliveries_keep_ms;
        let discrepancies = Some(audit::everything_since(&instance.store, since).await?);
        Ok(Examined { discrepancies, erased_again })
    };
    let examined = examined.await;
    instance.close().await;
    examined
}

/// Merges the write-ahead log of a database into its file, so that the file alone is the database. Fails if another process has
/// the database open.
pub async fn settle(at: &StoreConfig) -> Result<(), BackupFailed> {
    let store = Store::open_alone(at).await.map_err(|error| match error {
        error @ StoreError::Unavailable { contended: true, .. } => BackupFailed::InUse(error),
        other => BackupFailed::Store(other),
    })?;
    store.close().await;
    Ok(())
}
