//! Administration from the command line: organizations with their plans, keys, credits and users, and what an organization does
//! itself in the dashboard: lists, settings, reports, connections to newsletter platforms.
//!
//! A command calls an act of the service as the operator, and prints the answer: a table on a terminal, otherwise one JSON object
//! per line, as the API shows it. Each module has the commands of one subject: their arguments, the columns of their tables, and a
//! `match` of arguments, act and view. IDs are text here; the acts check whether they exist.

mod credits;
mod deliveries;
mod erasures;
mod flags;
mod installation;
mod integrations;
mod keys;
mod lists;
mod operator;
mod orgs;
mod reports;
mod settings;
mod suppressions;
mod users;
mod webhooks;

use std::sync::Arc;

use anyhow::Result;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use probity_account::name::NameFault;
use probity_service::app::App;

use crate::config::Settings;
use crate::exit::Exit;
use crate::output::Style;
use crate::output::printout::Printout;
use crate::{log, output, service};

/// The administration commands.
#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// Manage organizations, the customers of the service
    #[command(after_help = orgs::ORGS_EXAMPLES)]
    Orgs(Subject<orgs::OrgsCommand>),
    /// List the configured plans
    Plans(AdminOptions),
    /// Manage API keys
    #[command(after_help = keys::KEYS_EXAMPLES)]
    Keys(Subject<keys::KeysCommand>),
    /// Manage the credits of organizations
    #[command(after_help = credits::CREDITS_EXAMPLES)]
    Credits(Subject<credits::CreditsCommand>),
    /// Check that credits, jobs, results and completion events agree; can run beside the service
    #[command(after_help = installation::AUDIT_EXAMPLES)]
    Audit(AdminOptions),
    /// List, show and resend deliveries to customers' servers
    #[command(after_help = deliveries::DELIVERIES_EXAMPLES)]
    Deliveries(Subject<deliveries::DeliveriesCommand>),
    /// Erase addresses
    #[command(after_help = erasures::ERASURES_EXAMPLES)]
    Erasures(Subject<erasures::ErasuresCommand>),
    /// Manage webhooks
    #[command(after_help = webhooks::WEBHOOKS_EXAMPLES)]
    Webhooks(Subject<webhooks::WebhooksCommand>),
    /// Connect newsletter platforms: verify their contacts, and unsubscribe, delete or tag those with bad verdicts
    #[command(after_help = integrations::INTEGRATIONS_EXAMPLES)]
    Integrations(Subject<integrations::IntegrationsCommand>),
    /// Manage suppression lists
    #[command(after_help = suppressions::SUPPRESSIONS_EXAMPLES)]
    Suppressions(Subject<suppressions::SuppressionsCommand>),
    /// Import what became of sent mail
    #[command(after_help = suppressions::outcomes::OUTCOMES_EXAMPLES)]
    Outcomes(Subject<suppressions::outcomes::OutcomesCommand>),
    /// Add, show, download, search and cancel lists that the service verifies
    #[command(after_help = lists::LISTS_EXAMPLES)]
    Lists(Subject<lists::ListsCommand>),
    /// Manage organization settings
    #[command(after_help = settings::SETTINGS_EXAMPLES)]
    Settings(Subject<settings::SettingsCommand>),
    /// Show verifications by period, by day and by mail provider
    #[command(after_help = reports::USAGE_EXAMPLES)]
    Usage(Subject<reports::UsageCommand>),
    /// Show the events of an organization: jobs, changed settings, account
    #[command(after_help = reports::TIMELINE_EXAMPLES)]
    Timeline(reports::TimelineArgs),
    /// List the nodes that share the database, and the work and leases of each
    #[command(after_help = installation::NODES_EXAMPLES)]
    Nodes(AdminOptions),
    /// Manage team members, their sessions and sign-in links
    #[command(after_help = users::USERS_EXAMPLES)]
    Users(Subject<users::UsersCommand>),
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
pub(crate) fn one_of<T: Clone + Send + Sync + 'static>(
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

/// Runs a command and prints its answer.
///
/// A refusal of a field names the argument that sets it; `arguments` are those of [`crate::args::Cli`].
pub(crate) async fn run(command: &AdminCommand, arguments: &[(String, String)], settings: &Settings) -> Result<Exit> {
    let answer = service::administer(settings, command).await;
    let answer = answer.map_err(|error| flags::name_flag(command, arguments, operator::explain(error)))?;
    let text = answer.render(Style::choose(command.options().json))?;
    output::print(&text)?;
    if let Some(note) = answer.note() {
        log::say(note);
    }
    Ok(answer.exit())
}

/// Calls the act of a command.
pub(crate) async fn call_act(app: &Arc<App>, command: &AdminCommand) -> Result<Printout> {
    match command {
        AdminCommand::Orgs(args) => orgs::run(app, &args.command).await,
        AdminCommand::Plans(_) => installation::show_plans(app),
        AdminCommand::Keys(args) => keys::run(app, &args.command).await,
        AdminCommand::Credits(args) => credits::run(app, &args.command).await,
        AdminCommand::Audit(_) => installation::audit(app).await,
        AdminCommand::Deliveries(args) => deliveries::run(app, &args.command).await,
        AdminCommand::Erasures(args) => erasures::run(app, &args.command).await,
        AdminCommand::Webhooks(args) => webhooks::run(app, &args.command).await,
        AdminCommand::Integrations(args) => integrations::run(app, &args.command).await,
        AdminCommand::Suppressions(args) => suppressions::run(app, &args.command).await,
        AdminCommand::Outcomes(args) => suppressions::outcomes::run(app, &args.command).await,
        AdminCommand::Lists(args) => lists::run(app, &args.command).await,
        AdminCommand::Settings(args) => settings::run(app, &args.command).await,
        AdminCommand::Usage(args) => reports::usage(app, &args.command).await,
        AdminCommand::Timeline(args) => reports::timeline(app, args).await,
        AdminCommand::Nodes(_) => installation::show_nodes(app).await,
        AdminCommand::Users(args) => users::run(app, &args.command).await,
    }
}

/// Reports whether a command forecasts, which needs an engine with this machine's configuration.
pub(crate) fn needs_engine(command: &AdminCommand) -> bool {
    matches!(command, AdminCommand::Lists(Subject { command: lists::ListsCommand::Add(args), .. }) if args.forecast)
}

#[cfg(test)]
mod tests {
    //! Arguments to what acts are asked, and answers to text.

    mod parsing;
    mod shown;

    const ORG: &str = "org_01h455vb4pex5vsknk084sn02q";
}
