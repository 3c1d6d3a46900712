//! Output of `probity backup` and `probity restore`.

use std::io::Write as _;

use anyhow::{Context as _, Result};

use crate::args::{BackupArgs, RestoreArgs};
use crate::config::Settings;
use crate::exit::Exit;
use crate::log;
use crate::service::backup;

pub(crate) async fn make(args: &BackupArgs, settings: &Settings) -> Result<Exit> {
    let made = backup::make(settings, &args.directory, !args.without_pepper).await?;
    let audit = match made.discrepancies {
        Some(0) => "audit passed".to_owned(),
        Some(found) => format!("audit found {found} discrepancies; run `probity audit`"),
        None => "not audited: tables of another version".to_owned(),
    };
    say(&format!("Backup complete: {} ({} bytes; {audit}).\n", args.directory.display(), made.bytes))?;
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
    say(&format!("Restored the backup of {} ({} bytes).\n", restored.manifest.created_at, restored.manifest.bytes))?;
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

fn say(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to standard output")
}
