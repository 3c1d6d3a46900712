//! Arguments of the commands that run the service: `serve`, `health`, `migrate`, `master-key`, `move`, `backup`, `restore`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Shown below the help of `serve`.
pub(super) const SERVE_EXAMPLES: &str = "\
Examples:
    probity serve                                    on 127.0.0.1:8080, with the data in `server.data`
    probity serve --sandbox                          needs no port 25
    probity serve --open                             opens the link, later the dashboard, in a browser
    probity serve --data /srv/probity --listen 0.0.0.0:8080
    probity serve --roles worker,delivery            one of several nodes on one PostgreSQL database

The first start prints a live key, a test key and a link, once. The link sets the owner's password and is valid for a day.
SIGTERM or Ctrl-C stops the service; requests in flight may finish.";

/// Shown below the help of `health`.
pub(super) const HEALTH_EXAMPLES: &str = "\
Examples:
    probity health                                   checks the address in `server.listen`; for HEALTHCHECK and scripts
    probity health --url http://192.0.2.7:8080/healthz";

/// Shown below the help of `migrate`.
pub(super) const MIGRATE_EXAMPLES: &str = "\
Example:
    PROBITY_DATABASE__URL=postgres://probity@db/probity probity migrate";

/// Shown below the help of `master-key`.
pub(super) const MASTER_KEY_EXAMPLES: &str = "\
Examples:
    probity master-key new /etc/probity/master.key   then set secrets.master_key_file, and keep a copy elsewhere
    probity master-key rewrap /etc/probity/next.key  with the service stopped; then configure the new key

Addresses stored before there was a master key stay unencrypted until they are deleted. An encrypted database cannot be served
without its master key.";

/// Shown below the help of `move`.
pub(super) const MOVE_EXAMPLES: &str = "\
Examples:
    PROBITY_DATABASE__URL=postgres://probity:password@db/probity probity move
    probity move --data /srv/probity --to postgres://probity@db/probity
    probity move --undo                              makes the SQLite database usable again

Stop the service first. The PostgreSQL database must be empty, and needs the same pepper afterwards.";

/// Shown below the help of `backup`.
pub(super) const BACKUP_EXAMPLES: &str = "\
Examples:
    probity backup /backup/probity-$(date +%F)       the directory must not exist
    probity backup /backup/probity --without-pepper  if the pepper is stored elsewhere

A backup is a consistent snapshot; its structure and pepper are checked, and it is audited. It never contains the master key.
For PostgreSQL, use pg_dump.";

/// Shown below the help of `restore`.
pub(super) const RESTORE_EXAMPLES: &str = "\
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

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Data directory, with the database and the pepper; overrides `server.data`
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    /// Listen address; repeatable; overrides `server.listen`
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Vec<String>,
    /// Roles of this node, separated by commas: api, worker, delivery, schedule; overrides `server.roles`
    #[arg(long, value_name = "ROLE", value_delimiter = ',')]
    pub roles: Vec<String>,
    /// Use the sandbox for live keys too, instead of real mail servers
    #[arg(long)]
    pub sandbox: bool,
    /// Open the link of the first start, later the dashboard, in the browser of this machine
    #[arg(long)]
    pub open: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// URL to check; default: /readyz at the first address of `server.listen`
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// Data directory, with the database and the pepper; overrides `server.data`
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
}

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

#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    /// Data directory, with the database and the pepper; overrides `server.data`
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    /// Target, as in `postgres://user:password@host/name`; default: `database.url`, which other users of this machine
    /// cannot see
    #[arg(long, value_name = "URL")]
    pub to: Option<String>,
    /// Make a moved SQLite database usable again; PostgreSQL stays unchanged
    #[arg(long, conflicts_with = "to")]
    pub undo: bool,
    /// Write one JSON object per table; the default if the output is not a terminal
    #[arg(long)]
    pub json: bool,
}
