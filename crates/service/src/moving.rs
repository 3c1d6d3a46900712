//! Moving an installation from SQLite to PostgreSQL, for the command line ([`probity_store::moving`] does it).

use probity_store::moving::{MoveError, Outcome, move_to, take_back};
use probity_store::{SchemaState, Store, StoreConfig, StoreError};

use crate::instance::{Instance, OpenError};
use crate::secrets::PEPPER_BYTES;

/// Why nothing was moved.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// There is nothing to be moved.
    #[error("there is no SQLite database to move")]
    Missing,
    /// Another process has the source open.
    #[error("the SQLite database is in use; stop the service, and close every other program that has it open")]
    InUse(#[source] StoreError),
    /// The source cannot be read.
    #[error("cannot move the SQLite database")]
    Source(#[source] OpenError),
    /// The target cannot be opened.
    #[error("cannot open the PostgreSQL database")]
    Target(#[source] StoreError),
    /// The target is of a newer version.
    #[error("the PostgreSQL database was changed by a newer version of this program")]
    Ahead,
    /// The move itself failed.
    #[error("nothing was moved")]
    Move(#[source] MoveError),
}

/// Moves everything, and leaves the source marked as moved. `told` hears of a table how many rows have been copied so far.
pub async fn run(
    source: &StoreConfig,
    pepper: &[u8; PEPPER_BYTES],
    target: &StoreConfig,
    told: &(dyn Fn(&str, u64) + Sync),
) -> Result<Outcome, Failed> {
    let here = open_source(source, pepper).await?;
    let there = open_target(target).await?;
    let moved = move_to(&here.store, &there, here.clock.now(), told).await.map_err(Failed::Move);
    there.close().await;
    here.close().await;
    moved
}

/// Lets a database that was moved be used again; says whether it was moved.
pub async fn undo(source: &StoreConfig, pepper: &[u8; PEPPER_BYTES]) -> Result<bool, Failed> {
    let here = open_source(source, pepper).await?;
    let undone = take_back(&here.store).await;
    here.close().await;
    undone.map_err(|error| Failed::Source(error.into()))
}

async fn open_source(source: &StoreConfig, pepper: &[u8; PEPPER_BYTES]) -> Result<Instance, Failed> {
    let here = Instance::open_alone(source, pepper).await.map_err(|error| match error {
        OpenError::Store(StoreError::NotFound) => Failed::Missing,
        OpenError::Store(error @ StoreError::Unavailable { contended: true, .. }) => Failed::InUse(error),
        other => Failed::Source(other),
    })?;
    here.prepare_moved().await.map_err(Failed::Source)?;
    Ok(here)
}

async fn open_target(target: &StoreConfig) -> Result<Store, Failed> {
    let there = Store::connect(target).await.map_err(Failed::Target)?;
    if there.schema_state().await.map_err(Failed::Target)? == SchemaState::Ahead {
        return Err(Failed::Ahead);
    }
    there.migrate().await.map_err(Failed::Target)?;
    Ok(there)
}
