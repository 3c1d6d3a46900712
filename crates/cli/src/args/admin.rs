//! Arguments of the administration commands, one module per command. This module has the options that all of them share.

mod credits;
mod deliveries;
mod erasures;
mod installation;
mod integrations;
mod keys;
mod lists;
mod moment;
mod orgs;
mod outcomes;
mod reports;
mod settings;
mod suppressions;
mod users;
mod webhooks;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use credits::CREDITS_EXAMPLES;
use deliveries::DELIVERIES_EXAMPLES;
use erasures::ERASURES_EXAMPLES;
use installation::{AUDIT_EXAMPLES, NODES_EXAMPLES};
use integrations::INTEGRATIONS_EXAMPLES;
use keys::KEYS_EXAMPLES;
use lists::LISTS_EXAMPLES;
use orgs::ORGS_EXAMPLES;
use outcomes::OUTCOMES_EXAMPLES;
use probity_account::name::NameFault;
use reports::{TIMELINE_EXAMPLES, USAGE_EXAMPLES};
use settings::SETTINGS_EXAMPLES;
use suppressions::SUPPRESSIONS_EXAMPLES;
use users::USERS_EXAMPLES;
use webhooks::WEBHOOKS_EXAMPLES;

pub(crate) use credits::CreditsCommand;
pub(crate) use deliveries::{DeliveriesCommand, DeliveryArg};
pub(crate) use erasures::ErasuresCommand;
pub(crate) use integrations::{
    ConnectArgs, ConnectionArg, ConnectionChangeArgs, IntegrationsCommand, NO_ACTION, PlatformsCommand, ReviewCommand,
    RuleListArg, RulesCommand, RunArg, RunsCommand,
};
pub(crate) use keys::{KeysCommand, NewKeyArgs};
pub(crate) use lists::{DownloadArgs, ListArg, ListsCommand, NewListArgs, ResultsFormat, RowsArgs};
pub(crate) use orgs::{OrgChangeArgs, OrgsCommand, RestrictionArgs, SsoCommand};
pub(crate) use outcomes::{OutcomeForm, OutcomeSourcesCommand, OutcomesCommand};
pub(crate) use reports::{TimelineArgs, UsageCommand};
pub(crate) use settings::{SettingsChange, SettingsCommand};
pub(crate) use suppressions::{SuppressionArgs, SuppressionsCommand};
pub(crate) use users::{MemberArg, UsersCommand};
pub(crate) use webhooks::{WebhookArg, WebhooksCommand};

/// The administration commands.
#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// Manage organizations, the customers of the service
    #[command(after_help = ORGS_EXAMPLES)]
    Orgs(Subject<OrgsCommand>),
    /// List the configured plans
    Plans(AdminOptions),
    /// Manage API keys
    #[command(after_help = KEYS_EXAMPLES)]
    Keys(Subject<KeysCommand>),
    /// Manage the credits of organizations
    #[command(after_help = CREDITS_EXAMPLES)]
    Credits(Subject<CreditsCommand>),
    /// Check that credits, jobs, results and completion events agree; can run beside the service
    #[command(after_help = AUDIT_EXAMPLES)]
    Audit(AdminOptions),
    /// List, show and resend deliveries to customers' servers
    #[command(after_help = DELIVERIES_EXAMPLES)]
    Deliveries(Subject<DeliveriesCommand>),
    /// Erase addresses
    #[command(after_help = ERASURES_EXAMPLES)]
    Erasures(Subject<ErasuresCommand>),
    /// Manage webhooks
    #[command(after_help = WEBHOOKS_EXAMPLES)]
    Webhooks(Subject<WebhooksCommand>),
    /// Connect newsletter platforms: verify their contacts, and unsubscribe, delete or tag those with bad verdicts
    #[command(after_help = INTEGRATIONS_EXAMPLES)]
    Integrations(Subject<IntegrationsCommand>),
    /// Manage suppression lists
    #[command(after_help = SUPPRESSIONS_EXAMPLES)]
    Suppressions(Subject<SuppressionsCommand>),
    /// Import what became of sent mail
    #[command(after_help = OUTCOMES_EXAMPLES)]
    Outcomes(Subject<OutcomesCommand>),
    /// Add, show, download, search and cancel lists that the service verifies
    #[command(after_help = LISTS_EXAMPLES)]
    Lists(Subject<ListsCommand>),
    /// Manage organization settings
    #[command(after_help = SETTINGS_EXAMPLES)]
    Settings(Subject<SettingsCommand>),
    /// Show verifications by period, by day and by mail provider
    #[command(after_help = USAGE_EXAMPLES)]
    Usage(Subject<UsageCommand>),
    /// Show the events of an organization: jobs, changed settings, account
    #[command(after_help = TIMELINE_EXAMPLES)]
    Timeline(TimelineArgs),
    /// List the nodes that share the database, and the work and leases of each
    #[command(after_help = NODES_EXAMPLES)]
    Nodes(AdminOptions),
    /// Manage team members, their sessions and sign-in links
    #[command(after_help = USERS_EXAMPLES)]
    Users(Subject<UsersCommand>),
}

impl AdminCommand {
    pub(crate) fn options(&self) -> &AdminOptions {
        match self {
            Self::Plans(options) | Self::Audit(options) | Self::Nodes(options) => options,
            Self::Orgs(args) => &args.options,
            Self::Keys(args) => &args.options,
            Self::Credits(args) => &args.options,
            Self::Deliveries(args) => &args.options,
            Self::Erasures(args) => &args.options,
            Self::Webhooks(args) => &args.options,
            Self::Integrations(args) => &args.options,
            Self::Suppressions(args) => &args.options,
            Self::Outcomes(args) => &args.options,
            Self::Lists(args) => &args.options,
            Self::Settings(args) => &args.options,
            Self::Usage(args) => &args.options,
            Self::Timeline(args) => &args.options,
            Self::Users(args) => &args.options,
        }
    }
}

/// Commands about one subject.
#[derive(Debug, Args)]
pub(crate) struct Subject<C: Subcommand> {
    #[command(flatten)]
    pub options: AdminOptions,
    #[command(subcommand)]
    pub command: C,
}

/// Options of all administration commands.
#[derive(Debug, Args)]
pub(crate) struct AdminOptions {
    /// Data directory, with the database and the pepper; overrides `server.data`
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<String>,
    /// Write one JSON object per line; the default if the output is not a terminal
    #[arg(long, global = true)]
    pub json: bool,
}

/// Organization of a command; most installations have only one.
#[derive(Debug, Args)]
pub(crate) struct OrgFlag {
    /// Organization ID; default: the only one
    #[arg(long, value_name = "ORG")]
    pub org: Option<String>,
}

/// Accepts names, and reads what they name.
fn one_of<T: Clone + Send + Sync + 'static>(
    names: impl IntoIterator<Item = impl Into<PossibleValue>>,
    read: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).map(move |name| read(&name).expect("each possible value names something"))
}

/// A name with its meaning, for the help.
fn meaning(name: &'static str, means: &'static str) -> PossibleValue {
    PossibleValue::new(name).help(means)
}

/// Checks a name as the API does.
fn name(text: &str) -> Result<String, NameFault> {
    probity_account::name::name(text).map(str::to_owned)
}
