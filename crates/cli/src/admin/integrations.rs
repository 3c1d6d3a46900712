//! Connections to email platforms: created, changed, tested, deleted.
//!
//! A connection is identified by its ID alone; its platform is looked up. Credentials come from a file or from standard input,
//! because other users of the machine can see arguments.

pub(super) mod change;
mod credentials;
mod review;
mod rules;
mod runs;
pub(super) mod shown;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use clap::{Args, Subcommand};
use probity_account::id::ConnId;
use probity_contract::error::{ApiError, Code};
use probity_contract::published::connections::{
    ConnectionPatch, ConnectionShown, CreateConnection, VerdictChangesQuery,
};
use probity_service::app::App;
use probity_service::callers::caller::Caller;
use probity_service::callers::once::Once;
use probity_service::connections::ConnectionPlace;
use probity_service::connections::acts::{
    change_connection, create_connection, delete_connection, get_connection, list_platform_lists, test_connection,
};
use probity_service::connections::changes::list_changes;
use probity_service::connections::integrations::{get_integration, list_integrations};
use probity_service::connections::schedule::get_schedule;
use serde_json::json;

use self::change::ConnectionChangeArgs;
use self::review::ReviewCommand;
use self::rules::RulesCommand;
use self::runs::RunsCommand;
use super::operator::{
    OrMissing as _, act_for, body, choose_org, first_page, marked, print_both, print_one, print_rows, query, read_both,
    staff,
};
use super::{OrgFlag, name};
use crate::output::printout::{AnswerView, OneField, Printout, join};

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

A file with credentials has a line NAME=VALUE for each, or is a JSON object. A running service performs the runs.";

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
    /// Create it for test keys: sandbox verdicts, and never an action
    #[arg(long)]
    pub test: bool,
    #[command(flatten)]
    pub org: OrgFlag,
}

pub(super) async fn run(app: &Arc<App>, command: &IntegrationsCommand) -> Result<Printout> {
    match command {
        IntegrationsCommand::Platforms(command) => platforms(app, command).await,
        IntegrationsCommand::Connect(args) => connect(app, args).await,
        IntegrationsCommand::List(some) => {
            let all = read_both(app, some, async |caller| read_sort(app, caller).await).await?;
            Ok(print_both(&all, shown::CONNECTIONS)?.or_note("no connections found"))
        }
        IntegrationsCommand::Show(one) => {
            let (caller, place) = reach(app, one).await?;
            let connection = get_connection(app, &caller, &place).await?;
            let schedule = get_schedule(app, &caller, &place).await?;
            print_one(&caller, join(connection, OneField("schedule", schedule)), shown::SCHEDULED)
        }
        IntegrationsCommand::Change(args) => {
            let patch: ConnectionPatch = body(change::read_change(args)?)?;
            let (caller, place) = reach(app, &args.one).await?;
            print_one(&caller, change_connection(app, &caller, &place, patch).await?, shown::CONNECTION)
        }
        IntegrationsCommand::Test(one) => {
            let (caller, place) = reach(app, one).await?;
            let tested = test_connection(app, &caller, &place, &Once::unkeyed()).await?;
            print_one(&caller, tested, AnswerView::Fields(shown::TESTED))
        }
        IntegrationsCommand::Lists(one) => {
            let (caller, place) = reach(app, one).await?;
            let printout = print_rows(&caller, list_platform_lists(app, &caller, &place).await?.data, shown::LISTS)?;
            Ok(printout.or_note("there are no lists to choose from"))
        }
        IntegrationsCommand::Delete(one) => {
            let (caller, place) = reach(app, one).await?;
            print_one(&caller, delete_connection(app, &caller, &place).await?, shown::DELETED)
        }
        IntegrationsCommand::Rules(command) => rules::run(app, command).await,
        IntegrationsCommand::Run { one, dry_run } => runs::start(app, one, *dry_run).await,
        IntegrationsCommand::Runs(command) => runs::run(app, command).await,
        IntegrationsCommand::Review(command) => review::run(app, command).await,
        IntegrationsCommand::Changes { since, limit, org } => {
            let asked: VerdictChangesQuery = query([("since", since.as_deref())])?;
            let caller = act_for(app, org).await?;
            let found = list_changes(app, &caller, VerdictChangesQuery { page: first_page(*limit), ..asked }).await?;
            let printout = print_rows(&caller, found.data, shown::CHANGES)?;
            Ok(printout.or_note("no changes found"))
        }
    }
}

async fn platforms(app: &App, command: &PlatformsCommand) -> Result<Printout> {
    match command {
        PlatformsCommand::List(org) => {
            let caller = act_for(app, org).await?;
            print_rows(&caller, list_integrations(app, &caller).await?.data, shown::PLATFORMS)
        }
        PlatformsCommand::Show { platform, org } => {
            let caller = act_for(app, org).await?;
            let found = get_integration(app, &caller, platform).await.or_missing(|| unknown_platform(platform))?;
            print_one(&caller, found, shown::PLATFORM)
        }
    }
}

fn unknown_platform(name: &str) -> anyhow::Error {
    anyhow!("there is no platform {name}; to list all: `probity integrations platforms list`")
}

async fn connect(app: &App, args: &ConnectArgs) -> Result<Printout> {
    let caller = staff(choose_org(app, &args.org).await?, args.test);
    let mut asked = json!({ "credentials": credentials::read(&args.credentials)? });
    if let Some(name) = &args.name {
        asked["name"] = json!(name);
    }
    let asked: CreateConnection = body(asked)?;
    let made = create_connection(app, &caller, &args.platform, &Once::unkeyed(), asked)
        .await
        .or_missing(|| unknown_platform(&args.platform))?;
    print_one(&caller, marked(&caller, made), shown::CONNECTION)
}

/// Returns all live or all test connections, like the caller, by platform; active ones first.
async fn read_sort(app: &App, caller: &Caller) -> Result<Vec<ConnectionShown>, ApiError> {
    let (mut active, mut former) = (Vec::new(), Vec::new());
    for platform in list_integrations(app, caller).await?.data {
        if platform.connection_count + platform.disconnected_count == 0 {
            continue;
        }
        let found = get_integration(app, caller, &platform.provider).await?;
        active.extend(found.connections);
        for one in found.disconnected_connections {
            let place = ConnectionPlace { provider: found.provider.clone(), id: one.id };
            former.push(get_connection(app, caller, &place).await?);
        }
    }
    active.append(&mut former);
    Ok(active)
}

/// Returns the caller for an act on a live or test connection, and its path.
async fn reach(app: &App, one: &ConnectionArg) -> Result<(Caller, ConnectionPlace)> {
    let caller = act_for(app, &one.org).await?;
    let missing = || anyhow!("there is no connection {}; to list all: `probity integrations list`", one.connection);
    let id: ConnId = one.connection.parse().map_err(|_| missing())?;
    for platform in list_integrations(app, &caller).await?.data {
        let place = ConnectionPlace { provider: platform.provider, id };
        match get_connection(app, &caller, &place).await {
            Ok(_) => return Ok((caller, place)),
            Err(error) if error.code() == Code::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(missing())
}
