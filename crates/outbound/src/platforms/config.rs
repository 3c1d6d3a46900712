//! Settings of connections: connectors and hosts.

use std::path::Path;
use std::sync::Arc;

use probity_connectors::{Catalog, ConnectorFault, HostAllowance};

use crate::Authorities;

/// Platforms that can be connected, and additional hosts that the operator allows.
#[derive(Clone)]
pub struct PlatformConfig {
    pub catalog: Arc<Catalog>,
    pub hosts: HostAllowance,
    /// First pause of a run after a call that failed, in milliseconds. It doubles with each failure in a row.
    pub pause_ms: i64,
    /// Certificate authorities that are trusted besides the public ones.
    pub authorities: Authorities,
}

/// Usual first pause.
const PAUSE_MS: i64 = 5_000;

impl Default for PlatformConfig {
    fn default() -> Self {
        let catalog = Catalog::embedded().clone();
        Self { catalog, hosts: HostAllowance::default(), pause_ms: PAUSE_MS, authorities: Authorities::default() }
    }
}

impl PlatformConfig {
    /// Reads the operator's directory, if there is one. Returns all faults of its files.
    pub fn read(directory: Option<&Path>, hosts: HostAllowance) -> Result<Self, Vec<ConnectorFault>> {
        let built_in = Catalog::embedded();
        let catalog = match directory {
            Some(directory) => Arc::new(built_in.with_directory(directory)?),
            None => built_in.clone(),
        };
        Ok(Self { catalog, hosts, ..Self::default() })
    }
}
