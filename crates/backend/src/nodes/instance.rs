//! An installation, its database with the keys that belong to it, as `serve`, `migrate` and operator commands open it.
//!
//! A database is refused if it was changed by a newer version, moved elsewhere, or used with another pepper or master key.

use std::sync::Arc;

use probity_access::secrets::sealing::MasterKey;
use probity_access::secrets::{PEPPER_BYTES, Secrets};
use probity_engine::clock::EngineClock;
use probity_mail::time::Millis;
use probity_store::database::moving;
use probity_store::nodes::instance;
use probity_store::privacy::sealing::{self, Sealing as _};
use probity_store::{SchemaState, ScopedFutureExt as _, Store, StoreConfig, StoreError};

use crate::nodes::facts::StoredFacts;

/// Name under which the pepper's fingerprint is stored.
const PEPPER: &str = "pepper";

/// Open installation.
#[derive(Clone, Debug)]
pub struct Instance {
    pub store: Store,
    pub secrets: Arc<Secrets>,
    pub clock: EngineClock,
}

/// Reason why an installation cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The database does not respond or cannot be read.
    #[error("the database cannot be opened")]
    Store(#[from] StoreError),
    /// The pepper is not the one with which stored keys were hashed. Every key would be refused.
    #[error("wrong pepper: this database's keys were hashed with another one; restore this database's pepper")]
    OtherPepper,
    /// The database is encrypted, and there is no master key to read it.
    #[error(
        "this database is encrypted under a master key, but none is configured; set secrets.master_key_file to this \
         database's master key"
    )]
    NoMasterKey,
    /// The master key is not the one under which data keys are wrapped.
    #[error(
        "wrong master key: this database is encrypted under another one; configure that one. To change to a new \
         master key, run `probity master-key rewrap`"
    )]
    OtherMasterKey,
    #[error("the database was changed by a newer version of this program; run that version, or restore a backup")]
    Ahead,
    /// The data was moved to PostgreSQL. Serving both databases would spend the same credits twice.
    #[error(
        "this database was moved to PostgreSQL at {}: set database.url, and start with the same pepper. If the move \
         was interrupted, run `probity move` again; to use this database again, run `probity move --undo`",
        moment(*.0)
    )]
    Moved(Millis),
}

/// Formats a time for people, in UTC.
fn moment(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| at.0.to_string(), |at| at.to_string())
}

impl Instance {
    /// Opens the database without touching its tables.
    pub async fn open(config: &StoreConfig, pepper: &[u8; PEPPER_BYTES]) -> Result<Self, OpenError> {
        let store = Store::connect(config).await?;
        Ok(Self { store, secrets: Arc::new(Secrets::of(pepper)), clock: EngineClock::system() })
    }

    /// Opens an existing SQLite file for this process alone ([`Store::open_alone`]).
    pub async fn open_alone(config: &StoreConfig, pepper: &[u8; PEPPER_BYTES]) -> Result<Self, OpenError> {
        let store = Store::open_alone(config).await?;
        Ok(Self { store, secrets: Arc::new(Secrets::of(pepper)), clock: EngineClock::system() })
    }

    /// Migrates the tables, and checks the pepper, the master key and that the database was not moved. Returns the number of
    /// applied migrations.
    pub async fn prepare(&self) -> Result<usize, OpenError> {
        let applied = self.prepare_moved().await?;
        match moving::moved_at(&mut self.store.read().await?).await? {
            None => Ok(applied),
            Some(at) => Err(OpenError::Moved(at)),
        }
    }

    /// Like [`Self::prepare`], for a database that may have been moved.
    pub async fn prepare_moved(&self) -> Result<usize, OpenError> {
        if self.store.schema_state().await? == SchemaState::Ahead {
            return Err(OpenError::Ahead);
        }
        let applied = self.store.migrate().await?;
        let fingerprint = self.secrets.fingerprint();
        let standing = self.store.write(|tx| instance::set_once(tx, PEPPER, fingerprint).scope_boxed()).await?;
        if standing != fingerprint {
            return Err(OpenError::OtherPepper);
        }
        self.check_master_key().await?;
        Ok(applied)
    }

    /// Checks that encrypted data can be read and is under one master key only. The first master key becomes the
    /// installation's.
    async fn check_master_key(&self) -> Result<(), OpenError> {
        let standing = match sealing::sealed_by(&self.store) {
            None => sealing::fingerprint(&mut self.store.read().await?).await?,
            Some(ours) => Some(self.store.write(|tx| sealing::set_fingerprint(tx, ours).scope_boxed()).await?),
        };
        match (standing.as_deref(), sealing::sealed_by(&self.store)) {
            (Some(_), None) => Err(OpenError::NoMasterKey),
            (standing, ours) if standing != ours => Err(OpenError::OtherMasterKey),
            _ => Ok(()),
        }
    }

    /// Wraps every data key under another master key and returns their number. `from` must be the one with which the database
    /// is open. Stop all other processes that use the database before, and start them with the new key afterwards.
    pub async fn rewrap(&self, from: &MasterKey, to: &MasterKey) -> Result<u64, OpenError> {
        if sealing::sealed_by(&self.store) != Some(from.fingerprint()) {
            return Err(OpenError::OtherMasterKey);
        }
        let rewrap_key = |org, wrapped: &[u8]| to.take_over(from, org, wrapped);
        Ok(self.store.write(|tx| sealing::rewrap(tx, to, &rewrap_key).scope_boxed()).await?)
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns storage for the engine's facts. Call within a tokio runtime.
    pub fn facts(&self) -> StoredFacts {
        StoredFacts::new(self.store.clone())
    }

    pub async fn close(&self) {
        self.store.close().await;
    }
}
