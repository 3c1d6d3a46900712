//! Runs of connections: the properties that a run has in addition to its job.
//!
//! ```text
//! reading            contacts are read; the job is staged
//! verifying          the job is accepted; rows plan actions as they are settled
//! needs_confirmation a user decides about the planned actions
//! acting             due actions are performed
//! ```
//!
//! A node claims a run under a lease with an epoch ([`claim`]); writes of an earlier holder are rejected
//! ([`StoreError::LeaseLost`]). A unique index ensures that a connection has only one run at a time that is reading,
//! verifying or acting. Of the others, at most one that covers all contacts waits for a user: the newest.

mod braking;
mod claiming;
mod ending;
mod polls;
mod replacing;
mod watch;

use probity_account::connections::{BrakeCount, BrakeReason, RunCause};
use probity_account::id::{ConnId, JobId};
use probity_mail::time::Millis;

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, ResultRow, Tx, args, statements};
use crate::jobs::{self, JobNo, NewJob};
use crate::nodes::wake::{self, WakeUp};
use crate::number::OrgNo;
use crate::records::{ReadColumns as _, TypedStatements as _, records};

pub use claiming::{ClaimedRun, RunFence, RunSetback, accept, any_due, claim, extend, leave, set_back};
pub(crate) use claiming::{RunAdvance, advance, held};
pub use ending::{
    Confirmation, RunEnd, any_old, cancel, cancel_going, conclude, confirm, drop_more, fail, finish_acting,
    finish_empty, forget, half_ended, of_banned, put_back,
};
pub(crate) use ending::{act, closed_job, finish_if_decided, is_acting, lock, purged};
pub use polls::end_poll;
pub use watch::{RunWatch, watch};

/// Actor of a run's job that a key started ([`NewJob::started_by`]). Such a run is not watched.
pub const STARTED_BY_KEY: &str = "api";

probity_mail::named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RunState {
        Reading = "reading",
        Verifying = "verifying",
        NeedsConfirmation = "needs_confirmation",
        Acting = "acting",
        Finished = "finished",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}
crate::records::names!(RunState);

impl RunState {
    /// Returns whether a node works on a run in this state.
    pub fn is_going(self) -> bool {
        matches!(self, Self::Reading | Self::Verifying | Self::Acting)
    }

    /// Returns whether the state is final.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Finished | Self::Failed | Self::Cancelled)
    }
}

/// Run to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    /// Job of the run, with the same ID.
    pub job: NewJob,
    pub connection: ConnId,
    pub cause: RunCause,
    /// Whether the run only shows what would happen.
    pub is_dry: bool,
    /// Settings of the connection (JSON), which apply to the whole run.
    pub settings: String,
    /// Creation date from which contacts are read; `None` for all.
    pub since: Option<Millis>,
}

/// Contacts that become rows of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContactPick {
    All,
    /// Contacts whose address was never verified.
    Unverified,
    /// Contacts up to a position in the order of verdicts, and a share of the others.
    Oldest {
        cut: Option<(Millis, Vec<u8>)>,
        fresh_ppm: i64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionRun {
    pub org: OrgNo,
    pub id: JobId,
    pub job: JobNo,
    pub connection: ConnId,
    pub cause: RunCause,
    /// Whether the run only shows what would happen.
    pub is_dry: bool,
    pub state: RunState,
    /// Reason of a failure or a setback, without addresses and credentials.
    pub fault: Option<String>,
    /// Reason why the run waits for confirmation.
    pub brake: Option<BrakeReason>,
    /// Counts together with earlier runs, if only their sum is too high.
    pub together: Option<BrakeCount>,
    /// Settings of the connection at the start (JSON).
    pub settings: String,
    /// Tag of the account that was read. Actions in another account are impossible.
    pub account_tag: Vec<u8>,
    /// Creation date from which contacts are read; `None` for all.
    pub since: Option<Millis>,
    /// Slot of the schedule; `None` if a user started it.
    pub due_at: Option<Millis>,
    /// Contacts that become rows.
    pub pick: ContactPick,
    /// Number of contacts read.
    pub contacts: i64,
    /// Number of records without an address or an ID.
    pub skipped: i64,
    /// Number of contacts that became rows of the job.
    pub rows: i64,
    /// Time of the next work, which a platform may have delayed.
    pub next_at: Millis,
    /// Consecutive failed calls.
    pub failures: i64,
    /// Time of the first consecutive refusal of the credentials.
    pub refused_at: Option<Millis>,
    /// Of a poll: time from the creation of its oldest new contact to the verdicts, in milliseconds.
    pub delay_ms: Option<i64>,
    pub created_at: Millis,
    pub confirmed_at: Option<Millis>,
    pub finished_at: Option<Millis>,
}

/// Columns of a [`ConnectionRun`].
macro_rules! columns {
    () => {
        "org_no, id, job_no, connection_id, cause, dry, state, fault, brake, settings, account_tag, since, contacts, \
         skipped, rows_total, next_at, failures, refused_at, created_at, confirmed_at, finished_at, due_at, cut_at, \
         cut_contact, fresh_ppm, delay_ms, together_contacts, together_actions"
    };
}
pub(crate) use columns;

statements! {
    // Only for an active connection of the caller's mode.
    START = "INSERT INTO connection_run (org_no, id, job_no, connection_id, cause, dry, state, settings, account_tag, since, \
             contacts, skipped, rows_total, epoch, next_at, failures, created_at, rules_widened) \
             SELECT c.org_no, CAST($3 AS TEXT), CAST($4 AS BIGINT), c.id, CAST($5 AS TEXT), CAST($6 AS BIGINT), 'reading', \
             CAST($7 AS TEXT), c.account_tag, CAST($8 AS BIGINT), 0, 0, 0, 0, CAST($9 AS BIGINT), 0, CAST($9 AS BIGINT), c.rules_widened \
             FROM connection c WHERE c.org_no = $1 AND c.id = $2 AND c.test = $10 AND c.status = 'active'";
    OF_CONNECTION = "UPDATE job SET connection_id = $3, integration = (SELECT c.provider FROM connection c \
                     WHERE c.org_no = $1 AND c.id = $3) WHERE org_no = $1 AND job_no = $2";
    BY_ID = concat!("SELECT ", columns!(), " FROM connection_run WHERE org_no = $1 AND id = $2 AND connection_id = $3");
    BY_JOB = concat!("SELECT ", columns!(), " FROM connection_run WHERE org_no = $1 AND job_no = $2");
    GOING = concat!("SELECT ", columns!(), " FROM connection_run WHERE org_no = $1 AND connection_id = $2 \
            AND state IN ('reading', 'verifying', 'acting')");
    PAGE = concat!("SELECT ", columns!(), " FROM connection_run WHERE org_no = $1 AND connection_id = $2 \
           AND (created_at < $3 OR (created_at = $3 AND id < $4)) ORDER BY created_at DESC, id DESC LIMIT $5");
    WAITING_CONNECTIONS = "SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM connection c WHERE c.org_no = $1 AND c.test = $2 \
                           AND c.status = 'active' AND EXISTS (SELECT 1 FROM connection_run r WHERE r.org_no = c.org_no \
                           AND r.connection_id = c.id AND r.state = 'needs_confirmation') LIMIT $3) AS part) AS n";
    [braking, claiming, ending, polls, replacing, watch]
}

/// Starts a run with its staged job. Fails with [`StoreError::NotFound`] if the connection does not exist or is
/// disconnected, and with [`StoreError::Conflict`] if another run of the connection is active.
pub async fn start(tx: &mut Tx, new: &NewRun) -> Result<ConnectionRun> {
    let NewJob { org, id, test, at, .. } = new.job;
    let job = jobs::begin(tx, &new.job).await?;
    let NewRun { connection, cause, is_dry, settings, since, .. } = new;
    let values = args![org, connection, id, job, cause, is_dry, settings, since, at, test];
    tx.change(&START, values, StoreError::NotFound).await?;
    tx.execute(&OF_CONNECTION, args![org, job, connection]).await?;
    wake::ring(tx, WakeUp::Runs).await?;
    by_job(tx, org, job).await?.ok_or(StoreError::NotFound)
}

/// Returns a run of a connection.
pub async fn by_id(conn: &mut Conn, org: OrgNo, connection: ConnId, id: JobId) -> Result<ConnectionRun> {
    conn.one(&BY_ID, args![org, id, connection]).await
}

/// Returns the run of a job; `None` if the job is not a run.
pub async fn by_job(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Option<ConnectionRun>> {
    conn.find(&BY_JOB, args![org, job]).await
}

/// Returns the active run of a connection, if any.
pub async fn going(conn: &mut Conn, org: OrgNo, connection: ConnId) -> Result<Option<ConnectionRun>> {
    conn.find(&GOING, args![org, connection]).await
}

/// Returns runs of a connection, newest first, after the last one of a page, at most `at_most`.
pub async fn page(
    conn: &mut Conn,
    org: OrgNo,
    connection: ConnId,
    after: Option<(Millis, JobId)>,
    at_most: i64,
) -> Result<Vec<ConnectionRun>> {
    let (at, id) = after.map_or((Millis(i64::MAX), String::new()), |(at, id)| (at, id.to_string()));
    conn.all(&PAGE, args![org, connection, at, id, at_most]).await
}

fn pick(row: &ResultRow) -> Result<ContactPick> {
    Ok(match row.read("cause")? {
        RunCause::Manual => ContactPick::All,
        RunCause::Autofloss | RunCause::Instafloss => ContactPick::Unverified,
        RunCause::DecayProtection => {
            let at: Option<Millis> = row.read("cut_at")?;
            let fresh_ppm: Option<i64> = row.read("fresh_ppm")?;
            ContactPick::Oldest { cut: at.zip(row.read("cut_contact")?), fresh_ppm: fresh_ppm.unwrap_or(0) }
        }
    })
}

records!(row => ConnectionRun {
    org = "org_no", id, job = "job_no", connection = "connection_id", cause, is_dry = "dry", state, fault, brake, settings,
    account_tag, since, due_at, contacts, skipped, rows = "rows_total", next_at, failures, refused_at, delay_ms,
    created_at, confirmed_at, finished_at;
    together: together(row)?,
    pick: pick(row)?,
});

fn together(row: &ResultRow) -> Result<Option<BrakeCount>> {
    let counts = row.get::<Option<i64>>("together_contacts")?.zip(row.get("together_actions")?);
    Ok(counts.map(|(contacts, destructive)| BrakeCount { contacts, destructive }))
}

/// Counts the active connections of a mode with a run that waits for confirmation, up to `at_most`.
pub async fn count_waiting_connections(conn: &mut Conn, org: OrgNo, test: bool, at_most: i64) -> Result<i64> {
    conn.one(&WAITING_CONNECTIONS, args![org, test, at_most]).await
}
