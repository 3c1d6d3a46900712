//! Copies of an installation on SQLite, for the command line: made while the service runs, examined, and put in its place.

use std::path::Path;

use probity_store::audit::{self, Discrepancy};
use probity_store::{SchemaState, Store, StoreConfig, StoreError, moving};

use crate::erasures;
use crate::error::Detail;
use crate::instance::{Instance, OpenError};
use crate::secrets::PEPPER_BYTES;

/// Why there is no copy, or it cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// Another process has the database open.
    #[error("the database is in use; stop the service, and close every other program that has it open")]
    InUse(#[source] StoreError),
    /// The database cannot be read or written.
    #[error("the database cannot be used")]
    Store(#[from] StoreError),
    /// It does not belong to this installation, or to this program.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The file is damaged.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// Erased addresses are in it, and could not be erased again.
    #[error("cannot repeat completed erasures")]
    Erasures(#[source] Detail),
}

/// What was found in a copy.
#[derive(Debug)]
pub struct Examined {
    /// Where it breaks a promise; none where its tables are of an older version, which only that can check.
    pub discrepancies: Option<Vec<Discrepancy>>,
    /// How many erasures were done again.
    pub erased_again: usize,
}

/// Writes a copy of a database, which may be in use, to a file that is empty.
pub async fn copy(from: &StoreConfig, to: &Path) -> Result<(), Failed> {
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
        store.copy_into(to).await.map_err(Failed::from)
    };
    let copied = copied.await;
    store.close().await;
    copied
}

/// Looks through a copy as it is.
pub async fn examine(
    at: &StoreConfig,
    pepper: &[u8; PEPPER_BYTES],
    deliveries_keep_ms: i64,
) -> Result<Examined, Failed> {
    let instance = Instance::open(at, pepper).await?;
    let examined = async {
        whole(&instance.store).await?;
        // Bringing it up to date would make another database of it than the one that was copied.
        if instance.store.schema_state().await? != SchemaState::Current {
            return Ok(Examined { discrepancies: None, erased_again: 0 });
        }
        instance.prepare().await?;
        let discrepancies = Some(promises(&instance, deliveries_keep_ms).await?);
        Ok(Examined { discrepancies, erased_again: 0 })
    };
    let examined = examined.await;
    instance.close().await;
    examined
}

/// Makes a copy ready to be served: brings it up to date, does the erasures of a file of tombstones again that it does not
/// know, and looks through it.
pub async fn make_ready(
    at: &StoreConfig,
    pepper: &[u8; PEPPER_BYTES],
    tombstones: &Path,
    deliveries_keep_ms: i64,
) -> Result<Examined, Failed> {
    let instance = Instance::open(at, pepper).await?;
    let ready = async {
        whole(&instance.store).await?;
        instance.prepare().await?;
        let erased_again = erasures::restore(&instance, tombstones).await.map_err(Failed::Erasures)?;
        let discrepancies = Some(promises(&instance, deliveries_keep_ms).await?);
        Ok(Examined { discrepancies, erased_again })
    };
    let ready = ready.await;
    instance.close().await;
    ready
}

/// Puts the log of a database back into its file, so that the file alone is the database. Fails where another process has it
/// open.
pub async fn settle(at: &StoreConfig) -> Result<(), Failed> {
    let store = Store::open_alone(at).await.map_err(|error| match error {
        error @ StoreError::Unavailable { contended: true, .. } => Failed::InUse(error),
        other => Failed::Store(other),
    })?;
    store.close().await;
    Ok(())
}

async fn whole(store: &Store) -> Result<(), Failed> {
    match store.faults().await?.as_slice() {
        [] => Ok(()),
        faults => Err(Failed::Damaged(faults.join("; "))),
    }
}

async fn promises(instance: &Instance, deliveries_keep_ms: i64) -> Result<Vec<Discrepancy>, Failed> {
    let since = instance.clock.now() - deliveries_keep_ms;
    Ok(audit::everything_since(&instance.store, since).await?)
}
