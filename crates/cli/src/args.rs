mod admin;
pub(crate) mod manual;
mod service;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

pub(crate) use admin::{
    AdminCommand, ConnectArgs, ConnectionArg, ConnectionChangeArgs, CreditsCommand, DeliveriesCommand, DeliveryArg,
    DownloadArgs, ErasuresCommand, IntegrationsCommand, KeysCommand, ListArg, ListsCommand, MemberArg, NO_ACTION,
    NewKeyArgs, NewListArgs, OrgChangeArgs, OrgFlag, OrgsCommand, OutcomeForm, OutcomeSourcesCommand, OutcomesCommand,
    PlatformsCommand, RestrictionArgs, ResultsFormat, ReviewCommand, RowsArgs, RuleListArg, RulesCommand, RunArg,
    RunsCommand, SettingsChange, SettingsCommand, SsoCommand, SuppressionArgs, SuppressionsCommand, TimelineArgs,
    UsageCommand, UsersCommand, WebhookArg, WebhooksCommand,
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

/// ID of `--set`.
const SET: &str = "set";

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
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Increase log verbosity: -v info, -vv debug, -vvv trace
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,

    /// Arguments of the innermost command: ID, and name as users see it. The ID of an argument that sets a field of the API is the
    /// field's name.
    #[arg(skip)]
    pub arguments: Vec<(String, String)>,
}

impl Cli {
    /// Returns the command with `--set` at each level. A global flag would lose what stands before a subcommand if the flag also
    /// stands after it.
    pub(crate) fn complete_command() -> clap::Command {
        let command = Self::command();
        let set = command.get_arguments().find(|arg| arg.get_id() == SET).expect("it is declared above").clone();
        with_argument(command, &set)
    }

    /// Parses a command line.
    pub(crate) fn parse_line(line: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Self, clap::Error> {
        let mut command = Self::complete_command();
        let matches = command.try_get_matches_from_mut(line)?;
        let arguments = arguments(&command, &matches);
        Ok(Self { set: overrides(&matches), arguments, ..Self::from_arg_matches(&matches)? })
    }
}

/// Adds an argument to all commands below a command.
fn with_argument(command: clap::Command, arg: &Arg) -> clap::Command {
    command.mut_subcommands(|below| with_argument(below.arg(arg), arg))
}

/// Returns the values of `--set` from the outermost command inwards.
fn overrides(matches: &ArgMatches) -> Vec<String> {
    let own = matches.get_many(SET).into_iter().flatten().cloned();
    own.chain(matches.subcommand().into_iter().flat_map(|(_, below)| overrides(below))).collect()
}

/// Returns the arguments of the innermost command that was given.
fn arguments(command: &clap::Command, matches: &ArgMatches) -> Vec<(String, String)> {
    let inner = matches.subcommand().and_then(|(name, inner)| Some((command.find_subcommand(name)?, inner)));
    if let Some((command, matches)) = inner {
        return arguments(command, matches);
    }
    let shown = |arg: &Arg| match arg.get_long() {
        Some(long) => format!("--{long}"),
        None => arg.get_value_names().unwrap_or_default().concat(),
    };
    command.get_arguments().map(|arg| (arg.get_id().to_string(), shown(arg))).collect()
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
    #[command(flatten)]
    Admin(AdminCommand),
    /// Print the effective configuration, with a comment on every key
    Config,
    /// List and check connectors, the files that describe newsletter platforms
    #[command(subcommand, after_help = CONNECTORS_EXAMPLES)]
    Connectors(ConnectorsCommand),
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

/// Shown below the help of `connectors`.
const CONNECTORS_EXAMPLES: &str = "\
Examples:
    probity connectors list
    probity connectors check /etc/probity/connectors/acme.toml";

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

#[derive(Debug, Subcommand)]
pub(crate) enum ConnectorsCommand {
    /// List the platforms and what each can do
    List {
        /// Directory with connectors of your own, instead of `integrations.directory`
        #[arg(long, value_name = "DIR")]
        directory: Option<PathBuf>,
    },
    /// Check a connector's file: show what is wrong and where, else what the platform can do
    Check {
        /// File to check
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Limits on what a command may contact.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ReachArgs {
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
    pub reach: ReachArgs,
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
pub(crate) enum ListFormat {
    /// Separated by comma, semicolon, tab or bar, with or without a header
    Csv,
    /// One address per line
    Txt,
    /// One JSON object per line
    Jsonl,
}

/// Formats of a batch's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum OutputFormat {
    /// Columns as in the input, or the address, before those of the verdict
    Csv,
    /// One line per row
    Txt,
    /// One JSON object per line
    Jsonl,
    /// Workbook with a sheet of the rows and one of their figures
    Xlsx,
}

impl From<ListFormat> for OutputFormat {
    fn from(format: ListFormat) -> Self {
        match format {
            ListFormat::Csv => Self::Csv,
            ListFormat::Txt => Self::Txt,
            ListFormat::Jsonl => Self::Jsonl,
        }
    }
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
    pub format: Option<ListFormat>,
    /// Output format; default: detected by file name, else the format of the input, where standard output gets CSV for a workbook
    #[arg(long, value_enum)]
    pub output_format: Option<OutputFormat>,
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
    pub reach: ReachArgs,
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
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::complete_command().debug_assert();
    }

    #[test]
    fn keys_are_overridden_on_each_side_of_a_command() {
        let set = |line: &str| Cli::parse_line(line.split(' ')).unwrap().set;
        assert_eq!(set("probity --set a=1 --set b=2 config"), ["a=1", "b=2"]);
        assert_eq!(set("probity config --set a=1"), ["a=1"]);
        assert_eq!(set("probity --set a=1 orgs --set b=2 list --set c=3"), ["a=1", "b=2", "c=3"]);
    }

    #[test]
    fn deadlines_are_bounded() {
        let timeout = |text: &str| match Cli::parse_line(["probity", "verify", "a@b.org", "--timeout", text]) {
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
