//! Runs of connections. A running service does the work.

use anyhow::{Result, anyhow};
use clap::{Args, Subcommand};
use probity_account::id::JobId;
use probity_contract::published::connections::{ConfirmRun, StartRun};
use probity_contract::published::whole::Whole;
use probity_service::app::App;
use probity_service::callers::caller::Caller;
use probity_service::callers::once::Once;
use probity_service::connections::ConnectionPlace;
use probity_service::connections::runs::{cancel_run, confirm_run, get_run, list_runs, start_run};

use super::{ConnectionArg, reach, shown};
use crate::admin::operator::{OrMissing as _, first_page, print_one, print_rows};
use crate::output::printout::Printout;

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

pub(super) async fn start(app: &App, one: &ConnectionArg, dry_run: bool) -> Result<Printout> {
    let (caller, place) = reach(app, one).await?;
    let started = start_run(app, &caller, &place, &Once::unkeyed(), StartRun { dry_run }).await;
    print_one(&caller, started?, shown::RUN)
}

pub(super) async fn run(app: &App, command: &RunsCommand) -> Result<Printout> {
    match command {
        RunsCommand::List { one, limit } => {
            let (caller, place) = reach(app, one).await?;
            let printout =
                print_rows(&caller, list_runs(app, &caller, &place, first_page(*limit)).await?.data, shown::RUNS)?;
            Ok(printout.or_note("no runs found"))
        }
        RunsCommand::Show(one) => {
            let (caller, place, id) = reach_run(app, one).await?;
            print_one(&caller, get_run(app, &caller, &place, id).await.or_missing(|| missing(one))?, shown::RUN)
        }
        RunsCommand::Confirm { one, actions } => {
            let (caller, place, id) = reach_run(app, one).await?;
            let asked = ConfirmRun { actions: Whole(*actions) };
            let confirmed =
                confirm_run(app, &caller, &place, id, &Once::unkeyed(), asked).await.or_missing(|| missing(one))?;
            print_one(&caller, confirmed, shown::RUN)
        }
        RunsCommand::Cancel(one) => {
            let (caller, place, id) = reach_run(app, one).await?;
            let cancelled = cancel_run(app, &caller, &place, id, &Once::unkeyed()).await.or_missing(|| missing(one))?;
            print_one(&caller, cancelled, shown::RUN)
        }
    }
}

/// Returns the caller, the connection and the ID for an act on a run.
pub(super) async fn reach_run(app: &App, one: &RunArg) -> Result<(Caller, ConnectionPlace, JobId)> {
    let (caller, place) = reach(app, &one.one).await?;
    Ok((caller, place, one.run.parse().map_err(|_| missing(one))?))
}

pub(super) fn missing(one: &RunArg) -> anyhow::Error {
    let connection = &one.one.connection;
    anyhow!("the connection has no run {}; to list its runs: `probity integrations runs list {connection}`", one.run)
}
