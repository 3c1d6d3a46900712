//! An installation: its database and the keys that belong to it. What `serve`, `migrate` and the administration share.

use std::sync::Arc;

use probity_engine::clock::Clock;
use probity_mail::time::Millis;
use probity_store::sealing::{self, Sealing as _};
use probity_store::{SchemaState, ScopedFutureExt as _, Store, StoreConfig, StoreError, instance, moving};

use crate::facts::StoredFacts;
use crate::sealing::MasterKey;
use crate::secrets::{PEPPER_BYTES, Secrets};

/// The name of the pepper's fingerprint among the installation's texts.
const PEPPER: &str = "pepper";

/// An installation that is open.
#[derive(Clone, Debug)]
pub struct Instance {
    pub store: Store,
    pub secrets: Arc<Secrets>,
    pub clock: Clock,
}

/// Why an installation cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The database does not answer or cannot be read.
    #[error("the database cannot be opened")]
    Store(#[from] StoreError),
    /// The pepper is not the one that stored keys were hashed with: every key would be refused.
    #[error("wrong pepper: this database's keys were hashed with another one; restore this database's pepper")]
    OtherPepper,
    /// What is sealed could not be read.
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
    /// The database was changed by a newer version.
    #[error("the database was changed by a newer version of this program; run that version, or restore a backup")]
    Ahead,
    /// What it held was moved to PostgreSQL. Serving both would spend the same credits twice.
    #[error(
        "this database was moved to PostgreSQL at {}: set database.url, and start with the same pepper. If the move \
         was interrupted, run `probity move` again; to use this database again, run `probity move --undo`",
        moment(*.0)
    )]
    Moved(Millis),
}

/// A point in time for people, in UTC.
fn moment(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| at.0.to_string(), |at| at.to_string())
}

impl Instance {
    /// Opens the database without touching its tables.
    pub async fn open(config: &StoreConfig, pepper: &[u8; PEPPER_BYTES]) -> Result<Self, OpenError> {
        let store = Store::connect(config).await?;
        Ok(Self { store, secrets: Arc::new(Secrets::of(pepper)), clock: Clock::system() })
    }

    /// Opens a SQLite file that is there for this process alone ([`Store::open_alone`]).
    pub(crate) async fn open_alone(config: &StoreConfig, pepper: &[u8; PEPPER_BYTES]) -> Result<Self, OpenError> {
        let store = Store::open_alone(config).await?;
        Ok(Self { store, secrets: Arc::new(Secrets::of(pepper)), clock: Clock::system() })
    }

    /// Brings the tables up to date, makes sure that the pepper belongs to them and that they were not moved elsewhere; says
    /// how many migrations were applied.
    pub async fn prepare(&self) -> Result<usize, OpenError> {
        let applied = self.prepare_moved().await?;
        match moving::moved_at(&mut self.store.read().await?).await? {
            None => Ok(applied),
            Some(at) => Err(OpenError::Moved(at)),
        }
    }

    /// The same for a database that may have been moved.
    pub(crate) async fn prepare_moved(&self) -> Result<usize, OpenError> {
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

    /// Makes sure that what is sealed can be opened, and that nothing is sealed under two master keys. A first master key is
    /// the installation's from then on.
    async fn check_master_key(&self) -> Result<(), OpenError> {
        let standing = match self.store.sealed_by() {
            None => sealing::fingerprint(&mut self.store.read().await?).await?,
            Some(ours) => Some(self.store.write(|tx| sealing::set_fingerprint(tx, ours).scope_boxed()).await?),
        };
        match (standing.as_deref(), self.store.sealed_by()) {
            (Some(_), None) => Err(OpenError::NoMasterKey),
            (standing, ours) if standing != ours => Err(OpenError::OtherMasterKey),
            _ => Ok(()),
        }
    }

    /// Wraps every data key anew, under another master key than the one with which the database is open; says how many there
    /// are. Everything else that has the database open must be stopped before, and started with the new one afterwards.
    pub async fn rewrap(&self, from: &MasterKey, to: &MasterKey) -> Result<u64, OpenError> {
        if self.store.sealed_by() != Some(from.fingerprint()) {
            return Err(OpenError::OtherMasterKey);
        }
        let anew = |org, wrapped: &[u8]| to.take_over(from, org, wrapped);
        Ok(self.store.write(|tx| sealing::rewrap(tx, to, &anew).scope_boxed()).await?)
    }

    /// The database.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Where the engine may keep its facts. Call within a tokio runtime.
    pub fn facts(&self) -> StoredFacts {
        StoredFacts::new(self.store.clone())
    }

    /// Closes the database.
    pub async fn close(&self) {
        self.store.close().await;
    }
}
