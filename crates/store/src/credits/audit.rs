//! Audits the database: each invariant of the store as a query.
//!
//! [`sums()`] runs what single statements can check, over everything: cheap enough for a metric. [`everything`] also reads each
//! job's rows, in slices, through the functions that serve customers. A job that is not packed meanwhile takes 16 bytes of memory
//! per result, and about 400 per deciding host. Each statement and each job is read in one snapshot, so the audit can run beside a
//! service.
//!
//! One invariant is not checked here: that an idempotency key makes one job. Its response is encrypted under the key itself; the
//! tests of retries check it.

mod accounts;
mod rows;
mod sums;
#[cfg(test)]
mod tests;

use probity_mail::time::Millis;

use crate::db::error::Result;
use crate::db::{Conn, ResultRow, Statement, StatementArgs, Store, statements};
use crate::number::OrgNo;
use crate::records::record;

pub(crate) use accounts::accounts;

/// Jobs listed at a time.
const JOBS: i64 = 1_000;

macro_rules! invariants {
    ($($(#[$doc:meta])* $variant:ident $name:literal $rule:literal,)*) => {
        /// Invariant of the store.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Invariant { $($(#[$doc])* $variant,)* }

        impl Invariant {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Name for metric labels.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            pub fn rule(self) -> &'static str {
                match self { $(Self::$variant => $rule,)* }
            }
        }
    };
}

invariants! {
    /// An account's available credits are the sum of its ledger.
    AccountAvailable "account_available" "available = granted + adjusted + released - held - expired",
    /// An account's held credits are the sum of its ledger.
    AccountHeld "account_held" "held = held - captured - released",
    /// An account's spent credits are the sum of its ledger.
    AccountSpent "account_spent" "spent = captured",
    /// An account's held credits are the sum of its holds.
    AccountHolds "account_holds" "held = the holds",
    /// Usage counts each charged verification.
    AccountUsage "account_usage" "spent = charged verifications",
    /// An accepted job holds one credit for each of its rows.
    JobHeld "job_held" "a job was accepted with a credit for each row",
    /// A closed job's held credits were captured or released; never more, while its ledger rows are not folded.
    JobSettled "job_settled" "a closed job's hold = captures + releases",
    /// A job's captures equal its counter of charged results.
    JobCaptured "job_captured" "a job's captures = its charged results",
    /// Only open jobs have holds without an end.
    HoldOfClosed "hold_of_closed" "only open jobs have holds without an end",
    /// A completed job has no chunks; a stopped job loses its chunks when it is packed.
    ChunkOfClosed "chunk_of_closed" "only jobs that are open, or stopped and not packed, have chunks",
    /// An open, imported job has chunks, so it can finish.
    OpenWithoutWork "open_without_work" "an open job has chunks left",
    /// A job's state decides whether it counts as open.
    OpenByState "open_by_state" "a job counts as open by its state",
    /// A completed job has counted all rows.
    CompletedCounts "completed_counts" "a completed job has counted every row",
    /// The counters by reason count every row.
    ReasonCounts "reason_counts" "a job's counters by reason count its processed rows",
    /// Each closed job with a callback has exactly one completion event.
    EventOnce "event_once" "one completion event for each closed job with a callback",
    /// Every row of a completed job has exactly one result; a row of another job has at most one.
    RowOnce "row_once" "each row has one final result",
    /// No result exists for a row that was not submitted.
    RowBeyond "row_beyond" "no result beyond the submitted rows",
    /// A job's counters match its rows.
    RowCounts "row_counts" "a job's counters = counts over its rows",
    /// A job's counters by reason match its rows.
    RowReasons "row_reasons" "a job's counters by reason = counts over its rows",
    /// An open job holds one credit for each address without a result.
    HoldOfOpen "hold_of_open" "an open job holds a credit for each address without a result",
    /// Every address without a result is in a chunk.
    WorkLost "work_lost" "every address without a result is in a chunk",
}

/// Two values that should agree and do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditDiscrepancy {
    /// Broken invariant.
    pub invariant: Invariant,
    pub org: OrgNo,
    /// A bucket, a job's id, or a job's id and one of its counters; empty for the whole organization.
    pub subject: String,
    /// Recorded or expected value.
    pub said: i64,
    /// Value found.
    pub found: i64,
}

/// Checks everything that single statements can. They read the ledger, the accounts, and every row of jobs, chunks and counters by
/// reason, but no results. Deliveries of finished jobs are purged in time, so only jobs closed since `messages_since` must have
/// theirs.
pub async fn sums(store: &Store, messages_since: Millis) -> Result<Vec<AuditDiscrepancy>> {
    sums_of(&mut store.read().await?, messages_since).await
}

/// As [`sums()`], within a transaction.
pub(crate) async fn sums_of(conn: &mut Conn, messages_since: Millis) -> Result<Vec<AuditDiscrepancy>> {
    let mut found = accounts(conn).await?;
    found.extend(sums::sums(conn, messages_since).await?);
    Ok(found)
}

/// Returns every broken invariant; empty if none. Runs [`sums()`], then checks each job with all its rows.
pub async fn everything_since(store: &Store, messages_since: Millis) -> Result<Vec<AuditDiscrepancy>> {
    let mut found = sums(store, messages_since).await?;
    let mut last = None;
    loop {
        let jobs = rows::jobs_after(&mut store.read().await?, last, JOBS).await?;
        for (org, job) in &jobs {
            found.extend(rows::of_job(&mut store.snapshot().await?, *org, *job).await?);
        }
        match jobs.last() {
            Some(job) => last = Some(*job),
            None => return Ok(found),
        }
    }
}

/// As [`everything_since`], if no delivery was ever purged: for tests.
pub async fn everything(store: &Store) -> Result<Vec<AuditDiscrepancy>> {
    everything_since(store, Millis(0)).await
}

async fn differing(
    conn: &mut Conn,
    invariant: Invariant,
    statement: &'static Statement,
    args: StatementArgs,
) -> Result<Vec<AuditDiscrepancy>> {
    let read = |row: &ResultRow| Ok(record!(row => AuditDiscrepancy { org, subject, said, found; invariant }));
    let rows = conn.rows(statement, args).await?.iter().map(read).collect::<Result<Vec<_>>>()?;
    Ok(rows.into_iter().filter(|at| at.said != at.found).collect())
}

statements! {
    [accounts, rows, sums]
}
