//! Jobs, from the first address received to the last result.
//!
//! A job is *staged* (`Unborn`) while its addresses arrive in blocks. One short transaction ([`accept()`]) holds its credits and
//! makes it visible. An importer claims it and splits it into *chunks*; workers claim chunks ([`claim_chunks`]) and settle results
//! in parts ([`settle`]). Each claim gets an *epoch*; writes of an earlier holder are rejected
//! ([`StoreError::LeaseLost`](crate::StoreError::LeaseLost)). So each row gets one result and each credit moves once, even if
//! workers die or stall.
//!
//! Rows are locked in one order: job, chunk, hold, account.

mod accept;
mod close;
mod depth;
mod erasing;
mod import;
mod naming;
mod packing;
mod purge;
mod reading;
mod results;
mod sharing;
mod standing;
mod summed;
mod work;

use probity_account::id::JobId;
use probity_mail::time::Millis;
use probity_mail::verdict::{Reason, Status};

use crate::db::error::Result;
use crate::db::{Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, record, records};

pub(crate) use accept::accept_for;
pub use accept::{NewJob, accept, add_block, begin, broken_off, discard, sweep};
pub use close::{ClosedJob, cancel, force_stop};
pub use depth::{JobQueueDepth, depth};
pub use erasing::{
    BodyRewrite, ErasedRows, StoredResultsKind, await_settling, chunks, erased_since, older, results_behind,
    rewrite_block, rewrite_chunk, strip_results,
};
pub use import::{ImportClaim, NewChunk, add_chunks, any_import, claim_import, free_import, imported, restart_import};
pub use naming::{delete, deleted, hurry, lock_by_id, mark_deleted, name};
pub use packing::{PackingClaim, any_to_pack, claim_packing, pack};
pub use purge::{any_marked, any_old, due, forget, mark_due, purge_rows};
pub use reading::{JobFilter, WaitingRows, by_id, by_no, in_progress, page, providers, reasons, set_aside, waiting};
pub use results::kind::OutcomeKind;
pub(crate) use results::sheet::ResultSheets;
pub use results::{RowResult, SettledResult, blocks, outcomes, picked, results, standing};
pub use sharing::{JobShare, SharedJob, by_share, share, share_of, unshare};
pub use standing::{LATELY_MS, is_to_stop, of_banned, open_of, stalled, waits};
pub use summed::{VerificationSum, record};
pub use work::{
    ChunkFence, ChunkGroup, ChunkRelease, ClaimedChunk, HEADS_AMONG, OpenJob, SOURCE_MS, SettledChange, SettledPart,
    body, claim_chunks, extend, free, heads, open, settle, settle_rows,
};

/// Number of a job within the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobNo(pub i64);

impl JobNo {
    /// Derives the number from an id, as for organizations.
    pub fn of_id(id: JobId) -> Self {
        Self(OrgNo::of_id(id.bits()).0)
    }
}

probity_mail::named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum JobState {
        /// Staged: addresses are still arriving.
        Unborn = "unborn",
        /// Accepted; the import has not started.
        Queued = "queued",
        /// The import is sorting its addresses into chunks.
        Importing = "importing",
        /// Sorted; no chunk has been claimed.
        Ready = "ready",
        /// Chunks are being verified.
        Processing = "processing",
        /// Every row has a result.
        Completed = "completed",
        /// Stopped by the customer.
        Cancelled = "cancelled",
        /// Stopped by the system.
        ForceStopped = "force_stopped",
    }
}
crate::records::names!(JobState);
crate::records::values! { [] JobNo = i64, |value| value.0, |stored| Some(JobNo(stored)); }

impl JobState {
    /// Whether the job has ended.
    pub fn is_closed(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled | Self::ForceStopped)
    }
}

/// Rows by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Rows with a result.
    pub processed: i64,
    /// Safe to send.
    pub passed: i64,
    /// Hard failures.
    pub undeliverable: i64,
    /// Deliverable, but flagged.
    pub risky: i64,
    /// Could not be determined.
    pub unknown: i64,
}

impl JobCounts {
    /// Adds `rows` rows with the given reason.
    pub fn add(&mut self, reason: Reason, rows: i64) {
        self.processed += rows;
        let part = match reason.status() {
            Status::Passed => &mut self.passed,
            Status::Undeliverable => &mut self.undeliverable,
            Status::Risky => &mut self.risky,
            Status::Unknown => &mut self.unknown,
        };
        *part += rows;
    }

    /// Adds the rows of another count.
    pub fn join(&mut self, other: Self) {
        self.processed += other.processed;
        self.passed += other.passed;
        self.undeliverable += other.undeliverable;
        self.risky += other.risky;
        self.unknown += other.unknown;
    }

    /// All rows that did not pass.
    pub fn failed(&self) -> i64 {
        self.undeliverable + self.risky + self.unknown
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub org: OrgNo,
    pub no: JobNo,
    /// Public id.
    pub id: JobId,
    /// Whether a test key created it.
    pub test: bool,
    /// Source of its addresses.
    pub source: String,
    /// Initiator, in the timeline's terms.
    pub started_by: Option<String>,
    /// Action that started it.
    pub source_action: Option<String>,
    /// Originator, as the timeline shows it (JSON).
    pub actor: Option<String>,
    /// Platform from which its addresses were read.
    pub integration: Option<String>,
    /// Name given by a user, or that of the file.
    pub title: Option<String>,
    pub tags: Vec<String>,
    pub state: JobState,
    /// URL of the completion callback.
    pub webhook_url: Option<String>,
    pub rows: i64,
    /// Rows whose address occurs in an earlier row; `None` before the import.
    pub repeated: Option<i64>,
    pub counts: JobCounts,
    /// Credits charged.
    pub charged: i64,
    pub created_at: Millis,
    /// Time of its first claimed chunk.
    pub started_at: Option<Millis>,
    /// Time at which a user asked to finish it without further retries.
    pub hurried_at: Option<Millis>,
    /// Closing time.
    pub finished_at: Option<Millis>,
    /// Time of the purge mark: its rows are gone, because they were old or it was never accepted.
    pub purged_at: Option<Millis>,
}

statements! {
    LOCK = "SELECT state, test, epoch, next_chunk, parts, id, source, connection_id, actor, purged_at, hurried_at FROM job WHERE org_no = $1 AND job_no = $2 {for_update}";
    [accept, close, depth, erasing, import, naming, packing, purge, reading, results, sharing, standing, summed, work]
}

/// Fields needed to change a job; its row is locked.
pub(crate) struct LockedJob {
    pub(crate) state: JobState,
    pub(crate) test: bool,
    pub(crate) epoch: i64,
    pub(crate) next_chunk: i64,
    /// Number of its last part.
    pub(crate) parts: i64,
    /// Name of its hold: its id.
    pub(crate) id: String,
    pub(crate) source: String,
    /// Connection of a job that is a run.
    pub(crate) connection: Option<String>,
    /// Originator, as the timeline shows it (JSON).
    pub(crate) actor: Option<String>,
    /// Whether its rows are gone or being removed.
    pub(crate) purged: bool,
    /// Whether it is to be finished without further retries.
    pub(crate) hurried: bool,
}

pub(crate) async fn lock(tx: &mut Tx, org: OrgNo, job: JobNo) -> Result<LockedJob> {
    tx.one(&LOCK, args![org, job]).await
}

records!(row => LockedJob {
    state, test, epoch, next_chunk, parts, id, source, connection = "connection_id", actor;
    purged: row.is_set("purged_at")?,
    hurried: row.is_set("hurried_at")?,
});

records!(row => Job {
    org = "org_no", no = "job_no", id, test, source, started_by, source_action, actor, integration, title, state,
    rows = "rows_total", repeated, charged, created_at, started_at, hurried_at, finished_at, purged_at;
    tags: if row.get::<Option<String>>("tags")?.is_some() { row.json("tags")? } else { Vec::new() },
    webhook_url: row.utf8("webhook_url")?,
    counts: record!(row => JobCounts { processed, passed, undeliverable, risky, unknown }),
});

/// Columns that a [`Job`] needs.
macro_rules! columns {
    () => {
        "org_no, job_no, id, test, source, started_by, source_action, actor, integration, state, webhook_url, rows_total, \
         processed, passed, undeliverable, risky, unknown, charged, created_at, started_at, finished_at, purged_at, title, tags, \
         repeated, hurried_at"
    };
}
pub(crate) use columns;
