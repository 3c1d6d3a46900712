//! The command line of the service itself: `serve`, `health`, `migrate`.

use clap::Args;

/// Shown below the help of `serve`.
pub(super) const SERVE_EXAMPLES: &str = "\
Examples:
    probity serve                                    on 127.0.0.1:8080, with its data where `probity config` says
    probity serve --sandbox                          to try everything without port 25
    probity serve --data /srv/probity --listen 0.0.0.0:8080
    probity serve --roles worker,delivery            one of several nodes on one PostgreSQL

The first start prints a live key and a test key, once. SIGTERM or Ctrl-C ends it after requests in flight.";

/// Shown below the help of `health`.
pub(super) const HEALTH_EXAMPLES: &str = "\
Examples:
    probity health                                   asks where server.listen says; for HEALTHCHECK and scripts
    probity health --url http://192.0.2.7:8080/healthz";

/// Shown below the help of `migrate`.
pub(super) const MIGRATE_EXAMPLES: &str = "\
Example:
    PROBITY_DATABASE__URL=postgres://probity@db/probity probity migrate";

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
