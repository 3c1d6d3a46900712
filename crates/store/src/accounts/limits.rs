//! Token buckets shared by nodes: the generic cell rate algorithm of `probity_mail::limits`, one row per bucket.
//!
//! A row holds the time when its bucket will be full again, so an unused bucket needs no row. Taking tokens is one statement: the
//! database's row lock orders the nodes, and each sees what the others left. A node takes slices of several tokens ([`take`]) and
//! spends them from memory, so a request costs no write; the rest of a slice can be returned ([`give_back`]).
//!
//! A pause that a platform has asked for has a row too ([`pause`]), which is read only.
//!
//! Callers pass the time: the database's ([`crate::nodes::clock`]), so that all share one clock.

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

/// A bucket that is full only after this many microseconds was written with a wrong clock: limits are per minute.
const ABSURD_US: i64 = 120 * 1_000_000;
/// The same for buckets of [`PLATFORM`], whose limits are per day at most.
const PLATFORM_ABSURD_US: i64 = 26 * 3_600 * 1_000_000;
/// Beginning of the names of buckets for accounts at platforms.
pub const PLATFORM: &str = "platform:";

statements! {
    // $3: now. $4: step. $5: tokens in a full bucket. $6: time from which the bucket has enough for that. $7: time at which an
    // empty bucket is full. Both expressions of SET read the old row, and RETURNING shows the new one, so only `granted` can report
    // the number taken.
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
    // A pause has its end where a bucket has the time at which it is full.
    PAUSE = "INSERT INTO rate_bucket (org_no, bucket, full_at_us, granted) VALUES ($1, $2, $3, 0)
        ON CONFLICT (org_no, bucket) DO UPDATE SET full_at_us = CASE
            WHEN rate_bucket.full_at_us > excluded.full_at_us THEN rate_bucket.full_at_us ELSE excluded.full_at_us END";
    PAUSED = "SELECT full_at_us FROM rate_bucket WHERE org_no = $1 AND bucket = $2";
    PURGE = "WITH old AS MATERIALIZED (
            SELECT org_no, bucket FROM rate_bucket WHERE full_at_us <= $1
                OR full_at_us > CASE WHEN substr(bucket, 1, 9) = 'platform:' THEN CAST($3 AS BIGINT) ELSE $2 END
            LIMIT $4 {skip_locked})
        DELETE FROM rate_bucket WHERE (org_no, bucket) IN (SELECT org_no, bucket FROM old)";
}

/// A bucket, its fill rate, and the tokens wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRequest<'a> {
    pub org: OrgNo,
    /// Bucket within the organization: a key's id, a visitor's keyed hash, or empty for the organization itself.
    pub bucket: &'a str,
    /// Number of tokens wanted.
    pub n: i64,
    /// Microseconds until one token returns; at least 1.
    pub step_us: i64,
    /// Tokens in a full bucket; at least 1.
    pub burst: i64,
    /// Current time, in microseconds since 1970.
    pub now_us: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenGrant {
    /// Tokens granted: as many of those wanted as there were.
    pub granted: i64,
    /// Time when the bucket will be full again, in microseconds since 1970.
    pub full_at_us: i64,
}

records!(row => TokenGrant { granted, full_at_us });

/// Takes up to `n` tokens. An unused bucket is full.
pub async fn take(tx: &mut Tx, take: &TokenRequest<'_>) -> Result<TokenGrant> {
    let TokenRequest { org, bucket, now_us, .. } = *take;
    let (step_us, burst) = (take.step_us.max(1), take.burst.max(1));
    let most = take.n.clamp(0, burst);
    let empty_us = now_us.saturating_add(step_us.saturating_mul(burst));
    let enough_us = empty_us.saturating_sub(step_us.saturating_mul(most));
    let taken = tx.find(&TAKE, args![org, bucket, now_us, step_us, most, enough_us, empty_us]).await?;
    taken.ok_or_else(|| StoreError::corrupt("a rate bucket was neither made nor changed"))
}

/// Returns `n` unused tokens of a [`TokenRequest`] with the same bucket and step. A bucket that is full by now, or was removed,
/// stays full.
pub async fn give_back(tx: &mut Tx, take: &TokenRequest<'_>, n: i64) -> Result<()> {
    let back_us = take.step_us.max(1).saturating_mul(n.max(0));
    tx.execute(&GIVE_BACK, args![take.org, take.bucket, back_us]).await.map(drop)
}

/// Starts a pause of an account at a platform, or prolongs it. Its name begins with [`PLATFORM`]; the organization is 0.
pub async fn pause(tx: &mut Tx, name: &str, until_us: i64) -> Result<()> {
    tx.execute(&PAUSE, args![OrgNo(0), name, until_us]).await.map(drop)
}

/// Returns the end of a pause, which may be over; `None` if there is none.
pub async fn paused_until_us(conn: &mut Conn, name: &str) -> Result<Option<i64>> {
    conn.find(&PAUSED, args![OrgNo(0), name]).await
}

/// Removes up to `at_most` buckets that are full, or blocked for long by a wrong clock; returns the number removed. Scans all
/// buckets: one for each key and account at a platform used lately, and for each widget visitor of the last minute.
pub async fn purge(tx: &mut Tx, now_us: i64, at_most: u32) -> Result<u64> {
    let (absurd_us, of_platforms_us) = (now_us.saturating_add(ABSURD_US), now_us.saturating_add(PLATFORM_ABSURD_US));
    tx.execute(&PURGE, args![now_us, absurd_us, of_platforms_us, at_most]).await
}
