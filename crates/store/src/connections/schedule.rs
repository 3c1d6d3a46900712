//! Schedules: due times of connections' automatic runs.
//!
//! A row for each kind of run that is switched on has the slot of the next run. The transaction that starts a run locks the row
//! and moves it to the next slot ([`start`]), so nodes need no lease, and missed slots are made up by one run. A failed run gives
//! its slot back ([`failed`]). A unique index prevents a second run for a slot.

use probity_account::connections::{ConnectionSettings, DecayShare, RunCause};
use probity_account::id::ConnId;
use probity_mail::time::Millis;

use super::runs::{self, ConnectionRun, NewRun};
use crate::db::error::Result;
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

/// Pause after the first failed run; doubles with each failure.
const PAUSE_MS: i64 = 15 * 60_000;
/// Longest pause after a failed run.
const PAUSE_MAX_MS: i64 = 6 * 3_600_000;
/// Maximum number of contacts that are counted.
const CONTACTS_MAX: i64 = 100_000_000;

probity_mail::named! {
    /// Reason why a slot waits.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ScheduleWait {
        /// No credits are available.
        Credits = "credits",
        /// The last run failed.
        Failed = "failed",
        /// New contacts are unknown before a complete run.
        FirstRun = "first_run",
    }
}
crate::records::names!(ScheduleWait);

/// Schedule of one kind of automatic run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionSchedule {
    pub org: OrgNo,
    pub connection: ConnId,
    pub cause: RunCause,
    /// Slot of the next run.
    pub due_at: Millis,
    /// Time of the next attempt; `None` while the connection is disconnected.
    pub next_at: Option<Millis>,
    /// Consecutive failed runs.
    pub failures: i64,
    pub waits_for: Option<ScheduleWait>,
    pub begun_at: Millis,
    /// Start of the last complete run.
    pub done_at: Option<Millis>,
    /// Creation date up to which polls have seen every contact.
    pub watermark: Option<Millis>,
}

/// Due schedule, with the inputs of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueSchedule {
    pub schedule: ConnectionSchedule,
    /// Whether a test key created the connection.
    pub test: bool,
    pub provider: String,
    pub settings: ConnectionSettings,
    /// Creation time up to which the last complete run saw every contact.
    pub watermark: Option<Millis>,
    /// Whether a complete run has verified all contacts of the account.
    pub is_known: bool,
    /// Name of the organization's time zone.
    pub time_zone: Option<String>,
}

/// Columns of a schedule.
macro_rules! columns {
    () => {
        "s.org_no, s.connection_id, s.cause, s.due_at, s.next_at, s.failures, s.waits_for, s.begun_at, s.done_at, \
         s.watermark AS polled_to"
    };
}

/// Schedules that are due at $1, with the inputs of their runs. A slot whose connection has a run in progress waits for its end.
macro_rules! due {
    () => {
        concat!("SELECT ", columns!(), ", c.test, c.provider, c.settings, c.watermark, o.time_zone, \
         CASE WHEN EXISTS (SELECT 1 FROM connection_run k WHERE k.org_no = s.org_no AND k.connection_id = s.connection_id \
         AND k.cause IN ('manual', 'autofloss') AND (k.state IN ('needs_confirmation', 'acting', 'finished') \
         OR k.state = 'cancelled' AND k.brake IS NOT NULL) \
         AND k.account_tag = c.account_tag) THEN 1 ELSE 0 END AS is_known \
         FROM connection_schedule s JOIN connection c ON c.org_no = s.org_no AND c.id = s.connection_id \
         LEFT JOIN org_settings o ON o.org_no = s.org_no \
         WHERE s.next_at <= $1 AND c.status = 'active' \
         AND NOT EXISTS (SELECT 1 FROM connection_run r WHERE r.org_no = s.org_no AND r.connection_id = s.connection_id \
         AND r.state IN ('reading', 'verifying', 'acting')) \
         AND NOT EXISTS (SELECT 1 FROM org g WHERE g.org_no = s.org_no AND g.status IN ('suspended', 'paused', 'banned'))")
    };
}

statements! {
    OF = concat!("SELECT ", columns!(), " FROM connection_schedule s WHERE s.org_no = $1 AND s.connection_id = $2");
    OF_ORG = concat!("SELECT ", columns!(), " FROM connection_schedule s WHERE s.org_no = $1");
    ADD = "INSERT INTO connection_schedule (org_no, connection_id, cause, due_at, next_at, failures, begun_at) \
           VALUES ($1, $2, $3, $4, $4, 0, $5) ON CONFLICT (org_no, connection_id, cause) DO NOTHING";
    DROP = "DELETE FROM connection_schedule WHERE org_no = $1 AND connection_id = $2 AND cause = $3";
    // Moves to another time zone. A slot that is already due stays.
    MOVE = "UPDATE connection_schedule SET due_at = $4, next_at = $4 \
            WHERE org_no = $1 AND connection_id = $2 AND cause = $3 AND due_at > $5 AND next_at = due_at";
    PAUSE = "UPDATE connection_schedule SET next_at = NULL WHERE org_no = $1 AND connection_id = $2";
    RESUME = "UPDATE connection_schedule SET next_at = due_at, failures = 0, waits_for = NULL, watermark = NULL \
              WHERE org_no = $1 AND connection_id = $2";
    DUE = concat!(due!(), " ORDER BY s.next_at LIMIT $2");
    DUE_POLL = concat!(due!(), " AND s.org_no = $2 AND s.connection_id = $3 AND s.cause = 'instafloss'");
    LOCK = concat!("SELECT ", columns!(), " FROM connection_schedule s WHERE s.org_no = $1 AND s.connection_id = $2 \
           AND s.cause = $3 {for_update}");
    ADVANCE = "UPDATE connection_schedule SET due_at = $4, next_at = $4, waits_for = NULL \
               WHERE org_no = $1 AND connection_id = $2 AND cause = $3";
    POSTPONE = "UPDATE connection_schedule SET next_at = $4, waits_for = $5 WHERE org_no = $1 AND connection_id = $2 \
                AND cause = $3 AND next_at <= $6";
    FAILED = "UPDATE connection_schedule SET due_at = $4, failures = failures + 1, waits_for = 'failed', \
              next_at = CASE WHEN next_at IS NULL THEN NULL ELSE CAST($5 AS BIGINT) END \
              WHERE org_no = $1 AND connection_id = $2 AND cause = $3";
    DONE = "UPDATE connection_schedule SET failures = 0, done_at = $4, watermark = COALESCE($5, watermark) \
            WHERE org_no = $1 AND connection_id = $2 AND cause = $3";
    TAKEN = "SELECT 1 AS one FROM connection_run WHERE org_no = $1 AND connection_id = $2 AND cause = $3 AND due_at = $4 \
             AND state <> 'failed' LIMIT 1";
    SLOT = "UPDATE connection_run SET due_at = $3, cut_at = $4, cut_contact = $5, fresh_ppm = $6 \
            WHERE org_no = $1 AND job_no = $2";
    CONTACTS = "SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM contact_mark WHERE org_no = $1 AND connection_id = $2 \
                AND verified_at IS NOT NULL LIMIT $3) AS known) AS n";
    DELAYS = "SELECT delay_ms FROM connection_run WHERE org_no = $1 AND connection_id = $2 AND created_at >= $3 \
              AND delay_ms IS NOT NULL ORDER BY created_at DESC, id DESC LIMIT $4";
    CUT = "SELECT verified_at, contact FROM (SELECT verified_at, contact FROM contact_mark WHERE org_no = $1 \
           AND connection_id = $2 AND verified_at IS NOT NULL ORDER BY verified_at, contact LIMIT $3) AS oldest \
           ORDER BY verified_at DESC, contact DESC LIMIT 1";
}

/// Returns the active schedules of a connection.
pub async fn of_connection(conn: &mut Conn, org: OrgNo, connection: ConnId) -> Result<Vec<ConnectionSchedule>> {
    let mut found: Vec<ConnectionSchedule> = conn.all(&OF, args![org, connection]).await?;
    let place = |of: &ConnectionSchedule| RunCause::ALL.iter().position(|cause| *cause == of.cause);
    found.sort_by_key(place);
    Ok(found)
}

/// Returns all schedules of an organization.
pub async fn of_org(conn: &mut Conn, org: OrgNo) -> Result<Vec<ConnectionSchedule>> {
    conn.all(&OF_ORG, args![org]).await
}

/// Returns how long the new contacts of polls waited for their verdicts since a time, in milliseconds, newest first.
pub async fn delays(
    conn: &mut Conn,
    (org, connection): (OrgNo, ConnId),
    since: Millis,
    at_most: i64,
) -> Result<Vec<i64>> {
    conn.all(&DELAYS, args![org, connection, since, at_most]).await
}

/// Switches a kind of run of a locked connection on, with its first slot. No effect if it is on.
pub async fn add(tx: &mut Tx, place: (OrgNo, ConnId, RunCause), due_at: Millis, now: Millis) -> Result<()> {
    let (org, connection, cause) = place;
    tx.execute(&ADD, args![org, connection, cause, due_at, now]).await.map(drop)
}

/// Switches a kind of run off.
pub async fn remove(tx: &mut Tx, (org, connection, cause): (OrgNo, ConnId, RunCause)) -> Result<()> {
    tx.execute(&DROP, args![org, connection, cause]).await.map(drop)
}

/// Moves the next slot, unless it is due already.
pub async fn reschedule(tx: &mut Tx, place: (OrgNo, ConnId, RunCause), to: Millis, now: Millis) -> Result<()> {
    let (org, connection, cause) = place;
    tx.execute(&MOVE, args![org, connection, cause, to, now]).await.map(drop)
}

/// Stops the schedules of a connection that is disconnected. Their slots stay.
pub(super) async fn pause(tx: &mut Tx, org: OrgNo, connection: ConnId) -> Result<()> {
    tx.execute(&PAUSE, args![org, connection]).await.map(drop)
}

/// Resumes the schedules of a reconnected connection. A slot that was missed is due at once.
pub(super) async fn resume(tx: &mut Tx, org: OrgNo, connection: ConnId) -> Result<()> {
    tx.execute(&RESUME, args![org, connection]).await.map(drop)
}

/// Returns schedules that are due, of active connections without a run in progress and of unrestricted organizations.
pub async fn due(conn: &mut Conn, now: Millis, at_most: i64) -> Result<Vec<DueSchedule>> {
    conn.all(&DUE, args![now, at_most]).await
}

/// Returns the polls of a connection if they are due, under the same conditions as [`due`](due()).
pub async fn due_poll(conn: &mut Conn, org: OrgNo, connection: ConnId, now: Millis) -> Result<Option<DueSchedule>> {
    conn.find(&DUE_POLL, args![now, org, connection]).await
}

/// Starts the run of a due schedule, and moves the schedule to its next slot. Returns `None` if the schedule is no longer due:
/// another node was faster, it was switched off, or the slot has had its run. Fails with
/// [`StoreError::Conflict`](crate::StoreError::Conflict) if the connection has a run in progress.
pub async fn start(
    tx: &mut Tx,
    due: &ConnectionSchedule,
    new: &NewRun,
    next: Millis,
    decay_days: i64,
) -> Result<Option<ConnectionRun>> {
    let now = new.job.at;
    let ConnectionSchedule { org, connection, cause, .. } = *due;
    let locked: Option<ConnectionSchedule> = tx.find(&LOCK, args![org, connection, cause]).await?;
    let Some(locked) = locked else { return Ok(None) };
    if locked.due_at != due.due_at || locked.next_at.is_none_or(|at| at > now) {
        return Ok(None);
    }
    // A fast clock may already have started the run of this slot.
    if tx.has(&TAKEN, args![org, connection, cause, locked.due_at]).await? {
        tx.execute(&ADVANCE, args![org, connection, cause, next]).await?;
        return Ok(None);
    }
    let run = runs::start(tx, new).await?;
    let (mut cut, mut fresh): (Option<(Millis, Vec<u8>)>, _) = (None, None);
    if cause == RunCause::DecayProtection {
        let contacts = tx.one(&CONTACTS, args![org, connection, CONTACTS_MAX]).await?;
        let last = locked.done_at.unwrap_or(locked.begun_at);
        let share = DecayShare::at(now, contacts, decay_days, locked.begun_at, last);
        cut = tx.find(&CUT, args![org, connection, share.quota]).await?;
        fresh = Some(share.fresh_ppm);
    }
    let (cut_at, cut_contact) = cut.unzip();
    tx.execute(&SLOT, args![org, run.job, locked.due_at, cut_at, cut_contact, fresh]).await?;
    tx.execute(&ADVANCE, args![org, connection, cause, next]).await?;
    runs::by_job(tx, org, run.job).await
}

/// Postpones a due slot.
pub async fn postpone(tx: &mut Tx, due: &ConnectionSchedule, to: Millis, why: ScheduleWait, now: Millis) -> Result<()> {
    tx.execute(&POSTPONE, args!(due => org, connection, cause; to, why, now)).await.map(drop)
}

/// Gives back the slot of a failed run, to be retried after a pause or in the next night.
pub(super) async fn failed(tx: &mut Tx, run: &ConnectionRun, now: Millis) -> Result<()> {
    let Some(slot) = run.due_at else { return Ok(()) };
    let locked: Option<ConnectionSchedule> = tx.find(&LOCK, args!(run => org, connection, cause)).await?;
    let Some(locked) = locked else { return Ok(()) };
    let pause = PAUSE_MS.saturating_mul(1 << locked.failures.clamp(0, 10)).min(PAUSE_MAX_MS);
    let polls = run.cause == RunCause::Instafloss;
    let at = locked.next_at.filter(|next| !polls && *next < now + pause).unwrap_or(now + pause);
    tx.execute(&FAILED, args!(run => org, connection, cause; slot, at)).await.map(drop)
}

/// Records a complete run. `seen_to` is the creation date up to which a poll has seen every contact.
pub(super) async fn done(tx: &mut Tx, run: &ConnectionRun, seen_to: Option<Millis>) -> Result<()> {
    if run.due_at.is_none() {
        return Ok(());
    }
    tx.execute(&DONE, args!(run => org, connection, cause, created_at; seen_to)).await.map(drop)
}

records!(row => ConnectionSchedule {
    org = "org_no", connection = "connection_id", cause, due_at, next_at, failures, waits_for, begun_at,
    done_at, watermark = "polled_to"
});

records!(row => DueSchedule {
    test, provider, watermark, is_known, time_zone;
    schedule: row.record()?,
    settings: row.json("settings")?,
});
