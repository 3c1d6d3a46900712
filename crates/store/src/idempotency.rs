//! Idempotency-Keys: locks while requests run, and stored responses.
//!
//! [`begin`] gives a key to one run, which the caller names with a random text. The run does its work and calls [`keep_answer`] in
//! the same transaction: both commit or neither. A run without a success response calls [`release`], and the next attempt runs. The
//! lock of a run that dies ends with its lease; the next attempt takes the key over under a new name. If the first run is still
//! alive, its [`keep_answer`] fails, which rolls its work back.
//!
//! The number of keys per organization is bounded. Counting up to 100,000 rows per request would make the bound the attack. So only
//! keys whose hashes share the new key's first 6 bits are counted: hashes are evenly distributed, each such part may hold 1/64 of
//! the bound, and the index answers. The bound is therefore strict; the unluckiest hashes meet it from about 90% on.

use probity_mail::time::Millis;

use crate::db::error::{Result, StoreError};
use crate::db::{ResultRow, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::TypedStatements as _;

/// Maximum keys stored per organization.
pub const KEPT_MAX: i64 = 100_000;
/// Number of parts in which hashes are counted, by their first bits.
const PARTS: u8 = 64;
/// Bits of the first byte that select the part.
const PART_BITS: u8 = !(u8::MAX / PARTS);

statements! {
    // $7 and $8 enclose the part of the hashes, $9 is its capacity.
    INSERT = "INSERT INTO idempotency (org_no, key_hash, body_hash, run, locked_until, created_at)
        SELECT $1, $2, $3, $4, $5, $6
        WHERE (SELECT COUNT(*) FROM (SELECT 1 AS one FROM idempotency
                WHERE org_no = $1 AND key_hash >= $7 AND key_hash < $8 LIMIT $9) AS part) < $9
        ON CONFLICT (org_no, key_hash) DO NOTHING";
    FIND = "SELECT body_hash, locked_until, status, answer, created_at FROM idempotency
        WHERE org_no = $1 AND key_hash = $2 {for_update}";
    TAKE_OVER = "UPDATE idempotency SET body_hash = $3, run = $4, locked_until = $5, created_at = $6,
            status = NULL, answer = NULL
        WHERE org_no = $1 AND key_hash = $2";
    KEEP_ANSWER = "UPDATE idempotency SET status = $4, answer = $5, names_address = $6, locked_until = NULL
        WHERE org_no = $1 AND key_hash = $2 AND run = $3 AND status IS NULL";
    RELEASE = "DELETE FROM idempotency WHERE org_no = $1 AND key_hash = $2 AND run = $3 AND status IS NULL";
    PURGE = "WITH old AS MATERIALIZED (
            SELECT org_no, key_hash FROM idempotency WHERE created_at < $1 ORDER BY created_at LIMIT $2 {skip_locked})
        DELETE FROM idempotency WHERE (org_no, key_hash) IN (SELECT org_no, key_hash FROM old)";
}

/// A request to run under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotentAttempt {
    pub org: OrgNo,
    /// Keyed hash of method, path and key.
    pub key_hash: [u8; 32],
    /// Hash of the unmodified body.
    pub body_hash: [u8; 32],
    /// Unique name of this run: a random text.
    pub run: String,
    pub now: Millis,
    /// Time after which another run may take the key over, in milliseconds.
    pub lease_ms: i64,
    /// Validity of a key from the start of its run, in milliseconds.
    pub keep_ms: i64,
}

/// Outcome of an [`IdempotentAttempt`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdempotencyOutcome {
    /// The request runs, and holds the key.
    Run,
    /// It ran before, with this response.
    Replay {
        /// HTTP status.
        status: u16,
        /// Response that the earlier run gave to [`keep_answer`].
        answer: Vec<u8>,
    },
    /// Another run with the same body holds the key.
    InProgress,
    /// The key belongs to a request with another body, running or finished.
    Reused,
    /// The organization has the maximum number of keys.
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdempotencyLock<'a> {
    pub org: OrgNo,
    pub key_hash: &'a [u8; 32],
    pub run: &'a str,
}

impl IdempotentAttempt {
    /// The held key, after [`begin`] has returned [`IdempotencyOutcome::Run`].
    pub fn held(&self) -> IdempotencyLock<'_> {
        IdempotencyLock { org: self.org, key_hash: &self.key_hash, run: &self.run }
    }
}

/// Takes a key for a run, or returns the reason why not. A key is free, for any body, if it has expired, or if its run neither
/// responded nor released it within its lease.
pub async fn begin(tx: &mut Tx, attempt: &IdempotentAttempt) -> Result<IdempotencyOutcome> {
    // The row can vanish between the two statements, when its run releases it; the second round then inserts it.
    for _ in 0..2 {
        if insert(tx, attempt).await? {
            return Ok(IdempotencyOutcome::Run);
        }
        if let Some(row) = tx.first(&FIND, args![attempt.org, &attempt.key_hash]).await? {
            return match standing(&row, attempt)? {
                Some(begun) => Ok(begun),
                None => take_over(tx, attempt).await,
            };
        }
    }
    Ok(IdempotencyOutcome::Full)
}

async fn insert(tx: &mut Tx, attempt: &IdempotentAttempt) -> Result<bool> {
    let IdempotentAttempt { org, key_hash, body_hash, run, now, .. } = attempt;
    let first = key_hash[0] & PART_BITS;
    // One byte more than a hash has puts the end behind the whole part.
    let mut end = [u8::MAX; 33];
    end[0] = first | !PART_BITS;
    let lease_end = *now + attempt.lease_ms;
    let part_max = KEPT_MAX / i64::from(PARTS);
    let args = args![*org, key_hash, body_hash, run.as_str(), lease_end, *now, &[first], &end, part_max];
    Ok(tx.execute(&INSERT, args).await? == 1)
}

/// Meaning of a row for an attempt; `None` if the key is free.
fn standing(row: &ResultRow, attempt: &IdempotentAttempt) -> Result<Option<IdempotencyOutcome>> {
    let created_at: i64 = row.get("created_at")?;
    if attempt.now.0 >= created_at.saturating_add(attempt.keep_ms) {
        return Ok(None);
    }
    let (status, locked_until): (Option<i64>, Option<i64>) = (row.get("status")?, row.get("locked_until")?);
    if status.is_none() && locked_until.is_none_or(|until| attempt.now.0 >= until) {
        return Ok(None);
    }
    let body_hash: Vec<u8> = row.get("body_hash")?;
    if body_hash != attempt.body_hash {
        return Ok(Some(IdempotencyOutcome::Reused));
    }
    let Some(status) = status else { return Ok(Some(IdempotencyOutcome::InProgress)) };
    let status = u16::try_from(status).map_err(|_| StoreError::corrupt("a kept answer's status is no HTTP status"))?;
    let answer: Option<Vec<u8>> = row.get("answer")?;
    let answer = answer.ok_or_else(|| StoreError::corrupt("a kept answer is missing"))?;
    Ok(Some(IdempotencyOutcome::Replay { status, answer }))
}

/// The row has been locked since it was read, so it is still free.
async fn take_over(tx: &mut Tx, attempt: &IdempotentAttempt) -> Result<IdempotencyOutcome> {
    let IdempotentAttempt { org, key_hash, body_hash, run, now, lease_ms, .. } = attempt;
    tx.execute(&TAKE_OVER, args![*org, key_hash, body_hash, run.as_str(), *now + *lease_ms, *now]).await?;
    Ok(IdempotencyOutcome::Run)
}

/// Stores a run's response and ends its lock, in the transaction of the work. [`StoreError::LeaseLost`]: another run has taken the
/// key over, or this run has responded already; roll the work back. `names_address`: the response may contain one, so an erasure
/// drops it.
pub async fn keep_answer(
    tx: &mut Tx,
    held: IdempotencyLock<'_>,
    status: u16,
    answer: &[u8],
    names_address: bool,
) -> Result<()> {
    let args = args!(held => org, key_hash, run; i64::from(status), answer, names_address);
    tx.change(&KEEP_ANSWER, args, StoreError::LeaseLost).await
}

/// Releases the key of a run without a response to store. A key held by another run stays unchanged.
pub async fn release(tx: &mut Tx, held: IdempotencyLock<'_>) -> Result<()> {
    tx.execute(&RELEASE, args![held.org, held.key_hash, held.run]).await.map(drop)
}

/// Removes up to `at_most` keys whose runs began before a time, oldest first; returns the number removed.
pub async fn purge(tx: &mut Tx, before: Millis, at_most: u32) -> Result<u64> {
    tx.execute(&PURGE, args![before, at_most]).await
}
