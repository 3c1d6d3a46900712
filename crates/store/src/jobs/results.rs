//! What came out, row by row.

use std::collections::BTreeSet;

use probity_core::time::Millis;
use serde_json::json;

use super::JobNo;
use super::code::{Coded, KindRef};
use super::kinds::{self, Kind};
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
    /// The outcome.
    pub kind: Kind,
    /// A whole address that was perhaps meant.
    pub suggestion: Option<String>,
}

/// A result as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The result.
    pub result: RowResult,
    /// When it came.
    pub at: Millis,
}

statements! {
    BLOCKS = "SELECT first_idx, body FROM job_block WHERE org_no = $1 AND job_no = $2 AND first_idx >= $3 \
              ORDER BY first_idx LIMIT $4";
    RANGE = "SELECT idx, idx AS first_idx, body FROM result WHERE org_no = $1 AND job_no = $2 AND idx >= $3 AND idx < $4 \
             ORDER BY idx";
    OF_DUPLICATES = "SELECT d.idx, d.first_idx, r.body FROM job_duplicate d JOIN result r ON r.org_no = d.org_no \
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

/// What stands in the rows within `from..to`, in their order: each row with its own result or the one that it shares.
pub async fn outcomes(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, to: i64) -> Result<Vec<(i64, Standing)>> {
    let mut rows = conn.rows(&RANGE, args![org, job, from, to]).await?;
    rows.extend(conn.rows(&OF_DUPLICATES, args![org, job, from, to]).await?);
    let mut found = read(conn, org, job, &rows).await?;
    found.sort_unstable_by_key(|(idx, _)| *idx);
    Ok(found)
}

/// The results of first rows within `from..to`, in their order.
pub async fn results(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, to: i64) -> Result<Vec<Standing>> {
    let rows = conn.rows(&RANGE, args![org, job, from, to]).await?;
    Ok(read(conn, org, job, &rows).await?.into_iter().map(|(_, standing)| standing).collect())
}

/// Which of these rows have results: for a holder that follows one who died half-way.
pub async fn standing(conn: &mut Conn, org: OrgNo, job: JobNo, rows: &[i64]) -> Result<Vec<i64>> {
    let wanted: Vec<_> = rows.iter().map(|idx| json!({ "i": idx })).collect();
    let found = conn.rows(&STANDING, args![org, job, json!(wanted).to_string()]).await?;
    found.iter().map(|row| row.get("idx")).collect()
}

/// Stored results with the indexes of their rows.
async fn read(conn: &mut Conn, org: OrgNo, job: JobNo, rows: &[Row]) -> Result<Vec<(i64, Standing)>> {
    let bodies = rows.iter().map(|row| Ok((row.get("idx")?, row.get("first_idx")?, row.get::<Vec<u8>>("body")?)));
    let bodies = bodies.collect::<Result<Vec<(i64, i64, Vec<u8>)>>>()?;
    let damaged = || StoreError::corrupt("a result cannot be read");
    let mut coded = Vec::with_capacity(bodies.len());
    let mut numbers = BTreeSet::new();
    for (idx, first_idx, body) in &bodies {
        let result = Coded::decode(body).ok_or_else(damaged)?;
        if let KindRef::Numbered(number) = result.kind {
            numbers.insert(number);
        }
        coded.push((*idx, *first_idx, result));
    }
    let known = kinds::numbered(conn, org, job, numbers).await?;
    let standing = |(idx, first_idx, coded): (i64, i64, Coded<'_>)| {
        let kind = match coded.kind {
            KindRef::Numbered(number) => known.get(&number).ok_or_else(damaged)?.clone(),
            KindRef::Whole(kind) => Kind::from_bytes(kind)?,
        };
        let suggestion = String::from_utf8(coded.suggestion.to_vec()).map_err(|_| damaged())?;
        let suggestion = Some(suggestion).filter(|suggestion| !suggestion.is_empty());
        let result = RowResult { idx: first_idx, copies: coded.copies, kind, suggestion };
        Ok((idx, Standing { result, at: Millis(coded.at) }))
    };
    coded.into_iter().map(standing).collect()
}
