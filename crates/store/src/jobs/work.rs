//! Work: chunks are taken up under a lease, and settled in parts under a fence.

use std::collections::BTreeMap;

use probity_core::time::Millis;
use probity_core::verdict::Reason;
use serde_json::json;

use super::close::{self, Closed};
use super::code::{Coded, KindRef, hex};
use super::import::{self, NewChunk};
use super::{Counts, JobNo, Kinds, RowResult, State, lock};
use crate::credits::hold::{self, Part};
use crate::db::{Conn, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;
use crate::orgs::OrgStatus;
use crate::usage::{self, Delta};

/// A job with something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// Whose.
    pub org: OrgNo,
    /// Where its organization stands.
    pub org_status: OrgStatus,
    /// Which.
    pub job: JobNo,
    /// Whether it was made with a test key.
    pub test: bool,
    /// When it was accepted.
    pub created_at: Millis,
}

/// A chunk that somebody has taken up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// Whose it is, and what tells this holder from earlier ones.
    pub fence: Fence,
    /// How many addresses it has.
    pub size: i64,
    /// The addresses.
    pub body: Vec<u8>,
}

/// What a holder of a chunk shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// Whose.
    pub org: OrgNo,
    /// Which job.
    pub job: JobNo,
    /// Which chunk.
    pub chunk: i64,
    /// Which holder.
    pub epoch: i64,
}

/// A part of a chunk's outcome.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    /// Results.
    pub results: Vec<RowResult>,
    /// Rows that must wait, as new chunks.
    pub put_off: Vec<NewChunk>,
    /// Whether nothing of the chunk is left.
    pub done: bool,
    /// Tells this part of the chunk from the others.
    pub part: u32,
}

statements! {
    OPEN = "SELECT j.org_no, j.job_no, j.test, j.created_at, o.status AS org_status FROM job j \
            JOIN org o ON o.org_no = j.org_no WHERE j.is_open = 1 AND j.state IN ('ready', 'processing') \
            AND EXISTS (SELECT 1 FROM chunk c WHERE c.org_no = j.org_no AND c.job_no = j.job_no AND c.ready_at <= $1 \
            AND (c.leased_until IS NULL OR c.leased_until <= $1)) \
            ORDER BY j.created_at, j.org_no, j.job_no LIMIT $2";
    FREE_CHUNKS = "SELECT chunk_no, epoch, size, body FROM chunk WHERE org_no = $1 AND job_no = $2 AND ready_at <= $3 \
                   AND (leased_until IS NULL OR leased_until <= $3) ORDER BY ready_at, chunk_no LIMIT $4 {skip_locked}";
    TAKE = "UPDATE chunk SET epoch = epoch + 1, leased_until = $4 WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3";
    START = "UPDATE job SET state = 'processing', started_at = COALESCE(started_at, $3), progress_at = $3 \
             WHERE org_no = $1 AND job_no = $2 AND state IN ('ready', 'processing')";
    EXTEND = "UPDATE chunk SET leased_until = $5 WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3 AND epoch = $4";
    FREE = "UPDATE chunk SET leased_until = NULL WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3 AND epoch = $4";
    HOLDER = "SELECT epoch FROM chunk WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3 {for_update}";
    DONE = "DELETE FROM chunk WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3";
    LEFT = "SELECT chunk_no FROM chunk WHERE org_no = $1 AND job_no = $2 LIMIT 1";
    INSERT = "INSERT INTO result (org_no, job_no, idx, body) SELECT $2, $3, CAST(each.value ->> 'i' AS BIGINT), \
              {unhex:each.value ->> 'b'} FROM {each:$1} WHERE 1 = 1 \
              ON CONFLICT (org_no, job_no, idx) DO NOTHING RETURNING idx";
    COUNT = "UPDATE job SET processed = processed + $3, passed = passed + $4, undeliverable = undeliverable + $5, \
             risky = risky + $6, unknown = unknown + $7, charged = charged + $8, progress_at = $9, next_chunk = $10 \
             WHERE org_no = $1 AND job_no = $2";
    COUNT_REASONS = "INSERT INTO job_reason (org_no, job_no, reason, n) SELECT $2, $3, each.value ->> 0, \
                     CAST(each.value ->> 1 AS BIGINT) FROM {each:$1} WHERE 1 = 1 ON CONFLICT (org_no, job_no, reason) \
                     DO UPDATE SET n = job_reason.n + excluded.n";
}

/// Jobs that have a chunk to be taken up now, the oldest first.
pub async fn open(conn: &mut Conn, now: Millis, at_most: i64) -> Result<Vec<Open>> {
    let rows = conn.rows(&OPEN, args![now, at_most]).await?;
    let open = |row: &crate::db::Row| {
        Ok(Open {
            org: OrgNo(row.get("org_no")?),
            org_status: row.parse("org_status")?,
            job: JobNo(row.get("job_no")?),
            test: row.get::<i64>("test")? == 1,
            created_at: Millis(row.get("created_at")?),
        })
    };
    rows.iter().map(open).collect()
}

/// Takes up to `at_most` chunks of a job up. None where there are none, or the job is closed.
pub async fn claim_chunks(
    tx: &mut Tx,
    org: OrgNo,
    job: JobNo,
    now: Millis,
    lease_ms: i64,
    at_most: i64,
) -> Result<Vec<Claimed>> {
    if !matches!(lock(tx, org, job).await?.state, State::Ready | State::Processing) {
        return Ok(Vec::new());
    }
    let mut claimed = Vec::new();
    for row in tx.rows(&FREE_CHUNKS, args![org, job, now, at_most]).await? {
        let chunk: i64 = row.get("chunk_no")?;
        tx.execute(&TAKE, args![org, job, chunk, now + lease_ms]).await?;
        let fence = Fence { org, job, chunk, epoch: row.get::<i64>("epoch")? + 1 };
        claimed.push(Claimed { fence, size: row.get("size")?, body: row.get("body")? });
    }
    if !claimed.is_empty() {
        tx.execute(&START, args![org, job, now]).await?;
    }
    Ok(claimed)
}

/// Holds chunks for longer. [`StoreError::LeaseLost`] where another holder has one of them.
pub async fn extend(tx: &mut Tx, fences: &[Fence], until: Millis) -> Result<()> {
    for fence in fences {
        let Fence { org, job, chunk, epoch } = *fence;
        if tx.execute(&EXTEND, args![org, job, chunk, epoch, until]).await? != 1 {
            return Err(StoreError::LeaseLost);
        }
    }
    Ok(())
}

/// Lets a chunk go, so that another can take it up at once.
pub async fn free(tx: &mut Tx, fence: &Fence) -> Result<()> {
    let Fence { org, job, chunk, epoch } = *fence;
    tx.execute(&FREE, args![org, job, chunk, epoch]).await?;
    Ok(())
}

/// Settles a part of a chunk: results where none stand, credits, counters, usage. Tells the job's end where this was its
/// last part. [`StoreError::LeaseLost`]: another holds the chunk, or the job was closed; nothing of this counts.
pub async fn settle(
    tx: &mut Tx,
    fence: &Fence,
    settled: &Settled,
    kinds: &Kinds,
    now: Millis,
) -> Result<Option<Closed>> {
    let Fence { org, job, chunk, epoch } = *fence;
    let locked = lock(tx, org, job).await?;
    let holder = tx.first(&HOLDER, args![org, job, chunk]).await?;
    let holder = holder.map(|row| row.get::<i64>("epoch")).transpose()?;
    if locked.state != State::Processing || holder != Some(epoch) {
        return Err(StoreError::LeaseLost);
    }
    let new = insert(tx, org, job, &settled.results, kinds, now).await?;
    let charged = new.iter().filter(|row| row.kind.charged).count();
    let charged = i64::try_from(charged).unwrap_or(i64::MAX);
    let released = i64::try_from(new.len()).unwrap_or(i64::MAX) - charged;
    if !locked.test {
        let cause = format!("{}:{chunk}:{epoch}:{}", locked.id, settled.part);
        let part = Part { org, id: &locked.id, captured: charged, released, cause: &cause, at: now };
        hold::settle(tx, &part).await?;
        usage::add(tx, &deltas(org, &locked.source, &new, now)).await?;
    }
    let next = import::insert(tx, org, job, locked.next_chunk, &settled.put_off).await?;
    count(tx, fence, &new, charged, next, now).await?;
    if !settled.done {
        return Ok(None);
    }
    tx.execute(&DONE, args![org, job, chunk]).await?;
    if tx.first(&LEFT, args![org, job]).await?.is_some() {
        return Ok(None);
    }
    close::complete(tx, org, job, &locked.id, now).await.map(Some)
}

/// Inserts results where none stand; gives those that were new.
async fn insert<'a>(
    tx: &mut Tx,
    org: OrgNo,
    job: JobNo,
    results: &'a [RowResult],
    kinds: &Kinds,
    now: Millis,
) -> Result<Vec<&'a RowResult>> {
    if results.is_empty() {
        return Ok(Vec::new());
    }
    let bodies: Vec<Vec<u8>> = results.iter().map(|row| row.kind.to_bytes()).collect();
    let numbers = kinds.number(tx, org, job, &bodies).await?;
    let row = |((row, whole), number): ((&RowResult, &Vec<u8>), Option<i64>)| {
        let kind = number.map_or(KindRef::Whole(whole), KindRef::Numbered);
        let suggestion = row.suggestion.as_deref().unwrap_or_default().as_bytes();
        let coded = Coded { kind, copies: row.copies, at: now.0, suggestion };
        json!({ "i": row.idx, "b": hex(&coded.encode()) })
    };
    let rows: Vec<_> = results.iter().zip(&bodies).zip(numbers).map(row).collect();
    let inserted = tx.rows(&INSERT, args![json!(rows).to_string(), org, job, now]).await?;
    let by_idx: BTreeMap<i64, &RowResult> = results.iter().map(|row| (row.idx, row)).collect();
    let mut new = Vec::with_capacity(inserted.len());
    for row in &inserted {
        new.extend(by_idx.get(&row.get::<i64>("idx")?).copied());
    }
    Ok(new)
}

/// What the usage counts: each address once.
fn deltas(org: OrgNo, source: &str, new: &[&RowResult], now: Millis) -> Vec<Delta> {
    let delta = |row: &&RowResult| Delta {
        org,
        day: now.utc_day(),
        source: source.to_owned(),
        connection: None,
        reason: row.kind.reason,
        verified: 1,
        charged: i64::from(row.kind.charged),
    };
    new.iter().map(delta).collect()
}

async fn count(
    tx: &mut Tx,
    fence: &Fence,
    new: &[&RowResult],
    charged: i64,
    next_chunk: i64,
    now: Millis,
) -> Result<()> {
    let Fence { org, job, .. } = *fence;
    let mut counts = Counts::default();
    let mut reasons: BTreeMap<&str, i64> = BTreeMap::new();
    for row in new {
        counts.add(row.kind.reason, row.copies);
        *reasons.entry(Reason::as_str(row.kind.reason)).or_default() += row.copies;
    }
    let Counts { processed, passed, undeliverable, risky, unknown } = counts;
    let values = args![org, job, processed, passed, undeliverable, risky, unknown, charged, now, next_chunk];
    tx.execute(&COUNT, values).await?;
    if !reasons.is_empty() {
        let pairs: Vec<_> = reasons.into_iter().collect();
        tx.execute(&COUNT_REASONS, args![json!(pairs).to_string(), org, job]).await?;
    }
    Ok(())
}
