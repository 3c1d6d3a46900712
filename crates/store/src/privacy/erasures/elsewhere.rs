//! Addresses outside of jobs: endpoint responses, and stored responses to idempotent requests.
//!
//! Neither can be searched: an endpoint may have repeated an address in any form, and a stored response opens only with its
//! Idempotency-Key. So all of them are removed: endpoint responses older than the erasure, and stored responses older than the
//! removal.

use probity_mail::time::Millis;

use crate::db::error::Result;
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::TypedStatements as _;

/// Data dated later than this, in milliseconds from now, was dated by a fast clock.
const AHEAD_MS: i64 = 24 * 3_600_000;

statements! {
    // Deliveries about the other mode's jobs stay; those without a job belong to live keys.
    EMPTY_ANSWERS = "UPDATE outbox SET last_answer = NULL WHERE org_no = $1 AND id IN (SELECT o.id FROM outbox o \
        WHERE o.org_no = $1 AND o.created_at <= $2 AND LENGTH(o.last_answer) > 0 \
        AND COALESCE((SELECT j.test FROM job j WHERE j.org_no = $1 AND j.id = o.job_id), 0) = $3 LIMIT $4)";
    EMPTY_TRIED = "UPDATE outbox_attempt SET answer = $5 WHERE org_no = $1 AND (id, attempt_no) IN (SELECT a.id, a.attempt_no \
        FROM outbox_attempt a JOIN outbox o ON o.org_no = a.org_no AND o.id = a.id \
        WHERE a.org_no = $1 AND o.created_at <= $2 AND LENGTH(a.answer) > 0 \
        AND COALESCE((SELECT j.test FROM job j WHERE j.org_no = $1 AND j.id = o.job_id), 0) = $3 LIMIT $4)";
    COUNT_ANSWERED = "SELECT COUNT(*) AS deliveries FROM (SELECT 1 AS one FROM outbox o WHERE o.org_no = $1 \
        AND (LENGTH(o.last_answer) > 0 \
        OR EXISTS (SELECT 1 FROM outbox_attempt a WHERE a.org_no = $1 AND a.id = o.id AND LENGTH(a.answer) > 0)) \
        AND COALESCE((SELECT j.test FROM job j WHERE j.org_no = $1 AND j.id = o.job_id), 0) = $2 LIMIT $3) AS part";
    DROP_KEPT = "DELETE FROM idempotency WHERE org_no = $1 AND key_hash IN (SELECT key_hash FROM idempotency \
        WHERE org_no = $1 AND (created_at <= $2 OR created_at > $4) AND names_address = 1 AND answer IS NOT NULL LIMIT $3)";
}

/// Number of deliveries with an endpoint response, which [`empty_receivers_answers`] empties: `at_most` or less.
pub async fn count_answered(conn: &mut Conn, org: OrgNo, test: bool, at_most: i64) -> Result<i64> {
    conn.one(&COUNT_ANSWERED, args![org, test, at_most]).await
}

/// Empties up to `at_most` endpoint responses to deliveries created before a time; returns their number. Last responses come first:
/// one that becomes an earlier attempt meanwhile ([`crate::webhooks::outbox`]) is found there.
pub async fn empty_receivers_answers(tx: &mut Tx, org: OrgNo, test: bool, before: Millis, at_most: i64) -> Result<u64> {
    let last = tx.execute(&EMPTY_ANSWERS, args![org, before, test, at_most]).await?;
    Ok(last + tx.execute(&EMPTY_TRIED, args![org, before, test, at_most, Vec::<u8>::new()]).await?)
}

/// Drops stored responses that may name an address, of requests up to a time; returns their number. A repetition of such a request
/// runs again. Also drops responses dated further ahead than possible, by a fast clock. The key's mode is not stored, so an erasure
/// by a test key also drops responses to live keys.
pub async fn drop_kept_answers(tx: &mut Tx, org: OrgNo, before: Millis, at_most: i64) -> Result<u64> {
    tx.execute(&DROP_KEPT, args![org, before, at_most, before + AHEAD_MS]).await
}
