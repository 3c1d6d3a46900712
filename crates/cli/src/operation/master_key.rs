//! `probity master-key`: creates or changes a master key.

use anyhow::Result;

use crate::args::MasterKeyCommand;
use crate::config::Settings;
use crate::exit::Exit;
use crate::log;
use crate::service;

pub(crate) async fn run(command: &MasterKeyCommand, settings: &Settings) -> Result<Exit> {
    match command {
        MasterKeyCommand::New { file } => {
            service::pepper::new_master_key(file)?;
            log::say(&format!(
                "Created the master key {0}. Next:\n  1. Keep a copy away from the database and its backups: encrypted addresses \
                 cannot be read without it.\n  2. Set secrets.master_key_file = \"{0}\" on every node.\n  \
                 3. Restart `probity serve`.",
                file.display()
            ));
        }
        MasterKeyCommand::Rewrap(args) => {
            let keys = service::rewrap(settings, &args.file).await?;
            log::say(&format!(
                "Rewrapped {keys} data keys. Set secrets.master_key_file = \"{}\" on every node and start it. Earlier backups \
                 still need the old master key.",
                args.file.display()
            ));
        }
    }
    Ok(Exit::Done)
}
