//! Starts, reads, confirms and cancels runs of a connection.
//!
//! A run is a job: once its contacts are read, it is listed with the jobs and has the same results.

use probity_account::connections::RunCause;
use probity_account::id::JobId;
use probity_backend::connections::rows::contact_rows;
use probity_backend::connections::runs::parts::{drop_in_parts, forget_in_parts};
use probity_backend::jobs::announce;
use probity_connectors::ConnectorFile;
use probity_contract::asked_page::AskedPage;
use probity_contract::error::ApiError;
use probity_contract::page::{List, PageQuery};
use probity_contract::published::activity::timeline::Actor;
use probity_contract::published::connections::{
    ConfirmRun, ConnectionShown, RunActions, RunCount, RunDetail, RunExample, RunParts, RunShown, StartRun,
};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::activity::events::{AccountChange, ChangedRun, ConnectionEventKind};
use probity_store::activity::timeline::newest_events;
use probity_store::connections::actions::{self, RowAction};
use probity_store::connections::connection::{self, StoredConnection};
use probity_store::connections::runs::{self, Confirmation, ConnectionRun, NewRun, STARTED_BY_KEY};
use probity_store::jobs::NewJob;
use probity_store::{Conn, StoreError, Tx, work};

use super::{ConnectionPlace, stored_job, unlisted, visible};
use crate::app::App;
use crate::callers::caller::{Caller, JobOrigin};
use crate::callers::given::in_conflict;
use crate::callers::once::Once;

/// Maximum number of actions returned with a run.
const EXAMPLES: i64 = 20;
/// Maximum number of events at the moment of a confirmation.
const AT_ONCE: i64 = 100;

pub async fn start_run(
    app: &App,
    caller: &Caller,
    place: &ConnectionPlace,
    once: &Once,
    asked: StartRun,
) -> Result<RunShown, ApiError> {
    let (file, of) = visible(&mut app.store.read().await?, app, caller, place).await?;
    let new = new_run(app, caller, (file, &of), asked.dry_run)?;
    let started = app.store.write(work!(|tx| {
        runs::end_poll(tx, of.org, of.id, new.job.at).await?;
        let run = runs::start(tx, &new).await?;
        note(tx, caller, &of, (ConnectionEventKind::RunStarted, run.id, None), new.job.at).await?;
        let shown = RunShown::of(run, &[], new.job.at);
        once.keep(tx, &shown).await?;
        Ok(shown)
    }));
    let shown = started.await.map_err(refusal)?;
    app.wake.runs.notify_one();
    Ok(shown)
}

/// Starts a run that acts, unless one is already running.
pub async fn sync_connection(
    app: &App,
    caller: &Caller,
    place: &ConnectionPlace,
    once: &Once,
) -> Result<ConnectionShown, ApiError> {
    let (file, of) = visible(&mut app.store.read().await?, app, caller, place).await?;
    let new = new_run(app, caller, (file, &of), false)?;
    let started = app.store.write(work!(|tx| {
        runs::end_poll(tx, of.org, of.id, new.job.at).await?;
        if runs::going(tx, of.org, of.id).await?.is_none() {
            let run = runs::start(tx, &new).await?;
            note(tx, caller, &of, (ConnectionEventKind::RunStarted, run.id, None), new.job.at).await?;
        }
        let shown = ConnectionShown::from(connection::lock(tx, of.org, of.id, of.test).await?);
        once.keep(tx, &shown).await?;
        Ok(shown)
    }));
    let shown = match started.await {
        // Another request was faster.
        Err(StoreError::Conflict) => ConnectionShown::from(of),
        started => started.map_err(refusal)?,
    };
    app.wake.runs.notify_one();
    Ok(shown)
}

fn new_run(
    app: &App,
    caller: &Caller,
    (file, of): (&ConnectorFile, &StoredConnection),
    is_dry: bool,
) -> Result<NewRun, ApiError> {
    if file.contacts.is_none() {
        return Err(unlisted(file));
    }
    let (started_by, source_action) = match caller {
        Caller::Key(_) => (STARTED_BY_KEY, "api.integrations.run"),
        Caller::Person { .. } => ("manual", "dashboard.integrations.run"),
        Caller::Staff { .. } => ("staff", "cli.integrations.run"),
    };
    let origin = JobOrigin { source: "integration", started_by, source_action };
    let job = NewJob { test: of.test, ..caller.new_job(app.now(), origin) };
    let settings = serde_json::to_string(&of.settings).map_err(ApiError::server_error)?;
    Ok(NewRun { job, connection: of.id, cause: RunCause::Manual, is_dry, settings, since: None })
}

fn refusal(error: StoreError) -> ApiError {
    match error {
        StoreError::NotFound => ApiError::conflict("the connection is disconnected; reconnect it first"),
        other => in_conflict(other, "another run of this connection is in progress; wait for its end, or cancel it"),
    }
}

/// Lists the runs of a connection, newest first.
pub async fn list_runs(
    app: &App,
    caller: &Caller,
    place: &ConnectionPlace,
    query: PageQuery,
) -> Result<List<RunShown>, ApiError> {
    let now = app.now();
    let mut conn = app.store.read().await?;
    let (_, of) = visible(&mut conn, app, caller, place).await?;
    let list = format!("/v1/integrations/connections/{}/runs", of.id);
    let asked = AskedPage::of(&app.cursors, &query, caller.org_id().to_string(), list)?;
    let found = runs::page(&mut conn, of.org, of.id, asked.after, asked.at_most()).await?;
    let mut counted = Vec::with_capacity(found.len());
    for run in found {
        let counts = actions::counts(&mut conn, run.org, run.job).await?;
        counted.push((run, counts));
    }
    Ok(asked.list(counted, |(run, _)| (run.created_at, run.id), |(run, counts)| RunShown::of(run, &counts, now)))
}

/// Returns a run, with its actions by kind and reason, and the first of them.
pub async fn get_run(app: &App, caller: &Caller, place: &ConnectionPlace, id: JobId) -> Result<RunDetail, ApiError> {
    let mut conn = app.store.read().await?;
    let (_, of) = visible(&mut conn, app, caller, place).await?;
    let run = runs::by_id(&mut conn, of.org, of.id, id).await?;
    detail(app, &mut conn, run).await
}

async fn detail(app: &App, conn: &mut Conn, run: ConnectionRun) -> Result<RunDetail, ApiError> {
    let counts = actions::counts(conn, run.org, run.job).await?;
    let examples = examples(conn, &run).await?;
    let confirmed_by = confirmed_by(conn, &run).await?;
    let rest = RunParts { confirmed_by, counts: RunCount::all(&counts), examples };
    Ok(RunDetail { run: RunShown::of(run, &counts, app.now()), rest })
}

async fn examples(conn: &mut Conn, run: &ConnectionRun) -> Result<Vec<RunExample>, ApiError> {
    let first = actions::examples(conn, run.org, run.job, EXAMPLES).await?;
    let Some(job) = stored_job(conn, run.org, run.job).await? else { return Ok(Vec::new()) };
    let rows: Vec<i64> = first.iter().map(|action| action.idx).collect();
    let mut found = contact_rows(conn, &job, &rows).await?;
    let mut before = actions::values_before(conn, run.org, run.job, &rows).await?;
    let example = |action: RowAction| {
        let row = found.remove(&action.idx)?;
        let is_fix = action.kind == probity_account::connections::ContactAction::Fix;
        Some(RunExample {
            email: row.email,
            contact_id: row.contact.id,
            action: action.kind.as_str(),
            reason: Reason::as_str(action.reason),
            state: action.state.as_str(),
            suggestion: row.outcome.result.suggestion.filter(|_| is_fix),
            message: action.message.or(action.doubt),
            before: before.remove(&action.idx).and_then(|json| serde_json::from_slice(&json).ok()),
        })
    };
    Ok(first.into_iter().filter_map(example).collect())
}

/// Lets a run that waits for confirmation do its planned actions, if the caller confirms their number.
pub async fn confirm_run(
    app: &App,
    caller: &Caller,
    place: &ConnectionPlace,
    id: JobId,
    once: &Once,
    asked: ConfirmRun,
) -> Result<RunShown, ApiError> {
    let (_, of) = visible(&mut app.store.read().await?, app, caller, place).await?;
    let now = app.now();
    let confirmed = app.store.write_bulk(work!(|tx| {
        runs::end_poll(tx, of.org, of.id, now).await?;
        let outcome = runs::confirm(tx, (of.org, of.id, id), asked.actions.0, now).await?;
        if outcome != Confirmation::Confirmed {
            return Ok::<_, StoreError>((outcome, None));
        }
        let what = (ConnectionEventKind::RunConfirmed, id, Some(asked.actions.0));
        note(tx, caller, &of, what, now).await?;
        Ok((outcome, Some(kept(tx, once, (&of, id), now).await?)))
    }));
    let (outcome, shown) = confirmed.await.map_err(|error| match error {
        // The run was not found; reported like an unknown connection.
        StoreError::NotFound => ApiError::not_found(),
        other => refusal(other),
    })?;
    app.wake.runs.notify_one();
    shown.ok_or_else(|| unconfirmed(&outcome))
}

/// Records what the caller did with a run of a connection, and with how many contacts.
pub(super) async fn note(
    tx: &mut Tx,
    caller: &Caller,
    of: &StoredConnection,
    (change, id, contacts): (ConnectionEventKind, JobId, Option<i64>),
    at: Millis,
) -> Result<(), StoreError> {
    let run = Some(ChangedRun { id, contacts });
    let what = AccountChange::ConnectionChange { connection: of.id, provider: of.provider.clone(), change, run };
    caller.note(tx, at, &[what]).await
}

/// Returns who confirmed a run, as the timeline recorded it at the same time.
async fn confirmed_by(conn: &mut Conn, run: &ConnectionRun) -> Result<Option<Actor>, StoreError> {
    let Some(at) = run.confirmed_at else { return Ok(None) };
    let recorded = newest_events(conn, run.org, at, at + 1, AT_ONCE).await?;
    let is_this = |what: &AccountChange| {
        matches!(what, AccountChange::ConnectionChange { change: ConnectionEventKind::RunConfirmed, run: Some(changed), .. }
            if changed.id == run.id)
    };
    Ok(recorded.into_iter().find(|event| is_this(&event.what)).and_then(|event| event.actor).map(Actor::from))
}

/// Returns a changed run, and keeps it for retries.
async fn kept(
    tx: &mut Tx,
    once: &Once,
    (of, id): (&StoredConnection, JobId),
    now: Millis,
) -> Result<RunShown, StoreError> {
    let run = runs::by_id(tx, of.org, of.id, id).await?;
    let counts = actions::counts(tx, run.org, run.job).await?;
    let shown = RunShown::of(run, &counts, now);
    once.keep(tx, &shown).await?;
    Ok(shown)
}

fn unconfirmed(outcome: &Confirmation) -> ApiError {
    ApiError::conflict(match outcome {
        Confirmation::Confirmed => return ApiError::server_error("a confirmed run was not shown"),
        Confirmation::OtherNumber(planned) => {
            format!("the run now has {planned} planned actions; read them again and confirm this number")
        }
        Confirmation::NotWaiting(state) => format!("the run needs no confirmation: its state is `{}`", state.as_str()),
        Confirmation::Disconnected => {
            "the connection is disconnected, or has other credentials than the run; start another run".to_owned()
        }
        Confirmation::InDoubt => {
            "the planned actions are about contacts in doubt; decide about each of them in the review".to_owned()
        }
        Confirmation::TestOnly => "a test connection never acts; create one in live mode or with a live key".to_owned(),
    })
}

/// Cancels the run in progress of a connection that is not locked yet, as [`cancel_run`] does.
pub(super) async fn cancel_going(tx: &mut Tx, of: &StoredConnection, why: &str, now: Millis) -> Result<(), StoreError> {
    let end = runs::cancel_going(tx, (of.org, of.id), why, now).await?;
    match end.and_then(|end| end.closed) {
        Some(closed) => announce(tx, &closed, now).await,
        None => Ok(()),
    }
}

/// Cancels a run. Completed actions stay, and the others are dropped. Canceling an ended run changes nothing.
pub async fn cancel_run(
    app: &App,
    caller: &Caller,
    place: &ConnectionPlace,
    id: JobId,
    once: &Once,
) -> Result<RunShown, ApiError> {
    let mut conn = app.store.read().await?;
    let (_, of) = visible(&mut conn, app, caller, place).await?;
    let run = runs::by_id(&mut conn, of.org, of.id, id).await?;
    drop(conn);
    let now = app.now();
    forget_in_parts(&app.store, &run).await?;
    let cancelled = app.store.write_bulk(work!(|tx| {
        let before = RunActions::of(&actions::counts(tx, of.org, run.job).await?);
        if let Some(end) = runs::cancel(tx, (of.org, of.id, id), now).await? {
            let planned = Some(before.planned).filter(|planned| *planned > 0);
            note(tx, caller, &of, (ConnectionEventKind::RunCancelled, id, planned), now).await?;
            if let Some(closed) = end.closed {
                announce(tx, &closed, now).await?;
            }
        }
        kept(tx, once, (&of, id), now).await
    }));
    let shown = cancelled.await?;
    app.callbacks.wake();
    drop_in_parts(&app.store, &run, now).await?;
    Ok(shown)
}
