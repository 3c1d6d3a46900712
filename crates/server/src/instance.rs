//! An installation: its database and the keys that belong to it. What `serve`, `migrate` and the administration share.

use std::sync::Arc;

use probity_engine::clock::Clock;
use probity_store::{SchemaState, ScopedFutureExt as _, Store, StoreConfig, StoreError, instance};

use crate::facts::StoredFacts;
use crate::secrets::{PEPPER_BYTES, Secrets};

/// The name of the pepper's fingerprint among the installation's texts.
const PEPPER: &str = "pepper";

/// An installation that is open.
#[derive(Clone, Debug)]
pub struct Instance {
    pub(crate) store: Store,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) clock: Clock,
}

/// Why an installation cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The database does not answer or cannot be read.
    #[error("the database cannot be opened")]
    Store(#[from] StoreError),
    /// The pepper is not the one that stored keys were hashed with: every key would be refused.
    #[error(
        "the pepper is not the one that this database's keys were hashed with; restore the pepper that belongs to it"
    )]
    OtherPepper,
    /// The database was changed by a newer version.
    #[error("the database was changed by a newer version of this program; run that one, or restore a backup")]
    Ahead,
}

impl Instance {
    /// Opens the database without touching its tables.
    pub async fn open(config: &StoreConfig, pepper: &[u8; PEPPER_BYTES]) -> Result<Self, OpenError> {
        let store = Store::open(config).await?;
        Ok(Self { store, secrets: Arc::new(Secrets::of(pepper)), clock: Clock::system() })
    }

    /// Brings the tables up to date, and makes sure that the pepper belongs to them; says how many migrations were applied.
    pub async fn prepare(&self) -> Result<usize, OpenError> {
        if self.store.schema_state().await? == SchemaState::Ahead {
            return Err(OpenError::Ahead);
        }
        let applied = self.store.migrate().await?;
        let fingerprint = self.secrets.fingerprint();
        let standing = self.store.write(|tx| instance::set_once(tx, PEPPER, fingerprint).scope_boxed()).await?;
        if standing == fingerprint { Ok(applied) } else { Err(OpenError::OtherPepper) }
    }

    /// Where the engine may keep its facts.
    pub fn facts(&self) -> StoredFacts {
        StoredFacts(self.store.clone())
    }

    /// Closes the database.
    pub async fn close(&self) {
        self.store.close().await;
    }
}
