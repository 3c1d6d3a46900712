//! Batch jobs, from the first address that arrives to the last result.
//!
//! A job is *unborn* while its addresses arrive in blocks; one short transaction ([`accept()`]) holds its credits and makes it
//! visible. Somebody takes the *import* up and makes *chunks* of it; workers take chunks up ([`claim_chunks`]), and
//! settle results in parts ([`settle`]). Whoever takes something up gets an *epoch*; what an earlier holder brings later is refused
//! ([`StoreError::LeaseLost`]), so each row gets one result and each credit is moved once, whoever dies or sleeps meanwhile.
//!
//! Rows are locked in one order: job, chunk, hold, account.

mod accept;
mod close;
mod depth;
mod erasing;
mod import;
mod kind;
mod packing;
mod part;
mod picked;
mod purge;
mod reading;
mod results;
mod sheet;
mod standing;
mod summed;
mod work;

use probity_account::id::JobId;
use probity_mail::time::Millis;
use probity_mail::verdict::{Reason, Status};

use crate::db::{Conn, Row, Statement, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

pub use accept::{NewJob, accept, add_block, begin, broken_off, discard, sweep};
pub use close::{Closed, cancel, force_stop};
pub use depth::{Depth, depth};
pub use erasing::{
    Anew, Erased, Results, await_settling, chunks, erased_since, older, results_behind, rewrite_block, rewrite_chunk,
    strip_results,
};
pub use import::{ImportClaim, NewChunk, add_chunks, any_import, claim_import, free_import, imported, restart_import};
pub use kind::Kind;
pub use packing::{Packing, any_to_pack, claim_packing, pack};
pub use picked::picked;
pub use purge::{any_marked, any_old, due, forget, mark_due, purge_rows};
pub use reading::{Filter, by_id, page, providers, reasons, set_aside};
pub use results::{RowResult, Standing, blocks, outcomes, results, standing};
pub(crate) use sheet::Sheets;
pub use standing::{LATELY_MS, is_to_stop, of_banned, open_of, stalled, waits};
pub use summed::{Summed, record};
pub use work::{
    Claimed, Fence, HEADS_AMONG, Head, Open, SOURCE_MS, Settled, Stay, body, claim_chunks, extend, free, heads, open,
    settle,
};

/// A job's number within the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobNo(pub i64);

impl JobNo {
    /// The number that belongs to an id, made as organizations' numbers are.
    pub fn of_id(id: JobId) -> Self {
        Self(OrgNo::of_id(id.bits()).0)
    }
}

impl crate::db::Argument for JobNo {
    fn add(self, args: &mut crate::db::Args) {
        self.0.add(args);
    }
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Its addresses are still arriving.
    Unborn,
    /// Accepted; nobody has looked at its addresses.
    Queued,
    /// Its addresses are being sorted into chunks.
    Importing,
    /// Sorted; no address has been taken up.
    Ready,
    /// Addresses are being verified.
    Processing,
    /// Every row has its result.
    Completed,
    /// Stopped by the customer.
    Cancelled,
    /// Stopped by the system.
    ForceStopped,
}

impl State {
    const ALL: [(Self, &'static str); 8] = [
        (Self::Unborn, "unborn"),
        (Self::Queued, "queued"),
        (Self::Importing, "importing"),
        (Self::Ready, "ready"),
        (Self::Processing, "processing"),
        (Self::Completed, "completed"),
        (Self::Cancelled, "cancelled"),
        (Self::ForceStopped, "force_stopped"),
    ];

    fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(state, _)| *state == self).map_or("", |(_, name)| name)
    }

    /// Whether nothing is left to do.
    pub fn is_closed(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled | Self::ForceStopped)
    }
}

impl std::str::FromStr for State {
    type Err = ();
    fn from_str(name: &str) -> std::result::Result<Self, ()> {
        Self::ALL.iter().find(|(_, text)| *text == name).map(|(state, _)| *state).ok_or(())
    }
}

/// How many rows came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
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

impl Counts {
    /// Counts `rows` rows of one reason.
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

    /// Everything that did not pass.
    pub fn failed(&self) -> i64 {
        self.undeliverable + self.risky + self.unknown
    }
}

/// A job as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Whose.
    pub org: OrgNo,
    /// Its number.
    pub no: JobNo,
    /// Its id outside.
    pub id: JobId,
    /// Whether it was made with a test key.
    pub test: bool,
    /// Where its addresses came from.
    pub source: String,
    /// Who or what started it, in the timeline's words.
    pub started_by: Option<String>,
    /// Where it was started.
    pub source_action: Option<String>,
    /// Who started it, as the timeline shows it (JSON).
    pub actor: Option<String>,
    /// Where it stands.
    pub state: State,
    /// Where to tell that it is done.
    pub webhook_url: Option<String>,
    /// Rows that were submitted.
    pub rows: i64,
    /// Rows by outcome.
    pub counts: Counts,
    /// Credits that it has spent.
    pub charged: i64,
    /// When it was accepted.
    pub created_at: Millis,
    /// When its first address was taken up.
    pub started_at: Option<Millis>,
    /// When it was closed.
    pub finished_at: Option<Millis>,
    /// From when on its rows are gone: they were old, or it was never accepted.
    pub purged_at: Option<Millis>,
}

statements! {
    LOCK = "SELECT state, test, epoch, next_chunk, parts, id, source, purged_at FROM job WHERE org_no = $1 AND job_no = $2 {for_update}";
}

/// The statements of this aggregate, those of its parts included.
pub(crate) fn all_statements() -> Vec<&'static Statement> {
    [
        STATEMENTS,
        accept::STATEMENTS,
        close::STATEMENTS,
        depth::STATEMENTS,
        erasing::STATEMENTS,
        import::STATEMENTS,
        packing::STATEMENTS,
        purge::STATEMENTS,
        reading::STATEMENTS,
        results::STATEMENTS,
        sheet::STATEMENTS,
        standing::STATEMENTS,
        summed::STATEMENTS,
        work::STATEMENTS,
    ]
    .concat()
}

/// What must be known of a job to change it; its row is locked.
pub(crate) struct Locked {
    pub(crate) state: State,
    pub(crate) test: bool,
    pub(crate) epoch: i64,
    pub(crate) next_chunk: i64,
    /// The number of its last part.
    pub(crate) parts: i64,
    /// The name of its hold: its id.
    pub(crate) id: String,
    pub(crate) source: String,
    /// Whether its rows are gone, or going.
    pub(crate) purged: bool,
}

pub(crate) async fn lock(tx: &mut Tx, org: OrgNo, job: JobNo) -> Result<Locked> {
    let row = tx.first(&LOCK, args![org, job]).await?.ok_or(StoreError::NotFound)?;
    Ok(Locked {
        state: row.parse("state")?,
        test: row.get::<i64>("test")? == 1,
        epoch: row.get("epoch")?,
        next_chunk: row.get("next_chunk")?,
        parts: row.get("parts")?,
        id: row.get("id")?,
        source: row.get("source")?,
        purged: row.get::<Option<i64>>("purged_at")?.is_some(),
    })
}

pub(crate) fn read(row: &Row) -> Result<Job> {
    let at = |column: &str| row.get::<Option<i64>>(column).map(|at| at.map(Millis));
    let url: Option<Vec<u8>> = row.get("webhook_url")?;
    let url = url.map(String::from_utf8).transpose().map_err(|error| StoreError::Corrupt(error.into()))?;
    Ok(Job {
        org: OrgNo(row.get("org_no")?),
        no: JobNo(row.get("job_no")?),
        id: row.parse("id")?,
        test: row.get::<i64>("test")? == 1,
        source: row.get("source")?,
        started_by: row.get("started_by")?,
        source_action: row.get("source_action")?,
        actor: row.get("actor")?,
        state: row.parse("state")?,
        webhook_url: url,
        rows: row.get("rows_total")?,
        counts: Counts {
            processed: row.get("processed")?,
            passed: row.get("passed")?,
            undeliverable: row.get("undeliverable")?,
            risky: row.get("risky")?,
            unknown: row.get("unknown")?,
        },
        charged: row.get("charged")?,
        created_at: Millis(row.get("created_at")?),
        started_at: at("started_at")?,
        finished_at: at("finished_at")?,
        purged_at: at("purged_at")?,
    })
}

/// The columns that [`read`] needs.
macro_rules! columns {
    () => {
        "org_no, job_no, id, test, source, started_by, source_action, actor, state, webhook_url, rows_total, processed, \
         passed, undeliverable, risky, unknown, charged, created_at, started_at, finished_at, purged_at"
    };
}
pub(crate) use columns;

/// One job, whoever asks; for the parts that have its number.
pub async fn by_no(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Job> {
    reading::by_no(conn, org, job).await
}
