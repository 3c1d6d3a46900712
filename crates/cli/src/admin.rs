//! Administration from the command line: organizations with their plans, keys, credits and users, and acts that the dashboard
//! offers an organization: lists, settings, reports, connections to email platforms.
//!
//! A command calls an act of the service as the operator, and prints the result: a table on a terminal, otherwise one JSON object
//! per line, as in the API. Each module has the commands of one subject: their arguments, the columns of their tables, and a
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

use self::suppressions::outcomes;
use crate::config::Settings;
use crate::exit::Exit;
use crate::output::Style;
use crate::output::printout::Printout;
use crate::{log, output, service};

/// Defines the commands: the arguments of each, the examples below its help, and the function that calls its acts.
macro_rules! admin_commands {
    ($($(#[$about:meta])* $name:ident($shape:ident<$args:ty> $(, $examples:path)?) => $run:path;)*) => {
        #[derive(Debug, Subcommand)]
        pub(crate) enum AdminCommand {
            $($(#[$about])* $(#[command(after_help = $examples)])? $name($shape<$args>),)*
        }

        impl AdminCommand {
            pub(crate) fn options(&self) -> &AdminOptions {
                match self {
                    $(Self::$name(args) => &args.options,)*
                }
            }
        }

        /// Calls the act of a command.
        pub(crate) async fn call_act(app: &Arc<App>, command: &AdminCommand) -> Result<Printout> {
            match command {
                $(AdminCommand::$name(args) => $run(app, &args.command).await,)*
            }
        }
    };
}

admin_commands! {
    /// Manage organizations, the customers of the service
    Orgs(Subject<orgs::OrgsCommand>, orgs::ORGS_EXAMPLES) => orgs::run;
    /// List the configured plans
    Plans(Single<NoArgs>) => installation::show_plans;
    /// Manage API keys
    Keys(Subject<keys::KeysCommand>, keys::KEYS_EXAMPLES) => keys::run;
    /// Manage the credits of organizations
    Credits(Subject<credits::CreditsCommand>, credits::CREDITS_EXAMPLES) => credits::run;
    /// Check that credits, jobs, results and completion events agree; can run beside the service
    Audit(Single<NoArgs>, installation::AUDIT_EXAMPLES) => installation::audit;
    /// List, show and resend deliveries to customers' servers
    Deliveries(Subject<deliveries::DeliveriesCommand>, deliveries::DELIVERIES_EXAMPLES) => deliveries::run;
    /// Erase addresses
    Erasures(Subject<erasures::ErasuresCommand>, erasures::ERASURES_EXAMPLES) => erasures::run;
    /// Manage webhooks
    Webhooks(Subject<webhooks::WebhooksCommand>, webhooks::WEBHOOKS_EXAMPLES) => webhooks::run;
    /// Connect email platforms: verify their contacts, and unsubscribe, delete or tag those with bad verdicts
    Integrations(Subject<integrations::IntegrationsCommand>, integrations::INTEGRATIONS_EXAMPLES) => integrations::run;
    /// Manage suppression lists
    Suppressions(Subject<suppressions::SuppressionsCommand>, suppressions::SUPPRESSIONS_EXAMPLES) => suppressions::run;
    /// Import outcomes of sent mail
    Outcomes(Subject<outcomes::OutcomesCommand>, outcomes::OUTCOMES_EXAMPLES) => outcomes::run;
    /// Add, show, download, search and cancel lists that the service verifies
    Lists(Subject<lists::ListsCommand>, lists::LISTS_EXAMPLES) => lists::run;
    /// Manage organization settings
    Settings(Subject<settings::SettingsCommand>, settings::SETTINGS_EXAMPLES) => settings::run;
    /// Show verifications by period, by day and by mail provider
    Usage(Subject<reports::UsageCommand>, reports::USAGE_EXAMPLES) => reports::usage;
    /// Show the events of an organization: jobs, changed settings, account
    Timeline(Single<reports::TimelineArgs>, reports::TIMELINE_EXAMPLES) => reports::timeline;
    /// List the nodes that share the database, and the work and leases of each
    Nodes(Single<NoArgs>, installation::NODES_EXAMPLES) => installation::show_nodes;
    /// Manage team members, their sessions and sign-in links
    Users(Subject<users::UsersCommand>, users::USERS_EXAMPLES) => users::run;
    /// Print a new sign-in link for the owner; it sets a new password, works once and is valid for a day
    Link(Single<OrgFlag>) => users::owner_link;
}

/// Commands about one subject.
#[derive(Debug, Args)]
pub(crate) struct Subject<C: Subcommand> {
    #[command(flatten)]
    pub options: AdminOptions,
    #[command(subcommand)]
    pub command: C,
}

/// A command without subcommands.
#[derive(Debug, Args)]
pub(crate) struct Single<A: Args> {
    #[command(flatten)]
    pub options: AdminOptions,
    #[command(flatten)]
    pub command: A,
}

#[derive(Debug, Args)]
pub(crate) struct NoArgs {}

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

/// Parses names into their values.
pub(crate) fn one_of<T: Clone + Send + Sync + 'static>(
    names: impl IntoIterator<Item = impl Into<PossibleValue>>,
    read: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).map(move |name| read(&name).expect("each possible value names something"))
}

/// Returns a name with its meaning, for the help.
fn meaning(name: &'static str, means: &'static str) -> PossibleValue {
    PossibleValue::new(name).help(means)
}

/// Validates a name like the API.
fn name(text: &str) -> Result<String, NameFault> {
    probity_account::name::name(text).map(str::to_owned)
}

/// Runs a command and prints its result.
///
/// If an act refuses a field, the error names the argument that sets it; `arguments` are those of [`crate::args::Cli`].
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

/// Reports whether a command forecasts, which needs an engine with this machine's configuration.
pub(crate) fn needs_engine(command: &AdminCommand) -> bool {
    matches!(command, AdminCommand::Lists(Subject { command: lists::ListsCommand::Add(args), .. }) if args.forecast)
}

#[cfg(test)]
mod tests {
    //! Arguments to requests of acts, and results to text.

    mod parsing;
    mod shown;

    const ORG: &str = "org_01h455vb4pex5vsknk084sn02q";
}
