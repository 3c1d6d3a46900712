//! Connections to newsletter platforms: made, changed, tried, deleted.
//!
//! A connection is named by its ID alone; its platform is looked up. Credentials come from a file or from standard input, because
//! other users of the machine see arguments.

mod credentials;
mod review;
mod rules;
mod runs;
mod shown;

use anyhow::{Result, anyhow, bail};
use probity_account::id::ConnId;
use probity_contract::error::Code;
use probity_contract::page::PageQuery;
use probity_contract::published::connections::{
    ConnectionPatch, ConnectionShown, CreateConnection, ScheduleShown, VerdictChangesQuery,
};
use probity_service::callers::caller::Caller;
use probity_service::callers::once::Once;
use probity_service::connections::ConnectionPlace;
use probity_service::connections::acts::{
    change_connection, create_connection, delete_connection, get_connection, list_platform_lists, test_connection,
};
use probity_service::connections::changes::list_changes;
use probity_service::connections::integrations::{get_integration, list_integrations};
use probity_service::connections::schedule::get_schedule;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::LocalOperator;
use super::operator::{MarkedObject, OrMissing as _, body, each_with_org, print_one, print_rows, query, staff};
use crate::args::{
    ConnectArgs, ConnectionArg, ConnectionChangeArgs, IntegrationsCommand, NO_ACTION, OrgFlag, PlatformsCommand,
};
use crate::output::printout::{AnswerView, Printout};

#[cfg(test)]
pub(super) use shown::RUN;

/// A connection with its automatic runs.
#[derive(Serialize)]
struct ScheduledConnection {
    #[serde(flatten)]
    connection: ConnectionShown,
    schedule: ScheduleShown,
}

pub(super) async fn run(operator: &LocalOperator<'_>, command: &IntegrationsCommand) -> Result<Printout> {
    let app = operator.app;
    match command {
        IntegrationsCommand::Platforms(command) => platforms(operator, command).await,
        IntegrationsCommand::Connect(args) => connect(operator, args).await,
        IntegrationsCommand::List(some) => list(operator, some).await,
        IntegrationsCommand::Show(one) => {
            let (caller, place) = reach(operator, one).await?;
            let connection = get_connection(app, &caller, &place).await?;
            let schedule = get_schedule(app, &caller, &place).await?;
            let found = ScheduledConnection { connection, schedule };
            print_one(&caller, found, shown::SCHEDULED)
        }
        IntegrationsCommand::Change(args) => {
            let patch: ConnectionPatch = body(read_change(args)?)?;
            let (caller, place) = reach(operator, &args.one).await?;
            print_one(&caller, change_connection(app, &caller, &place, patch).await?, shown::CONNECTION)
        }
        IntegrationsCommand::Test(one) => {
            let (caller, place) = reach(operator, one).await?;
            let tested = test_connection(app, &caller, &place, &Once::unkeyed()).await?;
            print_one(&caller, tested, AnswerView::Fields(shown::TESTED))
        }
        IntegrationsCommand::Lists(one) => {
            let (caller, place) = reach(operator, one).await?;
            let printout = print_rows(&caller, list_platform_lists(app, &caller, &place).await?.data, shown::LISTS)?;
            Ok(printout.or_note("there are no lists to choose from"))
        }
        IntegrationsCommand::Delete(one) => {
            let (caller, place) = reach(operator, one).await?;
            print_one(&caller, delete_connection(app, &caller, &place).await?, shown::DELETED)
        }
        IntegrationsCommand::Rules(command) => rules::run(operator, command).await,
        IntegrationsCommand::Run { one, dry_run } => runs::start(operator, one, *dry_run).await,
        IntegrationsCommand::Runs(command) => runs::run(operator, command).await,
        IntegrationsCommand::Review(command) => review::run(operator, command).await,
        IntegrationsCommand::Changes { since, limit, org } => {
            let since: Vec<_> = since.iter().map(|since| ("since", since.as_str())).collect();
            let asked: VerdictChangesQuery = query(&since)?;
            let page = PageQuery { per_page: *limit, cursor: None };
            let caller = operator.act_for(org).await?;
            let found = list_changes(app, &caller, VerdictChangesQuery { page, ..asked }).await?;
            let printout = print_rows(&caller, found.data, shown::CHANGES)?;
            Ok(printout.or_note("no changes found"))
        }
    }
}

async fn platforms(operator: &LocalOperator<'_>, command: &PlatformsCommand) -> Result<Printout> {
    match command {
        PlatformsCommand::List(org) => {
            let caller = operator.act_for(org).await?;
            print_rows(&caller, list_integrations(operator.app, &caller).await?.data, shown::PLATFORMS)
        }
        PlatformsCommand::Show { platform, org } => {
            let caller = operator.act_for(org).await?;
            let found =
                get_integration(operator.app, &caller, platform).await.or_missing(|| unknown_platform(platform))?;
            print_one(&caller, found, shown::PLATFORM)
        }
    }
}

fn unknown_platform(name: &str) -> anyhow::Error {
    anyhow!("there is no platform {name}; to list all: `probity integrations platforms list`")
}

async fn connect(operator: &LocalOperator<'_>, args: &ConnectArgs) -> Result<Printout> {
    let caller = staff(operator.choose_org(&args.org).await?, args.test);
    let mut asked = json!({ "credentials": credentials::read(&args.credentials)? });
    if let Some(name) = &args.name {
        asked["name"] = json!(name);
    }
    let asked: CreateConnection = body(asked)?;
    let made = create_connection(operator.app, &caller, &args.platform, &Once::unkeyed(), asked)
        .await
        .or_missing(|| unknown_platform(&args.platform))?;
    let made = MarkedObject { test: args.test, object: made };
    print_one(&caller, made, shown::CONNECTION)
}

/// Lists the connections of live keys, then those of test keys; each time the active ones first.
async fn list(operator: &LocalOperator<'_>, some: &OrgFlag) -> Result<Printout> {
    let org = operator.choose_org(some).await?;
    let mut all = Vec::new();
    for test in [false, true] {
        let caller = staff(org.clone(), test);
        let found = read_sort(operator, &caller).await?;
        let marked = found.into_iter().map(|connection| MarkedObject { test, object: connection }).collect();
        all.extend(each_with_org(&caller, marked));
    }
    Ok(Printout::of(all, AnswerView::Rows(shown::CONNECTIONS))?.or_note("no connections found"))
}

/// Returns all connections of the caller's sort, by platform.
async fn read_sort(operator: &LocalOperator<'_>, caller: &Caller) -> Result<Vec<ConnectionShown>> {
    let app = operator.app;
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

/// Returns the caller for an act on a connection of either sort, and its place.
async fn reach(operator: &LocalOperator<'_>, one: &ConnectionArg) -> Result<(Caller, ConnectionPlace)> {
    let caller = operator.act_for(&one.org).await?;
    let missing = || anyhow!("there is no connection {}; to list all: `probity integrations list`", one.connection);
    let id: ConnId = one.connection.parse().map_err(|_| missing())?;
    for platform in list_integrations(operator.app, &caller).await?.data {
        let place = ConnectionPlace { provider: platform.provider, id };
        match get_connection(operator.app, &caller, &place).await {
            Ok(_) => return Ok((caller, place)),
            Err(error) if error.code() == Code::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(missing())
}

/// Builds the merge patch that a command describes.
pub(super) fn read_change(args: &ConnectionChangeArgs) -> Result<Value> {
    let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
    let switch = |switch: Option<bool>| switch.map(|is_on| json!(is_on));
    let action = args.action.as_deref().map(|name| if name == NO_ACTION { Value::Null } else { json!(name) });
    let ids = args.lists.as_deref().map(|ids| ids.split(',').map(str::trim).filter(|id| !id.is_empty()));
    let credentials = args.credentials.as_deref().map(credentials::read).transpose()?;
    let fields = [
        ("name", text(&args.name)),
        ("action", action),
        ("aggressiveness", text(&args.aggressiveness)),
        ("checks", read_checks(args)?),
        ("manual_mode", switch(args.manual_mode)),
        ("autofloss", switch(args.autofloss)),
        ("decay_protection", switch(args.decay_protection)),
        ("decay_days", args.decay_days.map(|days| json!(days))),
        ("instafloss", switch(args.instafloss)),
        ("fix_typos", switch(args.fix_typos)),
        ("lists", ids.map(|ids| json!(ids.collect::<Vec<_>>()))),
        ("tag", text(&args.tag)),
        ("field", text(&args.field)),
        ("credentials", credentials.map(Value::Object)),
    ];
    let said: Map<String, Value> =
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    if said.is_empty() {
        bail!("nothing to change; see `probity integrations change --help`");
    }
    Ok(Value::Object(said))
}

fn read_checks(args: &ConnectionChangeArgs) -> Result<Option<Value>> {
    let (on, off) = (&args.checks, &args.no_checks);
    if let Some(twice) = on.iter().find(|name| off.contains(name)) {
        bail!("{twice} may be in only one of --checks and --no-checks");
    }
    let said = on.iter().map(|name| (name, true)).chain(off.iter().map(|name| (name, false)));
    let said: Map<String, Value> = said.map(|(name, is_on)| (name.clone(), json!(is_on))).collect();
    Ok(Some(Value::Object(said)).filter(|_| !(on.is_empty() && off.is_empty())))
}
