//! Runs of a connection.

use probity_contract::page::{List, PageQuery};
use probity_contract::parameters::{ConnectionPath, RunPath};
use probity_contract::published::connections::{ConfirmRun, ConnectionShown, RunDetail, RunShown, StartRun};
use probity_service::connections::{ConnectionPlace, runs};

use super::place::AtRun;
use crate::handler::{Answer, Asking, Call, Created, JsonBody, NoBody, PathId, RunOnce, answer, created};

/// Synchronize a connection
///
/// Starts a run that reads and verifies all contacts and then acts by the connection's settings. If a run is in progress,
/// nothing changes. The first run of a connection waits for confirmation before it acts, and so does the next one after its
/// settings or keyword rules ask for more. A run that a key starts counts as automatic: it also waits if it would change too many
/// contacts. A run costs 1 credit per verified address.
#[utoipa::path(
    post,
    path = "/v1/integrations/{type}/connections/{id}/sync",
    tag = "Integrations",
    params(ConnectionPath),
    security(("bearer" = ["write:integrations"])),
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 200, description = "The connection.", body = ConnectionShown))
)]
pub(crate) async fn sync_connection(
    Call(app, caller): Call,
    PathId(place): PathId<ConnectionPlace>,
    RunOnce(once): RunOnce,
    _: NoBody,
) -> Answer<ConnectionShown> {
    answer(runs::sync_connection(&app, &caller, &place, &once).await)
}

/// List runs
///
/// Lists the runs of a connection, newest first.
#[utoipa::path(
    get,
    path = "/v1/integrations/{type}/connections/{id}/runs",
    tag = "Integrations",
    params(ConnectionPath, PageQuery),
    security(("bearer" = ["read:integrations"])),
    responses((status = 200, description = "A page of runs.", body = List<RunShown>))
)]
pub(crate) async fn list_runs(
    Call(app, caller): Call,
    PathId(place): PathId<ConnectionPlace>,
    Asking(query): Asking<PageQuery>,
) -> Answer<List<RunShown>> {
    answer(runs::list_runs(&app, &caller, &place, query).await)
}

/// Start a run
///
/// Reads and verifies all contacts. With `dry_run`, the run only shows what would happen, and can be confirmed later. A run
/// that a key starts counts as automatic: it waits for confirmation if it would change too many contacts. A connection has
/// one run in progress at a time: another one gets 409.
#[utoipa::path(
    post,
    path = "/v1/integrations/{type}/connections/{id}/runs",
    tag = "Integrations",
    params(ConnectionPath),
    request_body(content = StartRun, description = "The run to start."),
    security(("bearer" = ["write:integrations"])),
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 201, description = "The run.", body = RunShown))
)]
pub(crate) async fn start_run(
    Call(app, caller): Call,
    PathId(place): PathId<ConnectionPlace>,
    RunOnce(once): RunOnce,
    JsonBody(asked): JsonBody<StartRun>,
) -> Created<RunShown> {
    created(runs::start_run(&app, &caller, &place, &once.created(), asked).await)
}

/// Get a run
///
/// Returns the run with its actions by kind and reason, and the first 20 of them.
#[utoipa::path(
    get,
    path = "/v1/integrations/{type}/connections/{id}/runs/{run_id}",
    tag = "Integrations",
    params(RunPath),
    security(("bearer" = ["read:integrations"])),
    responses((status = 200, description = "The run.", body = RunDetail))
)]
pub(crate) async fn get_run(
    Call(app, caller): Call,
    PathId(AtRun { place, run_id: id }): PathId<AtRun>,
) -> Answer<RunDetail> {
    answer(runs::get_run(&app, &caller, &place, id).await)
}

/// Confirm a run
///
/// Lets a run that needs confirmation do its planned actions. `actions` is the number that you have seen in
/// `actions.planned`; any other number gets 409, and nothing happens. Later runs of the connection then act without
/// confirmation, unless `manual_mode` is set, settings or keyword rules ask for more than this run has shown, or a run that a
/// schedule or a key starts would change too many contacts. Unsubscribing, deleting and fixing cannot be undone.
#[utoipa::path(
    post,
    path = "/v1/integrations/{type}/connections/{id}/runs/{run_id}/confirm",
    tag = "Integrations",
    params(RunPath),
    request_body(content = ConfirmRun, description = "The number of actions."),
    security(("bearer" = ["write:integrations"])),
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 200, description = "The run.", body = RunShown))
)]
pub(crate) async fn confirm_run(
    Call(app, caller): Call,
    PathId(AtRun { place, run_id: id }): PathId<AtRun>,
    RunOnce(once): RunOnce,
    JsonBody(asked): JsonBody<ConfirmRun>,
) -> Answer<RunShown> {
    answer(runs::confirm_run(&app, &caller, &place, id, &once, asked).await)
}

/// Cancel a run
///
/// Ends the run. Actions that were done stay done; the others are ignored, and credits for unverified contacts are
/// released. A run that is over stays as it is.
#[utoipa::path(
    post,
    path = "/v1/integrations/{type}/connections/{id}/runs/{run_id}/cancel",
    tag = "Integrations",
    params(RunPath),
    security(("bearer" = ["write:integrations"])),
    responses((status = 200, description = "The run.", body = RunShown))
)]
pub(crate) async fn cancel_run(
    Call(app, caller): Call,
    PathId(AtRun { place, run_id: id }): PathId<AtRun>,
    RunOnce(once): RunOnce,
    _: NoBody,
) -> Answer<RunShown> {
    answer(runs::cancel_run(&app, &caller, &place, id, &once).await)
}
