//! Erases addresses from jobs: submitted rows, rows of work, results.
//!
//! A row keeps its index and its reason. In the address block, [`ERASED`](probity_account::block::ERASED) replaces the address.
//! Its result keeps the counted fields (reason, price, provider) and its time; a suggestion that is an erased address is removed
//! from other rows' results, too. Each change is a short transaction that locks the job and re-reads its data, so concurrent or
//! repeated runs do no harm.
//!
//! A change invalidates leases on the changed data: an import restarts, and a chunk gets another epoch, so results in flight are
//! rejected when they are settled. The job's `rewritten` counter invalidates cached results and packing in progress. The link to
//! its summary is revoked: name and figures may be about erased addresses.

use std::collections::{BTreeSet, HashMap, HashSet};

use probity_account::block::results::{ResultBlock, StoredOutcome};
use probity_mail::time::Millis;

use super::results::kind::OutcomeKind;
use super::results::part;
use super::{JobNo, JobState, lock, unshare};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::privacy::sealing::{SealedField, seal, unseal};
use crate::privacy::suppressions::{self, SuppressionTag};
use crate::records::{TypedStatements as _, damaged};

statements! {
    // The staged job of a run may be as old as an erasure; it is not accepted while one is open.
    OLDER = "SELECT created_at, job_no FROM job WHERE org_no = $1 AND test = $2 AND (state <> 'unborn' OR connection_id IS NOT NULL) \
             AND packed < 3 AND created_at <= $3 AND (created_at > $4 OR (created_at = $4 AND job_no > $5)) \
             ORDER BY created_at, job_no LIMIT $6";
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
    // Erasures that have processed the job, or will, are as old as the job or newer.
    ERASED_SINCE = "SELECT t.tag FROM job j JOIN erasure e ON e.org_no = j.org_no AND e.test = j.test \
                    AND e.requested_at >= j.created_at JOIN tombstone t ON t.org_no = e.org_no AND t.erasure_id = e.id \
                    WHERE j.org_no = $1 AND j.job_no = $2 AND t.tag IN (SELECT {unhex:each.value ->> 0} FROM {each:$3})";
    REWRITTEN = "UPDATE job SET rewritten = rewritten + 1 WHERE org_no = $1 AND job_no = $2";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredResultsKind {
    /// Of jobs that are not packed; numbered from 1.
    Parts,
    /// Of packed jobs, by their first rows.
    Blocks,
}

/// Data to erase from a job's results.
#[derive(Clone, Copy)]
pub struct ErasedRows<'a> {
    /// Rows whose addresses are erased.
    pub rows: &'a BTreeSet<i64>,
    /// Whether a text is an erased address.
    pub is_erased: &'a (dyn Fn(&str) -> bool + Sync),
}

/// Rewrites a body; returns it with its number of changed entries, or `None` if nothing changes.
pub type BodyRewrite<'a> = dyn Fn(&[u8]) -> Result<Option<(Vec<u8>, u64)>> + Sync + 'a;

/// Jobs accepted up to a time, after a position, oldest first: acceptance time and number.
pub async fn older(
    conn: &mut Conn,
    org: OrgNo,
    test: bool,
    up_to: Millis,
    behind: (Millis, i64),
    at_most: i64,
) -> Result<Vec<(Millis, JobNo)>> {
    conn.all(&OLDER, args![org, test, up_to, behind.0, behind.1, at_most]).await
}

/// Rewrites a block of addresses; returns the number changed.
pub async fn rewrite_block(tx: &mut Tx, org: OrgNo, job: JobNo, first: i64, rewrite: &BodyRewrite<'_>) -> Result<u64> {
    let locked = lock(tx, org, job).await?;
    let Some(body) = tx.find(&BLOCK, args![org, job, first]).await? else { return Ok(0) };
    let place = SealedField::numbered("job_block.body", job.0, first);
    let body = unseal(tx, org, place, body).await?;
    let Some((body, changed)) = rewrite(&body)? else { return Ok(0) };
    let body = seal(tx, org, place, &body).await?;
    tx.execute(&SET_BLOCK, args![org, job, first, body]).await?;
    unshare(tx, org, job).await?;
    if locked.state == JobState::Importing {
        tx.execute(&STOP_IMPORT, args![org, job]).await?;
    }
    Ok(changed)
}

/// Chunks after a number, lowest first.
pub async fn chunks(conn: &mut Conn, org: OrgNo, job: JobNo, behind: i64, at_most: i64) -> Result<Vec<(i64, Vec<u8>)>> {
    let mut chunks = Vec::new();
    let found: Vec<(i64, Vec<u8>)> = conn.all(&CHUNKS, args![org, job, behind, at_most]).await?;
    for (no, body) in found {
        chunks.push((no, unseal(conn, org, SealedField::numbered("chunk.body", job.0, no), body).await?));
    }
    Ok(chunks)
}

/// Rewrites a chunk and revokes its lease; returns the number of rows changed.
pub async fn rewrite_chunk(tx: &mut Tx, org: OrgNo, job: JobNo, chunk: i64, rewrite: &BodyRewrite<'_>) -> Result<u64> {
    lock(tx, org, job).await?;
    let Some(body) = tx.find(&CHUNK, args![org, job, chunk]).await? else { return Ok(0) };
    let place = SealedField::numbered("chunk.body", job.0, chunk);
    let body = unseal(tx, org, place, body).await?;
    let Some((body, changed)) = rewrite(&body)? else { return Ok(0) };
    let body = seal(tx, org, place, &body).await?;
    tx.execute(&SET_CHUNK, args![org, job, chunk, body]).await?;
    Ok(changed)
}

/// Returns those of these addresses that were erased since a job was accepted: a result settled now must not contain them. Until
/// the transaction ends, no erasure processes the job's results.
pub async fn erased_since(
    tx: &mut Tx,
    org: OrgNo,
    job: JobNo,
    tags: &BTreeSet<SuppressionTag>,
) -> Result<HashSet<SuppressionTag>> {
    lock(tx, org, job).await?;
    tx.all(&ERASED_SINCE, args![org, job, suppressions::texts(tags)]).await
}

/// Waits for settlements of a job in progress: later ones see the erasures ([`erased_since`]).
pub async fn await_settling(tx: &mut Tx, org: OrgNo, job: JobNo) -> Result<()> {
    match lock(tx, org, job).await {
        // It was purged meanwhile.
        Ok(_) | Err(StoreError::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Bodies of results after a number, lowest first, and whether each has something to erase.
pub async fn results_behind(
    conn: &mut Conn,
    (org, job): (OrgNo, JobNo),
    results: StoredResultsKind,
    behind: i64,
    at_most: i64,
    what: ErasedRows<'_>,
) -> Result<Vec<(i64, bool)>> {
    let statement = match results {
        StoredResultsKind::Parts => &PARTS,
        StoredResultsKind::Blocks => &RESULT_BLOCKS,
    };
    let mut found = Vec::new();
    let bodies: Vec<(i64, Vec<u8>)> = conn.all(statement, args![org, job, behind, at_most]).await?;
    for (no, body) in bodies {
        let body = unseal(conn, org, results.place(job, no), body).await?;
        found.push((no, results.stripped(no, &body, what)?.is_some()));
    }
    Ok(found)
}

/// Rewrites a body of results; returns the number of changed entries.
pub async fn strip_results(
    tx: &mut Tx,
    (org, job): (OrgNo, JobNo),
    results: StoredResultsKind,
    no: i64,
    what: ErasedRows<'_>,
) -> Result<u64> {
    lock(tx, org, job).await?;
    let (read, write) = match results {
        StoredResultsKind::Parts => (&PART, &SET_PART),
        StoredResultsKind::Blocks => (&RESULT_BLOCK, &SET_RESULT_BLOCK),
    };
    let Some(body) = tx.find(read, args![org, job, no]).await? else { return Ok(0) };
    let place = results.place(job, no);
    let body = unseal(tx, org, place, body).await?;
    let Some((body, changed)) = results.stripped(no, &body, what)? else { return Ok(0) };
    let body = seal(tx, org, place, &body).await?;
    tx.execute(write, args![org, job, no, body]).await?;
    tx.execute(&REWRITTEN, args![org, job]).await?;
    unshare(tx, org, job).await?;
    Ok(changed)
}

impl StoredResultsKind {
    fn place(self, job: JobNo, no: i64) -> SealedField<'static> {
        match self {
            Self::Parts => SealedField::numbered("result_part.body", job.0, no),
            Self::Blocks => SealedField::numbered("result_block.body", job.0, no),
        }
    }

    fn stripped(self, no: i64, body: &[u8], what: ErasedRows<'_>) -> Result<Option<(Vec<u8>, u64)>> {
        match self {
            Self::Parts => part::rewritten(body, |indexes, block| strip(block, |place| indexes[place], what)),
            Self::Blocks => {
                let mut block = ResultBlock::decode(body).map_err(damaged)?;
                let index = |place: usize| no + i64::try_from(place).unwrap_or(i64::MAX - no);
                match strip(&mut block, index, what)? {
                    0 => Ok(None),
                    changed => Ok(Some((block.encode().map_err(damaged)?, changed))),
                }
            }
        }
    }
}

/// Erases from results; returns the number changed.
fn strip(block: &mut ResultBlock, index: impl Fn(usize) -> i64, what: ErasedRows<'_>) -> Result<u64> {
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
        // Unused kinds are removed.
        outcome.kind = *places.entry(kind).or_insert_with_key(|kind| {
            block.kinds.push(kind.clone());
            block.kinds.len() - 1
        });
    }
    Ok(changed)
}

/// Returns what remains of an erased row's kind, without its suggestion, and whether that is a change.
fn bare(kind: &[u8], outcome: &mut StoredOutcome) -> Result<(Vec<u8>, bool)> {
    let whole = OutcomeKind::from_bytes(kind)?;
    let bare = OutcomeKind::erased(whole.reason, whole.charged, whole.provider).to_bytes();
    let suggested = !std::mem::take(&mut outcome.suggestion).is_empty();
    let changed = suggested || bare != kind;
    Ok((bare, changed))
}
