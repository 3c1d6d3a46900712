use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Subcommand};
use probity_account::connections::{Aggressiveness, ConnectionAction, KeywordMatch, RuleKind};
use probity_account::overrides::IgnorableReason;

use super::{OrgFlag, meaning, name, one_of};

/// Shown below the help of `integrations`.
pub(super) const INTEGRATIONS_EXAMPLES: &str = "\
Examples:
    probity integrations platforms show ghost                        shows which credentials Ghost needs
    probity integrations connect ghost --credentials ghost.txt
    probity integrations change conn_01h455vb4pex5vsknk084sn02q --action unsubscribe
    probity integrations rules add conn_01h455vb4pex5vsknk084sn02q whitelist example.org --part domain
    probity integrations run conn_01h455vb4pex5vsknk084sn02q --dry-run
    probity integrations runs show conn_01h455vb4pex5vsknk084sn02q job_01h455vb4pex5vsknk084sn02q
    probity integrations runs confirm conn_01h455vb4pex5vsknk084sn02q job_01h455vb4pex5vsknk084sn02q --actions 12

A file with credentials has a line NAME=VALUE for each, or is a JSON object. A running service does the runs.";

/// Value of `--action` for a connection that only verifies.
pub(crate) const NO_ACTION: &str = "none";

#[derive(Debug, Subcommand)]
pub(crate) enum IntegrationsCommand {
    /// List platforms, and show what each needs and can do
    #[command(subcommand)]
    Platforms(PlatformsCommand),
    /// Try credentials at a platform, and create a connection if it accepts them
    Connect(ConnectArgs),
    /// List connections of live keys, then those of test keys
    List(OrgFlag),
    /// Show a connection with its settings, without credentials
    Show(ConnectionArg),
    /// Change settings of a connection; omitted settings stay
    Change(Box<ConnectionChangeArgs>),
    /// Try the stored credentials at the platform
    Test(ConnectionArg),
    /// Ask the platform for its lists, whose IDs `change --lists` takes
    Lists(ConnectionArg),
    /// Disconnect a connection and erase its credentials; the platform is not changed
    Delete(ConnectionArg),
    /// Manage keyword rules: contacts that are never acted upon, or always
    #[command(subcommand)]
    Rules(RulesCommand),
    /// Start a run: a running service reads and verifies all contacts; the first run waits for confirmation before it acts
    Run {
        #[command(flatten)]
        one: ConnectionArg,
        /// Only show what would happen; the run can be confirmed later
        #[arg(long)]
        dry_run: bool,
    },
    /// Show, confirm and cancel runs
    #[command(subcommand)]
    Runs(RunsCommand),
    /// Decide about planned actions one by one
    #[command(subcommand)]
    Review(ReviewCommand),
    /// List contacts whose status changed since a run last verified them, oldest change first
    Changes {
        /// First time of a change, such as 2026-11-23T00:00:00Z [default: all that are stored]
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Maximum number of changes
        #[arg(id = "per_page", long = "limit", value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        limit: u32,
        #[command(flatten)]
        org: OrgFlag,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ConnectionArg {
    /// Connection ID
    #[arg(value_name = "CONNECTION_ID")]
    pub connection: String,
    #[command(flatten)]
    pub org: OrgFlag,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlatformsCommand {
    /// List platforms with what each can do, and the number of connections
    List(OrgFlag),
    /// Show the credentials that a platform needs, its actions, and the connections to it
    Show {
        /// Name of the platform, as listed
        platform: String,
        #[command(flatten)]
        org: OrgFlag,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ConnectArgs {
    /// Name of the platform, as in `platforms list`
    pub platform: String,
    /// File with the credentials: NAME=VALUE lines or a JSON object; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub credentials: PathBuf,
    /// Displayed name; default: name of the account at the platform
    #[arg(long, value_parser = name)]
    pub name: Option<String>,
    /// Create it for test keys: verdicts of the sandbox, and no action ever
    #[arg(long)]
    pub test: bool,
    #[command(flatten)]
    pub org: OrgFlag,
}

/// Settings to change.
#[derive(Debug, Args)]
pub(crate) struct ConnectionChangeArgs {
    #[command(flatten)]
    pub one: ConnectionArg,
    /// Displayed name
    #[arg(long, value_parser = name)]
    pub name: Option<String>,
    /// Action on contacts whose verdict passes the checks; `none`: contacts are only verified
    #[arg(long, value_parser = PossibleValuesParser::new(actions()))]
    pub action: Option<String>,
    /// Preset of checks
    #[arg(long, value_parser = PossibleValuesParser::new(Aggressiveness::ALL.map(Aggressiveness::as_str)))]
    pub aggressiveness: Option<String>,
    /// Additional reasons to act upon, separated by commas
    #[arg(long, value_name = "REASONS", value_delimiter = ',', value_parser = check())]
    pub checks: Vec<String>,
    /// Reasons not to act upon, separated by commas
    #[arg(long, value_name = "REASONS", value_delimiter = ',', value_parser = check())]
    pub no_checks: Vec<String>,
    /// Whether every action waits for a person
    #[arg(long, value_name = "on|off", value_parser = switch())]
    pub manual_mode: Option<bool>,
    /// Whether contacts are verified daily
    #[arg(long, value_name = "on|off", value_parser = switch())]
    pub autofloss: Option<bool>,
    /// Whether contacts are verified again periodically
    #[arg(long, value_name = "on|off", value_parser = switch())]
    pub decay_protection: Option<bool>,
    /// Days within which they are, 7 to 365
    #[arg(long, value_name = "DAYS")]
    pub decay_days: Option<u32>,
    /// Whether new contacts are verified as they arrive
    #[arg(long, value_name = "on|off", value_parser = switch())]
    pub instafloss: Option<bool>,
    /// Whether misspelled addresses are corrected at the platform
    #[arg(long, value_name = "on|off", value_parser = switch())]
    pub fix_typos: Option<bool>,
    /// IDs of the lists to verify, separated by commas; '' for all
    #[arg(long, value_name = "LIST_IDS")]
    pub lists: Option<String>,
    /// Tag for `update_tags`; {status} and {reason} stand for those of the verdict
    #[arg(long)]
    pub tag: Option<String>,
    /// Field for `update_custom_fields`
    #[arg(long)]
    pub field: Option<String>,
    /// File with new credentials, tried first: NAME=VALUE lines or a JSON object; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub credentials: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RuleListArg {
    #[command(flatten)]
    pub one: ConnectionArg,
    /// List of the connection
    #[arg(value_name = "LIST", value_parser = rule_list())]
    pub list: RuleKind,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// List rules, newest first
    List {
        #[command(flatten)]
        of: RuleListArg,
        /// Maximum number of rules
        #[arg(id = "per_page", long = "limit", value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Add rules: all of them, or none if one is wrong
    Add {
        #[command(flatten)]
        of: RuleListArg,
        /// Texts to look for; `-` reads them from standard input, one per line
        #[arg(id = "rules", required = true, value_name = "KEYWORD")]
        keywords: Vec<String>,
        /// Comparison: the part is equal to the text, or contains it
        #[arg(long = "match", value_name = "HOW", default_value = "exact", value_parser = comparison())]
        how: KeywordMatch,
        /// Part of the address to look at; repeatable; default: all
        #[arg(long = "part", value_parser = PossibleValuesParser::new(["localpart", "domain", "email"]))]
        parts: Vec<String>,
    },
    /// Remove a rule
    Remove {
        #[command(flatten)]
        of: RuleListArg,
        /// Rule ID
        #[arg(value_name = "RULE_ID")]
        rule: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RunArg {
    #[command(flatten)]
    pub one: ConnectionArg,
    /// Run ID, which is the job's ID
    #[arg(value_name = "RUN_ID")]
    pub run: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List runs, newest first
    List {
        #[command(flatten)]
        one: ConnectionArg,
        /// Maximum number of runs
        #[arg(id = "per_page", long = "limit", value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show a run with its actions by kind and reason, and the first 20 of them
    Show(RunArg),
    /// Let a run that waits do its planned actions; unsubscribing, deleting and correcting cannot be undone
    Confirm {
        #[command(flatten)]
        one: RunArg,
        /// Number of planned actions, as shown; for any other number nothing happens
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
        actions: i64,
    },
    /// Cancel a run; actions that were done stay done
    Cancel(RunArg),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReviewCommand {
    /// List planned actions of runs that wait
    List {
        #[command(flatten)]
        one: ConnectionArg,
        /// Maximum number of actions
        #[arg(id = "per_page", long = "limit", value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Decide about planned actions of a run; those to be done are done at once
    Decide {
        #[command(flatten)]
        one: RunArg,
        /// Decision
        #[arg(value_name = "DECISION", value_parser = PossibleValuesParser::new(decisions()))]
        decision: String,
        /// Rows of the actions, as listed
        #[arg(id = "decisions", required = true, value_name = "ROW", value_parser = clap::value_parser!(i64).range(0..))]
        rows: Vec<i64>,
    },
}

fn actions() -> Vec<PossibleValue> {
    let own = ConnectionAction::ALL.map(ConnectionAction::as_str).map(PossibleValue::new);
    own.into_iter().chain([meaning(NO_ACTION, "only verify")]).collect()
}

fn check() -> PossibleValuesParser {
    PossibleValuesParser::new(IgnorableReason::ALL.map(IgnorableReason::as_str))
}

fn switch() -> impl clap::builder::TypedValueParser<Value = bool> {
    one_of(["on", "off"], |name| Some(name == "on"))
}

fn rule_list() -> impl clap::builder::TypedValueParser<Value = RuleKind> {
    let names = [
        meaning(RuleKind::Blacklist.as_str(), "contacts to act upon, whatever their verdict"),
        meaning(RuleKind::Whitelist.as_str(), "contacts that are never acted upon"),
    ];
    one_of(names, |name| name.parse().ok())
}

fn comparison() -> impl clap::builder::TypedValueParser<Value = KeywordMatch> {
    one_of(["exact", "contains"], |name| match name {
        "exact" => Some(KeywordMatch::Exact),
        _ => Some(KeywordMatch::Contains),
    })
}

fn decisions() -> [PossibleValue; 3] {
    [
        meaning("act", "do it"),
        meaning("ignore", "do not do it in this run"),
        meaning("whitelist", "the verdict is wrong: add a whitelist rule for the address"),
    ]
}
