//! Uploads: lists submitted as files, with all their columns, kept until a job is created from them and for some days after.
//!
//! An upload is *arriving* while its rows come in blocks; it is not visible. One short transaction ([`finish`]) makes it *ready*.
//! It is *started* in the transaction that accepts its job ([`start`]), so repeated starts create one job. A *gone* upload is
//! invisible, and its blocks are removed in slices ([`purge`]).
//!
//! Rows are numbered from 0, including the header. The server defines the bodies: this crate does not read them.

mod rows;

use probity_account::id::{JobId, UploadId, UserId};
use probity_mail::time::Millis;

use crate::db::{Conn, Row, Tx, args, statements};
use crate::erasures;
use crate::error::{Result, StoreError};
use crate::jobs::JobNo;
use crate::number::OrgNo;
use crate::sealing::Place;

pub use rows::{Anew, add_block, blocks, mark_due, mark_gone, of_org, purge, rewrite_about, rewrite_block};

/// Number of an upload within the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UploadNo(pub i64);

impl UploadNo {
    /// Derives the number from an id, as for organizations.
    pub fn of_id(id: UploadId) -> Self {
        Self(OrgNo::of_id(id.bits()).0)
    }
}

impl crate::db::Argument for UploadNo {
    fn add(self, args: &mut crate::db::Args) {
        self.0.add(args);
    }
}

/// Upload about to arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewUpload {
    pub org: OrgNo,
    pub id: UploadId,
    /// `source` of its job: `csv`, or `input` for pasted text.
    pub source: &'static str,
    /// Uploader; `None` for the operator.
    pub user: Option<UserId>,
    pub at: Millis,
}

/// Address column, and whether the first row is a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Address column, from 0; `None` if not chosen.
    pub column: Option<i64>,
    /// Whether the first row names the columns.
    pub header: bool,
}

impl Choice {
    /// The column as a statement compares it.
    fn number(self) -> i64 {
        self.column.unwrap_or(-1)
    }
}

/// Changed choice, with the content counted for it.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// Former choice.
    pub from: Choice,
    /// New choice.
    pub to: Choice,
    /// Content of the column; `None` if none is chosen.
    pub content: Option<&'a Content>,
}

/// Content of the address column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
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
pub struct Arrived<'a> {
    /// Description, in the server's format.
    pub about: &'a [u8],
    /// Rows, including the header.
    pub rows: i64,
    /// Size of the original file, in bytes.
    pub size: i64,
    pub choice: Choice,
    /// Content of the column; `None` if none is chosen.
    pub content: Option<&'a Content>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    pub org: OrgNo,
    pub no: UploadNo,
    /// Public id.
    pub id: UploadId,
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
    pub choice: Choice,
    /// Content of the column; `None` if none is chosen, or a recount is due.
    pub content: Option<Content>,
    /// Job created from it.
    pub job: Option<(JobNo, JobId)>,
    pub created_at: Millis,
    /// Time of the last action on it.
    pub touched_at: Millis,
}

/// Columns that [`read`] needs.
macro_rules! columns {
    () => {
        "org_no, upload_no, id, source, user_id, about, rows_total, size, header, column_no, counted, addresses, blank, \
         repeated, invalid, domains, job_no, job_id, created_at, touched_at"
    };
}

statements! {
    HELD = "SELECT upload_no FROM upload WHERE org_no = $1 AND state IN ('arriving', 'ready') LIMIT $2";
    BEGIN = "INSERT INTO upload (org_no, upload_no, id, source, state, user_id, rows_total, size, header, counted, \
             addresses, blank, repeated, invalid, created_at, touched_at) \
             VALUES ($1, $2, $3, $4, 'arriving', $5, 0, 0, 0, 0, 0, 0, 0, 0, $6, $6)";
    FINISH = "UPDATE upload SET state = 'ready', about = $3, rows_total = $4, size = $5, created_at = $6, touched_at = $6 \
              WHERE org_no = $1 AND upload_no = $2 AND state = 'arriving'";
    CHOOSE = "UPDATE upload SET header = $3, column_no = $4, counted = $5, addresses = $6, blank = $7, repeated = $8, \
              invalid = $9, domains = $10, touched_at = $11 WHERE org_no = $1 AND upload_no = $2 AND state = 'ready' \
              AND header = $12 AND COALESCE(column_no, -1) = $13";
    RECOUNT = "UPDATE upload SET counted = 1, addresses = $3, blank = $4, repeated = $5, invalid = $6, domains = $7 \
               WHERE org_no = $1 AND upload_no = $2 AND state IN ('ready', 'started') AND counted = 0 \
               AND header = $8 AND COALESCE(column_no, -1) = $9";
    START = "UPDATE upload SET state = 'started', job_no = $3, job_id = $4, touched_at = $5 \
             WHERE org_no = $1 AND upload_no = $2 AND state = 'ready' AND header = $6 AND COALESCE(column_no, -1) = $7";
    BY_ID = concat!("SELECT ", columns!(), " FROM upload WHERE org_no = $1 AND id = $2 AND state IN ('ready', 'started')");
    OF_JOB = concat!("SELECT ", columns!(), " FROM upload WHERE org_no = $1 AND job_no = $2 AND state = 'started'");
    LIST = concat!("SELECT ", columns!(), " FROM upload WHERE org_no = $1 AND state = 'ready' \
           ORDER BY created_at DESC, upload_no DESC LIMIT $2");
}

/// All statements of this aggregate, including its submodules.
pub(crate) fn all_statements() -> Vec<&'static crate::db::Statement> {
    [STATEMENTS, rows::STATEMENTS].concat()
}

/// Creates an upload that waits for its rows. It stays invisible until it has arrived. [`StoreError::Conflict`]: the organization
/// already has `at_most` uploads that are arriving or not started. Started uploads do not count: they are kept for the downloads of
/// their jobs, and must not block the next list.
pub async fn begin(tx: &mut Tx, new: &NewUpload, at_most: i64) -> Result<UploadNo> {
    let held = tx.rows(&HELD, args![new.org, at_most]).await?.len();
    if i64::try_from(held).is_ok_and(|held| held >= at_most) {
        return Err(StoreError::Conflict);
    }
    let no = UploadNo::of_id(new.id);
    let values = args![
        new.org,
        no,
        new.id.to_string(),
        new.source,
        new.user.map(|user| user.to_string()).unwrap_or_default(),
        new.at
    ];
    tx.execute(&BEGIN, values).await?;
    Ok(no)
}

/// Makes an upload visible after all its rows have arrived, at a time that no erasure reaches. [`StoreError::NotFound`]: it was
/// swept meanwhile.
pub async fn finish(tx: &mut Tx, org: OrgNo, no: UploadNo, arrived: &Arrived<'_>, now: Millis) -> Result<()> {
    let Arrived { about, rows, size, choice, content } = *arrived;
    let about = tx.seal(org, about_of(no), about).await?;
    let at = erasures::after_all(tx, org, false, now).await?;
    one(tx.execute(&FINISH, args![org, no, &*about, rows, size, at]).await?)?;
    let change = Change { from: Choice { column: None, header: false }, to: choice, content };
    choose(tx, org, no, &change, at).await
}

/// Chooses another column. [`StoreError::Conflict`]: the current choice differs from the change's, a job was created from it, or it
/// is gone.
pub async fn choose(tx: &mut Tx, org: OrgNo, no: UploadNo, change: &Change<'_>, now: Millis) -> Result<()> {
    let Change { from, to, content } = *change;
    let none = Content::default();
    let found = content.unwrap_or(&none);
    let domains = tx.seal(org, domains_of(no), &found.domains).await?.into_owned();
    let values = args![
        org,
        no,
        to.header,
        to.column,
        content.is_some(),
        found.addresses,
        found.blank,
        found.repeated,
        found.invalid,
        content.map(|_| domains),
        now,
        from.header,
        from.number(),
    ];
    if tx.execute(&CHOOSE, values).await? == 1 { Ok(()) } else { Err(StoreError::Conflict) }
}

/// Stores a recount for this choice, unless the choice has changed or another recount was faster.
pub async fn recount(tx: &mut Tx, org: OrgNo, no: UploadNo, choice: Choice, found: &Content) -> Result<()> {
    let Content { addresses, blank, repeated, invalid, domains } = found;
    let domains = tx.seal(org, domains_of(no), domains).await?;
    let counts = args![org, no, *addresses, *blank, *repeated, *invalid, &*domains, choice.header, choice.number(),];
    tx.execute(&RECOUNT, counts).await?;
    Ok(())
}

/// Records the job created from an upload, in the transaction that accepts it. Returns an earlier job of it, if any, and records
/// nothing. [`StoreError::Conflict`]: the job has the rows of another choice than the upload.
pub async fn start(
    tx: &mut Tx,
    (org, id): (OrgNo, UploadId),
    (job, choice): (JobId, Choice),
    now: Millis,
) -> Result<Option<(JobNo, JobId)>> {
    let no = UploadNo::of_id(id);
    let values = args![org, no, JobNo::of_id(job), job.to_string(), now, choice.header, choice.number()];
    let started = tx.execute(&START, values).await?;
    if started == 1 {
        return Ok(None);
    }
    by_id(tx, org, id).await?.job.map(Some).ok_or(StoreError::Conflict)
}

pub async fn by_id(conn: &mut Conn, org: OrgNo, id: UploadId) -> Result<Upload> {
    let row = conn.first(&BY_ID, args![org, id.to_string()]).await?.ok_or(StoreError::NotFound)?;
    read(conn, &row).await
}

/// The upload from which a job was created, if it still exists.
pub async fn of_job(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Option<Upload>> {
    match conn.first(&OF_JOB, args![org, job]).await? {
        Some(row) => read(conn, &row).await.map(Some),
        None => Ok(None),
    }
}

/// An organization's uploads without a job, newest first.
pub async fn list(conn: &mut Conn, org: OrgNo, at_most: i64) -> Result<Vec<Upload>> {
    let rows = conn.rows(&LIST, args![org, at_most]).await?;
    let mut all = Vec::with_capacity(rows.len());
    for row in &rows {
        all.push(read(conn, row).await?);
    }
    Ok(all)
}

fn one(changed: u64) -> Result<()> {
    if changed == 1 { Ok(()) } else { Err(StoreError::NotFound) }
}

fn about_of(no: UploadNo) -> Place<'static> {
    Place::numbered("upload.about", no.0, 0)
}

fn domains_of(no: UploadNo) -> Place<'static> {
    Place::numbered("upload.domains", no.0, 0)
}

async fn read(conn: &mut Conn, row: &Row) -> Result<Upload> {
    let (org, no) = (OrgNo(row.get("org_no")?), UploadNo(row.get("upload_no")?));
    let about: Option<Vec<u8>> = row.get("about")?;
    let about = conn.open_sealed(org, about_of(no), about.unwrap_or_default()).await?;
    let domains: Option<Vec<u8>> = row.get("domains")?;
    let domains = conn.open_sealed(org, domains_of(no), domains.unwrap_or_default()).await?;
    let content = Content {
        addresses: row.get("addresses")?,
        blank: row.get("blank")?,
        repeated: row.get("repeated")?,
        invalid: row.get("invalid")?,
        domains,
    };
    let job: Option<i64> = row.get("job_no")?;
    let job = job.map(|no| Ok::<_, StoreError>((JobNo(no), row.parse("job_id")?))).transpose()?;
    Ok(Upload {
        org,
        no,
        id: row.parse("id")?,
        source: row.get("source")?,
        user: user_of(row)?,
        about,
        rows: row.get("rows_total")?,
        size: row.get("size")?,
        choice: Choice { column: row.get("column_no")?, header: row.get::<i64>("header")? == 1 },
        content: Some(content).filter(|_| row.get::<i64>("counted").is_ok_and(|counted| counted == 1)),
        job,
        created_at: Millis(row.get("created_at")?),
        touched_at: Millis(row.get("touched_at")?),
    })
}

/// An empty id means that no user uploaded it: no user's id is empty.
fn user_of(row: &Row) -> Result<Option<UserId>> {
    if row.get::<String>("user_id")?.is_empty() { Ok(None) } else { row.parse("user_id").map(Some) }
}
