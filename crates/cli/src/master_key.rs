//! `probity master-key`: making a master key, and changing it.

use anyhow::Result;

use crate::args::MasterKeyCommand;
use crate::config::Settings;
use crate::exit::Exit;
use crate::log;
use crate::service;

/// Runs `master-key`.
pub(crate) async fn run(command: &MasterKeyCommand, settings: &Settings) -> Result<Exit> {
    match command {
        MasterKeyCommand::New { file } => {
            service::pepper::new_master_key(file)?;
            log::say(&format!(
                "Made the master key {0}. Next:\n  1. Keep a copy away from the database and its backups: without it nothing that is \
                 sealed can be read.\n  2. Set secrets.master_key_file = \"{0}\" for every node.\n  3. Start `probity serve` again.",
                file.display()
            ));
        }
        MasterKeyCommand::Rewrap(args) => {
            let keys = service::rewrap(settings, &args.file).await?;
            log::say(&format!(
                "Wrapped {keys} data keys anew. Set secrets.master_key_file = \"{}\" for every node and start it; the old master \
                 key is still needed for backups that were made before.",
                args.file.display()
            ));
        }
    }
    Ok(Exit::Done)
}
