//! Erasing addresses from what jobs keep: submitted rows, rows of work, results.
//!
//! A row stays, with its place and its reason. In the block of addresses [`ERASED`](probity_account::block::ERASED) stands in the
//! place of the address, and its result keeps what is counted (reason, price, provider) and its time; a suggestion that is an erased address goes from
//! other rows' results, too. Each change is a short transaction that locks the job and reads what it changes again, so
//! two runs at once, or one that is repeated, do no harm.
//!
//! Whoever holds what is changed loses it: an import begins anew, a chunk gets another epoch, so results that are on their way
//! are refused when they are settled. Results that are remembered or being packed are told by the job's `rewritten`.

use std::collections::{BTreeSet, HashMap, HashSet};

use probity_account::block::results::{Outcome, ResultBlock};
use probity_mail::time::Millis;

use super::kind::Kind;
use super::{JobNo, State, lock, part};
use crate::db::{Conn, Row, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;
use crate::sealing::Place;
use crate::suppressions::{self, Tag};

statements! {
    OLDER = "SELECT job_no, created_at FROM job WHERE org_no = $1 AND test = $2 AND state <> 'unborn' AND packed < 3 \
             AND created_at <= $3 AND (created_at > $4 OR (created_at = $4 AND job_no > $5)) ORDER BY created_at, job_no LIMIT $6";
    BLOCK = "SELECT body FROM job_block WHERE org_no = $1 AND job_no = $2 AND first_idx = $3";
    SET_BLOCK = "UPDATE job_block SET body = $4 WHERE org_no = $1 AND job_no = $2 AND first_idx = $3";
    STOP_IMPORT = "UPDATE job SET epoch = epoch + 1, leased_until = 0 WHERE org_no = $1 AND job_no = $2 AND state = 'importing'";
    CHUNKS = "SELECT chunk_no, body FROM chunk WHERE org_no = $1 AND job_no = $2 AND chunk_no > $3 ORDER BY chunk_no LIMIT $4";
    CHUNK = "SELECT body FROM chunk WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3 {for_update}";
    SET_CHUNK = "UPDATE chunk SET body = $4, epoch = epoch + 1, leased_until = NULL \
                 WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3";
    PARTS = "SELECT part_no, body FROM result_part WHERE org_no = $1 AND job_no = $2 AND part_no > $3 ORDER BY part_no LIMIT $4";
    PART = "SELECT body FROM result_part WHERE org_no = $1 AND job_no = $2 AND part_no = $3";
    SET_PART = "UPDATE result_part SET body = $4 WHERE org_no = $1 AND job_no = $2 AND part_no = $3";
    RESULT_BLOCKS = "SELECT first_idx, body FROM result_block WHERE org_no = $1 AND job_no = $2 AND first_idx > $3 \
                     ORDER BY first_idx LIMIT $4";
    RESULT_BLOCK = "SELECT body FROM result_block WHERE org_no = $1 AND job_no = $2 AND first_idx = $3";
    SET_RESULT_BLOCK = "UPDATE result_block SET body = $4 WHERE org_no = $1 AND job_no = $2 AND first_idx = $3";
    // What an erasure has gone through, or will go through, is as old as it or older.
    ERASED_SINCE = "SELECT t.tag FROM job j JOIN erasure e ON e.org_no = j.org_no AND e.test = j.test \
                    AND e.requested_at >= j.created_at JOIN tombstone t ON t.org_no = e.org_no AND t.erasure_id = e.id \
                    WHERE j.org_no = $1 AND j.job_no = $2 AND t.tag IN (SELECT {unhex:each.value ->> 0} FROM {each:$3})";
    REWRITTEN = "UPDATE job SET rewritten = rewritten + 1 WHERE org_no = $1 AND job_no = $2";
}

/// A sort of bodies that results lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// Of jobs that are not packed; numbered from 1 on.
    Parts,
    /// Of packed jobs, by their first rows.
    Blocks,
}

/// What is to be erased from a job's results.
#[derive(Clone, Copy)]
pub struct Erased<'a> {
    /// Rows whose addresses are erased.
    pub rows: &'a BTreeSet<i64>,
    /// Whether a text is an erased address.
    pub is_erased: &'a (dyn Fn(&str) -> bool + Sync),
}

/// A body as it is after an erasure, and how many of its entries changed; none where nothing does.
pub type Anew<'a> = dyn Fn(&[u8]) -> Result<Option<(Vec<u8>, u64)>> + Sync + 'a;

/// Jobs that were accepted up to a time, behind a place, the oldest first: when, and their numbers.
pub async fn older(
    conn: &mut Conn,
    org: OrgNo,
    test: bool,
    up_to: Millis,
    behind: (Millis, i64),
    at_most: i64,
) -> Result<Vec<(Millis, JobNo)>> {
    let rows = conn.rows(&OLDER, args![org, test, up_to, behind.0, behind.1, at_most]).await?;
    rows.iter().map(|row| Ok((Millis(row.get("created_at")?), JobNo(row.get("job_no")?)))).collect()
}

/// Writes a block of addresses anew; says how many of them changed.
pub async fn rewrite_block(tx: &mut Tx, org: OrgNo, job: JobNo, first: i64, anew: &Anew<'_>) -> Result<u64> {
    let locked = lock(tx, org, job).await?;
    let Some(row) = tx.first(&BLOCK, args![org, job, first]).await? else { return Ok(0) };
    let place = Place::numbered("job_block.body", job.0, first);
    let body = tx.open_sealed(org, place, row.get("body")?).await?;
    let Some((body, changed)) = anew(&body)? else { return Ok(0) };
    let body = tx.seal(org, place, &body).await?;
    tx.execute(&SET_BLOCK, args![org, job, first, &*body]).await?;
    if locked.state == State::Importing {
        tx.execute(&STOP_IMPORT, args![org, job]).await?;
    }
    Ok(changed)
}

/// Chunks behind a number, the first first.
pub async fn chunks(conn: &mut Conn, org: OrgNo, job: JobNo, behind: i64, at_most: i64) -> Result<Vec<(i64, Vec<u8>)>> {
    let mut chunks = Vec::new();
    for row in conn.rows(&CHUNKS, args![org, job, behind, at_most]).await? {
        let no: i64 = row.get("chunk_no")?;
        let place = Place::numbered("chunk.body", job.0, no);
        chunks.push((no, conn.open_sealed(org, place, row.get("body")?).await?));
    }
    Ok(chunks)
}

/// Writes a chunk anew, and takes it from whoever works on it; says how many rows of it changed.
pub async fn rewrite_chunk(tx: &mut Tx, org: OrgNo, job: JobNo, chunk: i64, anew: &Anew<'_>) -> Result<u64> {
    lock(tx, org, job).await?;
    let Some(row) = tx.first(&CHUNK, args![org, job, chunk]).await? else { return Ok(0) };
    let place = Place::numbered("chunk.body", job.0, chunk);
    let body = tx.open_sealed(org, place, row.get("body")?).await?;
    let Some((body, changed)) = anew(&body)? else { return Ok(0) };
    let body = tx.seal(org, place, &body).await?;
    tx.execute(&SET_CHUNK, args![org, job, chunk, &*body]).await?;
    Ok(changed)
}

/// Which of these addresses were erased since a job was accepted: a result that is settled now must not name them. Until the
/// transaction's end no erasure goes through the job's results.
pub async fn erased_since(tx: &mut Tx, org: OrgNo, job: JobNo, tags: &BTreeSet<Tag>) -> Result<HashSet<Tag>> {
    lock(tx, org, job).await?;
    let rows = tx.rows(&ERASED_SINCE, args![org, job, suppressions::texts(tags)]).await?;
    let tag = |row: &Row| Tag::try_from(row.get::<Vec<u8>>("tag")?).map_err(|_| StoreError::corrupt("a tombstone"));
    rows.iter().map(tag).collect()
}

/// Waits for results of a job that are being settled: who settles later sees the erasures ([`erased_since`]).
pub async fn await_settling(tx: &mut Tx, org: OrgNo, job: JobNo) -> Result<()> {
    match lock(tx, org, job).await {
        // It was purged meanwhile.
        Ok(_) | Err(StoreError::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Bodies of results behind a number, the first first, and whether each has something to be erased.
pub async fn results_behind(
    conn: &mut Conn,
    (org, job): (OrgNo, JobNo),
    results: Results,
    behind: i64,
    at_most: i64,
    what: Erased<'_>,
) -> Result<Vec<(i64, bool)>> {
    let (statement, number) = match results {
        Results::Parts => (&PARTS, "part_no"),
        Results::Blocks => (&RESULT_BLOCKS, "first_idx"),
    };
    let mut found = Vec::new();
    for row in conn.rows(statement, args![org, job, behind, at_most]).await? {
        let no: i64 = row.get(number)?;
        let body = conn.open_sealed(org, results.place(job, no), row.get("body")?).await?;
        found.push((no, results.stripped(no, &body, what)?.is_some()));
    }
    Ok(found)
}

/// Writes a body of results anew; says how many of its entries changed.
pub async fn strip_results(
    tx: &mut Tx,
    (org, job): (OrgNo, JobNo),
    results: Results,
    no: i64,
    what: Erased<'_>,
) -> Result<u64> {
    lock(tx, org, job).await?;
    let (read, write) = match results {
        Results::Parts => (&PART, &SET_PART),
        Results::Blocks => (&RESULT_BLOCK, &SET_RESULT_BLOCK),
    };
    let Some(row) = tx.first(read, args![org, job, no]).await? else { return Ok(0) };
    let place = results.place(job, no);
    let body = tx.open_sealed(org, place, row.get("body")?).await?;
    let Some((body, changed)) = results.stripped(no, &body, what)? else { return Ok(0) };
    let body = tx.seal(org, place, &body).await?;
    tx.execute(write, args![org, job, no, &*body]).await?;
    tx.execute(&REWRITTEN, args![org, job]).await?;
    Ok(changed)
}

impl Results {
    fn place(self, job: JobNo, no: i64) -> Place<'static> {
        match self {
            Self::Parts => Place::numbered("result_part.body", job.0, no),
            Self::Blocks => Place::numbered("result_block.body", job.0, no),
        }
    }

    fn stripped(self, no: i64, body: &[u8], what: Erased<'_>) -> Result<Option<(Vec<u8>, u64)>> {
        match self {
            Self::Parts => part::rewritten(body, |indexes, block| strip(block, |place| indexes[place], what)),
            Self::Blocks => {
                let mut block = ResultBlock::decode(body).map_err(|error| StoreError::Corrupt(error.into()))?;
                let index = |place: usize| no + i64::try_from(place).unwrap_or(i64::MAX - no);
                match strip(&mut block, index, what)? {
                    0 => Ok(None),
                    changed => Ok(Some((block.encode().map_err(|error| StoreError::Corrupt(error.into()))?, changed))),
                }
            }
        }
    }
}

/// Takes what is to be erased out of results; says how many changed.
fn strip(block: &mut ResultBlock, index: impl Fn(usize) -> i64, what: Erased<'_>) -> Result<u64> {
    let kinds = std::mem::take(&mut block.kinds);
    let (mut places, mut changed) = (HashMap::new(), 0);
    for (place, outcome) in block.rows.iter_mut().enumerate() {
        let Some(outcome) = outcome else { continue };
        let kind = kinds.get(outcome.kind).ok_or_else(super::results::damaged)?;
        let (kind, stripped) =
            if what.rows.contains(&index(place)) { bare(kind, outcome)? } else { (kind.clone(), false) };
        let suggested = !outcome.suggestion.is_empty()
            && str::from_utf8(&outcome.suggestion).is_ok_and(|suggestion| (what.is_erased)(suggestion));
        if suggested {
            outcome.suggestion.clear();
        }
        changed += u64::from(stripped || suggested);
        // Kinds that nothing has any more go.
        outcome.kind = *places.entry(kind).or_insert_with_key(|kind| {
            block.kinds.push(kind.clone());
            block.kinds.len() - 1
        });
    }
    Ok(changed)
}

/// What is left of the kind of an erased row, whose suggestion goes; and whether there was more.
fn bare(kind: &[u8], outcome: &mut Outcome) -> Result<(Vec<u8>, bool)> {
    let whole = Kind::from_bytes(kind)?;
    let bare = Kind::erased(whole.reason, whole.charged, whole.provider).to_bytes();
    let suggested = !std::mem::take(&mut outcome.suggestion).is_empty();
    let changed = suggested || bare != kind;
    Ok((bare, changed))
}
