//! Packing: moves a closed job's results from the parts in which they were settled into blocks of 1,000 rows.
//!
//! While a job runs, results are stored in settlement order. Once the job is closed, results no longer change, and a block for
//! every 1,000 rows holds each row's own outcome, so a page is read from one place.
//!
//! ```text
//! packed = 0  parts count    blocks are added in order; a new holder continues after those of a dead one
//! packed = 1  blocks count   parts are removed in order, and the chunks of a stopped job
//! packed = 2  blocks only
//! ```
//!
//! Readers see `packed` and the blocks in one statement, so a partial state is never visible. Each step is a short transaction
//! that locks the job's row and rechecks `packed`; two concurrent holders only duplicate work. Blocks are built outside of
//! transactions: their input does not change unless the job is packed meanwhile, and then they are not added.

use std::collections::HashMap;

use probity_account::block::ROWS_MAX;
use probity_account::block::results::{ResultBlock, StoredOutcome};
use probity_mail::time::Millis;
use scoped_futures::ScopedFutureExt as _;

use super::results::sheet;
use super::{JobNo, ResultSheets, results};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Store, Tx, args, statements};
use crate::number::OrgNo;
use crate::privacy::sealing::{SealedField, seal};
use crate::records::{self, TypedStatements as _, records};
use crate::work;

pub(super) const BLOCK: i64 = 1_000;
const _: () = assert!(ROWS_MAX == 1_000, "blocks of results have as many rows as those of addresses");
/// Blocks added in one transaction.
const BLOCKS_AT_ONCE: i64 = 10;
/// Parts removed in one transaction; also remaining chunks of a stopped job, and duplicate rows.
const PARTS_AT_ONCE: i64 = 100;
const CHUNKS_AT_ONCE: i64 = 50;
const DUPLICATES_AT_ONCE: i64 = 2_000;

statements! {
    ANY_TO_PACK = "SELECT 1 AS one FROM job WHERE packed < 2 AND finished_at <= $1 \
                   AND (keeper_until IS NULL OR keeper_until <= $1) LIMIT 1";
    CLAIM_PACKING = "SELECT org_no, job_no, rows_total, packed, rewritten FROM job WHERE packed < 2 AND finished_at <= $1 \
                     AND (keeper_until IS NULL OR keeper_until <= $1) ORDER BY finished_at LIMIT 1 \
                     {skip_locked}";
    HOLD_PACKING = "UPDATE job SET keeper_until = $3 WHERE org_no = $1 AND job_no = $2";
    PACKED_NOW = "SELECT packed, rewritten FROM job WHERE org_no = $1 AND job_no = $2 {for_update}";
    LAST_BLOCK = "SELECT first_idx FROM result_block WHERE org_no = $1 AND job_no = $2 ORDER BY first_idx DESC LIMIT 1";
    ADD_RESULT_BLOCK = "INSERT INTO result_block (org_no, job_no, first_idx, body) VALUES ($1, $2, $3, $4) \
                        ON CONFLICT (org_no, job_no, first_idx) DO NOTHING";
    SET_PACKED = "UPDATE job SET packed = $3 WHERE org_no = $1 AND job_no = $2";
    END_PACKING = "UPDATE job SET packed = 2, keeper_until = NULL WHERE org_no = $1 AND job_no = $2";
    DROP_PARTS = "DELETE FROM result_part WHERE org_no = $1 AND job_no = $2 AND part_no IN (SELECT part_no FROM result_part \
                  WHERE org_no = $1 AND job_no = $2 ORDER BY part_no LIMIT $3)";
    DROP_CHUNKS = "DELETE FROM chunk WHERE org_no = $1 AND job_no = $2 AND chunk_no IN (SELECT chunk_no FROM chunk \
                   WHERE org_no = $1 AND job_no = $2 ORDER BY chunk_no LIMIT $3)";
    DROP_DUPLICATES = "DELETE FROM job_duplicate WHERE org_no = $1 AND job_no = $2 AND idx IN (SELECT idx FROM job_duplicate \
                       WHERE org_no = $1 AND job_no = $2 ORDER BY idx LIMIT $3)";
}

/// A closed job claimed for packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackingClaim {
    pub org: OrgNo,
    pub job: JobNo,
    rows: i64,
    /// Whether readers already use the blocks.
    switched: bool,
    /// Value of the job's `rewritten` counter at the claim.
    rewritten: i64,
    /// First row of the next blocks; `None` if it must be looked up.
    next: Option<i64>,
}

/// Whether [`claim_packing`] would find work: reads only, so that an idle packer never takes the writer's turn.
pub async fn any_to_pack(conn: &mut Conn, now: Millis) -> Result<bool> {
    conn.has(&ANY_TO_PACK, args![now]).await
}

/// Claims the closed job that has waited longest for packing; `None` if all are packed or claimed.
pub async fn claim_packing(tx: &mut Tx, now: Millis, lease_ms: i64) -> Result<Option<PackingClaim>> {
    let claimed: Option<PackingClaim> = tx.find(&CLAIM_PACKING, args![now]).await?;
    let Some(packing) = claimed else { return Ok(None) };
    tx.execute(&HOLD_PACKING, args!(packing => org, job; now + lease_ms)).await?;
    Ok(Some(packing))
}

records!(row => PackingClaim {
    org = "org_no", job = "job_no", rows = "rows_total", switched = "packed", rewritten;
    next: None,
});

/// Does one step, a short transaction, and extends the lease to `until`. `None` if no step is left: the job is packed, or another
/// holder was faster.
pub async fn pack(store: &Store, packing: PackingClaim, until: Millis) -> Result<Option<PackingClaim>> {
    if packing.switched { remove(store, packing, until).await } else { add(store, packing, until).await }
}

async fn add(store: &Store, packing: PackingClaim, until: Millis) -> Result<Option<PackingClaim>> {
    let PackingClaim { org, job, rows, .. } = packing;
    let (from, blocks) = {
        let mut conn = store.read().await?;
        let from = match packing.next {
            Some(next) => next,
            None => conn.find::<i64>(&LAST_BLOCK, args![org, job]).await?.map_or(0, |last| last + BLOCK),
        };
        let mut blocks = Vec::new();
        for first in (from..rows).step_by(1_000).take(usize::try_from(BLOCKS_AT_ONCE).unwrap_or(1)) {
            blocks.push((first, block(&mut conn, org, job, first, rows.min(first + BLOCK)).await?));
        }
        (from, blocks)
    };
    let next = from + BLOCK * BLOCKS_AT_ONCE;
    let switched = next >= rows;
    let added = store.write_bulk(work!(|tx| {
        // These blocks may contain addresses that were erased from the parts meanwhile.
        if !is_at(tx, org, job, 0, Some(packing.rewritten)).await? {
            return Ok(false);
        }
        for (first, body) in &blocks {
            let body = seal(tx, org, SealedField::numbered("result_block.body", job.0, *first), body).await?;
            tx.execute(&ADD_RESULT_BLOCK, args![org, job, first, body]).await?;
        }
        if switched {
            tx.execute(&SET_PACKED, args![org, job, 1_i64]).await?;
        }
        tx.execute(&HOLD_PACKING, args![org, job, until]).await?;
        Ok(true)
    }));
    let next = Some(next).filter(|_| !switched);
    if switched {
        ResultSheets::of_store(store).forget(org, job);
    }
    Ok(added.await?.then_some(PackingClaim { switched, next, ..packing }))
}

async fn remove(store: &Store, packing: PackingClaim, until: Millis) -> Result<Option<PackingClaim>> {
    let PackingClaim { org, job, .. } = packing;
    let removed = store.write_bulk(|tx| {
        async move {
            if !is_at(tx, org, job, 1, None).await? {
                return Ok(false);
            }
            let parts = tx.execute(&DROP_PARTS, args![org, job, PARTS_AT_ONCE]).await?;
            let left = remove_work(tx, org, job).await? || parts > 0;
            if left {
                tx.execute(&HOLD_PACKING, args![org, job, until]).await?;
            } else {
                tx.execute(&END_PACKING, args![org, job]).await?;
            }
            Ok(left)
        }
        .scope_boxed()
    });
    Ok(removed.await?.then_some(packing))
}

/// Removes a part of a job's chunks and duplicate rows. False if nothing is left.
pub(super) async fn remove_work(tx: &mut Tx, org: OrgNo, job: JobNo) -> Result<bool> {
    let chunks = tx.execute(&DROP_CHUNKS, args![org, job, CHUNKS_AT_ONCE]).await?;
    let duplicates = tx.execute(&DROP_DUPLICATES, args![org, job, DUPLICATES_AT_ONCE]).await?;
    Ok(chunks + duplicates > 0)
}

/// Returns whether a job is still in this state, with unchanged results if required; locks its row.
async fn is_at(tx: &mut Tx, org: OrgNo, job: JobNo, packed: i64, rewritten: Option<i64>) -> Result<bool> {
    let now: Option<(i64, i64)> = tx.find(&PACKED_NOW, args![org, job]).await?;
    Ok(now.is_some_and(|now| now.0 == packed && rewritten.is_none_or(|rewritten| now.1 == rewritten)))
}

/// Builds the block of the rows in `from..to`.
async fn block(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, to: i64) -> Result<Vec<u8>> {
    let damaged = || StoreError::corrupt("a result cannot be packed");
    let number = |number: i64| u64::try_from(number).map_err(|_| damaged());
    let mut block = ResultBlock::default();
    block.rows.resize(usize::try_from(to - from).map_err(|_| damaged())?, None);
    let mut places = HashMap::new();
    for (idx, standing) in sheet::outcomes(conn, org, job, from, to).await? {
        let results::SettledResult { result, at } = standing;
        let kind = *places.entry(result.kind).or_insert_with_key(|kind| {
            block.kinds.push(kind.to_bytes());
            block.kinds.len() - 1
        });
        let (back, copies, at) = (number(idx - result.idx)?, number(result.copies)?, number(at.0)?);
        let suggestion = result.suggestion.unwrap_or_default().into_bytes();
        let place = usize::try_from(idx - from).map_err(|_| damaged())?;
        *block.rows.get_mut(place).ok_or_else(damaged)? = Some(StoredOutcome { kind, back, copies, at, suggestion });
    }
    block.encode().map_err(records::damaged)
}
