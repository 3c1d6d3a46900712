//! `probity master-key`: creates or changes a master key.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::config::Settings;
use crate::exit::Exit;
use crate::{log, service};

/// Shown below the help of `master-key`.
pub(crate) const MASTER_KEY_EXAMPLES: &str = "\
Examples:
    probity master-key new /etc/probity/master.key   then set secrets.master_key_file, and keep a copy elsewhere
    probity master-key rewrap /etc/probity/next.key  with the service stopped; then configure the new key

Addresses stored before there was a master key stay unencrypted until they are deleted. An encrypted database cannot be served
without its master key.";

#[derive(Debug, Subcommand)]
pub(crate) enum MasterKeyCommand {
    /// Create a master key in a new file that only its owner can read
    New {
        /// New file for the key
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Replace the configured master key: rewrap all data keys with another one
    Rewrap(RewrapArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RewrapArgs {
    /// File with the new master key
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Data directory, with the database and the pepper; overrides `server.data`
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
}

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
