//! Work: chunks are claimed under a lease, and settled in parts under a fence.
//!
//! A worker has a chunk until its lease ends, and must renew the lease regularly ([`extend`]). Each claim raises the chunk's epoch,
//! and a [`Fence`] names it. A holder that was paused, cut off or presumed dead finds another epoch when it returns, gets
//! [`StoreError::LeaseLost`], and changes nothing. So an address may be probed twice but has one result.
//!
//! [`settle`] is one transaction for a part of a chunk: results, credits, counters, usage and, with the last part, the job's end.
//! After an unanswered commit it may be retried: rows with a result get no second one. The job's row is locked first, before chunk,
//! hold and account, as everywhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use serde_json::json;

use super::close::{self, Closed};
use super::import::{self, NewChunk};
use super::part::{self, PART_MAX};
use super::standing::LATELY_MS;
use super::{Counts, JobNo, Locked, RowResult, State, lock, results};
use crate::credits::hold::{self, Part};
use crate::db::{Conn, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;
use crate::sealing::Place;
use crate::usage::{self, Delta};

/// A job with work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    pub org: OrgNo,
    pub job: JobNo,
    /// Whether a test key created it.
    pub test: bool,
    /// Acceptance time.
    pub created_at: Millis,
}

/// Claimable chunks of a job with the same destination and source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub org: OrgNo,
    pub job: JobNo,
    /// Common destination of all addresses; empty if they differ.
    pub destination: String,
    /// Only source that should probe; empty for any.
    pub source: String,
}

impl Head {
    /// Key of this group of chunks among those of all jobs: neither part contains a space.
    pub fn key(&self) -> String {
        format!("{} {}", self.destination, self.source)
    }
}

/// A claimed chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The chunk, and the epoch of this holder.
    pub fence: Fence,
    /// Number of addresses.
    pub size: i64,
    /// The addresses, as stored: [`body`] decodes them.
    pub body: Vec<u8>,
    /// Common destination; empty if they differ.
    pub destination: String,
    /// Remaining addresses, as in [`Stay::left_rows`]; `None`: all.
    pub left_rows: Option<Vec<u8>>,
    /// Start of throttling, for rows without a start of their own.
    pub held_since: Option<Millis>,
}

/// Proof of a claim on a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    pub org: OrgNo,
    pub job: JobNo,
    pub chunk: i64,
    pub epoch: i64,
}

/// Part of a chunk's outcome.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    pub results: Vec<RowResult>,
    /// Deferred rows, as new chunks.
    pub put_off: Vec<NewChunk>,
    /// Whether the chunk is finished.
    pub done: bool,
    /// Number that distinguishes this part of the chunk.
    pub part: u32,
    /// Deferred rows that stay in the chunk: it is released for a later claim, and its holder loses it. Not together with `done`.
    pub stay: Option<Stay>,
}

/// Releases a chunk with its remaining rows, without rewriting it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Earliest time of the next claim.
    pub ready_at: Millis,
    /// Number of remaining addresses.
    pub size: i64,
    /// Remaining rows of the body, in the worker's format.
    pub left_rows: Vec<u8>,
    /// Start of their wait; an earlier release's start takes precedence.
    pub since: Millis,
}

statements! {
    // The oldest of each organization first, so that one with many jobs does not hide the others.
    OPEN = "SELECT org_no, job_no, test, created_at FROM (SELECT j.org_no, j.job_no, j.test, j.created_at, \
            ROW_NUMBER() OVER (PARTITION BY j.org_no ORDER BY j.created_at, j.job_no) AS place_no FROM job j \
            JOIN org o ON o.org_no = j.org_no WHERE j.is_open = 1 AND j.state IN ('ready', 'processing') \
            AND o.status NOT IN ('suspended', 'paused', 'banned') \
            AND EXISTS (SELECT 1 FROM chunk c WHERE c.org_no = j.org_no AND c.job_no = j.job_no AND c.ready_at <= $1 \
            AND (c.leased_until IS NULL OR c.leased_until <= $1))) AS waiting \
            ORDER BY place_no, created_at, org_no, job_no LIMIT $2";
    // Of the first chunks only: this runs for each claim, so its cost must not grow with the number of chunks.
    HEADS = "SELECT destination, source, MIN(ready_at) AS first_at, MIN(chunk_no) AS first_no FROM (\
             SELECT destination, source, ready_at, chunk_no FROM chunk WHERE org_no = $1 \
             AND job_no = $2 AND ready_at <= $3 AND (leased_until IS NULL OR leased_until <= $3) \
             AND (source = '' OR ready_at <= $4 OR source IN (SELECT each.value ->> 0 FROM {each:$5})) \
             AND (destination || ' ' || source) NOT IN (SELECT each.value ->> 0 FROM {each:$6}) \
             ORDER BY ready_at, chunk_no LIMIT $8) AS first_chunks \
             GROUP BY destination, source ORDER BY first_at, first_no LIMIT $7";
    FREE_CHUNKS = "SELECT chunk_no, epoch, size, body, left_rows, held_since FROM chunk WHERE org_no = $1 AND job_no = $2 \
                   AND destination = $3 AND source = $4 AND ready_at <= $5 \
                   AND (leased_until IS NULL OR leased_until <= $5) ORDER BY ready_at, chunk_no LIMIT $6 {skip_locked}";
    TAKE = "UPDATE chunk SET epoch = epoch + 1, leased_until = $4 WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3";
    // Runs before the chunks are claimed. The stall timer restarts only if nobody held the job for long (`standing.rs`).
    START = "UPDATE job SET state = 'processing', started_at = COALESCE(started_at, $3), \
             progress_at = CASE WHEN progress_at > $4 OR EXISTS (SELECT 1 FROM chunk c WHERE c.org_no = $1 AND c.job_no = $2 \
             AND c.leased_until > $4) THEN progress_at ELSE $3 END \
             WHERE org_no = $1 AND job_no = $2 AND state IN ('ready', 'processing')";
    EXTEND = "UPDATE chunk SET leased_until = $5 WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3 AND epoch = $4 \
              AND EXISTS (SELECT 1 FROM job j WHERE j.org_no = $1 AND j.job_no = $2 AND j.is_open = 1)";
    FREE = "UPDATE chunk SET leased_until = NULL WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3 AND epoch = $4";
    HOLDER = "SELECT epoch FROM chunk WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3 {for_update}";
    // A new epoch: after an unanswered commit, a repeated write would defer rows twice.
    STAY = "UPDATE chunk SET ready_at = $4, leased_until = NULL, epoch = epoch + 1, size = $5, left_rows = $6, \
            held_since = COALESCE(held_since, $7) WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3";
    DONE = "DELETE FROM chunk WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3";
    LEFT = "SELECT chunk_no FROM chunk WHERE org_no = $1 AND job_no = $2 LIMIT 1";
    ADD_PART = "INSERT INTO result_part (org_no, job_no, part_no, chunk_no, body) VALUES ($1, $2, $3, $4, $5)";
    COUNT = "UPDATE job SET processed = processed + $3, passed = passed + $4, undeliverable = undeliverable + $5, \
             risky = risky + $6, unknown = unknown + $7, charged = charged + $8, progress_at = COALESCE($9, progress_at), \
             next_chunk = $10, parts = $11 \
             WHERE org_no = $1 AND job_no = $2";
    COUNT_PROVIDERS = "INSERT INTO job_provider (org_no, job_no, provider, passed, undeliverable, risky, unknown) \
                       SELECT $2, $3, each.value ->> 0, CAST(each.value ->> 1 AS BIGINT), CAST(each.value ->> 2 AS BIGINT), \
                       CAST(each.value ->> 3 AS BIGINT), CAST(each.value ->> 4 AS BIGINT) FROM {each:$1} WHERE 1 = 1 \
                       ON CONFLICT (org_no, job_no, provider) DO UPDATE SET passed = job_provider.passed + excluded.passed, \
                       undeliverable = job_provider.undeliverable + excluded.undeliverable, \
                       risky = job_provider.risky + excluded.risky, unknown = job_provider.unknown + excluded.unknown";
    COUNT_REASONS = "INSERT INTO job_reason (org_no, job_no, reason, n) SELECT $2, $3, each.value ->> 0, \
                     CAST(each.value ->> 1 AS BIGINT) FROM {each:$1} WHERE 1 = 1 ON CONFLICT (org_no, job_no, reason) \
                     DO UPDATE SET n = job_reason.n + excluded.n";
}

/// Jobs with a claimable chunk: the oldest of each organization first, then the second of each, and so on. Excludes restricted
/// organizations ([`crate::organization::OrgStatus::is_stopped`]).
pub async fn open(conn: &mut Conn, now: Millis, at_most: i64) -> Result<Vec<Open>> {
    let rows = conn.rows(&OPEN, args![now, at_most]).await?;
    let open = |row: &crate::db::Row| {
        Ok(Open {
            org: OrgNo(row.get("org_no")?),
            job: JobNo(row.get("job_no")?),
            test: row.get::<i64>("test")? == 1,
            created_at: Millis(row.get("created_at")?),
        })
    };
    rows.iter().map(open).collect()
}

/// Time, in milliseconds, after which any source may claim chunks reserved for one that servers know: its node may be gone.
pub const SOURCE_MS: i64 = 3_600_000;

/// Number of a job's chunks among which [`heads`] looks for groups.
pub const HEADS_AMONG: i64 = 128;

/// Groups of a job's chunks that a worker with these sources can claim now, the longest waiting first, except those in `without`
/// ([`Head::key`]). Only the first [`HEADS_AMONG`] chunks are read: groups behind many chunks of others appear once those are in
/// `without`.
pub async fn heads(
    conn: &mut Conn,
    (org, job): (OrgNo, JobNo),
    sources: &[Arc<str>],
    without: &[&str],
    now: Millis,
    at_most: i64,
) -> Result<Vec<Head>> {
    let texts = |texts: Vec<[&str; 1]>| json!(texts).to_string();
    let (sources, without) =
        (texts(sources.iter().map(|name| [&**name]).collect()), texts(without.iter().map(|name| [*name]).collect()));
    let rows = conn.rows(&HEADS, args![org, job, now, now - SOURCE_MS, sources, without, at_most, HEADS_AMONG]).await?;
    let head =
        |row: &crate::db::Row| Ok(Head { org, job, destination: row.get("destination")?, source: row.get("source")? });
    rows.iter().map(head).collect()
}

/// Claims up to `at_most` chunks of a group. Empty if there are none left, or the job is closed.
pub async fn claim_chunks(tx: &mut Tx, head: &Head, now: Millis, lease_ms: i64, at_most: i64) -> Result<Vec<Claimed>> {
    let Head { org, job, destination, source } = head;
    let (org, job) = (*org, *job);
    if !matches!(lock(tx, org, job).await?.state, State::Ready | State::Processing) {
        return Ok(Vec::new());
    }
    let mut claimed = Vec::new();
    let wanted = args![org, job, &**destination, &**source, now, at_most];
    let free = tx.rows(&FREE_CHUNKS, wanted).await?;
    if !free.is_empty() {
        tx.execute(&START, args![org, job, now, now - LATELY_MS]).await?;
    }
    for row in free {
        let chunk: i64 = row.get("chunk_no")?;
        tx.execute(&TAKE, args![org, job, chunk, now + lease_ms]).await?;
        let fence = Fence { org, job, chunk, epoch: row.get::<i64>("epoch")? + 1 };
        claimed.push(Claimed {
            fence,
            size: row.get("size")?,
            body: row.get("body")?,
            destination: destination.clone(),
            left_rows: row.get("left_rows")?,
            held_since: row.get::<Option<i64>>("held_since")?.map(Millis),
        });
    }
    Ok(claimed)
}

/// Addresses of a claimed chunk. Separate from the claim, so that an unreadable chunk is held while others are claimed, and its job
/// stalls once all others are done.
pub async fn body(conn: &mut Conn, claimed: &Claimed) -> Result<Vec<u8>> {
    let Fence { org, job, chunk, .. } = claimed.fence;
    conn.open_sealed(org, Place::numbered("chunk.body", job.0, chunk), claimed.body.clone()).await
}

/// Extends the leases of chunks. [`StoreError::LeaseLost`]: another holder has one of them, or its job was closed.
pub async fn extend(tx: &mut Tx, fences: &[Fence], until: Millis) -> Result<()> {
    for fence in fences {
        let Fence { org, job, chunk, epoch } = *fence;
        if tx.execute(&EXTEND, args![org, job, chunk, epoch, until]).await? != 1 {
            return Err(StoreError::LeaseLost);
        }
    }
    Ok(())
}

/// Releases a chunk, so that another worker can claim it at once.
pub async fn free(tx: &mut Tx, fence: &Fence) -> Result<()> {
    let Fence { org, job, chunk, epoch } = *fence;
    tx.execute(&FREE, args![org, job, chunk, epoch]).await?;
    Ok(())
}

/// Settles a part of a chunk: results for rows without one, credits, counters, usage. Returns the closed job if this was its last
/// part. [`StoreError::LeaseLost`]: another worker holds the chunk, or the job was closed; nothing of this counts.
pub async fn settle(tx: &mut Tx, fence: &Fence, settled: &Settled, now: Millis) -> Result<Option<Closed>> {
    let Fence { org, job, chunk, epoch } = *fence;
    let locked = lock(tx, org, job).await?;
    let holder = tx.first(&HOLDER, args![org, job, chunk]).await?;
    let holder = holder.map(|row| row.get::<i64>("epoch")).transpose()?;
    if locked.state != State::Processing || holder != Some(epoch) {
        return Err(StoreError::LeaseLost);
    }
    let new = new_results(tx, fence, &settled.results).await?;
    let parts = add_parts(tx, fence, &locked, &new, now).await?;
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
    let comes_on = settled.done || settled.stay.is_some() || !new.is_empty();
    let numbers = Numbers { next_chunk: next, parts, progress_at: Some(now).filter(|_| comes_on) };
    count(tx, fence, &new, charged, numbers).await?;
    if let Some(stay) = &settled.stay {
        let Stay { ready_at, size, left_rows, since } = stay;
        tx.execute(&STAY, args![org, job, chunk, *ready_at, *size, left_rows.as_slice(), *since]).await?;
    }
    if !settled.done {
        return Ok(None);
    }
    tx.execute(&DONE, args![org, job, chunk]).await?;
    if tx.first(&LEFT, args![org, job]).await?.is_some() {
        return Ok(None);
    }
    close::complete(tx, org, job, &locked.id, now).await.map(Some)
}

/// Results whose rows have none yet. An address is in one chunk at a time, so only the chunk's own parts can have one: from an
/// earlier holder, or from this one after an unanswered commit.
async fn new_results<'a>(tx: &mut Tx, fence: &Fence, results: &'a [RowResult]) -> Result<Vec<&'a RowResult>> {
    if results.is_empty() {
        return Ok(Vec::new());
    }
    let mut standing = results::standing(tx, fence).await?;
    Ok(results.iter().filter(|result| standing.insert(result.idx)).collect())
}

/// Adds results; returns the number of the job's last part. The job's row is locked, so part numbers become visible in order.
async fn add_parts(tx: &mut Tx, fence: &Fence, locked: &Locked, new: &[&RowResult], now: Millis) -> Result<i64> {
    let Fence { org, job, chunk, .. } = *fence;
    let mut last = locked.parts;
    for part in new.chunks(PART_MAX) {
        last += 1;
        let body = part::encode(part, now)?;
        let body = tx.seal(org, Place::numbered("result_part.body", job.0, last), &body).await?;
        tx.execute(&ADD_PART, args![org, job, last, chunk, &*body]).await?;
    }
    Ok(last)
}

/// Usage counters: each address counts once.
fn deltas(org: OrgNo, source: &str, new: &[&RowResult], now: Millis) -> Vec<Delta> {
    let mut counted: BTreeMap<(Reason, Option<&str>), (i64, i64)> = BTreeMap::new();
    for row in new {
        let (verified, charged) = counted.entry((row.kind.reason, row.kind.provider.as_deref())).or_default();
        *verified += 1;
        *charged += i64::from(row.kind.charged);
    }
    let delta = |((reason, provider), (verified, charged)): ((Reason, Option<&str>), (i64, i64))| {
        let (day, source, provider) = (now.utc_day(), source.to_owned(), provider.map(Into::into));
        Delta { org, day, source, connection: None, provider, reason, verified, charged }
    };
    counted.into_iter().map(delta).collect()
}

/// Numbers that a job assigns to its additions, and whether it progresses.
struct Numbers {
    next_chunk: i64,
    parts: i64,
    progress_at: Option<Millis>,
}

async fn count(tx: &mut Tx, fence: &Fence, new: &[&RowResult], charged: i64, numbers: Numbers) -> Result<()> {
    let Fence { org, job, .. } = *fence;
    let mut counts = Counts::default();
    let mut reasons: BTreeMap<&str, i64> = BTreeMap::new();
    let mut providers: BTreeMap<&str, Counts> = BTreeMap::new();
    for row in new {
        counts.add(row.kind.reason, row.copies);
        providers.entry(row.kind.provider.as_deref().unwrap_or_default()).or_default().add(row.kind.reason, row.copies);
        *reasons.entry(Reason::as_str(row.kind.reason)).or_default() += row.copies;
    }
    let Counts { processed, passed, undeliverable, risky, unknown } = counts;
    let Numbers { next_chunk, parts, progress_at } = numbers;
    let values =
        args![org, job, processed, passed, undeliverable, risky, unknown, charged, progress_at, next_chunk, parts];
    tx.execute(&COUNT, values).await?;
    if !reasons.is_empty() {
        let pairs: Vec<_> = reasons.into_iter().collect();
        tx.execute(&COUNT_REASONS, args![json!(pairs).to_string(), org, job]).await?;
        let of_status = |(id, counts): (&str, Counts)| {
            let Counts { passed, undeliverable, risky, unknown, .. } = counts;
            json!([id, passed, undeliverable, risky, unknown])
        };
        let rows: Vec<_> = providers.into_iter().map(of_status).collect();
        tx.execute(&COUNT_PROVIDERS, args![json!(rows).to_string(), org, job]).await?;
    }
    Ok(())
}
