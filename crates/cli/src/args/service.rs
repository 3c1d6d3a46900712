//! The command line of the service itself: `serve`, `health`, `migrate`, `master-key`, `move`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Shown below the help of `serve`.
pub(super) const SERVE_EXAMPLES: &str = "\
Examples:
    probity serve                                    on 127.0.0.1:8080, with its data where `probity config` says
    probity serve --sandbox                          to try everything without port 25
    probity serve --data /srv/probity --listen 0.0.0.0:8080
    probity serve --roles worker,delivery            one of several nodes on one PostgreSQL

The first start prints, once, a live key, a test key and the link with which the owner sets a password; it works for a day.
SIGTERM or Ctrl-C ends it after requests in flight.";

/// Shown below the help of `health`.
pub(super) const HEALTH_EXAMPLES: &str = "\
Examples:
    probity health                                   asks where server.listen says; for HEALTHCHECK and scripts
    probity health --url http://192.0.2.7:8080/healthz";

/// Shown below the help of `migrate`.
pub(super) const MIGRATE_EXAMPLES: &str = "\
Example:
    PROBITY_DATABASE__URL=postgres://probity@db/probity probity migrate";

/// Shown below the help of `master-key`.
pub(super) const MASTER_KEY_EXAMPLES: &str = "\
Examples:
    probity master-key new /etc/probity/master.key   then set secrets.master_key_file, and keep a copy elsewhere
    probity master-key rewrap /etc/probity/next.key  with the service stopped; then configure the new one

What was stored before there was a master key stays as it was until it is removed. Without its key a database that was sealed
cannot be served any more.";

/// Shown below the help of `move`.
pub(super) const MOVE_EXAMPLES: &str = "\
Examples:
    PROBITY_DATABASE__URL=postgres://probity:password@db/probity probity move
    probity move --data /srv/probity --to postgres://probity@db/probity
    probity move --undo                              lets the SQLite database be used again

Stop the service first. The PostgreSQL database must be empty. Afterwards it needs the same pepper.";

/// `serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The directory for database and pepper: overrides `server.data`
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    /// Where to listen; several may be given: overrides server.listen
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Vec<String>,
    /// What this node does: any of api, worker, delivery, schedule, with commas; default: all. Overrides server.roles
    #[arg(long, value_name = "ROLE", value_delimiter = ',')]
    pub roles: Vec<String>,
    /// Answers live keys from the simulated mail internet too, instead of asking real servers
    #[arg(long)]
    pub sandbox: bool,
}

/// `health`.
#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// What to ask; default: /readyz where `server.listen` says first
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

/// `migrate`.
#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// The directory for database and pepper: overrides `server.data`
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
}

/// `master-key`.
#[derive(Debug, Subcommand)]
pub(crate) enum MasterKeyCommand {
    /// Makes a master key in a new file, for its owner alone
    New {
        /// Where
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Wraps every organization's data key under another master key, in the place of the configured one
    Rewrap(RewrapArgs),
}

/// `master-key rewrap`.
#[derive(Debug, Args)]
pub(crate) struct RewrapArgs {
    /// The file with the new master key
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The directory for database and pepper: overrides `server.data`
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
}

/// `move`.
#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    /// The directory with the database and the pepper: overrides `server.data`
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    /// Where to, as in `postgres://user:password@host/name`; default: database.url, which other users of this machine do
    /// not see
    #[arg(long, value_name = "URL")]
    pub to: Option<String>,
    /// Lets a SQLite database that was moved be used again; PostgreSQL stays as it is
    #[arg(long, conflicts_with = "to")]
    pub undo: bool,
    /// Writes one JSON object a line for each table (also where the output is no terminal)
    #[arg(long)]
    pub json: bool,
}
