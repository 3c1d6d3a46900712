//! Uploads: lists submitted as files, with all their columns, kept until a job is created from them and for some days after.
//!
//! An upload is *arriving* while its rows come in blocks; it is not visible. One short transaction ([`finish`]) makes it *ready*.
//! It is *started* in the transaction that accepts its job ([`start`]), so repeated starts create one job. A *gone* upload is
//! invisible, and its blocks are removed in slices ([`mod@purge`]).
//!
//! Rows are numbered from 0, including the header. The server defines the bodies: this crate does not read them.

mod purge;
mod rows;

use probity_account::id::{JobId, UploadId, UserId};
use probity_mail::time::Millis;

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, ResultRow, Tx, args, statements};
use crate::jobs::JobNo;
use crate::number::OrgNo;
use crate::privacy::erasures;
use crate::privacy::sealing::{SealedField, seal, unseal};
use crate::records::{ReadColumns as _, TypedStatements as _, record};

pub use purge::{mark_abandoned, mark_due, mark_gone, purge};
pub use rows::{add_block, blocks, of_org, rewrite_about, rewrite_block};

/// Number of an upload within the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UploadNo(pub i64);

impl UploadNo {
    /// Derives the number from an id, as for organizations.
    pub fn of_id(id: UploadId) -> Self {
        Self(OrgNo::of_id(id.bits()).0)
    }
}

crate::records::values! { [] UploadNo = i64, |value| value.0, |stored| Some(UploadNo(stored)); }

/// Upload about to arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewUpload {
    pub org: OrgNo,
    pub id: UploadId,
    /// Whether the sandbox answers its list.
    pub test: bool,
    /// `source` of its job: `csv`, or `input` for pasted text.
    pub source: &'static str,
    /// Uploader; `None` for the operator.
    pub user: Option<UserId>,
    pub at: Millis,
}

/// Address column, and whether the first row is a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnChoice {
    /// Address column, from 0; `None` if not chosen.
    pub column: Option<i64>,
    /// Whether the first row names the columns.
    pub header: bool,
}

impl ColumnChoice {
    /// The column as a statement compares it.
    fn number(self) -> i64 {
        self.column.unwrap_or(-1)
    }
}

/// Changed choice, with the content counted for it.
#[derive(Clone, Copy, Debug)]
pub struct UploadChange<'a> {
    /// Former choice.
    pub from: ColumnChoice,
    /// New choice.
    pub to: ColumnChoice,
    /// Content of the column; `None` if none is chosen.
    pub content: Option<&'a ColumnContent>,
}

/// Content of the address column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnContent {
    /// Rows with a text in it.
    pub addresses: i64,
    /// Rows without one.
    pub blank: i64,
    /// Rows whose address occurs in an earlier row.
    pub repeated: i64,
    /// Distinct texts that cannot be addresses.
    pub invalid: i64,
    /// Addresses by domain, in the server's format.
    pub domains: Vec<u8>,
}

/// Upload that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivedUpload<'a> {
    /// Description, in the server's format.
    pub about: &'a [u8],
    /// Rows, including the header.
    pub rows: i64,
    /// Size of the original file, in bytes.
    pub size: i64,
    pub choice: ColumnChoice,
    /// Content of the column; `None` if none is chosen.
    pub content: Option<&'a ColumnContent>,
    /// Upload that this one replaces, unless it has a job by now.
    pub replaces: Option<UploadNo>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    pub org: OrgNo,
    pub no: UploadNo,
    /// Public id.
    pub id: UploadId,
    /// Whether the sandbox answers its list.
    pub test: bool,
    /// `source` of its job.
    pub source: String,
    /// Uploader; `None` for the operator.
    pub user: Option<UserId>,
    /// Description, in the server's format.
    pub about: Vec<u8>,
    /// Rows, including the header.
    pub rows: i64,
    /// Size of the original file, in bytes.
    pub size: i64,
    pub choice: ColumnChoice,
    /// Content of the column; `None` if none is chosen, or a recount is due.
    pub content: Option<ColumnContent>,
    /// Job created from it.
    pub job: Option<(JobNo, JobId)>,
    pub created_at: Millis,
    /// Time of the last action on it.
    pub touched_at: Millis,
}

/// Columns that [`read`] needs.
macro_rules! columns {
    () => {
        "org_no, upload_no, id, test, source, user_id, about, rows_total, size, header, column_no, counted, addresses, blank, \
         repeated, invalid, domains, job_no, job_id, created_at, touched_at"
    };
}

statements! {
    HELD = "SELECT upload_no FROM upload WHERE org_no = $1 AND state IN ('arriving', 'ready') AND test = $3 LIMIT $2";
    BEGIN = "INSERT INTO upload (org_no, upload_no, id, test, source, state, user_id, rows_total, size, header, counted, \
             addresses, blank, repeated, invalid, created_at, touched_at) \
             VALUES ($1, $2, $3, $4, $5, 'arriving', $6, 0, 0, 0, 0, 0, 0, 0, 0, $7, $7)";
    MODE = "SELECT test FROM upload WHERE org_no = $1 AND upload_no = $2";
    FINISH = "UPDATE upload SET state = 'ready', about = $3, rows_total = $4, size = $5, created_at = $6, touched_at = $6 \
              WHERE org_no = $1 AND upload_no = $2 AND state = 'arriving'";
    CHOOSE = "UPDATE upload SET addresses = $1, blank = $2, repeated = $3, invalid = $4, counted = $5, domains = $6, \
              header = $7, column_no = $8, touched_at = $9 WHERE org_no = $10 AND upload_no = $11 AND state = 'ready' \
              AND header = $12 AND COALESCE(column_no, -1) = $13";
    RECOUNT = "UPDATE upload SET counted = 1, addresses = $3, blank = $4, repeated = $5, invalid = $6, domains = $7 \
               WHERE org_no = $1 AND upload_no = $2 AND state IN ('ready', 'started') AND counted = 0 \
               AND header = $8 AND COALESCE(column_no, -1) = $9";
    START = "UPDATE upload SET state = 'started', job_no = $3, job_id = $4, touched_at = $5 \
             WHERE org_no = $1 AND upload_no = $2 AND state = 'ready' AND header = $6 AND COALESCE(column_no, -1) = $7";
    SKIP = "UPDATE upload SET without = $3 WHERE org_no = $1 AND upload_no = $2";
    SKIPPED = "SELECT without FROM upload WHERE org_no = $1 AND upload_no = $2";
    BY_ID = concat!("SELECT ", columns!(), " FROM upload WHERE org_no = $1 AND id = $2 AND test = $3 \
           AND state IN ('ready', 'started')");
    OF_JOB = concat!("SELECT ", columns!(), " FROM upload WHERE org_no = $1 AND job_no = $2 AND state = 'started'");
    ROWS_OF_JOB = "SELECT rows_total - header AS n FROM upload WHERE org_no = $1 AND job_no = $2 AND state = 'started'";
    LIST = concat!("SELECT ", columns!(), " FROM upload WHERE org_no = $1 AND test = $2 AND state = 'ready' \
           ORDER BY created_at DESC, upload_no DESC LIMIT $3");
    [purge, rows]
}

/// Creates an upload that waits for its rows. It stays invisible until it has arrived. [`StoreError::Conflict`]: the organization
/// already has `at_most` uploads of the mode that are arriving or not started. Started uploads do not count: they are kept for the
/// downloads of their jobs, and must not block the next list.
pub async fn begin(tx: &mut Tx, new: &NewUpload, at_most: i64) -> Result<UploadNo> {
    let held = tx.rows(&HELD, args![new.org, at_most, new.test]).await?.len();
    if i64::try_from(held).is_ok_and(|held| held >= at_most) {
        return Err(StoreError::Conflict);
    }
    let NewUpload { org, id, test, source, user, at } = new;
    let (no, user) = (UploadNo::of_id(*id), user.map(|user| user.to_string()).unwrap_or_default());
    tx.execute(&BEGIN, args![org, no, id, test, source, user, at]).await?;
    Ok(no)
}

/// Makes an upload visible after all its rows have arrived, at a time that no erasure reaches; the same commit removes the upload
/// that it replaces. [`StoreError::NotFound`]: it was swept meanwhile.
pub async fn finish(tx: &mut Tx, org: OrgNo, no: UploadNo, arrived: &ArrivedUpload<'_>, now: Millis) -> Result<()> {
    let ArrivedUpload { about, rows, size, choice, content, replaces } = *arrived;
    let about = seal(tx, org, about_of(no), about).await?;
    let test = tx.one(&MODE, args![org, no]).await?;
    let at = erasures::after_all(tx, org, test, now).await?;
    tx.change(&FINISH, args![org, no, about, rows, size, at], StoreError::NotFound).await?;
    if let Some(replaced) = replaces {
        purge::mark_replaced(tx, org, replaced).await?;
    }
    let change = UploadChange { from: ColumnChoice { column: None, header: false }, to: choice, content };
    choose(tx, org, no, &change, at).await
}

/// Chooses another column. [`StoreError::Conflict`]: the current choice differs from the change's, a job was created from it, or
/// it was removed.
pub async fn choose(tx: &mut Tx, org: OrgNo, no: UploadNo, change: &UploadChange<'_>, now: Millis) -> Result<()> {
    let UploadChange { from, to, content } = *change;
    let none = ColumnContent::default();
    let found = content.unwrap_or(&none);
    let domains = seal(tx, org, domains_of(no), &found.domains).await?;
    let values = args!(found => addresses, blank, repeated, invalid; content.is_some(), content.map(|_| domains), to.header,
        to.column, now, org, no, from.header, from.number());
    tx.change(&CHOOSE, values, StoreError::Conflict).await
}

/// Stores a recount for this choice, unless the choice has changed or another recount was faster.
pub async fn recount(tx: &mut Tx, org: OrgNo, no: UploadNo, choice: ColumnChoice, found: &ColumnContent) -> Result<()> {
    let ColumnContent { addresses, blank, repeated, invalid, domains } = found;
    let domains = seal(tx, org, domains_of(no), domains).await?;
    let counts = args![org, no, addresses, blank, repeated, invalid, domains, choice.header, choice.number()];
    tx.execute(&RECOUNT, counts).await.map(drop)
}

/// Records the job created from an upload, in the transaction that accepts it. Returns an earlier job of it, if any, and records
/// nothing. [`StoreError::Conflict`]: the job has the rows of another choice than the upload.
pub async fn start(
    tx: &mut Tx,
    (org, id, test): (OrgNo, UploadId, bool),
    (job, choice): (JobId, ColumnChoice),
    now: Millis,
) -> Result<Option<(JobNo, JobId)>> {
    let no = UploadNo::of_id(id);
    let values = args![org, no, JobNo::of_id(job), job, now, choice.header, choice.number()];
    if tx.execute(&START, values).await? == 1 {
        return Ok(None);
    }
    by_id(tx, org, id, test).await?.job.map(Some).ok_or(StoreError::Conflict)
}

/// Records which rows are not in the job, in the transaction that accepts it: their bits, in the server's format.
pub async fn skip(tx: &mut Tx, org: OrgNo, no: UploadNo, rows: &[u8]) -> Result<()> {
    tx.change(&SKIP, args![org, no, rows], StoreError::NotFound).await
}

/// The rows that are not in the job; empty if all are.
pub async fn skipped(conn: &mut Conn, org: OrgNo, no: UploadNo) -> Result<Vec<u8>> {
    Ok(conn.one::<Option<_>>(&SKIPPED, args![org, no]).await?.unwrap_or_default())
}

pub async fn by_id(conn: &mut Conn, org: OrgNo, id: UploadId, test: bool) -> Result<Upload> {
    let row = conn.first(&BY_ID, args![org, id, test]).await?.ok_or(StoreError::NotFound)?;
    read(conn, &row).await
}

/// The upload from which a job was created, if it still exists.
pub async fn of_job(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Option<Upload>> {
    match conn.first(&OF_JOB, args![org, job]).await? {
        Some(row) => read(conn, &row).await.map(Some),
        None => Ok(None),
    }
}

/// Returns the number of rows below the header of a job's upload; `None` if there is no such upload, or it was removed.
pub async fn rows_of_job(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Option<i64>> {
    conn.find(&ROWS_OF_JOB, args![org, job]).await
}

/// An organization's live or test uploads without a job, newest first.
pub async fn list(conn: &mut Conn, org: OrgNo, test: bool, at_most: i64) -> Result<Vec<Upload>> {
    let rows = conn.rows(&LIST, args![org, test, at_most]).await?;
    let mut all = Vec::with_capacity(rows.len());
    for row in &rows {
        all.push(read(conn, row).await?);
    }
    Ok(all)
}

fn about_of(no: UploadNo) -> SealedField<'static> {
    SealedField::numbered("upload.about", no.0, 0)
}

fn domains_of(no: UploadNo) -> SealedField<'static> {
    SealedField::numbered("upload.domains", no.0, 0)
}

async fn read(conn: &mut Conn, row: &ResultRow) -> Result<Upload> {
    let (org, no) = (row.read("org_no")?, row.read("upload_no")?);
    let sealed = |column| Ok::<_, StoreError>(row.get::<Option<Vec<u8>>>(column)?.unwrap_or_default());
    let about = unseal(conn, org, about_of(no), sealed("about")?).await?;
    let domains = unseal(conn, org, domains_of(no), sealed("domains")?).await?;
    let content = record!(row => ColumnContent { addresses, blank, repeated, invalid; domains });
    let is_counted: bool = row.read("counted")?;
    Ok(record!(row => Upload {
        id, test, source, rows = "rows_total", size, created_at, touched_at;
        org,
        no,
        user: user_of(row)?,
        about,
        choice: record!(row => ColumnChoice { column = "column_no", header }),
        content: is_counted.then_some(content),
        job: row.read::<Option<_>>("job_no")?.zip(row.read("job_id")?),
    }))
}

/// An empty id means that no user uploaded it: no user's id is empty.
fn user_of(row: &ResultRow) -> Result<Option<UserId>> {
    if row.get::<String>("user_id")?.is_empty() { Ok(None) } else { row.read("user_id").map(Some) }
}
