//! Opening of a store: the database, with caches and keys that its connections carry for other modules.
//!
//! The database layer does not depend on those modules, so they are attached here.

use std::sync::Arc;
use std::time::Duration;

use super::migrations::MIGRATIONS;
use crate::db::{DatabaseLimits, DatabasePlace, DatabaseSetup, SchemaMigration, StoreAttachments};
use crate::jobs::ResultSheets;
use crate::nodes::wake::ListenerAddress;
use crate::privacy::sealing::{MasterKeys, Sealing};

/// Location and limits of a database.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    pub place: DatabasePlace,
    /// Maximum connections to PostgreSQL.
    pub connections_max: u32,
    /// Maximum wait for a connection, and for SQLite's lock while another process has it, in milliseconds.
    pub acquire_timeout_ms: u64,
    /// Maximum time of one statement on PostgreSQL, in milliseconds.
    pub statement_timeout_ms: u64,
    /// Encryption of bodies that hold addresses; `None` stores them in plain text.
    pub sealing: Option<Arc<dyn Sealing>>,
}

impl StoreConfig {
    /// Default limits for a place.
    pub fn new(place: DatabasePlace) -> Self {
        Self { place, connections_max: 10, acquire_timeout_ms: 3_000, statement_timeout_ms: 30_000, sealing: None }
    }
}

impl DatabaseSetup for StoreConfig {
    fn place(&self) -> &DatabasePlace {
        &self.place
    }

    fn limits(&self) -> DatabaseLimits {
        DatabaseLimits {
            connections: self.connections_max,
            acquire: Duration::from_millis(self.acquire_timeout_ms),
            statement: Duration::from_millis(self.statement_timeout_ms),
        }
    }

    /// Cached results, the master key, and the address for wake-ups of other nodes.
    fn attached(&self) -> StoreAttachments {
        let mut attached = StoreAttachments::default().with(Arc::<ResultSheets>::default());
        if let Some(sealing) = &self.sealing {
            attached = attached.with(Arc::new(MasterKeys::new(sealing.clone())));
        }
        if let DatabasePlace::Postgres(url) = &self.place
            && let Some(address) = ListenerAddress::of(url)
        {
            attached = attached.with(address);
        }
        attached
    }

    fn migrations(&self) -> &'static [SchemaMigration] {
        MIGRATIONS
    }

    fn is_statement(name: &str) -> bool {
        crate::statements().iter().any(|known| known.name() == name)
    }
}
