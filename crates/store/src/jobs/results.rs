//! What came out, row by row.

use std::fmt::Write as _;

use probity_core::time::Millis;
use probity_core::verdict::Reason;
use serde_json::{Value, json};

use super::JobNo;
use crate::db::{Conn, Row, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

/// The result of one address, which all rows with that address share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowResult {
    /// The first row with the address.
    pub idx: i64,
    /// How many rows have it.
    pub copies: i64,
    /// After the organization's overrides.
    pub reason: Reason,
    /// Before.
    pub raw_reason: Reason,
    /// What decided, as a short token.
    pub meta: String,
    /// Bits, as the server reads them: role, disposable, free, relay, gibberish.
    pub flags: i64,
    /// A whole address that was perhaps meant.
    pub suggestion: Option<String>,
    /// The rule that decided.
    pub rule: String,
    /// The code of the deciding reply.
    pub smtp_code: Option<i64>,
    /// Whether it costs a credit.
    pub charged: bool,
}

/// A result as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The result.
    pub result: RowResult,
    /// When it came.
    pub at: Millis,
}

impl RowResult {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "i": self.idx, "c": self.copies, "r": self.reason.as_str(), "w": self.raw_reason.as_str(), "m": self.meta,
            "f": self.flags, "g": self.suggestion.as_deref().map(hex), "u": self.rule, "s": self.smtp_code,
            "p": i64::from(self.charged),
        })
    }
}

statements! {
    BLOCKS = "SELECT first_idx, body FROM job_block WHERE org_no = $1 AND job_no = $2 AND first_idx >= $3 \
              ORDER BY first_idx LIMIT $4";
    RANGE = "SELECT idx, copies, reason, raw_reason, meta, flags, suggestion, rule, smtp_code, charged, at FROM result \
             WHERE org_no = $1 AND job_no = $2 AND idx >= $3 AND idx < $4 ORDER BY idx";
    OF_DUPLICATES = "SELECT d.idx AS dup, r.idx, r.copies, r.reason, r.raw_reason, r.meta, r.flags, r.suggestion, r.rule, \
                     r.smtp_code, r.charged, r.at FROM job_duplicate d JOIN result r ON r.org_no = d.org_no \
                     AND r.job_no = d.job_no AND r.idx = d.first_idx \
                     WHERE d.org_no = $1 AND d.job_no = $2 AND d.idx >= $3 AND d.idx < $4 ORDER BY d.idx";
    STANDING = "SELECT idx FROM result WHERE org_no = $1 AND job_no = $2 AND idx IN \
                (SELECT CAST(each.value ->> 'i' AS BIGINT) FROM {each:$3})";
}

/// Blocks of addresses from the one that begins at `from` on: the index of each one's first address, and its bytes.
pub async fn blocks(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, at_most: i64) -> Result<Vec<(i64, Vec<u8>)>> {
    let rows = conn.rows(&BLOCKS, args![org, job, from, at_most]).await?;
    rows.iter().map(|row| Ok((row.get("first_idx")?, row.get("body")?))).collect()
}

/// The results of first rows within `from..to`.
pub async fn results(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, to: i64) -> Result<Vec<Standing>> {
    conn.rows(&RANGE, args![org, job, from, to]).await?.iter().map(read).collect()
}

/// The results of repeated rows within `from..to`, with those rows' own indexes.
pub async fn duplicates(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, to: i64) -> Result<Vec<(i64, Standing)>> {
    let rows = conn.rows(&OF_DUPLICATES, args![org, job, from, to]).await?;
    rows.iter().map(|row| Ok((row.get("dup")?, read(row)?))).collect()
}

/// Which of these rows have results: for a holder that follows one who died half-way.
pub async fn standing(conn: &mut Conn, org: OrgNo, job: JobNo, rows: &[i64]) -> Result<Vec<i64>> {
    let wanted: Vec<_> = rows.iter().map(|idx| json!({ "i": idx })).collect();
    let found = conn.rows(&STANDING, args![org, job, json!(wanted).to_string()]).await?;
    found.iter().map(|row| row.get("idx")).collect()
}

/// Lower-case hexadecimal: bytes travel through JSON in it.
fn hex(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len() * 2), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn read(row: &Row) -> Result<Standing> {
    let reason = |column: &'static str| {
        let name: String = row.get(column)?;
        Reason::from_name(&name).ok_or_else(|| StoreError::corrupt("a result's reason"))
    };
    let suggestion: Option<Vec<u8>> = row.get("suggestion")?;
    let suggestion = suggestion.map(String::from_utf8).transpose();
    Ok(Standing {
        result: RowResult {
            idx: row.get("idx")?,
            copies: row.get("copies")?,
            reason: reason("reason")?,
            raw_reason: reason("raw_reason")?,
            meta: row.get("meta")?,
            flags: row.get("flags")?,
            suggestion: suggestion.map_err(|error| StoreError::Corrupt(error.into()))?,
            rule: row.get("rule")?,
            smtp_code: row.get("smtp_code")?,
            charged: row.get::<i64>("charged")? == 1,
        },
        at: Millis(row.get("at")?),
    })
}
