//! What came out, row by row.

use std::collections::BTreeSet;

use probity_core::block::results::{Outcome, ResultBlock};
use probity_core::time::Millis;
use serde_json::json;

use super::JobNo;
use super::code::{Coded, KindRef};
use super::kinds::{self, Kind};
use super::packing::BLOCK;
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
    // Whether blocks count is seen together with them.
    PACKED = "SELECT b.first_idx, b.body FROM job j JOIN result_block b ON b.org_no = j.org_no AND b.job_no = j.job_no \
              WHERE j.org_no = $1 AND j.job_no = $2 AND j.packed > 0 AND b.first_idx >= $3 AND b.first_idx < $4 \
              ORDER BY b.first_idx";
    STANDING = "SELECT idx FROM result WHERE org_no = $1 AND job_no = $2 AND idx IN \
                (SELECT CAST(each.value ->> 'i' AS BIGINT) FROM {each:$3})";
}

/// Blocks of addresses from the one that begins at `from` on: the index of each one's first address, and its bytes.
pub async fn blocks(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, at_most: i64) -> Result<Vec<(i64, Vec<u8>)>> {
    let rows = conn.rows(&BLOCKS, args![org, job, from, at_most]).await?;
    rows.iter().map(|row| Ok((row.get("first_idx")?, row.get("body")?))).collect()
}

/// What stands in the rows within `from..to`, in their order: each row with its own result or the one that it shares, however
/// the job's results are kept.
pub async fn outcomes(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, to: i64) -> Result<Vec<(i64, Standing)>> {
    if let Some(found) = packed(conn, org, job, from, to).await? {
        return Ok(found);
    }
    let rows = stored(conn, org, job, from, to).await?;
    let found = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    // Rows go once blocks stand: perhaps these did between the two reads.
    if found < to - from
        && let Some(found) = packed(conn, org, job, from, to).await?
    {
        return Ok(found);
    }
    let mut found = match read(conn, org, job, &rows).await {
        // Kinds go with the last rows: perhaps these did between the reads.
        Err(StoreError::Corrupt(error)) => {
            return packed(conn, org, job, from, to).await?.ok_or(StoreError::Corrupt(error));
        }
        read => read?,
    };
    found.sort_unstable_by_key(|(idx, _)| *idx);
    Ok(found)
}

/// The results of first rows within `from..to`, in their order.
pub async fn results(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, to: i64) -> Result<Vec<Standing>> {
    let found = outcomes(conn, org, job, from, to).await?;
    let own = found.into_iter().filter(|(idx, standing)| *idx == standing.result.idx);
    Ok(own.map(|(_, standing)| standing).collect())
}

/// What blocks say about the rows within `from..to`; nothing where blocks do not count.
async fn packed(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, to: i64) -> Result<Option<Vec<(i64, Standing)>>> {
    let blocks = conn.rows(&PACKED, args![org, job, from - from % BLOCK, to]).await?;
    if blocks.is_empty() {
        return Ok(None);
    }
    let mut found = Vec::new();
    for row in &blocks {
        let first: i64 = row.get("first_idx")?;
        let block =
            ResultBlock::decode(&row.get::<Vec<u8>>("body")?).map_err(|error| StoreError::Corrupt(error.into()))?;
        let kinds = block.kinds.iter().map(|kind| Kind::from_bytes(kind)).collect::<Result<Vec<_>>>()?;
        let outcomes = (first..).zip(block.rows).filter(|(idx, _)| (from..to).contains(idx));
        for (idx, outcome) in outcomes.filter_map(|(idx, outcome)| outcome.map(|outcome| (idx, outcome))) {
            let kind = kinds.get(outcome.kind).ok_or_else(damaged)?.clone();
            found.push((idx, unpacked(idx, kind, outcome)?));
        }
    }
    Ok(Some(found))
}

fn unpacked(idx: i64, kind: Kind, outcome: Outcome) -> Result<Standing> {
    let number = |number: u64| i64::try_from(number).map_err(|_| damaged());
    let first = idx.checked_sub(number(outcome.back)?).ok_or_else(damaged)?;
    let suggestion = suggestion(outcome.suggestion)?;
    let result = RowResult { idx: first, copies: number(outcome.copies)?, kind, suggestion };
    Ok(Standing { result, at: Millis(number(outcome.at)?) })
}

fn suggestion(bytes: Vec<u8>) -> Result<Option<String>> {
    let text = String::from_utf8(bytes).map_err(|_| damaged())?;
    Ok(Some(text).filter(|text| !text.is_empty()))
}

fn damaged() -> StoreError {
    StoreError::corrupt("a result cannot be read")
}

/// A row with the body of the result that stands in it or that it shares.
pub(super) struct Stored {
    pub(super) idx: i64,
    pub(super) first_idx: i64,
    pub(super) body: Vec<u8>,
}

/// The rows of results within `from..to`, those that repeat earlier ones after the others.
pub(super) async fn stored(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, to: i64) -> Result<Vec<Stored>> {
    let mut rows = conn.rows(&RANGE, args![org, job, from, to]).await?;
    rows.extend(conn.rows(&OF_DUPLICATES, args![org, job, from, to]).await?);
    let row = |row: &Row| Ok(Stored { idx: row.get("idx")?, first_idx: row.get("first_idx")?, body: row.get("body")? });
    rows.iter().map(row).collect()
}

/// Which of these rows have results: for a holder that follows one who died half-way.
pub async fn standing(conn: &mut Conn, org: OrgNo, job: JobNo, rows: &[i64]) -> Result<Vec<i64>> {
    let wanted: Vec<_> = rows.iter().map(|idx| json!({ "i": idx })).collect();
    let found = conn.rows(&STANDING, args![org, job, json!(wanted).to_string()]).await?;
    found.iter().map(|row| row.get("idx")).collect()
}

/// Stored results with the indexes of their rows.
async fn read(conn: &mut Conn, org: OrgNo, job: JobNo, rows: &[Stored]) -> Result<Vec<(i64, Standing)>> {
    let coded = rows.iter().map(|row| Ok((row, Coded::decode(&row.body).ok_or_else(damaged)?)));
    let coded = coded.collect::<Result<Vec<_>>>()?;
    let numbers: BTreeSet<i64> = coded.iter().filter_map(|(_, coded)| coded.kind.number()).collect();
    let known = kinds::numbered(conn, org, job, numbers).await?;
    let standing = |(row, coded): (&Stored, Coded<'_>)| {
        let kind = match coded.kind {
            KindRef::Numbered(number) => known.get(&number).ok_or_else(damaged)?.clone(),
            KindRef::Whole(kind) => Kind::from_bytes(kind)?,
        };
        let suggestion = suggestion(coded.suggestion.to_vec())?;
        let result = RowResult { idx: row.first_idx, copies: coded.copies, kind, suggestion };
        Ok((row.idx, Standing { result, at: Millis(coded.at) }))
    };
    coded.into_iter().map(standing).collect()
}
