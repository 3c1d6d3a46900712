//! Output of `probity backup` and `probity restore`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::config::Settings;
use crate::exit::Exit;
use crate::service::backup;
use crate::{log, output};

/// Shown below the help of `backup`.
pub(crate) const BACKUP_EXAMPLES: &str = "\
Examples:
    probity backup /backup/probity-$(date +%F)       the directory must not exist
    probity backup /backup/probity --without-pepper  if the pepper is stored elsewhere

A backup is a consistent snapshot; its structure and pepper are checked, and it is audited. It never contains the master key.
For PostgreSQL, use pg_dump.";

/// Shown below the help of `restore`.
pub(crate) const RESTORE_EXAMPLES: &str = "\
Examples:
    probity restore /backup/probity-2026-11-22                 into a data directory without a database
    probity restore /backup/probity-2026-11-22 --replace       keeps the old database as probity.db.replaced

Stop the service first. `restore` checks the backup and repeats newer erasures before it installs the database.";

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// New directory for the backup
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Data directory, with the database and the pepper; overrides `server.data`
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    /// Exclude the pepper
    #[arg(long)]
    pub without_pepper: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Directory of the backup
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Data directory, with the database and the pepper; overrides `server.data`
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    /// Replace the existing database, which is kept as `probity.db.replaced`
    #[arg(long)]
    pub replace: bool,
}

pub(crate) async fn make(args: &BackupArgs, settings: &Settings) -> Result<Exit> {
    let made = backup::make(settings, &args.directory, !args.without_pepper).await?;
    let audit = match made.discrepancies {
        Some(0) => "audit passed".to_owned(),
        Some(found) => format!("audit found {found} discrepancies; run `probity audit`"),
        None => "not audited: tables of another version".to_owned(),
    };
    output::print(&format!("Backup complete: {} ({} bytes; {audit}).\n", args.directory.display(), made.bytes))?;
    if !made.pepper {
        log::say("note: the backup has no pepper; to restore it, you need the pepper of this installation");
    }
    if let Some(key) = made.master_key_file {
        log::say(&format!("note: backups never contain the master key; keep a copy of {} elsewhere", key.display()));
    }
    Ok(if made.discrepancies.unwrap_or_default() > 0 { Exit::NotPassed } else { Exit::Done })
}

pub(crate) async fn restore(args: &RestoreArgs, settings: &Settings) -> Result<Exit> {
    let restored = backup::restore(settings, &args.directory, args.replace).await?;
    output::print(&format!(
        "Restored the backup of {} ({} bytes).\n",
        restored.manifest.created_at, restored.manifest.bytes
    ))?;
    if restored.erased_again > 0 {
        log::say(&format!("Repeated {} erasures newer than the backup.", restored.erased_again));
    }
    // An existing database has its erasures, and its service has persisted their tombstones.
    if !restored.tombstones && restored.replaced.is_none() {
        log::say(
            "note: the data directory had no erasures.tombstones, so erasures newer than the backup cannot be repeated",
        );
    }
    if let Some(replaced) = restored.replaced {
        log::say(&format!(
            "The previous database is kept as {}; delete it when you no longer need it.",
            replaced.display()
        ));
    }
    log::say("Credits and keys have the state of the backup. Start the service with `probity serve`.");
    Ok(Exit::Done)
}
