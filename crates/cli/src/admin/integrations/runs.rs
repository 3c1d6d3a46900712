//! Runs of connections. A running service does the work.

use anyhow::{Result, anyhow};
use probity_account::id::JobId;
use probity_contract::page::PageQuery;
use probity_contract::published::connections::{ConfirmRun, StartRun};
use probity_contract::published::whole::Whole;
use probity_service::callers::caller::Caller;
use probity_service::callers::once::Once;
use probity_service::connections::ConnectionPlace;
use probity_service::connections::runs::{cancel_run, confirm_run, get_run, list_runs, start_run};

use super::{reach, shown};
use crate::admin::LocalOperator;
use crate::admin::operator::{OrMissing as _, print_one, print_rows};
use crate::args::{ConnectionArg, RunArg, RunsCommand};
use crate::output::printout::Printout;

pub(super) async fn start(operator: &LocalOperator<'_>, one: &ConnectionArg, dry_run: bool) -> Result<Printout> {
    let (caller, place) = reach(operator, one).await?;
    let started = start_run(operator.app, &caller, &place, &Once::unkeyed(), StartRun { dry_run }).await;
    print_one(&caller, started?, shown::RUN)
}

pub(super) async fn run(operator: &LocalOperator<'_>, command: &RunsCommand) -> Result<Printout> {
    let app = operator.app;
    match command {
        RunsCommand::List { one, limit } => {
            let (caller, place) = reach(operator, one).await?;
            let page = PageQuery { per_page: *limit, cursor: None };
            let printout = print_rows(&caller, list_runs(app, &caller, &place, page).await?.data, shown::RUNS)?;
            Ok(printout.or_note("no runs found"))
        }
        RunsCommand::Show(one) => {
            let (caller, place, id) = reach_run(operator, one).await?;
            print_one(&caller, get_run(app, &caller, &place, id).await.or_missing(|| missing(one))?, shown::RUN)
        }
        RunsCommand::Confirm { one, actions } => {
            let (caller, place, id) = reach_run(operator, one).await?;
            let asked = ConfirmRun { actions: Whole(*actions) };
            let confirmed =
                confirm_run(app, &caller, &place, id, &Once::unkeyed(), asked).await.or_missing(|| missing(one))?;
            print_one(&caller, confirmed, shown::RUN)
        }
        RunsCommand::Cancel(one) => {
            let (caller, place, id) = reach_run(operator, one).await?;
            let cancelled = cancel_run(app, &caller, &place, id, &Once::unkeyed()).await.or_missing(|| missing(one))?;
            print_one(&caller, cancelled, shown::RUN)
        }
    }
}

/// Returns the caller, the connection and the ID for an act on a run.
pub(super) async fn reach_run(operator: &LocalOperator<'_>, one: &RunArg) -> Result<(Caller, ConnectionPlace, JobId)> {
    let (caller, place) = reach(operator, &one.one).await?;
    Ok((caller, place, one.run.parse().map_err(|_| missing(one))?))
}

pub(super) fn missing(one: &RunArg) -> anyhow::Error {
    let connection = &one.one.connection;
    anyhow!("the connection has no run {}; to list its runs: `probity integrations runs list {connection}`", one.run)
}
