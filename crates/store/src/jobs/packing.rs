//! Packing: results of a closed job go from rows of their own into blocks of a thousand.
//!
//! A row of a result costs more in keys than in content. While a job runs, results come in any order, so they need rows; once
//! it is closed nothing changes any more, and a block for each thousand holds every row's own outcome.
//!
//! ```text
//! packed = 0  rows count     blocks are added, the first first; those of a holder that died are gone on with
//! packed = 1  blocks count   rows are removed, the first first; whoever goes on after a crash begins at the first that is left
//! packed = 2  blocks only
//! ```
//!
//! Whoever reads sees `packed` and the blocks in one statement, so nobody sees half. Each step is a short transaction that
//! locks the job's row and looks at `packed` again; two holders at once only do the same twice. Blocks are made outside of
//! transactions: what they are made of does not change, unless the job was packed meanwhile, and then they are not added.

use std::collections::{BTreeSet, HashMap};

use probity_core::block::ROWS_MAX;
use probity_core::block::results::{Outcome, ResultBlock};
use probity_core::time::Millis;
use scoped_futures::ScopedFutureExt as _;

use super::JobNo;
use super::code::{Coded, KindRef};
use super::kinds;
use super::results::{self, Stored};
use crate::db::{Conn, Store, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

/// Rows of a block.
pub(super) const BLOCK: i64 = 1_000;
const _: () = assert!(ROWS_MAX == 1_000, "blocks of results have as many rows as those of addresses");
/// Blocks that are added in one transaction.
const BLOCKS_AT_ONCE: i64 = 10;
/// Rows whose results are removed in one transaction.
const ROWS_AT_ONCE: i64 = 2_000;

statements! {
    CLAIM_PACKING = "SELECT org_no, job_no, rows_total, packed FROM job WHERE packed < 2 AND finished_at <= $1 \
                     AND (keeper_until IS NULL OR keeper_until <= $1) ORDER BY finished_at LIMIT 1 \
                     {skip_locked}";
    HOLD_PACKING = "UPDATE job SET keeper_until = $3 WHERE org_no = $1 AND job_no = $2";
    PACKED_NOW = "SELECT packed FROM job WHERE org_no = $1 AND job_no = $2 {for_update}";
    LAST_BLOCK = "SELECT first_idx FROM result_block WHERE org_no = $1 AND job_no = $2 ORDER BY first_idx DESC LIMIT 1";
    ADD_RESULT_BLOCK = "INSERT INTO result_block (org_no, job_no, first_idx, body) VALUES ($1, $2, $3, $4) \
                        ON CONFLICT (org_no, job_no, first_idx) DO NOTHING";
    SET_PACKED = "UPDATE job SET packed = $3 WHERE org_no = $1 AND job_no = $2";
    END_PACKING = "UPDATE job SET packed = 2, keeper_until = NULL WHERE org_no = $1 AND job_no = $2";
    FIRST_RESULT = "SELECT idx FROM result WHERE org_no = $1 AND job_no = $2 ORDER BY idx LIMIT 1";
    FIRST_DUPLICATE = "SELECT idx FROM job_duplicate WHERE org_no = $1 AND job_no = $2 ORDER BY idx LIMIT 1";
    DROP_RESULTS = "DELETE FROM result WHERE org_no = $1 AND job_no = $2 AND idx >= $3 AND idx < $4";
    DROP_DUPLICATES = "DELETE FROM job_duplicate WHERE org_no = $1 AND job_no = $2 AND idx >= $3 AND idx < $4";
    DROP_KINDS = "DELETE FROM job_kind WHERE org_no = $1 AND job_no = $2";
}

/// A closed job that somebody packs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// Whose.
    pub org: OrgNo,
    /// Which.
    pub job: JobNo,
    rows: i64,
    /// Whether blocks count already.
    switched: bool,
    /// The row at which the next step begins; none where that has to be looked up.
    next: Option<i64>,
}

/// Takes up the closed job that has waited longest for being packed; none where all are packed or taken.
pub async fn claim_packing(tx: &mut Tx, now: Millis, lease_ms: i64) -> Result<Option<Packing>> {
    let Some(row) = tx.first(&CLAIM_PACKING, args![now]).await? else { return Ok(None) };
    let (org, job) = (OrgNo(row.get("org_no")?), JobNo(row.get("job_no")?));
    tx.execute(&HOLD_PACKING, args![org, job, now + lease_ms]).await?;
    let switched = row.get::<i64>("packed")? == 1;
    Ok(Some(Packing { org, job, rows: row.get("rows_total")?, switched, next: None }))
}

/// Goes one step, which is one short transaction, and holds the job until then. Nothing where no step is left: the job is
/// packed, or somebody else was faster.
pub async fn pack(store: &Store, packing: Packing, until: Millis) -> Result<Option<Packing>> {
    if packing.switched { remove(store, packing, until).await } else { add(store, packing, until).await }
}

async fn add(store: &Store, packing: Packing, until: Millis) -> Result<Option<Packing>> {
    let Packing { org, job, rows, .. } = packing;
    let (from, blocks) = {
        let mut conn = store.read().await?;
        let from = match packing.next {
            Some(next) => next,
            None => match conn.first(&LAST_BLOCK, args![org, job]).await? {
                Some(last) => last.get::<i64>("first_idx")? + BLOCK,
                None => 0,
            },
        };
        let mut blocks = Vec::new();
        for first in (from..rows).step_by(1_000).take(usize::try_from(BLOCKS_AT_ONCE).unwrap_or(1)) {
            blocks.push((first, block(&mut conn, org, job, first, rows.min(first + BLOCK)).await?));
        }
        (from, blocks)
    };
    let next = from + BLOCK * BLOCKS_AT_ONCE;
    let switched = next >= rows;
    let added = store.write(|tx| {
        async {
            if !is_at(tx, org, job, 0).await? {
                return Ok(false);
            }
            for (first, body) in &blocks {
                tx.execute(&ADD_RESULT_BLOCK, args![org, job, *first, body.as_slice()]).await?;
            }
            if switched {
                tx.execute(&SET_PACKED, args![org, job, 1]).await?;
            }
            tx.execute(&HOLD_PACKING, args![org, job, until]).await?;
            Ok(true)
        }
        .scope_boxed()
    });
    let next = Some(next).filter(|_| !switched);
    Ok(added.await?.then_some(Packing { switched, next, ..packing }))
}

async fn remove(store: &Store, packing: Packing, until: Millis) -> Result<Option<Packing>> {
    let Packing { org, job, rows, next, .. } = packing;
    let from = match next {
        Some(next) => next,
        None => first_left(&mut store.read().await?, org, job).await?.unwrap_or(rows),
    };
    let last = from + ROWS_AT_ONCE >= rows;
    // Kinds go with the last rows: a job has 20,000 at most, and most have some dozen.
    let to = if last { i64::MAX } else { from + ROWS_AT_ONCE };
    let removed = store.write(|tx| {
        async move {
            if !is_at(tx, org, job, 1).await? {
                return Ok(false);
            }
            tx.execute(&DROP_RESULTS, args![org, job, from, to]).await?;
            tx.execute(&DROP_DUPLICATES, args![org, job, from, to]).await?;
            if last {
                tx.execute(&DROP_KINDS, args![org, job]).await?;
                tx.execute(&END_PACKING, args![org, job]).await?;
            } else {
                tx.execute(&HOLD_PACKING, args![org, job, until]).await?;
            }
            Ok(!last)
        }
        .scope_boxed()
    });
    Ok(removed.await?.then_some(Packing { next: Some(to), ..packing }))
}

/// The first row that has something left to be removed.
async fn first_left(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Option<i64>> {
    let mut left = conn.rows(&FIRST_RESULT, args![org, job]).await?;
    left.extend(conn.rows(&FIRST_DUPLICATE, args![org, job]).await?);
    let left = left.iter().map(|row| row.get("idx")).collect::<Result<Vec<i64>>>()?;
    Ok(left.into_iter().min())
}

/// Whether a job stands there still; locks its row.
async fn is_at(tx: &mut Tx, org: OrgNo, job: JobNo, packed: i64) -> Result<bool> {
    let Some(row) = tx.first(&PACKED_NOW, args![org, job]).await? else { return Ok(false) };
    Ok(row.get::<i64>("packed")? == packed)
}

/// The block of the rows within `from..to`.
async fn block(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, to: i64) -> Result<Vec<u8>> {
    let damaged = || StoreError::corrupt("a result cannot be packed");
    let stored = results::stored(conn, org, job, from, to).await?;
    let coded = stored.iter().map(|row| Ok((row, Coded::decode(&row.body).ok_or_else(damaged)?)));
    let coded = coded.collect::<Result<Vec<(&Stored, Coded<'_>)>>>()?;
    let numbers: BTreeSet<i64> = coded.iter().filter_map(|(_, coded)| coded.kind.number()).collect();
    let known = kinds::bodies(conn, org, job, numbers).await?;
    let mut block = ResultBlock::default();
    block.rows.resize(usize::try_from(to - from).map_err(|_| damaged())?, None);
    let mut places = HashMap::new();
    for (row, coded) in coded {
        let kind: &[u8] = match coded.kind {
            KindRef::Numbered(number) => known.get(&number).ok_or_else(damaged)?,
            KindRef::Whole(kind) => kind,
        };
        let place = *places.entry(kind).or_insert_with(|| {
            block.kinds.push(kind.to_vec());
            block.kinds.len() - 1
        });
        let number = |number: i64| u64::try_from(number).map_err(|_| damaged());
        let outcome = Outcome {
            kind: place,
            back: number(row.idx - row.first_idx)?,
            copies: number(coded.copies)?,
            at: number(coded.at)?,
            suggestion: coded.suggestion.to_vec(),
        };
        let index = usize::try_from(row.idx - from).map_err(|_| damaged())?;
        *block.rows.get_mut(index).ok_or_else(damaged)? = Some(outcome);
    }
    block.encode().map_err(|error| StoreError::Corrupt(error.into()))
}
