//! Whether the database keeps its promises: every invariant of the store as a question to it.
//!
//! [`sums()`] asks what single statements can answer, over everything: cheap enough for a metric. [`everything`] also reads each
//! job's rows, in slices, by the functions that customers read them by; a job that is not packed takes 16 bytes for each of its
//! results meanwhile, and about 400 for each host that decided in it. Each statement, and each job, is looked at in one snapshot,
//! so the audit may run beside a service.
//!
//! One promise is not checked here: that an idempotency key makes one job. Its answer is encrypted under the key itself; the
//! tests of retries check it.

mod accounts;
mod rows;
mod sums;
#[cfg(test)]
mod tests;

use probity_mail::time::Millis;

use crate::db::{Conn, Row, Statement, Store};
use crate::error::Result;
use crate::number::OrgNo;

pub(crate) use accounts::accounts;

/// Jobs that are listed at a time.
const JOBS: i64 = 1_000;

macro_rules! invariants {
    ($($(#[$doc:meta])* $variant:ident $name:literal $rule:literal,)*) => {
        /// A promise of the store.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Invariant { $($(#[$doc])* $variant,)* }

        impl Invariant {
            /// Every invariant.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name, for labels.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it says, in a few words.
            pub fn rule(self) -> &'static str {
                match self { $(Self::$variant => $rule,)* }
            }
        }
    };
}

invariants! {
    /// What an account has available is the sum of its ledger.
    AccountAvailable "account_available" "available = granted + adjusted + released - held - expired",
    /// What an account holds is the sum of its ledger.
    AccountHeld "account_held" "held = held - captured - released",
    /// What an account has spent is the sum of its ledger.
    AccountSpent "account_spent" "spent = captured",
    /// What an account holds is what its holds hold.
    AccountHolds "account_holds" "held = the holds",
    /// Each charged verification is counted in the usage.
    AccountUsage "account_usage" "spent = charged verifications",
    /// A job holds a credit for each of its rows when it is accepted.
    JobHeld "job_held" "a job was accepted with a credit for each row",
    /// What a closed job has held was spent or given back; never more, as long as its parts are not folded together.
    JobSettled "job_settled" "a closed job's hold = captures + releases",
    /// What a job has captured is what its counter of charged results says.
    JobCaptured "job_captured" "a job's captures = its charged results",
    /// Nothing is held for a closed job, nor without an end for none.
    HoldOfClosed "hold_of_closed" "only open jobs have holds without an end",
    /// A completed job has no work; of one that was stopped it goes when it is packed.
    ChunkOfClosed "chunk_of_closed" "only jobs that are open, or stopped and not packed, have chunks",
    /// An open job that is imported has work, by which it comes to its end.
    OpenWithoutWork "open_without_work" "an open job has chunks left",
    /// Jobs count as open by their state.
    OpenByState "open_by_state" "a job counts as open by its state",
    /// A completed job has counted all rows.
    CompletedCounts "completed_counts" "a completed job has counted every row",
    /// The counters by reason count every row.
    ReasonCounts "reason_counts" "a job's counters by reason count its processed rows",
    /// Each closed job with a callback was told of exactly once.
    EventOnce "event_once" "one completion event for each closed job with a callback",
    /// Every row of a completed job has exactly one result; a row of another has at most one.
    RowOnce "row_once" "each row has one final result",
    /// No result stands for a row that was not submitted.
    RowBeyond "row_beyond" "no result beyond the submitted rows",
    /// The counters of a job are those of its rows.
    RowCounts "row_counts" "a job's counters = counts over its rows",
    /// The counters by reason are those of the rows.
    RowReasons "row_reasons" "a job's counters by reason = counts over its rows",
    /// What an open job holds is one credit for each address without a result.
    HoldOfOpen "hold_of_open" "an open job holds a credit for each address without a result",
    /// Every address without a result is in some chunk.
    WorkLost "work_lost" "every address without a result is in a chunk",
}

/// Something that should agree with something else and does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discrepancy {
    /// Which promise is broken.
    pub invariant: Invariant,
    /// Whose.
    pub org: OrgNo,
    /// Of what: a bucket, a job's id, or a job's id and one of its counters; empty where the whole organization is meant.
    pub subject: String,
    /// What is said, or should be.
    pub said: i64,
    /// What was found.
    pub found: i64,
}

/// Every statement of the audit.
pub(crate) fn all_statements() -> Vec<&'static Statement> {
    [accounts::STATEMENTS, rows::STATEMENTS, sums::STATEMENTS].concat()
}

/// What single statements can find, in everything. They read the ledger, the accounts, and every row of jobs, chunks and
/// counters by reason, but no results. Messages of finished jobs are purged in time: only jobs that were closed since
/// `messages_since` must have theirs.
pub async fn sums(store: &Store, messages_since: Millis) -> Result<Vec<Discrepancy>> {
    sums_of(&mut store.read().await?, messages_since).await
}

/// The same within a transaction.
pub(crate) async fn sums_of(conn: &mut Conn, messages_since: Millis) -> Result<Vec<Discrepancy>> {
    let mut found = accounts(conn).await?;
    found.extend(sums::sums(conn, messages_since).await?);
    Ok(found)
}

/// Every place where a promise is broken; empty when all is well. As [`sums()`], and then each job with all its rows.
pub async fn everything_since(store: &Store, messages_since: Millis) -> Result<Vec<Discrepancy>> {
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

/// The same where no message was ever purged: for tests.
pub async fn everything(store: &Store) -> Result<Vec<Discrepancy>> {
    everything_since(store, Millis(0)).await
}

/// The discrepancies among the rows of a statement.
async fn differing(
    conn: &mut Conn,
    invariant: Invariant,
    statement: &'static Statement,
    args: crate::db::Args,
) -> Result<Vec<Discrepancy>> {
    let read = |row: &Row| {
        let (org, subject) = (OrgNo(row.get("org")?), row.get("subject")?);
        Ok(Discrepancy { invariant, org, subject, said: row.get("said")?, found: row.get("found")? })
    };
    let rows = conn.rows(statement, args).await?.iter().map(read).collect::<Result<Vec<_>>>()?;
    Ok(rows.into_iter().filter(|at| at.said != at.found).collect())
}
