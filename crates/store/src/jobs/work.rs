//! Work: chunks are claimed under a lease, and settled in parts under a fence.
//!
//! A worker has a chunk until its lease ends, and must renew the lease regularly ([`extend`]). Each claim raises the chunk's epoch,
//! and a [`ChunkFence`] names it. A holder that was paused, cut off or presumed dead finds another epoch when it returns, gets
//! [`StoreError::LeaseLost`], and changes nothing. So an address may be probed twice but has one result.
//!
//! [`settle_rows`] is one transaction for a part of a chunk: results, credits, counters, usage and, with the last part, the job's
//! end. After an unanswered commit it may be retried: rows with a result get no second one. The job's row is locked first, before
//! chunk, hold and account, as everywhere.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use serde_json::json;

use super::close::{self, ClosedJob};
use super::import::{self, NewChunk};
use super::results::part::{self, PART_MAX};
use super::standing::LATELY_MS;
use super::{JobCounts, JobNo, JobState, LockedJob, RowResult, lock, results};
use crate::activity::events::EventActor;
use crate::credits::hold::{self, HoldPart};
use crate::credits::usage::{self, UsageDelta};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::privacy::sealing::{SealedField, seal, unseal};
use crate::records::{TypedStatements as _, listed, record, records};

/// A job with work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenJob {
    pub org: OrgNo,
    pub job: JobNo,
    /// Whether a test key created it.
    pub test: bool,
    /// Whether its owner finished it early.
    pub hurried: bool,
    /// Acceptance time.
    pub created_at: Millis,
}

/// Claimable chunks of a job with the same destination and source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkGroup {
    pub org: OrgNo,
    pub job: JobNo,
    /// Common destination of all addresses; empty if they differ.
    pub destination: String,
    /// Only source that should probe; empty for any.
    pub source: String,
}

impl ChunkGroup {
    /// Key of this group of chunks among those of all live jobs, or of all test jobs: neither part contains a space.
    pub fn key(&self) -> String {
        format!("{} {}", self.destination, self.source)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedChunk {
    /// The chunk, and the epoch of this holder.
    pub fence: ChunkFence,
    /// Number of addresses.
    pub size: i64,
    /// The addresses, as stored: [`body`] decodes them.
    pub body: Vec<u8>,
    /// Common destination; empty if they differ.
    pub destination: String,
    /// Remaining addresses, as in [`ChunkRelease::left_rows`]; `None`: all.
    pub left_rows: Option<Vec<u8>>,
    /// Start of throttling, for rows without a start of their own.
    pub held_since: Option<Millis>,
}

/// Proof of a claim on a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkFence {
    pub org: OrgNo,
    pub job: JobNo,
    pub chunk: i64,
    pub epoch: i64,
}

/// Part of a chunk's outcome.
#[derive(Clone, Debug, Default)]
pub struct SettledPart {
    pub results: Vec<RowResult>,
    /// Deferred rows, as new chunks.
    pub put_off: Vec<NewChunk>,
    /// Whether the chunk is finished.
    pub done: bool,
    /// Number that distinguishes this part of the chunk.
    pub part: u32,
    /// Deferred rows that stay in the chunk: it is released for a later claim, and its holder loses it. Not together with `done`.
    pub stay: Option<ChunkRelease>,
    /// Domains of the results' addresses, by row.
    pub domains: BTreeMap<i64, Arc<str>>,
}

/// Releases a chunk with its remaining rows, without rewriting it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkRelease {
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
    OPEN = "SELECT org_no, job_no, test, hurried_at, created_at FROM (SELECT j.org_no, j.job_no, j.test, j.hurried_at, \
            j.created_at, \
            ROW_NUMBER() OVER (PARTITION BY j.org_no ORDER BY j.created_at, j.job_no) AS place_no FROM job j \
            JOIN org o ON o.org_no = j.org_no WHERE j.is_open = 1 AND j.state IN ('ready', 'processing') \
            AND o.status NOT IN ('suspended', 'paused', 'banned') \
            AND EXISTS (SELECT 1 FROM chunk c WHERE c.org_no = j.org_no AND c.job_no = j.job_no AND c.ready_at <= $1 \
            AND (c.leased_until IS NULL OR c.leased_until <= $1))) AS waiting \
            ORDER BY place_no, created_at, org_no, job_no LIMIT $2";
    // From the first chunks only: this runs for each claim, so its cost must not grow with the number of chunks.
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
    // Runs before the chunks are claimed. The stall timer restarts only if the job was not held for long (`standing.rs`).
    START = "UPDATE job SET state = 'processing', started_at = COALESCE(started_at, $3), \
             progress_at = CASE WHEN progress_at > $4 OR EXISTS (SELECT 1 FROM chunk c WHERE c.org_no = $1 AND c.job_no = $2 \
             AND c.leased_until > $4) THEN progress_at ELSE $3 END \
             WHERE org_no = $1 AND job_no = $2 AND state IN ('ready', 'processing')";
    EXTEND = "UPDATE chunk SET leased_until = $5 WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3 AND epoch = $4 \
              AND EXISTS (SELECT 1 FROM job j WHERE j.org_no = $1 AND j.job_no = $2 AND j.is_open = 1)";
    FREE = "UPDATE chunk SET leased_until = NULL WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3 AND epoch = $4";
    HOLDER = "SELECT epoch FROM chunk WHERE org_no = $1 AND job_no = $2 AND chunk_no = $3 {for_update}";
    // A new epoch: after an unanswered commit, a repeated write would defer rows twice.
    STAY = "UPDATE chunk SET ready_at = $7, leased_until = NULL, epoch = epoch + 1, size = $1, left_rows = $2, \
            held_since = COALESCE(held_since, $3) WHERE org_no = $4 AND job_no = $5 AND chunk_no = $6";
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
/// organizations ([`crate::accounts::organization::OrgState::is_stopped`]).
pub async fn open(conn: &mut Conn, now: Millis, at_most: i64) -> Result<Vec<OpenJob>> {
    conn.all(&OPEN, args![now, at_most]).await
}

records!(row => OpenJob { org = "org_no", job = "job_no", test, created_at; hurried: row.is_set("hurried_at")? });

/// Time, in milliseconds, after which any source may claim chunks reserved for one that MX hosts know: its node may no longer
/// exist.
pub const SOURCE_MS: i64 = 3_600_000;

/// Number of a job's chunks among which [`heads`] looks for groups.
pub const HEADS_AMONG: i64 = 128;

/// Groups of a job's chunks that a worker with these sources can claim now, the longest waiting first, except those in `without`
/// ([`ChunkGroup::key`]). Only the first [`HEADS_AMONG`] chunks are read: groups behind many chunks of others appear once those are
/// in `without`.
pub async fn heads(
    conn: &mut Conn,
    (org, job): (OrgNo, JobNo),
    sources: &[Arc<str>],
    without: &[&str],
    now: Millis,
    at_most: i64,
) -> Result<Vec<ChunkGroup>> {
    let (sources, without) = (listed(sources.iter().map(|name| &**name)), listed(without));
    let values = args![org, job, now, now - SOURCE_MS, sources, without, at_most, HEADS_AMONG];
    let heads: Vec<(String, String)> = conn.all(&HEADS, values).await?;
    Ok(heads.into_iter().map(|(destination, source)| ChunkGroup { org, job, destination, source }).collect())
}

/// Claims up to `at_most` chunks of a group. Empty if there are none left, or the job is closed.
pub async fn claim_chunks(
    tx: &mut Tx,
    head: &ChunkGroup,
    now: Millis,
    lease_ms: i64,
    at_most: i64,
) -> Result<Vec<ClaimedChunk>> {
    let ChunkGroup { org, job, ref destination, ref source } = *head;
    if !matches!(lock(tx, org, job).await?.state, JobState::Ready | JobState::Processing) {
        return Ok(Vec::new());
    }
    let mut claimed = Vec::new();
    let free = tx.rows(&FREE_CHUNKS, args![org, job, destination, source, now, at_most]).await?;
    if !free.is_empty() {
        tx.execute(&START, args![org, job, now, now - LATELY_MS]).await?;
    }
    for row in free {
        let chunk: i64 = row.get("chunk_no")?;
        tx.execute(&TAKE, args![org, job, chunk, now + lease_ms]).await?;
        let fence = ChunkFence { org, job, chunk, epoch: row.get::<i64>("epoch")? + 1 };
        claimed.push(record!(row => ClaimedChunk {
            size, body, left_rows, held_since;
            fence,
            destination: destination.clone(),
        }));
    }
    Ok(claimed)
}

/// Addresses of a claimed chunk. Separate from the claim, so that an unreadable chunk is held while others are claimed, and its job
/// stalls once all others are done.
pub async fn body(conn: &mut Conn, claimed: &ClaimedChunk) -> Result<Vec<u8>> {
    let ChunkFence { org, job, chunk, .. } = claimed.fence;
    unseal(conn, org, SealedField::numbered("chunk.body", job.0, chunk), claimed.body.clone()).await
}

/// Extends the leases of chunks. [`StoreError::LeaseLost`]: another holder has one of them, or its job was closed.
pub async fn extend(tx: &mut Tx, fences: &[ChunkFence], until: Millis) -> Result<()> {
    for fence in fences {
        tx.change(&EXTEND, args!(fence => org, job, chunk, epoch; until), StoreError::LeaseLost).await?;
    }
    Ok(())
}

/// Releases a chunk, so that another worker can claim it at once.
pub async fn free(tx: &mut Tx, fence: &ChunkFence) -> Result<()> {
    tx.execute(&FREE, args!(fence => org, job, chunk, epoch)).await.map(drop)
}

/// Changes made by a settled part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledChange {
    /// The job, if this was its last part.
    pub closed: Option<ClosedJob>,
    /// Rows that got their results now.
    pub new: BTreeSet<i64>,
}

/// As [`settle_rows`], for callers that need to know of the job's end only.
pub async fn settle(tx: &mut Tx, fence: &ChunkFence, settled: &SettledPart, now: Millis) -> Result<Option<ClosedJob>> {
    Ok(settle_rows(tx, fence, settled, now).await?.closed)
}

/// Settles a part of a chunk: results for rows without one, credits, counters, usage. [`StoreError::LeaseLost`]: another worker
/// holds the chunk, or the job was closed; nothing is written.
pub async fn settle_rows(tx: &mut Tx, fence: &ChunkFence, settled: &SettledPart, now: Millis) -> Result<SettledChange> {
    let ChunkFence { org, job, chunk, epoch } = *fence;
    let locked = lock(tx, org, job).await?;
    let holder = tx.find::<i64>(&HOLDER, args![org, job, chunk]).await?;
    if locked.state != JobState::Processing || holder != Some(epoch) {
        return Err(StoreError::LeaseLost);
    }
    let new = new_results(tx, fence, &settled.results).await?;
    let parts = add_parts(tx, fence, &locked, &new, now).await?;
    let charged = new.iter().filter(|row| row.kind.charged).count();
    let charged = i64::try_from(charged).unwrap_or(i64::MAX);
    let released = i64::try_from(new.len()).unwrap_or(i64::MAX) - charged;
    if !locked.test {
        let cause = format!("{}:{chunk}:{epoch}:{}", locked.id, settled.part);
        let part = HoldPart { org, id: &locked.id, captured: charged, released, cause: &cause, at: now };
        hold::settle(tx, &part).await?;
        usage::add(tx, &deltas(org, &locked, &new, &settled.domains, now)?).await?;
    }
    let put_off = soon(&locked, &settled.put_off, now);
    let next = import::insert(tx, org, job, locked.next_chunk, &put_off).await?;
    let comes_on = settled.done || settled.stay.is_some() || !new.is_empty();
    let numbers = AssignedNumbers { next_chunk: next, parts, progress_at: Some(now).filter(|_| comes_on) };
    count(tx, fence, &new, charged, numbers).await?;
    if let Some(stay) = &settled.stay {
        let ready_at = if locked.hurried { now } else { stay.ready_at };
        tx.execute(&STAY, args!(stay => size, left_rows, since; org, job, chunk, ready_at)).await?;
    }
    let new = new.into_iter().map(|row| row.idx).collect();
    let closed = if settled.done { end_chunk(tx, fence, &locked.id, now).await? } else { None };
    Ok(SettledChange { closed, new })
}

/// Returns chunks as they are added: in a job that is being finished they are due at once, for a worker that began before.
fn soon<'c>(locked: &LockedJob, chunks: &'c [NewChunk], now: Millis) -> Cow<'c, [NewChunk]> {
    if !locked.hurried {
        return chunks.into();
    }
    chunks.iter().map(|chunk| NewChunk { ready_at: now, ..chunk.clone() }).collect()
}

/// Removes a chunk whose rows all have results, or are in later ones, and completes the job if it was the last.
async fn end_chunk(tx: &mut Tx, fence: &ChunkFence, id: &str, now: Millis) -> Result<Option<ClosedJob>> {
    let ChunkFence { org, job, chunk, .. } = *fence;
    tx.execute(&DONE, args![org, job, chunk]).await?;
    if tx.has(&LEFT, args![org, job]).await? {
        return Ok(None);
    }
    close::close(tx, org, job, id, JobState::Completed, now).await.map(Some)
}

/// Results whose rows have none yet. An address is in one chunk at a time, so only the chunk's own parts can have one: from an
/// earlier holder, or from this one after an unanswered commit.
async fn new_results<'a>(tx: &mut Tx, fence: &ChunkFence, results: &'a [RowResult]) -> Result<Vec<&'a RowResult>> {
    if results.is_empty() {
        return Ok(Vec::new());
    }
    let mut standing = results::standing(tx, fence).await?;
    Ok(results.iter().filter(|result| standing.insert(result.idx)).collect())
}

/// Adds results; returns the number of the job's last part. The job's row is locked, so part numbers become visible in order.
async fn add_parts(
    tx: &mut Tx,
    fence: &ChunkFence,
    locked: &LockedJob,
    new: &[&RowResult],
    now: Millis,
) -> Result<i64> {
    let ChunkFence { org, job, chunk, .. } = *fence;
    let mut last = locked.parts;
    for part in new.chunks(PART_MAX) {
        last += 1;
        let body = part::encode(part, now)?;
        let body = seal(tx, org, SealedField::numbered("result_part.body", job.0, last), &body).await?;
        tx.execute(&ADD_PART, args![org, job, last, chunk, body]).await?;
    }
    Ok(last)
}

/// Usage counters: each address counts once.
fn deltas(
    org: OrgNo,
    locked: &LockedJob,
    new: &[&RowResult],
    domains: &BTreeMap<i64, Arc<str>>,
    now: Millis,
) -> Result<Vec<UsageDelta>> {
    let key = match locked.actor.as_deref().map(EventActor::from_json).transpose()? {
        Some(EventActor::ApiKey(id)) => Some(id),
        _ => None,
    };
    let mut counted = BTreeMap::new();
    for row in new {
        let part = (row.kind.reason, row.kind.provider.as_deref(), domains.get(&row.idx));
        let (verified, charged): &mut (i64, i64) = counted.entry(part).or_default();
        *verified += 1;
        *charged += i64::from(row.kind.charged);
    }
    let deltas = counted.into_iter().map(|((reason, provider, domain), (verified, charged))| UsageDelta {
        org,
        day: now.utc_day(),
        source: locked.source.clone(),
        connection: locked.connection.clone(),
        key,
        domain: domain.cloned(),
        provider: provider.map(Into::into),
        reason,
        verified,
        charged,
    });
    Ok(deltas.collect())
}

/// Numbers that a job assigns to its additions, and whether it progresses.
struct AssignedNumbers {
    next_chunk: i64,
    parts: i64,
    progress_at: Option<Millis>,
}

async fn count(
    tx: &mut Tx,
    fence: &ChunkFence,
    new: &[&RowResult],
    charged: i64,
    numbers: AssignedNumbers,
) -> Result<()> {
    let ChunkFence { org, job, .. } = *fence;
    let mut counts = JobCounts::default();
    let mut reasons: BTreeMap<&str, i64> = BTreeMap::new();
    let mut providers: BTreeMap<&str, JobCounts> = BTreeMap::new();
    for row in new {
        counts.add(row.kind.reason, row.copies);
        providers.entry(row.kind.provider.as_deref().unwrap_or_default()).or_default().add(row.kind.reason, row.copies);
        *reasons.entry(Reason::as_str(row.kind.reason)).or_default() += row.copies;
    }
    let JobCounts { processed, passed, undeliverable, risky, unknown } = counts;
    let AssignedNumbers { next_chunk, parts, progress_at } = numbers;
    let values =
        args![org, job, processed, passed, undeliverable, risky, unknown, charged, progress_at, next_chunk, parts];
    tx.execute(&COUNT, values).await?;
    if !reasons.is_empty() {
        let pairs: Vec<_> = reasons.into_iter().collect();
        tx.execute(&COUNT_REASONS, args![json!(pairs).to_string(), org, job]).await?;
        let of_status = |(id, counts): (&str, JobCounts)| {
            let JobCounts { passed, undeliverable, risky, unknown, .. } = counts;
            json!([id, passed, undeliverable, risky, unknown])
        };
        let rows: Vec<_> = providers.into_iter().map(of_status).collect();
        tx.execute(&COUNT_PROVIDERS, args![json!(rows).to_string(), org, job]).await?;
    }
    Ok(())
}
