//! The command line.

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
pub(crate) use service::{HealthArgs, MasterKeyCommand, MigrateArgs, MoveArgs, ServeArgs};

/// Shown below every command's help.
const EXIT_CODES: &str = "\
Exit codes:
    0  done; verify: every address passed
    1  verify: some address is undeliverable or risky; doctor: a check failed; health: not ready;
       audit, credits audit: something does not agree
    2  usage, configuration or input is wrong, nothing was asked
    3  verify: nothing failed, but some address could not be determined
    4  nothing could be asked: no network, or port 25 is closed
    5  this machine failed: disk full, no permission, port taken
  130  interrupted; run the batch again to continue";

/// Verdicts about e-mail addresses, by asking their mail servers truthfully, politely and fast.
#[derive(Debug, Parser)]
#[command(name = "probity", version, after_help = EXIT_CODES, max_term_width = 110)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// The configuration file; default: `$PROBITY_CONFIG`, then ~/.config/probity/probity.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Overrides one key of the configuration, as in --set probe.helo=mx1.example.com
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Says more on standard error: -v info, -vv debug, -vvv trace
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Verifies a few addresses
    #[command(after_help = EXIT_CODES)]
    Verify(VerifyArgs),
    /// Verifies a list: CSV, JSON lines or one address a line; an interrupted run continues where it was
    #[command(after_help = EXIT_CODES)]
    Batch(BatchArgs),
    /// Checks whether this machine can verify addresses, and says what to do where it cannot
    #[command(after_help = EXIT_CODES)]
    Doctor(DoctorArgs),
    /// Serves the HTTP API; the first start creates the database and prints the first keys
    #[command(after_help = service::SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Asks a running service whether it is ready
    #[command(after_help = service::HEALTH_EXAMPLES)]
    Health(HealthArgs),
    /// Brings the database up to date; `serve` does it too
    #[command(after_help = service::MIGRATE_EXAMPLES)]
    Migrate(MigrateArgs),
    /// The key under which addresses are sealed at rest
    #[command(subcommand, after_help = service::MASTER_KEY_EXAMPLES)]
    MasterKey(MasterKeyCommand),
    /// Moves an installation from SQLite to PostgreSQL, with all that it knows
    #[command(after_help = service::MOVE_EXAMPLES)]
    Move(MoveArgs),
    /// Organizations: the customers of the service
    #[command(after_help = admin::ORGS_EXAMPLES)]
    Orgs(OrgsArgs),
    /// Plans: what organizations get and may use; they are configured
    Plans(PlansArgs),
    /// Keys of the API
    #[command(after_help = admin::KEYS_EXAMPLES)]
    Keys(KeysArgs),
    /// Credits of organizations
    #[command(after_help = admin::CREDITS_EXAMPLES)]
    Credits(CreditsArgs),
    /// Checks that credits, jobs, results and messages agree; may run beside the service
    #[command(after_help = admin::AUDIT_EXAMPLES)]
    Audit(AuditArgs),
    /// Messages to customers' servers: what was sent, what came of it, sending once more
    #[command(after_help = admin::DELIVERIES_EXAMPLES)]
    Deliveries(DeliveriesArgs),
    /// Erasures: addresses of a customer that are to be nowhere any more
    #[command(after_help = admin::ERASURES_EXAMPLES)]
    Erasures(ErasuresArgs),
    /// Webhooks: customers' servers that are told of what they have subscribed to
    #[command(after_help = admin::WEBHOOKS_EXAMPLES)]
    Webhooks(WebhooksArgs),
    /// Suppression lists: addresses that organizations have had trouble with
    #[command(after_help = admin::SUPPRESSIONS_EXAMPLES)]
    Suppressions(SuppressionsArgs),
    /// Lists that are verified by the service: added, watched, read, downloaded, searched
    #[command(after_help = admin::LISTS_EXAMPLES)]
    Lists(ListsArgs),
    /// What organizations wish: reasons that do not count, words, how long jobs are kept
    #[command(after_help = admin::SETTINGS_EXAMPLES)]
    Settings(SettingsArgs),
    /// What was verified, by period, by day and by mail provider
    #[command(after_help = admin::USAGE_EXAMPLES)]
    Usage(UsageArgs),
    /// What happened in an organization: jobs, changed settings, its account
    #[command(after_help = admin::TIMELINE_EXAMPLES)]
    Timeline(TimelineArgs),
    /// Nodes: the services that share the database, and what each of them holds
    #[command(after_help = admin::NODES_EXAMPLES)]
    Nodes(NodesArgs),
    /// People who sign in to the dashboard: links for those who cannot get in
    #[command(after_help = admin::USERS_EXAMPLES)]
    Users(UsersArgs),
    /// Prints the configuration in force, with a comment on every key
    Config,
    /// A simulated mail internet to try things with
    #[command(subcommand)]
    Sandbox(SandboxCommand),
}

/// How far a command may go.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Reach {
    /// Uses syntax and lists only: no network
    #[arg(long, conflicts_with = "sandbox")]
    pub offline: bool,
    /// Asks a simulated mail internet instead of the real one
    #[arg(long)]
    pub sandbox: bool,
}

/// `verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The addresses; `-` reads more from standard input, one a line
    #[arg(required = true, value_name = "ADDRESS", allow_hyphen_values = false)]
    pub addresses: Vec<String>,
    /// Writes one JSON object a line (also where the output is no terminal)
    #[arg(long)]
    pub json: bool,
    /// Says what each verdict rests on
    #[arg(long)]
    pub explain: bool,
    /// Seconds until an answer is given at the latest, at most 60
    #[arg(long, value_name = "S", default_value = "20", value_parser = seconds)]
    pub timeout: f64,
    /// How far to go.
    #[command(flatten)]
    pub reach: Reach,
}

/// The longest time a live answer may take, in seconds.
const TIMEOUT_MAX_S: f64 = 60.0;

impl VerifyArgs {
    /// The deadline in milliseconds.
    pub(crate) fn timeout_ms(&self) -> u64 {
        let bounded = std::time::Duration::from_secs_f64(self.timeout.min(TIMEOUT_MAX_S));
        u64::try_from(bounded.as_millis()).unwrap_or(u64::MAX).max(1)
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 => Ok(seconds),
        _ => Err("must be a number of seconds above zero".into()),
    }
}

/// The formats of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum Format {
    /// Comma, semicolon, tab or bar separated, with a header or without
    Csv,
    /// One address a line
    Txt,
    /// One JSON object a line
    Jsonl,
}

/// `batch`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line are independent")]
pub(crate) struct BatchArgs {
    /// The list; `-` is standard input
    #[arg(value_name = "INPUT", required_unless_present = "resume")]
    pub input: Option<PathBuf>,
    /// Where results go; default and `-`: standard output
    #[arg(short, long, value_name = "OUTPUT")]
    pub output: Option<PathBuf>,
    /// The column with the addresses: its name, or its number from 1; default: found by name, then by content
    #[arg(long, value_name = "NAME|N")]
    pub column: Option<String>,
    /// The first row of a CSV list is data
    #[arg(long)]
    pub no_header: bool,
    /// The input's format; default: by its name, then by its content
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// The output's format; default: by its name, then that of the input
    #[arg(long, value_enum)]
    pub output_format: Option<Format>,
    /// Where the work file is kept; default: OUTPUT.probity-work
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub work: Option<PathBuf>,
    /// Continues from a work file; the input is not needed any more
    #[arg(long, value_name = "FILE", conflicts_with = "input")]
    pub resume: Option<PathBuf>,
    /// Throws an existing work file away and begins anew
    #[arg(long)]
    pub fresh: bool,
    /// How restrained to be: overrides probe.profile
    #[arg(long, value_name = "polite|open")]
    pub profile: Option<String>,
    /// How long an address may be put off, as in 30m: overrides `probe.patience` and `probe.held_back`
    #[arg(long, value_name = "TIME")]
    pub patience: Option<String>,
    /// Writes our CSV cells as they are; without, those that a spreadsheet would run as a formula get a leading '
    #[arg(long, conflicts_with = "protect_all")]
    pub raw: bool,
    /// Protects the input's own CSV cells too, which changes them
    #[arg(long)]
    pub protect_all: bool,
    /// Goes on where no mail server can be reached
    #[arg(long)]
    pub keep_going: bool,
    /// Says nothing while it works
    #[arg(short, long)]
    pub quiet: bool,
    /// Writes the summary as one JSON object to standard error
    #[arg(long)]
    pub json_summary: bool,
    /// How far to go.
    #[command(flatten)]
    pub reach: Reach,
}

/// `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Writes one JSON object
    #[arg(long)]
    pub json: bool,
    /// Checks the simulated mail internet instead of the real one
    #[arg(long)]
    pub sandbox: bool,
}

/// `sandbox`.
#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Serves the simulated mail internet on loopback, for other programs
    Serve(SandboxServeArgs),
}

/// `sandbox serve`.
#[derive(Debug, Args)]
pub(crate) struct SandboxServeArgs {
    /// Where the name server listens
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5300")]
    pub dns: std::net::SocketAddr,
    /// The port of every mail server
    #[arg(long, value_name = "PORT", default_value_t = 2525)]
    pub smtp_port: u16,
    /// A world to serve instead of the built-in one
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
