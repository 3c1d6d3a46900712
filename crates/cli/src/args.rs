//! The command line: its commands, each with the arguments that its own module declares.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;

use crate::admin::{AdminCommand, one_of};
use crate::batch::BatchArgs;
use crate::exit::Exit;
use crate::operation::{backup, health, master_key, moving, serve};
use crate::{connectors, doctor, output, sandbox, verify};

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
    Verify(verify::VerifyArgs),
    /// Verify a list (CSV, JSON lines or one address per line); repeat the command to continue an interrupted run
    #[command(after_help = EXIT_CODES)]
    Batch(BatchArgs),
    /// Check whether this machine can verify addresses, and show how to fix problems
    #[command(after_help = EXIT_CODES)]
    Doctor(doctor::DoctorArgs),
    /// Serve the HTTP API; the first start creates the database and prints the first keys
    #[command(after_help = serve::SERVE_EXAMPLES)]
    Serve(serve::ServeArgs),
    /// Check whether a running service is ready
    #[command(after_help = health::HEALTH_EXAMPLES)]
    Health(health::HealthArgs),
    /// Migrate the database to this version; `serve` does this when it starts
    #[command(after_help = serve::MIGRATE_EXAMPLES)]
    Migrate(serve::MigrateArgs),
    /// Manage the key that encrypts addresses at rest
    #[command(subcommand, after_help = master_key::MASTER_KEY_EXAMPLES)]
    MasterKey(master_key::MasterKeyCommand),
    /// Move an installation from SQLite to PostgreSQL
    #[command(after_help = moving::MOVE_EXAMPLES)]
    Move(moving::MoveArgs),
    /// Back up an installation on SQLite, also while the service runs
    #[command(after_help = backup::BACKUP_EXAMPLES)]
    Backup(backup::BackupArgs),
    /// Restore a backup while the service is stopped
    #[command(after_help = backup::RESTORE_EXAMPLES)]
    Restore(backup::RestoreArgs),
    #[command(flatten)]
    Admin(AdminCommand),
    /// Print the effective configuration, with a comment on every key
    Config,
    /// List and check connectors, the files that describe email platforms
    #[command(subcommand, after_help = connectors::CONNECTORS_EXAMPLES)]
    Connectors(connectors::ConnectorsCommand),
    /// Print completions for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// Shell to complete for
        #[arg(value_parser = one_of(["bash", "zsh", "fish"], |name| name.parse::<Shell>().ok()))]
        shell: Shell,
    },
    /// Write a manual page for each command
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// Directory for the pages
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Print what is built into the program, with the license of each part
    Licenses,
    /// Run the sandbox, a simulated mail internet
    #[command(subcommand)]
    Sandbox(sandbox::SandboxCommand),
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

/// Prints completions for a shell, from the same source as `--help`.
pub(crate) fn print_completions(shell: Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::complete_command(), "probity", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// Writes manual pages, from the same source as `--help`.
pub(crate) fn write_manual(directory: &Path) -> Result<Exit> {
    let written =
        std::fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(Cli::complete_command(), directory));
    written.with_context(|| format!("cannot write to {}", directory.display()))?;
    Ok(Exit::Done)
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
