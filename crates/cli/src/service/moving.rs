//! Moves an installation: assembles the settings for `probity-service`.

use anyhow::{Result, anyhow, bail};
use probity_backend::copies::moving;
use probity_backend::copies::moving::MoveFailed;
use probity_service::store::{DatabasePlace, MoveError, MoveOutcome, StoreConfig};
use secrecy::{ExposeSecret as _, SecretString};

use super::{lock, pepper, store};
use crate::config::Settings;
use crate::config::serve::Database;
use crate::exit::{Exit, ExitsWith};

/// Time limit for exclusive access to the database, in milliseconds: a service that is ending first writes its log back.
const ALONE_MS: u64 = 3_000;

/// Moves the installation to the database at `to`, or by default to the configured one.
pub(crate) async fn run(
    settings: &Settings,
    to: Option<&SecretString>,
    told: &(dyn Fn(&str, u64) + Sync),
) -> Result<MoveOutcome> {
    let url = match (to, &settings.database) {
        (Some(url), _) | (None, Database::Postgres(url)) => url.expose_secret(),
        (None, Database::Sqlite(_)) => {
            bail!("no target: set --to postgres://user:password@host/name, or database.url")
        }
    };
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        bail!("--to must look like postgres://user:password@host/name");
    }
    let target = StoreConfig { place: DatabasePlace::Postgres(url.to_owned()), ..store(settings)? };
    let source = source(settings)?;
    let _held = lock::share(&settings.data)?;
    moving::run(&source, &pepper::existing(&settings.pepper)?, &target, told)
        .await
        .map_err(|error| failed(settings, error))
}

/// Makes the SQLite database usable again; returns whether it had been moved.
pub(crate) async fn undo(settings: &Settings) -> Result<bool> {
    let source = source(settings)?;
    let _held = lock::share(&settings.data)?;
    moving::undo(&source, &pepper::existing(&settings.pepper)?).await.map_err(|error| failed(settings, error))
}

fn source(settings: &Settings) -> Result<StoreConfig> {
    let path = settings.file();
    if !path.is_file() {
        bail!("there is no database {}", path.display());
    }
    Ok(StoreConfig { place: DatabasePlace::Sqlite(path), acquire_timeout_ms: ALONE_MS, ..store(settings)? })
}

/// Adds the file and the exit code to an error: faults that the caller can fix are usage errors, not local failures.
fn failed(settings: &Settings, error: MoveFailed) -> anyhow::Error {
    let exit = match error {
        MoveFailed::Missing | MoveFailed::Ahead | MoveFailed::Move(MoveError::Occupied) => Exit::Usage,
        _ => Exit::Local,
    };
    anyhow!(error).context(format!("cannot move {}", settings.file().display())).context(ExitsWith(exit))
}
