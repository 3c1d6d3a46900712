//! Results, row by row.
//!
//! While a job runs, results are stored in parts, in settlement order; each node caches those that it has read
//! ([`super::results::sheet`]). Once the job is packed, they are stored in blocks.

pub(super) mod kind;
pub(super) mod part;
pub(super) mod sheet;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use probity_account::block::results::{ResultBlock, StoredOutcome};
use probity_mail::time::Millis;

use super::packing::BLOCK;
use super::results::kind::OutcomeKind;
use super::{ChunkFence, JobNo, ResultSheets};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, args, statements};
use crate::number::OrgNo;
use crate::privacy::sealing::{SealedField, unseal};
use crate::records::{self, TypedStatements as _};

/// Result of one address, shared by all rows with that address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowResult {
    /// First row with the address.
    pub idx: i64,
    /// Number of rows with the address.
    pub copies: i64,
    /// Outcome, shared by many results.
    pub kind: Arc<OutcomeKind>,
    /// Suggested correction, as a complete address.
    pub suggestion: Option<String>,
}

/// Stored result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledResult {
    pub result: RowResult,
    /// Settlement time.
    pub at: Millis,
}

statements! {
    BLOCKS = "SELECT first_idx, body FROM job_block WHERE org_no = $1 AND job_no = $2 AND first_idx >= $3 \
              ORDER BY first_idx LIMIT $4";
    // Reads the packed state together with the blocks.
    PACKED = "SELECT b.first_idx, b.body FROM job j JOIN result_block b ON b.org_no = j.org_no AND b.job_no = j.job_no \
              WHERE j.org_no = $1 AND j.job_no = $2 AND j.packed > 0 AND b.first_idx >= $3 AND b.first_idx < $4 \
              ORDER BY b.first_idx";
    OF_CHUNK = "SELECT part_no, body FROM result_part WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3 ORDER BY part_no";
    [sheet]
}

/// Address blocks from the one that begins at `from`: index of the first address, and content.
pub async fn blocks(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, at_most: i64) -> Result<Vec<(i64, Vec<u8>)>> {
    let mut blocks: Vec<(i64, Vec<u8>)> = conn.all(&BLOCKS, args![org, job, from, at_most]).await?;
    for (first, body) in &mut blocks {
        let place = SealedField::numbered("job_block.body", job.0, *first);
        *body = unseal(conn, org, place, std::mem::take(body)).await?;
    }
    Ok(blocks)
}

/// Outcomes of the rows in `from..to`, in row order, however the job's results are stored: each row with its own result or the one
/// it shares.
pub async fn outcomes(
    conn: &mut Conn,
    org: OrgNo,
    job: JobNo,
    from: i64,
    to: i64,
) -> Result<Vec<(i64, SettledResult)>> {
    if let Some(found) = packed(conn, org, job, from, to).await? {
        return Ok(found);
    }
    let found = sheet::outcomes(conn, org, job, from, to).await?;
    // Parts are removed once blocks exist: that may have happened between the two reads.
    if i64::try_from(found.len()).is_ok_and(|found| found < to - from)
        && let Some(found) = packed(conn, org, job, from, to).await?
    {
        return Ok(found);
    }
    Ok(found)
}

/// Results of first rows in `from..to`, in row order.
pub async fn results(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, to: i64) -> Result<Vec<SettledResult>> {
    let found = outcomes(conn, org, job, from, to).await?;
    let own = found.into_iter().filter(|(idx, standing)| *idx == standing.result.idx);
    Ok(own.map(|(_, standing)| standing).collect())
}

/// Results of these rows, which must be the first rows of their addresses, in row order; rows without a result are omitted. A
/// webhook delivery reports such rows, which are scattered over the list. Blocks are read and decoded one by one, so only one is in
/// memory at a time.
pub async fn picked(conn: &mut Conn, org: OrgNo, job: JobNo, rows: &[i64]) -> Result<Vec<(i64, SettledResult)>> {
    let mut standing: BTreeMap<i64, SettledResult> = sheet::picked(conn, org, job, rows).await?.into_iter().collect();
    let mut left: Vec<i64> = rows.iter().copied().filter(|idx| !standing.contains_key(idx)).collect();
    left.sort_unstable();
    for of_block in left.chunk_by(|a, b| a / BLOCK == b / BLOCK) {
        let (first, last) = (of_block[0], of_block[of_block.len() - 1]);
        let blocks = packed(conn, org, job, first, last + 1).await?.unwrap_or_default();
        standing.extend(blocks.into_iter().filter(|(idx, _)| of_block.binary_search(idx).is_ok()));
    }
    Ok(standing.into_iter().collect())
}

/// Results of the rows in `from..to` from blocks; `None` if blocks do not count yet.
pub(super) async fn packed(
    conn: &mut Conn,
    org: OrgNo,
    job: JobNo,
    from: i64,
    to: i64,
) -> Result<Option<Vec<(i64, SettledResult)>>> {
    let blocks: Vec<(i64, Vec<u8>)> = conn.all(&PACKED, args![org, job, from - from % BLOCK, to]).await?;
    if blocks.is_empty() {
        return Ok(None);
    }
    ResultSheets::of_connection(conn).forget(org, job);
    let mut found = Vec::new();
    for (first, body) in blocks {
        let place = SealedField::numbered("result_block.body", job.0, first);
        let body = unseal(conn, org, place, body).await?;
        let block = ResultBlock::decode(&body).map_err(records::damaged)?;
        let kinds =
            block.kinds.iter().map(|kind| OutcomeKind::from_bytes(kind).map(Arc::new)).collect::<Result<Vec<_>>>()?;
        let outcomes = (first..).zip(block.rows).filter(|(idx, _)| (from..to).contains(idx));
        for (idx, outcome) in outcomes.filter_map(|(idx, outcome)| outcome.map(|outcome| (idx, outcome))) {
            let kind = kinds.get(outcome.kind).ok_or_else(damaged)?.clone();
            found.push((idx, unpacked(idx, kind, outcome)?));
        }
    }
    Ok(Some(found))
}

/// Converts a block's entry to a result.
pub(super) fn unpacked(idx: i64, kind: Arc<OutcomeKind>, outcome: StoredOutcome) -> Result<SettledResult> {
    let number = |number: u64| i64::try_from(number).map_err(|_| damaged());
    let first = idx.checked_sub(number(outcome.back)?).ok_or_else(damaged)?;
    let suggestion = suggestion(outcome.suggestion)?;
    let result = RowResult { idx: first, copies: number(outcome.copies)?, kind, suggestion };
    Ok(SettledResult { result, at: Millis(number(outcome.at)?) })
}

fn suggestion(bytes: Vec<u8>) -> Result<Option<String>> {
    let text = String::from_utf8(bytes).map_err(|_| damaged())?;
    Ok(Some(text).filter(|text| !text.is_empty()))
}

pub(super) fn damaged() -> StoreError {
    StoreError::corrupt("a result cannot be read")
}

/// Rows of a chunk that have results: for a holder that follows one who died or released it unfinished.
pub async fn standing(conn: &mut Conn, fence: &ChunkFence) -> Result<BTreeSet<i64>> {
    let mut standing = BTreeSet::new();
    let parts: Vec<(i64, Vec<u8>)> = conn.all(&OF_CHUNK, args!(fence => org, job, chunk)).await?;
    for (no, body) in parts {
        let place = SealedField::numbered("result_part.body", fence.job.0, no);
        let body = unseal(conn, fence.org, place, body).await?;
        standing.extend(part::indexes(&body)?);
    }
    Ok(standing)
}
