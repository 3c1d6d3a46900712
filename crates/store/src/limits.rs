//! Token buckets that several nodes share: the generic cell rate algorithm of `core::limits`, one row a bucket.
//!
//! A row holds when its bucket would be full again, so a bucket that nobody touches needs no row. Taking is one statement:
//! the database's lock on the row puts the nodes in order, and whoever comes later sees what is left. A node takes slices
//! of several tokens ([`take`]) and hands out of them from memory, so that a request costs no write; what is left of a
//! slice can be given back ([`give_back`]).
//!
//! Callers bring the time: the database's ([`crate::clock`]), so that all have the same.

use crate::db::{Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

/// A bucket that would be full later than this, in microseconds, was written with a wrong clock: limits are per minute.
const ABSURD_US: i64 = 120 * 1_000_000;

statements! {
    // $3 now, $4 step, $5 what a full bucket grants, $6 from when on the bucket is full enough for that, $7 the time at
    // which an empty bucket is full. Both expressions of SET read the row as it was, so `granted` is the statement's only
    // way to tell what it did: RETURNING shows the row as it became.
    TAKE = "INSERT INTO rate_bucket (org_no, bucket, full_at_us, granted) VALUES ($1, $2, $3 + CAST($4 AS BIGINT) * $5, $5)
        ON CONFLICT (org_no, bucket) DO UPDATE SET
            granted = CASE WHEN rate_bucket.full_at_us <= $6 THEN $5
                WHEN rate_bucket.full_at_us >= $7 THEN 0
                ELSE ($7 - rate_bucket.full_at_us) / $4 END,
            full_at_us = CASE WHEN rate_bucket.full_at_us <= $3 THEN $3 ELSE rate_bucket.full_at_us END
                + $4 * CASE WHEN rate_bucket.full_at_us <= $6 THEN $5
                    WHEN rate_bucket.full_at_us >= $7 THEN 0
                    ELSE ($7 - rate_bucket.full_at_us) / $4 END
        RETURNING granted, full_at_us";
    GIVE_BACK = "UPDATE rate_bucket SET full_at_us = full_at_us - $3 WHERE org_no = $1 AND bucket = $2";
    PURGE = "WITH old AS MATERIALIZED (
            SELECT org_no, bucket FROM rate_bucket WHERE full_at_us <= $1 OR full_at_us > $2 LIMIT $3 {skip_locked})
        DELETE FROM rate_bucket WHERE (org_no, bucket) IN (SELECT org_no, bucket FROM old)";
}

/// Whose bucket it is, and how it fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Take<'a> {
    /// Whose.
    pub org: OrgNo,
    /// Which of the organization's: a key's id, a visitor's keyed hash, or nothing for the organization itself.
    pub bucket: &'a str,
    /// How many tokens are wanted.
    pub n: i64,
    /// How long one token takes to come back, in microseconds; at least 1.
    pub step_us: i64,
    /// How many tokens a full bucket holds; at least 1.
    pub burst: i64,
    /// The time, in microseconds since 1970.
    pub now_us: i64,
}

/// What came of a [`Take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// How many tokens were granted: as many of the wanted ones as there were.
    pub granted: i64,
    /// When the bucket will be full again, in microseconds since 1970.
    pub full_at_us: i64,
}

/// Takes as many of `n` tokens as there are. A bucket that nobody has touched is full.
pub async fn take(tx: &mut Tx, take: &Take<'_>) -> Result<Taken> {
    let Take { org, bucket, now_us, .. } = *take;
    let (step_us, burst) = (take.step_us.max(1), take.burst.max(1));
    let most = take.n.clamp(0, burst);
    let empty_us = now_us.saturating_add(step_us.saturating_mul(burst));
    let enough_us = empty_us.saturating_sub(step_us.saturating_mul(most));
    let row = tx.first(&TAKE, args![org, bucket, now_us, step_us, most, enough_us, empty_us]).await?;
    let row = row.ok_or_else(|| StoreError::corrupt("a rate bucket was neither made nor changed"))?;
    Ok(Taken { granted: row.get("granted")?, full_at_us: row.get("full_at_us")? })
}

/// Puts `n` tokens back that were granted for a [`Take`] of the same bucket and step, and not used. A bucket that is full
/// by now, or was removed, stays full.
pub async fn give_back(tx: &mut Tx, take: &Take<'_>, n: i64) -> Result<()> {
    let back_us = take.step_us.max(1).saturating_mul(n.max(0));
    tx.execute(&GIVE_BACK, args![take.org, take.bucket, back_us]).await?;
    Ok(())
}

/// Removes up to `at_most` buckets that are full, or that a wrong clock has closed for minutes, and says how many
/// those were. It reads through all buckets: there is one for each key that was used lately, and for
/// each visitor of a widget whose check was let through in the last minute.
pub async fn purge(tx: &mut Tx, now_us: i64, at_most: u32) -> Result<u64> {
    tx.execute(&PURGE, args![now_us, now_us.saturating_add(ABSURD_US), i64::from(at_most)]).await
}
