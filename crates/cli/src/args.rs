mod admin;
mod service;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

pub(crate) use admin::{
    AuditArgs, CreditsArgs, CreditsCommand, DeliveriesArgs, DeliveriesCommand, DownloadArgs, ErasuresArgs,
    ErasuresCommand, Hold, KeysArgs, KeysCommand, ListsArgs, ListsCommand, NewKeyArgs, NewListArgs, NodesArgs,
    OnePerson, OrgChangeArgs, OrgsArgs, OrgsCommand, PlansArgs, ResultsFormat, RowsArgs, SettingsArgs, SettingsChange,
    SettingsCommand, SuppressionsArgs, SuppressionsCommand, TheseAddresses, TimelineArgs, UsageArgs, UsageCommand,
    UsersArgs, UsersCommand, WebhooksArgs, WebhooksCommand,
};
pub(crate) use service::{BackupArgs, HealthArgs, MasterKeyCommand, MigrateArgs, MoveArgs, RestoreArgs, ServeArgs};

/// Shown below every command's help.
const EXIT_CODES: &str = "\
Exit codes:
    0  success; verify: every address passed
    1  verify: an address is undeliverable or risky; doctor: a check failed; health: not ready;
       audit, credits audit: there are discrepancies
    2  usage, configuration or input is wrong; nothing was probed
    3  verify: no address failed, but at least one is unknown
    4  nothing could be probed: no network, or port 25 is closed
    5  this machine failed: disk full, no permission, port taken
  130  interrupted; repeat the command to continue the batch";

/// Verify email addresses
#[derive(Debug, Parser)]
#[command(name = "probity", version, after_help = EXIT_CODES, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,

    /// Configuration file; default: `$PROBITY_CONFIG`, then ~/.config/probity/probity.toml, then /etc/probity/probity.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Override a configuration key, as in --set probe.helo=mx1.example.com; repeatable
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Increase log verbosity: -v info, -vv debug, -vvv trace
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Verify addresses
    #[command(after_help = EXIT_CODES)]
    Verify(VerifyArgs),
    /// Verify a list (CSV, JSON lines or one address per line); repeat the command to continue an interrupted run
    #[command(after_help = EXIT_CODES)]
    Batch(BatchArgs),
    /// Check whether this machine can verify addresses, and show how to fix problems
    #[command(after_help = EXIT_CODES)]
    Doctor(DoctorArgs),
    /// Serve the HTTP API; the first start creates the database and prints the first keys
    #[command(after_help = service::SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Check whether a running service is ready
    #[command(after_help = service::HEALTH_EXAMPLES)]
    Health(HealthArgs),
    /// Migrate the database to this version; `serve` does this when it starts
    #[command(after_help = service::MIGRATE_EXAMPLES)]
    Migrate(MigrateArgs),
    /// Manage the key that encrypts addresses at rest
    #[command(subcommand, after_help = service::MASTER_KEY_EXAMPLES)]
    MasterKey(MasterKeyCommand),
    /// Move an installation from SQLite to PostgreSQL
    #[command(after_help = service::MOVE_EXAMPLES)]
    Move(MoveArgs),
    /// Back up an installation on SQLite, also while the service runs
    #[command(after_help = service::BACKUP_EXAMPLES)]
    Backup(BackupArgs),
    /// Restore a backup while the service is stopped
    #[command(after_help = service::RESTORE_EXAMPLES)]
    Restore(RestoreArgs),
    /// Manage organizations, the customers of the service
    #[command(after_help = admin::ORGS_EXAMPLES)]
    Orgs(OrgsArgs),
    /// List the configured plans
    Plans(PlansArgs),
    /// Manage API keys
    #[command(after_help = admin::KEYS_EXAMPLES)]
    Keys(KeysArgs),
    /// Manage the credits of organizations
    #[command(after_help = admin::CREDITS_EXAMPLES)]
    Credits(CreditsArgs),
    /// Check that credits, jobs, results and completion events agree; can run beside the service
    #[command(after_help = admin::AUDIT_EXAMPLES)]
    Audit(AuditArgs),
    /// List, show and resend deliveries to customers' servers
    #[command(after_help = admin::DELIVERIES_EXAMPLES)]
    Deliveries(DeliveriesArgs),
    /// Erase addresses
    #[command(after_help = admin::ERASURES_EXAMPLES)]
    Erasures(ErasuresArgs),
    /// Manage webhooks
    #[command(after_help = admin::WEBHOOKS_EXAMPLES)]
    Webhooks(WebhooksArgs),
    /// Manage suppression lists
    #[command(after_help = admin::SUPPRESSIONS_EXAMPLES)]
    Suppressions(SuppressionsArgs),
    /// Add, show, download, search and cancel lists that the service verifies
    #[command(after_help = admin::LISTS_EXAMPLES)]
    Lists(ListsArgs),
    /// Manage organization settings
    #[command(after_help = admin::SETTINGS_EXAMPLES)]
    Settings(SettingsArgs),
    /// Show verifications by period, by day and by mail provider
    #[command(after_help = admin::USAGE_EXAMPLES)]
    Usage(UsageArgs),
    /// Show the events of an organization: jobs, changed settings, account
    #[command(after_help = admin::TIMELINE_EXAMPLES)]
    Timeline(TimelineArgs),
    /// List the nodes that share the database, and the work and leases of each
    #[command(after_help = admin::NODES_EXAMPLES)]
    Nodes(NodesArgs),
    /// Manage team members, their sessions and sign-in links
    #[command(after_help = admin::USERS_EXAMPLES)]
    Users(UsersArgs),
    /// Print the effective configuration, with a comment on every key
    Config,
    /// Print completions for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// Shell to complete for
        #[arg(value_enum)]
        shell: CompletedShell,
    },
    /// Write a manual page for each command
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// Directory for the pages
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Run the sandbox, a simulated mail internet
    #[command(subcommand)]
    Sandbox(SandboxCommand),
}

/// Shown below the help of `completions`.
const COMPLETIONS_EXAMPLES: &str = "\
Examples:
    probity completions bash > ~/.local/share/bash-completion/completions/probity
    probity completions zsh > \"${fpath[1]}/_probity\"
    probity completions fish > ~/.config/fish/completions/probity.fish";

/// Shown below the help of `man`.
const MAN_EXAMPLES: &str = "\
Example:
    probity man ~/.local/share/man/man1              then: man probity, man probity-batch";

/// Shells with completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompletedShell {
    Bash,
    Zsh,
    Fish,
}

/// Limits on what a command may contact.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Reach {
    /// Use only syntax and built-in lists, without a network
    #[arg(long, conflicts_with = "sandbox")]
    pub offline: bool,
    /// Use the sandbox, a simulated mail internet
    #[arg(long)]
    pub sandbox: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Addresses; `-` reads more from standard input, one per line
    #[arg(required = true, value_name = "ADDRESS", allow_hyphen_values = false)]
    pub addresses: Vec<String>,
    /// Write one JSON object per line; the default if the output is not a terminal
    #[arg(long)]
    pub json: bool,
    /// Show the evidence for each verdict
    #[arg(long)]
    pub explain: bool,
    /// Time limit per address in seconds, at most 60
    #[arg(long, value_name = "S", default_value = "20", value_parser = seconds)]
    pub timeout: f64,
    #[command(flatten)]
    pub reach: Reach,
}

/// Maximum time limit of a live verification, in seconds.
const TIMEOUT_MAX_S: f64 = 60.0;

impl VerifyArgs {
    pub(crate) fn timeout_ms(&self) -> u64 {
        let bounded = std::time::Duration::from_secs_f64(self.timeout.min(TIMEOUT_MAX_S));
        u64::try_from(bounded.as_millis()).unwrap_or(u64::MAX).max(1)
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 => Ok(seconds),
        _ => Err("must be a number of seconds above 0".into()),
    }
}

/// List formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum Format {
    /// Separated by comma, semicolon, tab or bar, with or without a header
    Csv,
    /// One address per line
    Txt,
    /// One JSON object per line
    Jsonl,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line are independent")]
pub(crate) struct BatchArgs {
    /// List to verify; `-` is standard input
    #[arg(value_name = "INPUT", required_unless_present = "resume")]
    pub input: Option<PathBuf>,
    /// Output file; default and `-`: standard output
    #[arg(short, long, value_name = "OUTPUT")]
    pub output: Option<PathBuf>,
    /// Column with the addresses, by name or by number from 1; default: detected by name, then by content
    #[arg(long, value_name = "NAME|N")]
    pub column: Option<String>,
    /// Treat the first row of a CSV list as data
    #[arg(long)]
    pub no_header: bool,
    /// Input format; default: detected by file name, then by content
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Output format; default: detected by file name, else the format of the input
    #[arg(long, value_enum)]
    pub output_format: Option<Format>,
    /// Work file; default: OUTPUT.probity-work
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub work: Option<PathBuf>,
    /// Continue from a work file, without the input
    #[arg(long, value_name = "FILE", conflicts_with = "input")]
    pub resume: Option<PathBuf>,
    /// Discard the work file and restart
    #[arg(long)]
    pub fresh: bool,
    /// End an interrupted batch without further probes: rows without a verdict become `unknown`
    #[arg(long, conflicts_with = "fresh")]
    pub finish: bool,
    /// Probing profile; overrides `probe.profile`
    #[arg(long, value_name = "polite|open")]
    pub profile: Option<String>,
    /// Maximum time that an address may stay deferred, as in 30m; overrides `probe.patience` and `probe.held_back`
    #[arg(long, value_name = "TIME")]
    pub patience: Option<String>,
    /// Write the appended CSV cells unprotected; by default, cells that a spreadsheet would run as a formula get a leading '
    #[arg(long, conflicts_with = "protect_all")]
    pub raw: bool,
    /// Protect the input's own CSV cells too, which changes them
    #[arg(long)]
    pub protect_all: bool,
    /// Continue if no mail server is reachable
    #[arg(long)]
    pub keep_going: bool,
    /// Show no notes, progress or summary
    #[arg(short, long)]
    pub quiet: bool,
    /// Write the summary to standard error as one JSON object
    #[arg(long)]
    pub json_summary: bool,
    #[command(flatten)]
    pub reach: Reach,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Write one JSON object
    #[arg(long)]
    pub json: bool,
    /// Check the sandbox instead of the real internet
    #[arg(long)]
    pub sandbox: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Serve the sandbox on loopback, for other programs
    Serve(SandboxServeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SandboxServeArgs {
    /// Listen address of the name server
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5300")]
    pub dns: std::net::SocketAddr,
    /// Port of all MX hosts
    #[arg(long, value_name = "PORT", default_value_t = 2525)]
    pub smtp_port: u16,
    /// World to serve; default: the built-in one
    #[arg(long, value_name = "FILE")]
    pub world: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn deadlines_are_bounded() {
        let timeout = |text: &str| match Cli::try_parse_from(["probity", "verify", "a@b.org", "--timeout", text]) {
            Ok(Cli { command: Command::Verify(args), .. }) => Some(args.timeout_ms()),
            _ => None,
        };
        assert_eq!(timeout("2.5"), Some(2_500));
        assert_eq!(timeout("600"), Some(60_000));
        for wrong in ["0", "-1", "x", "inf", "NaN"] {
            assert_eq!(timeout(wrong), None, "{wrong}");
        }
    }
}
