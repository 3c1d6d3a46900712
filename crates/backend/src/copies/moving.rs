//! Moves an installation from SQLite to PostgreSQL, for the command line. [`probity_store::database::moving`] does the work.
//!
//! Both databases must be reachable and no newer than this program. If the move fails, nothing was moved.

use probity_access::secrets::PEPPER_BYTES;
use probity_store::database::moving::{MoveError, MoveOutcome, move_to, take_back};
use probity_store::{SchemaState, Store, StoreConfig, StoreError};

use crate::nodes::instance::{Instance, OpenError};

/// Reason why nothing was moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveFailed {
    /// There is no SQLite database.
    #[error("there is no SQLite database to move")]
    Missing,
    /// Another process has the source open.
    #[error("the SQLite database is in use; stop the service, and close every other program that has it open")]
    InUse(#[source] StoreError),
    /// The source cannot be opened.
    #[error("cannot move the SQLite database")]
    Source(#[source] OpenError),
    /// The target cannot be opened.
    #[error("cannot open the PostgreSQL database")]
    Target(#[source] StoreError),
    /// The target was changed by a newer version.
    #[error("the PostgreSQL database was changed by a newer version of this program")]
    Ahead,
    #[error("nothing was moved")]
    Move(#[source] MoveError),
}

/// Moves everything, and marks the source as moved. `told` receives a table's name and the number of rows copied so far.
pub async fn run(
    source: &StoreConfig,
    pepper: &[u8; PEPPER_BYTES],
    target: &StoreConfig,
    told: &(dyn Fn(&str, u64) + Sync),
) -> Result<MoveOutcome, MoveFailed> {
    let here = open_source(source, pepper).await?;
    let there = open_target(target).await?;
    let moved = move_to(&here.store, &there, here.clock.now(), told).await.map_err(MoveFailed::Move);
    there.close().await;
    here.close().await;
    moved
}

/// Makes a moved database usable again; returns whether it was moved.
pub async fn undo(source: &StoreConfig, pepper: &[u8; PEPPER_BYTES]) -> Result<bool, MoveFailed> {
    let here = open_source(source, pepper).await?;
    let undone = take_back(&here.store).await;
    here.close().await;
    undone.map_err(|error| MoveFailed::Source(error.into()))
}

async fn open_source(source: &StoreConfig, pepper: &[u8; PEPPER_BYTES]) -> Result<Instance, MoveFailed> {
    let here = Instance::open_alone(source, pepper).await.map_err(|error| match error {
        OpenError::Store(StoreError::NotFound) => MoveFailed::Missing,
        OpenError::Store(error @ StoreError::Unavailable { contended: true, .. }) => MoveFailed::InUse(error),
        other => MoveFailed::Source(other),
    })?;
    here.prepare_moved().await.map_err(MoveFailed::Source)?;
    Ok(here)
}

async fn open_target(target: &StoreConfig) -> Result<Store, MoveFailed> {
    let there = Store::connect(target).await.map_err(MoveFailed::Target)?;
    if there.schema_state().await.map_err(MoveFailed::Target)? == SchemaState::Ahead {
        return Err(MoveFailed::Ahead);
    }
    there.migrate().await.map_err(MoveFailed::Target)?;
    Ok(there)
}
