//! The import: splits a list's addresses into chunks. One holder does it; if it dies, another restarts from the beginning.

use probity_mail::time::Millis;

use super::standing::LATELY_MS;
use super::{JobNo, JobState, lock, packing};
use crate::credits::hold::{self, HoldPart};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::nodes::wake::{self, WakeUp};
use crate::number::OrgNo;
use crate::privacy::sealing::{SealedField, seal};
use crate::records::{TypedStatements as _, records};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportClaim {
    pub org: OrgNo,
    pub job: JobNo,
    /// Epoch of this holder.
    pub epoch: i64,
    pub rows: i64,
}

/// Chunk to insert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewChunk {
    /// Earliest time of a claim.
    pub ready_at: Millis,
    /// Number of addresses.
    pub size: i64,
    /// The addresses, in the worker's format.
    pub body: Vec<u8>,
    /// Common destination of all addresses, in the worker's format; empty if they differ.
    pub destination: String,
    /// Only source that should probe; empty for any.
    pub source: String,
}

statements! {
    ANY = "SELECT 1 AS one FROM job WHERE is_open = 1 AND (state = 'queued' OR \
           (state = 'importing' AND leased_until <= $1)) LIMIT 1";
    NEXT = "SELECT org_no, job_no, epoch, rows_total FROM job WHERE is_open = 1 AND (state = 'queued' OR \
            (state = 'importing' AND leased_until <= $1)) ORDER BY created_at, org_no, job_no LIMIT 1 {skip_locked}";
    // If it was not held for long, its stall timer restarts (`standing.rs`).
    TAKE = "UPDATE job SET state = 'importing', epoch = epoch + 1, leased_until = $3, \
            progress_at = CASE WHEN progress_at > $5 OR leased_until > $5 THEN progress_at ELSE $4 END \
            WHERE org_no = $1 AND job_no = $2";
    // Does not count as progress of the job: an import whose importers all die must end, too.
    EXTEND = "UPDATE job SET leased_until = $3, next_chunk = $4 WHERE org_no = $1 AND job_no = $2";
    // Discards its work, as if it had not been claimed.
    LET_GO = "UPDATE job SET state = 'queued', leased_until = NULL WHERE org_no = $1 AND job_no = $2 AND state = 'importing' \
              AND epoch = $3";
    ADD_CHUNK = "INSERT INTO chunk (ready_at, size, destination, source, org_no, job_no, chunk_no, body, epoch) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0)";
    ADD_DUPLICATES = "INSERT INTO job_duplicate (org_no, job_no, idx, first_idx) SELECT $2, $3, \
                      CAST(each.value ->> 0 AS BIGINT), CAST(each.value ->> 1 AS BIGINT) FROM {each:$1}";
    READY = "UPDATE job SET state = 'ready', leased_until = NULL, progress_at = $3, repeated = $4 WHERE org_no = $1 AND job_no = $2";
}

/// Whether [`claim_import`] would find work: reads only, so that an idle importer never takes the writer's turn.
pub async fn any_import(conn: &mut Conn, now: Millis) -> Result<bool> {
    conn.has(&ANY, args![now]).await
}

/// Claims the oldest job that is not being imported.
pub async fn claim_import(tx: &mut Tx, now: Millis, lease_ms: i64) -> Result<Option<ImportClaim>> {
    let next: Option<ImportClaim> = tx.find(&NEXT, args![now]).await?;
    let Some(ImportClaim { org, job, epoch, rows }) = next else { return Ok(None) };
    tx.execute(&TAKE, args![org, job, now + lease_ms, now, now - LATELY_MS]).await?;
    Ok(Some(ImportClaim { org, job, epoch: epoch + 1, rows }))
}

records!(row => ImportClaim { org = "org_no", job = "job_no", epoch, rows = "rows_total" });

async fn fence(tx: &mut Tx, claim: &ImportClaim) -> Result<super::LockedJob> {
    let locked = lock(tx, claim.org, claim.job).await?;
    if locked.state != JobState::Importing || locked.epoch != claim.epoch {
        return Err(StoreError::LeaseLost);
    }
    Ok(locked)
}

/// Removes part of the work of an earlier holder of the import, and extends the lease. False if nothing is left.
pub async fn restart_import(tx: &mut Tx, claim: &ImportClaim, now: Millis, lease_ms: i64) -> Result<bool> {
    let locked = fence(tx, claim).await?;
    let left = packing::remove_work(tx, claim.org, claim.job).await?;
    if left {
        tx.execute(&EXTEND, args![claim.org, claim.job, now + lease_ms, locked.next_chunk]).await?;
    }
    Ok(left)
}

/// Releases an unfinished import, so that another importer can claim it at once; no effect if another has it.
pub async fn free_import(tx: &mut Tx, claim: &ImportClaim) -> Result<()> {
    if tx.execute(&LET_GO, args![claim.org, claim.job, claim.epoch]).await? == 1 {
        wake::ring(tx, WakeUp::Import).await?;
    }
    Ok(())
}

/// Adds chunks and duplicate rows (index, index of the first row with that address), and extends the lease.
pub async fn add_chunks(
    tx: &mut Tx,
    claim: &ImportClaim,
    chunks: &[NewChunk],
    duplicates: &[(i64, i64)],
    now: Millis,
    lease_ms: i64,
) -> Result<()> {
    let locked = fence(tx, claim).await?;
    let next = insert(tx, claim.org, claim.job, locked.next_chunk, chunks).await?;
    if !duplicates.is_empty() {
        let pairs = serde_json::json!(duplicates).to_string();
        tx.execute(&ADD_DUPLICATES, args![pairs, claim.org, claim.job]).await?;
    }
    tx.execute(&EXTEND, args![claim.org, claim.job, now + lease_ms, next]).await.map(drop)
}

/// Inserts chunks numbered from `next`; returns the number after the last.
pub(super) async fn insert(tx: &mut Tx, org: OrgNo, job: JobNo, next: i64, chunks: &[NewChunk]) -> Result<i64> {
    let mut number = next;
    for chunk in chunks {
        let body = seal(tx, org, SealedField::numbered("chunk.body", job.0, number), &chunk.body).await?;
        let values = args!(chunk => ready_at, size, destination, source; org, job, number, body);
        tx.execute(&ADD_CHUNK, values).await?;
        number += 1;
    }
    Ok(number)
}

/// Ends the import: chunks can be claimed. Of `duplicates` rows, releases the credits that are held for them.
pub async fn imported(tx: &mut Tx, claim: &ImportClaim, duplicates: i64, now: Millis) -> Result<()> {
    let locked = fence(tx, claim).await?;
    if !locked.test {
        let cause = format!("duplicates:{}", locked.id);
        let held = hold::left(tx, claim.org, &locked.id).await?;
        let released = (held - (claim.rows - duplicates)).max(0);
        let part = HoldPart { org: claim.org, id: &locked.id, captured: 0, released, cause: &cause, at: now };
        hold::settle(tx, &part).await?;
    }
    tx.execute(&READY, args![claim.org, claim.job, now, duplicates]).await?;
    wake::ring(tx, WakeUp::Work).await
}
