//! What names addresses beside the rows of jobs: answers of customers' servers, and answers that are kept for repeated requests.
//!
//! Neither can be searched: a server may have repeated an address in any form, and a kept answer opens only with its
//! Idempotency-Key. So all go: answers of servers that are older than the erasure, and kept ones that are older than their dropping.

use probity_mail::time::Millis;

use crate::db::{Tx, args, statements};
use crate::error::Result;
use crate::number::OrgNo;

/// What is dated so much later than now was dated by a clock that was ahead, in milliseconds.
const AHEAD_MS: i64 = 24 * 3_600_000;

statements! {
    // Messages of the other sort of jobs stay; those about no job belong to live keys.
    EMPTY_ANSWERS = "UPDATE outbox SET last_answer = NULL WHERE org_no = $1 AND id IN (SELECT o.id FROM outbox o \
        WHERE o.org_no = $1 AND o.created_at <= $2 AND LENGTH(o.last_answer) > 0 \
        AND COALESCE((SELECT j.test FROM job j WHERE j.org_no = $1 AND j.id = o.job_id), 0) = $3 LIMIT $4)";
    EMPTY_TRIED = "UPDATE outbox_attempt SET answer = $5 WHERE org_no = $1 AND (id, attempt_no) IN (SELECT a.id, a.attempt_no \
        FROM outbox_attempt a JOIN outbox o ON o.org_no = a.org_no AND o.id = a.id \
        WHERE a.org_no = $1 AND o.created_at <= $2 AND LENGTH(a.answer) > 0 \
        AND COALESCE((SELECT j.test FROM job j WHERE j.org_no = $1 AND j.id = o.job_id), 0) = $3 LIMIT $4)";
    DROP_KEPT = "DELETE FROM idempotency WHERE org_no = $1 AND key_hash IN (SELECT key_hash FROM idempotency \
        WHERE org_no = $1 AND (created_at <= $2 OR created_at > $4) AND names_address = 1 AND answer IS NOT NULL LIMIT $3)";
}

/// Empties answers of customers' servers to messages that were made before a time; says how many. The last answers first: what
/// is put aside meanwhile ([`crate::outbox`]) is found among the earlier ones.
pub async fn empty_receivers_answers(tx: &mut Tx, org: OrgNo, test: bool, before: Millis, at_most: i64) -> Result<u64> {
    let last = tx.execute(&EMPTY_ANSWERS, args![org, before, test, at_most]).await?;
    Ok(last + tx.execute(&EMPTY_TRIED, args![org, before, test, at_most, &[][..]]).await?)
}

/// Drops kept answers that may name an address, of requests from up to a time; says how many. A repetition of such a request
/// runs anew. So do those that lie further ahead than anything can that is answered meanwhile: a clock that was ahead has dated them. Which sort of key asked is not kept: an erasure that was wished with a test key drops answers of live keys, too.
pub async fn drop_kept_answers(tx: &mut Tx, org: OrgNo, before: Millis, at_most: i64) -> Result<u64> {
    tx.execute(&DROP_KEPT, args![org, before, at_most, before + AHEAD_MS]).await
}
