//! Ends runs, makes them wait for a user, and lets them act once confirmed.

use probity_account::connections::{BrakeReason, ConnectionSettings, RunCause};
use probity_account::id::{ConnId, JobId};
use probity_mail::time::Millis;

use super::claiming::held;
use super::replacing::{lock_waiting, replace};
use super::{ConnectionRun, ContactPick, RunFence, RunState, braking, by_id, by_job, columns, going};
use crate::connections::actions::{self, ActionState};
use crate::connections::{contacts, schedule};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::jobs::{self, ClosedJob, JobNo, JobState};
use crate::nodes::wake::{self, WakeUp};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

/// Outcome of a request to let a run act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// The run acts.
    Confirmed,
    /// The number of planned actions is another one.
    OtherNumber(i64),
    /// The run does not wait for confirmation.
    NotWaiting(RunState),
    /// The connection is disconnected, or has other credentials now.
    Disconnected,
    /// A test key created the connection, so it never acts.
    TestOnly,
    /// All planned actions are in doubt.
    InDoubt,
}

/// Result of ending a run, with the remaining tasks of the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd {
    pub run: ConnectionRun,
    /// Job that was closed with the run.
    pub closed: Option<ClosedJob>,
}

/// Open actions of an ended run that are ignored in one transaction.
pub(super) const DROPPED_AT_ONCE: i64 = 5_000;

/// Shown with a run all of whose planned actions are in doubt.
const IN_DOUBT: &str = "the remaining contacts are in doubt; decide about each of them in the review";

statements! {
    LOCK = concat!("SELECT ", columns!(), " FROM connection_run WHERE org_no = $1 AND job_no = $2 {for_update}");
    // The new epoch makes a holder's writes fail.
    SET_STATE = "UPDATE connection_run SET state = $3, fault = $4, brake = COALESCE($5, brake), epoch = epoch + 1, leased_until = NULL, next_at = $6, \
                 position = NULL, failures = 0, refused_at = NULL, \
                 finished_at = CASE WHEN CAST($3 AS TEXT) IN ('finished', 'failed', 'cancelled') THEN CAST($6 AS BIGINT) END \
                 WHERE org_no = $1 AND job_no = $2";
    CONFIRM = "UPDATE connection_run SET confirmed_at = $3 WHERE org_no = $1 AND job_no = $2";
    STANDING = "SELECT status, test, trusted_at, account_tag, settings FROM connection WHERE org_no = $1 AND id = $2 {for_update}";
    // Not if keyword rules have let runs act on more contacts since this run began.
    TRUST = "UPDATE connection SET trusted_at = COALESCE(trusted_at, $3) WHERE org_no = $1 AND id = $2 \
             AND rules_widened = (SELECT r.rules_widened FROM connection_run r WHERE r.org_no = $1 AND r.job_no = $4)";
    // Runs that verify only some of the contacts do not move the watermark.
    SYNCED = "UPDATE connection SET last_synced_at = $3, \
              watermark = CASE WHEN CAST($5 AS BIGINT) = 0 THEN connection.watermark WHEN connection.watermark > r.watermark THEN connection.watermark \
              ELSE COALESCE(r.watermark, connection.watermark) END \
              FROM (SELECT watermark FROM connection_run WHERE org_no = $1 AND job_no = $4) AS r \
              WHERE org_no = $1 AND id = $2";
    MEASURE = "UPDATE connection_run SET delay_ms = CAST($3 AS BIGINT) - oldest_at WHERE org_no = $1 AND job_no = $2";
    SEEN_TO = "SELECT watermark FROM connection_run WHERE org_no = $1 AND job_no = $2";
    // The end of a job wakes its run.
    CLOSED_JOB = "UPDATE connection_run SET next_at = $3 WHERE org_no = $1 AND job_no = $2 AND state = 'verifying'";
    EXPIRE = "UPDATE connection_run SET state = 'cancelled', fault = 'the rows of the run are no longer stored', lists = NULL, \
              epoch = epoch + 1, leased_until = NULL, finished_at = $3 \
              WHERE org_no = $1 AND job_no = $2 AND state = 'needs_confirmation'";
    OF_BANNED = "SELECT r.org_no, r.connection_id, r.id FROM connection_run r JOIN org o ON o.org_no = r.org_no \
                 WHERE r.state IN ('reading', 'verifying', 'acting') AND o.status = 'banned' ORDER BY r.next_at LIMIT $1";
    UNFINISHED = "SELECT r.org_no, r.connection_id, r.id FROM connection_run r WHERE r.finished_at >= $1 AND r.state IN ('cancelled', 'failed') \
                  AND EXISTS (SELECT 1 FROM contact_action_count c WHERE c.org_no = r.org_no AND c.job_no = r.job_no \
                  AND c.state IN ('planned', 'due') AND c.actions > 0) ORDER BY r.finished_at LIMIT $2";
    ANY_OLD = "SELECT 1 AS one FROM connection_run WHERE finished_at <= $1 LIMIT 1";
    OLD = "SELECT org_no, job_no FROM connection_run WHERE finished_at <= $1 ORDER BY finished_at LIMIT $2 {skip_locked}";
    DROP = "DELETE FROM connection_run WHERE org_no = $1 AND job_no = $2";
}

/// Sets the state of a locked run.
pub(super) async fn set(
    tx: &mut Tx,
    run: &ConnectionRun,
    to: RunState,
    fault: Option<&str>,
    now: Millis,
) -> Result<()> {
    tx.execute(&SET_STATE, args![run.org, run.job, to, fault, None::<&str>, now]).await.map(drop)
}

/// Returns whether every contact has a verdict after a run with this cause: of this run, or of an earlier one.
fn is_whole(cause: RunCause) -> bool {
    matches!(cause, RunCause::Manual | RunCause::Autofloss)
}

/// Ends the verification of a run whose job is complete: the run is finished, acts, or waits for a user. The connection's
/// watermark advances, because every contact before it has been read and verified. An older run that waits is replaced by a
/// run over all contacts. Returns the updated run.
pub async fn conclude(tx: &mut Tx, fence: &RunFence, now: Millis) -> Result<ConnectionRun> {
    let older = match by_job(tx, fence.org, fence.job).await? {
        // A run over some of the contacts has no plan for the others.
        Some(run) if run.pick == ContactPick::All => lock_waiting(tx, run.org, run.connection).await?,
        _ => Vec::new(),
    };
    let run = held(tx, fence, RunState::Verifying).await?;
    replace(tx, &older, now).await?;
    let connection = standing(tx, run.org, run.connection).await?;
    let planned = actions::counts(tx, run.org, run.job).await?;
    let planned = planned.iter().filter(|count| count.state == ActionState::Planned);
    let (mut all, mut destructive) = (0, 0);
    for count in planned {
        all += count.actions;
        destructive += if count.kind.is_destructive() { count.actions } else { 0 };
    }
    // Only decisions make these due.
    let doubted = actions::doubted(tx, run.org, run.job).await?;
    for (kind, _, count) in &doubted {
        all -= count;
        destructive -= if kind.is_destructive() { *count } else { 0 };
    }
    let held_by = braking::held_by(tx, &run, &connection, destructive).await?;
    let to = match held_by {
        _ if all == 0 && doubted.is_empty() => RunState::Finished,
        None if all == 0 => RunState::NeedsConfirmation,
        Some(_) => RunState::NeedsConfirmation,
        None => RunState::Acting,
    };
    let shown = held_by.filter(|_| to == RunState::NeedsConfirmation).map(BrakeReason::as_str);
    let fault = (all == 0 && to == RunState::NeedsConfirmation).then_some(IN_DOUBT);
    tx.execute(&SET_STATE, args![run.org, run.job, to, fault, shown, now]).await?;
    if to == RunState::Acting {
        actions::make_due(tx, run.org, run.job).await?;
    }
    synced(tx, &run, now).await?;
    lock(tx, run.org, run.job).await
}

/// Ends a held run without contacts to verify. A poll that found nothing leaves no trace, because there are many.
pub async fn finish_empty(tx: &mut Tx, fence: &RunFence, now: Millis) -> Result<()> {
    jobs::lock(tx, fence.org, fence.job).await?;
    let run = held(tx, fence, RunState::Reading).await?;
    set(tx, &run, RunState::Finished, None, now).await?;
    jobs::discard(tx, run.org, run.job, now).await?;
    synced(tx, &run, now).await?;
    if run.cause == RunCause::Instafloss {
        tx.execute(&DROP, args![run.org, run.job]).await?;
    }
    Ok(())
}

/// Records that every contact of the account was read.
async fn synced(tx: &mut Tx, run: &ConnectionRun, now: Millis) -> Result<()> {
    let moves = is_whole(run.cause);
    tx.execute(&SYNCED, args![run.org, run.connection, now, run.job, moves]).await?;
    let seen_to = if run.cause == RunCause::Instafloss { measure(tx, run, now).await? } else { None };
    contacts::retire(tx, run, now).await?;
    schedule::done(tx, run, seen_to).await
}

/// Records how long the new contacts of a poll waited for their verdicts. Returns the run's watermark.
async fn measure(tx: &mut Tx, run: &ConnectionRun, now: Millis) -> Result<Option<Millis>> {
    tx.execute(&MEASURE, args![run.org, run.job, now]).await?;
    Ok(tx.find(&SEEN_TO, args![run.org, run.job]).await?.flatten())
}

/// Reverts what a run that ends without verdicts has stored: its contacts count as before, and its slot is due again.
async fn give_back(tx: &mut Tx, run: &ConnectionRun, to: RunState, now: Millis) -> Result<()> {
    if !matches!(run.state, RunState::Reading | RunState::Verifying) {
        return Ok(());
    }
    contacts::forget_reading(tx, run).await?;
    if to == RunState::Failed { schedule::failed(tx, run, now).await } else { Ok(()) }
}

/// Facts that decide whether a connection's runs may act; its row is locked.
pub(super) struct Standing {
    active: bool,
    pub(super) test: bool,
    pub(super) trusted: bool,
    account_tag: Vec<u8>,
    pub(super) settings: ConnectionSettings,
}

async fn standing(tx: &mut Tx, org: OrgNo, connection: ConnId) -> Result<Standing> {
    tx.one(&STANDING, args![org, connection]).await
}

records!(row => Standing {
    test, account_tag;
    active: row.get::<String>("status")? == "active",
    trusted: row.is_set("trusted_at")?,
    settings: row.json("settings")?,
});

/// Lets a run act if it has this number of planned actions. Also trusts its connection from now on, unless its settings or
/// keyword rules have become broader since. Fails with [`StoreError::Conflict`] if another run of the connection is active.
pub async fn confirm(
    tx: &mut Tx,
    (org, connection, id): (OrgNo, ConnId, JobId),
    wanted: i64,
    now: Millis,
) -> Result<Confirmation> {
    let found = by_id(tx, org, connection, id).await?;
    if found.state != RunState::NeedsConfirmation {
        return Ok(Confirmation::NotWaiting(found.state));
    }
    let job = found.job;
    jobs::lock(tx, org, job).await?;
    let run = lock(tx, org, job).await?;
    if run.state != RunState::NeedsConfirmation {
        return Ok(Confirmation::NotWaiting(run.state));
    }
    let planned = actions::counts(tx, org, job).await?;
    let planned = planned.iter().filter(|count| count.state == ActionState::Planned).map(|count| count.actions).sum();
    if planned != wanted || planned == 0 {
        return Ok(Confirmation::OtherNumber(planned));
    }
    let connected = standing(tx, org, connection).await?;
    if connected.test {
        return Ok(Confirmation::TestOnly);
    }
    if !connected.active || connected.account_tag != run.account_tag {
        return Ok(Confirmation::Disconnected);
    }
    if count_doubted(tx, &run).await? == planned {
        return Ok(Confirmation::InDoubt);
    }
    act(tx, &run, now).await?;
    actions::make_due(tx, org, job).await?;
    tx.execute(&CONFIRM, args![org, job, now]).await?;
    if !connected.settings.ask_for_more_than(&braking::settings_of(&run)?) {
        tx.execute(&TRUST, args![org, connection, now, job]).await?;
    }
    Ok(Confirmation::Confirmed)
}

async fn count_doubted(tx: &mut Tx, run: &ConnectionRun) -> Result<i64> {
    Ok(actions::doubted(tx, run.org, run.job).await?.iter().map(|(_, _, count)| count).sum())
}

/// Lets a locked run perform its due actions. Fails with [`StoreError::Conflict`] if another run of the connection is
/// active.
pub(crate) async fn act(tx: &mut Tx, run: &ConnectionRun, now: Millis) -> Result<()> {
    set(tx, run, RunState::Acting, None, now).await?;
    wake::ring(tx, WakeUp::Runs).await
}

pub(crate) async fn lock(tx: &mut Tx, org: OrgNo, job: JobNo) -> Result<ConnectionRun> {
    tx.one(&LOCK, args![org, job]).await
}

/// Ends a held run without due actions: the run is finished, or waits for a user if others are undecided.
pub async fn finish_acting(tx: &mut Tx, fence: &RunFence, now: Millis) -> Result<RunState> {
    let run = held(tx, fence, RunState::Acting).await?;
    let counts = actions::counts(tx, run.org, run.job).await?;
    let left = |state| counts.iter().filter(|count| count.state == state).map(|count| count.actions).sum::<i64>();
    if left(ActionState::Due) > 0 {
        return Ok(RunState::Acting);
    }
    let planned = left(ActionState::Planned);
    let to = if planned > 0 { RunState::NeedsConfirmation } else { RunState::Finished };
    let is_in_doubt = planned > 0 && count_doubted(tx, &run).await? == planned;
    set(tx, &run, to, is_in_doubt.then_some(IN_DOUBT), now).await?;
    Ok(to)
}

/// Ends a locked run that waits for a user if no decision is open.
pub(crate) async fn finish_if_decided(tx: &mut Tx, run: &ConnectionRun, now: Millis) -> Result<()> {
    let counts = actions::counts(tx, run.org, run.job).await?;
    if counts.iter().any(|count| count.state == ActionState::Planned) {
        return Ok(());
    }
    set(tx, run, RunState::Finished, None, now).await
}

/// Ends a held run that cannot continue: contacts read so far are discarded, and planned actions ignored, up to a number; the
/// caller ignores the others ([`drop_more`]). Due actions are kept for a user to confirm again ([`put_back`]).
pub async fn fail(tx: &mut Tx, fence: &RunFence, fault: &str, now: Millis) -> Result<RunEnd> {
    let locked = jobs::lock(tx, fence.org, fence.job).await?;
    let run = lock_held(tx, fence).await?;
    let (to, closed) = match run.state {
        RunState::Acting => return put_back(tx, fence, fault, now).await.map(|run| RunEnd { run, closed: None }),
        RunState::Reading => {
            set(tx, &run, RunState::Failed, Some(fault), now).await?;
            jobs::discard(tx, run.org, run.job, now).await?;
            (RunState::Failed, None)
        }
        _ => {
            let to = if locked.state == JobState::Cancelled { RunState::Cancelled } else { RunState::Failed };
            set(tx, &run, to, Some(fault), now).await?;
            actions::drop_some(tx, (run.org, run.job), now, DROPPED_AT_ONCE).await?;
            (to, jobs::force_stop(tx, run.org, run.job, now).await?)
        }
    };
    give_back(tx, &run, to, now).await?;
    Ok(RunEnd { run: ConnectionRun { state: to, ..run }, closed })
}

/// Makes a held run wait for a user again, with its due actions.
pub async fn put_back(tx: &mut Tx, fence: &RunFence, fault: &str, now: Millis) -> Result<ConnectionRun> {
    let run = held(tx, fence, RunState::Acting).await?;
    actions::move_all(tx, run.org, run.job, ActionState::Due, ActionState::Planned).await?;
    // A run that was never held waits for a user from now on, as in manual mode, so that individual decisions can be carried out.
    let brake = run.brake.unwrap_or(BrakeReason::ManualMode).as_str();
    tx.execute(&SET_STATE, args![run.org, run.job, RunState::NeedsConfirmation, fault, brake, now]).await?;
    lock(tx, run.org, run.job).await
}

async fn lock_held(tx: &mut Tx, fence: &RunFence) -> Result<ConnectionRun> {
    let run = lock(tx, fence.org, fence.job).await?;
    held(tx, fence, run.state).await.map_err(|_| StoreError::LeaseLost)
}

/// Cancels a run: contacts read so far are discarded, its job is canceled, and its open actions are ignored, up to a
/// number; the caller ignores the others ([`drop_more`]). Returns `None` if the run had ended.
pub async fn cancel(tx: &mut Tx, place: (OrgNo, ConnId, JobId), now: Millis) -> Result<Option<RunEnd>> {
    cancel_because(tx, place, None, now).await
}

/// Cancels the active run of a connection, if any, before the connection is locked.
pub async fn cancel_going(
    tx: &mut Tx,
    (org, connection): (OrgNo, ConnId),
    why: &str,
    now: Millis,
) -> Result<Option<RunEnd>> {
    let Some(run) = going(tx, org, connection).await? else { return Ok(None) };
    match cancel_because(tx, (org, connection, run.id), Some(why), now).await {
        // It has just ended, and left no trace.
        Err(StoreError::NotFound) => Ok(None),
        ended => ended,
    }
}

async fn cancel_because(
    tx: &mut Tx,
    (org, connection, id): (OrgNo, ConnId, JobId),
    why: Option<&str>,
    now: Millis,
) -> Result<Option<RunEnd>> {
    let found = by_id(tx, org, connection, id).await?;
    if found.state.is_over() {
        return Ok(None);
    }
    let locked = jobs::lock(tx, org, found.job).await?;
    let run = lock(tx, org, found.job).await?;
    if run.state.is_over() {
        return Ok(None);
    }
    set(tx, &run, RunState::Cancelled, why, now).await?;
    give_back(tx, &run, RunState::Cancelled, now).await?;
    actions::drop_some(tx, (org, run.job), now, DROPPED_AT_ONCE).await?;
    let closed = match run.state {
        RunState::Reading => {
            jobs::discard(tx, org, run.job, now).await?;
            None
        }
        RunState::Verifying => jobs::cancel(tx, org, id, locked.test, now).await?.ok(),
        _ => None,
    };
    Ok(Some(RunEnd { run: ConnectionRun { state: RunState::Cancelled, ..run }, closed }))
}

/// Ignores more of the open actions of a run that was canceled or has failed. Returns whether others may be left.
pub async fn drop_more(tx: &mut Tx, (org, job): (OrgNo, JobNo), now: Millis) -> Result<bool> {
    let run: Option<ConnectionRun> = tx.find(&LOCK, args![org, job]).await?;
    match run {
        Some(run) if matches!(run.state, RunState::Cancelled | RunState::Failed) => {
            actions::drop_some(tx, (org, job), now, DROPPED_AT_ONCE).await
        }
        _ => Ok(false),
    }
}

/// Makes the run of a closed job due. Its row is locked after the job's.
pub(crate) async fn closed_job(tx: &mut Tx, org: OrgNo, job: JobNo, now: Millis) -> Result<()> {
    match tx.execute(&CLOSED_JOB, args![org, job, now]).await? {
        0 => Ok(()),
        _ => wake::ring(tx, WakeUp::Runs).await,
    }
}

/// Returns whether a job is a run that acts. Its rows are locked until the transaction ends.
pub(crate) async fn is_acting(tx: &mut Tx, org: OrgNo, job: JobNo) -> Result<bool> {
    let run: Option<ConnectionRun> = tx.find(&LOCK, args![org, job]).await?;
    Ok(run.is_some_and(|run| run.state == RunState::Acting))
}

/// Ends a waiting run whose rows are being removed.
pub(crate) async fn purged(tx: &mut Tx, org: OrgNo, job: JobNo, now: Millis) -> Result<()> {
    tx.execute(&EXPIRE, args![org, job, now]).await.map(drop)
}

/// Returns active runs of banned organizations.
pub async fn of_banned(conn: &mut Conn, at_most: i64) -> Result<Vec<(OrgNo, ConnId, JobId)>> {
    conn.all(&OF_BANNED, args![at_most]).await
}

/// Returns runs that were canceled or have failed since a time and still have open actions: the process that ended them may have died.
pub async fn half_ended(conn: &mut Conn, since: Millis, at_most: i64) -> Result<Vec<(OrgNo, ConnId, JobId)>> {
    conn.all(&UNFINISHED, args![since, at_most]).await
}

/// Returns whether [`forget`] would find work.
pub async fn any_old(conn: &mut Conn, before: Millis) -> Result<bool> {
    conn.has(&ANY_OLD, args![before]).await
}

/// Removes runs that ended before a time. Returns the number removed.
pub async fn forget(tx: &mut Tx, before: Millis, at_most: i64) -> Result<usize> {
    let old: Vec<(OrgNo, JobNo)> = tx.all(&OLD, args![before, at_most]).await?;
    for (org, job) in &old {
        actions::forget(tx, *org, *job).await?;
        tx.execute(&DROP, args![org, job]).await?;
    }
    Ok(old.len())
}
