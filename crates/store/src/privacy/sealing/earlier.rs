//! Encrypts bodies written before there was a master key.
//!
//! A walk visits every column that holds addresses, some rows at a time, in key order ([`find`]), and encrypts plain bodies in
//! place ([`seal`]) if they are unchanged: a concurrent rewrite has encrypted them already. The progress of a walk is not stored;
//! one that restarts finds less to do.

use super::{MARK, SEALED, SealedField, unseal};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, ResultRow, Statement, StatementArgs, Tx, args, statements};
use crate::number::OrgNo;

/// Rows of a column after a position, in key order, with their bodies if not encrypted.
macro_rules! find {
    ($column:literal of $table:literal by $key:literal, behind $place:literal, mark $mark:literal, limit $limit:literal) => {
        concat!(
            "SELECT ",
            $key,
            ", CASE WHEN SUBSTR(",
            $column,
            ", 1, 5) = ",
            $mark,
            " OR LENGTH(",
            $column,
            ") = 0 THEN NULL ELSE ",
            $column,
            " END AS body FROM ",
            $table,
            " WHERE (",
            $key,
            ") > (",
            $place,
            ") ORDER BY ",
            $key,
            " LIMIT ",
            $limit
        )
    };
}

statements! {
    UPLOADS = find!("body" of "upload_block" by "org_no, upload_no, first_idx", behind "$1, $2, $3", mark "$4", limit "$5");
    SEAL_UPLOAD = "UPDATE upload_block SET body = $4 WHERE org_no = $1 AND upload_no = $2 AND first_idx = $3 AND body = $5";
    ABOUTS = find!("about" of "upload" by "org_no, upload_no", behind "$1, $2", mark "$3", limit "$4");
    SEAL_ABOUT = "UPDATE upload SET about = $3 WHERE org_no = $1 AND upload_no = $2 AND about = $4";
    DOMAINS = find!("domains" of "upload" by "org_no, upload_no", behind "$1, $2", mark "$3", limit "$4");
    SEAL_DOMAINS = "UPDATE upload SET domains = $3 WHERE org_no = $1 AND upload_no = $2 AND domains = $4";
    BLOCKS = find!("body" of "job_block" by "org_no, job_no, first_idx", behind "$1, $2, $3", mark "$4", limit "$5");
    SEAL_BLOCK = "UPDATE job_block SET body = $4 WHERE org_no = $1 AND job_no = $2 AND first_idx = $3 AND body = $5";
    CHUNKS = find!("body" of "chunk" by "org_no, job_no, chunk_no", behind "$1, $2, $3", mark "$4", limit "$5");
    SEAL_CHUNK = "UPDATE chunk SET body = $4 WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3 AND body = $5";
    PARTS = find!("body" of "result_part" by "org_no, job_no, part_no", behind "$1, $2, $3", mark "$4", limit "$5");
    SEAL_PART = "UPDATE result_part SET body = $4 WHERE org_no = $1 AND job_no = $2 AND part_no = $3 AND body = $5";
    RESULTS = find!("body" of "result_block" by "org_no, job_no, first_idx", behind "$1, $2, $3", mark "$4", limit "$5");
    SEAL_RESULTS = "UPDATE result_block SET body = $4 WHERE org_no = $1 AND job_no = $2 AND first_idx = $3 AND body = $5";
    CONTACTS = find!("body" of "contact_block" by "org_no, job_no, first_idx", behind "$1, $2, $3", mark "$4", limit "$5");
    SEAL_CONTACTS = "UPDATE contact_block SET body = $4 WHERE org_no = $1 AND job_no = $2 AND first_idx = $3 AND body = $5";
    VALUES = find!("undo" of "contact_action" by "org_no, job_no, idx", behind "$1, $2, $3", mark "$4", limit "$5");
    SEAL_VALUES = "UPDATE contact_action SET undo = $4 WHERE org_no = $1 AND job_no = $2 AND idx = $3 AND undo = $5";
    RULES = find!("body" of "connection_rule" by "org_no, id", behind "$1, $2", mark "$3", limit "$4");
    SEAL_RULE = "UPDATE connection_rule SET body = $3 WHERE org_no = $1 AND id = $2 AND body = $4";
    ANSWERS = find!("last_answer" of "outbox" by "org_no, id", behind "$1, $2", mark "$3", limit "$4");
    SEAL_ANSWER = "UPDATE outbox SET last_answer = $3 WHERE org_no = $1 AND id = $2 AND last_answer = $4";
    TRIED = find!("answer" of "outbox_attempt" by "org_no, id, attempt_no", behind "$1, $2, $3", mark "$4", limit "$5");
    SEAL_TRIED = "UPDATE outbox_attempt SET answer = $4 WHERE org_no = $1 AND id = $2 AND attempt_no = $3 AND answer = $5";
}

/// Column of bodies: its name, the key columns after the organization, and its statements that find and update rows.
#[derive(Debug)]
struct SealedColumn {
    name: &'static str,
    key: &'static [&'static str],
    find: &'static Statement,
    seal: &'static Statement,
}

const fn column(
    name: &'static str,
    key: &'static [&'static str],
    find: &'static Statement,
    seal: &'static Statement,
) -> SealedColumn {
    SealedColumn { name, key, find, seal }
}

/// Marks an id in a key; all other key parts are numbers.
const ID: &str = "id";

/// All encrypted columns, as in [`crate::privacy::erasures::registry::HOLDING`], except stored responses to idempotent requests,
/// which their own keys encrypt. Derived columns follow their sources.
static COLUMNS: [SealedColumn; 12] = [
    column("upload_block.body", &["upload_no", "first_idx"], &UPLOADS, &SEAL_UPLOAD),
    column("upload.about", &["upload_no"], &ABOUTS, &SEAL_ABOUT),
    column("upload.domains", &["upload_no"], &DOMAINS, &SEAL_DOMAINS),
    column("job_block.body", &["job_no", "first_idx"], &BLOCKS, &SEAL_BLOCK),
    column("chunk.body", &["job_no", "chunk_no"], &CHUNKS, &SEAL_CHUNK),
    column("result_part.body", &["job_no", "part_no"], &PARTS, &SEAL_PART),
    column("result_block.body", &["job_no", "first_idx"], &RESULTS, &SEAL_RESULTS),
    column("contact_block.body", &["job_no", "first_idx"], &CONTACTS, &SEAL_CONTACTS),
    column("contact_action.undo", &["job_no", "idx"], &VALUES, &SEAL_VALUES),
    column("connection_rule.body", &[ID], &RULES, &SEAL_RULE),
    column("outbox.last_answer", &[ID], &ANSWERS, &SEAL_ANSWER),
    column("outbox_attempt.answer", &[ID, "attempt_no"], &TRIED, &SEAL_TRIED),
];

#[derive(Clone, Debug)]
struct KeyColumns {
    org: i64,
    id: String,
    numbers: Vec<i64>,
}

impl KeyColumns {
    /// Position before every row.
    fn first(column: &SealedColumn) -> Self {
        let numbers = column.key.iter().filter(|part| **part != ID).map(|_| i64::MIN).collect();
        Self { org: i64::MIN, id: String::new(), numbers }
    }

    fn of(row: &ResultRow, column: &SealedColumn) -> Result<Self> {
        let id = if column.key.contains(&ID) { row.get(ID)? } else { String::new() };
        let numbers = column.key.iter().filter(|part| **part != ID).map(|part| row.get(part)).collect::<Result<_>>()?;
        Ok(Self { org: row.get("org_no")?, id, numbers })
    }

    /// Returns the key as the first arguments of a statement.
    fn args(&self, column: &SealedColumn) -> StatementArgs {
        let org = args![self.org];
        let args = if column.key.contains(&ID) { org.with(self.id.clone()) } else { org };
        self.numbers.iter().fold(args, |args, number| args.with(*number))
    }

    fn place<'k>(&'k self, column: &SealedColumn) -> SealedField<'k> {
        let number = |at: usize| self.numbers.get(at).copied().unwrap_or_default();
        SealedField { column: column.name, first: number(0), second: number(1), id: &self.id }
    }
}

/// Progress of a walk.
#[derive(Clone, Debug)]
pub struct SealingProgress {
    column: usize,
    key: KeyColumns,
}

impl SealingProgress {
    /// Position before everything.
    pub fn nothing() -> Self {
        Self { column: 0, key: KeyColumns::first(&COLUMNS[0]) }
    }

    /// Position before all of the next column; `None` after the last.
    fn next(&self) -> Option<Self> {
        let column = self.column + 1;
        COLUMNS.get(column).map(|of| Self { column, key: KeyColumns::first(of) })
    }
}

/// Bodies that are not encrypted.
#[derive(Debug)]
pub struct PlainBodies {
    column: &'static SealedColumn,
    bodies: Vec<(KeyColumns, Vec<u8>)>,
}

impl PlainBodies {
    pub fn len(&self) -> usize {
        self.bodies.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }
}

/// Reads up to `at_most` rows; returns their plain bodies and the new progress, `None` at the end of the walk.
pub async fn find(
    conn: &mut Conn,
    behind: &SealingProgress,
    at_most: i64,
) -> Result<(PlainBodies, Option<SealingProgress>)> {
    let column = COLUMNS.get(behind.column).ok_or_else(|| StoreError::corrupt("a column that does not exist"))?;
    let mark = [&MARK[..], &[SEALED]].concat();
    let rows = conn.rows(column.find, behind.key.args(column).with(mark).with(at_most)).await?;
    let mut bodies = Vec::new();
    let mut last = None;
    for row in &rows {
        let key = KeyColumns::of(row, column)?;
        if let Some(body) = row.get::<Option<Vec<u8>>>("body")? {
            bodies.push((key.clone(), body));
        }
        last = Some(key);
    }
    let is_full = i64::try_from(rows.len()).is_ok_and(|found| found >= at_most);
    let next = match last.filter(|_| is_full) {
        Some(key) => Some(SealingProgress { column: behind.column, key }),
        None => behind.next(),
    };
    Ok((PlainBodies { column, bodies }, next))
}

/// Encrypts the found bodies that are unchanged; returns their number. The store must have a master key.
pub async fn seal(tx: &mut Tx, found: &PlainBodies) -> Result<u64> {
    let mut sealed = 0;
    for (key, stored) in &found.bodies {
        let (org, place) = (OrgNo(key.org), key.place(found.column));
        let plain = unseal(tx, org, place, stored.clone()).await?;
        let body = super::seal(tx, org, place, &plain).await?.into_owned();
        sealed += tx.execute(found.column.seal, key.args(found.column).with(body).with(stored.clone())).await?;
    }
    Ok(sealed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::erasures::registry::{ColumnEraser, HOLDING};

    #[test]
    fn every_column_that_holds_addresses_is_sealed_afterwards() {
        // Responses have their own key, and keyed hashes need none.
        let others = [ColumnEraser::KeptAnswers, ColumnEraser::Outcomes, ColumnEraser::Statuses];
        let mut holding: Vec<_> =
            HOLDING.iter().filter(|(_, eraser)| !others.contains(eraser)).map(|(column, _)| *column).collect();
        let mut sealed: Vec<_> = COLUMNS.iter().map(|column| column.name).collect();
        holding.sort_unstable();
        sealed.sort_unstable();
        assert_eq!(sealed, holding);
    }
}
